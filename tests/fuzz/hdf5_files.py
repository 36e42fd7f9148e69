"""Contact problems in FCLIB's HDF5: datasets and attributes are changed by h5py, and bytes by nobody's rules."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np

import taut

from .outcome import Outcome
from .recordings import flips
from .scenes import Rng
from .xml_files import folder_for_files
from .zip_files import try_file

INPUTS = 20


@functools.lru_cache(maxsize=1)
def problem() -> bytes:
    import h5py  # noqa: F401

    rng = np.random.default_rng(1)
    J = rng.normal(size=(7, 9))
    made = taut.Problem(J @ J.T, rng.normal(size=7), blocks=[("cone", 0.5), ("cone", 0.8), ("free", 1)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.hdf5"
        taut.fclib.write(path, made, taut.solve(made).impulse, [np.zeros(7)], {"title": "t"})
        return path.read_bytes()


def run(seed: list[int], outcome: Outcome) -> None:
    try:
        data = problem()
    except ImportError:
        outcome.count("not here")
        return
    with folder_for_files() as folder:
        for place in range(outcome.first, INPUTS):
            rng = np.random.default_rng([*seed, place])
            with outcome.guard(place):
                path = Path(folder) / f"file-{place}.hdf5"
                path.write_bytes(data)
                spoil(rng, path)
                try_file(path, True, outcome, place)
                path.unlink(missing_ok=True)
            outcome.count("inputs")


def spoil(rng: Rng, path: Path) -> None:
    import h5py

    if rng.uniform() < 0.3:
        path.write_bytes(flips(rng, path.read_bytes()))
        return
    with h5py.File(path, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        for _ in range(int(rng.integers(1, 4))):
            name = names[rng.integers(len(names))]
            if name not in file:
                continue
            other = names[rng.integers(len(names))]
            thing = file[name]
            how = rng.integers(6)
            if how == 0:
                del file[name]
            elif how == 1 and other in file and not name.startswith(other) and not other.startswith(name):
                del file[name]
                file.copy(other, name)
            elif isinstance(thing, h5py.Dataset):
                value = _other(rng, np.array(thing[()]))
                del file[name]
                file[name] = value
            else:
                thing.attrs["x"] = 1


def _other(rng: Rng, value: np.ndarray) -> np.ndarray | bytes:
    how = rng.integers(7)
    if how == 0:
        return value.reshape(-1)[:-1] if value.size > 1 else np.zeros(0)
    if how == 1:
        return b"words"
    if how == 2:
        return np.asarray(value, float)[..., None] if value.dtype.kind in "iuf" else np.zeros((2, 2))
    if how == 3:
        return np.zeros(0)
    if value.dtype.kind not in "iuf":
        return np.array(3.5)
    changed = np.array(value, copy=True)
    bad = [np.nan, np.inf, -1.0, 1e308, 0.0] if value.dtype.kind == "f" else [-1, -2, 0, 2**31 - 1, 7, 2**30]
    if changed.size:
        changed.reshape(-1)[rng.integers(changed.size)] = rng.choice(bad)
    return changed
