"""Wrong input is refused by name, before anything changes."""

from __future__ import annotations

import math
import re

import coal
import numpy as np
import pinocchio
import pytest

import taut

URDF = """<robot name="r">
  <link name="base"><inertial><mass value="{mass}"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
  </inertial><collision><geometry>{geometry}</geometry></collision></link>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="{child}"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""
MJCF = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="ball" pos="0 0 1"><freejoint/>
<geom type="{kind}" size="{size}" mass="{mass}" friction="{friction}"/></body></worldbody></mujoco>"""


def urdf(mass="1", geometry='<sphere radius="0.1"/>', child="arm") -> str:
    return URDF.format(mass=mass, geometry=geometry, child=child)


def mjcf(kind="sphere", size="0.1", mass="1", friction="0.8") -> str:
    return MJCF.format(kind=kind, size=size, mass=mass, friction=friction)


# --- files


def test_the_files_are_fine_before_they_are_spoiled(load_text):
    assert load_text(urdf(), "robot.urdf", root="free").model.nv == 7
    assert load_text(mjcf(), "ball.xml").model.nv == 6


@pytest.mark.parametrize("name", ["nowhere.urdf", "nowhere.xml", "no/such/folder.urdf"])
def test_missing_file_is_named(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / name))):
        taut.load(tmp_path / name)


def test_folder_is_not_a_file(tmp_path):
    with pytest.raises((ValueError, OSError), match=re.escape(str(tmp_path))):
        taut.load(tmp_path)


@pytest.mark.parametrize(
    "text",
    ["", "not xml at all", "<robot", "<robot name='r'><link>", "<html></html>", "\x00\x01\x02", "<mujoco><worldbody>"],
)
def test_malformed_file_is_named(tmp_path, text):
    path = tmp_path / "spoiled.urdf"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"spoiled\.urdf"):
        taut.load(path)


