"""`taut solve`: contact problems from files, judged from outside."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .. import _taut
from ..problem import Problem
from .run import DEFAULTS
from .terminal import BAD, GOOD, clean_errors, console, number, progress, require_folders, table, write_json

SOLVERS = "\n".join(f"- **{name}**: {what}" for name, what in _taut.solvers().items())


@clean_errors
def solve(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Problems as .npz: g, mu and G.")],
    solver: Annotated[str, typer.Option(metavar="NAME|all", help="A solver listed above, or all.")] = DEFAULTS.solver,
    tolerance: Annotated[float, typer.Option(help="What the judge must find, m/s.")] = DEFAULTS.tolerance,
    max_iterations: Annotated[int | None, typer.Option(help="Of the solver (default: its own limit).")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table to this file.")] = None,
) -> None:
    require_folders(json)
    solvers = list(_taut.solvers()) if solver == "all" else [solver]
    problems = {path: Problem.load(path) for path in files}
    results = []
    with progress() as bar:
        task = bar.add_task("solving", total=len(problems) * len(solvers))
        for path, problem in problems.items():
            for name in solvers:
                bar.update(task, description=f"{path.stem}, {name}")
                results.append({"file": str(path), **_solved(problem, name, tolerance, max_iterations)})
                bar.advance(task)

    console().print(_table(results, tolerance))
    write_json(json, {"tolerance": tolerance, "results": results})
    certified = {result["file"] for result in results if result["certified"]}
    if len(certified) < len({str(path) for path in files}):
        raise typer.Exit(1)


# After the decorator, which copies the docstring: the solvers' own list is the one place they are described.
solve.__doc__ = f"""Solve contact problems and have the judge measure the answers.

Find λ in K with λ ⊥ c + (0, 0, μ |c_t|) in K*, c = G λ + g. Whether an answer is certified is decided by the
residuals alone, never by the solver. The exit code is 1 if a problem is left without a certified answer.

Solvers:

{SOLVERS}

Examples:

    taut solve problem.npz
    taut solve *.npz --solver all --tolerance 1e-8 --json solved.json
"""


def _solved(problem: Problem, solver: str, tolerance: float, max_iterations: int | None) -> dict[str, Any]:
    """Solved from zero, the median time of as many solves as fit into 50 ms."""
    times: list[float] = []
    while not times or (sum(times) < 0.05 and len(times) < 20):
        start = time.perf_counter()
        solution = _taut.solve(problem, solver=solver, tolerance=tolerance, max_iterations=max_iterations)
        times.append(time.perf_counter() - start)
    residuals = _taut.residuals(problem, solution.impulse)
    return {
        "contacts": len(problem.mu),
        "solver": solver,
        "status": solution.report.status,
        "iterations": solution.report.iterations,
        "seconds": float(np.median(times)),
        "primal": residuals.primal,
        "dual": residuals.dual,
        "complementarity": residuals.complementarity,
        "natural": residuals.natural,
        "certified": bool(residuals.worst <= tolerance),
    }


def _table(results: list[dict[str, Any]], tolerance: float):
    made = table(
        f"tolerance {number(tolerance, 'm/s')}",
        *("<problem", "contacts", "<solver", "<status", "iter.", "ms"),
        *("primal", "dual", "compl.", "natural", "<"),
        caption="primal in N s, dual and natural map in m/s, complementarity in J; ✔ certified: primal, dual "
        "and natural within the tolerance",
    )
    before = None
    for result in results:
        first = result["file"] != before
        before = result["file"]
        made.add_row(
            Path(before).stem if first else "",
            str(result["contacts"]) if first else "",
            result["solver"],
            result["status"].replace("iteration_limit", "limit"),
            str(result["iterations"]),
            number(1e3 * result["seconds"]),
            *(f"{result[name]:.0e}" for name in ("primal", "dual", "complementarity", "natural")),
            GOOD if result["certified"] else BAD,
        )
    return made
