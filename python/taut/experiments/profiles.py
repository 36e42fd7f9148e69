"""Performance profiles [KL, Sec. VII; Dolan and Moré 2002]: how often a solver is within a factor of the fastest.

Every problem from zero, every solver at its own defaults with the tolerance 1e-6. Whether it succeeded is what the
judge of Coulomb's law says of the answer, for every model alike: a solver of a relaxed model succeeds where its
relaxation does not show.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import _taut
from ..cli.terminal import number, table
from . import clock, problems
from .experiment import MODELS, Advance, available, figure, look, model_of

NAME = "profiles"
WHAT = "Performance profiles of all solvers over files of other simulators, robots and a pile."
PAPER = "[KL] Sec. VII"


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    groups = ["go1", "allegro"] if quick else list(problems.TRIALS)
    advance(0, 1, "collecting problems")
    samples = problems.from_files()
    for group in groups:
        samples += problems.collect(group, 4 if quick else 20)
    solvers = available()
    rows = []
    for done, sample in enumerate(samples):
        advance(done, len(samples), sample.name)
        answers = {solver: _answer(sample.problem, solver) for solver in solvers}
        rows.append({"group": sample.group, "name": sample.name, "contacts": sample.contacts, "answers": answers})
    return {"tolerance": clock.TOLERANCE, "solvers": solvers, "models": {s: model_of(s) for s in solvers}, "rows": rows}


def _answer(problem: _taut.Problem, solver: str) -> dict[str, Any]:
    """What a solver refuses, such as more contacts than pivots are for, it has not solved."""
    try:
        return clock.solve(problem, solver)
    except ValueError:
        return {"seconds": None, "natural": None, "worst": None, "certified": False}


def ratios(results: dict[str, Any]) -> dict[str, np.ndarray]:
    """For each solver its time over the fastest certified one's, problem by problem; infinite if it failed.

    Problems that nobody solved are infinite for everyone: they count.
    """
    times = np.array(
        [
            [answers[solver]["seconds"] if answers[solver]["certified"] else np.inf for solver in results["solvers"]]
            for answers in (row["answers"] for row in results["rows"])
        ]
    )
    fastest = times.min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        relative = np.where(np.isfinite(times), times / fastest, np.inf)
    return dict(zip(results["solvers"], relative.T, strict=True))


def profile(relative: np.ndarray, factor: float) -> float:
    """Share of the problems solved within `factor` of the fastest."""
    return float(np.mean(relative <= factor))


def tables(results: dict[str, Any]) -> list[Any]:
    return [_overall(results), _certified(results)]


def _ordered(results: dict[str, Any]) -> list[str]:
    """By model, in a model the most often certified first."""
    relative = ratios(results)
    return sorted(
        results["solvers"],
        key=lambda solver: (MODELS.index(results["models"][solver]), -np.isfinite(relative[solver]).mean()),
    )


def _overall(results: dict[str, Any]):
    relative = ratios(results)
    made = table(
        f"{len(results['rows'])} problems from zero, certified at {number(results['tolerance'], 'm/s')}",
        *("<solver", "<model", "certified", "median µs", "fastest", "within 2x", "within 10x"),
        caption="median over the problems that the solver solved: not the same for all; fastest, within: shares of "
        "all problems",
    )
    for solver in _ordered(results):
        solved = [row["answers"][solver]["seconds"] for row in results["rows"] if row["answers"][solver]["certified"]]
        shares = (f"{profile(relative[solver], factor):.0%}" for factor in (1.0, 2.0, 10.0))
        median = number(1e6 * float(np.median(solved))) if solved else "–"
        certified = f"{len(solved) / len(results['rows']):.0%}"
        made.add_row(solver, results["models"][solver], certified, median, *shares)
    return made


def _certified(results: dict[str, Any]):
    groups = list(dict.fromkeys(row["group"] for row in results["rows"]))
    sizes = {group: [row for row in results["rows"] if row["group"] == group] for group in groups}
    made = table("Certified, by where the problems come from", "<solver", *(f"{g}\n{len(sizes[g])}" for g in groups))
    for solver in _ordered(results):
        cells = []
        for group in groups:
            count = sum(row["answers"][solver]["certified"] for row in sizes[group])
            cells.append(f"[{'green' if count == len(sizes[group]) else 'red'}]{count}[/]")
        made.add_row(solver, *cells)
    return made


def plot(results: dict[str, Any], path: Path) -> None:
    relative = ratios(results)
    models = [model for model in MODELS if model in results["models"].values()]
    factors = np.logspace(0, 4, 400)
    width = 3.4 * len(models) if len(models) > 1 else 5.2
    with figure(path, columns=len(models), size=(width, 3.6), sharey=True) as (_, axes):
        for ax, model in zip(axes, models, strict=True):
            for solver in results["solvers"]:
                if results["models"][solver] == model:
                    shares = [profile(relative[solver], factor) for factor in factors]
                    ax.step(factors, shares, where="post", **look(solver, results["solvers"]))
            ax.set(xscale="log", xlabel="factor τ of the fastest", title=model, ylim=(-0.02, 1.02))
            ax.legend(loc="lower right" if model == "NCP" else "upper left")
        axes[0].set_ylabel("share of problems certified within τ")
