"""Recordings on disks that are full, lost or forbidden: what was written reads back, and the simulator goes on."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import taut
from recorder import KINDS, go1_simulator

# A process that may write files of sys.argv[2] bytes at most, which fills its disk without filling anybody else's.
LIMITED = """
import resource, sys, numpy as np, taut
path, room, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sim = taut.Simulator(taut.scenes.make("go1", height=0.1))
sim.hold(sim.scene.q0, 300.0, 10.0)
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
errors, q, v = [], sim.scene.q0, np.zeros(18)
recorder = sim.record(path)
for _ in range(steps // 1000):
    try:
        run = sim.rollout(q, v, steps=1000)
        q, v = run.q[-1], run.v[-1]
        recorder._pipe.waiting.join()
    except OSError as error:
        errors.append(f"step: {error}")
try:
    recorder.close()
except OSError as error:
    errors.append(f"close: {error}")
assert recorder.closed
recorder.close()
sim.step(q, v)
for error in errors:
    print(error)
"""


def limited(path, room: int, steps: int) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), str(room), str(steps)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def expect_prefix(path) -> int:
    """The steps that the file holds, which are those of a run without faults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", taut.TautWarning)  # of those that were not finished
        recording = taut.load_recording(path)
    sim = go1_simulator()
    expected = sim.rollout(sim.scene.q0, np.zeros(18), steps=len(recording))
    np.testing.assert_array_equal(recording.q, expected.q[: len(recording.q)])
    assert len(recording.q) in (0, len(recording) + 1)  # of no steps there is no start either
    return len(recording)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are Unix's")
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_told_once_and_what_was_written_reads_back(tmp_path, kind):
    path = tmp_path / f"full.{kind}"
    errors = limited(path, 8_000_000, 20_000)
    assert len(errors) == 1, errors
    assert errors[0].startswith(f"step: {path}: could not go on recording: ")
    assert "File too large" in errors[0]
    assert expect_prefix(path) >= 4096
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are Unix's")
@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_that_fills_at_the_end_is_told_by_close(tmp_path, kind):
    """Wherever the limit meets the end of the file: pieces, the directory or summary, the file made anew."""
    whole = tmp_path / f"whole.{kind}"
    assert limited(whole, 1 << 30, 1000) == []
    size, seen = whole.stat().st_size, set()
    for room in sorted({size - 1, size - 50, size - 200, size - 1000, size // 2, size + 3000}):
        path = tmp_path / f"end_{room}.{kind}"
        errors = limited(path, room, 1000)
        assert len(errors) <= 1, errors
        assert all(error.startswith("close: ") for error in errors), errors
        steps = expect_prefix(path)
        if errors:
            seen.add(steps)
        else:  # pieces in place of whole columns take less
            assert steps == 1000
        assert set(os.listdir(tmp_path)) == {whole.name, path.name}
        path.unlink()
    assert seen


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are Unix's")
@pytest.mark.parametrize("kind", KINDS)
def test_no_room_to_begin_leaves_nothing_behind(tmp_path, kind):
    arguments = [str(tmp_path / f"none.{kind}"), "100", "1000"]
    done = subprocess.run([sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True)
    assert done.returncode == 1
    assert "OSError" in done.stderr.splitlines()[-1]
    assert os.listdir(tmp_path) == []


@contextlib.contextmanager
def small_disk(folder, size: str):
    folder.mkdir()
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root mounts a small disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"no disk could be mounted: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_disk_fills(tmp_path, kind):
    with small_disk(tmp_path / "disk", "6m") as disk:
        path = disk / f"full.{kind}"
        sim = go1_simulator()
        with pytest.raises(OSError, match=f"{path.name}.*No space left"), sim.record(path) as recorder:
            sim.rollout(sim.scene.q0, np.zeros(18), steps=30_000)
        assert recorder.closed
        assert expect_prefix(path) >= 4096
        assert os.listdir(disk) == [path.name]
        # The simulator goes on, and can be recorded elsewhere.
        with sim.record(tmp_path / f"next.{kind}"):
            sim.rollout(sim.scene.q0, np.zeros(18), steps=10)
        assert len(taut.load_recording(tmp_path / f"next.{kind}")) == 10
        # Somebody made room.
        path.unlink()
        with sim.record(path):
            sim.rollout(sim.scene.q0, np.zeros(18), steps=100)
        assert taut.load_recording(path).complete


@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_that_fills_while_it_is_saved_leaves_no_piece_behind(tmp_path, kind):
    sim = go1_simulator()
    with sim.record(tmp_path / "run.npz"):
        sim.rollout(sim.scene.q0, np.zeros(18), steps=3000)
    recording = taut.load_recording(tmp_path / "run.npz")
    with small_disk(tmp_path / "disk", "1m") as disk:
        with pytest.raises(OSError) as raised:
            recording.save(disk / f"saved.{kind}")
        assert raised.value.errno == errno.ENOSPC
        assert os.listdir(disk) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_removed_is_told_by_close_and_its_handle_given_back(tmp_path, kind):
    sim = go1_simulator()
    path = tmp_path / f"lost.{kind}"
    recorder = sim.record(path)
    file = recorder._pipe.writer
    handle = (file.made.file if kind == "npz" else file.file).file
    sim.rollout(sim.scene.q0, np.zeros(18), steps=100)
    path.unlink()
    with pytest.raises(OSError, match="removed or replaced"):
        recorder.close()
    assert recorder.closed
    assert handle.closed
    recorder.close()
    sim.step(sim.scene.q0, np.zeros(18))


@pytest.mark.parametrize("kind", KINDS)
def test_a_flush_that_cannot_says_so_every_time(tmp_path, monkeypatch, kind):
    sim = go1_simulator()
    recorder = sim.record(tmp_path / f"run.{kind}")

    def full(piece):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(recorder._pipe.writer, "write", full)
    sim.rollout(sim.scene.q0, np.zeros(18), steps=10)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            recorder.flush()
    for _ in range(2):
        sim.rollout(sim.scene.q0, np.zeros(18), steps=10)  # was told
    recorder.close()
    assert recorder.closed


FORBIDDEN = """
import os, sys, taut
path = sys.argv[1]
sim = taut.Simulator(taut.scenes.make("cube_on_plane"))
if os.geteuid() == 0:
    os.setuid(65534)
try:
    sim.record(path)
except PermissionError as error:
    print(error)
sim.step(sim.scene.q0, [0.0] * 6)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are Unix's")
@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_one_may_not_write_to_is_named(kind):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)  # pytest's own are closed to others, and root may write anywhere
        path = folder / f"run.{kind}"
        path.write_text("mine")
        folder.chmod(0o555)
        done = subprocess.run([sys.executable, "-c", FORBIDDEN, str(path)], capture_output=True, text=True)
        folder.chmod(0o755)
        assert done.returncode == 0, done.stderr
        assert "Permission denied" in done.stdout
        assert str(path) in done.stdout
        assert path.read_text() == "mine"
