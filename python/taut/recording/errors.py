"""What is said of files that cannot be read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


class ForeignFile(ValueError):
    """A file that says what it is not; the message names it."""


@contextlib.contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Whatever parsing of a damaged file may throw becomes a ValueError that names the file."""
    try:
        yield
    except (ForeignFile, OSError):
        raise
    except MemoryError:
        raise ValueError(f"{path} is damaged: its sizes make no sense") from None
    except Exception as error:  # bytes that mean nothing fail in any way
        raise ValueError(f"{path} is damaged: {error or type(error).__name__}") from error
