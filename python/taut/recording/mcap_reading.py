"""Recordings from MCAP files that `McapWriter` wrote, or that another tool wrote anew without compression.

Messages are found through the indexes that follow each chunk, channels by their topics, and put in order by their
sequence: the step they belong to.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import about
from .columns import COLUMNS, sizes_of
from .errors import ForeignFile, damage_named
from .mcap import CHANNEL, CHECKSUM, CHUNK, FOOTER, MAGIC, MESSAGE_INDEX, METADATA, RECORDING, STATISTICS
from .messages import (
    CONTACT_TYPE,
    CONTACTS,
    INPUT,
    MESSAGE,
    REPORT,
    REPORT_TYPE,
    RESTART,
    STATE,
    TOPICS,
    arrays_type,
    contacts_type,
)


def read_mcap(path: Path) -> tuple[dict[str, Any], list[dict[str, np.ndarray]], bool]:
    """Metadata, one piece, and whether the file was finished: of one that was not, the steps that are whole."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size <= len(MAGIC):
            raise ForeignFile(f"{path} is cut short: it has no records")
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with damage_named(path):
        content = _Content(view, path)
        if content.metadata is None and content.cut == METADATA:
            raise ForeignFile(f"{path} is cut short: it ends within its metadata")
        if content.metadata is None:
            raise ForeignFile(f"{path} is not a recording of taut: it has no metadata called '{RECORDING}'")
        return content.metadata, [content.piece()], content.finished


def records(view: mmap.mmap | memoryview, at: int) -> Iterator[tuple[int, int, int]]:
    """(kind, begin, end) of records up to the footer; the last one may end beyond the file."""
    while at + 9 <= len(view):
        op, length = struct.unpack("<BQ", view[at : at + 9])
        if op == 0:  # no kind of record: a hole of a gigabyte would be one empty record after the other
            raise ValueError(f"at byte {at} there is no record")
        yield op, at + 9, at + 9 + length
        if op == FOOTER or at + 9 + length > len(view):
            return
        at += 9 + length


