"""A heavy cube on a light one: what a large mass ratio does to each solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import coal
import numpy as np

from .._taut import Scene
from ..cli.terminal import length, number, table
from .experiment import Advance, available, figure, label, legend, look, simulator

NAME = "heavy_on_light"
WHAT = "A heavy cube on a light one: residual of each solver against the mass ratio"
PAPER = "[CB] Fig. 13"

SIDE, MU, DT, MAX_ITERATIONS = 0.2, 0.8, 1e-3, 10_000
SOLVERS = (
    *("auto", "pgs", "nbgs", "staggered", "admm", "admm_fp", "admm_la", "newton"),
    *("ccp_pgs", "ccp_admm", "ccp_newton_mujoco", "ccp_newton_drake"),
    *("raisim", "lcp_pivot", "lcp_pgs", "lcp_staggered"),
)
QUICK = ("auto", "pgs", "admm", "ccp_admm", "raisim", "lcp_pivot")


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    chosen = available(*(QUICK if quick else SOLVERS))
    ratios = (1.0, 1e3, 1e6) if quick else tuple(10.0 ** np.arange(0.0, 6.5, 1.0))
    count = 20 if quick else 100
    runs: dict[str, Any] = {}
    for k, solver in enumerate(chosen):
        rows = []
        for i, ratio in enumerate(ratios):
            advance(k * len(ratios) + i, len(chosen) * len(ratios), f"{solver}, ratio {ratio:g}")
            rows.append(_stand(solver, ratio, count))
        runs[solver] = rows
    return {"ratios": ratios, "steps": count, "dt": DT, "max_iterations": MAX_ITERATIONS, "runs": runs}


def _stand(solver: str, ratio: float, count: int) -> dict[str, Any]:
    scene = Scene()
    scene.add_floor(friction=MU)
    # 1 g under 1 t at a ratio of 10^6, as in the paper; the geometric mean stays 1 kg.
    scene.add_body("light", coal.Box(SIDE, SIDE, SIDE), ratio**-0.5, [0, 0, SIDE / 2], friction=MU)
    scene.add_body("heavy", coal.Box(SIDE, SIDE, SIDE), ratio**0.5, [0, 0, 1.5 * SIDE], friction=MU)
    sim = simulator(scene, solver, dt=DT, max_iterations=MAX_ITERATIONS)
    path = sim.rollout(scene.q0, np.zeros(scene.model.nv), steps=count)
    natural = np.array([report.residuals.natural for report in path.reports])
    return {
        "ratio": ratio,
        "natural": natural,
        "mean_natural": float(natural.mean()),
        "sinks": float(1.5 * SIDE - path.q[len(path), 9]),
        "iterations": float(np.mean([report.iterations for report in path.reports])),
        "converged": float(np.mean([report.status == "converged" for report in path.reports])),
    }


def tables(results: dict[str, Any]) -> list:
    made = table(
        f"A heavy cube on a light one, {results['steps']} steps of {1e3 * results['dt']:g} ms",
        *("<solver", *(f"ratio {ratio:g}" for ratio in results["ratios"][:: len(results["ratios"]) // 3])),
        *("iterations", "sinks by"),
        caption="mean of the judge's natural map over the steps, m/s; the last two columns at the largest ratio, "
        f"iterations at most {results['max_iterations']}",
    )
    for solver, rows in results["runs"].items():
        residuals = (number(row["mean_natural"], digits=2) for row in rows[:: len(rows) // 3])
        made.add_row(label(solver), *residuals, f"{rows[-1]['iterations']:.0f}", length(rows[-1]["sinks"]))
    return [made]


def plot(results: dict[str, Any], path: Path) -> None:
    among = list(results["runs"])
    floor = 1e-16  # an exact zero has no place on a logarithmic axis
    with figure(path, columns=2) as (made, (left, right)):
        for solver, rows in results["runs"].items():
            style = look(solver, among)
            natural = np.maximum(rows[-1]["natural"], floor)
            left.semilogy(results["dt"] * np.arange(1, len(natural) + 1), natural, **style)
            residuals = np.maximum([row["mean_natural"] for row in rows], floor)
            right.loglog(results["ratios"], residuals, marker="o", markersize=3, **style)
        left.set(xlabel="time, s", ylabel="natural map, m/s", title=f"Mass ratio {results['ratios'][-1]:g}")
        right.set(xlabel="mass ratio", ylabel="natural map, mean over the run, m/s", title="All ratios")
        legend(made, right)
