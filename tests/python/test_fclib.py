"""FCLIB's files: read as its C library writes them, written as it reads them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import taut

h5py = pytest.importorskip("h5py")

# (normal, t1, t2) of FCLIB from (t1, t2, normal) of taut, one contact
TURN = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])


def turns(contacts: int, free: int = 0) -> np.ndarray:
    """Multiplies a vector in our order into theirs."""
    return scipy.linalg.block_diag(*contacts * [TURN], np.eye(free)) if contacts else np.eye(free)


def put_int(group, name, value):
    group.create_dataset(name, data=np.array([value], dtype=np.int32))


def put_matrix(group, A, scheme: str, spare: int = 0):
    """As write_matrix of fclib.c; `spare`: entries of room that nothing uses."""
    m, n = np.shape(A)
    if scheme == "triplet":
        made = scipy.sparse.coo_array(A)
        p, i, x, nz = made.coords[0], made.coords[1], made.data, made.nnz
    else:
        made = scipy.sparse.csc_array(A) if scheme == "columns" else scipy.sparse.csr_array(A)
        p, nz = made.indptr, {"columns": -1, "rows": -2}[scheme]
        i, x = np.append(made.indices, spare * [0]), np.append(made.data, spare * [7.0])
    for name, value in (("nzmax", len(x)), ("m", m), ("n", n), ("nz", nz)):
        put_int(group, name, value)
    for name, values, kind in (("p", p, np.int32), ("i", i, np.int32), ("x", x, np.float64)):
        group.create_dataset(name, data=np.asarray(values, dtype=kind))


def get_matrix(group) -> np.ndarray:
    """Compressed rows, which is what taut writes."""
    assert group["nz"][0] == -2
    assert group["nzmax"][0] == len(group["x"]) == len(group["i"])
    shape = (group["m"][0], group["n"][0])
    return scipy.sparse.csr_array((group["x"][:], group["i"][:], group["p"][:]), shape=shape).toarray()


def put_local(file, W, q, mu, scheme="rows", V=None, R=None, s=None, spacedim=3):
    group = file.create_group("fclib_local")
    put_int(group, "spacedim", spacedim)
    put_matrix(group.create_group("W"), W, scheme)
    group["vectors/q"], group["vectors/mu"] = np.asarray(q, dtype=float), np.asarray(mu, dtype=float)
    if V is not None:
        put_matrix(group.create_group("V"), V, scheme)
        put_matrix(group.create_group("R"), R, scheme)
        group["vectors/s"] = s


def random_contacts(rng, contacts=3, dof=14):
    J = rng.normal(size=(3 * contacts, dof))
    J[:3, 3:] = 0  # some blocks of G are zero
    J[3:6, :3] = 0
    return taut.Problem(J @ J.T, J @ rng.normal(size=dof), rng.uniform(0.2, 1.0, contacts))


def same(a: taut.Problem, b: taut.Problem) -> bool:
    return (
        all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("G", "g", "R", "mu"))
        and a.blocks == b.blocks
    )


# --- reading


@pytest.mark.parametrize("scheme", ["rows", "columns", "triplet"])
def test_every_storage_scheme_is_read(tmp_path, rng, scheme):
    problem = random_contacts(rng)
    T = turns(3)
    with h5py.File(tmp_path / "p.hdf5", "w") as file:
        put_local(file, T @ problem.G @ T.T, T @ problem.g, problem.mu, scheme)
    assert same(taut.Problem.load(tmp_path / "p.hdf5"), problem)


def test_room_that_is_not_used_is_not_read(tmp_path):
    with h5py.File(tmp_path / "p.h5", "w") as file:
        put_local(file, np.eye(3), np.zeros(3), [0.5])
        del file["fclib_local/W"]
        put_matrix(file.create_group("fclib_local/W"), 2 * np.eye(3), "rows", spare=4)
    assert np.array_equal(taut.Problem.load(tmp_path / "p.h5").G, 2 * np.eye(3))


def test_normal_comes_first_in_their_files(tmp_path):
    """A point of 2 kg that hits the floor at 1 m/s and slides at (3, 4) m/s: braked by 0.4 m/s."""
    with h5py.File(tmp_path / "point.hdf5", "w") as file:
        put_local(file, np.eye(3) / 2, [-1.0, 3.0, 4.0], [0.4])
    solution = taut.solve(taut.Problem.load(tmp_path / "point.hdf5"), tolerance=1e-12)
    np.testing.assert_allclose(solution.velocity, [3.0 - 0.4 * 0.6, 4.0 - 0.4 * 0.8, 0.0], atol=1e-10)


@pytest.mark.parametrize("scheme", ["rows", "columns", "triplet"])
def test_bilateral_rows_are_a_free_block(tmp_path, rng, scheme):
    """Judged by FCLIB's own equations, in its own order."""
    A = rng.normal(size=(8, 12))
    A = A @ A.T
    W, V, R = A[:6, :6], A[:6, 6:], A[6:, 6:]
    q, s = rng.normal(size=6), rng.normal(size=2)
    with h5py.File(tmp_path / "mixed.hdf5", "w") as file:
        put_local(file, W, q, [0.3, 0.6], scheme, V, R, s)
    problem = taut.Problem.load(tmp_path / "mixed.hdf5")
    assert problem.blocks == [("cone", 0.3), ("cone", 0.6), ("free", 2)]
    solution = taut.solve(problem, tolerance=1e-10)
    assert solution.report.status == "converged"
    T = turns(2)
    r, bilateral_r = T @ solution.impulse[:6], solution.impulse[6:]
    np.testing.assert_allclose(V.T @ r + R @ bilateral_r + s, 0, atol=1e-9)
    np.testing.assert_allclose(W @ r + V @ bilateral_r + q, T @ solution.velocity[:6], atol=1e-9)


