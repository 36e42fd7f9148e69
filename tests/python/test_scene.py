"""Worlds built in code and read from files: shapes, friction, live models, copies."""

from __future__ import annotations

import copy
import gc
import math
import warnings

import coal
import numpy as np
import pinocchio
import pytest

import taut

GRAVITY = 9.81


def hull(points: np.ndarray) -> coal.Convex:
    vector = coal.StdVec_Vec3s()
    for point in points:
        vector.append(np.asarray(point, dtype=float))
    return coal.Convex.convexHull(vector, True, "Qt")


CORNERS = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
UPRIGHT = {  # shape, height of its origin when it stands on the floor, inertia per mass by hand (None: not by hand)
    "sphere": (coal.Sphere(0.1), 0.1, 0.4 * 0.1**2 * np.ones(3)),
    "box": (coal.Box(0.1, 0.2, 0.3), 0.15, np.array([0.13, 0.10, 0.05]) / 12),
    "capsule": (coal.Capsule(0.05, 0.2), 0.15, None),
    "cylinder": (coal.Cylinder(0.1, 0.2), 0.1, np.array([0.1**2 / 4 + 0.2**2 / 12] * 2 + [0.1**2 / 2])),
    "ellipsoid": (coal.Ellipsoid(0.2, 0.15, 0.1), 0.1, np.array([0.0325, 0.05, 0.0625]) / 5),
    "cone": (coal.Cone(0.1, 0.2), 0.1, None),
    "convex": (hull(CORNERS), 0.1, np.array([0.04 + 0.04] * 3) / 12),
}


@pytest.mark.parametrize("kind", UPRIGHT)
def test_every_shape_stands_on_a_floor(kind):
    shape, height, _ = UPRIGHT[kind]
    scene = taut.Scene()
    scene.add_floor()
    scene.add_body(kind, shape, 1.0, [0, 0, height])
    path = taut.Simulator(scene, tolerance=1e-9).rollout(scene.q0, np.zeros(6), steps=500)
    assert {report.status for report in path.reports} == {"converged"}
    assert min(path.contacts) >= 1
    assert path.q[-1, 2] == pytest.approx(height, abs=1e-6)  # neither sunk nor lifted
    assert np.abs(path.v[-1]).max() < 1e-5  # a capsule on its tip is an unstable rest: rounding grows slowly


@pytest.mark.parametrize("kind", UPRIGHT)
def test_every_shape_lands_on_a_half_space_and_on_a_box(kind):
    shape, height, _ = UPRIGHT[kind]
    for ground in (coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0), coal.Box(2.0, 2.0, 0.2)):
        scene = taut.Scene()
        scene.add_shape("ground", ground, position=[0, 0, -0.1 if isinstance(ground, coal.Box) else 0.0])
        scene.add_body(kind, shape, 1.0, [0.05, -0.03, height + 0.1])
        path = taut.Simulator(scene).rollout(scene.q0, np.zeros(6), steps=300)
        assert {report.status for report in path.reports} == {"converged"}
        # 0.14 s of fall and then a stand; the bottom is flat, or a point under the centre of mass.
        assert path.q[-1, 2] == pytest.approx(height, abs=1e-5)


@pytest.mark.parametrize("kind", [kind for kind, (_, _, inertia) in UPRIGHT.items() if inertia is not None])
def test_inertia_of_a_shape_is_that_of_a_homogeneous_body(kind):
    shape, _, inertia = UPRIGHT[kind]
    scene = taut.Scene()
    joint = scene.add_body(kind, shape, 3.0)
    assert scene.model.inertias[joint].mass == pytest.approx(3.0)
    np.testing.assert_allclose(np.array(scene.model.inertias[joint].inertia), 3.0 * np.diag(inertia), atol=1e-9)
    np.testing.assert_allclose(scene.model.inertias[joint].lever, np.zeros(3), atol=1e-12)


def test_cone_has_its_centre_of_mass_a_quarter_up():
    scene = taut.Scene()
    joint = scene.add_body("cone", coal.Cone(0.1, 0.2), 1.0)
    np.testing.assert_allclose(scene.model.inertias[joint].lever, [0, 0, -0.05], atol=1e-9)  # origin at half height


def test_given_inertia_is_taken():
    scene = taut.Scene()
    joint = scene.add_body("ball", coal.Sphere(0.1), 2.0, inertia=np.diag([1.0, 2.0, 2.5]))
    np.testing.assert_allclose(np.array(scene.model.inertias[joint].inertia), np.diag([1.0, 2.0, 2.5]))


