"""The experiments of [RS], the profiles of [KL] and the piles: what they claim to measure is what they measure."""

from __future__ import annotations

import json

import numpy as np
import pinocchio
import pytest

import taut
from taut.cli.terminal import _plain
from taut.experiments import piles, problems, profiles, quadruped, raisim_local, raisim_tasks


def silent(done: int, total: int, what: str) -> None:
    assert 0 <= done <= total, what


def check(experiment, results, tmp_path) -> None:
    """JSON there and back, tables with rows, a picture."""
    kept = json.loads(json.dumps(_plain(results)))
    tables = experiment.tables(kept)
    assert tables
    assert all(made.row_count for made in tables)
    experiment.plot(kept, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5000


def test_anymal_touches_the_floor_with_feet_and_torso_only():
    with_torso, without = quadruped.anymal(), quadruped.anymal(torso=False)
    assert len(with_torso.geometry.collisionPairs) == 5
    assert len(without.geometry.collisionPairs) == 4
    data = with_torso.model.createData()
    np.testing.assert_allclose(quadruped.foot_heights(with_torso, data, np.array(with_torso.q0)), 0.0, atol=1e-9)


def test_anymal_trots_at_the_speed_of_the_paper():
    task = raisim_tasks.TASKS["trot"]
    runner = raisim_tasks.Contender("auto", "auto")
    path = np.array([np.array(step.q) for _, step, _ in raisim_tasks._steps(task, runner, 4000)])
    later = path[1000:]  # after it has got going
    speed = np.linalg.norm(np.diff(later[:, :2], axis=0), axis=1).mean() / raisim_tasks.DT
    assert speed == pytest.approx(quadruped.SPEED, rel=0.05)
    upright = [pinocchio.Quaternion(q[3:7]).toRotationMatrix()[2, 2] for q in later[::100]]
    assert min(upright) > 0.98


def test_feet_follow_the_path_they_are_told():
    scene = quadruped.anymal()
    gait = quadruped.trot(scene, speed=1.0, samples=30)
    data = scene.model.createData()
    heights = np.array([quadruped.foot_heights(scene, data, q) for q in gait])
    assert heights.min() == pytest.approx(0.0, abs=1e-8)
    assert heights.max() == pytest.approx(quadruped.LIFT, rel=0.02)  # a sample may miss the top
    lifted = heights > 1e-6
    np.testing.assert_array_equal(lifted[:, 0], lifted[:, 3])  # left fore, right hind
    np.testing.assert_array_equal(lifted[:, 1], lifted[:, 2])
    assert not (lifted[:, 0] & lifted[:, 1]).any()


def test_hanging_feet_stay_and_the_torso_sinks():
    task = raisim_tasks.TASKS["hang"]
    steps = list(raisim_tasks._steps(task, raisim_tasks.Contender("auto", "auto"), 1500))
    assert steps[-1][1].q[2] < 0.0
    assert max(len(step.contacts) for _, step, _ in steps) == 4


def test_smaller_steps_drift_less():
    """The drift of the hanging feet is that of the time stepping: of first order in the step."""
    coarse, fine = (raisim_tasks._drift("auto", 1e-6, dt, seconds=2.0) for dt in (2e-3, 5e-4))
    assert coarse["not_converged"] == fine["not_converged"] == 0
    assert np.mean(coarse["depths"]) < 2 * np.mean(fine["depths"]) < 0.0


def test_every_contender_meets_the_same_starts_and_references():
    task = raisim_tasks.TASKS["random"]
    first, second = (
        next(iter(raisim_tasks._steps(task, raisim_tasks.Contender(name, name), 1)))[1].q for name in ("auto", "pgs")
    )
    np.testing.assert_array_equal(first, second)  # in the air: nothing to solve yet


def test_iterations_are_binned_by_powers_of_two():
    shares = raisim_tasks._powers_of_two(np.array([0, 1, 2, 3, 4, 7, 8, 8]))
    np.testing.assert_allclose(shares, np.array([1, 1, 2, 2, 2]) / 8)


def test_the_tasks_run(monkeypatch, tmp_path):
    monkeypatch.setattr(raisim_tasks, "STEPS", 15_000)  # 300 when quick: past the first touch-down
    monkeypatch.setattr(raisim_tasks, "DRIFT_SECONDS", 14.0)  # 0.7 s
    results = raisim_tasks.run(True, silent)
    hang = [run for run in results["runs"] if run["task"] == "hang" and run["contender"] == "auto"]
    assert hang[0]["not_converged"] == 0
    assert hang[0]["steps"] == 600
    check(raisim_tasks, results, tmp_path)


def test_single_contacts_of_the_local_solvers_slide():
    for problem in raisim_local.sliding(100):
        np.testing.assert_allclose(problem.G, problem.G.T, atol=1e-12)
        solution = taut.solve(problem, tolerance=1e-10)
        tangential, normal = solution.impulse[:2], solution.impulse[2]
        assert normal > 0
        assert np.hypot(*solution.velocity[:2]) > 1e-6
        assert np.hypot(*tangential) == pytest.approx(problem.mu[0] * normal, rel=1e-6)


@pytest.mark.skipif("raisim_quartic" not in taut.solvers(), reason="this taut has no raisim_quartic")
def test_local_solvers_find_the_same_impulse(tmp_path):
    results = raisim_local.run(True, silent)
    assert set(results["seconds"]) == set(raisim_local.SOLVERS)
    for off in results["difference"].values():
        assert off is None or off["worst"] < 1e-4  # searches end at 1e-6 N s, of impulses down to a hundredth
    check(raisim_local, results, tmp_path)


def made_up(times: dict[str, list[float]]) -> dict:
    """Results of `profiles` with these times; a negative one is an answer that is not certified."""
    count = len(next(iter(times.values())))
    rows = [
        {"answers": {solver: {"seconds": abs(of[i]), "certified": of[i] > 0} for solver, of in times.items()}}
        for i in range(count)
    ]
    return {"solvers": list(times), "rows": rows}


def test_a_profile_counts_failures_and_ties():
    relative = profiles.ratios(made_up({"a": [1.0, 4.0, -0.1, -1.0], "b": [2.0, 4.0, 3.0, -1.0]}))
    np.testing.assert_array_equal(relative["a"], [1, 1, np.inf, np.inf])
    np.testing.assert_array_equal(relative["b"], [2, 1, 1, np.inf])  # the last is solved by nobody
    assert profiles.profile(relative["b"], 1.0) == 0.5
    assert profiles.profile(relative["b"], 2.0) == 0.75


def test_profiles_run(monkeypatch, tmp_path):
    monkeypatch.setattr(problems, "files", lambda: sorted(problems.PACKAGED.glob("Rover*.npz")))
    results = profiles.run(True, silent)
    assert all(row["answers"]["auto"]["certified"] for row in results["rows"])
    check(profiles, results, tmp_path)


def test_the_exponent_of_a_power_law_is_found():
    rows = [{"contacts": n, "cold": {"seconds": 3e-6 * n**1.5, "certified": True}} for n in (10, 50, 400)]
    rows.append({"contacts": 100, "cold": {"seconds": 1.0, "certified": False}})  # not certified: not counted
    exponent, at_100 = piles.fit(rows, "cold")
    assert exponent == pytest.approx(1.5)
    assert at_100 == pytest.approx(3000.0)
    assert piles.fit(rows[:1], "cold") is None


def test_piles_run(tmp_path):
    results = piles.run(True, silent, sizes=(6, 12))
    assert {row["bodies"] for row in results["rows"]} == {6, 12}
    assert all(row[start]["certified"] for row in results["rows"] for start in ("cold", "warm"))
    check(piles, results, tmp_path)
