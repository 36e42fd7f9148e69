"""The viewer: players without a page, and the page as a person meets it in a browser."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
import warnings
from pathlib import Path

import coal
import numpy as np
import pinocchio
import pytest
from typer.testing import CliRunner

import taut
from browser import different, green, open_browser, until
from taut.cli import app
from taut.loading import from_pinocchio

trimesh = pytest.importorskip("trimesh", reason="viser is not installed: pip install 'taut[view]'")
viser = pytest.importorskip("viser", reason="viser is not installed: pip install 'taut[view]'")

from taut.recording.forces import contact_frames  # noqa: E402
from taut.view import LivePlayer, Page, RecordingPlayer  # noqa: E402
from taut.view import watch as watch_module  # noqa: E402
from taut.view.bodies import tree_masses, with_mass  # noqa: E402
from taut.view.frame import Frame  # noqa: E402
from taut.view.marks import COLOURS, Marks  # noqa: E402
from taut.view.plots import PLOTS  # noqa: E402
from taut.view.set import Set  # noqa: E402
from taut.view.shapes import mesh_of, simplified  # noqa: E402
from taut.view.visuals import visuals  # noqa: E402
from taut.view.watch import WatchPlayer, send  # noqa: E402

G = 9.81


def cube(mu: float = 0.4, v0: float = 1.0) -> LivePlayer:
    scene = taut.scenes.make("sliding_cube", mu=mu)
    return LivePlayer(scene, scene.q0, np.array([v0, 0, 0, 0, 0, 0]))


def quadruped(height: float = 0.15) -> LivePlayer:
    scene = taut.scenes.make("solo12", height=height)
    player = LivePlayer(scene, scene.q0, np.zeros(scene.model.nv))
    player.hold(scene.q0, 50.0, 2.0)
    return player


def run(player: LivePlayer, seconds: float) -> None:
    """Simulated ones, whatever the machine does meanwhile."""
    player.play()
    while player.playing and player.frame.t < seconds:
        player.tick(0.02)
    player.pause()


# --- players


def test_a_player_steps_as_the_simulator_does():
    player, sim = cube(), taut.Simulator(taut.scenes.make("sliding_cube", mu=0.4))
    q, v = sim.scene.q0, np.array([1.0, 0, 0, 0, 0, 0])
    for _ in range(5):
        player.step()
        done = sim.step(q, v)
        q, v = done.q, done.v
    np.testing.assert_array_equal(player.frame.q, q)
    assert player.frame.t == pytest.approx(5e-3)
    np.testing.assert_array_equal(player.frame.points, [contact.point for contact in done.contacts])
    np.testing.assert_array_equal(contact_frames(player.frame.normals), [contact.frame for contact in done.contacts])
    assert player.frame.forces[:, 2].sum() == pytest.approx(done.impulses[:, 2].sum() / 1e-3)


def test_friction_changes_where_the_cube_stops():
    for mu in (0.4, 0.8):
        player = cube(mu=0.4)
        player.set_friction(mu)
        run(player, 0.5)
        assert player.frame.q[0] == pytest.approx(1 / (2 * mu * G), abs=2e-3)


def test_going_on_from_the_past_repeats_the_future():
    """Bit for bit: the state is restored, not guessed."""
    player = quadruped(0.05)
    run(player, 0.5)
    end = player.frame
    player.seek(0.2)
    assert player.frame.t == pytest.approx(0.2, abs=0.05)
    while player.frame.t < end.t - 1e-9:
        player.step()
    assert player.frame.t == pytest.approx(end.t)
    np.testing.assert_array_equal(player.frame.q, end.q)


def test_reset_is_the_start():
    player = cube()
    run(player, 0.1)
    player.reset()
    assert player.frame.t == 0
    np.testing.assert_array_equal(player.frame.q, player.start[0])
    assert not player.playing


def test_history_is_the_last_minute():
    player = cube(v0=0.0)
    player.speed = 50.0
    player.play()
    while player.frame.t < 70:
        player.tick(0.1)
    low, high = player.span
    assert high == player.frame.t
    assert 50 < high - low <= 60


def test_a_slow_motion_keeps_the_minute():
    """More frames than are kept: recent ones stay, of the old every second one goes, and the span remains."""
    player = cube(v0=0.0)
    player.speed = 0.05
    player.play()
    while player.frame.t < 5:
        player.tick(0.025)
    assert player.span[0] == 0
    times = np.array([frame.t for frame in player.history])
    assert len(times) <= 3600
    steps = np.diff(times)
    assert steps[-1000:].max() < 2.5e-3
    assert steps.max() < 20e-3


def test_looking_back_mends_a_run_that_went_astray():
    player = cube()
    run(player, 0.1)
    player.force = np.full(3, 1e300)  # and then its square
    player.play()
    while player.playing:
        player.tick(0.02)
    assert player.failed
    player.force = np.zeros(3)
    player.play()
    assert not player.playing
    player.seek(0.05)
    run(player, 0.6)
    assert player.frame.q[0] == pytest.approx(1 / (2 * 0.4 * G), abs=2e-3)


def test_frames_keep_no_more_than_they_show():
    player = quadruped(0.0)
    run(player, 0.2)
    for frame in player.frames:
        for values in (frame.q, frame.v, frame.points, frame.normals, frame.gaps, frame.modes):
            assert values.base is None or values.base.nbytes == values.nbytes


def test_one_degree_of_freedom_can_be_looked_at():
    model = pinocchio.Model()
    joint = model.addJoint(0, pinocchio.JointModelRX(), pinocchio.SE3.Identity(), "hinge")
    model.appendBodyToJoint(joint, pinocchio.Inertia.Random(), pinocchio.SE3.Identity())
    player = LivePlayer(from_pinocchio(model, pinocchio.GeometryModel()), np.array([0.5]), np.zeros(1))
    player.step()
    assert player.frame.q.shape == (1,)
    still = LivePlayer(taut.Scene(), np.empty(0), np.empty(0))
    with Page(still, port=0):
        still.step()


def test_another_solver_goes_on_from_here():
    player = cube()
    run(player, 0.1)
    before = player.frame
    player.set_solver("pgs")
    assert player.sim.solver == "pgs"
    run(player, 0.5)
    assert player.frame.t > before.t
    assert player.frame.q[0] == pytest.approx(1 / (2 * 0.4 * G), abs=2e-3)
    with pytest.raises(ValueError, match="foo"):
        player.set_solver("foo")


def test_a_force_moves_a_body():
    """Without friction a force of 2 N on 1 kg: x = f t² / 2 m, a step's worth more."""
    player = cube(mu=0.0, v0=0.0)
    player.force = np.array([2.0, 0, 0])
    run(player, 0.5)
    t, mass = player.frame.t, player.mass
    assert player.frame.q[0] == pytest.approx(2.0 / mass * t * (t + 1e-3) / 2, rel=1e-6)


