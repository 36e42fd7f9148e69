"""`taut.load_recording`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path

from ..loading import TautWarning, folders_of
from .columns import joined, sizes_of
from .errors import damage_named
from .mcap import MAGIC
from .mcap_reading import read_mcap
from .npz import read_npz
from .recording import Recording
from .rights import Rights


def load_recording(
    path: str | os.PathLike[str], *, allow: Sequence[str | os.PathLike[str]] = (), trust: bool = False
) -> Recording:
    """Read what `sim.record` or `taut simulate --record` wrote, .npz or .mcap.

    A file whose process was killed is read up to the last second or so, with a warning, and its `complete` is False.
    One that is cut short, damaged or not a recording at all: ValueError.

    A recording names the model files it was made with, whose meshes are what is looked at. They are read where a model
    file at the recording's place might read them, below the folders in `allow`, or with `trust` wherever they are;
    elsewhere the shapes that collide are shown. Everything else is in the recording itself.
    """
    path = Path(path)
    rights = Rights(str(path), folders_of("allow", allow), trust)
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
        recording = Recording(metadata, columns, complete, path.name, rights)
    if not complete:
        warnings.warn(f"{path} was not finished: it has {len(recording)} steps", TautWarning, stacklevel=2)
    return recording