def test_ball_rests_on_a_heightfield():
    heights = np.full((21, 21), 0.3)
    scene = taut.Scene()
    scene.add_shape("ground", coal.HeightFieldOBBRSS(2.0, 2.0, heights, 0.0))
    scene.add_body("ball", coal.Sphere(0.1), 1.0, [0.013, -0.021, 0.45])
    path = taut.Simulator(scene).rollout(scene.q0, np.zeros(6), steps=400)
    assert {report.status for report in path.reports} == {"converged"}
    assert path.q[-1, 2] == pytest.approx(0.4, abs=1e-5)
    assert np.abs(path.v[-1]).max() < 1e-4


def test_box_rests_on_a_heightfield():
    scene = taut.Scene()
    scene.add_shape("ground", coal.HeightFieldOBBRSS(2.0, 2.0, np.full((21, 21), 0.3), 0.0))
    scene.add_body("box", coal.Box(0.33, 0.27, 0.2), 1.0, [0.013, -0.021, 0.45])
    path = taut.Simulator(scene).rollout(scene.q0, np.zeros(6), steps=600)
    assert {report.status for report in path.reports} == {"converged"}
    assert path.q[-1, 2] == pytest.approx(0.4, abs=1e-4)
    assert np.abs(path.v[-1]).max() < 1e-3
    assert abs(path.q[-1, 3:6]).max() < 1e-3  # flat


# --- friction


def slide(scene: taut.Scene, speed: float = 1.0) -> float:
    path = taut.Simulator(scene, tolerance=1e-9).rollout(scene.q0, [speed, 0, 0, 0, 0, 0], steps=2000)
    assert np.abs(path.v[-1]).max() < 1e-6
    return path.q[-1, 0]


def two_surfaces(cube: float = 0.4, floor: float = 0.1) -> taut.Scene:
    scene = taut.Scene()
    scene.add_floor(friction=floor)
    scene.add_body("cube", coal.Box(0.2, 0.2, 0.2), 1.0, [0, 0, 0.1], friction=cube)
    return scene


@pytest.mark.parametrize(
    ("rule", "mu"),
    [("maximum", 0.4), ("minimum", 0.1), ("average", 0.25), ("geometric_mean", 0.2), ("product", 0.04)],
)
def test_friction_rule_is_felt(rule, mu):
    scene = two_surfaces()
    scene.friction_rule = rule
    assert scene.friction_rule == rule
    assert scene.pair_friction("cube", "floor") == pytest.approx(mu)
    assert scene.pair_friction("floor", "cube") == pytest.approx(mu)
    speed = math.sqrt(2 * mu * GRAVITY * 0.5)  # to stop after half a metre
    # The discrete stop is within half a step of the continuous one.
    assert slide(scene, speed) == pytest.approx(0.5, abs=0.6 * speed * 1e-3)


def test_friction_of_a_pair_overrides_the_rule():
    scene = two_surfaces()
    scene.set_pair_friction("floor", "cube", 0.2)
    assert scene.pair_friction("cube", "floor") == 0.2
    assert scene.friction("cube") == 0.4
    assert slide(scene) == pytest.approx(1 / (2 * 0.2 * GRAVITY), abs=6e-4)


def test_friction_change_is_felt_by_a_running_simulator():
    scene = two_surfaces()
    sim = taut.Simulator(scene, tolerance=1e-10)
    step = sim.step(scene.q0, [1.0, 0, 0, 0, 0, 0])
    assert step.v[0] == pytest.approx(1 - 0.4 * GRAVITY * 1e-3, abs=1e-9)
    scene.set_friction("cube", 0.05)  # the floor's 0.1 is the larger one now
    step = sim.step(scene.q0, [1.0, 0, 0, 0, 0, 0])
    assert step.v[0] == pytest.approx(1 - 0.1 * GRAVITY * 1e-3, abs=1e-9)
    assert {contact.mu for contact in step.contacts} == {0.1}


def test_frictionless_cube_does_not_brake():
    path = taut.Simulator(two_surfaces(0.0, 0.0)).rollout(two_surfaces().q0, [1.0, 0, 0, 0, 0, 0], steps=500)
    assert path.v[-1, 0] == pytest.approx(1.0, abs=1e-9)


