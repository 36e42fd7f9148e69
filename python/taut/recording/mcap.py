"""Recordings as MCAP, for tools that stream: a chunk of messages for each piece of the tape.

A file is whole up to its last chunk at any time; `finish` adds the summary with which tools jump to a time.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from . import about
from .columns import INPUTS
from .growing import GrowingFile
from .messages import (
    CONTACTS,
    DEFINITIONS,
    INPUT,
    NAMES,
    REPORT,
    REPORT_TYPE,
    RESTART,
    STATE,
    TOPICS,
    Arena,
    Messages,
    arrays_type,
    contacts_type,
    fill_contacts,
)
from .writers import Finished

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, CHUNK = 0x01, 0x02, 0x03, 0x04, 0x06
MESSAGE_INDEX, CHUNK_INDEX, STATISTICS, METADATA, METADATA_INDEX, DATA_END = 0x07, 0x08, 0x0B, 0x0C, 0x0D, 0x0F
RECORDING = "taut"  # the metadata record
CHECKSUM = "crc32"  # of what it says, a second entry of it


def text(value: str) -> bytes:
    return struct.pack("<I", len(value.encode())) + value.encode()


def mapping(values: dict[str, str]) -> bytes:
    content = b"".join(text(key) + text(value) for key, value in values.items())
    return struct.pack("<I", len(content)) + content


def record(op: int, content: bytes) -> bytes:
    return struct.pack("<BQ", op, len(content)) + content


class McapWriter(Finished):
    """A recording being written to an .mcap file. Times are those of the simulation, from 0."""

    def __init__(self, path: Path, metadata: dict[str, Any]) -> None:
        from .. import __version__

        self.path = path
        self.dt = metadata["options"]["dt"]
        self.steps = 0
        self.counts = dict.fromkeys(TOPICS, 0)
        self.chunks: list[tuple[int, int, bytes]] = []  # first and last time, and the record of the chunk's index
        self.arena = Arena()
        self.file = GrowingFile(path)
        # Grouped by kind, as a summary must be.
        self.channels = b"".join(kind(number) for kind in (self._schema, self._channel) for number in TOPICS)
        encoded = about.encode(metadata)
        content = {"recording": encoded.decode(), CHECKSUM: f"{zlib.crc32(encoded):08x}"}
        said = record(METADATA, text(RECORDING) + mapping(content))
        start = MAGIC + record(HEADER, text("") + text(f"taut {__version__}"))
        self.said_at = (len(start), len(said))
        try:
            self.file.write(start + said + self.channels)
        except BaseException:
            self.file.discard(path)
            raise

    @staticmethod
    def _schema(number: int) -> bytes:
        definition = text(DEFINITIONS[number])
        return record(SCHEMA, struct.pack("<H", number) + text(NAMES[number]) + text("ros2msg") + definition)

    @staticmethod
    def _channel(number: int) -> bytes:
        return record(CHANNEL, struct.pack("<2H", number, number) + text(TOPICS[number]) + text("cdr") + mapping({}))

    def write(self, piece: dict[str, np.ndarray]) -> None:
        groups = self._messages(piece)
        size, crc = 0, 0
        for group in groups:
            size, crc = size + group.rows.nbytes, zlib.crc32(group.rows, crc)
        first = min(int(group.time.min()) for group in groups)
        last = max(int(group.time.max()) for group in groups)
        at = self.file.size
        head = struct.pack("<3QI", first, last, size, crc) + text("") + struct.pack("<Q", size)
        length = 9 + len(head) + size
        index, places = self._index(groups, at + length)
        start = struct.pack("<BQ", CHUNK, len(head) + size) + head
        self.file.write(start, *(group.rows for group in groups), index)
        offsets = b"".join(struct.pack("<HQ", channel, place) for channel, place in places.items())
        fields = struct.pack("<4QI", first, last, at, length, len(offsets)) + offsets
        fields += struct.pack("<Q", len(index)) + text("") + struct.pack("<2Q", size, size)
        self.chunks.append((first, last, record(CHUNK_INDEX, fields)))
        self.steps += len(piece["status"])

    def finish(self) -> None:
        """Data end, summary, footer."""
        self.file.require_at(self.path)
        end = record(DATA_END, struct.pack("<I", 0))
        start = self.file.size + len(end)
        first = min((chunk[0] for chunk in self.chunks), default=0)
        last = max((chunk[1] for chunk in self.chunks), default=0)
        counts = b"".join(struct.pack("<HQ", channel, count) for channel, count in self.counts.items())
        total = sum(self.counts.values())
        fields = (total, len(TOPICS), len(TOPICS), 0, 1, len(self.chunks), first, last, len(counts))
        summary = self.channels + record(STATISTICS, struct.pack("<QH4I2QI", *fields) + counts)
        summary += record(METADATA_INDEX, struct.pack("<2Q", *self.said_at) + text(RECORDING))
        summary += b"".join(chunk[2] for chunk in self.chunks)
        footer = struct.pack("<2Q", start, 0)
        crc = zlib.crc32(struct.pack("<BQ", FOOTER, 20) + footer, zlib.crc32(summary))
        self.file.write(end + summary + record(FOOTER, footer + struct.pack("<I", crc)) + MAGIC)
        self.file.close()

    def abandon(self) -> None:
        self.file.close()

    def _messages(self, piece: dict[str, np.ndarray]) -> list[Messages]:
        """By channel; the start of the run is the first restart. Row k of the states, what the step to it was given and
        what it met have time k dt."""
        self.arena.clear()
        steps = self.steps + 1 + np.arange(len(piece["status"]))
        times = np.round(1e9 * self.dt * steps)
        begun = piece["restarts"]
        made = [
            self._arrays(RESTART, begun, np.round(1e9 * self.dt * begun), q=piece["restart_q"], v=piece["restart_v"]),
            self._arrays(STATE, steps, times, q=piece["q"], v=piece["v"]),
        ]
        given = {name: piece[name] for name in INPUTS if len(piece[name])}
        if given:
            made.append(
                self._arrays(
                    INPUT, steps, times, **{name: given.get(name, np.empty((len(steps), 0))) for name in INPUTS}
                )
            )
        report = Messages(self.arena, REPORT_TYPE, REPORT, steps, times)
        report["status"], report["iterations"] = piece["status"], piece["iterations"]
        report["residuals"], report["model"] = piece["residuals"], piece["model_residuals"]
        made += [report, *self._contacts(piece, steps, times)]
        return [group for group in made if len(group.time)]

    def _arrays(self, channel: int, steps: np.ndarray, times: np.ndarray, **values: np.ndarray) -> Messages:
        widths = {name: value.shape[1] for name, value in values.items()}
        sizes = {f"{name}_size": width for name, width in widths.items()}
        made = Messages(self.arena, arrays_type(**widths), channel, steps, times, **sizes)
        for name, value in values.items():
            made[name] = value
        return made

    def _contacts(self, piece: dict[str, np.ndarray], steps: np.ndarray, times: np.ndarray):
        """A group for each number of contacts."""
        counts = piece["contacts"]
        firsts = np.cumsum(counts) - counts
        for count in np.unique(counts):
            chosen = np.flatnonzero(counts == count)
            layout = contacts_type(int(count))
            made = Messages(self.arena, layout, CONTACTS, steps[chosen], times[chosen], size=int(count))
            if count:
                all_alike = len(chosen) == len(steps)
                rows = slice(None) if all_alike else (firsts[chosen, None] + np.arange(count)).ravel()
                fill_contacts(made, int(count), piece, rows)
            yield made

    def _index(self, groups: list[Messages], at: int) -> tuple[bytes, dict[int, int]]:
        """Message indexes of a chunk, to stand at `at`, and where that of each channel is."""
        entries: dict[int, list[np.ndarray]] = {}
        offset = 0
        for group in groups:
            rows = np.empty((len(group.time), 2), "<u8")
            rows[:, 0], rows[:, 1] = group.time, offset + group.dtype.itemsize * np.arange(len(group.time))
            entries.setdefault(group.channel, []).append(rows)
            self.counts[group.channel] += len(group.time)
            offset += group.rows.nbytes
        made, places = b"", {}
        for channel, rows in entries.items():
            places[channel] = at + len(made)
            joined = np.concatenate(rows) if len(rows) > 1 else rows[0]
            if len(rows) > 1:
                joined = joined[np.argsort(joined[:, 0], kind="stable")]
            content = joined.tobytes()
            made += record(MESSAGE_INDEX, struct.pack("<HI", channel, len(content)) + content)
        return made, places
