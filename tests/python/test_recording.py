"""Recordings: what was stepped is what is read back, by taut and by others, whatever happened to the process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
import zipfile

import numpy as np
import pinocchio
import pytest
from typer.testing import CliRunner

import taut
from taut.cli import app
from taut.loading import from_pinocchio
from taut.recording import MODES, about, npz, pipe
from taut.recording.columns import COLUMNS
from taut.recording.mcap_reading import records

KINDS = ["npz", "mcap"]


def go1_simulator(height: float = 0.1) -> taut.Simulator:
    scene = taut.scenes.make("go1", height=height)
    sim = taut.Simulator(scene)
    sim.hold(scene.q0, 300.0, 10.0)
    return sim


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A Go1 that falls and lands, by rollouts and steps, recorded in both ways: files and what the calls returned."""
    folder = tmp_path_factory.mktemp("run")
    returned = {}
    for kind in KINDS:
        sim = go1_simulator()
        q, v = sim.scene.q0, np.zeros(18)
        with sim.record(folder / f"run.{kind}"):
            fall = sim.rollout(q, v, steps=5000)  # more than a piece
            steps = [sim.step(fall.q[-1], fall.v[-1])]
            for _ in range(49):
                steps.append(sim.step(steps[-1].q, steps[-1].v))
            again = sim.rollout(q, v, steps=30)  # from elsewhere
        returned[kind] = (fall, steps, again)
    return folder, returned


@pytest.mark.parametrize("kind", KINDS)
def test_reads_back_equal(run, kind):
    folder, returned = run
    recording = taut.load_recording(folder / f"run.{kind}")
    fall, steps, again = returned[kind]
    assert recording.complete
    assert len(recording) == 5080
    np.testing.assert_array_equal(recording.q[:5001], fall.q)
    np.testing.assert_array_equal(recording.v[:5001], fall.v)
    np.testing.assert_array_equal(recording.q[5001:5051], [step.q for step in steps])
    np.testing.assert_array_equal(recording.q[5051:], again.q[1:])
    np.testing.assert_array_equal(recording.contacts[:5000], fall.contacts)
    assert recording.statuses[:5000] == [report.status for report in fall.reports]
    np.testing.assert_array_equal(recording.iterations[:5000], [report.iterations for report in fall.reports])
    np.testing.assert_array_equal(recording.worst_residuals[:5000], [r.residuals.worst for r in fall.reports])
    for k, step in enumerate(steps, start=5000):
        rows = recording.of_step(k)
        np.testing.assert_array_equal(recording.impulses[rows], step.impulses)
        np.testing.assert_array_equal(recording.points[rows], [contact.point for contact in step.contacts])
        np.testing.assert_array_equal(recording.normals[rows], [contact.normal for contact in step.contacts])
        np.testing.assert_array_equal(recording.gaps[rows], [contact.gap for contact in step.contacts])
        identities = list(zip(recording.pairs[rows], recording.slots[rows], strict=True))
        assert identities == [contact.identity for contact in step.contacts]


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_repeat_the_run(tmp_path, kind):
    """Torques of some steps and controls of all: given again they lead to the same states, bit for bit."""
    scene = taut.scenes.make("half_cheetah")
    rng = np.random.default_rng(3)
    nv, nu = scene.model.nv, len(scene.actuators)
    taus, controls = rng.normal(size=(300, nv)), rng.uniform(-1, 1, (5000, nu))
    sim = taut.Simulator(scene)
    path = tmp_path / f"inputs.{kind}"
    with sim.record(path):
        first = sim.rollout(scene.q0, np.zeros(nv), steps=4700, control=controls[:4700])  # a piece without torques
        second = sim.rollout(first.q[-1], first.v[-1], taus, control=controls[4700:])
    recording = taut.load_recording(path)
    np.testing.assert_array_equal(recording.control, controls)
    np.testing.assert_array_equal(recording.tau, np.concatenate([np.zeros((4700, nv)), taus]))
    again = taut.Simulator(scene, **recording.metadata["options"]).rollout(
        recording.q[0], recording.v[0], recording.tau, control=recording.control
    )
    np.testing.assert_array_equal(again.q, recording.q)
    np.testing.assert_array_equal(again.q[4701:], second.q[1:])
    assert recording.metadata["nu"] == len(recording.metadata["actuators"]) == nu


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_given_is_nothing_recorded(run, kind):
    recording = taut.load_recording(run[0] / f"run.{kind}")
    assert recording.tau.shape == (0, 18)
    assert recording.control.shape == (0, 0)