def test_disabled_pair_passes_through():
    scene = taut.scenes.make("cube_on_plane")
    scene.disable_pair("floor", "cube")
    step = taut.Simulator(scene).step(scene.q0, np.zeros(6))
    assert step.contacts == []
    assert step.v[2] == pytest.approx(-GRAVITY * 1e-3)


def test_gravity_is_felt():
    scene = taut.scenes.make("ball", height=1.0)
    scene.gravity = [1.0, 2.0, 3.0]
    step = taut.Simulator(scene).step(scene.q0, np.zeros(6))
    np.testing.assert_allclose(step.v[:3], [1e-3, 2e-3, 3e-3], atol=1e-15)
    np.testing.assert_array_equal(scene.gravity, scene.model.gravity.linear)


# --- live


def test_mass_changed_in_the_model_is_felt_at_the_next_step():
    scene = taut.scenes.make("ball", height=1.0, mass=1.0)
    sim = taut.Simulator(scene)
    push = [0, 0, 0, 0, 0, 0], [6.0, 0, 0, 0, 0, 0]  # N on the ball, for one step
    assert sim.step(scene.q0, np.zeros(6), fext=push).v[0] == pytest.approx(6e-3)
    heavy = scene.model.inertias[1]
    heavy.mass = 3.0
    scene.model.inertias[1] = heavy
    assert sim.step(scene.q0, np.zeros(6), fext=push).v[0] == pytest.approx(2e-3)
    assert taut.Simulator(scene).step(scene.q0, np.zeros(6), fext=push).v[0] == pytest.approx(2e-3)


def test_armature_and_damping_changed_in_the_model_are_felt(rng):
    scene = taut.scenes.make("ur5")
    model = scene.model
    sim = taut.Simulator(scene, joint_limits=False, joint_friction=False)
    q, v = 0.3 * rng.normal(size=6), rng.normal(size=6)
    for damping, armature in ((0.0, 0.0), (10.0, 0.0), (0.0, 0.5), (3.0, 0.2)):
        model.damping, model.armature = np.full(6, damping), np.full(6, armature)
        data = model.createData()
        M = pinocchio.crba(model, data, q)  # with the armature
        M = np.triu(M) + np.triu(M, 1).T
        bias = pinocchio.nonLinearEffects(model, data, q, v)
        # M (v⁺ - v) = dt (-bias - D v⁺): damping is implicit
        expected = np.linalg.solve(M + 1e-3 * damping * np.eye(6), M @ v - 1e-3 * bias)
        np.testing.assert_allclose(sim.step(q, v).v, expected, atol=1e-10)


def test_model_and_geometry_outlive_the_scene():
    scene = taut.scenes.make("go1")
    model, geometry = scene.model, scene.geometry
    expected = pinocchio.computeTotalMass(scene.model)
    sim = taut.Simulator(scene)
    q = scene.q0
    del scene
    gc.collect()
    assert pinocchio.computeTotalMass(model) == expected
    assert model.nq == len(q)
    assert geometry.ngeoms == len(geometry.geometryObjects) > 10
    model.gravity.linear = np.zeros(3)  # still the simulator's own
    step = sim.step(q + 5 * np.eye(len(q))[2], np.zeros(model.nv))
    assert np.abs(step.v).max() < 1e-9
    del sim
    gc.collect()
    assert pinocchio.computeTotalMass(model) == expected


def test_simulator_keeps_its_scene():
    sim = taut.Simulator(taut.scenes.make("cube_on_plane"))
    gc.collect()
    assert sim.step(sim.scene.q0, np.zeros(6)).report.status == "converged"


@pytest.mark.parametrize("duplicate", [taut.Scene.copy, copy.copy], ids=["copy()", "copy.copy"])
def test_copy_is_independent(duplicate):
    scene = taut.scenes.make("cube_on_plane", mu=0.5)
    other = duplicate(scene)
    assert other.model.nv == scene.model.nv
    np.testing.assert_array_equal(other.q0, scene.q0)
    other.gravity = [0, 0, -1]
    other.set_friction("cube", 0.9)
    other.add_body("ball", coal.Sphere(0.1), position=[1, 0, 1])
    heavy = other.model.inertias[1]
    heavy.mass = 50.0
    other.model.inertias[1] = heavy
    assert scene.gravity[2] == -GRAVITY
    assert scene.friction("cube") == 0.5
    assert scene.model.nv == 6
    assert scene.model.inertias[1].mass == 1.0
    assert taut.Simulator(scene).step(scene.q0, np.zeros(6)).report.status == "converged"


# --- robots put together


