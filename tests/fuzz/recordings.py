"""Recordings to spoil: each is made once by a process."""

from __future__ import annotations

import datetime
import functools
import tempfile
import types
from pathlib import Path
from unittest import mock

import numpy as np

import taut
from taut.recording import about

# A recording says when it began. Here always then: what is changed in its bytes is the same again.
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)
CLOCK = types.SimpleNamespace(datetime=types.SimpleNamespace(now=lambda zone: NOON), timezone=datetime.timezone)


@functools.lru_cache(maxsize=4)
def recording(kind: str, pieces: bool) -> bytes:
    """The bytes of a short run, finished or as a killed process leaves it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"run.{kind}"
        sim = taut.Simulator(taut.scenes.make("stack", n=2))
        with mock.patch.object(about, "datetime", CLOCK):
            recorder = sim.record(path)
        sim.rollout(sim.scene.q0, np.zeros(12), steps=40)
        recorder.flush()
        if pieces:
            sim.rollout(sim.scene.q0, np.zeros(12), steps=20)
            recorder.flush()
            found = path.read_bytes()
            recorder.close()
            return found
        recorder.close()
        return path.read_bytes()


def use(found: taut.Recording) -> None:
    """Everything a recording has, read; what it then says is not looked at."""
    len(found)
    for name in ("q", "v", "t", "tau", "contacts", "statuses", "impulses", "options"):
        getattr(found, name, None)
    if len(found):
        np.asarray(found.q)[-1].sum()
    repr(found)


def flips(rng: np.random.Generator, data: bytes) -> bytes:
    """Bytes changed, cut, repeated."""
    out = bytearray(data)
    how = rng.integers(5)
    if how == 0:
        return bytes(out[: int(rng.integers(len(out)))])
    if how == 1:
        for i in rng.integers(0, len(out), int(rng.integers(1, 8))):
            out[i] = int(rng.integers(256))
    elif how == 2:
        at = int(rng.integers(len(out)))
        out[at : at + 8] = [0, 1, 2**31, 2**63 - 1, 2**64 - 1][rng.integers(5)].to_bytes(8, "little")
    elif how == 3:
        at, n = int(rng.integers(len(out))), int(rng.integers(1, 500))
        out[at:at] = out[at : at + n]
    else:
        at = int(rng.integers(len(out)))
        out[at : at + int(rng.integers(1, 500))] = b""
    return bytes(out)