def test_two_recorders_write_the_same(tmp_path):
    """At once, to both kinds of file; one of them for a part of the run."""
    sim = go1_simulator()
    with sim.record(tmp_path / "whole.npz"):
        before = sim.rollout(sim.scene.q0, np.zeros(18), steps=50)
        with sim.record(tmp_path / "part.mcap"):
            sim.rollout(before.q[-1], before.v[-1], steps=100)
    whole, part = (taut.load_recording(tmp_path / name) for name in ("whole.npz", "part.mcap"))
    assert (len(whole), len(part)) == (150, 100)
    np.testing.assert_array_equal(whole.q[50:], part.q)
    np.testing.assert_array_equal(whole.impulses[-len(part.impulses) :], part.impulses)


@pytest.mark.parametrize("kind", KINDS)
def test_one_degree_of_freedom_is_a_column(tmp_path, kind):
    model = pinocchio.Model()
    joint = model.addJoint(0, pinocchio.JointModelRX(), pinocchio.SE3.Identity(), "hinge")
    model.appendBodyToJoint(joint, pinocchio.Inertia.Random(), pinocchio.SE3.Identity())
    sim = taut.Simulator(from_pinocchio(model, pinocchio.GeometryModel()))
    path = tmp_path / f"pendulum.{kind}"
    with sim.record(path):
        run = sim.rollout([0.5], [0.0], np.full((10, 1), 0.1))
    recording = taut.load_recording(path)
    np.testing.assert_array_equal(recording.q, run.q)
    np.testing.assert_array_equal(recording.tau, np.full((10, 1), 0.1))


def test_a_scene_that_cannot_move_is_recorded(tmp_path):
    sim = taut.Simulator(taut.Scene())
    with sim.record(tmp_path / "still.npz"):
        sim.rollout([], [], steps=3)
    assert taut.load_recording(tmp_path / "still.npz").q.shape == (4, 0)


def test_flushing_from_another_thread_loses_nothing(tmp_path):
    sim = go1_simulator()
    with sim.record(tmp_path / "run.npz") as recorder:
        ended = threading.Event()
        flushing = threading.Thread(target=lambda: [recorder.flush() for _ in iter(ended.is_set, True)])
        flushing.start()
        run = sim.rollout(sim.scene.q0, np.zeros(18), steps=3000)
        q, v = run.q[-1], run.v[-1]
        for _ in range(500):
            step = sim.step(q, v)
            q, v = step.q, step.v
        ended.set()
        flushing.join()
    recording = taut.load_recording(tmp_path / "run.npz")
    assert len(recording) == 3500
    np.testing.assert_array_equal(recording.q[:3001], run.q)
    np.testing.assert_array_equal(recording.q[-1], q)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_from_elsewhere_is_a_restart(run, kind):
    recording = taut.load_recording(run[0] / f"run.{kind}")
    assert recording.restarts.tolist() == [5050]
    np.testing.assert_array_equal(recording.restart_q[0], recording.q[0])


def test_both_kinds_hold_the_same(run):
    one, other = (taut.load_recording(run[0] / f"run.{kind}") for kind in KINDS)
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column), err_msg=column)
    assert one.metadata["options"] == other.metadata["options"]


def test_recording_does_not_change_the_run(run):
    sim = go1_simulator()
    plain = sim.rollout(sim.scene.q0, np.zeros(18), steps=5000)
    np.testing.assert_array_equal(plain.q, run[1]["npz"][0].q)


def test_metadata_says_what_was_run(run):
    about = taut.load_recording(run[0] / "run.npz").metadata
    assert about["taut"] == taut.__version__
    assert about["options"]["dt"] == 1e-3
    assert about["options"]["solver"] == "auto"
    assert about["source"].endswith("go1.urdf")
    assert len(about["joints"]) == 13


def test_options_make_an_equal_simulator():
    scene = taut.scenes.make("cube_on_plane")
    sim = taut.Simulator(scene, dt=2e-3, solver="pgs", sides=6, correction=0.3, max_iterations=50, integrator="moreau")
    options = sim.options
    assert options["max_iterations"] == 50
    assert taut.Simulator(scene, **options).options == options


def test_the_model_comes_back(run):
    recording = taut.load_recording(run[0] / "run.mcap")
    original = taut.scenes.make("go1")
    assert recording.model == original.model
    assert [g.name for g in recording.scene.geometry.geometryObjects] == recording.metadata["shapes"]