def test_the_mouse_pulls_a_body_to_where_it_is():
    player = cube(mu=0.0, v0=0.0)
    player.take(1, player.frame.q[:3])
    player.pull_to(np.array([0.3, 0.2, player.frame.q[2]]))
    run(player, 2.0)
    np.testing.assert_allclose(player.frame.q[:2], [0.3, 0.2], atol=5e-3)
    player.pull_to(None)
    assert player._forces(player.frame.q, player.frame.v) is None


def test_a_body_is_pulled_where_it_was_taken():
    """By a corner, in the air: the corner comes to the mouse and the body hangs below it, its weight on the spring."""
    half = 0.1  # of its side
    scene = taut.scenes.make("cube_on_plane", side=2 * half)
    q = np.array(scene.q0)
    q[2] += 0.5
    player = LivePlayer(scene, q, np.zeros(6))
    player.take(1, q[:3] + half)
    target = q[:3] + np.array([0.0, 0.0, 0.5])
    player.pull_to(target)
    run(player, 20.0)
    place = pinocchio.XYZQUATToSE3(player.frame.q)
    taken = place.act(np.full(3, half))
    sag = player.mass * G / player.grip.stiffness
    np.testing.assert_allclose(taken, target - [0, 0, sag], atol=5e-3)
    assert place.translation[2] == pytest.approx(taken[2] - half * np.sqrt(3), abs=5e-3)


def test_a_robot_can_be_lifted_by_a_foot():
    """A spring for the weight of the robot on the end of a leg does not shake it."""
    player = quadruped(0.0)
    joint = player.scene.model.njoints - 1
    data = player.scene.model.createData()
    pinocchio.forwardKinematics(player.scene.model, data, player.frame.q)
    foot = data.oMi[joint].act(np.array([0.0, 0.0, -0.16]))
    player.take(joint, foot)
    player.pull_to(foot + np.array([0, 0, 1.0]))
    run(player, 3.0)
    assert not player.failed
    assert player.frame.q[2] > player.start[0][2] + 0.1
    assert np.abs(player.frame.v).max() < 20


def test_the_speed_told_is_that_of_half_a_second():
    """Slower than a step for each picture: some have none."""
    player = cube(v0=0.0)
    for speed in (0.01, 0.5, 1.0):
        player.pause()
        player.tick(1 / 30)
        player.speed = speed
        player.play()
        for _ in range(60):
            player.tick(1 / 30)
        # A step more or less in half a second.
        assert player.real_time_factor == pytest.approx(speed, abs=2.1e-3)


def test_actuators_are_driven():
    scene = taut.scenes.make("half_cheetah")
    player = LivePlayer(scene, scene.q0, np.zeros(scene.model.nv))
    player.control = np.full(len(scene.actuators), 0.3)
    run(player, 0.1)
    steps = round(player.frame.t / 1e-3)
    expected = taut.Simulator(scene).rollout(scene.q0, np.zeros(scene.model.nv), control=player.control, steps=steps)
    np.testing.assert_array_equal(player.frame.q, expected.q[-1])


def test_a_pose_keeps_loops_closed():
    scene = taut.scenes.make("cassie")
    player = LivePlayer(scene, scene.assemble(), np.zeros(scene.model.nv))
    joint = scene.model.getJointId("left-knee")
    q = np.array(player.frame.q)
    q[scene.model.idx_qs[joint]] -= 0.2
    player.pose(q, joint)
    assert player.frame.q[scene.model.idx_qs[joint]] == pytest.approx(q[scene.model.idx_qs[joint]], abs=1e-9)
    assert scene.worst_loop_gap(player.frame.q)[0] < 1e-8


def test_joints_go_where_they_are_held():
    scene = taut.scenes.make("ur5")
    player = LivePlayer(scene, scene.q0, np.zeros(6))
    target = np.array(scene.q0) + 0.1
    player.hold(target, 5000.0, 250.0)
    run(player, 1.0)
    np.testing.assert_allclose(player.frame.q, target, atol=0.02)


def test_a_run_slower_than_real_time_is_not_late():
    """A tick ends in time, whatever is due."""
    player = LivePlayer(taut.scenes.make("pile", n=40), taut.scenes.make("pile", n=40).q0, np.zeros(240))
    player.speed = 1000.0
    player.play()
    for _ in range(5):
        player.tick(0.05)
    assert 0 < player.frame.t < 50  # of the 250 s that are due


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    sim = taut.Simulator(taut.scenes.make("solo12", height=0.1))
    sim.hold(sim.scene.q0, 50.0, 2.0)
    path = tmp_path_factory.mktemp("recording") / "solo.npz"
    with sim.record(path):
        sim.rollout(sim.scene.q0, np.zeros(18), steps=800)
    return taut.load_recording(path)


def test_a_recording_plays_and_stops_at_its_end(recording):
    player = RecordingPlayer(recording)
    player.play()
    player.tick(0.3)
    assert player.playing
    np.testing.assert_array_equal(player.frame.q, recording.q[300])
    assert len(player.frame.points) == recording.contacts[299]
    player.tick(10.0)
    assert not player.playing
    np.testing.assert_array_equal(player.frame.q, recording.q[-1])
    player.seek(0.1)
    np.testing.assert_array_equal(player.frame.q, recording.q[100])
    player.step()
    np.testing.assert_array_equal(player.frame.q, recording.q[101])


# --- what is drawn


@pytest.mark.parametrize("name", taut.scenes.names())
def test_everything_can_be_drawn(name):
    """Every body, and its shapes in their own size."""
    scene = taut.scenes.make(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown, shapes = visuals(scene), visuals(scene, collision=True)
    for visual in (*shown, *shapes):
        vertices, faces = visual.mesh
        assert np.isfinite(vertices).all()
        assert len(faces)
        assert faces.max() < len(vertices)
    assert {visual.joint for visual in shown} >= set(with_mass(scene.model))
    drawn = {visual.name.split("_", 2)[2]: visual for visual in shapes if visual.name.startswith("shape")}
    for shape in scene.geometry.geometryObjects:
        if shape.parentJoint:
            shape.geometry.computeLocalAABB()
            size = np.array(shape.geometry.aabb_local.max_ - shape.geometry.aabb_local.min_)
            np.testing.assert_allclose(np.ptp(drawn[shape.name].mesh[0], axis=0), size, atol=0.02 * size.max())


def test_a_body_without_shapes_is_a_box_that_turns_as_it_does():
    scene = taut.Scene()
    sides, mass = np.array([0.2, 0.3, 0.4]), 2.0
    inertia = mass / 12 * np.diag(np.sum(sides**2) - sides**2)
    scene.add_body("unseen", None, mass, inertia=inertia)
    (drawn,) = visuals(scene)
    turn = pinocchio.Quaternion(*drawn.wxyz).toRotationMatrix()
    np.testing.assert_allclose(np.ptp(drawn.mesh[0] @ turn.T, axis=0), sides, rtol=1e-6)


def test_a_plane_that_moves_is_drawn():
    scene = taut.scenes.make("ball")
    scene.add_shape("plate", coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.3), joint=1)
    (plate,) = (visual for visual in visuals(scene) if "plate" in visual.name)
    np.testing.assert_allclose(plate.mesh[0][:, 2], 0.3)


