"""`taut check-gradient`: the analytic derivative of the step beside differences of it."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from .. import __version__
from .._taut import Simulator
from ..gradient_cases import CASES, Case
from ..gradients import BLOCKS, REASONS, Comparison, compare
from . import sources
from .run import DEFAULTS
from .terminal import clean_errors, console, machine, machine_line, progress, require_folders, table, write_json

DECADES = range(-12, -3)
TOLERANCE = 1e-6
# What the requirement wants to see a hundred times each; a run may meet more.
MODES = (
    *(f"contact {mode}" for mode in ("closed", "sliding", "open")),
    *(f"limit {mode}" for mode in ("closed", "open")),
    *(f"dry friction {mode}" for mode in ("closed", "open")),
    "loop closed",
)
SAID = {
    "contact closed": "contact, sticking",
    "contact sliding": "contact, sliding",
    "contact open": "contact, open",
    "limit closed": "limit, reached",
    "limit open": "limit, not reached",
    "dry friction closed": "dry friction, stuck",
    "dry friction open": "dry friction, slipping",
    "loop closed": "loop or gear",
}


@clean_errors
def check_gradient(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="FILE|NAME...", help=sources.FILE_OR_NAME + " Or several.")
    ] = None,
    all_cases: Annotated[bool, typer.Option("--all", help="Every case: " + " ".join(CASES) + ".")] = False,
    states: Annotated[int, typer.Option(min=1, help="States to compare, of each.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the random states.")] = 0,
    dt: Annotated[
        float | None, typer.Option(help=f"Time step, s (default: {DEFAULTS.dt} or as the case has it).")
    ] = None,
    distance: Annotated[
        float | None,
        typer.Option(help="Leave states out that are closer than this to a change of modes, m/s (default: 5e-3)."),
    ] = None,
    torque: Annotated[float | None, typer.Option(help="Random torques of the run, N m or N (default: 0.5).")] = None,
    push: Annotated[float | None, typer.Option(help="Random push of each state, rad or m (default: 2e-4).")] = None,
    kick: Annotated[
        float | None, typer.Option(help="The same of its velocities, rad/s or m/s (default: 0.05).")
    ] = None,
    collision: Annotated[
        str, typer.Option(help="Estimator of the collision term, as taut.collision.derivatives has them.")
    ] = "exact",
    floor: Annotated[
        bool | None, typer.Option("--floor/--no-floor", help="Add a floor at z = 0, or not.", show_default=False)
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, each with a scene at a time.")] = 1,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the errors to this file.")] = None,
) -> None:
    """Hold the gradient of the step against central differences, on random states that a run reaches.

    Every step is solved to 1e-12. Differences are taken over many steps, short and long, and say how good they are.
    An error is relative to the largest entry of its block. Left out are states that the certificate finds near a change
    of modes, and those whose differences are not good to 5e-7 or lie across a kink, as the two sides tell; never for
    their error. Cases (`--all`) have settings of their own, which make their states worth comparing; options given here
    go before them. Errors above 1e-6 end with exit code 1.

    Examples:

        taut check-gradient go1
        taut check-gradient robot.urdf --floor --states 1000 --json errors.json
        taut check-gradient --all --states 1000 --jobs 2
    """
    require_folders(json)
    if all_cases == bool(names):
        raise ValueError("name files or scenes, or ask for --all, one of the two")
    chosen = list(CASES) if all_cases else list(names or [])
    given = {"torque": torque, "push": push, "kick": kick, "distance": distance}
    given = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        _case(name, dt, floor).simulator()  # a wrong name is better known before the run
    work = partial(_run, states=states, seed=seed, dt=dt, floor=floor, given={**given, "collision": collision})
    found = _conduct(chosen, work, states, jobs)
    out = console()
    if len(chosen) == 1 and not all_cases:
        source, (comparison, _) = chosen[0], found[chosen[0]]
        out.print(
            f"[bold]{escape(Path(source).name)}[/]: {len(comparison.errors)} of {comparison.seen} states compared; "
            f"left out: {left_out_text(comparison)}"
        )
        out.print(_histogram(comparison))
        out.print(_by_mode(comparison))
        write_json(json, {"source": source, **content(comparison), "errors": comparison.errors})
    else:
        out.print(
            f"[bold]{escape(machine_line())}[/]\ntaut {__version__}, {states} states of each scene or a share, "
            f"{sum(seconds for _, seconds in found.values()):.0f} s of work"
        )
        out.print(_scenes(found))
        out.print(_total([comparison for comparison, _ in found.values()]))
        out.print(_reasons(found))
        about = {"taut": __version__, "machine": machine(), "states": states, "seed": seed}
        results = [
            {"source": name, **about_case(name), **content(comparison), "seconds": round(seconds, 1)}
            for name, (comparison, seconds) in found.items()
        ]
        write_json(json, {**about, "results": results, "total": total([one for one, _ in found.values()])})
    if max((comparison.worst_of_all() for comparison, _ in found.values()), default=0.0) > TOLERANCE:
        raise typer.Exit(1)


def _case(name: str, dt: float | None, floor: bool | None) -> Case:
    """The case of that name; else that file or scene, with settings for anything."""
    case = CASES.get(name) if floor is None and not Path(name).is_file() else None
    if case is None:
        case = Case("", lambda: sources.open_scene(name, floor))
    if dt is not None:
        case = replace(case, options={**case.options, "dt": dt})
    return case


def _run(
    name: str, *, states: int, seed: int, dt: float | None, floor: bool | None, given: dict, advance: Any = None
) -> tuple[Comparison, float]:
    case = _case(name, dt, floor)
    sim: Simulator = case.simulator()
    start = time.perf_counter()
    rng = np.random.default_rng(seed)
    states = max(1, round(case.share * states))
    found = compare(sim, states, rng, tolerance=TOLERANCE, advance=advance, **{**case.sampling, **given})
    return found, time.perf_counter() - start


def _conduct(chosen: list[str], work: Any, states: int, jobs: int) -> dict[str, tuple[Comparison, float]]:
    found = {}
    with progress() as bar:
        task = bar.add_task("states", total=states * len(chosen))
        if jobs > 1 and len(chosen) > 1:
            with ProcessPoolExecutor(jobs) as pool:
                for name, result in zip(chosen, pool.map(work, chosen), strict=True):
                    found[name] = result
                    bar.update(task, advance=states, description=Path(name).name)
        else:
            for k, name in enumerate(chosen):
                bar.update(task, description=Path(name).name)

                def advance(done: int, _total: int, _what: str, first: int = k * states) -> None:
                    bar.update(task, completed=first + done)

                found[name] = work(name, advance=advance)
    return found


def left_out_text(found: Comparison) -> str:
    parts = [f"{found.left_out[reason]} {said}" for reason, said in REASONS.items() if found.left_out[reason]]
    return "; ".join(parts) or "none"


def about_case(name: str) -> dict[str, Any]:
    case = CASES.get(name)
    if case is None:
        return {}
    return {"why": case.why, "share": case.share, "options": case.options, "sampling": case.sampling, "hold": case.hold}


def content(found: Comparison) -> dict[str, Any]:
    """Aggregates of a comparison: no list grows with its states."""
    worst = [max(errors.values()) for errors in found.errors]
    tops = Counter(_decade(error) for error in worst)
    return {
        "states": len(found.errors),
        "seen": found.seen,
        "left_out": {reason: found.left_out[reason] for reason in REASONS},
        "modes": dict(found.counted),
        "traits": dict(sum(found.traits, Counter())),
        "worst": {name: found.worst(name) for name in BLOCKS},
        "median": {name: float(np.median([errors[name] for errors in found.errors] or [0.0])) for name in BLOCKS},
        "states_below": {f"1e{decade}" if decade <= DECADES[-1] else "more": tops[decade] for decade in sorted(tops)},
        "above_tolerance": sum(error > TOLERANCE for error in worst),
        "differences_unsure": max(found.unsure, default=0.0),
    }


def _decade(error: float) -> int:
    return min(max(-12, int(np.ceil(np.log10(max(error, 1e-300))))), DECADES[-1] + 1)


def total(found: list[Comparison]) -> dict[str, dict[str, Any]]:
    """By mode and by trait: blocks, states with one, and the worst and median error of those."""
    made: dict[str, dict[str, Any]] = {}
    for kind in ("modes", "traits"):
        names = {name for one in found for counted in getattr(one, kind) for name in counted}
        ordered = [name for name in MODES if kind == "modes"] + sorted(names.difference(MODES))
        for name in ordered:
            errors, blocks = [], 0
            for one in found:
                for counted, error in zip(getattr(one, kind), one.errors, strict=True):
                    if counted[name]:
                        blocks += counted[name]
                        errors.append(max(error.values()))
            made[name] = {
                "blocks": blocks,
                "states": len(errors),
                "median": float(np.median(errors)) if errors else None,
                "worst": max(errors, default=None),
                "above_tolerance": sum(error > TOLERANCE for error in errors),
            }
    return made


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.0e}"


def _scenes(found: dict[str, tuple[Comparison, float]]):
    made = table(
        "Scenes: worst relative error of each block",
        *("<scene", "states", "seen", *BLOCKS, "median", "> 1e-6", "sure to", "s"),
        caption="median: of the worst block; sure to: how far differences agree among themselves, at worst",
    )
    for name, (one, seconds) in found.items():
        worst = [max(errors.values()) for errors in one.errors]
        made.add_row(
            Path(name).name,
            str(len(one.errors)),
            str(one.seen),
            *(f"{one.worst(block):.0e}" for block in BLOCKS),
            _number(float(np.median(worst)) if worst else None),
            str(sum(error > TOLERANCE for error in worst)),
            _number(max(one.unsure, default=None)),
            f"{seconds:.0f}",
        )
    return made


def _total(found: list[Comparison]):
    made = table("All of them, by what takes part", "<block and mode", "blocks", "states", "median", "worst", "> 1e-6")
    for name, row in total(found).items():
        numbers = (_number(row["median"]), _number(row["worst"]), str(row["above_tolerance"]))
        made.add_row(SAID.get(name, name), str(row["blocks"]), str(row["states"]), *numbers)
    return made


def _reasons(found: dict[str, tuple[Comparison, float]]):
    all_of_it = sum((one.left_out for one, _ in found.values()), Counter())
    reasons = [reason for reason in REASONS if all_of_it[reason]]
    caption = "; ".join(f"{reason}: {REASONS[reason]}" for reason in reasons)
    made = table("States left out, of those seen", "<scene", "seen", "left out", *reasons, caption=caption)
    rows = [(Path(name).name, one.seen, one.left_out) for name, (one, _) in found.items()]
    for name, seen, left_out in (*rows, ("all", sum(seen for _, seen, _ in rows), all_of_it)):
        share = f"{100 * sum(left_out.values()) / max(1, seen):.0f} %"
        made.add_row(name, str(seen), share, *(str(left_out[reason] or "") for reason in reasons))
    return made


def _bars(counts: list[int]) -> list[str]:
    most = max(counts, default=0)
    return [f"{count} {'█' * max(1, round(8 * count / most))}" if count else "" for count in counts]


def _histogram(found: Comparison):
    made = table("States by error, relative", "<below", *(f"<{name}" for name in BLOCKS))
    columns = []
    for name in BLOCKS:
        counted = Counter(_decade(errors[name]) for errors in found.errors)
        columns.append(_bars([counted[decade] for decade in (*DECADES, DECADES[-1] + 1)]))
    for row, decade in enumerate((*DECADES, DECADES[-1] + 1)):
        label = f"1e{decade}" if decade <= DECADES[-1] else "more"
        if any(column[row] for column in columns):
            made.add_row(label, *(column[row] for column in columns))
    made.add_row("worst", *(f"{found.worst(name):.0e}" for name in BLOCKS))
    return made


def _by_mode(found: Comparison):
    made = table("By what takes part", "<block and mode", "blocks", "states", "median error of dv_dq", "worst")
    for mode in sorted(found.counted):
        errors = [errors["dv_dq"] for errors, modes in zip(found.errors, found.modes, strict=True) if modes[mode]]
        made.add_row(mode, str(found.counted[mode]), str(len(errors)), f"{np.median(errors):.0e}", f"{max(errors):.0e}")
    free = [errors["dv_dq"] for errors, modes in zip(found.errors, found.modes, strict=True) if not modes]
    if free:
        made.add_row("nothing", "", str(len(free)), f"{np.median(free):.0e}", f"{max(free):.0e}")
    return made
