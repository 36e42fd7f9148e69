"""A scene is live: what is edited is felt at the next step, and never by the derivative of a step that was made."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio
import pytest

import taut
from taut import _taut

ROBOT = """<mujoco><compiler angle="radian"/><worldbody>
  <geom name="floor" type="plane" size="5 5 .1" friction="0.7"/>
  <body name="arm" pos="0 0 0.5">
    <joint name="shoulder" type="hinge" axis="0 1 0"/>
    <geom name="rod" type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/>
    <body name="hand" pos="0.3 0 0">
      <joint name="wrist" type="hinge" axis="0 1 0" range="-1 0.3" limited="true"/>
      <geom name="palm" type="sphere" size="0.05" pos="0.1 0 0" mass="0.5"/>
    </body>
  </body>
  <body name="lamp" pos="1 0 1">
    <joint name="socket" type="ball"/>
    <geom name="bulb" type="box" size=".1 .05 .08" pos=".1 0 0" mass="1"/>
  </body>
  <body name="cube" pos="0 1 0.0495">
    <freejoint name="free"/>
    <geom name="cube" type="box" size=".05 .05 .05" mass="1" friction="0.5"/>
  </body>
  <body name="ball" pos="0 2 0.0995">
    <freejoint name="flight"/>
    <geom name="ball" type="sphere" size=".1" mass="1"/>
  </body>
</worldbody><actuator>
  <motor name="pull" joint="shoulder" gear="2"/>
  <position name="servo" joint="wrist" kp="5"/>
