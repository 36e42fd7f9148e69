"""No solver is fooled: problems that are wrong are refused, problems without an answer get an honest status."""

from __future__ import annotations

import faulthandler
import math

import numpy as np
import pytest
import scipy.sparse

import taut
from numpy_judge import worst

MODELS = taut.solver_models()
TOLERANCE = 1e-8
KINDS = {"free": ("free", 2), "positive": ("positive",), "interval": ("interval", 0.3), "cone": ("cone", 0.5)}

pytestmark = pytest.mark.parametrize("solver", list(MODELS))


@pytest.fixture(autouse=True)
def nothing_hangs():
    """A solve that does not end cannot be interrupted from Python: end the run and say where it was."""
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def honest(problem: taut.Problem, solver: str, **options) -> taut.Solution:
    """Solves; whatever the report claims must be true."""
    solution = taut.solve(problem, solver=solver, tolerance=TOLERANCE, **options)
    report = solution.report
    assert report.status in {"converged", "iteration_limit", "stalled", "not_finite"}
    assert np.isfinite(solution.impulse).all()
    # Rounding in (G + R) λ + g: what two right judges may differ by.
    scale = np.abs(problem.G).sum(axis=1).max(initial=0) * np.abs(solution.impulse).max(initial=0)
    rounding = 1e-14 * (scale + np.abs(problem.g).max(initial=0))
    if report.residuals.worst <= TOLERANCE:
        assert worst(problem, solution.impulse) <= TOLERANCE + rounding
    if report.status == "converged":
        assert report.model_residual <= TOLERANCE
        if MODELS[solver] == "NCP":
            assert report.residuals.worst <= TOLERANCE
    return solution


def squeezed(gap_speed: float) -> taut.Problem:
    """A point of 1 kg between two walls that close in on it: up is the normal of one contact, down of the other."""
    J = np.vstack([np.diag([1.0, 1.0, 1.0]), np.diag([1.0, -1.0, -1.0])])
    return taut.Problem(J @ J.T, [0, 0, -gap_speed, 0, 0, -gap_speed], [0.5, 0.5])


# --- problems that are wrong


def refused(named: str, *arguments, **options) -> None:
    with pytest.raises(ValueError, match=named):
        taut.Problem(*arguments, **options)


def test_wrong_problems_never_reach_a_solver(solver):
    """They are refused when they are made, dense or sparse, so that no solver has to be trusted with them."""
    skew = np.eye(3)
    skew[0, 1] = 0.5
    bent = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for make in (np.asarray, scipy.sparse.csr_array):
        refused("symmetric", make(skew), np.zeros(3), [0.5])
        refused("semi-definite", make(bent), np.zeros(3), [0.5])
        refused("negative", make(-np.eye(3)), np.zeros(3), [0.5])
        refused(r"G\(1, 1\) is inf", make(np.diag([1, math.inf, 1])), np.zeros(3), [0.5])
        refused(r"G\(1, 1\) is -?nan", make(np.diag([1, math.nan, 1])), np.zeros(3), [0.5])
        refused("mu.*-0.5", make(np.eye(3)), np.zeros(3), [-0.5])
        refused("mu.*inf", make(np.eye(3)), np.zeros(3), [math.inf])
        refused(r"g\[2\] is -inf", make(np.eye(3)), [0, 0, -math.inf], [0.5])
        refused(r"R\[0\] is inf", make(np.eye(3)), np.zeros(3), [0.5], R=[math.inf, 0, 0])
        refused(r"R\[0\] is -1", make(np.eye(3)), np.zeros(3), [0.5], R=[-1, 0, 0])
        refused(
            r"G has shape \(6, 6\), expected \(3, 3\)|G is 6 x 6 but g has 3 rows", make(np.eye(6)), np.zeros(3), [0.5]
        )
        refused(r"mu has shape \(2,\), expected \(1,\) or a number", make(np.eye(3)), np.zeros(3), [0.5, 0.5])
    for wrong in ([math.inf, 0, 0], [math.nan, 0, 0]):
        with pytest.raises(ValueError, match="warm_start is not finite"):
            taut.solve(taut.Problem(np.eye(3), np.zeros(3), [0.5]), solver=solver, warm_start=wrong)


def test_dense_matrix_with_a_negative_eigenvalue_is_refused(solver):
    G = np.full((3, 3), -0.9)
    np.fill_diagonal(G, 1.0)  # every pair of rows looks fine: 1 - 0.81 > 0; the eigenvalue is 1 - 1.8
    refused("semi-definite", G, np.zeros(3), [0.5])


def test_sparse_matrix_with_a_negative_eigenvalue_is_not_solved_falsely(solver):
    """A sparse matrix is not factored when a problem is made: the solver meets it."""
    G = np.full((3, 3), -0.9)
    np.fill_diagonal(G, 1.0)
    honest(taut.Problem(scipy.sparse.csr_array(G), [0.3, -0.2, -1.0], [0.5]), solver)


