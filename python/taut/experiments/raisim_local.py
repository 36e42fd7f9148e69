"""The single sliding contact of [RS, Sec. IV] by its three methods: bisection, golden section, the quartic.

Of all impulses on the cone that stop the normal motion, find the one that leaves the least energy. The problems are
bodies of random inertia that hit the floor at a random point of theirs, sliding: every one needs the local search.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import _taut
from ..cli.terminal import number, table
from .experiment import Advance, available, figure

NAME = "raisim_local"
WHAT = "One sliding contact: bisection, golden section and the quartic of RaiSim's model, time and agreement."
PAPER = "[RS] Table I"

SOLVERS = {"raisim": "bisection", "raisim_golden": "golden section", "raisim_quartic": "quartic"}
PAPERS_US = {"raisim": 0.58, "raisim_golden": 1.2, "raisim_quartic": 1.6}
TOLERANCE = 1e-6  # [RS] ends a search when the interval of impulses is below 1e-6 N s
REPEATS = 20


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    solvers = available(*SOLVERS)
    if not solvers:
        raise ValueError(f"this taut has none of {', '.join(SOLVERS)}")
    problems = sliding(200 if quick else 5000)
    seconds: dict[str, list[float]] = {}
    impulses, missed = {}, {}
    for done, solver in enumerate(solvers):
        advance(done, len(solvers), SOLVERS[solver])
        answers = [_taut.solve(problem, solver=solver, tolerance=TOLERANCE) for problem in problems]
        seconds[solver] = [
            float(np.median(_taut.time_solve(problem, solver=solver, tolerance=TOLERANCE, repeats=REPEATS)))
            for problem in problems
        ]
        impulses[solver] = np.array([answer.impulse for answer in answers])
        missed[solver] = sum(answer.report.status != "converged" for answer in answers)
    # The problem already solved, by the judge's word: what a call costs without a search.
    floor = [
        float(
            np.median(
                _taut.time_solve(problem, solver=solvers[0], tolerance=TOLERANCE, warm_start=impulse, repeats=REPEATS)
            )
        )
        for problem, impulse in zip(problems, impulses[solvers[0]], strict=True)
    ]
    return {
        "problems": len(problems),
        "seconds": seconds,
        "already_solved_seconds": float(np.median(floor)),
        "not_converged": missed,
        "difference": _differences(problems, impulses),
    }


def sliding(count: int, seed: int = 0) -> list[_taut.Problem]:
    """Problems of one contact whose impulse at rest is outside the cone: they slide."""
    rng = np.random.default_rng(seed)
    found: list[_taut.Problem] = []
    while len(found) < count:
        mass, arm, mu = rng.uniform(0.2, 5.0), rng.uniform(-0.3, 0.3, 3), rng.uniform(0.1, 1.0)
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        sides = rng.uniform(0.05, 0.4, 3) ** 2  # of a box, squared: its inertia keeps the triangle inequality
        inertia = turn @ np.diag(mass / 12 * (sides.sum() - sides)) @ turn.T
        cross = np.cross(np.eye(3), arm)
        G = np.eye(3) / mass + cross @ np.linalg.solve(inertia, cross.T)
        g = np.append(rng.normal(size=2), -abs(rng.normal()))
        stop = np.linalg.solve(G, -g)
        # It approaches, so it pushes; what would stop it altogether is more than friction can do, so it slides.
        if np.hypot(*stop[:2]) > mu * stop[2]:
            found.append(_taut.Problem(G, g, np.array([mu])))
    return found


def _differences(problems: list[_taut.Problem], impulses: dict[str, np.ndarray]) -> dict[str, float | None]:
    """Largest and typical relative difference from the first solver's impulses."""
    first, *others = impulses
    found: dict[str, Any] = {first: None}
    for solver in others:
        off = np.linalg.norm(impulses[solver] - impulses[first], axis=1)
        size = np.linalg.norm(impulses[first], axis=1)
        found[solver] = {"median": float(np.median(off / size)), "worst": float(np.max(off / size))}
    return found


def tables(results: dict[str, Any]) -> list[Any]:
    made = table(
        f"One sliding contact, {results['problems']} problems",
        *(
            "<local solver",
            "median\nµs",
            "95 %\nµs",
            "[RS]\nµs",
            "difference\nmedian",
            "difference\nworst",
            "not\nconverged",
        ),
        caption="a whole solve from zero with the judge's checks, timed in C++; of it "
        f"{1e6 * results['already_solved_seconds']:.2f} µs are spent if the answer is given; [RS] times the search "
        "alone; difference: of the impulse from bisection's, relative",
    )
    for solver, seconds in results["seconds"].items():
        off = results["difference"][solver]
        us = 1e6 * np.array(seconds)
        made.add_row(
            SOLVERS[solver],
            *(f"{np.median(us):.2f}", f"{np.quantile(us, 0.95):.2f}", number(PAPERS_US[solver])),
            *((number(off["median"], digits=2), number(off["worst"], digits=2)) if off else ("–", "–")),
            str(results["not_converged"][solver]),
        )
    return [made]


def plot(results: dict[str, Any], path: Path) -> None:
    colours = ("#31a354", "#a1d99b", "#006d2c")
    with figure(path) as (_, (axes,)):
        for (solver, seconds), colour in zip(results["seconds"].items(), colours, strict=False):
            us = np.sort(1e6 * np.array(seconds))
            axes.plot(us, np.arange(1, len(us) + 1) / len(us), color=colour, label=SOLVERS[solver])
        spent = 1e6 * results["already_solved_seconds"]
        axes.axvline(spent, color="grey", linestyle=":", label="answer given")
        axes.set(xscale="log", xlabel="one solve (µs)", ylabel="share of problems solved", title="one sliding contact")
        axes.legend()