def test_every_robot_of_a_scene_has_its_meshes():
    """In the places of its bodies, whatever its names are now; in a copy, too."""
    solo, arm = taut.scenes.make("solo12"), taut.scenes.make("ur5")
    scene = taut.Scene()
    scene.add_body("first", coal.Sphere(0.1))
    scene.add_robot(solo, "a_")
    scene.add_robot(solo, "b_", position=[1.0, 0, 0])
    scene.add_robot(arm, "c_", position=[0, 2.0, 0])
    alone = {name: sum(len(v.mesh[1]) for v in visuals(robot)) for name, robot in (("solo", solo), ("arm", arm))}
    for made in (scene, scene.copy()):
        shown = [visual for visual in visuals(made) if visual.name.startswith("file")]
        assert sum(len(visual.mesh[1]) for visual in shown) == pytest.approx(2 * alone["solo"] + alone["arm"], rel=0.05)
    for robot, before, shift in ((solo, 1, [0, 0, 0]), (solo, 14, [1.0, 0, 0]), (arm, 27, [0, 2.0, 0])):
        one = {visual.joint: visual for visual in visuals(robot) if visual.joint}
        other = {visual.joint: visual for visual in shown}
        for joint, visual in one.items():
            np.testing.assert_allclose(other[joint + before].position, visual.position, atol=1e-12)
        if robot is arm:
            base = [v.position for v in visuals(arm) if v.joint == 0]
            placed = [v.position for v in shown if v.joint == 0]
            np.testing.assert_allclose(placed, np.array(base) + shift, atol=1e-12)


def test_an_mjcf_within_a_scene_shows_its_geoms(tmp_path):
    (tmp_path / "robot.xml").write_text("""
    <mujoco><worldbody><geom name="post" type="box" size="0.1 0.1 0.1" pos="0 0 1"/>
      <body><freejoint/><geom name="ball" type="sphere" size="0.1" rgba="1 0 0 1"/></body></worldbody></mujoco>""")
    scene = taut.Scene()
    scene.add_body("first", coal.Sphere(0.1))
    scene.add_robot(taut.load(tmp_path / "robot.xml"), "r_", position=[0, 3.0, 0])
    shown = {visual.name.split("_", 2)[2]: visual for visual in visuals(scene)}
    assert (shown["ball"].joint, shown["ball"].colour) == (2, (255, 0, 0))
    np.testing.assert_allclose(shown["post"].position, [0, 3.0, 1.0])


def test_meshes_are_found_where_they_were(tmp_path):
    """In folders that were named when the file was read, by who looks at a recording; a file that is gone is told."""
    (tmp_path / "packages" / "bowl").mkdir(parents=True)
    (tmp_path / "robots").mkdir()
    (tmp_path / "packages" / "bowl" / "bowl.obj").write_text(bowl())
    mesh = '<geometry><mesh filename="package://bowl/bowl.obj"/></geometry>'
    urdf = f"""<robot name="bowl"><link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
      ixy="0" ixz="0" iyz="0"/></inertial><visual>{mesh}</visual><collision>{mesh}</collision></link></robot>"""
    path = tmp_path / "robots" / "bowl.urdf"
    path.write_text(urdf)
    with pytest.warns(taut.TautWarning, match="convex hulls"):
        sim = taut.Simulator(taut.load(path, package_dirs=[tmp_path / "packages"], root="free"))
    with sim.record(tmp_path / "run.npz"):
        sim.rollout(sim.scene.q0, np.zeros(6), steps=2)
    recording = taut.load_recording(tmp_path / "run.npz")
    assert [len(visual.mesh[1]) for visual in visuals(recording.scene)] == [16]
    path.unlink()
    with pytest.warns(UserWarning, match=r"bowl\.urdf is not where it was"):
        visuals(recording.scene)


# --- marks


def marks_of(player: LivePlayer, **shown: bool) -> Marks:
    """As they are drawn: what each kind was made of."""
    with Set(player.scene, dict.fromkeys(("normals", "cones", "penetration"), True) | shown) as stage_set:
        stage_set.show(player.frame)
        return stage_set.marks


def test_arrows_are_the_forces_on_what_touches():
    """A cube that slides along x: each arrow leans against the motion, by the angle of friction."""
    mu = 0.4
    player = cube(mu=mu)
    for _ in range(20):
        player.step()
    marks = marks_of(player)
    ends, colours = marks.drawn["forces"]
    along = ends[:, 1] - ends[:, 0]
    assert len(along)
    np.testing.assert_allclose(along[:, 0] / along[:, 2], -mu, rtol=1e-6)
    np.testing.assert_allclose(along[:, 1], 0, atol=1e-6)
    assert (colours == COLOURS[2]).all()
    normals, _ = marks.drawn["normals"]
    np.testing.assert_allclose(normals[:, 1] - normals[:, 0], np.tile([0, 0, 0.2 * marks.size], (4, 1)), atol=1e-12)
    points, up, radius, _ = marks.drawn["cones"]
    np.testing.assert_allclose(np.linalg.norm(up, axis=1) * mu, radius)
    np.testing.assert_array_equal(points, player.frame.points)


def test_the_weight_is_an_arrow_half_as_long_as_the_robot():
    player = cube(v0=0.0)
    player.step()
    frame = player.frame
    frame.points, frame.normals = frame.points[:1], frame.normals[:1]
    frame.gaps, frame.mu, frame.modes, frame.pairs = frame.gaps[:1], frame.mu[:1], frame.modes[:1], frame.pairs[:1]
    frame.forces = np.array([[0, 0, player.mass * G]])
    marks = marks_of(player)
    ends, colours = marks.drawn["forces"]
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], [[0, 0, 0.5 * marks.size]], rtol=1e-6)
    assert (colours == COLOURS[1]).all()