@pytest.mark.parametrize("bilateral", [False, True])
@pytest.mark.parametrize("scheme", ["rows", "columns", "triplet"])
def test_global_problem_is_made_local(tmp_path, rng, scheme, bilateral):
    """Judged by FCLIB's own equations: the v of M v = H r + G l + f moves as the answer says."""
    n, m, p = 12, 6, 2 if bilateral else 0
    blocks = [(lambda B: B @ B.T + np.eye(6))(rng.normal(size=(6, 6))) for _ in range(2)]
    M = scipy.linalg.block_diag(*blocks)
    H, G = rng.normal(size=(n, m)), rng.normal(size=(n, p))
    f, w, b = rng.normal(size=n), rng.normal(size=m), rng.normal(size=p)
    with h5py.File(tmp_path / "global.hdf5", "w") as file:
        group = file.create_group("fclib_global")
        put_int(group, "spacedim", 3)
        for name, matrix in (("M", M), ("H", H), *([("G", G)] if bilateral else [])):
            put_matrix(group.create_group(name), matrix, scheme)
        group["vectors/f"], group["vectors/w"], group["vectors/mu"] = f, w, np.array([0.3, 0.6])
        if bilateral:
            group["vectors/b"] = b
    problem = taut.Problem.load(tmp_path / "global.hdf5")
    assert problem.sizes == ([3, 3, p] if bilateral else [3, 3])
    solution = taut.solve(problem, tolerance=1e-10)
    assert solution.report.status == "converged"
    T = turns(2)
    r, bilateral_r = T @ solution.impulse[:m], solution.impulse[m:]
    v = np.linalg.solve(M, H @ r + G @ bilateral_r + f)
    np.testing.assert_allclose(H.T @ v + w, T @ solution.velocity[:m], atol=1e-9)
    np.testing.assert_allclose(G.T @ v + b, 0, atol=1e-9)


def test_large_and_mostly_empty_files_are_read_sparse(tmp_path, rng):
    for contacts, sparse in ((24, False), (25, True)):
        with h5py.File(tmp_path / "p.hdf5", "w") as file:
            put_local(file, np.eye(3 * contacts), rng.normal(size=3 * contacts), contacts * [0.5])
        assert taut.Problem.load(tmp_path / "p.hdf5").sparse == sparse
    with h5py.File(tmp_path / "full.hdf5", "w") as file:
        J = rng.normal(size=(75, 80))
        put_local(file, J @ J.T, np.zeros(75), 25 * [0.5])
    assert not taut.Problem.load(tmp_path / "full.hdf5").sparse


