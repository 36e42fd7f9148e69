"""`taut bench step`: taut and MuJoCo on the same files, in one process, with a residual beside every time."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.progress import Progress

from .. import __version__
from .._taut import Scene, Simulator
from ..scenes import mechanisms
from . import mujoco_side, sources
from .run import DEFAULTS, Run
from .terminal import (
    clean_errors,
    console,
    length,
    machine,
    machine_line,
    note,
    number,
    progress,
    require_folders,
    table,
    write_json,
)

FILES = ["half_cheetah", "humanoid", "go1_mjcf", "h1", "cassie", "kl_quadruped"]
DT = 1e-3
PHASES = ("dynamics", "collision", "delassus", "solver", "integration")


@clean_errors
def step(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE|NAME", help="MJCF files or scenes (default: " + " ".join(FILES) + ")."),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of 1 ms for each file.")] = 2000,
    seconds: Annotated[float | None, typer.Option(help="Simulated time instead of --steps, s.")] = None,
    chunk: Annotated[int, typer.Option(min=1, help="Steps timed at once; the two take turns by chunks.")] = 100,
    solver: Annotated[str, typer.Option(help="Solver of taut.")] = DEFAULTS.solver,
    tolerance: Annotated[float, typer.Option(help="Tolerance of taut on the judge, m/s.")] = DEFAULTS.tolerance,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all of it to this file.")] = None,
) -> None:
    """Time a step of taut beside one of MuJoCo 4.

    Both read the same file, start from the same state and fall and come to rest without control, on one thread, with
    steps of 1 ms. They take turns by chunks in one process, so that noise of the machine hits both; a time is the
    median over chunks. MuJoCo keeps the options of the file; where these ask for more than taut does (RK4, the
    torsional and rolling friction of condim 4 and 6), a second row, alike, has MuJoCo with Euler and condim 3: it is
    the fair one.

    Examples:

        taut bench step
        taut bench step robot.xml --seconds 5 --json bench.json
    """
    require_folders(json)
    if seconds is not None:
        if not 0 < seconds < 1e6:
            raise ValueError(f"seconds is {seconds}, it must be positive")
        steps = max(1, round(seconds / DT))
    chunk = min(chunk, steps)
    steps -= steps % chunk
    chosen = files or FILES
    if not mujoco_side.available():
        note(mujoco_side.MISSING)

    results = []
    with tempfile.TemporaryDirectory() as folder, progress() as bar:
        found = [(source, *opened(source, Path(folder))) for source in chosen]
        for source, scene, path in found:
            options = {"dt": DT, "solver": solver, "tolerance": tolerance}
            result = _compare(source, scene, path, options, steps, chunk, bar)
            result["phases_us"] = _phases(scene, options, steps, bar)
            results.append(result)

    out = console()
    versions = f"taut {__version__}" + (f", MuJoCo {mujoco_side.version()}" if mujoco_side.available() else "")
    out.print(f"[bold]{escape(machine_line())}[/]\n{versions}, one thread, {steps} steps of 1 ms, solver {solver}")
    out.print(_times(results, tolerance))
    out.print(_where(results))
    about = {"taut": __version__, "mujoco": mujoco_side.version(), "machine": machine()}
    settings = {"steps": steps, "chunk": chunk, "dt": DT, "solver": solver, "tolerance": tolerance}
    write_json(json, {**about, **settings, "results": results})


def opened(source: str, folder: Path) -> tuple[Scene, Path | None]:
    """The scene, and the file if MuJoCo may have it: of a URDF the two would make different worlds. A mechanism is
    written to a file first, so that both read it."""
    path = sources.file_behind(source)
    if path is None and source in mechanisms.MECHANISMS:
        path = folder / f"{source}.xml"
        path.write_text(mechanisms.mechanism(source).mjcf())
    if path is None or path.suffix != ".xml":
        note(f"{source} is not an MJCF file: taut runs it alone")
        return sources.open_scene(source, quiet=True), None
    return sources.open_scene(str(path), quiet=True), path


def _compare(
    source: str, scene: Scene, path: Path | None, options: dict[str, Any], steps: int, chunk: int, bar: Progress
) -> dict[str, Any]:
    q, v = first_pose(scene), np.zeros(scene.model.nv)
    ours = Run(Simulator(scene, **options), q, v)
    rivals = []
    if path is not None and mujoco_side.available():
        rivals.append(mujoco_side.MujocoRun(path, scene, q, v, DT))
        if rivals[0].extras():
            rivals.append(mujoco_side.MujocoRun(path, scene, q, v, DT, alike=True))

    times: list[list[float]] = [[] for _ in range(1 + len(rivals))]  # s a step, of each chunk; taut first
    contacts: list[list[int]] = [[] for _ in times]
    open_by = [0.0 for _ in times]  # how far loops are open at worst, at the ends of chunks, m
    chunks = steps // chunk
    task = bar.add_task(f"{Path(source).stem}: side by side", total=chunks)
    for k in range(chunks):
        for i in np.roll(np.arange(len(times)), k):  # nobody is always the one after the bar's redraw
            if i == 0:
                before = ours.seconds
                piece = ours.advance(chunk)
                times[0].append((ours.seconds - before) / max(len(piece), 1))
                contacts[0].append(ours.contacts[-1])
                if scene.loops and not ours.failed:
                    open_by[0] = max(open_by[0], scene.worst_loop_gap(ours.q)[0])
            else:
                times[i].append(rivals[i - 1].chunk(chunk) / chunk)
                contacts[i].append(rivals[i - 1].contacts())
                if scene.loops:
                    gap, _ = scene.worst_loop_gap(rivals[i - 1].configuration(scene))
                    open_by[i] = max(open_by[i], gap)
        bar.advance(task)
        if ours.failed:
            break
    bar.remove_task(task)

    taut = _timing(times[0], contacts[0]) | {
        "smallest_gap": None if ours.failed else ours.deepest_gap(),
        "worst_residual": ours.worst,
        "steps_not_certified": ours.uncertified,
        "finite": not ours.failed,
        "open_by": open_by[0] if scene.loops else None,
    }
    mujoco = [
        _timing(times[i], contacts[i])
        | {"smallest_gap": rival.smallest_gap(), "extras": rival.extras(), "warnings": rival.warnings()}
        | {"open_by": open_by[i] if scene.loops else None}
        for i, rival in enumerate(rivals, start=1)
    ]
    for rival in mujoco:
        rival["ratio"] = taut["median_us"] / rival["median_us"]
    return {"source": source, "nv": scene.model.nv, "taut": taut, "mujoco": mujoco}


def first_pose(scene: Scene) -> np.ndarray:
    """Where both begin: at q0, loops closed."""
    return scene.assemble() if scene.loops else np.array(scene.q0)


def _timing(times: list[float], contacts: list[int]) -> dict[str, Any]:
    return {
        "median_us": 1e6 * float(np.median(times)),
        "mean_us": 1e6 * float(np.mean(times)),
        "chunks_us": [1e6 * seconds for seconds in times],
        "contacts_mean": float(np.mean(contacts)),  # at the ends of chunks
    }


def _phases(scene: Scene, options: dict[str, Any], steps: int, bar: Progress) -> dict[str, float]:
    """Mean µs of each phase, from a run of its own: the clock is read more often in it."""
    sim = Simulator(scene, **options, profile=True)
    q, v = first_pose(scene), np.zeros(scene.model.nv)
    spent = np.zeros(len(PHASES))
    made = 0
    task = bar.add_task("where the time goes", total=steps)
    while made < steps:
        done = sim.step(q, v)
        spent += sim.seconds
        q, v, made = done.q, done.v, made + 1
        if done.report.status == "not_finite":
            break
        if made % 100 == 0:
            bar.update(task, completed=made)
    bar.remove_task(task)
    return dict(zip(PHASES, 1e6 * spent / made, strict=True))


def _times(results: list[dict[str, Any]], tolerance: float):
    made = table(
        "Time of a step",
        *("<file", "taut\nµs", "MuJoCo\nµs", "ratio", "contacts\ntaut", "contacts\nMuJoCo"),
        *("gap\ntaut", "gap\nMuJoCo", "open\ntaut", "open\nMuJoCo", "residual\nm/s", "bad\nsteps"),
        caption="median over chunks; ratio below 1: taut is faster; alike: MuJoCo with Euler and condim 3; "
        "contacts on average; smallest gap at the end, negative in penetration; how far loops are open at worst "
        "between chunks; the judge's worst residual over all steps, and the steps where it exceeds "
        f"{number(tolerance)}",
    )
    for result in results:
        taut = result["taut"]
        bad = taut["steps_not_certified"]
        ours = (f"{taut['contacts_mean']:.1f}", length(taut["smallest_gap"]), length(taut["open_by"]))
        judged = (f"{taut['worst_residual']:.1e}", f"[{'red' if bad else 'green'}]{bad}[/]")
        name = escape(Path(result["source"]).stem)
        rivals = result["mujoco"] or [None]
        for row, rival in enumerate(rivals):
            theirs = ("–", "–", "–", "–", "–")
            label = name if row == 0 else "  alike"
            if rival:
                colour = "green" if rival["ratio"] <= 1 else "yellow" if rival["ratio"] <= 2 else "red"
                ratio = f"[{colour}]{rival['ratio']:.2f}[/]"
                touching = f"{rival['contacts_mean']:.1f}", length(rival["smallest_gap"]), length(rival["open_by"])
                theirs = (f"{rival['median_us']:.1f}", ratio, *touching)
                if rival["extras"]:
                    label += f" ({', '.join(rival['extras'])})"
            first = row == 0
            made.add_row(
                label,
                f"{taut['median_us']:.1f}" if first else "",
                *theirs[:2],
                ours[0] if first else "",
                theirs[2],
                ours[1] if first else "",
                theirs[3],
                ours[2] if first else "",
                theirs[4],
                *(judged if first else ("", "")),
            )
    return made


def _where(results: list[dict[str, Any]]):
    made = table(
        "Where taut's time goes, µs a step", "<file", *PHASES, "sum", caption="means of a separate, profiled run"
    )
    for result in results:
        phases = result["phases_us"]
        total = sum(phases.values())
        shares = (f"{us:.1f} [dim]{us / total:4.0%}[/]" if total else "–" for us in phases.values())
        made.add_row(escape(Path(result["source"]).stem), *shares, f"{total:.1f}")
    return made