# --- others read it


def test_numpy_reads_it(run):
    recording = taut.load_recording(run[0] / "run.npz")
    with np.load(run[0] / "run.npz") as file:
        assert set(file.files) == {"metadata", "t", *COLUMNS}
        for column in COLUMNS:
            np.testing.assert_array_equal(file[column], getattr(recording, column))
        np.testing.assert_allclose(file["t"], 1e-3 * np.arange(5081))
        assert json.loads(file["metadata"].item())["taut"] == taut.__version__
    assert zipfile.ZipFile(run[0] / "run.npz").testzip() is None


def test_a_long_recording_keeps_its_pieces(tmp_path, monkeypatch, run):
    monkeypatch.setattr(npz, "WHOLE_BELOW", 100_000)
    recording = taut.load_recording(run[0] / "run.npz")
    recording.save(tmp_path / "long.npz")
    again = taut.load_recording(tmp_path / "long.npz")
    assert again.complete
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(again, column), getattr(recording, column), err_msg=column)
    with np.load(tmp_path / "long.npz") as file:
        pieces = [file[f"q/{k:06d}"] for k in range(2)]
        np.testing.assert_array_equal(np.concatenate(pieces), recording.q[1:])
    assert zipfile.ZipFile(tmp_path / "long.npz").testzip() is None


def summary_start(path) -> int:
    return int.from_bytes(path.read_bytes()[-28:-20], "little")


def test_the_reader_of_mcap_agrees(run):
    reader = pytest.importorskip("mcap.reader")
    decoder = pytest.importorskip("mcap_ros2.decoder")
    recording = taut.load_recording(run[0] / "run.mcap")
    counts = dict.fromkeys(("/state", "/report", "/contacts", "/restart"), 0)
    with open(run[0] / "run.mcap", "rb") as file:
        source = reader.make_reader(file, validate_crcs=True, decoder_factories=[decoder.DecoderFactory()])
        summary = source.get_summary()
        assert summary.statistics.message_count == 3 * 5080 + 2
        assert [item.name for item in source.iter_metadata()] == ["taut"]
        file.seek(0)
        kinds = [kind for kind, begin, _ in records(file.read(), 8) if begin > summary_start(run[0] / "run.mcap")]
        assert kinds == sorted(kinds, key=kinds.index)  # grouped, as a summary must be
        for _, channel, message, content in source.iter_decoded_messages():
            counts[channel.topic] += 1
            k = message.sequence
            assert message.log_time == round(1e9 * 1e-3 * k)
            if channel.topic == "/state":
                assert content.q == recording.q[k].tolist()
                assert content.v == recording.v[k].tolist()
            elif channel.topic == "/report":
                assert content.iterations == recording.iterations[k - 1]
                assert content.natural == recording.residuals[k - 1, 3]
            elif channel.topic == "/contacts":
                rows = recording.of_step(k - 1)
                assert [c.impulse for c in content.contacts] == recording.impulses[rows].tolist()
                assert [c.mode for c in content.contacts] == recording.modes[rows].tolist()
    assert counts == {"/state": 5080, "/report": 5080, "/contacts": 5080, "/restart": 2}


# --- what it means


def test_modes_of_a_cube_that_slides_and_stops(tmp_path):
    """It slides for v0 / (mu g) and sticks from then on."""
    v0, mu = 1.0, 0.4
    scene = taut.scenes.make("sliding_cube", mu=mu)
    sim = taut.Simulator(scene)
    with sim.record(tmp_path / "cube.npz"):
        sim.rollout(scene.q0, [v0, 0, 0, 0, 0, 0], steps=400)
    recording = taut.load_recording(tmp_path / "cube.npz")
    slides = [
        "sliding" in {MODES[mode] for mode in recording.modes[recording.of_step(k)]} for k in range(len(recording))
    ]
    stops = round(v0 / (mu * 9.81) / 1e-3)
    assert all(slides[: stops - 1])
    assert not any(slides[stops + 1 :])
    assert {MODES[mode] for mode in recording.modes[recording.of_step(399)]} == {"sticking"}


def test_a_contact_that_opens_is_breaking(tmp_path):
    scene = taut.scenes.make("cube_on_plane")
    sim = taut.Simulator(scene)
    with sim.record(tmp_path / "cube.npz"):
        sim.rollout(scene.q0, [0, 0, 0.01, 0, 0, 0], steps=1)
    recording = taut.load_recording(tmp_path / "cube.npz")
    assert len(recording.modes) == 4
    assert {MODES[mode] for mode in recording.modes} == {"breaking"}
    assert not recording.impulses.any()