def test_missing_srdf_is_named(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(urdf())
    with pytest.raises(FileNotFoundError, match=r"nowhere.srdf"):
        taut.load(path, srdf=tmp_path / "nowhere.srdf")


@pytest.mark.parametrize(
    ("text", "name", "named"),
    [
        (urdf(geometry='<mesh filename="package://nobody/hull.stl"/>'), "robot.urdf", r"hull\.stl"),
        (urdf(geometry='<mesh filename="hull.stl"/>'), "robot.urdf", r"hull\.stl"),
        (
            '<mujoco><asset><mesh name="m" file="hull.stl"/></asset><worldbody><body><freejoint/>'
            '<geom type="mesh" mesh="m" mass="1"/></body></worldbody></mujoco>',
            "robot.xml",
            r"hull\.stl",
        ),
        (
            '<mujoco><worldbody><body><freejoint/><geom type="mesh" mesh="ghost" mass="1"/></body>'
            "</worldbody></mujoco>",
            "robot.xml",
            "ghost",
        ),
    ],
)
def test_missing_mesh_is_named(load_text, text, name, named):
    with pytest.raises((ValueError, FileNotFoundError), match=named):
        load_text(text, name)


def test_unreadable_mesh_is_named(tmp_path):
    (tmp_path / "hull.stl").write_text("this is no mesh")
    (tmp_path / "robot.urdf").write_text(urdf(geometry='<mesh filename="hull.stl"/>'))
    with pytest.raises(ValueError, match=r"hull\.stl"):
        taut.load(tmp_path / "robot.urdf")


@pytest.mark.parametrize(
    ("text", "name", "named"),
    [
        (urdf(mass="-1"), "robot.urdf", r"mass.*base.*-1|base.*mass.*-1"),
        (urdf(mass="heavy"), "robot.urdf", "heavy"),
        (urdf(mass="nan"), "robot.urdf", "nan"),
        (urdf(child="ghost"), "robot.urdf", "ghost"),
        (urdf(geometry='<sphere radius="-0.1"/>'), "robot.urdf", r"-0\.1"),
        (urdf(geometry='<box size="0.1 0 0.1"/>'), "robot.urdf", "base"),
        (urdf(geometry="<blob/>"), "robot.urdf", "blob|base"),
        (mjcf(mass="-1"), "ball.xml", "-1"),
        (mjcf(mass="0"), "ball.xml", "ball"),
        (mjcf(friction="-0.5"), "ball.xml", r"-0\.5"),
        (mjcf(size="-0.1"), "ball.xml", r"-0\.1"),
        (mjcf(size="wide"), "ball.xml", "wide"),
        (mjcf(kind="blob"), "ball.xml", "blob"),
    ],
)
def test_wrong_value_in_a_file_is_named(load_text, text, name, named):
    with pytest.raises(ValueError, match=named):
        taut.Simulator(load_text(text, name, root="free"))  # sizes of shapes are checked where they are used


def test_massless_end_of_a_chain_is_named(load_text):
    text = urdf().replace('<mass value="1"/>', '<mass value="0"/>')
    with pytest.raises(ValueError, match="mass"):
        load_text(text, "robot.urdf", root="fixed")


@pytest.mark.parametrize(
    ("options", "named"),
    [({"friction": -0.5}, r"-0\.5"), ({"friction": math.nan}, "nan"), ({"root": "flying"}, "flying")],
)
def test_wrong_load_option_is_named(load_text, options, named):
    with pytest.raises(ValueError, match=named):
        load_text(urdf(), "robot.urdf", **options)


# --- a running simulator


class Running:
    """A cube that slides: whatever is refused, its next step is the one it would have made."""

    def __init__(self):
        self.scene = taut.scenes.make("sliding_cube")
        self.sim = taut.Simulator(self.scene)
        self.q, self.v = self.scene.q0, np.array([1.0, 0.5, 0, 0, 0, 0.1])
        for _ in range(20):
            step = self.sim.step(self.q, self.v)
            self.q, self.v = step.q, step.v
        self.state = self.sim.state()
        self.next = self.sim.step(self.q, self.v)
        self.sim.restore(self.state)

    def assert_unharmed(self):
        step = self.sim.step(self.q, self.v)
        assert step.q.tobytes() == self.next.q.tobytes()
        assert step.v.tobytes() == self.next.v.tobytes()
        assert step.impulses.tobytes() == self.next.impulses.tobytes()
        assert step.report.status == "converged"


@pytest.fixture
def running():
    return Running()


@pytest.mark.parametrize("name", ["q", "v", "tau"])
@pytest.mark.parametrize("length", [0, 1, 5, 8, 100])
def test_wrong_size_is_named(running, name, length):
    if (name, length) == ("tau", 0):
        pytest.skip("an empty tau is no torque")
    arguments = {"q": running.q, "v": running.v, "tau": np.zeros(6), name: np.ones(length)}
    expected = 7 if name == "q" else 6
    with pytest.raises(ValueError, match=rf"\b{name} has shape \({length},\), expected \({expected},\)"):
        running.sim.step(**arguments)
    running.assert_unharmed()


@pytest.mark.parametrize("name", ["q", "v", "tau", "control", "fext"])
def test_wrong_dimensions_are_named(running, name):
    wrong = np.zeros(6) if name == "fext" else np.zeros((2, 3))
    with pytest.raises(ValueError, match=rf"\b{name} has"):
        running.sim.step(**{"q": running.q, "v": running.v, name: wrong})
    running.assert_unharmed()


@pytest.mark.parametrize("shape", [(1, 6), (3, 6), (2, 5)])
def test_wrong_fext_is_named(running, shape):
    with pytest.raises(ValueError, match="fext"):
        running.sim.step(running.q, running.v, fext=np.zeros(shape))
    running.assert_unharmed()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["q", "v", "tau", "fext"])
