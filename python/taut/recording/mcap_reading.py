"""Recordings from MCAP files that `McapWriter` wrote."""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from . import about
from .columns import COLUMNS
from .mcap import CHUNK, FOOTER, MAGIC, MESSAGE_INDEX, METADATA, RECORDING
from .messages import CONTACT_TYPE, CONTACTS, REPORT, REPORT_TYPE, RESTART, STATE, contacts_type, state_type


def read_mcap(path: Path) -> tuple[dict[str, Any], list[dict[str, np.ndarray]], bool]:
    """Metadata, pieces, and whether the file was finished: chunks are whole or left out."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size <= len(MAGIC):
            raise ValueError(f"{path} is cut short: it has no records")
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with view:
        metadata, pieces, chunk, finished = None, [], None, False
        for op, begin, end in _records(view):
            if op == METADATA and _text(view, begin)[0] == RECORDING:
                metadata = _metadata(view, begin, path)
            elif op == CHUNK and metadata is not None:
                chunk = _Chunk(view, begin, end, metadata, path)
                pieces.append(chunk)
            elif op == MESSAGE_INDEX and chunk is not None:
                chunk.index(begin)
            finished |= op == FOOTER
        if metadata is None:
            raise ValueError(f"{path} is not a recording of taut: it has no metadata called '{RECORDING}'")
        return metadata, [piece.columns() for piece in pieces if piece.is_indexed()], finished


def _records(view: mmap.mmap):
    at = len(MAGIC)
    while at + 9 <= len(view):
        op, length = struct.unpack("<BQ", view[at : at + 9])
        if at + 9 + length > len(view):
            return
        yield op, at + 9, at + 9 + length
        if op == FOOTER:
            return
        at += 9 + length


def _text(view: mmap.mmap, at: int) -> tuple[str, int]:
    (length,) = struct.unpack("<I", view[at : at + 4])
    return view[at + 4 : at + 4 + length].decode(errors="replace"), at + 4 + length


def _metadata(view: mmap.mmap, begin: int, path: Path) -> dict[str, Any]:
    _, at = _text(view, begin)
    _, at = _text(view, at + 4)  # the key, after the size of the map
    return about.decode(_text(view, at)[0].encode(), str(path))


class _Chunk:
    """A piece: its messages by channel, found through the indexes that follow it."""

    def __init__(self, view: mmap.mmap, begin: int, end: int, metadata: dict[str, Any], path: Path) -> None:
        compression, at = _text(view, begin + 28)
        if compression:
            raise ValueError(
                f"{path} was compressed ({compression}) by another tool: taut reads chunks as it wrote them"
            )
        self.content = np.frombuffer(view[at + 8 : end], np.uint8)
        self.view, self.nq, self.nv = view, metadata["nq"], metadata["nv"]
        self.offsets: dict[int, np.ndarray] = {}

    def index(self, begin: int) -> None:
        channel, length = struct.unpack("<HI", self.view[begin : begin + 6])
        self.offsets[channel] = np.frombuffer(self.view[begin + 6 : begin + 6 + length], "<u8").reshape(-1, 2)[:, 1]

    def is_indexed(self) -> bool:
        return {STATE, REPORT, CONTACTS} <= self.offsets.keys()

    def columns(self) -> dict[str, np.ndarray]:
        state = self._rows(STATE, state_type(self.nq, self.nv))
        report = self._rows(REPORT, REPORT_TYPE)
        restart = self._rows(RESTART, state_type(self.nq, self.nv))
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
            **self._contacts(),
        }
        return {name: np.ascontiguousarray(made[name], COLUMNS[name].dtype) for name in COLUMNS}

    def _rows(self, channel: int, dtype: np.dtype) -> np.ndarray:
        return self._at(self.offsets.get(channel, np.empty(0, "<u8")), dtype)

    def _at(self, offsets: np.ndarray, dtype: np.dtype) -> np.ndarray:
        places = offsets.astype(np.int64)[:, None] + np.arange(dtype.itemsize)
        return self.content[places].view(dtype)[:, 0] if len(offsets) else np.empty(0, dtype)

    def _contacts(self) -> dict[str, np.ndarray]:
        """Of all steps in their order, whatever the order of their messages."""
        offsets = self.offsets[CONTACTS]
        counts = self._at(offsets, contacts_type(0))["size"].astype(np.int64)
        firsts = np.cumsum(counts) - counts
        rows = np.empty(int(counts.sum()), CONTACT_TYPE)
        for count in np.unique(counts[counts > 0]):
            chosen = np.flatnonzero(counts == count)
            rows[firsts[chosen, None] + np.arange(count)] = self._at(offsets[chosen], contacts_type(int(count)))["rows"]
        return {"contacts": counts, **{name: rows[name] for name in CONTACT_TYPE.names}}
