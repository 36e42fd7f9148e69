"""Recordings: what was stepped is what is read back, by taut and by others."""

from __future__ import annotations

import json
import threading
import zipfile

import numpy as np
import pinocchio
import pytest

import taut
from recorder import KINDS, go1_simulator
from taut.loading import from_pinocchio
from taut.recording import MODES, npz
from taut.recording.columns import COLUMNS
from taut.recording.mcap_reading import records


@pytest.mark.parametrize("kind", KINDS)
def test_reads_back_equal(recorded, kind):
    folder, returned = recorded
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
def test_nothing_given_is_nothing_recorded(recorded, kind):
    recording = taut.load_recording(recorded[0] / f"run.{kind}")
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
def test_a_step_from_elsewhere_is_a_restart(recorded, kind):
    recording = taut.load_recording(recorded[0] / f"run.{kind}")
    assert recording.restarts.tolist() == [5050]
    np.testing.assert_array_equal(recording.restart_q[0], recording.q[0])


def test_both_kinds_hold_the_same(recorded):
    one, other = (taut.load_recording(recorded[0] / f"run.{kind}") for kind in KINDS)
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column), err_msg=column)
    assert one.metadata["options"] == other.metadata["options"]


def test_recording_does_not_change_the_run(recorded):
    sim = go1_simulator()
    plain = sim.rollout(sim.scene.q0, np.zeros(18), steps=5000)
    np.testing.assert_array_equal(plain.q, recorded[1]["npz"][0].q)


def test_metadata_says_what_was_run(recorded):
    about = taut.load_recording(recorded[0] / "run.npz").metadata
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


def test_the_model_comes_back(recorded):
    recording = taut.load_recording(recorded[0] / "run.mcap")
    original = taut.scenes.make("go1")
    assert recording.model == original.model
    assert [g.name for g in recording.scene.geometry.geometryObjects] == recording.metadata["shapes"]


# --- others read it


def test_numpy_reads_it(recorded):
    recording = taut.load_recording(recorded[0] / "run.npz")
    with np.load(recorded[0] / "run.npz") as file:
        assert set(file.files) == {"metadata", "t", *COLUMNS}
        for column in COLUMNS:
            np.testing.assert_array_equal(file[column], getattr(recording, column))
        np.testing.assert_allclose(file["t"], 1e-3 * np.arange(5081))
        assert json.loads(file["metadata"].item())["taut"] == taut.__version__
    assert zipfile.ZipFile(recorded[0] / "run.npz").testzip() is None


def test_a_long_recording_keeps_its_pieces(tmp_path, monkeypatch, recorded):
    monkeypatch.setattr(npz, "WHOLE_BELOW", 100_000)
    recording = taut.load_recording(recorded[0] / "run.npz")
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


def test_the_reader_of_mcap_agrees(recorded):
    reader = pytest.importorskip("mcap.reader")
    decoder = pytest.importorskip("mcap_ros2.decoder")
    recording = taut.load_recording(recorded[0] / "run.mcap")
    counts = dict.fromkeys(("/state", "/report", "/contacts", "/restart"), 0)
    with open(recorded[0] / "run.mcap", "rb") as file:
        source = reader.make_reader(file, validate_crcs=True, decoder_factories=[decoder.DecoderFactory()])
        summary = source.get_summary()
        assert summary.statistics.message_count == 3 * 5080 + 2
        assert [item.name for item in source.iter_metadata()] == ["taut"]
        file.seek(0)
        kinds = [kind for kind, begin, _ in records(file.read(), 8) if begin > summary_start(recorded[0] / "run.mcap")]
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
