"""Loops, limits, restitution and compliance that make no sense: errors that name the value; loops that cannot close."""

from __future__ import annotations

import coal
import numpy as np
import pytest

import taut


@pytest.fixture
def two_bodies() -> taut.Scene:
    scene = taut.Scene()
    scene.add_body("one", coal.Box(0.1, 0.1, 0.1), 1.0, [0, 0, 0])
    scene.add_body("two", coal.Box(0.1, 0.1, 0.1), 1.0, [0.3, 0, 0])
    return scene


@pytest.mark.parametrize(
    ("arguments", "options", "named"),
    [
        (("hook", "one", "two"), {}, "'hook'"),
        (("point", "one", "three"), {}, "'three'"),
        (("point", "one", "one"), {}, "to itself"),
        (("point", 7, "two"), {}, "joint 7"),
        (("hinge", "one", "two"), {"axis": [0, 0, 0]}, "axis"),
        (("hinge", "one", "two"), {"axis": [0, np.nan, 1]}, "axis"),
        (("point", "one", "two"), {"point": [0, 0, np.inf]}, "point is not finite"),
        (("point", "one", "two"), {"point": [0, 0]}, r"point has shape \(2,\), expected \(3,\)"),
        (("point", "one", "two"), {"point": [0, 0, 0], "position_1": [0, 0, 0]}, "give point and axis"),
        (("weld", "one", "two"), {"quaternion_1": [0, 0, 0, 2]}, "norm 2"),
        (("universal", "one", "two"), {"axis": [1, 0, 0], "second_axis": [1, 0, 0]}, "right angle"),
        (("distance", "one", "two"), {"length": -1.0}, "length is -1"),
        (("distance", "one", "two"), {"length": 0.0}, "length is 0"),
        (("point", "one", "two"), {"length": 1.0}, "only a distance"),
        (("point", "one", "two"), {"compliance": -1e-3}, "compliance is -0.001"),
        (("weld", "one", "two"), {"angular_compliance": np.nan}, "compliance is nan"),
    ],
)
def test_a_wrong_loop_is_named(two_bodies, arguments, options, named):
    with pytest.raises(ValueError, match=named):
        two_bodies.add_loop(*arguments, name="bad", **options)
    assert two_bodies.loops == []


def test_a_wrong_coupling_is_named(two_bodies):
    with pytest.raises(ValueError, match="6 degrees of freedom"):
        two_bodies.add_coupling("one", "two")
    arm = taut.scenes.make("arm7d", coordinates="reduced")
    first = arm.model.names[1]
    for options, named in [
        ({"joint_2": first}, "with itself"),
        ({"joint_2": "nobody"}, "'nobody'"),
        ({"joint_2": arm.model.names[2], "polynomial": [0, 1, 2, 3, 4, 5]}, "at most 5"),
        ({"joint_2": arm.model.names[2], "polynomial": [0, np.inf]}, "coefficient is inf"),
        ({"joint_2": arm.model.names[2], "compliance": -1.0}, "compliance is -1"),
    ]:
        with pytest.raises(ValueError, match=named):
            arm.add_coupling(first, **options)


def test_a_wrong_loop_motor_is_named():
    scene = taut.scenes.make("fourbar_fixed")
    for loop, options, named in [
        ("nobody", {}, "'nobody'"),
        ("rocker_hinge", {"kind": "rocket"}, "'rocket'"),
        ("rocker_hinge", {"drive": 1}, "not number 1"),
        ("ground_weld", {}, "0 directions"),
        ("rocker_hinge", {"kind": "position", "kp": -1.0}, "kp is -1"),
    ]:
        with pytest.raises(ValueError, match=named):
            scene.add_loop_actuator(loop, **options)


@pytest.mark.parametrize("e", [-0.1, 1.1, np.nan])
def test_restitution_outside_of_0_to_1_is_named(two_bodies, e):
    for call in (
        lambda: two_bodies.set_restitution("one", e),
        lambda: two_bodies.set_pair_restitution("one", "two", e),
        lambda: two_bodies.add_body("three", coal.Sphere(0.1), restitution=e),
        lambda: two_bodies.add_floor(restitution=e),
    ):
        with pytest.raises(ValueError, match="restitution is"):
            call()
    with pytest.raises(ValueError, match="limit_restitution"):
        two_bodies.limit_restitution = np.full(12, e)


@pytest.mark.parametrize("c", [-1e-6, np.nan, np.inf])
def test_negative_compliance_is_named(two_bodies, c):
    with pytest.raises(ValueError, match="compliance"):
        two_bodies.set_compliance("one", c)
    with pytest.raises(ValueError, match="limit_compliance"):
        two_bodies.limit_compliance = np.full(12, c)
    with pytest.raises(ValueError, match="compliance"):
        taut.Simulator(two_bodies, compliance=c)
    with pytest.raises(ValueError, match="compliance"):
        taut.Simulator(two_bodies, tangential_compliance=c)


def test_limits_in_the_wrong_order_are_named():
    arm = taut.scenes.make("arm7d", coordinates="reduced")
    arm.model.lowerPositionLimit[2], arm.model.upperPositionLimit[2] = 0.5, -0.5
    with pytest.raises(ValueError, match=r"lower limit .*'link_3_hinge' is 0.5"):
        taut.Simulator(arm)


def test_wrong_options_are_named(two_bodies):
    for option, value in [
        ("integrator", "runge"),
        ("loop_correction", 1.5),
        ("limit_correction", -0.1),
        ("restitution_threshold", -1.0),
        ("penetration", np.nan),
    ]:
        with pytest.raises(ValueError, match=option):
            taut.Simulator(two_bodies, **{option: value})