def test_penetrations_are_drawn_a_thousand_times_as_deep():
    scene = taut.scenes.make("cube_on_plane")
    q = np.array(scene.q0)
    q[2] -= 1e-4
    player = LivePlayer(scene, q, np.zeros(6))
    player.step()
    ends, _ = marks_of(player).drawn["penetration"]
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], np.tile([0, 0, 0.1], (4, 1)), atol=1e-6)


def test_a_heap_of_a_hundred_has_its_arrows():
    """Each as long as its own weight asks for; and a page of it does not take gigabytes."""
    scene = taut.scenes.make("pile", n=100)
    player = LivePlayer(scene, scene.q0, np.zeros(scene.model.nv))
    run(player, 0.5)
    carry = np.linalg.norm(player.frame.forces, axis=1) > 0.05 * 9.81 * tree_masses(scene.model).max()
    assert carry.sum() > 20
    ends, _ = marks_of(player).drawn["forces"]
    assert len(ends) >= carry.sum()


def test_what_the_user_does_is_drawn():
    player = cube(mu=0.0, v0=0.0)
    with Page(player, port=0) as page:
        player.force = np.array([player.mass * G, 0, 0])
        until(lambda: "pushes" in page.marks.drawn, 10, "an arrow")
        ends, _ = page.marks.drawn["pushes"]
        along = np.array([0.5 * page.marks.size, 0, 0])
        np.testing.assert_allclose(ends[0], [player.frame.q[:3], player.frame.q[:3] + along])
        player.take(1, player.frame.q[:3])
        player.pull_to(np.array([0.3, 0.2, 0.1]))
        until(lambda: "pulls" in page.marks.drawn, 10, "a line")
        np.testing.assert_allclose(page.marks.drawn["pulls"][0][0], [player.frame.q[:3], [0.3, 0.2, 0.1]])
        player.reset()
        until(lambda: not {"pulls", "pushes"} & page.marks.drawn.keys(), 10, "nothing")


@pytest.mark.parametrize("shape", ["Box", "Sphere", "Capsule", "Cylinder", "Cone", "Ellipsoid"])
def test_meshes_are_as_large_as_their_shapes(shape):
    import coal

    made = {
        "Box": lambda: coal.Box(0.2, 0.4, 0.6),
        "Sphere": lambda: coal.Sphere(0.3),
        "Capsule": lambda: coal.Capsule(0.1, 0.5),
        "Cylinder": lambda: coal.Cylinder(0.1, 0.5),
        "Cone": lambda: coal.Cone(0.1, 0.5),
        "Ellipsoid": lambda: coal.Ellipsoid(0.1, 0.2, 0.3),
    }[shape]()
    made.computeLocalAABB()
    vertices, _ = mesh_of(made)
    size = made.aabb_local.max_ - made.aabb_local.min_
    # A polyhedron inside a round shape: up to 2 % less.
    np.testing.assert_allclose(vertices.min(axis=0), made.aabb_local.min_, atol=0.02 * size.max())
    np.testing.assert_allclose(vertices.max(axis=0), made.aabb_local.max_, atol=0.02 * size.max())


def test_a_urdf_shows_its_meshes():
    scene = taut.scenes.make("solo12")
    shown, shapes = visuals(scene), visuals(scene, collision=True)
    assert sum(len(v.mesh[1]) for v in shown) > 2 * sum(len(v.mesh[1]) for v in shapes)


def test_an_mjcf_shows_its_geoms_and_meshes(tmp_path):
    """Those of the groups MuJoCo shows, in their colours, whether they touch or not; a mesh as it is, not its hull."""
    (tmp_path / "bowl.obj").write_text(bowl())
    (tmp_path / "robot.xml").write_text("""
    <mujoco><compiler meshdir="."/>
      <asset><mesh name="bowl" file="bowl.obj" scale="0.1 0.1 0.1"/><material name="red" rgba="1 0 0 1"/></asset>
      <worldbody>
        <geom name="table" type="box" size="1 1 0.1" rgba="0 0.5 1 0.5"/>
        <body pos="0 0 1"><freejoint/>
          <geom name="look" type="mesh" mesh="bowl" material="red" contype="0" conaffinity="0" group="2"/>
          <geom name="touch" type="sphere" size="0.1" group="3"/>
          <geom name="unseen" type="sphere" size="0.1" rgba="0 0 0 0"/>
        </body>
        <body pos="1 0 1"><freejoint/><geom name="only" type="sphere" size="0.1" group="3"/></body>
      </worldbody></mujoco>""")
    scene = taut.load(tmp_path / "robot.xml")
    shown = {visual.name.split("_", 2)[2]: visual for visual in visuals(scene)}
    assert set(shown) == {"table", "look", "only"}
    assert (shown["look"].joint, shown["look"].colour) == (1, (255, 0, 0))
    assert shown["table"].opacity == 0.5
    vertices, faces = shown["look"].mesh
    assert len(faces) == 16
    assert np.ptp(vertices, axis=0) == pytest.approx([0.2, 0.2, 0.1])
    hull = {visual.name.split("_", 2)[2] for visual in visuals(scene, collision=True)}
    assert hull == {"table", "touch", "unseen", "only"}


def bowl() -> str:
    """Two open pyramids, one within the other."""
    corners = [(1, 0, 1), (0, 1, 1), (-1, 0, 1), (0, -1, 1)]
    lines = ["v 0 0 0", *(f"v {x} {y} {z}" for x, y, z in corners)]
    lines += ["v 0 0 0.2", *(f"v {0.9 * x} {0.9 * y} {z}" for x, y, z in corners)]
    sides = [(k + 2, (k + 1) % 4 + 2) for k in range(4)]
    lines += [f"f 1 {b} {a}" for a, b in sides] + [f"f 6 {a + 5} {b + 5}" for a, b in sides]
    lines += [f"f {a} {b} {b + 5}" for a, b in sides] + [f"f {a} {b + 5} {a + 5}" for a, b in sides]
    return "\n".join(lines) + "\n"


def test_what_stands_beside_a_fixed_robot_is_drawn():
    scene = taut.scenes.make("ur5")
    scene.add_shape("table", coal.Box(1, 1, 0.1), position=[0.5, 0, -0.1])
    assert any("table" in visual.name for visual in visuals(scene))


def test_a_large_mesh_becomes_smaller_and_stays_where_it_is():
    ball = trimesh.creation.icosphere(subdivisions=6)
    vertices, faces = simplified(ball.vertices, ball.faces, 2000)
    assert 1000 < len(faces) <= 2000
    # An edge of such a face is 0.08 long; nothing leaves the ball by more than a quarter of that.
    assert np.abs(np.linalg.norm(vertices, axis=1) - 1).max() < 0.02