# --- writing


@pytest.mark.parametrize("sparse", [False, True])
def test_problem_survives_a_file(tmp_path, rng, sparse):
    problem = random_contacts(rng)
    if sparse:
        problem = taut.Problem(problem.csr(), problem.g, problem.mu)
    problem.save(tmp_path / "p.hdf5")
    assert same(taut.Problem.load(tmp_path / "p.hdf5"), problem)


def test_file_is_what_the_library_reads(tmp_path, rng):
    problem = random_contacts(rng)
    taut.fclib.write(tmp_path / "p.hdf5", problem, info={"title": "three points", "description": "µ differs"})
    T = turns(3)
    with h5py.File(tmp_path / "p.hdf5") as file:
        local = file["fclib_local"]
        assert np.array_equal(get_matrix(local["W"]), T @ problem.G @ T.T)
        assert np.array_equal(local["vectors/q"], T @ problem.g)
        assert np.array_equal(local["vectors/mu"], problem.mu)
        assert set(local) == {"W", "vectors", "spacedim", "info"}
        for name in ("spacedim", "W/m", "W/n", "W/nz", "W/nzmax", "W/p", "W/i"):
            assert local[name].dtype == np.int32
            assert local[name].ndim == 1
        title = local["info/title"]
        assert (title.shape, title.dtype.itemsize) == ((), len("three points") + 1)  # with the zero at its end
    assert taut.fclib.read(tmp_path / "p.hdf5").info == {"title": "three points", "description": "µ differs"}


def test_compliance_is_in_the_diagonal(tmp_path, rng):
    contacts = random_contacts(rng)
    problem = taut.Problem(contacts.G, contacts.g, contacts.mu, R=rng.uniform(size=9))
    problem.save(tmp_path / "p.hdf5")
    again = taut.Problem.load(tmp_path / "p.hdf5")
    assert np.array_equal(again.G, problem.G + np.diag(problem.R))
    impulse = rng.normal(size=9)
    assert taut.residuals(again, impulse).natural == pytest.approx(taut.residuals(problem, impulse).natural, rel=1e-12)


def test_bilateral_rows_move_behind_the_contacts(tmp_path, rng):
    J = rng.normal(size=(8, 12))
    g = J @ rng.normal(size=12)
    problem = taut.Problem(J @ J.T, g, blocks=[("free", 1), ("cone", 0.3), ("free", 1), ("cone", 0.6)])
    impulse = taut.solve(problem, tolerance=1e-10).impulse
    taut.fclib.write(tmp_path / "p.hdf5", problem, solution=impulse)
    content = taut.fclib.read(tmp_path / "p.hdf5")
    order = [1, 2, 3, 5, 6, 7, 0, 4]
    assert content.problem.blocks == [("cone", 0.3), ("cone", 0.6), ("free", 2)]
    assert np.array_equal(content.problem.G, problem.G[np.ix_(order, order)])
    assert np.array_equal(content.problem.g, g[order])
    assert np.array_equal(content.solution.impulse, impulse[order])
    with h5py.File(tmp_path / "p.hdf5") as file:
        local, answer = file["fclib_local"], file["solution"]
        V, R = get_matrix(local["V"]), get_matrix(local["R"])
        residual = V.T @ answer["r"][:] + R @ answer["l"][:] + local["vectors/s"][:]
        np.testing.assert_allclose(residual, 0, atol=1e-9)


def test_solution_and_guesses_survive(tmp_path, rng):
    problem = random_contacts(rng)
    solved = taut.solve(problem, tolerance=1e-10)
    guesses = [np.zeros(9), rng.normal(size=9)]
    taut.fclib.write(tmp_path / "p.hdf5", problem, solution=solved.impulse, guesses=guesses)
    content = taut.fclib.read(tmp_path / "p.hdf5")
    assert np.array_equal(content.solution.impulse, solved.impulse)
    np.testing.assert_allclose(content.solution.velocity, solved.velocity, atol=1e-12)
    assert len(content.guesses) == 2
    for guess, expected in zip(content.guesses, guesses, strict=True):
        assert np.array_equal(guess.impulse, expected)
        np.testing.assert_allclose(guess.velocity, problem.G @ expected + problem.g, atol=1e-12)
    with h5py.File(tmp_path / "p.hdf5") as file:
        assert file["guesses/number_of_guesses"][0] == 2
        np.testing.assert_array_equal(file["solution/r"], turns(3) @ solved.impulse)


