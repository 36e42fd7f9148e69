"""Contact problems as data: solving, judging, reading and writing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import taut

SOLVERS = list(taut.solvers())


def point(g, mu=0.4, mass=2.0) -> taut.Problem:
    """One contact of a point mass."""
    return taut.Problem(np.eye(3) / mass, np.asarray(g, dtype=float), [mu])


def random_problem(rng: np.random.Generator, contacts: int, dof: int) -> taut.Problem:
    J = rng.normal(size=(3 * contacts, dof))
    return taut.Problem(J @ J.T, J @ rng.normal(size=dof), rng.uniform(0.2, 1.0, contacts))


def natural_map(problem: taut.Problem, impulse: np.ndarray) -> float:
    """The judge of design.md written again, in numpy: ‖(λ - P(λ - ρ s))/ρ‖∞ over the contacts."""
    worst = 0.0
    velocity = (problem.G + np.diag(problem.R)) @ impulse + problem.g
    for i, mu in enumerate(problem.mu):
        rows = slice(3 * i, 3 * i + 3)
        s = velocity[rows] + [0, 0, mu * math.hypot(*velocity[rows][:2])]
        rho = 3 / np.trace((problem.G + np.diag(problem.R))[rows, rows])
        x = impulse[rows] - rho * s
        radius = math.hypot(x[0], x[1])
        if mu * radius <= -x[2]:
            projected = np.zeros(3)
        elif radius <= mu * x[2]:
            projected = x
        else:
            normal = (mu * radius + x[2]) / (1 + mu**2)
            projected = np.array([*(mu * normal * x[:2] / radius), normal])
        worst = max(worst, np.abs((impulse[rows] - projected) / rho).max())
    return worst


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("g", "velocity"),
    [
        ([0.1, 0.0, 1.0], [0.1, 0.0, 1.0]),  # leaves
        ([0.1, -0.2, -1.0], [0.0, 0.0, 0.0]),  # sticks: |g_t| < mu |g_n|
        ([3.0, 4.0, -1.0], [3.0 - 0.4 * 0.6, 4.0 - 0.4 * 0.8, 0.0]),  # slides: braked by mu |g_n|
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ],
)
def test_one_contact_has_a_closed_form(solver, g, velocity):
    problem = point(g)
    solution = taut.solve(problem, solver=solver, tolerance=1e-12)
    assert solution.report.status == "converged"
    np.testing.assert_allclose(solution.velocity, velocity, atol=1e-10)
    np.testing.assert_allclose(solution.impulse, 2.0 * (np.array(velocity) - g), atol=1e-10)
    np.testing.assert_allclose(solution.velocity, problem.G @ solution.impulse + problem.g, atol=1e-14)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), contacts=st.integers(1, 6), spare=st.integers(-4, 6))
def test_auto_solves_random_problems_and_the_judge_is_right(seed, contacts, spare):
    problem = random_problem(np.random.default_rng(seed), contacts, max(3, 3 * contacts + spare))
    solution = taut.solve(problem, tolerance=1e-8)
    if solution.report.status == "converged":
        # The numpy judge agrees that it is solved; 10x for roundoff in velocities of order 10.
        assert natural_map(problem, solution.impulse) <= 1e-7
        assert solution.impulse @ solution.velocity <= 1e-9  # friction never gives power
    assert solution.report.residuals.natural == pytest.approx(natural_map(problem, solution.impulse), abs=1e-10)
    wrong = solution.impulse + 0.1
    judged = taut.residuals(problem, wrong)
    assert judged.natural == pytest.approx(natural_map(problem, wrong), rel=1e-9)


def test_judge_knows_primal_dual_and_complementarity():
    problem = point([0.0, 0.0, -1.0], mu=0.5, mass=1.0)
    solved = taut.residuals(problem, [0, 0, 1])
    assert (solved.primal, solved.dual, solved.complementarity, solved.natural) == (0, 0, 0, 0)
    nothing = taut.residuals(problem, [0, 0, 0])  # it would go on falling at 1 m/s
    assert nothing.primal == 0
    assert nothing.dual == pytest.approx(1.0)
    pulling = taut.residuals(problem, [0, 0, -0.3])  # outside of the cone by 0.3 N s
    assert pulling.primal == pytest.approx(0.3)
    pushing = taut.residuals(problem, [0, 0, 3])  # leaves at 2 m/s while pushed
    assert pushing.complementarity == pytest.approx(6.0)
    assert pushing.worst >= pushing.natural > 0.1


@pytest.mark.parametrize("solver", SOLVERS)
def test_solution_does_not_care_how_the_tangents_are_drawn(solver, rng):
    angle = 1.1
    turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
    turns = np.kron(np.eye(3), turn)
    problem = random_problem(rng, 3, 12)
    turned = taut.Problem(turns @ problem.G @ turns.T, turns @ problem.g, problem.mu)
    straight = taut.solve(problem, solver=solver, tolerance=1e-10, max_iterations=100_000)
    other = taut.solve(turned, solver=solver, tolerance=1e-10, max_iterations=100_000)
    assert straight.report.status == other.report.status == "converged"
    np.testing.assert_allclose(turns @ straight.velocity, other.velocity, atol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_warm_start_from_the_solution_costs_nothing(solver, rng):
    problem = random_problem(rng, 4, 15)
    solution = taut.solve(problem, tolerance=1e-10)
    again = taut.solve(problem, solver=solver, tolerance=1e-8, warm_start=solution.impulse)
    assert again.report.status == "converged"
    assert again.report.iterations <= 1
    np.testing.assert_allclose(again.velocity, solution.velocity, atol=1e-7)


def test_iteration_limit_is_reported_not_raised(rng):
    problem = random_problem(rng, 6, 10)
    solution = taut.solve(problem, solver="pgs", tolerance=1e-14, max_iterations=1)
    assert solution.report.status == "iteration_limit"
    assert solution.report.iterations == 1
    assert np.isfinite(solution.impulse).all()
    assert solution.report.residuals.natural == pytest.approx(taut.residuals(problem, solution.impulse).natural)


def test_compliance_softens_the_contact():
    # (1/m + R) λ = -g
    problem = taut.Problem(np.eye(3), [0, 0, -1.0], [0.5], R=[0.0, 0.0, 0.25])
    solution = taut.solve(problem, tolerance=1e-12)
    assert solution.impulse[2] == pytest.approx(0.8, abs=1e-10)
    assert problem.R.tolist() == [0.0, 0.0, 0.25]


def test_empty_problem_is_solved():
    problem = taut.Problem(np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    assert len(problem) == 0
    solution = taut.solve(problem)
    assert solution.report.status == "converged"
    assert solution.impulse.shape == (0,)


def test_solvers_are_named_and_described():
    solvers = taut.solvers()
    assert {"auto", "pgs", "admm"} <= solvers.keys()
    assert all(isinstance(what, str) and len(what) > 10 for what in solvers.values())


# --- files


def test_problem_survives_a_file(tmp_path, rng):
    problem = random_problem(rng, 3, 8)
    problem.save(tmp_path / "p.npz")
    again = taut.Problem.load(tmp_path / "p.npz")
    assert isinstance(again, taut.Problem)
    for name in ("G", "g", "mu", "R"):
        assert getattr(again, name).tobytes() == getattr(problem, name).tobytes()
    assert again.kinds == ["cone"] * 3


def test_csr_layout_is_read(tmp_path, rng):
    problem = random_problem(rng, 4, 20)
    G = problem.G.copy()
    G[:3, 6:] = G[6:, :3] = 0.0
    G += 20 * np.eye(12)  # still positive definite
    sparse = scipy.sparse.csr_matrix(G)
    path = tmp_path / "sparse.npz"
    np.savez(path, data=sparse.data, indices=sparse.indices, indptr=sparse.indptr, g=problem.g, mu=problem.mu)
    read = taut.Problem.load(str(path))
    assert np.array_equal(read.G, G)
    dense = taut.solve(taut.Problem(G, problem.g, problem.mu), tolerance=1e-10)
    np.testing.assert_array_equal(taut.solve(read, tolerance=1e-10).impulse, dense.impulse)


def test_dumped_problem_of_a_step_survives_a_file(tmp_path):
    scene = taut.scenes.make("stack", n=3)
    sim = taut.Simulator(scene)
    sim.step(scene.q0, np.zeros(18))
    problem = sim.problem()
    taut.Problem(problem.G, problem.g, problem.mu).save(tmp_path / "stack.npz")
    again = taut.Problem.load(tmp_path / "stack.npz")
    assert taut.residuals(again, sim.impulse).natural == taut.residuals(problem, sim.impulse).natural


def test_missing_problem_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"ghost\.npz"):
        taut.Problem.load(tmp_path / "ghost.npz")


def test_file_that_is_no_archive_is_named(tmp_path):
    path = tmp_path / "spoiled.npz"
    path.write_bytes(b"this is no archive")
    with pytest.raises(ValueError, match=r"spoiled\.npz"):
        taut.Problem.load(path)


def test_truncated_archive_is_named(tmp_path):
    path = tmp_path / "truncated.npz"
    point([0, 0, -1]).save(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"truncated\.npz"):
        taut.Problem.load(path)


def test_single_array_is_named(tmp_path):
    path = tmp_path / "single.npy"
    np.save(path, np.zeros(3))
    with pytest.raises(ValueError, match=r"single\.npy"):
        taut.Problem.load(path)


@pytest.mark.parametrize(
    ("arrays", "named"),
    [
        ({"G": np.eye(3), "g": np.zeros(3)}, "mu"),
        ({"G": np.eye(3), "mu": [0.5]}, "g"),
        ({"g": np.zeros(3), "mu": [0.5], "data": [1.0], "indices": [0]}, "indptr"),
        ({"g": np.zeros(3), "mu": [0.5], "data": [1.0], "indices": [7], "indptr": [0, 1, 1, 1]}, "indices"),
        ({"G": np.eye(3), "g": np.zeros(3), "mu": [-0.5]}, "mu"),
        ({"G": np.array([["a"] * 3] * 3), "g": np.zeros(3), "mu": [0.5]}, "arrays|float|G"),
    ],
)
def test_wrong_content_of_a_file_is_named(tmp_path, arrays, named):
    path = tmp_path / "wrong.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=named):
        taut.Problem.load(path)


# --- wrong input


@pytest.mark.parametrize(
    ("G", "g", "mu", "named"),
    [
        (np.eye(3), np.zeros(3), [-0.1], r"mu.*-0\.1|friction.*-0\.1"),
        (np.eye(3), np.zeros(3), [math.nan], "nan"),
        (np.eye(3), np.zeros(6), [0.5], "mu has 1 entries and g 6"),
        (np.eye(6), np.zeros(3), [0.5], "G"),
        (np.ones((3, 2)), np.zeros(3), [0.5], "G"),
        (np.zeros(9), np.zeros(3), [0.5], "G has 1 dimensions, expected 2"),
        (np.diag([1, math.nan, 1]), np.zeros(3), [0.5], "G"),
        (np.diag([1, math.inf, 1]), np.zeros(3), [0.5], "G"),
        (np.eye(3), [0, 0, math.nan], [0.5], "g"),
        (-np.eye(3), np.zeros(3), [0.5], "G"),
        (np.array([[1.0, 5, 0], [0, 1, 0], [0, 0, 1]]), np.zeros(3), [0.5], "symmetric"),
    ],
)
def test_wrong_problem_is_named(G, g, mu, named):
    with pytest.raises(ValueError, match=named):
        taut.Problem(G, g, mu)


def test_wrong_compliance_is_named():
    with pytest.raises(ValueError, match="R has 2 entries, expected 3"):
        taut.Problem(np.eye(3), np.zeros(3), [0.5], R=[0.0, 0.0])
    with pytest.raises(ValueError, match=r"R|compliance"):
        taut.Problem(np.eye(3), np.zeros(3), [0.5], R=[0.0, 0.0, -1.0])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"solver": "magic"}, "magic"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"tolerance": math.nan}, "tolerance.*nan"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"max_iterations": -1}, "max_iterations is -1"),
        ({"warm_start": [0.0]}, "warm_start has 1 entries, expected 3"),
        ({"warm_start": [0.0, 0.0, math.nan]}, "warm_start"),
    ],
)
def test_wrong_solve_option_is_named(options, named):
    with pytest.raises(ValueError, match=named):
        taut.solve(point([0, 0, -1]), **options)


def test_wrong_impulse_is_named():
    with pytest.raises(ValueError, match="impulse has 2 entries, expected 3"):
        taut.residuals(point([0, 0, -1]), [0, 0])