def test_the_camera_looks_at_what_is_finite():
    scene = taut.scenes.make("ball")
    with Set(scene) as stage_set:
        stage = stage_set.stage
        stage.place(scene.q0)
        stage.look_from_front(scene.q0, np.full(7, np.nan), np.array([1e9, 0, 0, 0, 0, 0, 1]))
        assert np.isfinite(stage.looked_at).all()
        assert np.linalg.norm(stage_set.server.initial_camera.position) < 100 * stage.size


def test_what_falls_for_ever_is_followed():
    scene = taut.Scene()
    scene.add_body("ball", coal.Sphere(0.1))
    with Set(scene, follow=True) as stage_set:
        stage_set.stage.look_from_front()
        stage_set.show(Frame.start(np.array([0, 0, -20.0, 0, 0, 0, 1]), np.zeros(6)))
        assert stage_set.stage.world.position[2] == pytest.approx(20.0 + stage_set.stage.looked_at[2])


def test_the_camera_goes_where_it_is_sent():
    scene = taut.scenes.make("ball")
    with Set(scene) as stage_set:
        stage = stage_set.stage
        stage.look_from_front()
        camera = stage_set.server.initial_camera
        usual = camera.position - stage.looked_at
        stage.look_from(90.0, 30.0, 2.0)
        reach = 2 * np.linalg.norm(usual)
        expected = reach * np.array([0, np.cos(np.pi / 6), 0.5])
        np.testing.assert_allclose(camera.position - stage.looked_at, expected, atol=1e-9)
        stage.look_from(None, None, 0.5)
        np.testing.assert_allclose(camera.position - stage.looked_at, expected / 2, atol=1e-9)


def test_following_keeps_the_body_where_the_camera_looks():
    scene = taut.scenes.make("ball")
    with Set(scene, follow=True) as stage_set:
        stage = stage_set.stage
        for x in (7.0, 9.0):
            q = np.array(scene.q0)
            q[0] = x
            if x == 7.0:
                stage.place(q)
                stage.look_from_front()
            stage_set.show(Frame.start(q, np.zeros(6)))
            np.testing.assert_allclose(q[:2] + stage.world.position[:2], stage.looked_at[:2])


# --- the page


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/net/tcp")
def test_only_this_machine_can_reach_the_page():
    def addresses(port: int) -> set[str]:
        rows = [line.split() for file in ("tcp", "tcp6") for line in Path(f"/proc/net/{file}").read_text().splitlines()]
        return {row[1].split(":")[0] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "0A"}

    with Page(cube(), port=0) as page:
        assert addresses(page.port) == {"0100007F"}  # 127.0.0.1
    with Page(cube(), port=0, host="0.0.0.0") as page:
        assert addresses(page.port) == {"00000000"}


def test_an_address_that_is_not_ours_is_named():
    """viser alone would wait for ever."""
    with pytest.raises(ValueError, match=r"203\.0\.113\.7"):
        Page(cube(), host="203.0.113.7", port=0)
    with pytest.raises(ValueError, match="no-such-host"):
        taut.Simulator(taut.scenes.make("ball")).view(host="no-such-host.invalid", port=0)


def test_an_address_of_ip_6_is_one():
    try:
        page = Page(cube(), host="::1", port=0)
    except ValueError:
        pytest.skip("this machine has no IPv6")
    with page:
        assert page.url == f"http://[::1]:{page.port}"


def test_a_port_that_is_taken_gives_the_next_one():
    with Page(cube(), port=0) as first, Page(cube(), port=first.port) as second:
        assert first.port < second.port <= first.port + 100


def test_an_error_is_told_and_the_page_goes_on(capfd):
    player = cube()
    with Page(player, port=0) as page:
        tick = player.tick
        player.tick = lambda elapsed: 1 / 0
        until(lambda: "ZeroDivisionError" in page.panel.said.content, name="what went wrong")
        player.tick = tick
        player.play()
        until(lambda: player.frame.t > 0.05, name="time")
        until(lambda: "ZeroDivisionError" not in page.panel.said.content, name="nothing wrong any more")
    assert capfd.readouterr().err.count("Traceback") == 1


def test_it_plays_when_somebody_looks(browser):
    player = cube()
    with Page(player, port=0) as page:
        page.play_when_seen()
        time.sleep(0.3)
        assert player.frame.t == 0
        browser.open(page.url)
        until(lambda: player.frame.t > 0.1, name="time")


@pytest.fixture(scope="module")
def browser():
    opened = open_browser()
    yield opened
    opened.close()


@pytest.fixture
def shows(browser):
    """Opens a page of a player in the browser and waits until it is drawn; closes it after the test."""
    pages = []

    def show(player) -> Page:
        page = Page(player, port=0)
        pages.append(page)
        browser.open(page.url)
        until(lambda: page.server.get_clients(), name="the browser's connection")
        browser.find("//*[normalize-space(text())='Step']")
        blank = np.full(3, 255)
        until(lambda: different(browser.picture(), blank) > 0.02, name="a picture")
        return page

    yield show
    for page in pages:
        page.close()


def test_the_robot_is_in_the_picture(browser, shows):
    page = shows(quadruped())
    until(lambda: browser.picture().std() > 5)
    time.sleep(1.0)
    with_robot = browser.picture()
    page.server.scene.get_handle_by_name("/world/bodies").visible = False
    until(lambda: different(with_robot, browser.picture()) > 0.02, name="the robot gone")
    assert browser.errors() == []


def test_play_moves_it_and_pause_stops_it(browser, shows):
    player = quadruped()
    shows(player)
    before = browser.picture()
    browser.click("Play")
    until(lambda: player.frame.t > 0.3, name="time")
    browser.click("Pause")
    until(lambda: not player.playing)
    assert player.frame.q[2] < player.start[0][2] - 0.05  # it fell
    until(lambda: different(before, browser.picture()) > 0.01, name="a picture that changed")
    stopped = player.frame.t
    browser.click("Step")
    until(lambda: player.frame.t > stopped)
    assert player.frame.t == pytest.approx(stopped + 1e-3)
    browser.click("Reset")
    until(lambda: player.frame.t == 0)
    assert browser.errors() == []


def test_arrows_appear_when_it_stands(browser, shows):
    """Green is for sticking contacts; in the air there is none."""
    player = quadruped()

    page = shows(player)
    before = green(browser.picture())  # of the axes in the corner
    run(player, 1.5)
    assert len(player.frame.points) >= 4
    until(lambda: green(browser.picture()) > before + 5e-4, name="green arrows")
    page.marks.shown.update(forces=False, points=False)
    page.panel.changed = True
    until(lambda: green(browser.picture()) < before + 1e-4, name="no arrows")


