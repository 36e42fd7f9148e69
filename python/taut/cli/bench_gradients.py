"""`taut bench gradients`: the Jacobian and the adjoint of a step beside the step, and beside MuJoCo's differences."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pinocchio
import typer
from rich.markup import escape

from .. import __version__, _taut
from .._taut import Scene, Simulator
from ..gradients import differences, free_directions
from . import mujoco_side
from .bench_step import DT, FILES, first_pose, opened
from .terminal import (
    clean_errors,
    console,
    machine,
    machine_line,
    note,
    progress,
    require_folders,
    table,
    write_json,
)

# [S, Table 3]: µs on an Apple M3, mean: simulation, implicit gradients, its differences, MuJoCo's differences.
PUBLISHED = {
    "half_cheetah": (15.8, 14.7, 1.1e3, 0.34e3),
    "humanoid": (42.6, 47.9, 5.5e3, 2.9e3),
    "go1_mjcf": (62.6, 93.0, 6.6e3, 9.9e3),
    "h1": (139.3, 54.3, 17.6e3, 5.9e3),
}


@clean_errors
def gradients(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE|NAME", help="MJCF files or scenes (default: " + " ".join(FILES) + ")."),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of 1 ms for each file.")] = 2000,
    samples: Annotated[int, typer.Option(min=1, help="States at which differences are taken.")] = 20,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all of it to this file.")] = None,
) -> None:
    """Time the derivative of a step beside the step itself, and beside differences: taut's and MuJoCo's, centred.

    The files are those of `taut bench step`: they fall and come to rest without control, one thread, steps of 1 ms, one
    process. Times of step, Jacobian and vjp are means over all steps, of C++ calls. Differences are taken at some
    states along the way: MuJoCo's are mjd_transitionFD, from its own run of the same file with Euler and condim 3;
    taut's are calls of step from Python. Beside the times stands the median disagreement of the Jacobian with
    differences of steps solved to 1e-12, at these states pushed off rest by 0.1 mm (at rest a contact stands at a
    kink), along what loops leave free.

    Examples:

        taut bench gradients
        taut bench gradients go1_mjcf h1 --json gradients.json
    """
    require_folders(json)
    if not mujoco_side.available():
        note(mujoco_side.MISSING)
    results = []
    with tempfile.TemporaryDirectory() as folder, progress() as bar:
        chosen = files or FILES
        task = bar.add_task("gradients", total=len(chosen))
        for source in chosen:
            bar.update(task, description=Path(source).stem)
            scene, path = opened(source, Path(folder))
            results.append(_measure(source, scene, path, steps, samples))
            bar.advance(task)
    out = console()
    versions = f"taut {__version__}" + (f", MuJoCo {mujoco_side.version()}" if mujoco_side.available() else "")
    out.print(f"[bold]{escape(machine_line())}[/]\n{versions}, one thread, {steps} steps of 1 ms")
    out.print(_table(results))
    about = {"taut": __version__, "mujoco": mujoco_side.version(), "machine": machine()}
    write_json(json, {**about, "steps": steps, "samples": samples, "results": results})


def _measure(source: str, scene: Scene, path: Path | None, steps: int, samples: int) -> dict[str, Any]:
    q, v = first_pose(scene), np.zeros(scene.model.nv)
    seconds = _taut.derivative_seconds(Simulator(scene), q, v, steps)
    step, jacobian, vjp = (1e6 * seconds).mean(axis=0)
    ours = _differences(scene, q, v, steps, samples)
    theirs = None
    if path is not None and mujoco_side.available():
        rival = mujoco_side.MujocoRun(path, scene, q, v, DT, alike=True)
        theirs = {"step_us": 0.0, "differences_us": 0.0}
        for _ in range(samples):
            theirs["step_us"] += 1e6 * rival.chunk(max(1, steps // samples)) / max(1, steps // samples) / samples
            theirs["differences_us"] += 1e6 * rival.differences() / samples
    return {
        "source": source,
        "nv": scene.model.nv,
        "step_us": float(step),
        "jacobian_us": float(jacobian),
        "vjp_us": float(vjp),
        **ours,
        "mujoco": theirs,
        "paper": PUBLISHED.get(source),
    }


def _differences(scene: Scene, q: np.ndarray, v: np.ndarray, steps: int, samples: int) -> dict[str, Any]:
    """µs of central differences at states along the run, and how far the Jacobian is from them."""
    sim, usual = Simulator(scene, tolerance=1e-12), Simulator(scene)
    rng = np.random.default_rng(0)
    errors, spent = [], []
    tau = np.zeros(scene.model.nv)
    for _ in range(samples):
        path = sim.rollout(q, v, steps=max(1, steps // samples))
        q, v = path.q[-1], path.v[-1]
        state = sim.state()
        ways = free_directions(sim, q)
        pushed = pinocchio.integrate(scene.model, q, 1e-4 * ways @ rng.normal(size=ways.shape[1]))
        ways = free_directions(sim, pushed)
        sim.step(pushed, v, tau)
        jacobian = sim.jacobian()
        reference = differences(sim, pushed, v, tau, state, ways=ways)
        start = time.perf_counter()
        differences(usual, pushed, v, tau, state)  # with the tolerance a step has
        spent.append(time.perf_counter() - start)
        scale = 1 + np.abs(reference["dv_dv"]).max()
        errors.append(float(np.abs(jacobian.dv_dv @ ways - reference["dv_dv"]).max() / scale))
        sim.restore(state)
    return {"differences_us": 1e6 * float(np.mean(spent)), "error": float(np.median(errors))}


def _table(results: list[dict[str, Any]]):
    made = table(
        "Time of a gradient, µs",
        *("<file", "dof", "step", "Jacobian", "÷ step", "vjp", "÷ step", "differences\ntaut", "step\nMuJoCo"),
        *("differences\nMuJoCo", "÷ Jacobian", "error", "<paper: step, gradient,\ndifferences, MuJoCo's"),
        caption="means; ÷ step: of taut's own; ÷ Jacobian: MuJoCo's differences over taut's Jacobian; error: median "
        "relative disagreement of dv⁺/dv with differences; paper: Apple M3",
    )
    for row in results:
        rival = row["mujoco"]
        made.add_row(
            Path(row["source"]).stem,
            str(row["nv"]),
            f"{row['step_us']:.1f}",
            f"{row['jacobian_us']:.1f}",
            f"{row['jacobian_us'] / row['step_us']:.2f}",
            f"{row['vjp_us']:.1f}",
            f"{row['vjp_us'] / row['step_us']:.2f}",
            f"{row['differences_us']:.0f}",
            f"{rival['step_us']:.1f}" if rival else "–",
            f"{rival['differences_us']:.0f}" if rival else "–",
            f"{rival['differences_us'] / row['jacobian_us']:.0f}" if rival else "–",
            f"{row['error']:.0e}",
            " ".join(f"{value:g}" for value in row["paper"]) if row["paper"] else "",
        )
    return made
