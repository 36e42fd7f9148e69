"""Contact problems as data: solving, judging, reading and writing."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import taut
from numpy_judge import residuals as numpy_residuals

MODELS = taut.solver_models()
EXACT = [name for name, model in MODELS.items() if model == "NCP"]


def point(g, mu=0.4, mass=2.0) -> taut.Problem:
    """One contact of a point mass."""
    return taut.Problem(np.eye(3) / mass, np.asarray(g, dtype=float), [mu])


def random_problem(rng: np.random.Generator, contacts: int, dof: int) -> taut.Problem:
    J = rng.normal(size=(3 * contacts, dof))
    return taut.Problem(J @ J.T, J @ rng.normal(size=dof), rng.uniform(0.2, 1.0, contacts))


def mixed_problem(rng: np.random.Generator, sparse: bool = False) -> taut.Problem:
    """One block of each kind, and compliance."""
    blocks = [("free", 2), ("cone", 0.5), ("positive",), ("interval", 0.3), ("cone", 0.0)]
    J = rng.normal(size=(10, 12))
    G = J @ J.T
    G[:2, 2:5] = G[2:5, :2] = 0.0  # blocks that a sparse matrix leaves out
    G += 20 * np.eye(10)  # positive definite again
    made = scipy.sparse.csr_array(G) if sparse else G
    return taut.Problem(made, rng.normal(size=10), blocks=blocks, R=rng.uniform(size=10))


@pytest.mark.parametrize("solver", EXACT)
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
        assert numpy_residuals(problem, solution.impulse)["natural"] <= 1e-7
        assert solution.impulse @ solution.velocity <= 1e-9  # friction never gives power
    again = numpy_residuals(problem, solution.impulse)
    assert solution.report.residuals.natural == pytest.approx(again["natural"], abs=1e-10)
    wrong = solution.impulse + 0.1
    judged = taut.residuals(problem, wrong)
    for name, value in numpy_residuals(problem, wrong).items():
        assert getattr(judged, name) == pytest.approx(value, rel=1e-9)


def test_judge_agrees_with_numpy_on_every_kind_of_block(rng):
    for problem in (mixed_problem(rng), mixed_problem(rng, sparse=True)):
        for _ in range(20):
            impulse = rng.normal(size=10)
            judged = taut.residuals(problem, impulse)
            for name, value in numpy_residuals(problem, impulse).items():
                assert getattr(judged, name) == pytest.approx(value, rel=1e-9, abs=1e-12)


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


@pytest.mark.parametrize("solver", EXACT)
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


@pytest.mark.parametrize("solver", EXACT)
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
    assert MODELS.keys() == solvers.keys()
    assert set(MODELS.values()) <= {"NCP", "CCP", "LCP", "RaiSim"}
    assert MODELS["auto"] == "NCP"


@pytest.mark.parametrize("solver", list(MODELS))
def test_report_tells_the_exact_law_from_the_solvers_own(solver):
    """A sliding contact: the laws differ, the judge of the exact one does not care whose answer it sees."""
    problem = point([3.0, 4.0, -1.0])
    solution = taut.solve(problem, solver=solver, tolerance=1e-10)
    report = solution.report
    assert report.residuals.natural == pytest.approx(numpy_residuals(problem, solution.impulse)["natural"], abs=1e-12)
    if report.status == "converged":
        assert report.model_residual <= 1e-10
    if MODELS[solver] == "NCP":
        assert report.model_residual == report.residuals.worst


@pytest.mark.parametrize("solver", list(MODELS))
def test_timed_solves_are_as_many_as_asked_for(solver, rng):
    problem = random_problem(rng, 2, 8)
    seconds = taut.time_solve(problem, solver=solver, repeats=7)
    assert seconds.shape == (7,)
    assert (seconds > 0).all()


def test_timed_solves_start_where_they_are_told(rng):
    """From the solution there is nothing left to do; each of the solves must start there, not only the first."""
    problem = random_problem(rng, 20, 90)
    solved = taut.solve(problem, solver="pgs", tolerance=1e-9)
    assert solved.report.iterations > 20
    cold = taut.time_solve(problem, solver="pgs", tolerance=1e-8, repeats=9)
    warm = taut.time_solve(problem, solver="pgs", tolerance=1e-8, repeats=9, warm_start=solved.impulse)
    # The last cold solve sweeps as the first did: a workspace that remembered the answer would end at once.
    assert np.median(cold[-3:]) > 3 * np.median(warm)


# --- making and looking


def test_sparse_matrix_in_any_form_is_the_same_problem(rng):
    dense = mixed_problem(rng)
    content = {"g": dense.g, "blocks": dense.blocks, "R": dense.R}
    G = scipy.sparse.csr_array(dense.G)
    forms = [G, G.tocsc(), G.tocoo(), scipy.sparse.csr_matrix(dense.G), dense.csr(), (G.data, G.indices, G.indptr)]
    assert not dense.sparse
    for form in forms:
        sparse = taut.Problem(form, **content)
        assert sparse.sparse
        assert np.array_equal(sparse.G, dense.G)
        assert all(np.array_equal(a, b) for a, b in zip(sparse.csr(), dense.csr(), strict=True))
        impulse = rng.normal(size=10)
        assert taut.residuals(sparse, impulse).natural == pytest.approx(
            taut.residuals(dense, impulse).natural, rel=1e-12
        )


def test_rounding_in_a_symmetric_matrix_is_kept_where_it_was(rng):
    G = 20 * np.eye(6) + 1e-13 * rng.uniform(size=(6, 6))  # symmetric up to rounding only
    assert not np.array_equal(G, G.T)
    for form in (scipy.sparse.csr_array(G), taut.Problem(G, np.zeros(6), [0.5, 0.5]).csr()):
        problem = taut.Problem(form, np.zeros(6), [0.5, 0.5])
        assert np.array_equal(problem.G, G)
        data, indices, indptr = problem.csr()
        assert np.array_equal(scipy.sparse.csr_array((data, indices, indptr), shape=(6, 6)).toarray(), G)


def test_entries_given_twice_are_added():
    twice = scipy.sparse.coo_array(([1.0, 2.0, 3.0, 3.0], ([0, 0, 1, 2], [0, 0, 1, 2])), shape=(3, 3))
    assert np.array_equal(taut.Problem(twice, np.zeros(3), [0.5]).G, 3 * np.eye(3))
    data, indices, indptr = [1.0, 2.0, 3.0, 3.0], [0, 0, 1, 2], [0, 2, 3, 4]
    assert np.array_equal(taut.Problem((data, indices, indptr), np.zeros(3), [0.5]).G, 3 * np.eye(3))


def test_matrix_in_nested_tuples_is_dense():
    problem = taut.Problem(((1, 0, 0), (0, 2, 0), (0, 0, 3)), (0, 0, -1), (0.5,))
    assert not problem.sparse
    assert np.array_equal(problem.G, np.diag([1, 2, 3]))


def test_large_sparse_problem_is_made_without_a_dense_matrix():
    contacts = 100_000  # dense: 720 GB
    problem = taut.Problem(
        scipy.sparse.eye_array(3 * contacts), np.tile([0, 0, -1.0], contacts), np.full(contacts, 0.5)
    )
    assert len(problem) == contacts
    assert taut.residuals(problem, np.tile([0, 0, 1.0], contacts)).worst == 0


def test_blocks_are_returned_as_they_were_given(rng):
    problem = mixed_problem(rng)
    assert problem.blocks == [("free", 2), ("cone", 0.5), ("positive",), ("interval", 0.3), ("cone", 0.0)]
    assert problem.kinds == ["free", "cone", "positive", "interval", "cone"]
    assert problem.sizes == [2, 3, 1, 1, 3]
    assert problem.mu.tolist() == [0.5, 0.0]
    assert len(problem) == 5
    bare = taut.Problem(np.eye(1), [1.0], blocks=["positive"])
    assert bare.blocks == [("positive",)]


def test_blocks_obey_their_laws(rng):
    """λ and c of each kind, from the definitions."""
    problem = mixed_problem(rng)
    solution = taut.solve(problem, tolerance=1e-10)
    assert solution.report.status == "converged"
    x, c = solution.impulse, solution.velocity
    np.testing.assert_allclose(c, (problem.G + np.diag(problem.R)) @ x + problem.g, atol=1e-12)
    assert np.abs(c[:2]).max() <= 1e-9
    assert min(x[5], c[5]) == pytest.approx(0, abs=1e-9)
    assert abs(x[6]) <= 0.3 + 1e-12
    assert c[6] * x[6] + 0.3 * abs(c[6]) == pytest.approx(0, abs=1e-9)
    assert np.abs(x[7:9]).max() == 0  # no friction
    assert min(x[9], c[9]) == pytest.approx(0, abs=1e-9)


def test_looking_at_a_problem_cannot_change_it(rng):
    problem = random_problem(rng, 2, 8)
    for name in ("G", "g", "R", "mu"):
        before = getattr(problem, name)
        getattr(problem, name)[:] = -1.0
        assert np.array_equal(getattr(problem, name), before)


# --- files


@pytest.mark.parametrize("sparse", [False, True])
def test_problem_survives_a_file(tmp_path, rng, sparse):
    for problem in (random_problem(rng, 3, 8), mixed_problem(rng, sparse)):
        problem.save(tmp_path / "p.npz")
        again = taut.Problem.load(tmp_path / "p.npz")
        assert type(again) is taut.Problem
        for name in ("G", "g", "mu", "R"):
            assert np.array_equal(getattr(again, name), getattr(problem, name))
        assert again.blocks == problem.blocks


def test_file_of_contacts_has_the_layout_others_read(tmp_path, rng):
    """scipy's CSR and two vectors, nothing else."""
    problem = random_problem(rng, 3, 8)
    problem.save(tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as file:
        assert set(file.files) == {"data", "indices", "indptr", "g", "mu"}
        G = scipy.sparse.csr_array((file["data"], file["indices"], file["indptr"]), shape=(9, 9))
        assert np.array_equal(G.toarray(), problem.G)
        assert np.array_equal(file["g"], problem.g)
        assert np.array_equal(file["mu"], problem.mu)


def test_csr_layout_is_read_and_extras_are_not(tmp_path, rng):
    problem = random_problem(rng, 4, 20)
    G = problem.G
    G[:3, 6:] = G[6:, :3] = 0.0
    G += 20 * np.eye(12)  # still positive definite
    sparse = scipy.sparse.csr_matrix(G)
    path = tmp_path / "sparse.npz"
    content = {"data": sparse.data, "indices": sparse.indices.astype(np.int64), "indptr": sparse.indptr}
    np.savez(path, **content, g=problem.g, mu=problem.mu, siconos_r=np.zeros(12), made_by="another program")
    read = taut.Problem.load(str(path))
    assert np.array_equal(read.G, G)
    dense = taut.solve(taut.Problem(G, problem.g, problem.mu), tolerance=1e-10)
    np.testing.assert_array_equal(taut.solve(read, tolerance=1e-10).impulse, dense.impulse)


def test_large_and_mostly_empty_files_are_read_sparse(tmp_path, rng):
    path = tmp_path / "p.npz"
    for contacts, sparse in ((24, False), (25, True)):
        taut.Problem(np.eye(3 * contacts), np.zeros(3 * contacts), contacts * [0.5]).save(path)
        assert taut.Problem.load(path).sparse == sparse
    random_problem(rng, 25, 80).save(path)
    assert not taut.Problem.load(path).sparse


@pytest.mark.parametrize("suffix", [".npz", ".hdf5"])
def test_problem_of_a_step_survives_a_file(tmp_path, suffix):
    if suffix == ".hdf5":
        pytest.importorskip("h5py")
    scene = taut.scenes.make("stack", n=3)
    sim = taut.Simulator(scene)
    sim.step(scene.q0, np.zeros(18))
    problem = sim.problem()
    assert type(problem) is taut.Problem
    problem.save(tmp_path / f"stack{suffix}")
    again = taut.Problem.load(tmp_path / f"stack{suffix}")
    assert taut.residuals(again, sim.impulse).natural == pytest.approx(
        taut.residuals(problem, sim.impulse).natural, abs=1e-14
    )


def test_load_makes_what_it_is_called_on(tmp_path):
    class Named(taut.Problem):
        name = "mine"

    point([0, 0, -1]).save(tmp_path / "p.npz")
    assert Named.load(tmp_path / "p.npz").name == "mine"


def test_examples_of_the_document_run(tmp_path):
    """All blocks of docs/problems.md in order, in one fresh interpreter."""
    text = (Path(__file__).parents[2] / "docs" / "problems.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    pytest.importorskip("h5py")
    (tmp_path / "problems.py").write_text("\n".join(blocks))
    done = subprocess.run([sys.executable, "problems.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


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
    path.rename(tmp_path / "single.npz")
    with pytest.raises(ValueError, match=r"single\.npz"):
        taut.Problem.load(tmp_path / "single.npz")


def test_suffix_that_nobody_knows_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"p\.mat"):
        point([0, 0, -1]).save(tmp_path / "p.mat")
    (tmp_path / "p.mat").touch()
    with pytest.raises(ValueError, match=r"p\.mat"):
        taut.Problem.load(tmp_path / "p.mat")


@pytest.mark.parametrize(
    ("arrays", "named"),
    [
        ({"G": np.eye(3), "g": np.zeros(3)}, "mu"),
        ({"G": np.eye(3), "mu": [0.5]}, "g"),
        ({"g": np.zeros(3), "mu": [0.5], "data": [1.0], "indices": [0]}, "indptr"),
        ({"g": np.zeros(3), "mu": [0.5], "data": [1.0], "indices": [7], "indptr": [0, 1, 1, 1]}, "indices"),
        ({"G": np.eye(3), "g": np.zeros(3), "mu": [-0.5]}, "mu"),
        ({"G": np.array([["a"] * 3] * 3), "g": np.zeros(3), "mu": [0.5]}, "G holds"),
        ({"G": np.eye(3), "g": np.array(["a"] * 3), "mu": [0.5]}, "g holds"),
        ({"G": np.eye(1), "g": [0.0], "mu": [], "kinds": ["positive"]}, "sizes"),
        ({"G": np.eye(1), "g": [0.0], "mu": [], "kinds": ["interval"], "sizes": [1]}, "bounds"),
        ({"G": np.eye(3), "g": np.zeros(3), "mu": [], "kinds": ["cone"], "sizes": [3]}, "mu has 0 entries"),
        ({"G": np.eye(1), "g": [0.0], "mu": [], "kinds": ["ball"], "sizes": [1]}, "ball"),
    ],
)
def test_wrong_content_of_a_file_is_named(tmp_path, arrays, named):
    path = tmp_path / "wrong.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=rf"wrong\.npz.*{named}"):
        taut.Problem.load(path)


# --- wrong input


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({}, "either mu"),
        ({"mu": [0.5], "blocks": [("cone", 0.5)]}, "either mu"),
        ({"blocks": [("cone", 0.5), "positive"]}, "blocks have 4 rows and g 3"),
        ({"blocks": [("ball", 0.5)]}, r"blocks\[0\] is 'ball'"),
        ({"blocks": ["cone"]}, r"blocks\[0\]: a cone needs its friction"),
        ({"blocks": [("cone", "rough")]}, r"blocks\[0\]: a cone needs its friction"),
        ({"blocks": [("cone", 0.5, 0.6)]}, r"blocks\[0\]: a cone needs its friction"),
        ({"blocks": [("cone", -0.5)]}, "mu of block 0 is -0.5"),
        ({"blocks": [("interval", -1.0), ("free", 2)]}, "bound of block 0 is -1"),
        ({"blocks": [("interval", math.inf), ("free", 2)]}, "bound of block 0 is inf"),
        ({"blocks": [("free", 0)]}, "a free block of 0"),
        ({"blocks": [("free", -3)]}, "a free block of -3"),
        ({"blocks": [("free", 1.5)]}, "a free block of 1.5"),
        ({"blocks": [("free", math.nan)]}, "a free block of -?nan"),
        ({"blocks": [("positive", 1.0), ("free", 2)]}, "positive has no number"),
    ],
)
def test_wrong_blocks_are_named(content, named):
    with pytest.raises(ValueError, match=named):
        taut.Problem(np.eye(3), np.zeros(3), **content)


def test_what_is_no_block_is_a_type_error():
    for wrong in ([3], [()], [(0.5, "cone")], [None]):
        with pytest.raises(TypeError, match=r"blocks\[0\]"):
            taut.Problem(np.eye(3), np.zeros(3), blocks=wrong)
    for wrong in (None, "eye", {}):
        with pytest.raises(TypeError):
            taut.Problem(wrong, np.zeros(3), [0.5])


@pytest.mark.parametrize(
    ("G", "named"),
    [
        (([1.0], [0], [0, 1, 1]), "indptr of G has 3 entries, expected 4"),
        (([1.0], [0], [0, 1, 1, 2]), "indptr of G does not fit"),
        (([1.0], [0], [1, 1, 1, 1]), "indptr of G does not fit"),
        (([1.0], [0], [0, 1, 0, 1]), "indptr of G does not fit"),
        (([1.0, 2.0], [0], [0, 1, 1, 1]), "indptr of G does not fit"),
        (([1.0], [3], [0, 1, 1, 1]), "indices of G hold 3, outside 0 … 2"),
        (([1.0], [-1], [0, 1, 1, 1]), r"indices of G\[0\] is -1"),
        (([1.0], [2**32], [0, 1, 1, 1]), r"indices of G\[0\] is 4294967296"),
        (([1.0], [0.5], [0, 1, 1, 1]), "indices of G must be a vector of integers"),
        ((["a"], [0], [0, 1, 1, 1]), "data of G"),
        (([1.0], [1], [0, 1, 1, 1]), "symmetric"),
        (scipy.sparse.csr_array(np.ones((3, 2))), "3 x 2"),
        (scipy.sparse.csr_array(np.eye(6)), "6 x 6"),
    ],
)
def test_wrong_sparse_matrix_is_named(G, named):
    with pytest.raises((ValueError, TypeError), match=named):
        taut.Problem(G, np.zeros(3), [0.5])


@pytest.mark.parametrize(
    ("G", "g", "mu", "named"),
    [
        (np.eye(3), np.zeros(3), [-0.1], r"mu.*-0\.1|friction.*-0\.1"),
        (np.eye(3), np.zeros(3), [math.nan], "nan"),
        (np.eye(3), np.zeros(6), [0.5], r"mu has shape \(1,\), expected \(2,\) or a number"),
        (np.eye(6), np.zeros(3), [0.5], "G"),
        (np.ones((3, 2)), np.zeros(3), [0.5], "G"),
        (np.zeros(9), np.zeros(3), [0.5], r"G has shape \(9,\), expected \(3, 3\)"),
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
    with pytest.raises(ValueError, match=r"R has shape \(2,\), expected \(3,\)"):
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
        ({"warm_start": [0.0]}, r"warm_start has shape \(1,\), expected \(3,\)"),
        ({"warm_start": [0.0, 0.0, math.nan]}, "warm_start"),
        ({"solver": "pgs", "relaxation": 0.0}, "relaxation is 0"),
        ({"solver": "pgs", "relaxation": -1.0}, "relaxation is -1"),
        ({"solver": "pgs", "relaxation": 2.5}, "relaxation.*2.5"),
        ({"solver": "pgs", "relaxation": math.nan}, "relaxation is nan"),
        ({"sides": 2}, "sides is 2"),
        ({"alpha": 0.0}, "alpha is 0"),
        ({"alpha": -0.1}, "alpha is -0.1"),
        ({"rho": 0.0}, "rho is 0"),
        ({"rho": math.inf}, "rho is inf"),
    ],
)
def test_wrong_solve_option_is_named(options, named):
    with pytest.raises(ValueError, match=named):
        taut.solve(point([0, 0, -1]), **options)
    with pytest.raises(ValueError, match=named):
        taut.time_solve(point([0, 0, -1]), **options)


def test_nothing_timed_is_an_error():
    for repeats in (0, -1):
        with pytest.raises(ValueError, match=f"repeats is {repeats}"):
            taut.time_solve(point([0, 0, -1]), repeats=repeats)


def test_wrong_impulse_is_named():
    with pytest.raises(ValueError, match=r"impulse has shape \(2,\), expected \(3,\)"):
        taut.residuals(point([0, 0, -1]), [0, 0])