def test_impulses_carry_the_weight(tmp_path):
    scene = taut.scenes.make("cube_on_plane")
    sim = taut.Simulator(scene)
    with sim.record(tmp_path / "cube.npz"):
        sim.rollout(scene.q0, np.zeros(6), steps=50)
    recording = taut.load_recording(tmp_path / "cube.npz")
    weight = sum(inertia.mass for inertia in scene.model.inertias) * 9.81 * 1e-3
    assert recording.impulses[recording.of_step(49), 2].sum() == pytest.approx(weight, rel=1e-3)


@pytest.mark.parametrize("name", ["cube_on_plane", "go1", "stack", "h1"])
def test_forces_act_on_the_body_they_name(tmp_path, name):
    """Some of these scenes have the floor first in their pairs, some last: what stands on it is pushed up."""
    scene = taut.scenes.make(name)
    sim = taut.Simulator(scene)
    with sim.record(tmp_path / "run.npz"):
        sim.rollout(scene.q0, np.zeros(scene.model.nv), steps=200)
    recording = taut.load_recording(tmp_path / "run.npz")
    step = sim.step(recording.q[-2], recording.v[-2])
    rows = recording.of_step(199)
    assert recording.bodies[rows].tolist() == [[contact.joint_1, contact.joint_2] for contact in step.contacts]
    on_floor = recording.bodies[:, 1] == 0
    assert on_floor.any()
    assert (recording.bodies[:, 0] > 0).all()
    assert (recording.forces[on_floor, 2] >= 0).all()
    assert recording.forces[on_floor, 2].max() > 0


def test_surfaces_come_back(tmp_path):
    """A run of the recorded scene, with its options, is the run."""
    scene = taut.scenes.make("stack", n=2)
    shapes = [shape.name for shape in scene.geometry.geometryObjects]
    scene.set_friction(shapes[0], 0.05)
    scene.set_pair_friction(shapes[-1], shapes[-2], 0.3)
    scene.set_restitution(shapes[1], 0.5)
    scene.friction_rule = "minimum"
    sim = taut.Simulator(scene)
    v = np.array([1.0, 0.3, 0, 0, 0, 1.0, 0.2, 0, 0, 0, 0, 0])
    with sim.record(tmp_path / "run.npz"):
        sim.rollout(scene.q0, v, steps=200)
    recording = taut.load_recording(tmp_path / "run.npz")
    again = taut.Simulator(recording.scene, **recording.metadata["options"])
    path = again.rollout(recording.q[0], recording.v[0], steps=200)
    np.testing.assert_array_equal(path.q, recording.q)


def test_gains_come_back(tmp_path):
    sim = go1_simulator()
    with sim.record(tmp_path / "run.npz"):
        sim.rollout(sim.scene.q0, np.zeros(18), steps=300)
    recording = taut.load_recording(tmp_path / "run.npz")
    held = recording.metadata["held"]
    again = taut.Simulator(sim.scene, **recording.metadata["options"])
    again.hold(recording.q[0], held["kp"], held["kd"])
    assert held["torque_limit"] == [None] * 18
    np.testing.assert_array_equal(again.rollout(recording.q[0], recording.v[0], steps=300).q, recording.q)


# --- processes that end as they should not

