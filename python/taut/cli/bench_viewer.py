"""`taut bench viewer`: what a page costs the loop it watches."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from .. import __version__
from .._taut import Scene, Simulator
from . import sources
from .run import DEFAULTS
from .terminal import clean_errors, console, machine, machine_line, progress, require_folders, table, write_json


@clean_errors
def viewer(
    source: Annotated[str, typer.Argument(metavar="FILE|NAME", help=sources.FILE_OR_NAME)] = "go1",
    steps: Annotated[int, typer.Option(min=1, help="Calls of `sim.step` in each turn.")] = 50_000,
    turns: Annotated[int, typer.Option(min=1, help="How often each has its turn.")] = 6,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all of it to this file.")] = None,
) -> None:
    """Time `sim.step` in a loop of Python, watched by a page of `sim.view()` and not.

    The two take turns in one process. The page is a process of its own, so that it needs a second core to cost nothing;
    no browser looks at it.

    Examples:

        taut bench viewer
        taut bench viewer h1 --json viewer.json
    """
    require_folders(json)
    scene = sources.open_scene(source, quiet=True)
    times: dict[str, list[np.ndarray]] = {"alone": [], "watched": []}
    with progress() as bar:
        task = bar.add_task(f"watching {escape(Path(source).name)}", total=2 * turns)
        for _ in range(turns):
            for name, found in times.items():
                found.append(_turn(scene, steps, watched=name == "watched"))
                bar.advance(task)
    results = {name: _result(np.concatenate(found)) for name, found in times.items()}
    cost = results["watched"]["mean_us"] / results["alone"]["mean_us"] - 1

    out = console()
    out.print(
        f"[bold]{escape(machine_line())}[/]\ntaut {__version__}, {escape(source)}, {turns} turns of {steps} steps"
    )
    made = table("Time of a step", "<", "median µs", "mean µs", "99 % below µs", "cost of the mean")
    for name, result in results.items():
        share = f"{cost:.1%}" if name == "watched" else ""
        made.add_row(name, *(f"{result[kind]:.2f}" for kind in ("median_us", "mean_us", "p99_us")), share)
    out.print(made)
    about = {"taut": __version__, "machine": machine(), "source": source, "steps": steps, "turns": turns}
    write_json(json, {**about, "results": results, "cost": cost})


def _turn(scene: Scene, steps: int, watched: bool) -> np.ndarray:
    """Seconds of each step."""
    sim = Simulator(scene, dt=DEFAULTS.dt)
    sim.hold(scene.q0, *sources.default_gains(scene))
    watch = sim.view(port=0) if watched else None
    q, v = np.array(scene.q0), np.zeros(scene.model.nv)
    found = np.empty(steps)
    for k in range(steps):
        begun = time.perf_counter()
        step = sim.step(q, v)
        found[k] = time.perf_counter() - begun
        q, v = step.q, step.v
    if watch is not None:
        watch.close()
    return found


def _result(seconds: np.ndarray) -> dict[str, Any]:
    microseconds = 1e6 * seconds
    return {
        "median_us": float(np.median(microseconds)),
        "mean_us": float(np.mean(microseconds)),
        "p99_us": float(np.percentile(microseconds, 99)),
    }