def test_the_friction_slider_moves_where_the_cube_stops(browser, shows):
    from selenium.webdriver.common.keys import Keys

    player = cube(mu=0.4)
    shows(player)
    browser.click("Play")
    until(lambda: player.frame.t > 0.4, name="time")
    first = player.frame.q[0]
    browser.click("Reset")
    until(lambda: player.frame.t == 0)
    browser.click("Physics")
    handle = browser.slider("friction")
    for _ in range(40):  # hundredths
        handle.send_keys(Keys.ARROW_RIGHT)
    until(lambda: player.scene.friction("floor") == pytest.approx(0.8), name="friction")
    browser.click("Play")
    until(lambda: player.frame.t > 0.4, name="time")
    assert first == pytest.approx(1 / (2 * 0.4 * G), abs=2e-3)
    assert player.frame.q[0] == pytest.approx(1 / (2 * 0.8 * G), abs=2e-3)
    assert browser.errors() == []


def test_dragging_a_body_pulls_it(browser, shows):
    """With a mouse: Ctrl, press on the cube in the picture, move, let go."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    player = cube(mu=0.0, v0=0.0)
    page = shows(player)
    browser.click("Play")
    until(lambda: player.playing)
    time.sleep(1.0)
    browser.dismiss()
    time.sleep(1.0)
    picture = browser.picture()
    page.server.scene.get_handle_by_name("/world/bodies").visible = False
    until(lambda: different(picture, browser.picture()) > 1e-3, name="a picture without it")
    without = browser.picture()
    page.server.scene.get_handle_by_name("/world/bodies").visible = True
    rows, columns = np.nonzero(np.abs(picture - without).max(axis=-1) > 24)
    x, y = int(np.median(columns)), int(np.median(rows))  # the cube and its shadow
    until(lambda: different(without, browser.picture()) > 1e-3, name="the cube again")
    mouse = ActionChains(browser.driver, duration=100)
    mouse.key_down(Keys.CONTROL)
    mouse.w3c_actions.pointer_action.move_to_location(x, y).pointer_down()
    for k in range(1, 11):
        mouse.w3c_actions.pointer_action.move_to_location(x - 12 * k, y)
    mouse.w3c_actions.perform()
    grip = until(lambda: player.grip, 30, name="a grip")
    assert grip.joint == 1
    assert np.abs(grip.point).max() < 0.11  # on the cube of 0.2 m
    start = player.start[0][:2]
    until(lambda: np.linalg.norm(player.frame.q[:2] - start) > 0.05, name="the cube on its way")
    target = np.array(player.pulled_to)
    assert np.dot(player.frame.q[:2] - start, target[:2] - start) > 0  # towards the mouse
    release = ActionChains(browser.driver)
    release.w3c_actions.pointer_action.pointer_up()
    release.key_up(Keys.CONTROL).perform()
    until(lambda: player.grip is None, 30, name="let go")
    assert [error for error in browser.errors() if "passive event listener" not in error] == []  # a note of viser's own


def test_sliders_push_a_body_and_a_menu_changes_the_solver(browser, shows):
    from selenium.webdriver.common.keys import Keys

    player = cube(mu=0.0, v0=0.0)
    shows(player)
    browser.click("Push")
    handle = browser.slider("force y")
    for _ in range(5):
        handle.send_keys(Keys.ARROW_RIGHT)
    force = until(lambda: player.force[1], name="a force")
    browser.click("Physics")
    menu = browser.find("//label[text()='solver']/ancestor::*[.//input][1]//input")
    until(menu.is_displayed, name="the menu")
    menu.click()
    browser.find("//*[@role='option'][.='pgs']").click()
    until(lambda: player.sim.solver == "pgs", name="another solver")
    browser.click("Play")
    until(lambda: player.frame.t > 0.3, name="time")
    player.pause()
    moved, t = player.frame.q[1], player.frame.t
    assert moved == pytest.approx(player.force[1] / player.mass * t * (t + 1e-3) / 2, rel=1e-6)
    assert force > 0
    assert browser.errors() == []


def test_a_joint_slider_poses_a_robot(browser, shows):
    from selenium.webdriver.common.keys import Keys

    scene = taut.scenes.make("ur5")
    player = LivePlayer(scene, scene.q0, np.zeros(6))
    shows(player)
    before = browser.picture()
    browser.click("Joints")
    handle = browser.slider("elbow_joint")  # to its stop, half a turn
    handle.send_keys(Keys.HOME)
    until(lambda: player.frame.q[2] == pytest.approx(float(handle.get_attribute("aria-valuemin")), abs=1e-3))
    until(lambda: different(before, browser.picture()) > 0.01, name="a picture that changed")
    np.testing.assert_array_equal(np.delete(player.frame.q, 2), np.delete(scene.q0, 2))


def test_a_joint_slider_leaves_other_joints_alone(browser, shows):
    """Of a robot that has moved since the start."""
    from selenium.webdriver.common.keys import Keys

    scene = taut.scenes.make("ur5")
    player = LivePlayer(scene, scene.q0, np.zeros(6))
    run(player, 0.2)
    moved = np.array(player.frame.q)
    assert np.abs(moved - scene.q0).max() > 1e-2
    shows(player)
    browser.click("Joints")
    handle = browser.slider("elbow_joint")
    until(lambda: float(handle.get_attribute("aria-valuenow")) == pytest.approx(moved[2], abs=2e-3))  # it follows
    handle.send_keys(Keys.HOME)
    until(lambda: player.frame.q[2] == pytest.approx(float(handle.get_attribute("aria-valuemin")), abs=1e-3))
    np.testing.assert_array_equal(np.delete(player.frame.q, 2), np.delete(moved, 2))


def test_the_time_slider_looks_back(browser, shows):
    from selenium.webdriver.common.keys import Keys

    player = cube()
    run(player, 0.4)
    shows(player)
    handle = browser.slider("time")
    until(lambda: float(handle.get_attribute("aria-valuemax")) == pytest.approx(player.span[1], abs=1e-3))
    handle.send_keys(Keys.HOME)
    until(lambda: player.frame.t == 0, name="the start")


def test_boxes_show_what_they_say(browser, shows):
    player = cube()
    player.step()
    page = shows(player)
    browser.click("Look")
    browser.tick("see through")
    until(lambda: all(mesh.opacity < 0.5 for _, mesh in page.stage.meshes), 20, "bodies to see through")
    for kind in ("normals", "cones"):
        before = browser.still()
        browser.tick(kind)
        until(lambda kind=kind: kind in page.marks.drawn, 20, kind)
        until(lambda before=before: different(before, browser.picture()) > 1e-4, name=f"a picture with {kind}")
    menu = browser.find("//label[text()='follow']/ancestor::*[.//input][1]//input")
    until(menu.is_displayed, name="the menu")
    menu.click()
    browser.find(f"//*[@role='option'][.='{player.scene.model.names[1]}']").click()
    until(lambda: page.panel.followed == 1, 20, "a body that is followed")
    run(player, 0.2)
    until(
        lambda: np.abs(page.stage.offset[0] - player.frame.q[0] + page.stage.looked_at[0]) < 1e-9, 20, "the world moved"
    )
    assert browser.errors() == []


def test_keys_play_and_step(browser, shows):
    from selenium.webdriver.common.action_chains import ActionChains

    player = cube()
    shows(player)
    ActionChains(browser.driver).send_keys("n").perform()
    until(lambda: player.frame.t == pytest.approx(1e-3), 20, "a step")
    ActionChains(browser.driver).send_keys("p").perform()
    until(lambda: player.frame.t > 0.1, 20, "time")
    ActionChains(browser.driver).send_keys("r").perform()
    until(lambda: player.frame.t == 0, 20, "the start")


def test_sliders_drive_actuators(browser, shows):
    from selenium.webdriver.common.keys import Keys

    scene = taut.scenes.make("kl_quadruped")
    player = LivePlayer(scene, scene.q0, np.zeros(scene.model.nv))
    shows(player)
    browser.click("Actuators")
    handle = browser.slider(scene.actuators[0].name)
    browser.tick("drive")
    until(lambda: player.control is not None, 20, "controls")
    assert not player.control.any()
    for _ in range(50):
        handle.send_keys(Keys.ARROW_RIGHT)
    until(lambda: player.control[0] == pytest.approx(50 * 2 * np.pi / 1000, rel=1e-3), 20, "a control")
    assert not player.control[1:].any()
    assert browser.errors() == []


def test_hold_holds_what_is_shown(browser, shows):
    """A wheel that has turned three times is held there, not brought back; a slider then moves it and nothing else."""
    model = pinocchio.Model()
    for name in ("wheel", "other"):
        joint = model.addJoint(0, pinocchio.JointModelRX(), pinocchio.SE3.Identity(), name)
        model.appendBodyToJoint(joint, pinocchio.Inertia.FromSphere(1.0, 0.1), pinocchio.SE3.Identity())
    model.upperPositionLimit[:], model.lowerPositionLimit[:] = np.inf, -np.inf
    player = LivePlayer(from_pinocchio(model, pinocchio.GeometryModel()), np.array([20.1, 0.2]), np.zeros(2))
    shows(player)
    browser.click("Joints")
    browser.slider("wheel")
    browser.tick("hold")
    until(lambda: player.held is not None, 20, "a hold")
    np.testing.assert_allclose(player.held[0], [20.1, 0.2])
    player.step()
    assert np.abs(player.frame.v).max() < 1e-6
    time.sleep(1.0)
    from selenium.webdriver.common.keys import Keys

    browser.slider("other").send_keys(Keys.HOME)
    until(lambda: player.held[0][1] < -3, 20, "another target")
    assert player.held[0][0] == pytest.approx(20.1, abs=1e-3)


def test_everything_that_can_be_shown_is_shown_without_errors(browser, shows):
    player = quadruped(0.0)
    run(player, 0.3)
    page = shows(player)
    for kind in page.marks.shown:
        page.marks.shown[kind] = True
    page.panel.changed = True
    page.panel.followed = 1
    page.stage.show_shapes(True)
    for folder in ("Look", "Push", "Joints", "Plots"):
        browser.click(folder)
    browser.click("Play")
    until(lambda: player.frame.t > 0.8, name="time")
    assert browser.errors() == []


def test_a_recording_plays_in_the_page(browser, shows, recording):
    player = RecordingPlayer(recording)
    shows(player)
    before = browser.picture()
    browser.click("Play")
    until(lambda: not player.playing and player.t > 0.79, name="the end")
    until(lambda: different(before, browser.picture()) > 0.01, name="a picture that changed")
    assert browser.errors() == []


def test_plots_are_drawn(browser, shows):
    """Each a line in its colour, from one side to the other, of a cube that falls and rests."""
    scene = taut.scenes.make("ball", height=0.3)
    player = LivePlayer(scene, scene.q0, np.zeros(6))
    run(player, 0.6)
    shows(player)
    browser.click("Run")
    browser.click("Plots")
    for number, (title, (colour, _)) in enumerate(PLOTS.items(), start=1):
        wanted = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)])

        def columns(number=number, wanted=wanted) -> int:
            seen = browser.part(f"(//canvas[ancestor::*[contains(@class, 'uplot')]])[{number}]")
            return int((np.abs(seen - wanted).max(axis=-1) < 40).any(axis=0).sum())

        until(lambda columns=columns: columns() > 100, 20, f"a line of {title}")
    assert browser.errors() == []


def test_plots_mark_the_present(recording):
    player = RecordingPlayer(recording)
    with Page(player, port=0) as page:
        for t in (0.5, 0.3):
            player.seek(t)
            until(lambda: abs(page.panel.plots.times[page.panel.plots.dot] - player.frame.t) < 2e-3, 10, "the needle")
            times, values, now = page.panel.plots.handles["contact forces, N"].data
            assert np.isfinite(now).all()  # a NaN would be the page's scale
            (row,) = np.flatnonzero(now > values.min())
            assert times[row] == pytest.approx(t, abs=2e-3)
            assert now[row] == values.max()


def test_plots_and_sliders_follow_steps_and_resets():
    player = cube()
    with Page(player, port=0) as page:
        run(player, 0.3)

        def ends_at(t: float) -> bool:
            times = page.panel.plots.times
            return times[-1] == pytest.approx(t) and page.panel.time.max == pytest.approx(max(t, 1e-3))

        until(lambda: ends_at(player.frame.t), 10, "the end of the run")
        player.step()
        until(lambda: ends_at(player.frame.t), 10, "a step more")
        for title, (_, value) in PLOTS.items():
            times, values, _ = page.panel.plots.handles[title].data
            np.testing.assert_array_equal(values, [value(frame) for frame in player.frames])
            np.testing.assert_array_equal(times, [frame.t for frame in player.frames])
        player.reset()
        until(lambda: ends_at(0.0), 10, "the start")


# --- the command

# Who runs tests in the background of a shell has them, and their children, ignore interrupts.
INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
COMMAND = INTERRUPTIBLE + "from taut.cli import app; app()"


def test_the_command_tells_where_its_page_is_and_ends_when_interrupted():
    command = [sys.executable, "-c", COMMAND, "view", "ball", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = process.stdout.readline()
    url = re.search(r"http://localhost:\d+", said).group()
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert b"viser" in answer.read().lower()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert process.stderr.read() == ""


def test_the_bench_measures_what_a_page_costs(tmp_path):
    path = tmp_path / "viewer.json"
    arguments = ["bench", "viewer", "cube_on_plane", "--steps", "300", "--turns", "1", "--json", str(path)]
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(path.read_text())
    assert set(found["costs"]) == {"watched", "with its page"}
    assert all(row["median_us"] > 0 for row in found["results"].values())


def test_the_command_plays_a_recording(recording, tmp_path):
    for kind in ("npz", "mcap"):
        path = tmp_path / f"run.{kind}"
        recording.save(path)
        command = [sys.executable, "-c", COMMAND, "view", str(path), "--no-browser", "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert f"run.{kind} is at http://localhost:" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr.read() == ""


def test_wrong_requests_are_named(tmp_path, recording):
    def fails(*arguments) -> str:
        result = CliRunner().invoke(app, ["view", *map(str, arguments)])
        assert result.exit_code == 2, result.output
        return result.stderr

    assert "none.npz" in fails(tmp_path / "none.npz")
    assert "did you mean stack?" in fails("stakc")
    assert "velocity has 2 numbers" in fails("ball", "--velocity", "1 2")
    assert "velocity is '1 a'" in fails("ball", "--velocity", "1 a")
    assert "must be finite" in fails("ball", "--velocity", "nan 0 0 0 0 0")
    assert "drop is nan" in fails("ball", "--drop", "nan")
    assert "nothing can be held" in fails("kl_quadruped", "--hold")
    recording.save(tmp_path / "run.npz")
    said = fails(tmp_path / "run.npz", "--hold", "--solver", "pgs")
    assert "--solver, --hold belongs to a simulation" in said
    assert "run.npz" in said
    (tmp_path / "foreign.npz").write_text("hello")
    assert "not a recording" in fails(tmp_path / "foreign.npz")


# --- a page beside somebody's own loop


def test_a_watched_loop_computes_the_same_and_the_page_sees_it(browser):
    def loop(sim) -> list[np.ndarray]:
        q, v = sim.scene.q0, np.zeros(18)
        path = []
        for _ in range(600):
            step = sim.step(q, v)
            q, v = step.q, step.v
            path.append(q)
        return path

    alone = loop(taut.Simulator(taut.scenes.make("solo12", height=0.1)))
    sim = taut.Simulator(taut.scenes.make("solo12", height=0.1))
    with sim.view(port=0) as watch:
        assert watch.url.startswith("http://localhost:")
        browser.open(watch.url)
        browser.find("//*[normalize-space(text())='Step']")
        first = browser.picture()
        np.testing.assert_array_equal(loop(sim), alone)
        until(lambda: different(first, browser.picture()) > 0.01, name="a picture that changed")
    assert sim._tapes == ()
    assert all("WebSocket" in error for error in browser.errors())  # it was closed


def test_a_loop_is_watched_and_recorded_at_once(tmp_path):
    """And the page is shown the last step, though the loop rests then."""
    sim = taut.Simulator(taut.scenes.make("cube_on_plane"))
    pieces = []
    with sim.view(port=0) as watch, sim.record(tmp_path / "run.npz"):
        take = watch._send_latest
        watch._send_latest = lambda: (pieces.append(watch._latest), take())[1]
        q, v = sim.scene.q0, np.array([0.1, 0, 0, 0, 0, 0])
        for _ in range(37):
            step = sim.step(q, v)
            q, v = step.q, step.v
        until(lambda: watch.steps == 37, 10, "the last step")
    recording = taut.load_recording(tmp_path / "run.npz")
    assert len(recording) == 37
    player = WatchPlayer(recording.metadata, recording.q[0], recording.v[0])
    player.arrive(next(piece for piece in reversed(pieces) if piece is not None))
    player.tick(0.03)
    np.testing.assert_array_equal(player.frame.q, recording.q[-1])
    assert player.frame.t == pytest.approx(0.037)
    assert len(player.frame.points) == 4
    assert 0 < player.frame.step_us < 1e5


def test_a_page_begins_where_the_simulator_is():
    sim = taut.Simulator(taut.scenes.make("ball"))
    run = sim.rollout(sim.scene.q0, np.array([1.0, 0, 0, 0, 0, 0]), steps=100)
    sent = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch_module, "send", lambda stream, value: (sent.append(value), send(stream, value)))
        sim.view(port=0).close()
    np.testing.assert_array_equal(sent[0]["q"], run.q[-1])


def test_one_may_look_on_after_the_last_step():
    code = """
