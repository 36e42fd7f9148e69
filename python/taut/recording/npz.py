"""Recordings as .npz: a zip of .npy files, stored, that numpy reads.

While it grows, each piece of the tape is a member of each column, `q/000000.npy`, and there is no directory yet; local
headers are enough to read it back, up to the last whole piece. When it is finished a short recording is rewritten with
the pieces of a column together, `q.npy`, and a new file takes the place of the old one; a long one keeps its pieces,
because writing everything twice costs more than recording it, and gets its directory.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
import mmap
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from . import about
from .columns import COLUMNS, joined, sizes_of
from .errors import ForeignFile, damage_named
from .growing import GrowingFile
from .writers import Finished
from .zip_members import Member, directory, local_header, read_directory, scan

WHOLE_BELOW = 64 << 20  # bytes: up to here columns are put together
METADATA = "metadata"


@functools.lru_cache(maxsize=256)  # most pieces of a recording have the same
def npy_header(dtype: np.dtype | str, shape: tuple[int, ...]) -> bytes:
    made = io.BytesIO()
    npy.write_array_header_1_0(
        made, {"descr": npy.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    )
    return made.getvalue()


class NpzFile:
    """A zip of arrays that grows."""

    def __init__(self, path: Path, **first: np.ndarray) -> None:
        """With these members, or not at all."""
        self.file = GrowingFile(path)
        self.members: list[Member] = []
        try:
            self.append(**first)
        except BaseException:
            self.file.discard(path)
            raise

    def append(self, **arrays: np.ndarray) -> None:
        """Members of these names, in one call of the system."""
        parts: list[bytes | np.ndarray] = []
        at = self.file.size
        for name, values in arrays.items():
            header = npy_header(values.dtype, values.shape)
            crc = zlib.crc32(values, zlib.crc32(header)) if values.size else zlib.crc32(header)
            size = len(header) + values.nbytes
            start = local_header(f"{name}.npy", size, crc, at)
            parts += [start + header, values]
            begin = at + len(start)
            self.members.append(Member(f"{name}.npy", at, begin, begin + size, crc))
            at = begin + size
        self.file.write(*parts)

    def finish(self) -> None:
        self.file.write(directory(self.members, self.file.size))
        self.file.close()


class NpzWriter(Finished):
    """A recording being written to an .npz file."""

    def __init__(self, path: Path, metadata: dict[str, Any]) -> None:
        self.path, self.metadata = path, metadata
        self.pieces = 0
        self.made = NpzFile(path, metadata=np.array(about.encode(metadata)))

    def write(self, piece: dict[str, np.ndarray]) -> None:
        self.made.append(**{f"{column}/{self.pieces:06d}": piece[column] for column in COLUMNS})
        self.pieces += 1

    def abandon(self) -> None:
        self.made.file.close()

    def finish(self) -> None:
        self.made.file.require_at(self.path)
        if self.made.file.size <= WHOLE_BELOW:
            unfinished = self.path.with_name(self.path.name + ".finishing")
            try:
                _, pieces, _ = read_npz(self.path)
                write_whole(unfinished, self.metadata, joined(pieces, sizes_of(self.metadata)))
                os.replace(unfinished, self.path)
                self.abandon()
                return
            except OSError:  # no room for it twice: it keeps its pieces, as a long one does
                with contextlib.suppress(OSError):
                    unfinished.unlink()  # if it could not take the place of the other
        self.made.finish()


def write_whole(path: Path, metadata: dict[str, Any], columns: dict[str, np.ndarray]) -> None:
    """A file with a member for each column, or none."""
    t = metadata["options"]["dt"] * np.arange(len(columns["q"]))
    made = NpzFile(path, metadata=np.array(about.encode(metadata)), t=t, **{name: columns[name] for name in COLUMNS})
    try:
        made.finish()
    except BaseException:
        made.file.discard(path)
        raise


class NpzContent:
    """The arrays of a file, as views of it."""

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            self.view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.members, self.cut = read_directory(self.view), None
        self.finished = self.members is not None
        self.foreign = not self.finished and self.view[-22:-18] == b"PK\5\6"  # it ends as a zip does, not as ours
        if self.members is None:
            self.members, self.cut = scan(self.view)

    def array(self, name: str) -> np.ndarray:
        """Throws ValueError if it is not as it was written."""
        member = self.members[name]
        if zlib.crc32(memoryview(self.view)[member.begin : member.end]) != member.crc:
            raise ValueError(f"the checksum of '{name}' is wrong")
        file = io.BytesIO(self.view[member.begin : min(member.begin + 4096, member.end)])
        version = npy.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"'{name}' has version {version} of the npy format")
        shape, fortran, dtype = npy.read_array_header_1_0(file)
        begin = member.begin + file.tell()
        if fortran or dtype.hasobject or begin + dtype.itemsize * math.prod(shape) != member.end:
            raise ValueError(f"'{name}' is not an array as taut writes it")
        return np.frombuffer(self.view, dtype, math.prod(shape), begin).reshape(shape)


def read_npz(path: Path) -> tuple[dict[str, Any], list[dict[str, np.ndarray]] | dict[str, np.ndarray], bool]:
    """Metadata, columns or pieces of them, and whether the file was finished. The arrays are views of the file."""
    with damage_named(path):
        content = NpzContent(path)
        members, cut = content.members, content.cut
        if METADATA not in members:
            if cut == METADATA and not content.foreign:
                raise ForeignFile(f"{path} is cut short: it ends within its metadata")
            raise ForeignFile(f"{path} is not a recording of taut: it has no metadata that taut wrote")
        if content.foreign:
            raise ForeignFile(f"{path} was written anew by another tool: taut reads the .npz files that it wrote")
        metadata = about.decode(content.array(METADATA).item(), str(path))
        if content.finished and "t" in members:
            return metadata, {name: content.array(name) for name in COLUMNS if name in members}, True
        if "t" in members or cut == "t":
            raise ForeignFile(f"{path} is cut short: it ends within '{cut}'" if cut else f"{path} has lost its end")
        pieces = []
        while all(f"{name}/{len(pieces):06d}" in members for name in COLUMNS):
            pieces.append({name: content.array(f"{name}/{len(pieces):06d}") for name in COLUMNS})
        left = sum("/" in name for name in members) - len(pieces) * len(COLUMNS)
        if content.finished and left:
            raise ValueError(f"piece {len(pieces)} is not whole")
        if content.finished and not pieces and len(members) > 1:
            raise ValueError("it has no columns")
        return metadata, pieces, content.finished
