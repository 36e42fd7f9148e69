"""One contact problem of Solo-12 and one of Talos: how near to an answer is each solver after how many iterations?

A relaxed model never gets to zero before the judge of the unrelaxed problem: the second measure is what the solver's
own model is left with.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._taut import Problem, solve
from ..cli.terminal import number, table
from .experiment import Advance, available, figure, label, legend, look
from .systems import PUSH_FROM, SYSTEMS

NAME = "convergence"
WHAT = "One problem of Solo-12, one of Talos: distance from the solution against iterations"
PAPER = "[CB] Fig. 16"

ROBOTS = ("solo12", "talos")
SOLVERS = (
    *("auto", "pgs", "nbgs", "staggered", "admm", "admm_fp", "admm_la", "newton"),
    *("ccp_pgs", "ccp_admm", "ccp_newton_mujoco", "ccp_newton_drake"),
    *("raisim", "lcp_pgs", "lcp_staggered"),
)
QUICK = ("auto", "pgs", "admm", "newton", "ccp_pgs", "ccp_admm", "raisim", "lcp_pgs")
TOLERANCE = 1e-15  # never reached: the number of iterations decides
LEVELS = (1e-3, 1e-5, 1e-6, 1e-8)


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    limit = 200 if quick else 10_000
    counts = np.unique(np.round(np.geomspace(1, limit, 12 if quick else 40)).astype(int))
    chosen = available(*(QUICK if quick else SOLVERS))
    robots = {}
    for r, robot in enumerate(ROBOTS):
        problem = _problem(robot)
        runs = {}
        for k, solver in enumerate(chosen):
            advance(r * len(chosen) + k, len(ROBOTS) * len(chosen), f"{robot}, {solver}")
            answers = [solve(problem, solver, TOLERANCE, max_iterations=int(count)) for count in counts]
            natural = [answer.report.residuals.natural for answer in answers]
            runs[solver] = {
                "natural": natural,
                "own": [answer.report.model_residual for answer in answers],
                "iterations_to": {
                    f"{level:g}": next((int(n) for n, r in zip(counts, natural, strict=True) if r <= level), None)
                    for level in LEVELS
                },
            }
        eigenvalues = np.linalg.eigvalsh(problem.G)
        positive = eigenvalues[eigenvalues > 1e-12 * eigenvalues[-1]]
        robots[robot] = {
            "contacts": sum(kind == "cone" for kind in problem.kinds),
            "rows": len(problem.g),
            "rank": len(positive),
            "condition": float(positive[-1] / positive[0]),
            "runs": runs,
        }
    return {"counts": counts, "robots": robots}


def _problem(robot: str) -> Problem:
    """In the middle of the push: most feet stick, the load is uneven."""
    system = SYSTEMS[robot]()
    sim = system.held("auto")
    for _ in system.run(sim, seconds=PUSH_FROM + 0.05):
        pass
    return sim.problem()


def tables(results: dict[str, Any]) -> list:
    made = []
    for robot, about in results["robots"].items():
        one = table(
            f"{robot}: {about['contacts']} contacts, {about['rows']} rows of rank {about['rank']}, "
            f"condition {about['condition']:.1e}",
            *("<solver", *(f"to {level:g}" for level in LEVELS), "best, m/s", "own model"),
            caption="cold; iterations until the judge's natural map is at most this, m/s; then the best it got to "
            f"within {results['counts'][-1]} iterations, and the best residual of its own model",
        )
        for solver, result in about["runs"].items():
            counts = (str(result["iterations_to"][f"{level:g}"] or "–") for level in LEVELS)
            best, own = number(min(result["natural"]), digits=2), number(min(result["own"]), digits=2)
            one.add_row(label(solver), *counts, best, own)
        made.append(one)
    return made


def plot(results: dict[str, Any], path: Path) -> None:
    floor = 1e-17  # an exact zero has no place on a logarithmic axis
    with figure(path, rows=len(results["robots"]), columns=2) as (made, axes):
        for row, (robot, about) in enumerate(results["robots"].items()):
            left, right = axes[2 * row : 2 * row + 2]
            among = list(about["runs"])
            for solver, result in about["runs"].items():
                style = look(solver, among)
                left.loglog(results["counts"], np.maximum(result["natural"], floor), **style)
                right.loglog(results["counts"], np.maximum(result["own"], floor), **style)
            left.set(xlabel="iterations", ylabel="natural map, m/s", title=f"{robot}: the unrelaxed problem")
            right.set(xlabel="iterations", ylabel="worst residual of the own model", title=f"{robot}: the own model")
        legend(made, axes[0])