import os, signal, threading, taut
sim = taut.Simulator(taut.scenes.make("ball"))
with sim.view(port=0) as watch:
    sim.rollout(sim.scene.q0, [0.0] * 6, steps=10)
    threading.Timer(1.0, lambda: print(watch.process.poll(), flush=True) or os.kill(os.getpid(), signal.SIGINT)).start()
    watch.wait()
print(watch.process.poll())
"""
    done = subprocess.run([sys.executable, "-c", INTERRUPTIBLE + code], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["None", "0"], "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_is_not_watched():
    code = """
import os, sys, taut
sim = taut.Simulator(taut.scenes.make("ball"))
with sim.view(port=0) as watch:
    if os.fork() == 0:
        sim.rollout(sim.scene.q0, [0.0] * 6, steps=1000)
        sys.exit(0)
    os.wait()
    print(watch.process.poll(), watch.steps)
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["None", "0"], done.stderr


def test_an_interrupt_of_the_loop_does_not_end_the_page():
    code = """
import os, signal, taut
watch = taut.Simulator(taut.scenes.make("ball")).view(port=0)
try:
    os.killpg(os.getpgid(0), signal.SIGINT)  # as a terminal does
    __import__("time").sleep(10)
except KeyboardInterrupt:
    pass
__import__("time").sleep(0.5)
print(watch.process.poll())
watch.close()
"""
    command = [sys.executable, "-c", INTERRUPTIBLE + code]
    done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    assert done.stdout.strip() == "None", done.stderr
    assert done.stderr == ""


def test_a_loop_outlives_its_page():
    sim = taut.Simulator(taut.scenes.make("cube_on_plane"))
    watch = sim.view(port=0)
    watch.process.kill()
    watch.process.wait()
    q, v = sim.scene.q0, np.zeros(6)
    for _ in range(200):
        step = sim.step(q, v)
        time.sleep(1e-3)
    assert step.report.status == "converged"
    watch.close()