def test_value_that_is_not_finite_is_named(running, name, value):
    arguments = {"q": running.q.copy(), "v": running.v.copy(), "tau": np.zeros(6), "fext": np.zeros((2, 6))}
    arguments[name].flat[2] = value
    with pytest.raises(ValueError, match=rf"{name}\[2\] is {value}|{name}.*is {value}"):
        running.sim.step(**arguments)
    running.assert_unharmed()


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.01, 100.0])
def test_quaternion_that_is_not_unit_is_named(running, scale):
    q = running.q.copy()
    q[3:7] *= scale
    with pytest.raises(ValueError, match=rf"quaternion of joint 'cube' has norm {scale:.2f}"):
        running.sim.step(q, running.v)
    with pytest.raises(ValueError, match="quaternion"):
        running.sim.rollout(q, running.v, steps=3)
    running.assert_unharmed()


@pytest.mark.parametrize("wrong", ["words", object(), [[1], [1, 2]], 1j, {}])
def test_what_is_no_array_is_a_type_error(running, wrong):
    with pytest.raises((TypeError, ValueError)):
        running.sim.step(wrong, running.v)
    running.assert_unharmed()


def test_wrong_rollout_is_named(running):
    sim, q, v = running.sim, running.q, running.v
    with pytest.raises(ValueError, match=r"taus has shape \(3, 5\), expected \(n, 6\)"):
        sim.rollout(q, v, np.zeros((3, 5)))
    with pytest.raises(ValueError, match=r"taus has shape \(3, 6\), expected \(4, 6\)"):
        sim.rollout(q, v, np.zeros((3, 6)), steps=4)
    with pytest.raises(ValueError, match="steps is -1"):
        sim.rollout(q, v, steps=-1)
    with pytest.raises(ValueError, match="taus"):
        sim.rollout(q, v)
    with pytest.raises(ValueError, match="taus"):
        sim.rollout(q, v, np.full((3, 6), math.nan))
    with pytest.raises(ValueError, match=r"q\[0\] is nan"):
        sim.rollout(np.full(7, math.nan), v, steps=2)
    with pytest.raises(ValueError, match=r"q has shape \(3,\), expected \(7,\)"):
        sim.rollout(np.zeros(3), v, steps=2)
    running.assert_unharmed()


def test_wrong_hold_is_named(running):
    sim, ones = running.sim, np.ones(6)
    with pytest.raises(ValueError, match=r"kp.*-1"):
        sim.hold(running.q, -ones, ones)
    with pytest.raises(ValueError, match="kd"):
        sim.hold(running.q, ones, np.nan * ones)
    with pytest.raises(ValueError, match=r"kp has shape \(2,\), expected \(6,\)"):
        sim.hold(running.q, np.ones(2), ones)
    with pytest.raises(ValueError, match=r"q has shape \(2,\), expected \(7,\)"):
        sim.hold(np.ones(2), ones, ones)
    with pytest.raises(ValueError, match="q is not finite"):
        sim.hold(np.nan * running.q, ones, ones)
    running.assert_unharmed()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"dt": 0.0}, r"dt.*0\.0"),
        ({"dt": -1e-3}, r"dt.*-0\.001"),
        ({"dt": math.nan}, "dt.*nan"),
        ({"dt": math.inf}, "dt.*inf"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": -1e-6}, "tolerance"),
        ({"tolerance": math.nan}, "tolerance.*nan"),
        ({"solver": "magic"}, "magic"),
        ({"solver": ""}, "no method .*auto, pgs"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"max_iterations": -5}, "max_iterations is -5"),
        ({"margin": -0.1}, r"margin.*-0\.1"),
        ({"correction": 1.5}, r"correction.*1\.5"),
        ({"correction": math.nan}, "correction.*nan"),
        ({"correction_speed": -1.0}, r"correction_speed.*-1\.0"),
        ({"correction_speed": math.nan}, "correction_speed.*nan"),
    ],
)
def test_wrong_option_is_named(options, named):
    scene = taut.scenes.make("cube_on_plane")
    with pytest.raises(ValueError, match=named):
        taut.Simulator(scene, **options)


def test_unknown_solver_lists_the_known_ones():
    with pytest.raises(ValueError, match="magic") as error:
        taut.Simulator(taut.scenes.make("cube_on_plane"), solver="magic")
    assert all(name in str(error.value) for name in taut.solvers())