RECORDER = """
import sys, numpy as np, taut
sim = taut.Simulator(taut.scenes.make("go1", height=0.1))
sim.hold(sim.scene.q0, 300.0, 10.0)
recorder = sim.record(sys.argv[1])
q, v = sim.scene.q0, np.zeros(18)
for _ in range(int(sys.argv[2])):
    path = sim.rollout(q, v, steps=1000)
    q, v = path.q[-1], path.v[-1]
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_process_leaves_a_readable_file(tmp_path, kind):
    path = tmp_path / f"killed.{kind}"
    process = subprocess.Popen([sys.executable, "-c", RECORDER, str(path), "1000000"])
    deadline = time.monotonic() + 60
    while (not path.exists() or path.stat().st_size < 8e6) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    with pytest.warns(taut.TautWarning, match="was not finished"):
        recording = taut.load_recording(path)
    assert not recording.complete
    assert len(recording) > 4096
    sim = go1_simulator()
    expected = sim.rollout(sim.scene.q0, np.zeros(18), steps=len(recording))
    np.testing.assert_array_equal(recording.q, expected.q)
    np.testing.assert_array_equal(recording.contacts, expected.contacts)

    finished = tmp_path / "finished.npz"
    recording.save(finished)
    again = taut.load_recording(finished)
    assert again.complete
    np.testing.assert_array_equal(again.q, expected.q)


def test_a_recorder_nobody_closes_is_finished_at_the_end(tmp_path):
    path = tmp_path / "open.npz"
    done = subprocess.run([sys.executable, "-c", RECORDER, str(path), "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    recording = taut.load_recording(path)
    assert recording.complete
    assert len(recording) == 2000


@pytest.mark.parametrize("kind", KINDS)
def test_steps_that_nothing_follows_survive(tmp_path, kind):
    """Fewer than a piece, then the process rests, and is killed."""
    code = RECORDER.replace("steps=1000", "steps=100") + "print(flush=True)\n__import__('time').sleep(60)\n"
    path = tmp_path / f"rests.{kind}"
    process = subprocess.Popen([sys.executable, "-c", code, str(path), "1"], stdout=subprocess.PIPE)
    process.stdout.readline()
    before, deadline = path.stat().st_size, time.monotonic() + 30
    while path.stat().st_size == before and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    with pytest.warns(taut.TautWarning, match="was not finished"):
        assert len(taut.load_recording(path)) == 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("kind", KINDS)
def test_a_forked_process_leaves_the_file_alone(tmp_path, kind):
    code = (
        RECORDER
        + """
import gc, os
if os.fork() == 0:
    sim.rollout(q, v, steps=20000)
    del sim, recorder
    gc.collect()
    sys.exit(0)
os.wait()
sim.rollout(q, v, steps=1000)
recorder.close()
"""
    )
    path = tmp_path / f"forked.{kind}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(path), "1"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    recording = taut.load_recording(path)
    assert recording.complete
    assert len(recording) == 2000


def test_a_handler_that_closes_within_a_step_is_told(tmp_path):
    """It would wait for the step it interrupts. One that raises ends the step, and `with` closes the file."""
    code = """
import signal, sys, threading, os, numpy as np, taut
sim = taut.Simulator(taut.scenes.make("cube_on_plane"))
said = []
with sim.record(sys.argv[1]) as recorder:
    def handler(*_):
        try:
            recorder.close()
        except RuntimeError as error:
            said.append(str(error))
            raise
    signal.signal(signal.SIGTERM, handler)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
    try:
        while not recorder.closed:  # it may have met the moment between two calls
            sim.rollout(sim.scene.q0, np.zeros(6), steps=10000)
    except RuntimeError:
        pass
