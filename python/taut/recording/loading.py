"""`taut.load_recording`."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from ..loading import TautWarning
from .columns import joined, sizes_of
from .errors import damage_named
from .mcap import MAGIC
from .mcap_reading import read_mcap
from .npz import read_npz
from .recording import Recording


def load_recording(path: str | os.PathLike[str]) -> Recording:
    """Read what `sim.record` or `taut simulate --record` wrote, .npz or .mcap.

    A file whose process was killed is read up to the last second or so, with a warning, and its `complete` is False.
    One that is cut short, damaged or not a recording at all: ValueError.
    """
    path = Path(path)
    with open(path, "rb") as file:
        start = file.read(len(MAGIC))
    if start == MAGIC:
        metadata, columns, complete = read_mcap(path)
    elif start[:4] == b"PK\3\4":
        metadata, columns, complete = read_npz(path)
    elif not start:
        raise ValueError(f"{path} is empty")
    else:
        raise ValueError(f"{path} is not a recording of taut: it is neither .npz nor .mcap")
    with damage_named(path):
        if isinstance(columns, list):
            columns = joined(columns, sizes_of(metadata))
        recording = Recording(metadata, columns, complete, path.name)
    if not complete:
        warnings.warn(f"{path} was not finished: it has {len(recording)} steps", TautWarning, stacklevel=2)
    return recording