</actuator></mujoco>"""
CONTROL = np.array([0.7, 0.2])


@pytest.fixture
def scene(load_text):
    scene = load_text(ROBOT)
    scene.stiffness = 2.0 * np.eye(scene.model.nv)[at(scene, "shoulder").idx_v]
    return scene


def at(scene: taut.Scene, name: str) -> pinocchio.JointModel:
    return scene.model.joints[scene.model.getJointId(name)]


def start(scene: taut.Scene) -> tuple[np.ndarray, np.ndarray]:
    """A cube that lands and slides, a wrist that runs into its stop, a shoulder and a lamp that turn."""
    q, v = scene.q0.copy(), np.zeros(scene.model.nv)
    for name, angle, speed in (("shoulder", 0.2, 0.5), ("wrist", 0.3, 1.5)):
        q[at(scene, name).idx_q], v[at(scene, name).idx_v] = angle, speed
    socket = at(scene, "socket")
    q[socket.idx_q : socket.idx_q + 4] = [0, np.sin(0.25), 0, np.cos(0.25)]
    v[socket.idx_v : socket.idx_v + 3] = [0, 1, 0]
    for name in ("free", "flight"):
        v[at(scene, name).idx_v : at(scene, name).idx_v + 3] = [1, 0, -0.5]
    return q, v


def inertia(name: str, change):
    def edit(scene: taut.Scene) -> None:
        joint = scene.model.getJointId(name)
        value = scene.model.inertias[joint]
        change(value)
        scene.model.inertias[joint] = value

    return edit


def of_model(field: str, joint: str, value: float, of: str = "idx_v"):
    def edit(scene: taut.Scene) -> None:
        values = np.array(getattr(scene.model, field))
        values[getattr(at(scene, joint), of)] = value
        setattr(scene.model, field, values)

    return edit


def of_scene(field: str, joint: str, value: float):
    def edit(scene: taut.Scene) -> None:
        values = getattr(scene, field).copy()
        values[at(scene, joint).idx_v] = value
        setattr(scene, field, values)

    return edit


def shape_of(scene: taut.Scene, name: str) -> pinocchio.GeometryObject:
    return scene.geometry.geometryObjects[scene.geometry.getGeometryId(name)]


def move_cube(scene: taut.Scene) -> None:
    shape_of(scene, "cube").placement = pinocchio.SE3(np.eye(3), np.array([0.02, 0.0, 0.01]))


def move_ball_far(scene: taut.Scene) -> None:  # out of the ball that was drawn around the shapes of its body
    shape_of(scene, "ball").placement = pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, -0.3]))


def turn_shoulder(scene: taut.Scene) -> None:
    joint = scene.model.getJointId("shoulder")
    scene.model.jointPlacements[joint] = pinocchio.SE3(pinocchio.rpy.rpyToMatrix(0.3, 0.0, 0.0), np.zeros(3))


def grow_in_place(scene: taut.Scene) -> None:
    shape_of(scene, "ball").geometry.radius = 0.12


def grow_box_in_place(scene: taut.Scene) -> None:
    shape_of(scene, "cube").geometry.halfSide = np.array([0.06, 0.05, 0.055])


def another_sphere(scene: taut.Scene) -> None:
    shape_of(scene, "ball").geometry = coal.Sphere(0.12)


def rule(scene: taut.Scene) -> None:
    scene.friction_rule = "product"


def actuator(index: int, field: str, value):
    return lambda scene: setattr(scene.actuators[index], field, value)


EDITS = {
    "mass": (inertia("wrist", lambda i: setattr(i, "mass", 3.0)), "inertia.*'wrist'"),
    "com": (inertia("wrist", lambda i: setattr(i, "lever", np.array([0.2, 0.0, 0.0]))), "inertia.*'wrist'"),
    "moment": (inertia("socket", lambda i: setattr(i, "inertia", np.diag([0.1, 0.2, 0.15]))), "inertia.*'socket'"),
    "gravity": (lambda s: setattr(s, "gravity", [0, 1, -5]), "gravity"),
    "armature": (of_model("armature", "shoulder", 0.3), "armature"),
    "damping": (of_model("damping", "shoulder", 0.3), "damping"),
    "dry friction": (of_model("upperDryFrictionLimit", "shoulder", 0.4), "upperDryFrictionLimit"),
    "dry friction of a body": (
        lambda s: s.set_parameter("dry_friction:free", np.full(6, 0.2)),
        "upperDryFrictionLimit",
    ),
    "upper limit": (of_model("upperPositionLimit", "shoulder", 0.2, "idx_q"), "upperPositionLimit"),
    "lower limit": (of_model("lowerPositionLimit", "shoulder", 0.21, "idx_q"), "lowerPositionLimit"),
    "limit let go": (of_model("upperPositionLimit", "wrist", np.inf, "idx_q"), "upperPositionLimit"),
    "ball limit": (lambda s: s.set_ball_limit("socket", 0.5), "ball limit"),
    "stiffness": (of_scene("stiffness", "shoulder", 20.0), "stiffness"),
    "spring reference": (of_scene("spring_reference", "shoulder", 0.5), "spring_reference"),
    "limit restitution": (of_scene("limit_restitution", "wrist", 0.5), "limit_restitution"),
    "limit compliance": (of_scene("limit_compliance", "wrist", 1e-3), "limit_compliance"),
    "joint placement": (turn_shoulder, "placement of joint.*'shoulder'"),
    "friction": (lambda s: s.set_friction("floor", 0.2) or s.set_friction("cube", 0.1), "friction"),
    "friction rule": (rule, "friction rule"),
    "pair friction": (lambda s: s.set_pair_friction("cube", "floor", 0.05), "friction of a pair"),
    "restitution": (lambda s: s.set_restitution("cube", 0.5), "restitution of 'cube'"),
    "pair restitution": (lambda s: s.set_pair_restitution("cube", "floor", 0.5), "restitution of a pair"),
    "compliance": (lambda s: s.set_compliance("cube", 1e-4), "compliance of 'cube'"),
    "placement": (move_cube, "placement of shape.*'cube'"),
    "far placement": (move_ball_far, "placement of shape.*'ball'"),
    "placement parameter": (lambda s: s.set_parameter("placement:cube", [0, 0, 0.01, 0, 0, 0]), "'cube'"),
    "size": (lambda s: s.set_parameter("size:cube", [0.06, 0.05, 0.055]), "geometry of 'cube'"),
    "size in place": (grow_in_place, "geometry of 'ball'"),
    "box in place": (grow_box_in_place, "geometry of 'cube'"),
    "another sphere": (another_sphere, "geometry of 'ball'"),
    "gear": (actuator(0, "gear", 3.0), "'pull'"),
    "gain": (actuator(1, "kp", 50.0), "'servo'"),
    "control range": (actuator(0, "control_range", (-0.1, 0.1)), "'pull'"),
    "force range": (actuator(0, "force_range", (-0.1, 0.1)), "'pull'"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_felt_at_the_next_step(scene, name):
    edit, _ = EDITS[name]
    q, v = start(scene)
    sim = taut.Simulator(scene)
    before = sim.step(q, v, control=CONTROL)
    edit(scene)
    sim.reset()
    after, fresh = sim.step(q, v, control=CONTROL), taut.Simulator(scene).step(q, v, control=CONTROL)
    np.testing.assert_array_equal(after.v, fresh.v)
    np.testing.assert_array_equal(after.q, fresh.q)
    assert np.abs(after.v - before.v).max() > 1e-6  # a simulator that did not see it would pass the lines above


@pytest.mark.parametrize("name", EDITS)
def test_no_derivative_of_a_step_sees_what_was_edited_after_it(scene, name):
    edit, named = EDITS[name]
    q, v = start(scene)
    nv = scene.model.nv
    sim = taut.Simulator(scene)
    sim.step(q, v, control=CONTROL)
    sim.jacobian()
    edit(scene)
    for differentiate in (
        sim.jacobian,
        lambda: sim.jvp(np.ones(nv), np.ones(nv)),
        lambda: sim.vjp(np.ones(nv), np.ones(nv)),
        lambda: sim.vjp(np.ones(nv), np.ones(nv), theta=["gravity", "friction:floor"]),
    ):
        with pytest.raises(ValueError, match=f"{named}.*edited since the last step"):
            differentiate()
    sim.reset()
    sim.step(q, v, control=CONTROL)
    fresh = taut.Simulator(scene)
    fresh.step(q, v, control=CONTROL)
    np.testing.assert_array_equal(sim.jacobian().dv_dq, fresh.jacobian().dv_dq)
    one, other = (s.vjp(np.ones(nv), np.ones(nv), theta=["gravity", "friction:floor"]) for s in (sim, fresh))
    for parameter in one.theta:
        np.testing.assert_array_equal(one.theta[parameter], other.theta[parameter])


@pytest.mark.parametrize("name", EDITS)
def test_the_adjoint_of_a_run_says_that_the_scene_was_edited(scene, name):
    edit, _ = EDITS[name]
    q, v = start(scene)
    sim = taut.Simulator(scene)
    path = sim.rollout(q, v, steps=4, control=CONTROL)
    v_bar = np.zeros((5, scene.model.nv))
    sim.adjoint(path, v_bar, v_bar)
    edit(scene)
    with pytest.raises(ValueError, match="the scene, or what holds it, has changed"):
        sim.adjoint(path, v_bar, v_bar)


def test_an_edit_that_is_undone_was_none(scene):
    q, v = start(scene)
    sim = taut.Simulator(scene)
    sim.step(q, v)
    before = sim.jacobian()
    scene.set_friction("floor", 0.2)
    scene.set_friction("floor", 0.7)
    np.testing.assert_array_equal(sim.jacobian().dv_dq, before.dv_dq)


def test_the_derivative_is_that_of_the_step_however_it_is_held_later(scene):
    q, v = start(scene)
    sim = taut.Simulator(scene)
    sim.hold(q, 20.0, 1.0)
    sim.step(q, v)
    before = sim.jacobian()
    for change in (lambda: sim.hold(scene.q0, 5.0, 0.1), sim.release, sim.reset, lambda: sim.restore(sim.state())):
        change()
        after = sim.jacobian()
        np.testing.assert_array_equal(after.dv_dq, before.dv_dq)
        np.testing.assert_array_equal(after.dv_dv, before.dv_dv)


def test_friction_of_a_pair_given_later_has_its_derivative(scene):
    q, v = start(scene)
    nv = scene.model.nv
    sim = taut.Simulator(scene, tolerance=1e-12)
    sim.step(q, v)
    along = np.zeros(nv)
    along[at(scene, "free").idx_v] = 1.0

    def speed(mu: float) -> float:
        scene.set_pair_friction("cube", "floor", mu)
        sim.reset()
        return sim.step(q, v).v @ along

    difference = (speed(0.2 + 1e-4) - speed(0.2 - 1e-4)) / 2e-4
    speed(0.2)
    exact = sim.vjp(np.zeros(nv), along, theta=["friction:cube|floor"]).theta["friction:cube|floor"][0]
    assert abs(exact) > 0.1  # it slides
    assert exact == pytest.approx(difference, rel=1e-5)
    scene.set_pair_friction("cube", "floor", 0.3)  # the pair is known, its value is another
    with pytest.raises(ValueError, match="friction of a pair was edited"):
        sim.jacobian()
    sim.step(q, v)
    sim.jacobian()


def test_warm_starts_go_by_what_they_were_of(scene):
    """Rows that come and go leave those of the others: a wrist at its stop has its impulse of before."""
    q, v = start(scene)
    sim, kept = taut.Simulator(scene), taut.Simulator(scene)
    state = sim.state()
    sim.step(q, v)
    state = sim.state()
    of_model("upperDryFrictionLimit", "shoulder", 0.4)(scene)  # before the wrist in the list of rows
    kept.restore(state)  # by a simulator that was made without the row, and by one that is made with it
    new = taut.Simulator(scene)
    new.restore(state)
    steps = [s.step(state.q, state.v) for s in (sim, kept, new)]
    for step in steps[1:]:
        np.testing.assert_array_equal(step.v, steps[0].v)
        assert step.report.iterations == steps[0].report.iterations


def test_values_that_make_no_sense_are_named_at_the_step(scene):
    q, v = start(scene)
    sim = taut.Simulator(scene)
    first = sim.step(q, v)
    good = scene.model.damping.copy()
    of_model("damping", "shoulder", -1.0)(scene)
    for _ in range(2):  # and again: nothing was taken over
        with pytest.raises(ValueError, match="damping"):
            sim.step(q, v)
    scene.model.damping = good
    sim.reset()
    np.testing.assert_array_equal(sim.step(q, v).v, first.v)
    for field, value in (("gear", 0.0), ("kp", -1.0), ("kv", np.nan), ("control_range", (1.0, -1.0))):
        with pytest.raises(ValueError, match=field.split("_")[-1] if field != "kp" and field != "kv" else "gain"):
            setattr(scene.actuators[0], field, value)


def swap_pairs(scene: taut.Scene) -> None:
    pair = scene.geometry.collisionPairs[0]
    scene.geometry.removeCollisionPair(pair)
    scene.geometry.addCollisionPair(pair)  # the same number in another order


def box_for_ball(scene: taut.Scene) -> None:
    shape_of(scene, "ball").geometry = coal.Box(0.1, 0.1, 0.1)


def other_body(scene: taut.Scene) -> None:
    shape_of(scene, "ball").parentJoint = scene.model.getJointId("free")


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda s: s.add_body("late", coal.Sphere(0.1)), "number of joints"),
        (lambda s: s.disable_pair("ball", "cube"), "number of collision pairs"),
        (lambda s: s.add_shape("wall", coal.Box(1, 1, 1), position=[5, 5, 5]), "number of shapes"),
        (lambda s: s.add_loop("point", "hand", None, name="hook"), "number of loops"),
        (lambda s: s.add_coupling("shoulder", "wrist"), "number of couplings"),
        (lambda s: setattr(s.model, "damping", np.zeros(0)), "damping has 0 entries"),
        (swap_pairs, "collision pairs"),
        (box_for_ball, "kind of shape of 'ball'"),
        (other_body, "joint of 'ball'"),
    ],
)
def test_what_a_simulator_was_made_for_must_stay(scene, edit, named):
    q, v = start(scene)
    sim = taut.Simulator(scene)
    sim.step(q, v)
    edit(scene)
    with pytest.raises(ValueError, match=f"{named}.*(make a new simulator|expected)"):
        sim.step(q, v)
    with pytest.raises(ValueError, match="edited since the last step"):
        sim.jacobian()


# --- states


def one_body(name: str, shape: coal.CollisionGeometry) -> taut.Scene:
    scene = taut.Scene()
    scene.add_floor()
    scene.add_body(name, shape, position=[0, 0, 0.3])
    return scene


def test_a_state_goes_into_simulators_of_equal_scenes_alone():
    ball, q, v = one_body("ball", coal.Sphere(0.1)), None, np.zeros(6)
    sim = taut.Simulator(ball)
    sim.rollout(ball.q0, v, steps=300)
    state = sim.state()
    for other in (one_body("box", coal.Sphere(0.1)), one_body("ball", coal.Box(0.1, 0.1, 0.1))):  # of equal sizes
        with pytest.raises(ValueError, match="another scene"):
            taut.Simulator(other).restore(state)
    expected = sim.step(state.q, state.v)
    for equal in (ball.copy(), one_body("ball", coal.Sphere(0.1))):
        twin = taut.Simulator(equal)
        twin.restore(state)
        np.testing.assert_array_equal(twin.state().q, state.q)
        np.testing.assert_array_equal(twin.step(state.q, state.v).v, expected.v)
    q = state.q
    ball.set_friction("ball", 0.1)  # values are no part of it
    sim.restore(state)
    np.testing.assert_array_equal(sim.state().q, q)


def test_a_state_goes_into_simulators_that_start_gjk_elsewhere(scene):
    q, v = start(scene)
    starts = ("none", "boxes", "previous", "turned", "transported")
    states = {}
    for name in starts:
        sim = taut.Simulator(scene, gjk_start=name)
        sim.rollout(q, v, steps=5)
        states[name] = sim.state()
    for name in starts:
        for other in starts:
            sim = taut.Simulator(scene, gjk_start=name)
            sim.restore(states[other])
            assert sim.step(states[other].q, states[other].v).report.status == "converged"


def test_restoring_leaves_the_last_step_as_it_was():
    scene = one_body("ball", coal.Sphere(0.1))
    sim = taut.Simulator(scene)
    begin = sim.state()
    down = scene.q0.copy()
    down[2] = 0.0999
    given = []
    tape = _taut._Tape(1000, 1e5, given.append, latest=True)
    sim._attach(tape)
    sim.step(down, np.zeros(6))
    step = sim.step(down, np.zeros(6))
    assert len(step.contacts) == 1
    sim.restore(begin)
    np.testing.assert_array_equal(sim.state().q, scene.q0)
    given.clear()
    tape.catch_up(sim)
    (last,) = given
    np.testing.assert_array_equal(last["q"][-1], step.q)  # the contact is of this step, not of what was restored
    assert last["contacts"][-1] == 1


def test_before_any_step_the_state_is_that_of_the_scene():
    scene = one_body("ball", coal.Sphere(0.1))
    sim = taut.Simulator(scene)
    q = scene.q0.copy()
    q[2] = 2.0
    scene.q0 = q
    np.testing.assert_array_equal(sim.state().q, q)
