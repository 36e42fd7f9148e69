"""Pinocchio's ADMM and PGS, called from Python with a Delassus matrix of ours.

Building and factorizing the Delassus operator is part of the time: it belongs to every new problem. Each solver gets
the loosest tolerance of a ladder whose answer the judge certifies, ADMM also the better of two penalty rules and of a
dense and a sparse operator: a peer at its best, not at our convenience.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio

from .. import _taut
from . import clock

TOLERANCES = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10)  # absolute; Pinocchio's criteria are not the judge's
# ADMM factorizes when its penalty changes; what it has not solved by then it rarely solves later.
MAX_ITERATIONS = {"ADMM": 2_000, "PGS": 10_000}


class _Contacts:
    """Constraint models with the right cones: the solvers ask them for nothing else."""

    def __init__(self, mu: np.ndarray):
        self.models, self.datas = pinocchio.StdVec_ConstraintModel(), pinocchio.StdVec_ConstraintData()
        empty = pinocchio.Model()
        for coefficient in mu:
            contact = pinocchio.PointContactConstraintModel(empty, 0)
            contact.setFriction(coefficient)
            self.models.append(pinocchio.ConstraintModel(contact))
            self.datas.append(self.models[-1].createData())


def admm(problem: _taut.Problem, warm_start: np.ndarray | None = None) -> dict[str, Any]:
    """The fastest certified answer of ADMM, or if there is none the most accurate one."""
    makers = pinocchio.ADMMConstraintSolver, pinocchio.ADMMSolverResult
    answers = []
    for rule in (pinocchio.ADMMUpdateRule.OSQP, pinocchio.ADMMUpdateRule.SPECTRAL):
        for storage, operator in _operators(problem).items():
            settings = pinocchio.ADMMSolverSettings()
            settings.max_iterations = MAX_ITERATIONS["ADMM"]
            settings.admm_update_rule = rule
            answer = _ladder(problem, warm_start, settings, operator, makers)
            answers.append(answer | {"settings": f"{rule}, {storage}"})
    return min(answers, key=lambda a: (not a["certified"], a["seconds"] if a["certified"] else a["natural"]))


def _operators(problem: _taut.Problem) -> dict[str, Callable[[], Any]]:
    dense = np.array(problem.G)
    operators = {"dense": lambda: pinocchio.DelassusOperatorDense(dense)}
    if importlib.util.find_spec("scipy"):  # eigenpy takes a sparse matrix of scipy's only
        import scipy.sparse

        sparse = scipy.sparse.csc_matrix(dense)
        operators["sparse"] = lambda: pinocchio.DelassusOperatorSparse(sparse)
    return operators


def pgs(problem: _taut.Problem, warm_start: np.ndarray | None = None) -> dict[str, Any]:
    makers = pinocchio.PGSConstraintSolver, pinocchio.PGSSolverResult
    operator = _operators(problem)["dense"]  # it takes no other
    settings = pinocchio.PGSSolverSettings()
    settings.max_iterations = MAX_ITERATIONS["PGS"]
    return _ladder(problem, warm_start, settings, operator, makers) | {"settings": "dense"}


def _ladder(
    problem: _taut.Problem,
    warm_start: np.ndarray | None,
    settings: Any,
    operator: Callable[[], Any],
    makers: tuple[Callable[[], Any], Callable[[], Any]],
) -> dict[str, Any]:
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
    settings.solve_ncp = True  # Coulomb's law, not its convex relaxation
    contacts = _Contacts(problem.mu)
    g = np.array(problem.g)
    solver, result = makers[0](), makers[1]()
    answer: dict[str, Any] = {}
    for tolerance in TOLERANCES:
        settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = tolerance

        def call() -> bool:
            solver.reset()
            result.reset()
            if warm_start is not None:
                result.setConstraintImpulseGuess(warm_start)
            return solver.solve(operator(), g, contacts.models, contacts.datas, settings, result)

        start = time.perf_counter()
        says_converged = call()
        seconds = time.perf_counter() - start
        impulse = np.array(result.retrieveConstraintImpulses())
        answer = {"tolerance": tolerance, "says_converged": says_converged, **clock.judged(problem, impulse)}
        if answer["certified"] or not says_converged:  # a tighter tolerance would only take longer to miss
            break
    if answer["certified"] and seconds < clock.LONG:
        seconds = clock.median_seconds(call)
    return answer | {"seconds": seconds}
