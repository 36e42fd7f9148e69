"""Adjoints of whole rollouts, and of many states at once."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio
import pytest

import taut


def thrown() -> taut.Scene:
    scene = taut.Scene()
    scene.add_floor(friction=0.4)
    scene.add_body("ball", coal.Sphere(0.1), 1.0, [0.0, 0.0, 0.13], friction=0.4)
    return scene


def cost(scene, path, target):
    """Of the last configuration and of all velocities; its gradient by each state, in tangents."""
    model = scene.model
    steps = len(path)
    away = pinocchio.difference(model, target, path.q[-1])
    q_bar, v_bar = np.zeros((2, steps + 1, model.nv))
    q_bar[-1] = away @ pinocchio.dDifference(model, target, path.q[-1], pinocchio.ARG1)
    v_bar[:] = 0.01 * path.v / steps
    return 0.5 * away @ away + 0.005 * np.sum(path.v**2) / steps, q_bar, v_bar


def rolled(scene, q, v, taus, options=None, **changes):
    changed = scene.copy()
    for name, value in changes.items():
        changed.set_parameter(name.replace("__", ":"), value)
    sim = taut.Simulator(changed, tolerance=1e-12, **(options or {}))
    return sim.rollout(q, v, taus)


@pytest.mark.parametrize("integrator", ["euler", "moreau"])
def test_gradient_of_a_throw(integrator, rng):
    """Flight, impact, sliding and rolling: by the start, by torques along the way, and by parameters."""
    scene = thrown()
    options = {"integrator": integrator}
    q, v = scene.q0, np.array([0.8, 0.2, -0.3, 1.0, 0.5, 0.2])
    taus = 0.2 * rng.normal(size=(150, 6))
    target = scene.q0.copy()
    target[:2] = [0.3, 0.1]
    sim = taut.Simulator(scene, tolerance=1e-12, **options)
    path = sim.rollout(q, v, taus)
    assert max(path.contacts) > 0
    _, q_bar, v_bar = cost(scene, path, target)
    names = ["friction:ball", "mass:ball", "gravity", "size:ball"]
    found = sim.adjoint(path, q_bar, v_bar, theta=names)

    def value(q=q, v=v, taus=taus, **changes):
        return cost(scene, rolled(scene, q, v, taus, options, **changes), target)[0]

    h = 1e-6
    for k in range(6):
        way = np.zeros(6)
        way[k] = h
        ahead, behind = (value(v=v + side) for side in (way, -way))
        assert found.v[k] == pytest.approx((ahead - behind) / (2 * h), abs=2e-7)
        ahead, behind = (value(q=pinocchio.integrate(scene.model, q, side)) for side in (0.1 * way, -0.1 * way))
        assert found.q[k] == pytest.approx((ahead - behind) / (0.2 * h), abs=2e-7)
    for step in (0, 60, 149):
        moved = np.zeros_like(taus)
        moved[step, 1] = 1e-4
        assert found.taus[step, 1] == pytest.approx(
            (value(taus=taus + moved) - value(taus=taus - moved)) / 2e-4, abs=1e-7
        )
    for name in ("friction:ball", "mass:ball"):
        at = scene.parameter(name)
        ahead, behind = (value(**{name.replace(":", "__"): at + side}) for side in (h, -h))
        assert found.theta[name][0] == pytest.approx((ahead - behind) / (2 * h), abs=2e-6), name
    assert found.theta["gravity"].shape == (3,) and found.theta["size:ball"].shape == (1,)


def test_checkpoints_change_memory_and_nothing_else(rng):
    scene = taut.scenes.make("go1")
    taus = 0.3 * rng.normal(size=(60, 18))
    q_bar, v_bar = rng.normal(size=(2, 61, 18))
    found = []
    for every in (1, 7, None, 60, 1000):
        sim = taut.Simulator(scene)
        path = sim.rollout(scene.q0, np.zeros(18), taus, checkpoints=every)
        found.append(sim.adjoint(path, q_bar, v_bar, theta=["mass:root_joint"]))
    for other in found[1:]:
        np.testing.assert_array_equal(other.taus, found[0].taus)
        np.testing.assert_array_equal(other.q, found[0].q)
        np.testing.assert_array_equal(other.theta["mass:root_joint"], found[0].theta["mass:root_joint"])


def test_it_is_the_chain_of_single_adjoints(rng):
    scene = taut.scenes.make("half_cheetah")
    nv = scene.model.nv
    sim = taut.Simulator(scene)
    taus = rng.normal(size=(40, nv))
    path = sim.rollout(scene.q0, np.zeros(nv), taus)
    q_bar, v_bar = rng.normal(size=(2, nv))
    found = sim.adjoint(path, q_bar, v_bar)
    sim.reset()
    states, q, v = [], scene.q0, np.zeros(nv)
    for tau in taus:
        states.append((sim.state(), q, v))
        done = sim.step(q, v, tau)
        q, v = done.q, done.v
    for (state, q, v), tau, by in zip(reversed(states), taus[::-1], found.taus[::-1], strict=True):
        sim.restore(state)
        sim.step(q, v, tau)
        bars = sim.vjp(q_bar, v_bar)
        np.testing.assert_allclose(bars.tau, by, rtol=1e-12, atol=1e-14)
        q_bar, v_bar = bars.q, bars.v
    np.testing.assert_allclose(found.q, q_bar, rtol=1e-12, atol=1e-14)


def test_controls_of_actuators(load_text, rng):
    scene = load_text("""<mujoco><worldbody>
      <body><joint name="a" type="hinge" axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/>
        <body pos="0.3 0 0"><joint name="b" type="hinge" axis="0 1 0"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0"/></body></body></worldbody>
      <actuator><motor joint="a" gear="2" ctrllimited="true" ctrlrange="-1 1"/><position joint="b" kp="5" kv="0.1"/>
      </actuator></mujoco>""")
    sim = taut.Simulator(scene, tolerance=1e-12)
    q, v, control = scene.q0, np.zeros(2), 0.5 * rng.normal(size=(30, 2))
    control[4, 0] = 1.7  # clamped
    path = sim.rollout(q, v, steps=30, control=control)
    bar = rng.normal(size=2)
    found = sim.adjoint(path, np.zeros(2), bar)
    assert found.control[4, 0] == 0.0
    for step, actuator in ((0, 0), (0, 1), (12, 1), (29, 0)):
        moved = np.zeros_like(control)
        moved[step, actuator] = 1e-4
        ahead, behind = (
            bar @ taut.Simulator(scene, tolerance=1e-12).rollout(q, v, steps=30, control=control + side).v[-1]
            for side in (moved, -moved)
        )
        assert found.control[step, actuator] == pytest.approx((ahead - behind) / 2e-4, abs=1e-8)
    sim.step(q, v, control=control[0])
    assert sim.vjp(np.zeros(2), bar).control.shape == (2,)


def test_external_forces(rng):
    scene = taut.scenes.make("go1")
    sim = taut.Simulator(scene, tolerance=1e-12)
    q, v, fext = scene.q0, 0.3 * rng.normal(size=18), rng.normal(size=(scene.model.njoints, 6))
    q = q.copy()
    q[2] -= 1e-3
    state = sim.state()
    sim.step(q, v, fext=fext)
    jacobian = sim.jacobian(forces=True)
    q_bar, v_bar = rng.normal(size=(2, 18))
    bars = sim.vjp(q_bar, v_bar)
    np.testing.assert_allclose(
        bars.fext.ravel(), jacobian.dq_dforce.T @ q_bar + jacobian.dv_dforce.T @ v_bar, atol=1e-9
    )
    for joint, k in ((1, 2), (4, 0), (7, 4)):
        moved = np.zeros_like(fext)
        moved[joint, k] = 1e-3
        ends = []
        for side in (moved, -moved):
            sim.restore(state)
            ends.append(sim.step(q, v, fext=fext + side).v)
        np.testing.assert_allclose(jacobian.dv_dforce[:, 6 * joint + k], (ends[0] - ends[1]) / 2e-3, atol=1e-7)


def test_batches_are_the_same_on_any_number_of_threads(rng):
    scene = taut.scenes.make("go1")
    sim = taut.Simulator(scene)
    n = 24
    q = np.array([pinocchio.integrate(scene.model, scene.q0, 0.01 * rng.normal(size=18)) for _ in range(n)])
    v, tau, q_bar, v_bar = 0.2 * rng.normal(size=(4, n, 18))
    one, many = (sim.jacobians(q, v, tau, threads=threads) for threads in (1, 4))
    for name in ("q", "v", "dq_dq", "dq_dv", "dq_dtau", "dv_dq", "dv_dv", "dv_dtau"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))
    assert one.dv_dq.shape == (n, 18, 18) and len(one.certificates) == n == len(one)
    names = ["gravity", "mass:root_joint"]
    alone, all_cores = (sim.vjps(q, v, q_bar, v_bar, tau, theta=names, threads=threads) for threads in (1, 0))
    np.testing.assert_array_equal(alone.q, all_cores.q)
    np.testing.assert_array_equal(alone.theta["gravity"], all_cores.theta["gravity"])
    for i in (0, 11):
        sim.reset()
        done = sim.step(q[i], v[i], tau[i])
        np.testing.assert_array_equal(done.v, one.v[i])
        np.testing.assert_array_equal(sim.jacobian().dv_dq, one.dv_dq[i])
        bars = sim.vjp(q_bar[i], v_bar[i], theta=names)
        np.testing.assert_array_equal(bars.tau, alone.tau[i])
        np.testing.assert_array_equal(bars.theta["mass:root_joint"], alone.theta["mass:root_joint"][i])


def test_what_cannot_be_gone_back_over_is_named(rng):
    scene = taut.scenes.make("half_cheetah")
    nv = scene.model.nv
    sim = taut.Simulator(scene)
    path = sim.rollout(scene.q0, np.zeros(nv), steps=10)
    with pytest.raises(ValueError, match=r"q_bar has shape \(9, "):
        sim.adjoint(path, np.zeros((9, nv)), np.zeros((11, nv)))
    with pytest.raises(ValueError, match="v_bar is not finite"):
        sim.adjoint(path, np.zeros(nv), np.full(nv, np.nan))
    with pytest.raises(ValueError, match="checkpoints is 0"):
        sim.rollout(scene.q0, np.zeros(nv), steps=10, checkpoints=0)
    with pytest.raises(ValueError, match="no joint is named"):
        sim.adjoint(path, np.zeros(nv), np.zeros(nv), theta=["mass:wing"])
    with pytest.raises(ValueError, match="another scene"):
        taut.Simulator(taut.scenes.make("go1")).adjoint(path, np.zeros(18), np.zeros(18))
    with pytest.raises(ValueError, match=r"v has shape \(3, 9\), expected \(2, 9\)"):
        sim.jacobians(np.tile(scene.q0, (2, 1)), np.zeros((3, nv)))
    with pytest.raises(ValueError, match=r"step: v\[0\] is"):
        sim.jacobians(np.tile(scene.q0, (2, 1)), np.full((2, nv), np.nan))
    scene.gravity = [0.0, 0.0, -5.0]
    with pytest.raises(ValueError, match="does not repeat itself"):
        sim.adjoint(path, np.zeros(nv), np.zeros(nv))