assert not said or "raise an exception" in said[0], said
"""
    path = tmp_path / "handled.npz"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert taut.load_recording(path).complete


def test_a_close_that_was_interrupted_can_be_repeated(tmp_path, monkeypatch):
    sim = go1_simulator()
    recorder = sim.record(tmp_path / "run.npz")
    sim.rollout(sim.scene.q0, np.zeros(18), steps=100)
    join, calls = threading.Thread.join, iter([True])

    def interrupted(self, *arguments):
        if self is recorder._pipe.thread and next(calls, False):
            raise KeyboardInterrupt
        return join(self, *arguments)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        recorder.close()
    recorder.close()
    assert recorder.closed
    assert len(taut.load_recording(tmp_path / "run.npz")) == 100


def test_a_file_that_went_away_is_told(tmp_path):
    for kind in KINDS:
        sim = go1_simulator()
        recorder = sim.record(tmp_path / f"run.{kind}")
        sim.rollout(sim.scene.q0, np.zeros(18), steps=10)
        (tmp_path / f"run.{kind}").unlink()
        with pytest.raises(OSError, match=rf"run\.{kind}.*removed or replaced"):
            recorder.close()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "large").mkdir()
    target, link = tmp_path / "large" / "run.npz", tmp_path / "run.npz"
    link.symlink_to(target)
    sim = go1_simulator()
    with sim.record(link):
        sim.rollout(sim.scene.q0, np.zeros(18), steps=10)
    assert link.is_symlink()
    assert len(taut.load_recording(target)) == 10


def test_a_cell_of_a_notebook_can_be_run_again(tmp_path):
    """The simulator of the first time is gone, but nobody has collected it."""
    for _ in range(2):
        sim = go1_simulator()
        sim.record(tmp_path / "run.npz")
        sim.rollout(sim.scene.q0, np.zeros(18), steps=10)
        del sim


def test_no_room_to_put_a_file_together(tmp_path, monkeypatch):
    """It keeps its pieces, as a long one does."""

    def full(path, *_):
        path.write_bytes(b"some")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(npz, "write_whole", full)
    sim = go1_simulator()
    with sim.record(tmp_path / "run.npz"):
        run = sim.rollout(sim.scene.q0, np.zeros(18), steps=10)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
    recording = taut.load_recording(tmp_path / "run.npz")
    assert recording.complete
    np.testing.assert_array_equal(recording.q, run.q)


def test_a_full_disk_is_told(tmp_path):
    """Of 200 kB: the first piece does not fit."""
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))" + RECORDER
    done = subprocess.run(
        [sys.executable, "-c", code + "recorder.close()\n", str(tmp_path / "full.npz"), "100"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "could not go on recording" in done.stderr
    assert "full.npz" in done.stderr


def test_an_error_in_the_run_keeps_what_was_done(tmp_path):
    sim = go1_simulator()
    with pytest.raises(ValueError, match="is nan"), sim.record(tmp_path / "run.npz"):
        path = sim.rollout(sim.scene.q0, np.zeros(18), steps=10)
        sim.step(path.q[-1], np.full(18, np.nan))
    assert len(taut.load_recording(tmp_path / "run.npz")) == 10
    sim.step(sim.scene.q0, np.zeros(18))  # not recorded any more
    assert len(taut.load_recording(tmp_path / "run.npz")) == 10


# --- wrong files


@pytest.mark.parametrize("share", [0.0001, 0.01, 0.3, 0.6, 0.95, 0.9999])
def test_a_truncated_npz_gets_a_clear_error(run, tmp_path, share):
    whole = (run[0] / "run.npz").read_bytes()
    path = tmp_path / "cut.npz"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"cut\.npz (is cut short|has lost its end|is empty|is not a recording)"):
        taut.load_recording(path)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unfinished_file_cut_anywhere_is_a_prefix_or_an_error(run, tmp_path, kind, rng):
    sim = go1_simulator()
    recorder = sim.record(tmp_path / f"whole.{kind}")
    for _ in range(3):
        sim.rollout(sim.scene.q0, np.zeros(18), steps=50)
        recorder.flush()
    path = tmp_path / f"cut.{kind}"
    shutil.copy(recorder.path, path)
    recorder.close()
    complete = taut.load_recording(recorder.path)
    content = path.read_bytes()
    lengths = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", taut.TautWarning)
        assert len(taut.load_recording(path)) == 150
        for size in rng.integers(1, len(content), 100):
            path.write_bytes(content[:size])
            try:
                recording = taut.load_recording(path)
            except ValueError as error:
                assert path.name in str(error)
                lengths.add(None)
                continue
            assert not recording.complete
            lengths.add(len(recording))
            np.testing.assert_array_equal(recording.q, complete.q[: len(recording.q)])
    assert lengths == {None, 0, 50, 100}


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_told_or_reads_equal(tmp_path, kind, rng):
    """One byte anywhere: in padding, names or summaries it does not matter, elsewhere a checksum finds it."""
    sim = go1_simulator(0.01)
    path = tmp_path / f"run.{kind}"
    with sim.record(path) as recorder:
        run = sim.rollout(sim.scene.q0, np.zeros(18), np.ones((40, 18)))
        recorder.flush()
        sim.rollout(run.q[-1], run.v[-1], steps=40)
    good = taut.load_recording(path)
    content = path.read_bytes()
    told = 0
    for at in rng.integers(0, len(content), 400):
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.integers(8)
        path.unlink()  # `good` is mapped
        path.write_bytes(damaged)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", taut.TautWarning)
                found = taut.load_recording(path)
        except ValueError as error:
            assert path.name in str(error)
            told += 1
            continue
        if found.complete:
            for column in COLUMNS:
                np.testing.assert_array_equal(getattr(found, column), getattr(good, column), err_msg=f"{column} {at}")
        else:
            np.testing.assert_array_equal(found.q, good.q[: len(found.q)])
    assert told > 100


@pytest.mark.parametrize("kind", KINDS)
def test_every_bit_of_heads_and_indexes_is_checked(tmp_path, kind):
    """What stands between the numbers: a flipped bit there may not lose steps, inputs or restarts without a word."""
    sim = taut.Simulator(taut.scenes.make("ball", height=0.02))
    path = tmp_path / f"run.{kind}"
    q, v = sim.scene.q0, np.zeros(6)
    with sim.record(path) as recorder:
        for _ in range(2):
            sim.rollout(q, v, np.ones((4, 6)))
            recorder.flush()
    good, content = taut.load_recording(path), path.read_bytes()
    metadata = content.index(b'{"format"'), content.index(b"spring_reference")
    silent = []
    for at in (*range(metadata[0]), *range(metadata[1] + 200_000, len(content)), *range(metadata[0], metadata[1], 97)):
        damaged = bytearray(content)
        damaged[at] ^= 1 << (at % 8)
        path.unlink()
        path.write_bytes(damaged)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", taut.TautWarning)
                found = taut.load_recording(path)
        except (ValueError, taut.TautWarning) as error:
            assert path.name in str(error)
            continue
        same = found.metadata == good.metadata
        same &= all(np.array_equal(getattr(found, name), getattr(good, name)) for name in COLUMNS)
        if not same:
            silent.append(at)
    assert silent == []


def test_a_file_written_anew_by_numpy_is_told(run, tmp_path):
    with np.load(run[0] / "run.npz") as file:
        np.savez(tmp_path / "saved.npz", **file)
        np.savez_compressed(tmp_path / "packed.npz", **file)
    for name in ("saved", "packed"):
        with pytest.raises(ValueError, match=rf"{name}\.npz (was written anew by another tool|is not a recording)"):
            taut.load_recording(tmp_path / f"{name}.npz")


def test_an_mcap_cut_within_its_metadata_is_told(run, tmp_path):
    path = tmp_path / "cut.mcap"
    path.write_bytes((run[0] / "run.mcap").read_bytes()[:5000])
    with pytest.raises(ValueError, match=r"cut\.mcap is cut short: it ends within its metadata"):
        taut.load_recording(path)


def test_metadata_of_somebody_else_is_told(tmp_path):
    np.savez(tmp_path / "other.npz", metadata=np.array(b'{"format": 1}'))
    with pytest.raises(ValueError, match=r"other\.npz"):
        taut.load_recording(tmp_path / "other.npz")
    with pytest.raises(ValueError, match=r"other\.npz is not a recording of taut: its metadata has no 'options'"):
        about.decode(b'{"format": 1}', "other.npz")


def rewritten(source, target, metadata_last: bool) -> None:
    """As another tool would: other numbers for channels, small chunks, messages by time."""
    reader, writer = pytest.importorskip("mcap.reader"), pytest.importorskip("mcap.writer")
    with open(source, "rb") as read, open(target, "wb") as write:
        made = writer.Writer(write, compression=writer.CompressionType.NONE, chunk_size=20_000)
        made.start()
        content = reader.make_reader(read)
        about = next(content.iter_metadata())
        if not metadata_last:
            made.add_metadata(about.name, about.metadata)
        made.register_schema("other", "ros2msg", b"")
        channels: dict[str, int] = {}
        for schema, channel, message in content.iter_messages():
            if channel.topic not in channels:
                number = made.register_schema(schema.name, schema.encoding, schema.data)
                channels[channel.topic] = made.register_channel(channel.topic, channel.message_encoding, number)
            times = {"log_time": message.log_time, "publish_time": message.publish_time}
            made.add_message(channels[channel.topic], data=message.data, sequence=message.sequence, **times)
        if metadata_last:
            made.add_metadata(about.name, about.metadata)
        made.finish()


@pytest.mark.parametrize("metadata_last", [False, True])
def test_what_another_tool_wrote_anew_reads_equal(run, tmp_path, metadata_last):
    rewritten(run[0] / "run.mcap", tmp_path / "other.mcap", metadata_last)
    one, other = taut.load_recording(run[0] / "run.mcap"), taut.load_recording(tmp_path / "other.mcap")
    assert other.complete
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column), err_msg=column)


def test_an_interrupt_loses_no_piece(tmp_path, monkeypatch):
    """Wherever it meets the sink: before or after it has taken a piece."""
    sim = go1_simulator()
    put = pipe.Pipe.put
    meets = iter(["before", None, "after", None, None])

    def interrupted(self, piece):
        when = next(meets, None)
        if when == "before":
            raise KeyboardInterrupt
        put(self, piece)
        if when == "after":
            raise KeyboardInterrupt

    monkeypatch.setattr(pipe.Pipe, "put", interrupted)
    with sim.record(tmp_path / "run.npz") as recording:
        whole = sim.rollout(sim.scene.q0, np.zeros(18), steps=30)
        with pytest.raises(KeyboardInterrupt):
            recording.flush()
        again = sim.rollout(whole.q[-1], whole.v[-1], steps=30)
        with pytest.raises(KeyboardInterrupt):
            recording.flush()
    found = taut.load_recording(tmp_path / "run.npz")
    assert len(found) == 60
    np.testing.assert_array_equal(found.q[31:], again.q[1:])
    assert found.restarts.tolist() == []


def test_a_file_that_is_mapped_can_be_written_again(run, tmp_path):
    for kind in KINDS:
        path = tmp_path / f"run.{kind}"
        shutil.copy(run[0] / f"run.{kind}", path)
        recording = taut.load_recording(path)
        recording.save(path)
        again = taut.load_recording(path)
        np.testing.assert_array_equal(again.q, recording.q)
        with go1_simulator().record(path):
            np.testing.assert_array_equal(again.q, recording.q)


def test_the_folder_of_the_process_may_change(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    sim = go1_simulator()
    with sim.record("run.npz"):
        sim.rollout(sim.scene.q0, np.zeros(18), steps=5)
        monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(taut.load_recording(tmp_path / "run.npz")) == 5


def test_springs_keep_their_energy(tmp_path):
    sim = taut.Simulator(taut.scenes.make("cassie"))
    q = sim.scene.assemble(sim.scene.q0, fixed=[1])
    with sim.record(tmp_path / "run.npz"):
        sim.rollout(q, np.zeros(sim.scene.model.nv), steps=3)
    recording = taut.load_recording(tmp_path / "run.npz")
    energies = [taut.mechanical_energy(scene, recording.q, recording.v) for scene in (sim.scene, recording.scene)]
    np.testing.assert_array_equal(*energies)


def test_foreign_files_get_a_clear_error(tmp_path):
    np.savez(tmp_path / "arrays.npz", q=np.zeros((3, 7)))
    (tmp_path / "text.npz").write_text("not a zip")
    (tmp_path / "empty.npz").write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "archive.npz", "w") as file:
        file.writestr("readme.txt", "hello")
    for name in ("arrays", "text", "archive"):
        with pytest.raises(ValueError, match=f"{name}.npz is not a recording of taut"):
            taut.load_recording(tmp_path / f"{name}.npz")
    with pytest.raises(ValueError, match=r"empty\.npz is empty"):
        taut.load_recording(tmp_path / "empty.npz")
    with pytest.raises(FileNotFoundError, match=r"none\.npz"):
        taut.load_recording(tmp_path / "none.npz")


def test_a_foreign_mcap_gets_a_clear_error(tmp_path):
    writer = pytest.importorskip("mcap.writer")
    with open(tmp_path / "other.mcap", "wb") as file:
        other = writer.Writer(file)
        other.start()
        other.finish()
    with pytest.raises(ValueError, match=r"other\.mcap is not a recording of taut"):
        taut.load_recording(tmp_path / "other.mcap")


def test_a_later_format_is_refused(run, tmp_path):
    """A file of a later taut says which one it needs."""
    recording = taut.load_recording(run[0] / "run.npz")
    recording.metadata = {**recording.metadata, "format": 99, "taut": "9.9"}
    recording.save(tmp_path / "later.mcap")
    with pytest.raises(ValueError, match=r"format 99 of taut 9\.9"):
        taut.load_recording(tmp_path / "later.mcap")


def test_wrong_requests_are_named(tmp_path):
    sim = go1_simulator()
    with pytest.raises(ValueError, match=r"run\.csv"):
        sim.record(tmp_path / "run.csv")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        sim.record(tmp_path / "nowhere" / "run.npz")
    with sim.record(tmp_path / "run.npz"), pytest.raises(ValueError, match=r"run\.npz.*already"):
        go1_simulator().record(tmp_path / "run.npz")
    recording = taut.load_recording(tmp_path / "run.npz")
    assert len(recording) == 0
    with pytest.raises(IndexError, match="step 0 of 0"):
        recording.of_step(0)


def test_the_bench_reads_back_equal(tmp_path):
    path = tmp_path / "bench.json"
    arguments = ["bench", "recording", "--steps", "20000", "--chunk", "5000", "--json", str(path)]
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, arguments)
    assert result.exit_code == 0, result.output
    results = json.loads(path.read_text())["results"]
    assert [row["name"] for row in results] == ["not recorded", "npz", "mcap"]
    assert all(row["equal"] for row in results)
