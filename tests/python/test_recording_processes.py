"""Recordings of processes that end as they should not, and of those that share a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import taut
from recorder import KINDS, go1_simulator
from taut.recording import npz

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