def test_two_robots_stand_side_by_side():
    world = taut.Scene()
    world.add_floor()
    robot = taut.scenes.make("go1", floor=False)
    world.add_robot(robot, "left_", position=[0, 1, 0])
    world.add_robot(robot, "right_", position=[0, -1, 0])
    assert world.model.nv == 36
    assert world.model.existJointName("left_FL_hip_joint")
    assert world.model.existJointName("right_FL_hip_joint")
    assert len(world.actuators) == 2 * len(robot.actuators)
    both = taut.Simulator(world, tolerance=1e-9)
    both.hold(world.q0, np.full(36, 300.0), np.full(36, 10.0))
    path = both.rollout(world.q0, np.zeros(36), steps=300)
    single_scene = taut.scenes.make("go1")
    single_scene.q0 = robot.q0
    alone = taut.Simulator(single_scene, tolerance=1e-9)
    alone.hold(robot.q0, np.full(18, 300.0), np.full(18, 10.0))
    expected = alone.rollout(robot.q0, np.zeros(18), steps=300)
    # They do not feel each other: each moves as it does alone, to 300 steps of the tolerance.
    for k, y in ((0, 1.0), (1, -1.0)):
        base = path.q[-1, 19 * k : 19 * k + 19]
        data = world.model.createData()
        pinocchio.forwardKinematics(world.model, data, path.q[-1])
        name = ("left_" if k == 0 else "right_") + single_scene.model.names[1]
        height = data.oMi[world.model.getJointId(name)].translation
        np.testing.assert_allclose(height - [0, y, 0], expected.q[-1, :3], atol=1e-5)
        np.testing.assert_allclose(base[7:], expected.q[-1, 7:], atol=1e-4)


def test_robots_that_meet_collide():
    world = taut.Scene()
    world.gravity = [0, 0, 0]
    ball = taut.Scene()
    ball.add_body("ball", coal.Sphere(0.1), 1.0)
    world.add_robot(ball, "a_")
    world.add_robot(ball, "b_", position=[0.5, 0, 0])
    assert {world.geometry.geometryObjects[i].name for i in range(2)} == {"a_ball", "b_ball"}
    v = np.zeros(12)
    v[0] = 1.0
    path = taut.Simulator(world).rollout(world.q0, v, steps=600)
    assert max(path.contacts) == 1
    np.testing.assert_allclose(path.v[-1, [0, 6]], 0.5, atol=1e-5)  # plastic, equal masses


def test_robot_beside_a_free_body():
    world = taut.scenes.make("go1")
    world.add_body("box", coal.Box(0.2, 0.2, 0.2), 1.0, [1.0, 0, 0.1])
    assert world.q0.shape == (26,)
    step = taut.Simulator(world).step(world.q0, np.zeros(24))
    assert step.report.status == "converged"
    assert np.abs(step.v[18:]).max() < 1e-6  # the box rests


# --- files

PENDULUM = """<mujoco>
  <option gravity="0 0 -5"/>
  <worldbody>
    <geom name="ground" type="plane" size="1 1 1" friction="0.3"/>
    <body name="rod" pos="0 0 2"><joint name="swing" type="hinge" axis="0 1 0" damping="0.5" stiffness="2"
      springref="10" armature="0.1" range="-90 90" limited="true" frictionloss="0.01"/>
      <geom name="bar" type="capsule" fromto="0 0 0 0 0 -1" size="0.05" mass="2" friction="0.9"/></body>
  </worldbody>
  <actuator><motor name="pull" joint="swing" gear="3" ctrlrange="-1 1" ctrllimited="true"/></actuator>
  <keyframe><key name="up" qpos="0.25"/></keyframe>
</mujoco>"""


def test_mjcf_is_read_as_written(load_text):
    scene = load_text(PENDULUM)
    model = scene.model
    assert scene.gravity.tolist() == [0, 0, -5]
    assert model.damping[0] == 0.5
    assert model.armature[0] == 0.1
    assert scene.stiffness[0] == 2
    assert scene.spring_reference[0] == pytest.approx(math.radians(10))
    assert model.upperPositionLimit[0] == pytest.approx(math.pi / 2)
    assert model.upperDryFrictionLimit[0] == 0.01
    assert scene.q0.tolist() == [0.25]
    assert {name: pose.tolist() for name, pose in scene.poses.items()} == {"up": [0.25]}
    assert scene.friction("bar") == 0.9
    (pull,) = scene.actuators
    assert (pull.name, pull.kind, pull.dof, pull.gear) == ("pull", "motor", 0, 3.0)
    assert pull.control_range == (-1.0, 1.0)


