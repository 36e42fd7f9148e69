"""`taut check-gradient`: the analytic derivative of the step beside differences of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from .._taut import Simulator
from ..gradients import BLOCKS, Comparison, compare
from . import sources
from .run import DEFAULTS
from .terminal import clean_errors, console, progress, require_folders, table, write_json

DECADES = range(-12, -3)


@clean_errors
def check_gradient(
    source: Annotated[str, typer.Argument(metavar="FILE|NAME", help=sources.FILE_OR_NAME)],
    states: Annotated[int, typer.Option(min=1, help="States to compare.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the random states.")] = 0,
    dt: Annotated[float, typer.Option(help="Time step, s.")] = DEFAULTS.dt,
    distance: Annotated[
        float, typer.Option(help="Leave states out that are closer than this to a change of modes, m/s.")
    ] = 5e-3,
    torque: Annotated[float, typer.Option(help="Random torques of the run, N m or N.")] = 0.5,
    push: Annotated[float, typer.Option(help="Random push of each state, rad or m.")] = 2e-4,
    kick: Annotated[float, typer.Option(help="The same of its velocities, rad/s or m/s.")] = 0.05,
    collision: Annotated[
        str, typer.Option(help="Estimator of the collision term, as taut.collision.derivatives has them.")
    ] = "exact",
    floor: Annotated[
        bool | None, typer.Option("--floor/--no-floor", help="Add a floor at z = 0, or not.", show_default=False)
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the errors to this file.")] = None,
) -> None:
    """Hold the gradient of the step against central differences, on random states that a run reaches.

    Every step is solved to 1e-12. An error is relative to the largest entry of its block (and to one). States that the
    certificate finds near a change of modes are left out, and so are those where differences with two steps disagree:
    across a kink a difference proves nothing.

    Examples:

        taut check-gradient go1
        taut check-gradient robot.urdf --floor --states 1000 --json errors.json
    """
    require_folders(json)
    scene = sources.open_scene(source, floor)
    sim = Simulator(scene, dt=dt, tolerance=1e-12)
    with progress() as bar:
        task = bar.add_task("states", total=states)
        found = compare(
            sim,
            states,
            np.random.default_rng(seed),
            distance,
            advance=lambda done, total, _: bar.update(task, completed=done, total=total),
            torque=torque,
            push=push,
            kick=kick,
            collision=collision,
        )
    out = console()
    out.print(
        f"[bold]{escape(Path(source).name)}[/]: {len(found.errors)} of {found.seen} states compared; left out: "
        f"{found.near} near a switch, {found.ambiguous} with several solutions, {found.kinks} at a kink of collision, "
        f"{found.again} with loops closed in rounds, {found.unsolved} not solved to 1e-9"
    )
    out.print(_histogram(found))
    out.print(_by_mode(found))
    write_json(json, {"source": source, **content(found)})


def content(found: Comparison) -> dict[str, Any]:
    return {
        "states": len(found.errors),
        "seen": found.seen,
        "near": found.near,
        "ambiguous": found.ambiguous,
        "kinks": found.kinks,
        "unsolved": found.unsolved,
        "again": found.again,
        "modes": dict(found.counted),
        "worst": {name: found.worst(name) for name in BLOCKS},
        "errors": found.errors,
    }


def _bars(counts: list[int]) -> list[str]:
    most = max(counts, default=0)
    return [f"{count} {'█' * max(1, round(8 * count / most))}" if count else "" for count in counts]


def _histogram(found: Comparison):
    made = table("States by error, relative", "<below", *(f"<{name}" for name in BLOCKS))
    columns = []
    for name in BLOCKS:
        tops = [max(-12, int(np.ceil(np.log10(max(errors[name], 1e-300))))) for errors in found.errors]
        counted = Counter(min(top, DECADES[-1] + 1) for top in tops)
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