def test_unknown_option_is_a_type_error():
    with pytest.raises(TypeError):
        taut.Simulator(taut.scenes.make("cube_on_plane"), speed="fast")
    with pytest.raises(TypeError):
        taut.Simulator("cube_on_plane")


@pytest.mark.parametrize("mass", [0.0, -1.0, math.nan, math.inf])
def test_mass_spoiled_in_the_live_model_is_named(mass):
    scene = taut.scenes.make("cube_on_plane")
    good = scene.model.inertias[1].copy()
    sim = taut.Simulator(scene)
    before = sim.step(scene.q0, np.zeros(6))
    sim.reset()
    scene.model.inertias[1] = pinocchio.Inertia(mass, np.zeros(3), np.array(good.inertia))
    with pytest.raises(ValueError, match=r"mass.*'cube'"):
        taut.Simulator(scene)
    with pytest.raises(ValueError, match=r"mass.*'cube'"):
        scene.validate()
    # A running simulator reads the model at every step: it must refuse as well, or say so in its report.
    try:
        step = sim.step(scene.q0, np.zeros(6))
    except ValueError as error:
        assert re.search(r"mass.*'cube'", str(error))
    else:
        assert step.report.status != "converged"
    scene.model.inertias[1] = good
    sim.reset()
    after = sim.step(scene.q0, np.zeros(6))
    assert after.v.tobytes() == before.v.tobytes()


@pytest.mark.parametrize("spoil", ["damping", "armature"])
def test_negative_joint_terms_are_named(spoil):
    scene = taut.scenes.make("go1")
    values = getattr(scene.model, spoil).copy()
    values[7] = -1.0
    setattr(scene.model, spoil, values)
    with pytest.raises(ValueError, match=rf"{spoil}.*7.*-1"):
        taut.Simulator(scene)


def test_negative_stiffness_is_named():
    scene = taut.scenes.make("go1")
    stiffness = scene.stiffness.copy()
    stiffness[7] = -1.0
    with pytest.raises(ValueError, match=r"stiffness.*-1"):
        scene.stiffness = stiffness
        taut.Simulator(scene)


# --- scenes


@pytest.mark.parametrize("mass", [0.0, -1.0, math.nan, math.inf])
def test_body_needs_a_mass(mass):
    scene = taut.Scene()
    with pytest.raises(ValueError, match=rf"mass of 'ball' is {mass}"):
        scene.add_body("ball", coal.Sphere(0.1), mass)
    assert scene.model.nv == 0  # nothing half added
    assert scene.geometry.ngeoms == 0
    scene.add_body("ball", coal.Sphere(0.1), 1.0)  # the name is still free


@pytest.mark.parametrize("mu", [-0.1, math.nan, math.inf])
def test_friction_must_not_be_negative(mu):
    scene = taut.Scene()
    with pytest.raises(ValueError, match=f"friction.*{mu}"):
        scene.add_body("ball", coal.Sphere(0.1), 1.0, friction=mu)
    with pytest.raises(ValueError, match=f"friction.*{mu}"):
        scene.add_floor(friction=mu)
    scene.add_floor()
    scene.add_body("ball", coal.Sphere(0.1), 1.0, friction=0.3)
    with pytest.raises(ValueError, match=f"friction.*{mu}"):
        scene.set_friction("ball", mu)
    with pytest.raises(ValueError, match=f"friction.*{mu}"):
        scene.set_pair_friction("ball", "floor", mu)
    assert scene.friction("ball") == 0.3


