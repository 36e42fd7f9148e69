"""Every solver on the samples of [KL, Sec. VII]: r_pen, r_dual, r_ncp, r_nat, iterations and time, by category.

Each solver takes the sample's step itself, from zero impulses: r_pen is what its impulses leave of the constraints at
the end of that step, the other residuals are the judge's. Performance profiles count an answer that the judge
certifies.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from ..._taut import Scene, Simulator, time_solve
from ...cli.terminal import number, table
from ...scenes.mechanisms import MECHANISMS, mechanism
from .. import profiles
from ..clock import BUDGET, REPEATS, TOLERANCE, duration, exponent
from ..experiment import MODELS, Advance, available, figure, legend, look, model_of
from .samples import CATEGORIES, DT, Sample, collect

NAME = "solvers"
WHAT = "All solvers on samples of every category: residuals, iterations, time, performance profiles."
PAPER = "[KL] Sec. VII-C, VII-D"

QUICK_SYSTEMS = ("box_on_plane", "boxes_fixed", "nunchuk", "fourbar_fixed", "fourbar_free")
QUICK_SOLVERS = ("auto", "pgs", "admm", "ccp_admm")
PATIENCE = 2_000  # iterations, of every solver alike
METRICS = ("r_pen", "r_dual", "r_ncp", "r_nat")


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    systems = list(QUICK_SYSTEMS) if quick else list(MECHANISMS)
    solvers = available(*QUICK_SOLVERS) if quick else available()
    advance(0, 1, "collecting samples")
    samples = collect(systems, each=2 if quick else 4)
    scenes = {system: mechanism(system).scene("maximal") for system in systems}
    rows = []
    for done, sample in enumerate(samples):
        advance(done, len(samples), sample.name)
        answers = {solver: _answer(scenes[sample.system], sample, solver) for solver in solvers}
        rows.append(
            {
                "name": sample.name,
                "system": sample.system,
                "categories": list(sample.categories),
                "rows": len(sample.problem.g),
                "contacts": list(sample.problem.kinds).count("cone"),
                "answers": answers,
            }
        )
    return {
        "tolerance": TOLERANCE,
        "max_iterations": PATIENCE,
        "solvers": solvers,
        "models": {solver: model_of(solver) for solver in solvers},
        "rows": rows,
    }


def _answer(scene: Scene, sample: Sample, solver: str) -> dict[str, Any]:
    """What a solver refuses, such as more rows than pivots are for, it has not solved."""
    options = {"solver": solver, "tolerance": TOLERANCE, "max_iterations": PATIENCE}
    try:
        sim = Simulator(scene, dt=DT, **options)
        start = time.perf_counter()
        step = sim.step(sample.q, sample.v)
        seconds = time.perf_counter() - start
    except ValueError:
        return {"seconds": None, "iterations": None, "certified": False, **dict.fromkeys(METRICS)}
    if step.report.status == "not_finite":
        return {"seconds": None, "iterations": step.report.iterations, "certified": False, **dict.fromkeys(METRICS)}
    residuals = step.report.residuals
    certified = bool(residuals.worst <= TOLERANCE)
    if certified:
        repeats = int(np.clip(BUDGET / seconds, 1, REPEATS))
        seconds = float(np.median(time_solve(sample.problem, **options, repeats=repeats)))
    return {
        "seconds": seconds,
        "iterations": step.report.iterations,
        "certified": certified,
        "r_pen": violation(scene, step.q),
        "r_dual": residuals.dual,
        "r_ncp": residuals.complementarity,
        "r_nat": residuals.natural,
    }


def violation(scene: Scene, q: np.ndarray) -> float:
    """r_pen [KL, eqs. (83), (84), (173)]: the worst of closure errors, limits passed and penetrations, m and rad alike.

    What joints of a tree leave free cannot come open; in reduced coordinates their limits are all that is left of them.
    """
    open_by = max((float(np.abs(error).max()) for error in scene.loop_errors(q).values()), default=0.0)
    open_by = max(open_by, *scene.limit_excess(q))
    probe = Simulator(scene, dt=DT).step(q, np.zeros(scene.model.nv))
    return max([open_by, *(-contact.gap for contact in probe.contacts)])


def of_category(results: dict[str, Any], category: str) -> dict[str, Any]:
    return results | {"rows": [row for row in results["rows"] if category in row["categories"]]}


def present(results: dict[str, Any]) -> list[str]:
    return [category for category in CATEGORIES if of_category(results, category)["rows"]]


def tables(results: dict[str, Any]) -> list[Any]:
    return [_certified(results), *(_category(results, category) for category in present(results))]


def _ordered(results: dict[str, Any]) -> list[str]:
    def certified(solver: str) -> int:
        return sum(row["answers"][solver]["certified"] for row in results["rows"])

    return sorted(results["solvers"], key=lambda s: (MODELS.index(results["models"][s]), -certified(s)))


def _certified(results: dict[str, Any]):
    groups = present(results)
    sizes = {group: of_category(results, group)["rows"] for group in groups}
    made = table(
        f"Certified at {number(results['tolerance'], 'm/s')} within {results['max_iterations']} iterations",
        *("<solver", *(f"{group.replace('_', chr(10))}\n{len(sizes[group])}" for group in groups)),
        f"all\n\n{len(results['rows'])}",
        caption="by model: NCP, CCP, RaiSim, LCP; a sample with contacts and joints may count in two categories",
    )
    for solver in _ordered(results):
        counts = [sum(row["answers"][solver]["certified"] for row in sizes[group]) for group in groups]
        cells = [
            f"[{'green' if count == len(sizes[group]) else 'red'}]{count}[/]"
            for group, count in zip(groups, counts, strict=True)
        ]
        total = sum(row["answers"][solver]["certified"] for row in results["rows"])
        made.add_row(solver, *cells, str(total))
    return made


def _category(results: dict[str, Any], category: str):
    part = of_category(results, category)
    systems = list(dict.fromkeys(row["system"] for row in part["rows"]))
    relative = profiles.ratios(part)
    made = table(
        f"{category.replace('_', ' ')} ({CATEGORIES[category]}): {len(part['rows'])} samples",
        *("<solver", *METRICS, "iterations", "time", "certified", "within 2x"),
        caption=f"medians of {', '.join(systems)}; iterations of all solves of a step; time of a solve, or of the step "
        "if it was not certified; within 2x: certified, and at most twice the time of the fastest",
    )
    for solver in _ordered(part):
        answers = [row["answers"][solver] for row in part["rows"] if row["answers"][solver]["r_nat"] is not None]
        if not answers:
            made.add_row(solver, *["–"] * 6, "0", "0 %")
            continue
        middle = {
            key: float(np.median([answer[key] for answer in answers])) for key in (*METRICS, "iterations", "seconds")
        }
        count = sum(answer["certified"] for answer in answers)
        made.add_row(
            solver,
            *(exponent(middle[metric]) if middle[metric] else "0" for metric in METRICS),
            f"{middle['iterations']:.0f}",
            duration(middle["seconds"]),
            f"{count}",
            f"{profiles.profile(relative[solver], 2.0):.0%}",
        )
    return made


def plot(results: dict[str, Any], path: Path) -> None:
    groups = present(results)
    factors = np.logspace(0, 4, 300)
    columns = 4 if len(groups) > 3 else len(groups)
    rows = -(-len(groups) // columns)
    with figure(path, rows=rows, columns=columns, size=(3.1 * columns + 1.6, 2.7 * rows), sharey=True) as (made, axes):
        for ax, category in zip(axes, groups, strict=False):
            part = of_category(results, category)
            relative = profiles.ratios(part)
            for solver in _ordered(results):
                if not np.isfinite(relative[solver]).any():
                    continue
                shares = [profiles.profile(relative[solver], factor) for factor in factors]
                ax.step(factors, shares, where="post", **look(solver, results["solvers"]))
            ax.set(xscale="log", ylim=(-0.02, 1.02))
            ax.set_title(f"{category.replace('_', ' ')} ({len(part['rows'])})", fontsize=8.5)
        for ax in axes[len(groups) :]:
            ax.set_axis_off()
        for ax in axes[::columns]:
            ax.set_ylabel("certified within τ")
        for ax in axes[max(0, len(groups) - columns) : len(groups)]:
            ax.set_xlabel("factor τ of the fastest")
        legend(made, *axes[: len(groups)])
