"""Four feet that stick share a sideways force of zero in many ways: which one does a solver pick?

A cube dragged along x needs no force along y. At rest its corners may still push against each other; once it slides,
maximum dissipation leaves them no choice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..cli.terminal import number, table
from . import dragged_cube
from .experiment import Advance, available, figure, label, legend, look, push, simulator, steps

NAME = "internal_forces"
WHAT = "A cube at rest, then dragged: sideways forces its four corners exert against each other"
PAPER = "[CB] Fig. 12"

DT = 1e-3
SOLVERS = (
    *("auto", "pgs", "nbgs", "staggered", "admm", "newton"),
    *("ccp_pgs", "ccp_admm", "ccp_newton_mujoco", "ccp_newton_drake"),
    *("raisim", "lcp_pivot"),
)
QUICK = ("auto", "pgs", "admm", "ccp_pgs", "ccp_admm", "raisim", "lcp_pivot")


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    chosen = available(*(QUICK if quick else SOLVERS))
    dt = 5 * DT if quick else DT
    count = round(dragged_cube.SECONDS / dt)
    t = dt * np.arange(1, count + 1)
    runs = {}
    for k, solver in enumerate(chosen):
        advance(k, len(chosen), solver)
        runs[solver] = _drag(solver, dt, count)
    sticking = (t > 0.05) & (t < 0.9 * dragged_cube.ONSET)
    sliding = t > 2 * dragged_cube.ONSET
    for result in runs.values():
        worst = np.abs(result["sideways"]).max(axis=1)
        result["at_stiction"] = float(np.median(worst[sticking]))
        result["sliding"] = float(np.median(worst[sliding]))
        result["final_speed"] = float(result["speed"][-1])
    return {"dt": dt, "t": t, "expected_speed": dragged_cube.velocity(t), "runs": runs}


def _drag(solver: str, dt: float, count: int) -> dict[str, Any]:
    world = dragged_cube.scene()
    sim = simulator(world, solver, dt=dt, margin=dragged_cube.MARGIN)
    cube = world.model.njoints - 1
    speed, sideways = [], []
    dragging = steps(
        sim, world.q0, np.zeros(6), count, lambda t: push(world, cube, [float(dragged_cube.force(t + dt / 2)), 0, 0])
    )
    for step in dragging:
        speed.append(step.v[0])
        of_corner = np.zeros(4)
        for contact, impulse in zip(step.contacts, step.impulses, strict=True):
            offset = contact.point - step.q[:3]
            corner = 2 * (offset[0] > 0) + (offset[1] > 0)
            on_cube = 1.0 if contact.joint_1 == cube else -1.0
            of_corner[corner] += on_cube * (contact.frame @ impulse)[1] / dt
        sideways.append(of_corner)
    return {"speed": np.array(speed), "sideways": np.array(sideways)}


def tables(results: dict[str, Any]) -> list:
    made = table(
        "Sideways force of a corner, N",
        *("<solver", "sticking", "sliding", "speed at 1 s, m/s"),
        caption="largest of the four corners, median over time; the weight is 9.81 N, and no sideways force is needed; "
        f"Coulomb's law: {results['expected_speed'][-1]:.4f} m/s",
    )
    for solver, result in results["runs"].items():
        forces = number(result["at_stiction"]), number(result["sliding"])
        made.add_row(label(solver), *forces, f"{result['final_speed']:.4f}")
    return [made]


def plot(results: dict[str, Any], path: Path) -> None:
    among = list(results["runs"])
    t = np.asarray(results["t"])
    with figure(path, columns=2) as (made, (left, right)):
        for solver, result in results["runs"].items():
            style = look(solver, among)
            left.plot(t, np.asarray(result["speed"]) - results["expected_speed"], **style)
            for k, curve in enumerate(np.asarray(result["sideways"]).T):
                right.plot(t, curve, **(style | {"label": style["label"] if k == 0 else None, "linewidth": 1.0}))
        for axes in (left, right):
            axes.axvline(dragged_cube.ONSET, color="black", linewidth=0.8, alpha=0.5)
        widest = max(1e-3, *np.abs(left.get_ylim()))  # noise of the solvers' tolerance stays a flat line
        left.set_ylim(-widest, widest)
        left.set(xlabel="time, s", ylabel="speed − Coulomb's law, m/s", title="Speed (the line: sliding starts)")
        right.set(xlabel="time, s", ylabel="force along y, N", title="Sideways forces of the four corners")
        legend(made, right)