def test_names_are_checked():
    scene = taut.scenes.make("cube_on_plane")
    with pytest.raises(ValueError, match="'cube'"):
        scene.add_body("cube", coal.Sphere(0.1))
    with pytest.raises(ValueError, match="'floor'"):
        scene.add_shape("floor", coal.Sphere(0.1))
    with pytest.raises(ValueError, match="ghost"):
        scene.friction("ghost")
    with pytest.raises(ValueError, match="ghost"):
        scene.set_friction("ghost", 0.5)
    with pytest.raises(ValueError, match="ghost"):
        scene.set_pair_friction("cube", "ghost", 0.5)
    with pytest.raises(ValueError, match="ghost"):
        scene.disable_pair("ghost", "cube")
    with pytest.raises(ValueError, match="softest"):
        scene.friction_rule = "softest"
    with pytest.raises(ValueError, match="joint 9"):
        scene.add_shape("knob", coal.Sphere(0.1), joint=9)
    with pytest.raises(ValueError, match="there already"):
        scene.add_robot(scene.copy())
    assert scene.model.nv == 6
    assert scene.geometry.ngeoms == 2
    assert scene.friction_rule == "maximum"
    step = taut.Simulator(scene).step(scene.q0, np.zeros(6))
    assert step.report.status == "converged"


@pytest.mark.parametrize(
    "shape",
    [
        coal.Sphere(-0.1),
        coal.Sphere(0.0),
        coal.Box(0.1, -0.1, 0.1),
        coal.Box(0.1, 0.0, 0.1),
        coal.Capsule(-0.1, 0.1),
        coal.Cylinder(0.1, -0.1),
        coal.Cone(0.0, 0.1),
        coal.Ellipsoid(0.1, 0.1, -0.1),
        coal.Sphere(math.nan),
        coal.Box(math.inf, 1, 1),
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_degenerate_shape_is_named(shape):
    scene = taut.Scene()
    with pytest.raises(ValueError, match="knob"):
        scene.add_shape("knob", shape)
    with pytest.raises(ValueError, match="knob"):
        scene.add_body("knob", shape, 1.0)
    assert scene.model.nv == 0
    assert scene.geometry.ngeoms == 0


def test_what_is_no_shape_is_refused():
    scene = taut.Scene()
    for wrong in ("sphere", 3, None, pinocchio.Model()):
        with pytest.raises((ValueError, TypeError), match=r"[Cc]oal shape|incompatible"):
            scene.add_shape("knob", wrong)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"quaternion": [0, 0, 0, 2]}, "quaternion.*norm 2"),
        ({"quaternion": [0, 0, 0, 0]}, "quaternion.*norm 0"),
        ({"quaternion": [0, 0, 0, math.nan]}, "quaternion"),
        ({"quaternion": [0, 0, 1]}, r"quaternion has shape \(3,\), expected \(4,\)"),
        ({"position": [0, math.nan, 0]}, "position"),
        ({"position": [0, 0, math.inf]}, "position"),
        ({"position": [0, 0]}, r"position has shape \(2,\), expected \(3,\)"),
        ({"inertia": np.eye(2)}, "inertia"),
        ({"inertia": -np.eye(3)}, "inertia"),
        ({"inertia": np.nan * np.eye(3)}, "inertia"),
        ({"inertia": np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]])}, "inertia"),  # not symmetric
        ({"inertia": np.array([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]])}, "inertia"),  # indefinite
    ],
)
def test_wrong_placement_or_inertia_is_named(options, named):
    scene = taut.Scene()
    with pytest.raises(ValueError, match=named):
        scene.add_body("ball", coal.Sphere(0.1), 1.0, **options)
        taut.Simulator(scene)
    if "inertia" not in options:
        assert scene.model.nv == 0  # nothing half added
        with pytest.raises(ValueError, match=named):
            scene.add_shape("knob", coal.Sphere(0.1), **options)
        assert scene.geometry.ngeoms == 0


@pytest.mark.parametrize("gravity", [[0, 0, math.nan], [0, 0], [[0, 0, 1]], "down"])
def test_wrong_gravity_is_refused(gravity):
    scene = taut.Scene()
    with pytest.raises((ValueError, TypeError)):
        scene.gravity = gravity
    assert scene.gravity.tolist() == [0, 0, -9.81]


