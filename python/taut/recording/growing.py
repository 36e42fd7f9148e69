"""A file that only grows."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

import numpy as np

SYNCED = 128 << 20  # bytes at a time that go to the disk itself
CANNOT = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)  # not every file can: nothing depends on it


class GrowingFile:
    """What `write` was given survives the process, and the machine but for the last `SYNCED` bytes.

    Memory for what is on the disk is given back to the system: a long recording would otherwise go through all of it,
    and fresh memory costs more than the copy into it.
    """

    def __init__(self, path: Path) -> None:
        """A file of that name gives way to a new one; who still has the old one open, or mapped, keeps it."""
        if path.is_file():
            path.unlink()
        self.file = open(path, "wb", buffering=0)  # noqa: SIM115 - open for as long as the run
        self.size = self.synced = 0

    def write(self, *parts: bytes | np.ndarray) -> None:
        """Everything, in one call where the system has it; it may take less at a time than it is given. Nothing at all
        if it throws OSError, as when the disk is full: the file ends with the last whole call."""
        before = self.size
        try:
            self._write(*parts)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self.file.fileno(), before)
                os.lseek(self.file.fileno(), before, os.SEEK_SET)
                self.size = before
            raise

    def _write(self, *parts: bytes | np.ndarray) -> None:
        left = [memoryview(np.frombuffer(part, np.uint8)) for part in parts if memoryview(part).nbytes]
        while left:
            done = os.writev(self.file.fileno(), left[:1024]) if hasattr(os, "writev") else self.file.write(left[0])
            self.size += done
            while left and done >= len(left[0]):
                done -= len(left.pop(0))
            if left:
                left[0] = left[0][done:]
        if self.size - self.synced > SYNCED:
            self._sync()

    def _sync(self) -> None:
        """Errors of a disk behind a network may come here and nowhere else."""
        self.synced = self.size
        if not (hasattr(os, "fdatasync") and hasattr(os, "posix_fadvise")):
            return
        try:
            os.fdatasync(self.file.fileno())
            os.posix_fadvise(self.file.fileno(), 0, self.size, os.POSIX_FADV_DONTNEED)
        except OSError as error:
            if error.errno not in CANNOT:
                raise

    def is_at(self, path: Path) -> bool:
        """Nobody else has put another file there."""
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(self.file.fileno()), path.stat())
        return False

    def require_at(self, path: Path) -> None:
        """Throws OSError if what was written cannot be found there: the file was removed or replaced meanwhile."""
        if not self.is_at(path):
            raise FileNotFoundError(errno.ENOENT, "it was removed or replaced while it was recorded", str(path))

    def close(self) -> None:
        self.file.close()

    def discard(self, path: Path) -> None:
        """Closes it and leaves nothing behind at `path`."""
        with contextlib.suppress(OSError):
            if self.is_at(path):
                path.unlink()
        self.file.close()
