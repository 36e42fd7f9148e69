"""Recordings as .npz: a zip of .npy files, stored, that numpy reads.

While it grows, each piece of the tape is a member of each column, `q/000000.npy`, and there is no directory yet; local
headers are enough to read it back, up to the last whole piece. When it is finished a short recording is rewritten with
the pieces of a column together, `q.npy`, and a new file takes the place of the old one; a long one keeps its pieces,
because writing everything twice costs more than recording it, and gets its directory.
"""

from __future__ import annotations

import io
import math
import mmap
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from . import about
from .columns import COLUMNS, joined
from .growing import GrowingFile
from .writers import Finished
from .zip_members import Member, directory, local_header, read_directory, scan

WHOLE_BELOW = 64 << 20  # bytes: up to here columns are put together
METADATA = "metadata"


def npy_header(dtype: np.dtype | str, shape: tuple[int, ...]) -> bytes:
    made = io.BytesIO()
    npy.write_array_header_1_0(
        made, {"descr": npy.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    )
    return made.getvalue()


class NpzFile:
    """A zip of arrays that grows."""

    def __init__(self, path: Path) -> None:
        self.file = GrowingFile(path)
        self.members: list[Member] = []

    def append(self, name: str, values: np.ndarray) -> None:
        header = npy_header(values.dtype, values.shape)
        crc = zlib.crc32(values, zlib.crc32(header)) if values.size else zlib.crc32(header)
        offset, size = self.file.size, len(header) + values.nbytes
        start = local_header(f"{name}.npy", size, crc, offset)
        self.file.write(start + header, values)
        begin = offset + len(start)
        self.members.append(Member(f"{name}.npy", offset, begin, begin + size, crc))

    def finish(self) -> None:
        self.file.write(directory(self.members, self.file.size))
        self.file.close()


class NpzWriter(Finished):
    """A recording being written to an .npz file."""

    def __init__(self, path: Path, metadata: dict[str, Any]) -> None:
        self.path, self.metadata = path, metadata
        self.pieces = 0
        self.made = NpzFile(path)
        self.made.append(METADATA, np.array(about.encode(metadata)))

    def write(self, piece: dict[str, np.ndarray]) -> None:
        for column in COLUMNS:
            self.made.append(f"{column}/{self.pieces:06d}", piece[column])
        self.pieces += 1

    def abandon(self) -> None:
        self.made.file.close()

    def finish(self) -> None:
        if self.made.file.size > WHOLE_BELOW:
            self.made.finish()
            return
        self.abandon()
        _, pieces, _ = read_npz(self.path)
        unfinished = self.path.with_name(self.path.name + ".finishing")
        write_whole(unfinished, self.metadata, joined(pieces, self.metadata["nq"], self.metadata["nv"]))
        os.replace(unfinished, self.path)


def write_whole(path: Path, metadata: dict[str, Any], columns: dict[str, np.ndarray]) -> None:
    """A file with a member for each column."""
    made = NpzFile(path)
    made.append(METADATA, np.array(about.encode(metadata)))
    made.append("t", metadata["options"]["dt"] * np.arange(len(columns["q"])))
    for name in COLUMNS:
        made.append(name, columns[name])
    made.finish()


def array_at(view: mmap.mmap, member: Member) -> tuple[int, np.dtype, tuple[int, ...]]:
    """Where the values of an .npy member begin, their type and shape."""
    file = io.BytesIO(view[member.begin : min(member.begin + 4096, member.end)])
    version = npy.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"{member.name} has version {version} of the npy format")
    shape, fortran, dtype = npy.read_array_header_1_0(file)
    begin = member.begin + file.tell()
    if fortran or dtype.hasobject or begin + dtype.itemsize * math.prod(shape) != member.end:
        raise ValueError(f"{member.name} is not an array as taut writes it")
    return begin, dtype, shape


def read_npz(path: Path) -> tuple[dict[str, Any], list[dict[str, np.ndarray]] | dict[str, np.ndarray], bool]:
    """Metadata, columns or pieces of them, and whether the file was finished. The arrays are views of the file."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ValueError(f"{path} is empty")
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        members, finished, cut = read_directory(view), True, None
    except (struct.error, UnicodeDecodeError):
        raise ValueError(f"{path} is damaged: its directory makes no sense") from None
    if members is None:
        finished = False
        members, cut = scan(view)
    if METADATA not in members:
        if cut == METADATA:
            raise ValueError(f"{path} is cut short: it ends within its metadata")
        raise ValueError(f"{path} is not a recording of taut: it has no metadata")

    def array(name: str) -> np.ndarray:
        try:
            begin, dtype, shape = array_at(view, members[name])
        except (ValueError, struct.error) as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        return np.frombuffer(view, dtype, math.prod(shape), begin).reshape(shape)

    metadata = about.decode(array(METADATA).item(), str(path))
    if finished and "t" in members:
        return metadata, {name: array(name) for name in COLUMNS if name in members}, True
    if "t" in members or cut == "t":
        raise ValueError(f"{path} is cut short: it ends within '{cut}'" if cut else f"{path} has lost its end")
    pieces = []
    while all(f"{name}/{len(pieces):06d}" in members for name in COLUMNS):
        pieces.append({name: array(f"{name}/{len(pieces):06d}") for name in COLUMNS})
    return metadata, pieces, finished