def test_start_is_checked():
    scene = taut.scenes.make("cube_on_plane")
    with pytest.raises(ValueError, match=r"q0 has shape \(3,\), expected \(7,\)"):
        scene.q0 = [0, 0, 0]
    with pytest.raises(ValueError, match=r"stiffness has shape \(1,\), expected \(6,\)"):
        scene.stiffness = [1]


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("moon", {}, "'moon'"),
        ("", {}, "''"),
        ("stack", {"m": 3}, "'m'"),
        ("stack", {"n": 0}, "n is 0"),
        ("stack", {"n": -3}, "n is -3"),
        ("ball", {"radius": -1.0}, r"radius is -1\.0"),
        ("ball", {"mass": 0.0}, "mass.*0"),
        ("cube_on_plane", {"mu": -1.0}, r"friction is -1\.0"),
        ("cube_on_plane", {"side": math.nan}, "side is nan"),
        ("heavy_on_light", {"ratio": 0.0}, r"ratio is 0\.0"),
        ("pinched_capsule", {"mass": -1.0}, r"mass is -1\.0"),
        ("go1", {"friction": -0.1}, r"friction.*-0\.1"),
        ("go1", {"height": math.nan}, "height is nan"),
        ("ur5", {"height": 1.0}, r"height is 1\.0"),
    ],
)
def test_wrong_scene_is_named(name, options, named):
    with pytest.raises(ValueError, match=named):
        taut.scenes.make(name, **options)


def test_scene_without_file_has_no_path():
    with pytest.raises(ValueError, match="'stack'"):
        taut.scenes.path("stack")


def test_scene_changed_under_a_simulator_is_refused():
    scene = taut.scenes.make("cube_on_plane")
    sim = taut.Simulator(scene)
    q, v = scene.q0, np.zeros(6)
    sim.step(q, v)
    scene.add_body("late", coal.Sphere(0.1), position=[5, 0, 0.1])
    with pytest.raises(ValueError, match="new simulator"):
        sim.step(q, v)
    assert taut.Simulator(scene).step(scene.q0, np.zeros(12)).report.status == "converged"


# --- deep penetration


def test_start_deep_in_penetration_is_solved_and_leaves_gently():
    scene = taut.scenes.make("cube_on_plane", side=0.2)
    q = scene.q0.copy()
    q[2] = -0.05  # 15 cm in the floor
    sim = taut.Simulator(scene)
    path = sim.rollout(q, np.zeros(6), steps=3000)
    assert {report.status for report in path.reports} == {"converged"}
    assert np.isfinite(path.q).all()
    # Pushed out no faster than the default correction speed allows, and not thrown into the air after.
    assert path.q[:, 2].max() < 0.1 + 0.05
    assert path.q[-1, 2] == pytest.approx(0.1, abs=2e-3)
    assert np.abs(path.v[-1]).max() < 1e-3


@pytest.mark.parametrize("depth", [0.0, 0.05, 0.1, 0.2])
def test_two_bodies_deep_in_each_other_part(depth):
    scene = taut.Scene()
    scene.gravity = [0, 0, 0]
    scene.add_body("a", coal.Sphere(0.1), 1.0, [0, 0, 0])
    scene.add_body("b", coal.Sphere(0.1), 1.0, [0.2 - depth, 0, 0])  # depth 0.2: concentric, no direction is known
    path = taut.Simulator(scene).rollout(scene.q0, np.zeros(12), steps=2000)
    assert np.isfinite(path.q).all()
    assert {report.status for report in path.reports} == {"converged"}
    distance = np.linalg.norm(path.q[-1, :3] - path.q[-1, 7:10])
    assert distance > 0.2 - 2e-3  # parted, but for what the last corrections leave
    momentum = path.v[-1, :3] + path.v[-1, 6:9]  # equal masses; they have not turned
    assert np.abs(momentum).max() < 1e-9


def test_extreme_velocity_is_a_report_not_a_crash(running):
    """What cannot be computed is a status; the simulator goes on from a good state."""
    for speed in (1e6, 1e100, 1e300):
        step = running.sim.step(running.q, speed * np.ones(6))
        assert step.report.status in {"converged", "stalled", "iteration_limit", "not_finite"}
        if step.report.status == "converged":
            assert np.isfinite(step.v).all()
    running.sim.restore(running.state)
    running.assert_unharmed()