def _text(view: mmap.mmap | memoryview | bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack("<I", view[at : at + 4])
    return bytes(view[at + 4 : at + 4 + length]).decode(), at + 4 + length


def _mapping(view: mmap.mmap, at: int) -> dict[str, str]:
    (length,) = struct.unpack("<I", view[at : at + 4])
    at, end, found = at + 4, at + 4 + length, {}
    while at < end:
        key, at = _text(view, at)
        found[key], at = _text(view, at)
    return found


def _ends_here(view: mmap.mmap, begin: int, end: int) -> bool:
    """A footer at the end of the file, after a summary that is as it was written."""
    if end - begin != 20 or end + len(MAGIC) != len(view) or view[end:] != MAGIC:
        return False
    start, _, crc = struct.unpack("<2QI", view[begin:end])
    return not (start and crc) or zlib.crc32(memoryview(view)[start : end - 4]) == crc


class _Chunk:
    """Messages, and where each channel has its own."""

    def __init__(self, view: mmap.mmap, begin: int, end: int, path: Path) -> None:
        size, crc = struct.unpack("<QI", view[begin + 16 : begin + 28])
        compression, at = _text(view, begin + 28)
        if compression:
            raise ForeignFile(f"{path} was compressed ({compression}) by another tool: taut reads chunks that are not")
        self.content = memoryview(view)[at + 8 : end]
        if len(self.content) != size or (crc and zlib.crc32(self.content) != crc):
            raise ValueError("the checksum of a chunk is wrong")
        self.bytes = np.frombuffer(self.content, np.uint8)
        self.offsets: dict[int, np.ndarray] = {}

    def index(self, content: bytes) -> None:
        channel, length = struct.unpack("<HI", content[:6])
        self.offsets[channel] = np.frombuffer(content[6 : 6 + length], "<u8").reshape(-1, 2)[:, 1].astype(np.int64)

    def rows(self, channel: int, dtype: np.dtype) -> np.ndarray:
        return self.at(self.offsets.get(channel, np.empty(0, np.int64)), dtype)

    def at(self, offsets: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """Throws if these are not messages of that layout at least."""
        if not len(offsets):
            return np.empty(0, dtype)
        # Before memory is taken: messages of a chunk do not overlap, whatever its index says.
        if len(offsets) * dtype.itemsize > len(self.bytes):
            raise ValueError("an index names more messages than its chunk has room for")
        found = self.bytes[offsets[:, None] + np.arange(dtype.itemsize)].view(dtype)[:, 0]
        if (found["op"] != MESSAGE).any() or (found["length"] + 9 < dtype.itemsize).any():
            raise ValueError("an index does not lead to messages")
        return found


class _Content:
    def __init__(self, view: mmap.mmap, path: Path) -> None:
        self.metadata: dict[str, Any] | None = None
        self.finished = False
        self.cut: int | None = None  # the kind of a record that is not whole
        self.channels: dict[str, int] = {}
        chunks: list[_Chunk] = []
        counts: dict[int, int] | None = None
        for op, begin, end in records(view, len(MAGIC)):
            if end > len(view):
                self.cut = op
                break
            if op == METADATA and _text(view, begin)[0] == RECORDING:
                self._metadata(_mapping(view, _text(view, begin)[1]), path)
            elif op == CHANNEL:
                self._channel(view[begin:end])
            elif op == CHUNK:
                chunks.append(_Chunk(view, begin, end, path))
                for kind, first, last in records(chunks[-1].content, 0):
                    if kind == MESSAGE:
                        break  # channels stand before their messages
                    if kind == CHANNEL:
                        self._channel(chunks[-1].content[first:last])
            elif op == MESSAGE_INDEX and chunks:
                chunks[-1].index(view[begin:end])
            elif op == MESSAGE:
                raise ForeignFile(f"{path} was written anew by another tool: it has messages outside of chunks")
            elif op == STATISTICS:
                counts = dict(struct.iter_unpack("<HQ", view[begin + 46 : end]))
            elif op == FOOTER:
                self.finished = _ends_here(view, begin, end)
        if not self.finished and view[-len(MAGIC) :] == MAGIC:
            raise ValueError("its end does not belong to what stands before it")
        if self.finished and counts is not None:
            found = {number: sum(len(chunk.offsets.get(number, ())) for chunk in chunks) for number in counts}
            if found != counts:
                raise ValueError(f"it has {sum(found.values())} messages, its summary speaks of {sum(counts.values())}")
        needed = {self.channels.get(TOPICS[channel]) for channel in (STATE, REPORT, CONTACTS)}
        whole = [needed <= chunk.offsets.keys() for chunk in chunks]
        if self.finished and not all(chunk.offsets for chunk in chunks):
            raise ValueError("a chunk has no index")
        # Of a file that was not finished the last chunk may have lost a part of its indexes.
        self.chunks = chunks if self.finished or all(whole) else chunks[: whole.index(False)]

    def _metadata(self, said: dict[str, str], path: Path) -> None:
        encoded = said["recording"].encode()
        if int(said.get(CHECKSUM, "0"), 16) not in (0, zlib.crc32(encoded)):
            raise ValueError("the checksum of its metadata is wrong")
        self.metadata = about.decode(encoded, str(path))

    def _channel(self, content: bytes | memoryview) -> None:
        number, _ = struct.unpack("<2H", content[:4])
        self.channels[_text(content, 4)[0]] = number

    def _rows(self, channel: int, dtype: np.dtype) -> np.ndarray:
        number = self.channels.get(TOPICS[channel], -1)
        found = np.concatenate([np.empty(0, dtype), *(chunk.rows(number, dtype) for chunk in self.chunks)])
        return found[np.argsort(found["sequence"], kind="stable")]

    def piece(self) -> dict[str, np.ndarray]:
        sizes = sizes_of(self.metadata)
        state_type = arrays_type(q=sizes["nq"], v=sizes["nv"])
        state, restart = self._rows(STATE, state_type), self._rows(RESTART, state_type)
        report = self._rows(REPORT, REPORT_TYPE)
        steps = state["sequence"]
        made = {
            "q": state["q"],
            "v": state["v"],
            "status": report["status"],
            "iterations": report["iterations"],
            "residuals": report["residuals"],
            "model_residuals": report["model"],
            "restarts": restart["sequence"],
            "restart_q": restart["q"],
            "restart_v": restart["v"],
            **self._inputs(len(steps), sizes["nv"], sizes["nu"]),
        }
        sequence, contacts = self._contacts()
        made |= contacts
        for found in (steps, report["sequence"], sequence):
            if not np.array_equal(found, 1 + np.arange(len(steps))):
                raise ValueError("there is not one state, report and list of contacts for each step")
        if (np.diff(restart["sequence"].astype(np.int64)) <= 0).any():
            raise ValueError("a restart stands twice")
        return {name: np.ascontiguousarray(made[name], COLUMNS[name].dtype) for name in COLUMNS}

    def _inputs(self, steps: int, nv: int, nu: int) -> dict[str, np.ndarray]:
        """Torques and controls: steps that were not given any were given zeros, if others were."""
        number = self.channels.get(TOPICS[INPUT], -1)
        made = {"tau": np.zeros((steps, nv)), "control": np.zeros((steps, nu))}
        given = dict.fromkeys(made, False)
        for chunk in self.chunks:
            offsets = chunk.offsets.get(number, np.empty(0, np.int64))
            taus = chunk.at(offsets, arrays_type(tau=0))["tau_size"]
            for size in np.unique(taus):
                layout = arrays_type(tau=int(size), control=0)
                controls = chunk.at(offsets[taus == size], layout)["control_size"]
                for other in np.unique(controls):
                    rows = chunk.at(offsets[taus == size][controls == other], arrays_type(tau=size, control=other))
                    for name, width in (("tau", size), ("control", other)):
                        if width:
                            made[name][rows["sequence"].astype(np.int64) - 1] = rows[name]
                            given[name] = True
        return {name: values if given[name] else values[:0] for name, values in made.items()}

    def _contacts(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Steps in their order, whatever the order of their messages, and their contacts."""
        number = self.channels.get(TOPICS[CONTACTS], -1)
        heads = [chunk.rows(number, contacts_type(0)) for chunk in self.chunks]
        counts = [head["size"].astype(np.int64) for head in heads]
        for head, count in zip(heads, counts, strict=True):
            if (CONTACT_TYPE.itemsize * count > head["length"]).any():
                raise ValueError("a number of contacts is larger than its message")
        sequence = np.concatenate([np.empty(0, "<u4"), *(head["sequence"] for head in heads)])
        order = np.argsort(sequence, kind="stable")
        ordered = np.concatenate([np.empty(0, np.int64), *counts])[order]
        firsts = np.empty(len(order), np.int64)
        firsts[order] = np.cumsum(ordered) - ordered
        rows = np.empty(int(ordered.sum()), CONTACT_TYPE)
        begun = 0
        for chunk, count in zip(self.chunks, counts, strict=True):
            first, begun = firsts[begun : begun + len(count)], begun + len(count)
            for size in np.unique(count[count > 0]):
                chosen = np.flatnonzero(count == size)
                found = chunk.at(chunk.offsets[number][chosen], contacts_type(int(size)))["rows"]
                rows[first[chosen, None] + np.arange(size)] = found
        return sequence[order], {"contacts": ordered, **{name: rows[name] for name in CONTACT_TYPE.names}}
