"""Contact problems in and out of files: what `Problem.load` and `Problem.save` do (docs/problems.md)."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from . import fclib
from ._taut import Problem
from .storage import check_bytes, fitting

_FCLIB = (".hdf5", ".h5")
_NUMBERS = ("data", "indices", "indptr", "G", "g", "mu", "R", "sizes", "bounds")  # `kinds` are words
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def load(cls: type[Problem], path: Path) -> Problem:
    """The problem in a file; the suffix says what the file is."""
    if not path.exists():
        raise FileNotFoundError(f"no such file: '{path}'")
    if path.suffix in _FCLIB:
        return fclib.read(path, cls).problem
    if path.suffix != ".npz":
        raise ValueError(f"'{path}' is neither .npz nor {' nor '.join(_FCLIB)}")
    arrays = _arrays(path)
    try:
        return _from_arrays(cls, arrays)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise ValueError(f"'{path}': {error}") from error


def save(problem: Problem, path: Path) -> None:
    """Write what `load` reads; the suffix says what the file is to be."""
    if path.suffix in _FCLIB:
        fclib.write(path, problem)
    elif path.suffix == ".npz":
        np.savez_compressed(path, **_to_arrays(problem))
    else:
        raise ValueError(f"'{path}' is to be neither .npz nor {' nor '.join(_FCLIB)}")


def _arrays(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():  # a pipe would wait for its writer
        raise ValueError(f"'{path}' is not a file")
    try:
        with zipfile.ZipFile(path) as file:
            present = [name.removesuffix(".npy") for name in file.namelist()]
            wanted = [name for name in (*_NUMBERS, "kinds") if name in present]
            check_bytes("the arrays together", sum(file.getinfo(f"{name}.npy").file_size for name in wanted))
            arrays = {name: _array(file, name) for name in wanted}
    except MemoryError:  # sizes were looked at: it is the machine's
        raise
    except Exception as error:  # bytes that mean nothing fail in any way
        raise ValueError(f"'{path}' is not an .npz file: {error or type(error).__name__}") from error
    missing = [name for name in ("g", "mu") if name not in arrays]
    if missing or not ("G" in arrays or {"data", "indices", "indptr"} <= arrays.keys()):
        raise ValueError(f"'{path}' needs g, mu and data, indices, indptr (or G); has {sorted(present)}")
    return arrays


def _array(file: zipfile.ZipFile, name: str) -> np.ndarray:
    """A member, once its header is known to fit its size: numpy takes the memory first and looks then."""
    member = file.getinfo(f"{name}.npy")
    with file.open(member) as content:
        version = npy.read_magic(content)
        if version not in _HEADERS:
            raise ValueError(f"'{name}' has version {version} of the npy format")
        shape, _, dtype = _HEADERS[version](content)
        if dtype.hasobject:
            raise ValueError(f"'{name}' holds objects, which are not read")
        if min(shape, default=0) < 0 or dtype.itemsize * math.prod(shape) > member.file_size:
            raise ValueError(f"'{name}' is said to be {dtype} {shape}, which its {member.file_size} bytes are not")
    with file.open(member) as content:
        return npy.read_array(content, allow_pickle=False)


def _from_arrays(cls: type[Problem], arrays: dict[str, np.ndarray]) -> Problem:
    for name in arrays.keys() & _NUMBERS:
        if arrays[name].dtype.kind not in "iuf":
            raise ValueError(f"{name} holds {arrays[name].dtype.name}, not numbers")
    content: dict[str, Any] = {"g": arrays["g"], "R": arrays.get("R")}
    if "kinds" in arrays:
        content["blocks"] = _blocks(arrays)
    else:
        content["mu"] = arrays["mu"]
    if "G" in arrays:
        return cls(arrays["G"], **content)
    return fitting(cls, (arrays["data"], arrays["indices"], arrays["indptr"]), **content)


def _to_arrays(problem: Problem) -> dict[str, np.ndarray]:
    data, indices, indptr = problem.csr()
    arrays = {"data": data, "indices": indices, "indptr": indptr, "g": problem.g, "mu": problem.mu}
    if problem.R.any():
        arrays["R"] = problem.R
    if set(problem.kinds) - {"cone"}:
        arrays["kinds"] = np.array(problem.kinds)
        arrays["sizes"] = np.array(problem.sizes)
        arrays["bounds"] = np.array([block[1] for block in problem.blocks if block[0] == "interval"], dtype=float)
    return arrays


def _blocks(arrays: dict[str, np.ndarray]) -> list[tuple]:
    kinds = [str(kind) for kind in arrays["kinds"]]
    for name, kind in (("mu", "cone"), ("bounds", "interval"), ("sizes", None)):
        expected = len(kinds) if kind is None else kinds.count(kind)
        if len(arrays.get(name, ())) != expected:
            raise ValueError(f"{name} has {len(arrays.get(name, ()))} entries, but kinds ask for {expected}")
    numbers = {"cone": iter(arrays["mu"].tolist()), "interval": iter(arrays.get("bounds", np.zeros(0)).tolist())}
    blocks: list[tuple] = []
    for kind, size in zip(kinds, arrays.get("sizes", np.zeros(0)).tolist(), strict=True):
        if kind in numbers:
            blocks.append((kind, next(numbers[kind])))
        else:
            blocks.append((kind, size) if kind == "free" else (kind,))
    return blocks
