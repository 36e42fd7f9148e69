"""`taut solve`: contact problems from files, judged from outside."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from .. import _taut
from ..problem import Problem
from .run import DEFAULTS
from .terminal import BAD, GOOD, clean_errors, console, number, progress, require_folders, table, write_json

OTHER_LAW = "[yellow]≈[/]"
LAWS = {
    "NCP": "the exact law",
    "CCP": "sliding contacts lift off",
    "LCP": "a pyramid for the cone",
    "RaiSim": "Signorini kept, dissipation given up",
}
JUDGED = ("primal", "dual", "complementarity", "natural")
TIMED_SECONDS = 0.05  # a solve that takes longer is not repeated


@clean_errors
def solve(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Problems: .npz, or .hdf5 or .h5 of FCLIB.")],
    solver: Annotated[
        str, typer.Option(metavar="NAME[,NAME]|all", help="Solvers listed above, or all.")
    ] = DEFAULTS.solver,
    tolerance: Annotated[float, typer.Option(help="What the judge must find, m/s.")] = DEFAULTS.tolerance,
    max_iterations: Annotated[int | None, typer.Option(help="Of the solver (default: its own limit).")] = None,
    relaxation: Annotated[float | None, typer.Option(help="Of sweeps and ADMM, in (0, 2).")] = None,
    sides: Annotated[int | None, typer.Option(help="Of the pyramid of an LCP.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Compliance of ccp_newton_mujoco, a share of diag G.")] = None,
    rho: Annotated[float | None, typer.Option(help="The penalty ADMM starts from.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table to this file.")] = None,
) -> None:
    require_folders(json)
    solvers = _chosen(solver)
    given = {
        "tolerance": tolerance,
        "max_iterations": max_iterations,
        "relaxation": relaxation,
        "sides": sides,
        "alpha": alpha,
        "rho": rho,
    }
    options = {name: value for name, value in given.items() if value is not None}
    _require_sound(solvers, options)
    problems = {path: _load(path) for path in files}
    results = []
    with progress() as bar:
        task = bar.add_task("solving", total=len(problems) * len(solvers))
        for path, problem in problems.items():
            for name in solvers:
                bar.update(task, description=f"{escape(path.stem)}, {name}")
                results.append({"file": str(path), **_solved(problem, name, options)})
                bar.advance(task)

    for path, problem in problems.items():
        _print(path, problem, [result for result in results if result["file"] == str(path)])
    console().print(
        f"primal in N s, dual and natural map in m/s, complementarity in J; of the exact law. model: the residual of "
        f"the solver's own law.\n{GOOD} certified: primal, dual and natural within {number(tolerance, 'm/s')}; "
        f"{OTHER_LAW} solved, but another law; {BAD} neither"
    )
    write_json(json, {**options, "results": results})
    certified = {result["file"] for result in results if result["certified"]}
    if len(certified) < len(problems):
        raise typer.Exit(1)


def _listed() -> str:
    """The solvers' own list is the one place they are described."""
    models = _taut.solver_models()
    parts = []
    for model, law in LAWS.items():
        lines = [f"- **{name}**: {what}" for name, what in _taut.solvers().items() if models[name] == model]
        if lines:
            parts.append("\n".join([f"{model} ({law}):", "", *lines]))
    return "\n\n".join(parts)


# After the decorator, which copies the docstring.
solve.__doc__ = f"""Solve contact problems and have the judge measure the answers.

Find λ in K with λ ⊥ c + (0, 0, μ |c_t|) in K*, c = G λ + g. Whether an answer is certified is decided by the
residuals alone, never by the solver. The exit code is 1 if a problem is left without a certified answer.

Solvers by the law they solve:

{_listed()}

Examples:

    taut solve problem.npz
    taut solve *.npz --solver all --tolerance 1e-8 --json solved.json
    taut solve problem.hdf5 --solver pgs,lcp_pgs --sides 8
"""


def _chosen(names: str) -> list[str]:
    known = list(_taut.solvers())
    if names == "all":
        return known
    chosen = [name.strip() for name in names.split(",")]
    for name in chosen:
        if name not in known:
            raise ValueError(f"no solver is named '{name}'; there are {', '.join(known)}")
    return chosen


def _require_sound(solvers: list[str], options: dict[str, Any]) -> None:
    """Options out of range end the command before it begins; later, an error is one method's own."""
    nothing = Problem(np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    for name in solvers:
        _taut.solve(nothing, solver=name, **options)


def _load(path: Path) -> Problem:
    try:
        return Problem.load(path)
    except ImportError as error:  # an extra is missing
        raise ValueError(str(error)) from error


def _solved(problem: Problem, solver: str, options: dict[str, Any]) -> dict[str, Any]:
    result = {"contacts": len(problem.mu), "solver": solver, "model": _taut.solver_models()[solver]}
    start = time.perf_counter()
    try:
        solution = _taut.solve(problem, solver=solver, **options)
    except ValueError as error:  # a block it cannot take
        return {**result, "error": str(error), "certified": False, "solved": False}
    seconds = time.perf_counter() - start
    if seconds < TIMED_SECONDS:
        repeats = int(np.clip(TIMED_SECONDS / seconds, 3, 20))
        seconds = float(np.median(_taut.time_solve(problem, solver=solver, repeats=repeats, **options)))
    residuals = _taut.residuals(problem, solution.impulse)
    report = solution.report
    return {
        **result,
        "status": report.status,
        "iterations": report.iterations,
        "seconds": seconds,
        **{name: getattr(residuals, name) for name in JUDGED},
        "model_residual": report.model_residual,
        "certified": bool(residuals.worst <= options["tolerance"]),
        "solved": report.status == "converged",
    }


def _print(path: Path, problem: Problem, results: list[dict[str, Any]]) -> None:
    kept = "sparse" if problem.sparse else "dense"
    made = table(
        f"{escape(path.stem)}: {len(problem.mu)} contacts, {len(problem.g)} rows, {kept}",
        *("<solver", "<law", "<status", "iter.", "ms", "primal", "dual", "compl.", "natural", "model", "<"),
    )
    for result in results:
        if "error" in result:
            made.add_row(result["solver"], result["model"], "[red]refused[/]", *7 * ["–"], BAD)
            continue
        exact = result["model"] == "NCP"
        made.add_row(
            result["solver"],
            result["model"],
            result["status"].replace("iteration_limit", "limit"),
            str(result["iterations"]),
            number(1e3 * result["seconds"]),
            *(f"{result[name]:.0e}" for name in JUDGED),
            "" if exact else f"{result['model_residual']:.0e}",
            GOOD if result["certified"] else OTHER_LAW if result["solved"] and not exact else BAD,
        )
    out = console()
    out.print(made)
    for result in results:
        if "error" in result:
            out.print(f" [red]{result['solver']}[/]: {escape(result['error'])}", soft_wrap=True)