def test_assembly_says_which_loop_cannot_be_closed(load_text):
    """Two links of 0.2 m on hinges 0.6 m apart."""
    link = (
        '<body pos="{x} 0 0"><joint name="{n}" axis="0 1 0"/>'
        '<geom type="capsule" size="0.01" fromto="0 0 0 {e} 0 0"/></body>'
    )
    scene = load_text(
        "<mujoco><worldbody>"
        + link.format(x=0, n="left", e=0.2)
        + link.format(x=0.6, n="right", e=-0.2)
        + "</worldbody></mujoco>"
    )
    scene.add_loop("point", "left", "right", position_1=[0.2, 0, 0], position_2=[-0.2, 0, 0], name="tips")
    with pytest.raises(ValueError, match=r"'tips' \(point\) stays open by 0.2 m"):
        scene.assemble()
    # The simulator says so too, step by step, and nothing flies away.
    path = taut.Simulator(scene).rollout(scene.q0, np.zeros(2), steps=500)
    assert np.mean([report.status != "converged" for report in path.reports]) > 0.9
    assert np.abs(path.v).max() < 20
    assert scene.worst_loop_gap(path.q[-1])[0] == pytest.approx(0.2, abs=1e-3)


def test_contradictory_closures_are_named(two_bodies):
    two_bodies.add_loop("weld", None, "one", point=[0, 0, 0], name="here")
    two_bodies.add_loop("weld", None, "one", position_1=[0, 0, 0.1], position_2=[0, 0, 0], name="there")
    with pytest.raises(ValueError, match=r"stays open by 0\.05 m"):
        two_bodies.assemble()


def test_assembly_closes_from_afar_keeps_limits_and_what_is_fixed(rng):
    scene = taut.scenes.make("fourbar_fixed", coordinates="reduced")
    for _ in range(20):
        q = scene.q0 + 0.5 * rng.normal(size=scene.model.nq)
        closed = scene.assemble(q)
        assert scene.worst_loop_gap(closed)[0] < 1e-9
    crank = scene.model.idx_qs[scene.model.getJointId("crank_hinge")]
    q = scene.q0 + np.where(np.arange(scene.model.nq) == crank, 0.7, 0.0)
    closed = scene.assemble(q, fixed=["crank_hinge"])
    assert closed[crank] == q[crank]
    assert scene.worst_loop_gap(closed)[0] < 1e-9
    scene.model.upperPositionLimit[crank] = scene.q0[crank] + 0.3
    assert scene.assemble(q)[crank] <= scene.q0[crank] + 0.3 + 1e-12
    with pytest.raises(ValueError, match=r"q has shape \(1,\)"):
        scene.assemble([0.0])
    with pytest.raises(ValueError, match="'nobody'"):
        scene.assemble(fixed=["nobody"])


def test_a_distance_is_between_origins_unless_told_otherwise(two_bodies):
    two_bodies.add_loop("distance", "one", "two", name="as it is")
    two_bodies.add_loop("distance", "one", "two", length=0.25, name="shorter")
    assert [loop.length for loop in two_bodies.loops] == [pytest.approx(0.3), 0.25]
    with pytest.raises(ValueError, match="position_1"):
        two_bodies.add_loop("distance", "one", "two", point=[0, 0, 0])


def test_a_state_that_is_lost_is_not_closed():
    scene = taut.scenes.make("fourbar_fixed")
    assert np.isnan(scene.worst_loop_gap(np.full(scene.model.nq, np.nan))).all()


def test_only_ball_joints_have_ball_limits(load_text):
    scene = load_text('<mujoco><worldbody><body><joint name="hinge"/><geom size="0.1"/></body></worldbody></mujoco>')
    with pytest.raises(ValueError, match="not a ball joint"):
        scene.set_ball_limit("hinge", 1.0)


def test_assembly_leaves_alone_what_is_fixed_even_past_its_limit():
    scene = taut.scenes.make("fourbar_fixed", coordinates="reduced")
    crank = scene.model.idx_qs[scene.model.getJointId("crank_hinge")]
    scene.model.upperPositionLimit[crank] = scene.q0[crank] - 0.1
    assert scene.assemble(fixed=["crank_hinge"])[crank] == scene.q0[crank]


def test_a_simulator_notices_loops_added_later(two_bodies):
    sim = taut.Simulator(two_bodies)
    two_bodies.add_loop("point", "one", "two", point=[0.15, 0, 0])
    with pytest.raises(ValueError, match="make a new simulator"):
        sim.step(two_bodies.q0, np.zeros(12))


def test_rollout_takes_controls_or_says_what_is_wrong():
    scene = taut.scenes.make("fourbar_fixed")
    sim = taut.Simulator(scene)
    q, v = scene.q0, np.zeros(scene.model.nv)
    held = sim.rollout(q, v, steps=200, control=[0.0])
    rows = sim.rollout(q, v, steps=200, control=np.zeros((200, 1)))
    np.testing.assert_allclose(held.q, rows.q, rtol=0, atol=1e-9)
    assert not np.allclose(held.q[-1], sim.rollout(q, v, steps=200).q[-1], atol=1e-3)
    with pytest.raises(ValueError, match=r"control has shape \(2,\)"):
        sim.rollout(q, v, steps=5, control=[0.0, 0.0])
    with pytest.raises(ValueError, match=r"control has shape \(4, 1\)"):
        sim.rollout(q, v, steps=5, control=np.zeros((4, 1)))
    with pytest.raises(ValueError, match="not finite"):
        sim.rollout(q, v, steps=5, control=[np.nan])
