"""Problems that other simulators met, and answers that other solvers gave.

The files come from Siconos (tests/data/problems/README.md). TAUT_PROBLEMS names a folder of more.
"""

from __future__ import annotations

import numpy as np
import pytest

import taut
from taut.experiments import clock, peers, pinocchio_peer, problems, siconos_peer

TOLERANCE = 1e-6
FILES = problems.files()


@pytest.fixture(scope="module")
def siconos() -> str:
    python, reason = siconos_peer.interpreter()
    if python is None:
        pytest.skip(reason)
    return python


def test_the_files_of_the_repository_are_found():
    packaged = [path for path in FILES if path.is_relative_to(problems.PACKAGED)]
    assert len(list(problems.PACKAGED.glob("*.npz"))) == 10
    assert packaged


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_auto_is_certified_from_zero(path):
    problem = taut.Problem.load(path)
    solution = taut.solve(problem, tolerance=TOLERANCE)
    assert solution.report.status == "converged"
    assert taut.residuals(problem, solution.impulse).worst <= TOLERANCE


@pytest.mark.skipif(not problems.extra_folder(), reason=f"{problems.FOLDER} names no folder of larger problems")
def test_the_larger_files_are_among_those_tested():
    assert len(FILES) > len(list(problems.PACKAGED.glob("*.npz")))


# Coulomb's law may have several solutions, with different velocities: the one found depends on where a solver starts.
SEVERAL_SOLUTIONS = {"OneObject-i1028-138"}


def certified_answer_of_siconos(path) -> tuple[taut.Problem, np.ndarray, np.ndarray]:
    with np.load(path) as file:
        if "siconos_u" not in file.files:
            pytest.skip("no answer of Siconos in this file")
        impulse, velocity = file["siconos_r"], file["siconos_u"]
    problem = taut.Problem.load(path)
    theirs = taut.residuals(problem, impulse)
    if theirs.worst > TOLERANCE:
        pytest.skip(f"the judge does not certify Siconos' answer: {theirs.worst:.0e}")
    return problem, impulse, velocity


# m/s by which a certified answer may miss the solution; this problem makes 2000 times as much of its residual.
ACCURACY = {"Capsules-i101-404": 1e-4}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_velocities_are_those_of_siconos_where_its_answer_is_certified(path):
    problem, impulse, velocity = certified_answer_of_siconos(path)
    from_theirs = taut.solve(problem, tolerance=1e-11, warm_start=impulse)
    assert taut.residuals(problem, from_theirs.impulse).worst <= 1e-11
    np.testing.assert_allclose(from_theirs.velocity, velocity, rtol=0, atol=ACCURACY.get(path.stem, 1e-6))
    if path.stem not in SEVERAL_SOLUTIONS:
        from_zero = taut.solve(problem, tolerance=1e-11)
        assert taut.residuals(problem, from_zero.impulse).worst <= 1e-11
        np.testing.assert_allclose(from_zero.velocity, from_theirs.velocity, rtol=0, atol=1e-6)


def test_a_problem_with_two_solutions_has_two_that_the_judge_certifies_to_the_last_digits():
    """The premise of SEVERAL_SOLUTIONS: not two inaccurate answers, two solutions."""
    problem, impulse, _ = certified_answer_of_siconos(problems.PACKAGED / "OneObject-i1028-138.npz")
    from_zero = taut.solve(problem, tolerance=1e-11)
    from_theirs = taut.solve(problem, tolerance=1e-11, warm_start=impulse)
    for solution in (from_zero, from_theirs):
        assert taut.residuals(problem, solution.impulse).worst <= 1e-11
    assert np.abs(from_zero.velocity - from_theirs.velocity).max() > 1e-3


def friction_free() -> taut.Problem:
    """Two contacts of one unit mass each, no friction: impulse and velocity are known."""
    return taut.Problem(np.eye(6), np.array([0.3, 0.0, -2.0, 0.0, 0.0, 0.5]), np.zeros(2))


@pytest.mark.parametrize("solver", [pinocchio_peer.admm, pinocchio_peer.pgs])
def test_pinocchios_solvers_are_called_with_the_right_problem(solver):
    for sample in problems.collect("allegro", count=6):
        answer = solver(sample.problem)
        assert answer["certified"], answer
        assert answer["seconds"] > 0


def test_siconos_is_called_with_the_right_problem(siconos):
    samples = problems.collect("allegro", count=6)
    answers = siconos_peer.nsgs(siconos, [s.problem for s in samples], [s.before for s in samples])
    assert all(answer["certified"] for answer in answers), answers


def test_the_recorded_answers_of_siconos_are_repeated(siconos):
    for path in sorted(problems.PACKAGED.glob("*.npz"))[:3]:
        with np.load(path) as file:
            recorded = file["siconos_r"]
        problem = taut.Problem.load(path)
        (made,) = siconos_peer.nsgs(siconos, [problem], [None])
        assert made["natural"] <= max(TOLERANCE, taut.residuals(problem, recorded).natural)


def test_a_missing_siconos_is_said_with_its_reason(monkeypatch):
    monkeypatch.setenv(siconos_peer.PYTHON, "/no/such/python")
    python, reason = siconos_peer.interpreter()
    assert python is None
    assert "/no/such/python" in reason


def test_a_folder_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv(problems.FOLDER, "/no/such/folder")
    with pytest.raises(FileNotFoundError, match="/no/such/folder"):
        problems.files()


def row(ours: float, theirs: dict[str, tuple[float, bool]], certified: bool = True) -> dict:
    answers = {name: {"seconds": seconds, "certified": ok} for name, (seconds, ok) in theirs.items()}
    return {"answers": answers | {"auto": {"seconds": ours, "call_seconds": ours + 1e-6, "certified": certified}}}


def test_a_ratio_is_that_of_the_fastest_certified_peer():
    overhead = {"a": 1e-6, "b": 2e-6}
    ratios = peers.ratios(row(5e-6, {"a": (11e-6, True), "b": (3e-6, False)}), overhead)
    assert ratios["ratio"] == pytest.approx(6 / 11)
    assert ratios["net_ratio"] == pytest.approx(5 / 10)


def test_there_is_no_ratio_without_certified_answers():
    overhead = {"a": 1e-6}
    assert peers.ratios(row(5e-6, {"a": (11e-6, False)}), overhead) == {"ratio": None, "net_ratio": None}
    assert peers.ratios(row(5e-6, {"a": (11e-6, True)}, certified=False), overhead)["ratio"] is None


def test_a_peer_that_costs_no_more_than_its_call_has_no_net_ratio():
    ratios = peers.ratios(row(1e-6, {"a": (1.5e-6, True)}), {"a": 1e-6})
    assert ratios["ratio"] is not None
    assert ratios["net_ratio"] is None


def test_a_warm_start_is_the_solution_of_the_step_before():
    """Late in a grasp nothing changes: the impulses of the step before nearly solve the next."""
    late = problems.collect("allegro", count=10)[-1]
    assert late.before is not None
    zero = taut.residuals(late.problem, np.zeros_like(late.before)).natural
    assert taut.residuals(late.problem, late.before).natural < 0.01 * zero


def test_the_clock_judges_what_it_times():
    answer = clock.solve(friction_free(), "auto")
    assert answer["certified"]
    assert answer["natural"] <= TOLERANCE
    assert clock.judged(friction_free(), np.zeros(6))["certified"] is False