def test_friction_of_a_file_is_replaced_when_asked(load_text):
    assert load_text(PENDULUM, friction=0.55).friction("bar") == 0.55


def test_floor_is_added_when_asked(load_text):
    text = PENDULUM.replace('<geom name="ground" type="plane" size="1 1 1" friction="0.3"/>', "")
    assert load_text(text).geometry.ngeoms == 1
    assert load_text(text, floor=True).geometry.ngeoms == 2
    assert load_text(PENDULUM, floor=True).geometry.ngeoms == 2  # the file has one


def test_unsupported_is_warned_about_once_by_name(tmp_path):
    text = PENDULUM.replace(
        "</worldbody>",
        '</worldbody><tendon><fixed name="t"><joint joint="swing" coef="1"/></fixed>'
        '<fixed name="u"><joint joint="swing" coef="2"/></fixed></tendon>',
    )
    path = tmp_path / "pendulum.xml"
    path.write_text(text)
    with pytest.warns(taut.TautWarning, match=r"pendulum\.xml.*tendon") as caught:
        scene = taut.load(path)
    assert sum("tendon" in str(warning.message) for warning in caught) == 1
    assert sum("tendon" in warning for warning in scene.warnings) == 1
    assert caught[0].filename == __file__  # points to the line that loads


def test_plain_file_is_loaded_in_silence(tmp_path):
    path = tmp_path / "pendulum.xml"
    path.write_text(PENDULUM)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert taut.load(path).warnings == []


def test_urdf_with_srdf_poses_and_disabled_pairs():
    scene = taut.scenes.make("go1")
    assert "standing" in scene.poses
    np.testing.assert_allclose(scene.q0[7:], scene.poses["standing"][7:])
    unfiltered = scene.geometry.ngeoms * (scene.geometry.ngeoms - 1) // 2
    assert 0 < len(scene.geometry.collisionPairs) < unfiltered / 3


def test_urdf_finds_its_package_where_told(tmp_path):
    folder = tmp_path / "somewhere" / "arm_description"
    folder.mkdir(parents=True)
    corners = [(0, 0, 0), (0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.2)]
    faces = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    (folder / "tetra.obj").write_text("\n".join(lines) + "\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "robot.urdf").write_text(
        """<robot name="r"><link name="base"><inertial><mass value="1"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><geometry><mesh filename="package://arm_description/tetra.obj"/></geometry></collision>
        </link></robot>"""
    )
    with pytest.raises((ValueError, FileNotFoundError), match=r"tetra\.obj"):
        taut.load(elsewhere / "robot.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", taut.TautWarning)
        scene = taut.load(elsewhere / "robot.urdf", package_dirs=[tmp_path / "somewhere"], root="free")
    assert scene.geometry.ngeoms == 1
    shape = scene.geometry.geometryObjects[0].geometry
    assert shape.computeVolume() == pytest.approx(0.2**3 / 6, rel=1e-5)


def test_scene_says_what_it_is():
    assert repr(taut.scenes.make("stack", n=3)) == "Scene(3 joints, 18 dof, 4 shapes, 6 pairs)"


@pytest.mark.parametrize(
    "name", ["q0", "gravity", "stiffness", "spring_reference", "limit_restitution", "limit_compliance"]
)
def test_what_is_written_to_a_copy_is_not_lost_in_silence(name):
    scene = taut.scenes.make("go1")
    before = getattr(scene, name).copy()
    with pytest.raises(ValueError, match="read-only"):
        getattr(scene, name)[0] = 0.25
    np.testing.assert_array_equal(getattr(scene, name), before)
    changed = before.copy()  # which is the user's own
    changed[0] = 0.25
    setattr(scene, name, changed)
    np.testing.assert_array_equal(getattr(scene, name), changed)


def test_what_is_read_from_a_scene_outlives_it_and_goes_where_arrays_go():
    scene = taut.scenes.make("go1")
    q0 = scene.q0
    model = scene.model
    assert not q0.flags.writeable
    pinocchio.forwardKinematics(model, model.createData(), q0)
    moved = pinocchio.integrate(model, q0, np.zeros(model.nv))
    scene.add_body("ball", coal.Sphere(0.1), 1.0)  # the scene's own array grows
    del scene, model
    gc.collect()
    np.testing.assert_allclose(moved, q0, atol=1e-15)
