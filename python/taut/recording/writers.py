"""Files that grow by pieces of a tape: which one, by the name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np

writing: set[Path] = set()  # files that are being recorded now


class Writer(Protocol):
    """A file being written; a context manager that finishes it."""

    path: Path

    def write(self, piece: dict[str, np.ndarray]) -> None:
        """Appends steps; when it returns they survive the process."""

    def finish(self) -> None:
        """Makes the file whole and closes it."""

    def abandon(self) -> None:
        """Closes it as it is."""

    def __enter__(self) -> Writer: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...


class Finished:
    """The context manager of a writer."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace) -> None:
        self.finish() if error is None else self.abandon()


def open_writer(path: Path, metadata: dict[str, Any]) -> Writer:
    from .mcap import McapWriter
    from .npz import NpzWriter

    writers = {".npz": NpzWriter, ".mcap": McapWriter}
    if path.suffix not in writers:
        raise ValueError(f"'{path}' is not called .npz (numpy) or .mcap (streaming tools)")
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(f"no such folder: '{path.parent}', where {path.name} was to be written")
    try:
        return writers[path.suffix](path, metadata)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error