@pytest.mark.parametrize("size", [1e-15, 1e-12])
def test_asymmetry_and_indefiniteness_of_rounding_do_no_harm(solver, size, rng):
    J = rng.normal(size=(9, 6))
    G = J @ J.T  # rank 6 of 9
    G += size * np.abs(G).max() * rng.uniform(-1, 1, size=(9, 9))
    honest(taut.Problem(G, J @ rng.normal(size=6), [0.3, 0.5, 0.8]), solver)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_numbers_at_the_ends_of_the_scale(solver, size):
    honest(taut.Problem(size * np.eye(6), [1, 0, -1, 0, 1, -1], [0.5, 0.5]), solver)
    honest(taut.Problem(np.eye(6), size * np.array([1, 0, -1, 0, 1, -1]), [0.5, 0.5]), solver)
    honest(taut.Problem(size * np.eye(6), size * np.array([1, 0, -1, 0, 1, -1]), [0.5, 0.5]), solver)


# --- problems at the border


def test_empty_problem_is_solved(solver):
    solution = honest(taut.Problem(np.zeros((0, 0)), np.zeros(0), np.zeros(0)), solver)
    assert solution.report.status == "converged"
    assert solution.impulse.shape == solution.velocity.shape == (0,)


def test_without_friction_only_the_normal_is_stopped(solver):
    problem = taut.Problem(np.eye(3) / 2.0, [3.0, -4.0, -1.0], [0.0])
    solution = honest(problem, solver)
    assert np.abs(solution.impulse[:2]).max() == 0
    np.testing.assert_array_equal(solution.velocity[:2], [3.0, -4.0])
    if MODELS[solver] == "NCP":
        assert solution.report.status == "converged"
        assert solution.impulse[2] == pytest.approx(2.0, abs=1e-7)


def test_very_rough_contact_sticks(solver):
    solution = honest(taut.Problem(np.eye(3), [100.0, 0.0, -1.0], [1e6]), solver)
    if MODELS[solver] == "NCP" and solution.report.status == "converged":
        np.testing.assert_allclose(solution.velocity, 0, atol=1e-6)


def test_contact_that_moves_nothing_but_is_at_rest_is_solved(solver):
    solution = honest(taut.Problem(np.zeros((3, 3)), [0.0, 0.0, 1.0], [0.5]), solver)
    if MODELS[solver] == "NCP":
        assert solution.report.status == "converged"


# --- problems without an answer


def test_contact_that_nothing_can_stop(solver):
    """G = 0: no impulse changes the approaching velocity."""
    solution = honest(taut.Problem(np.zeros((3, 3)), [0.0, 0.0, -1.0], [0.5]), solver)
    assert solution.report.residuals.worst >= 0.5
    if MODELS[solver] == "NCP":
        assert solution.report.status != "converged"


@pytest.mark.parametrize("warm_start", [None, [0, 0, 1e6, 0, 0, 1e6]])
def test_point_squeezed_between_two_walls(solver, warm_start):
    problem = squeezed(1.0)
    solution = honest(problem, solver, warm_start=warm_start)
    # c_1n + c_2n = -2 whatever the impulses: one of the two stays at -1 or below.
    assert solution.report.residuals.worst >= 1 - 1e-6
    if MODELS[solver] == "NCP":
        assert solution.report.status != "converged"


def test_walls_that_stand_still_are_no_problem(solver):
    solution = honest(squeezed(0.0), solver)
    assert solution.report.status == "converged"
    np.testing.assert_allclose(solution.velocity, 0, atol=1e-7)


def test_bilateral_rows_that_contradict_each_other(solver):
    """Twice the same row, with two different velocities to cancel."""
    problem = taut.Problem(np.ones((2, 2)), [1.0, 0.0], blocks=[("free", 2)])
    try:
        solution = honest(problem, solver)
    except ValueError as error:
        assert "free" in str(error)
        return
    assert solution.report.residuals.worst >= 0.5 - 1e-6
    if MODELS[solver] == "NCP":
        assert solution.report.status != "converged"


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("sparse", [False, True])
def test_every_kind_of_block_is_solved_or_refused_by_name(solver, kind, sparse, rng):
    blocks = [("cone", 0.4), KINDS[kind]]
    rows = 3 + {"free": 2, "cone": 3}.get(kind, 1)
    J = rng.normal(size=(rows, 8))
    G = J @ J.T
    problem = taut.Problem(scipy.sparse.csr_array(G) if sparse else G, J @ rng.normal(size=8), blocks=blocks)
    assert problem.sparse == sparse
    try:
        solution = honest(problem, solver)
    except ValueError as error:
        assert kind != "cone"
        assert kind in str(error) or {"free": "bilateral", "positive": "limit", "interval": "friction"}[kind] in str(
            error
        )
        return
    if solver == "auto":
        assert solution.report.status == "converged"


def test_one_iteration_is_not_called_an_answer(solver, rng):
    J = rng.normal(size=(18, 10))
    honest(taut.Problem(J @ J.T, J @ rng.normal(size=10), rng.uniform(0.2, 1.0, 6)), solver, max_iterations=1)
