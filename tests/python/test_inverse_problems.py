"""The examples on inverse problems: whole runs are differentiated exactly, and Gauss-Newton ends where it should."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pinocchio
import pytest


def example(name: str):
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


cube = example("inverse_cube")
dynamics = example("contact_inverse_dynamics")
identification = example("identify")


def certificates(problem, x):
    """(modes, unique) of every step of a run."""
    problem.sim.reset()
    q, (v, tau) = problem.q0, problem.first_step(x)
    seen = []
    for _ in range(problem.steps):
        done = problem.sim.step(q, v, tau)
        certificate = problem.sim.jacobian().certificate
        seen.append((certificate.modes, certificate.unique))
        q, v, tau = done.q, done.v, np.zeros(6)
    return seen


@pytest.mark.parametrize("dt", [0.01, 0.001])
def test_the_chain_through_a_throw_is_its_difference(dt):
    problem = cube.thrown(dt=dt, tolerance=1e-12)
    seen = certificates(problem, problem.truth)
    assert all(unique for _, unique in seen)
    modes = {mode for modes, _ in seen for mode in modes}
    assert {"closed", "sliding"} <= modes and seen[0][0] == []  # it flies, a corner sticks, edges slide
    _, J = problem.implicit(problem.truth)
    found = []
    for problem.h in (1e-7, 3e-7):
        found.append(problem.differences(problem.truth)[1])
    close, far = found
    reference = close + (close - far) / 8  # their error of second order taken out: at 1 ms it is 1e-6 of J
    assert np.abs(J - reference).max() < 1e-7 * np.abs(J).max()


def test_the_chain_of_a_struck_cube_is_exact_until_velocities_are_not_unique():
    """It tips on an edge and comes down on four corners that slide and turn: there the certificate says so."""
    whole = cube.struck(tolerance=1e-12)
    unique = [step_unique for _, step_unique in certificates(whole, whole.truth)]
    first = unique.index(False)
    assert first > 3
    before = cube.struck(seconds=first * whole.dt, tolerance=1e-12)
    _, J = before.implicit(before.truth)
    _, reference = before.differences(before.truth)
    assert np.abs(J - reference).max() < 1e-8 * np.abs(J).max()
    _, J = whole.implicit(whole.truth)
    _, reference = whole.differences(whole.truth)
    assert np.abs(J - reference).max() < 1e-3 * np.abs(J).max()  # another load on each corner, not another motion


@pytest.mark.parametrize("impulsive", [False, True])
def test_the_adjoint_of_a_run_is_its_gradient(impulsive):
    """Backwards through the steps by `vjp`, from the states that were kept, beside Jᵀ r of the chain forward."""
    problem = (cube.struck if impulsive else cube.thrown)(tolerance=1e-12)
    x = problem.truth + 0.01
    r, J = problem.implicit(x)
    sim, model = problem.sim, problem.sim.scene.model
    sim.reset()
    q, (v, tau) = problem.q0, problem.first_step(x)
    kept = []
    for _ in range(problem.steps):
        kept.append((sim.state(), q, v, tau))
        done = sim.step(q, v, tau)
        q, v, tau = done.q, done.v, np.zeros(6)
    q_bar = pinocchio.dDifference(model, problem.target, q, pinocchio.ARG1).T @ r
    v_bar = np.zeros(6)
    for state, q, v, tau in reversed(kept):
        sim.restore(state)
        sim.step(q, v, tau)
        bars = sim.vjp(q_bar, v_bar)
        q_bar, v_bar = bars.q, bars.v
    gradient = problem.scale * (bars.tau if impulsive else bars.v)
    np.testing.assert_allclose(gradient, J.T @ r, atol=1e-9 * np.abs(J.T @ r).max())


@pytest.mark.parametrize("make", [cube.thrown, cube.struck])
@pytest.mark.parametrize("derivative", cube.DERIVATIVES)
def test_gauss_newton_finds_a_throw_that_ends_there(make, derivative):
    problem = make()
    for x in cube.guesses(problem, 5, 0.05):
        path = cube.descend(problem, x, "Gauss-Newton", derivative)
        assert path.iterations is not None and path.iterations <= 10
        assert np.linalg.norm(problem.residual(path.x)) < cube.REACHED


def test_gradient_descent_needs_more():
    problem = cube.struck()
    (x,) = cube.guesses(problem, 1, 0.05)
    slow = cube.descend(problem, x, "gradient descent", "implicit", iterations=30)
    fast = cube.descend(problem, x, "Gauss-Newton", "implicit", iterations=30)
    assert np.all(np.diff(slow.costs) < 0)
    assert slow.costs[-1] > 1e3 * fast.costs[-1]


@pytest.fixture(scope="module", params=[0.0, 10.0], ids=["alone", "with 10 kg"])
def robot(request):
    return dynamics.standing(request.param)


def test_a_go1_is_kept_still_within_ten_iterations(robot):
    """[S, Sec. 4.2] has about ten to 1e-5; the base has no torque, and the feet carry the weight."""
    path = dynamics.solve(robot, np.zeros(12), "implicit")
    assert path.iterations is not None and path.iterations <= 10
    assert np.linalg.norm(robot.step(path.torque).v) < 1e-7
    assert robot.support(path.torque) == pytest.approx(robot.weight, rel=1e-4)
    assert np.abs(path.torque).max() < 23.7  # N m, what a hip motor of a Go1 has


def test_a_go1_is_kept_still_from_torques_that_make_it_jump(robot):
    paths = [dynamics.solve(robot, torque, "implicit") for torque in dynamics.guesses(8)]
    assert all(path.residuals[0] > 0.5 for path in paths)
    assert all(path.iterations is not None for path in paths)
    assert np.median([path.iterations for path in paths]) <= 10


def test_torques_of_a_go1_are_differentiated_as_differences_have_it(robot):
    """Where feet stick, slip and leave the ground and joints are stuck; no difference changes a mode."""

    def modes(torque):
        robot.step(torque)
        return robot.sim.jacobian().certificate.modes

    seen = set()
    for torque in dynamics.guesses(10):
        here = modes(torque)
        assert all(modes(torque + way) == here for way in 1e-4 * np.vstack([np.eye(12), -np.eye(12)]))
        _, J = robot.implicit(torque)
        _, reference = robot.differences(torque)
        assert np.abs(J - reference).max() < 1e-7 * np.abs(J).max()
        seen.update(here)
    assert seen == {"closed", "sliding", "open"}


@pytest.mark.parametrize("module", [cube, dynamics], ids=lambda module: module.__name__)
def test_examples_print_and_draw(module, monkeypatch, capsys, tmp_path):
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", [module.__name__, str(picture), "--starts", "2"])
    module.main()
    assert "2 of 2" in capsys.readouterr().out.replace("  ", " ")
    assert picture.stat().st_size > 10_000


def test_friction_and_mass_are_found_from_a_recorded_run():
    seen = identification.recorded(noise=0.0, seed=0)
    fit = identification.Fit(seen)
    x = np.log(identification.GUESS)
    gradient = fit(x)[1]
    np.testing.assert_allclose(gradient, fit.differences(x), rtol=1e-5, atol=1e-7)
    found = identification.identify(seen)
    np.testing.assert_allclose(found.values[-1], identification.TRUE, rtol=1e-4)
    assert len(found.costs) < 30
