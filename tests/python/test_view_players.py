"""Players, without a page: a simulation or a recording that goes on, and is looked back at."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

import taut
from taut.loading import from_pinocchio
from taut.recording.forces import contact_frames

pytest.importorskip("viser", reason="viser is not installed: pip install 'taut[view]'")

from taut.view import LivePlayer, Page, RecordingPlayer
from viewing import G, cube, quadruped, run


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
