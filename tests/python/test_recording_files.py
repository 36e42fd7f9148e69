"""Recordings in files that are cut, damaged or somebody else's."""

from __future__ import annotations

import json
import shutil
import warnings
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

import taut
from recorder import KINDS, go1_simulator
from taut.cli import app
from taut.recording import about, pipe
from taut.recording.columns import COLUMNS


@pytest.mark.parametrize("share", [0.0001, 0.01, 0.3, 0.6, 0.95, 0.9999])
def test_a_truncated_npz_gets_a_clear_error(recorded, tmp_path, share):
    whole = (recorded[0] / "run.npz").read_bytes()
    path = tmp_path / "cut.npz"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"cut\.npz (is cut short|has lost its end|is empty|is not a recording)"):
        taut.load_recording(path)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unfinished_file_cut_anywhere_is_a_prefix_or_an_error(recorded, tmp_path, kind, rng):
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


def test_a_file_written_anew_by_numpy_is_told(recorded, tmp_path):
    with np.load(recorded[0] / "run.npz") as file:
        np.savez(tmp_path / "saved.npz", **file)
        np.savez_compressed(tmp_path / "packed.npz", **file)
    for name in ("saved", "packed"):
        with pytest.raises(ValueError, match=rf"{name}\.npz (was written anew by another tool|is not a recording)"):
            taut.load_recording(tmp_path / f"{name}.npz")


def test_an_mcap_cut_within_its_metadata_is_told(recorded, tmp_path):
    path = tmp_path / "cut.mcap"
    path.write_bytes((recorded[0] / "run.mcap").read_bytes()[:5000])
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
def test_what_another_tool_wrote_anew_reads_equal(recorded, tmp_path, metadata_last):
    rewritten(recorded[0] / "run.mcap", tmp_path / "other.mcap", metadata_last)
    one, other = taut.load_recording(recorded[0] / "run.mcap"), taut.load_recording(tmp_path / "other.mcap")
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


def test_a_file_that_is_mapped_can_be_written_again(recorded, tmp_path):
    for kind in KINDS:
        path = tmp_path / f"run.{kind}"
        shutil.copy(recorded[0] / f"run.{kind}", path)
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


def test_a_later_format_is_refused(recorded, tmp_path):
    """A file of a later taut says which one it needs."""
    recording = taut.load_recording(recorded[0] / "run.npz")
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
