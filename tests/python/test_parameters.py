"""Adjoints of parameters, against differences of steps of scenes that have them changed."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio
import pytest

import taut
from taut.gradients import reachable_states

OPTIONS = ("correction", "limit_correction", "loop_correction")


def ends(scene, state, q, v, tau, name, value, options):
    """The step with a parameter at a value, from a simulator of its own."""
    changed = scene.copy()
    options = dict(options)
    if name in OPTIONS:
        options[name] = float(value[0])
    else:
        changed.set_parameter(name, value)
    sim = taut.Simulator(changed, tolerance=1e-13, **options)
    sim.restore(state)
    return sim.step(q, v, tau)


def difference(scene, state, q, v, tau, name, bars, options):
    """d(q_bar · q⁺ + v_bar · v⁺) by a parameter: central, its second-order error taken out."""
    model = scene.model
    q_bar, v_bar = bars
    at = np.array([options[name]]) if name in OPTIONS else scene.parameter(name)
    found = np.zeros(len(at))
    for k in range(len(at)):

        def slope(h, k=k):
            way = np.zeros(len(at))
            way[k] = h
            ahead, behind = (ends(scene, state, q, v, tau, name, at + side, options) for side in (way, -way))
            dq = pinocchio.difference(model, behind.q, ahead.q)
            return (q_bar @ dq + v_bar @ (ahead.v - behind.v)) / (2 * h)

        h = (2e-7 if name.startswith(("size", "placement")) else 1e-5) * max(1.0, abs(at[k]))
        if name.startswith("compliance"):
            h = 1e-5 * at[k]
        found[k] = slope(h) + (slope(h) - slope(3 * h)) / 8
    return found


def checked(scene, names, states=6, seed=0, distance=2e-2, sampling=None, mode="closed", **options):
    """Compares at states of a run that have a block in this mode; returns how often each parameter mattered."""
    rng = np.random.default_rng(seed)
    sim = taut.Simulator(scene, tolerance=1e-13, **options)
    nv = scene.model.nv
    mattered = dict.fromkeys(names, 0)
    compared = 0
    for count, (q, v, tau, state) in enumerate(reachable_states(sim, rng, **(sampling or {}))):
        if compared == states or count == 200 * states:
            break
        sim.restore(state)
        sim.step(q, v, tau)
        certificate = sim.jacobian().certificate
        if certificate.nearest < distance or not certificate.unique or certificate.loops_put_back:
            continue
        if mode not in certificate.modes:
            continue
        compared += 1
        bars = rng.normal(size=(2, nv))
        theta = sim.vjp(*bars, theta=names).theta
        for name in names:
            reference = difference(scene, state, q, v, tau, name, bars, options)
            error = np.abs(theta[name] - reference).max() / (1 + np.abs(reference).max())
            assert error < 1e-6, (name, theta[name], reference)
            mattered[name] += bool(np.abs(reference).max() > 1e-9)
    assert compared == states
    return mattered


def test_go1():
    scene = taut.scenes.make("go1")
    joint = "FL_thigh_joint"
    assert joint in scene.model.names
    names = ["gravity", "correction", "friction:floor", "mass:root_joint", "com:root_joint", "inertia:root_joint"]
    names += [f"{kind}:{joint}" for kind in ("mass", "com", "inertia", "damping", "dry_friction", "armature")]
    scene.set_friction("floor", 0.9)  # of equal ones half counts, and differences stand at a kink
    scene.set_parameter(f"armature:{joint}", 0.01)  # away from the least they can be
    scene.set_parameter(f"damping:{joint}", 0.2)
    mattered = checked(
        scene, names, mode="sliding", distance=5e-3, correction=0.2, limit_correction=0.2, sampling={"kick": 0.5}
    )
    assert min(mattered.values()) > 0, mattered


def test_a_foot_and_its_floor():
    """Sizes and placements of shapes that touch, on a robot."""
    scene = taut.scenes.make("go1")
    scene.set_friction("floor", 0.9)
    used = [n for n in scene.parameters if n.startswith(("size:", "placement:", "friction:"))]
    feet = [n for n in used if "foot" in n.lower() or "floor" in n.lower() or "plane" in n.lower()]
    assert feet
    mattered = checked(scene, feet[:8] + feet[-3:], mode="sliding", distance=5e-3, sampling={"kick": 0.5})
    assert sum(mattered.values()) > 0, mattered


def falling(shape, **options) -> taut.Scene:
    scene = taut.Scene()
    scene.add_floor(friction=0.3, **options)
    scene.add_body("body", shape, 1.5, [0.0, 0.0, 0.12], friction=0.6)
    return scene


@pytest.mark.parametrize(
    "shape",
    [coal.Sphere(0.1), coal.Ellipsoid(0.1, 0.12, 0.08), coal.Capsule(0.05, 0.15), coal.Box(0.2, 0.18, 0.16)],
    ids=lambda shape: type(shape).__name__,
)
def test_bodies_that_slide_and_roll(shape):
    scene = falling(shape)
    names = ["gravity", "friction:body", "friction:floor", "mass:body", "com:body", "inertia:body", "size:body"]
    names += ["placement:body", "size:floor", "placement:floor", "correction"]
    names = [n for n in names if n in scene.parameters]
    mattered = checked(scene, names, 8, mode="sliding", correction=0.2, sampling={"kick": 1.0, "push": 2e-3})
    # Of two shapes the larger friction counts, and a rigid contact has no compliance.
    assert mattered["friction:body"] > 0 and mattered["friction:floor"] == 0
    assert mattered["size:body"] > 0 and mattered["placement:body"] > 0 and mattered["inertia:body"] > 0


@pytest.mark.parametrize("integrator", ["euler", "moreau"])
@pytest.mark.parametrize("turn", [0.0, 0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("lands", [False, True])
def test_a_body_that_spins_about_a_centre_off_its_origin(turn, integrator, lands, rng):
    scene, dt = falling(coal.Sphere(0.1)), 2e-3
    q, v = scene.q0.copy(), rng.normal(size=6)
    scene.set_parameter("com:body", [0.03, -0.05, 0.02])
    scene.set_parameter("inertia:body", scene.parameter("inertia:body") + 0.3 * rng.normal(size=10))
    v[3:] *= turn / dt / np.linalg.norm(v[3:])
    if lands:  # Moreau's looks where the old velocity has led
        v[2] = -1.0
        q[2] = 0.1 - 3e-4 + (0.5 * dt if integrator == "moreau" else 0.0)
    else:
        q[2] = 1.0
    names = ["gravity", "mass:body", "com:body", "inertia:body"]
    options = {"dt": dt, "integrator": integrator, "correction": 0.2, "limit_correction": 0.2, "loop_correction": 1.0}
    sim = taut.Simulator(scene, tolerance=1e-13, **options)
    state, tau, bars = sim.state(), 0.1 * rng.normal(size=6), rng.normal(size=(2, 6))
    assert len(sim.step(q, v, tau).contacts) == lands
    adjoint = sim.vjp(*bars, theta=names)
    assert adjoint.certificate.solved
    for name in names:
        reference = difference(scene, state, q, v, tau, name, bars, options)
        np.testing.assert_allclose(adjoint.theta[name], reference, rtol=0, atol=1e-6 * (1 + np.abs(reference).max()))


@pytest.mark.parametrize("rule", ["average", "geometric_mean", "product", "minimum"])
def test_rules_of_friction(rule):
    scene = falling(coal.Sphere(0.1))
    scene.friction_rule = rule
    mattered = checked(
        scene, ["friction:body", "friction:floor"], 6, mode="sliding", sampling={"kick": 2.0, "push": 2e-3}
    )
    assert mattered["friction:floor"] > 0


def test_friction_of_a_pair():
    scene = falling(coal.Sphere(0.1))
    scene.set_pair_friction("body", "floor", 0.25)
    name = next(n for n in scene.parameters if n.startswith("friction:") and "|" in n)
    mattered = checked(scene, [name, "friction:body"], 6, mode="sliding", sampling={"kick": 2.0, "push": 2e-3})
    assert mattered[name] > 0 and mattered["friction:body"] == 0


def test_compliance():
    scene = falling(coal.Sphere(0.1), compliance=1e-4)
    mattered = checked(scene, ["compliance:floor", "mass:body", "size:body"], 4, sampling={"kick": 0.5, "push": 1e-3})
    assert min(mattered.values()) > 0, mattered


@pytest.mark.parametrize("integrator", ["euler", "moreau"])
def test_restitution(integrator):
    scene = falling(coal.Sphere(0.1), restitution=0.7)
    rng = np.random.default_rng(3)
    sim = taut.Simulator(scene, tolerance=1e-13, integrator=integrator)
    q, v = scene.q0.copy(), np.array([0.3, 0.1, -1.5, 1.0, 2.0, 0.5])
    q[2] = 0.1005
    state = sim.state()
    names = ["restitution:floor", "size:body", "placement:body", "mass:body", "gravity", "friction:body"]
    sim.step(q, v)
    assert len(sim.impulse) > 0 and sim.impulse[2] > 0
    bars = rng.normal(size=(2, 6))
    theta = sim.vjp(*bars, theta=names).theta
    for name in names:
        reference = difference(scene, state, q, v, np.zeros(6), name, bars, {"integrator": integrator})
        assert np.abs(theta[name] - reference).max() < 1e-6 * (1 + np.abs(reference).max()), name
    assert abs(theta["restitution:floor"][0]) > 0.1


def test_loops_and_limits():
    scene = taut.scenes.make("cassie")
    joint = scene.model.names[5]
    names = ["gravity", "loop_correction", f"mass:{joint}", f"com:{joint}"]
    checked(
        scene,
        names,
        3,
        distance=5e-3,
        correction=1.0,
        limit_correction=1.0,
        loop_correction=0.9,
        sampling={"push": 1e-5, "kick": 0.005, "torque": 0.1},
    )
    humanoid = taut.scenes.make("humanoid")
    names = ["limit_correction", f"stiffness:{humanoid.model.names[3]}", f"damping:{humanoid.model.names[3]}"]
    for name in names[1:]:
        humanoid.set_parameter(name, humanoid.parameter(name) + 0.5)
    mattered = checked(humanoid, names, 8, limit_correction=0.2, sampling={"kick": 0.3})
    assert mattered[names[1]] > 0 and mattered[names[2]] > 0


def test_a_limit_is_corrected_by_its_share(load_text):
    scene = load_text("""<mujoco><compiler angle="radian"/><worldbody><body>
      <joint name="axle" type="hinge" axis="0 1 0" limited="true" range="-1 1" damping="0.1"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/></body></worldbody></mujoco>""")
    sim = taut.Simulator(scene, tolerance=1e-13, limit_correction=0.2)
    sim.step([1.002], [0.1])
    assert sim.jacobian().certificate.modes == ["closed"]
    theta = sim.vjp([0.0], [1.0], theta=["limit_correction", "damping:axle"]).theta
    assert theta["limit_correction"][0] == pytest.approx(-2.0, rel=1e-9)  # it comes back by 0.002 rad/0.001 s a share
    assert theta["damping:axle"][0] == pytest.approx(0.0, abs=1e-12)  # the stop decides


def test_dry_friction_is_felt_while_it_slips_and_not_while_it_sticks(load_text):
    """A non-zero derivative with respect to joint dry friction, which differences of a smoothed law may miss (mujoco
    issue 1344): a wheel that turns slows down by dt/I per N m."""
    scene = load_text("""<mujoco><worldbody><body><joint name="axle" type="hinge" axis="0 0 1" frictionloss="0.3"/>
      <geom type="cylinder" size="0.1 0.02" mass="2"/></body></worldbody></mujoco>""")
    sim = taut.Simulator(scene, tolerance=1e-13)
    inertia = pinocchio.crba(scene.model, scene.model.createData(), scene.q0)[0, 0]
    sim.step(scene.q0, [1.0])
    bars = sim.vjp([0.0], [1.0], theta=["dry_friction:axle"])
    assert bars.theta["dry_friction:axle"][0] == pytest.approx(-1e-3 / inertia, rel=1e-9)
    sim.step(scene.q0, [0.0], [0.1])  # held
    assert sim.vjp([0.0], [1.0], theta=["dry_friction:axle"]).theta["dry_friction:axle"][0] == 0.0


def test_values_come_back():
    scene = taut.scenes.make("go1")
    for name in scene.parameters:
        if name in OPTIONS or name.startswith(("placement", "size")):
            continue
        try:
            value = scene.parameter(name)
        except ValueError as error:
            assert "inertia" in str(error)
            continue
        scene.set_parameter(name, value)
        np.testing.assert_allclose(scene.parameter(name), value, rtol=1e-9, atol=1e-12)


def test_unknown_names_are_named():
    scene = falling(coal.Sphere(0.1))
    sim = taut.Simulator(scene)
    sim.step(scene.q0, np.zeros(6))
    with pytest.raises(ValueError, match="'colour:body': its kind is not one of friction"):
        sim.vjp(np.zeros(6), np.zeros(6), theta=["colour:body"])
    with pytest.raises(ValueError, match="no shape is named 'nobody'"):
        sim.vjp(np.zeros(6), np.zeros(6), theta=["friction:nobody"])
    with pytest.raises(ValueError, match="no joint is named 'nobody'"):
        scene.parameter("mass:nobody")
    with pytest.raises(ValueError, match="no value of its own"):
        scene.parameter("friction:body|floor")
    with pytest.raises(ValueError, match=r"value has shape \(\), expected \(3,\)"):
        scene.set_parameter("gravity", 9.81)
    with pytest.raises(ValueError, match="must be positive"):
        scene.set_parameter("mass:body", -1.0)
    with pytest.raises(ValueError, match="a simulator's"):
        scene.set_parameter("correction", 0.3)
    with pytest.raises(ValueError, match="radius"):
        scene.set_parameter("size:body", -0.1)
