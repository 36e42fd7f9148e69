"""A cube slides to rest: its height, and its energy beside the closed form.

The convex model makes a sliding contact open at μ times its speed: the cube takes off. RaiSim's keeps it down, but
does not always brake it as hard as Coulomb's law.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..cli.terminal import length, number, table
from ..energy import mechanical_energy
from ..scenes import make
from .experiment import Advance, available, figure, label, legend, look, simulator

NAME = "energy"
WHAT = "A cube slides to rest: does it stay down, and lose energy at the right rate?"
PAPER = "[CB] Fig. 10"

MU, SPEED, DT, SECONDS, GRAVITY, MASS = 0.4, 1.0, 1e-3, 0.4, 9.81, 1.0
HEADING = 0.35  # rad from an axis of the pyramid and of the cube: along them too much is symmetric
MARGIN = 1e-6  # m: a contact is a touch, as in the paper; with taut's default, CCP hovers at μ |v| dt instead
SOLVERS = (
    *("auto", "pgs", "nbgs", "staggered", "admm", "newton"),
    *("ccp_pgs", "ccp_admm", "ccp_newton_mujoco", "ccp_newton_drake"),
    *("raisim", "lcp_pivot", "lcp_pgs"),
)
QUICK = ("auto", "pgs", "ccp_pgs", "ccp_admm", "raisim", "lcp_pivot")


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    chosen = available(*(QUICK if quick else SOLVERS))
    dt = 2 * DT if quick else DT
    count = round(SECONDS / dt)
    t = dt * np.arange(count + 1)
    expected = MASS / 2 * np.maximum(SPEED - MU * GRAVITY * t, 0.0) ** 2
    runs = {}
    for k, solver in enumerate(chosen):
        advance(k, len(chosen), solver)
        scene = make("sliding_cube", mu=MU, mass=MASS)
        sim = simulator(scene, solver, dt=dt, margin=MARGIN)
        v = [SPEED * np.cos(HEADING), SPEED * np.sin(HEADING), 0, 0, 0, 0]
        path = sim.rollout(scene.q0, v, steps=count)
        energy = mechanical_energy(scene, path.q, path.v) - mechanical_energy(scene, scene.q0, np.zeros(6))
        runs[solver] = {
            "height": path.q[:, 2] - path.q[0, 2],
            "energy": energy,
            "error": float(np.abs(energy - expected).max()),
            "distance": float(np.linalg.norm(path.q[-1, :2] - path.q[0, :2])),
            "natural": float(max(report.residuals.natural for report in path.reports)),
        }
    distance = dt * np.maximum(SPEED - MU * GRAVITY * t[1:], 0.0).sum()  # of the discrete step
    return {"dt": dt, "mu": MU, "t": t, "expected": expected, "distance": distance, "runs": runs}


def tables(results: dict[str, Any]) -> list:
    made = table(
        f"A cube slides to rest from {SPEED:g} m/s, μ {results['mu']:g}, dt {1e3 * results['dt']:g} ms",
        *("<solver", "rises to", "energy off by\nJ", "distance\nm", "natural map\nm/s"),
        caption=f"energy against the closed form, at worst, of {results['expected'][0]:.2f} J at the start; Coulomb's "
        f"law: {results['distance']:.4f} m; the judge's worst natural map over the steps",
    )
    for solver, result in results["runs"].items():
        off, distance, natural = number(result["error"]), f"{result['distance']:.4f}", number(result["natural"])
        made.add_row(label(solver), length(float(np.max(result["height"]))), off, distance, natural)
    return [made]


def plot(results: dict[str, Any], path: Path) -> None:
    among = list(results["runs"])
    t = np.asarray(results["t"])
    with figure(path, columns=2) as (made, (left, right)):
        for solver, result in results["runs"].items():
            left.plot(t, 1e3 * np.asarray(result["height"]), **look(solver, among))
            right.plot(t, result["energy"], **look(solver, among))
        right.plot(t, results["expected"], color="black", linewidth=3, alpha=0.25, label="Coulomb's law")
        left.set(xlabel="time, s", ylabel="height above the start, mm", title="Height")
        top = max(1.0, left.get_ylim()[1])
        left.set_ylim(-0.05 * top, top)
        right.set(xlabel="time, s", ylabel="energy, J", title="Mechanical energy")
        legend(made, right)