def test_empty_problem_survives(tmp_path):
    taut.Problem(np.zeros((0, 0)), np.zeros(0), np.zeros(0)).save(tmp_path / "p.hdf5")
    assert len(taut.Problem.load(tmp_path / "p.hdf5")) == 0


# --- wrong input


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda f: f.__delitem__("fclib_local/W"), "fclib_local has no W"),
        (lambda f: f.__delitem__("fclib_local/W/x"), "W has no x"),
        (lambda f: f.__delitem__("fclib_local/vectors/q"), "vectors has no q"),
        (lambda f: f.__delitem__("fclib_local/spacedim"), "has no spacedim"),
        (lambda f: f["fclib_local/spacedim"].__setitem__(0, 2), "spacedim is 2"),
        (lambda f: f["fclib_local/W/nz"].__setitem__(0, -3), "nz of .*W is -3"),
        (lambda f: f["fclib_local/W/i"].__setitem__(0, 9), "index of .*W is outside 0 … 2"),
        (lambda f: f["fclib_local/W/i"].__setitem__(0, -1), "index of .*W is outside 0 … 2"),
        (lambda f: f["fclib_local/W/p"].__setitem__(3, 99), "p of .*W"),
        (lambda f: f["fclib_local/W/p"].__setitem__(1, 3), "p of .*W"),
        (lambda f: f["fclib_local/W/x"].__setitem__(0, -1.0), "G.*negative"),
        (lambda f: f["fclib_local/vectors/mu"].__setitem__(0, -1.0), "mu.*-1"),
        (lambda f: f["fclib_local/vectors/q"].__setitem__(0, np.nan), "g.*nan"),
        (lambda f: f.move("fclib_local", "fclib_global_rolling"), "rolling"),
        (lambda f: f.move("fclib_local", "elsewhere"), "neither fclib_local nor fclib_global.*elsewhere"),
        (lambda f: f.move("fclib_local", "fclib_global"), "fclib_global has no M"),
        (lambda f: f.create_group("solution"), "solution has no r"),
    ],
)
def test_wrong_content_is_named(tmp_path, spoil, named):
    path = tmp_path / "wrong.hdf5"
    with h5py.File(path, "w") as file:
        put_local(file, np.eye(3), np.zeros(3), [0.5])
    taut.Problem.load(path)
    with h5py.File(path, "r+") as file:
        spoil(file)
    with pytest.raises(ValueError, match=f"wrong.hdf5.*{named}"):
        taut.Problem.load(path)


def test_file_that_is_not_hdf5_is_named(tmp_path):
    path = tmp_path / "text.hdf5"
    path.write_text("hello")
    with pytest.raises(ValueError, match=r"text\.hdf5"):
        taut.Problem.load(path)
    with pytest.raises(FileNotFoundError, match=r"ghost\.hdf5"):
        taut.Problem.load(tmp_path / "ghost.hdf5")


def test_what_fclib_cannot_hold_is_refused_before_a_file_is_touched(tmp_path):
    path = tmp_path / "p.hdf5"
    limits = taut.Problem(np.eye(1), [1.0], blocks=[("positive",)])
    with pytest.raises(ValueError, match="positive"):
        limits.save(path)
    contact = taut.Problem(np.eye(3), np.zeros(3), [0.5])
    with pytest.raises(ValueError, match=r"shape \(2,\), expected \(3,\)"):
        taut.fclib.write(path, contact, solution=[0, 0])
    with pytest.raises(ValueError, match="author"):
        taut.fclib.write(path, contact, info={"author": "me"})
    assert not path.exists()


def test_missing_h5py_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "p.hdf5"
    taut.Problem(np.eye(3), np.zeros(3), [0.5]).save(path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"pip install 'taut\[fclib\]'"):
        taut.Problem.load(path)
    with pytest.raises(ImportError, match=r"pip install 'taut\[fclib\]'"):
        taut.Problem(np.eye(3), np.zeros(3), [0.5]).save(path)
