"""Contact problems in FCLIB's HDF5 files, the exchange format of the field (docs/problems.md).

FCLIB writes a contact as (normal, t1, t2), taut as (t1, t2, normal). Everything in this module's results has the order
of taut. Its local problem is

    u = W r + V l + q,   0 = Vᵀ r + R l + s,   contacts obey Signorini and Coulomb,

its global one is M v = H r + G l + f, u = Hᵀ v + w, 0 = Gᵀ v + b: here the same with v eliminated. The rows of l are a
free block behind the contacts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ._taut import Problem
from ._taut import _vector as _numbers
from .storage import check_bytes, fitting

if TYPE_CHECKING:
    import h5py

_COMPRESSED_COLUMNS, _COMPRESSED_ROWS = -1, -2  # what `nz` says if it is not the number of triplets
_INFO = ("title", "description", "math_info")


@dataclass(frozen=True)
class Answer:
    """A solution or a guess: impulses and velocities of the rows of the problem."""

    impulse: np.ndarray
    velocity: np.ndarray


@dataclass(frozen=True)
class Content:
    """What a file holds. `info`: title, description and math_info, where they were written."""

    problem: Problem
    solution: Answer | None = None
    guesses: list[Answer] = field(default_factory=list)
    info: dict[str, str] = field(default_factory=dict)


def read(path: str | Path, cls: type[Problem] = Problem) -> Content:
    """A local problem, or a global one made local (that needs scipy), with solution and guesses if there are any."""
    h5py = _h5py()
    if not Path(path).exists():
        raise FileNotFoundError(f"no such file: '{path}'")
    if not Path(path).is_file():  # a pipe would wait for its writer
        raise ValueError(f"'{path}' is not a file")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise ValueError(f"'{path}' is not an HDF5 file: {error}") from error
    with file:
        try:
            return _content(file, cls)
        except (ImportError, MemoryError):  # of this machine, not of the file
            raise
        except Exception as error:  # bytes that mean nothing fail in any way
            raise ValueError(f"'{path}': {error or type(error).__name__}") from error


def write(
    path: str | Path,
    problem: Problem,
    solution: ArrayLike | None = None,
    guesses: Sequence[ArrayLike] = (),
    info: dict[str, str] | None = None,
) -> None:
    """Write a local problem; `solution` and `guesses` are impulses in the order of the problem's rows.

    Compliance goes into the diagonal of W. FCLIB knows contacts and bilateral rows only.
    """
    h5py = _h5py()
    unknown = set(info or {}) - set(_INFO)
    if unknown:
        raise ValueError(f"info has {sorted(unknown)}, FCLIB knows {', '.join(_INFO)}")
    contacts, free = _rows(problem)
    order = np.concatenate([contacts, free])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    data, indices, indptr = problem.csr()
    rows = np.repeat(np.arange(len(order)), np.diff(indptr))
    stiff = np.flatnonzero(problem.R)
    entries = _Triplets(
        place[np.concatenate([rows, stiff])],
        place[np.concatenate([indices, stiff])],
        np.concatenate([data, problem.R[stiff]]),
    ).summed()

    answers = [_checked(f"guesses[{k}]", impulse, len(order)) for k, impulse in enumerate(guesses)]
    if solution is not None:
        answers.append(_checked("solution", solution, len(order)))
    made = [(entries.times(impulse[order]) + problem.g[order], impulse[order]) for impulse in answers]
    m, p = len(contacts), len(free)
    with h5py.File(path, "w") as file:
        local = file.create_group("fclib_local")
        local["spacedim"] = _int(3)
        _write_matrix(local.create_group("W"), entries.part(range(m), range(m)), m, m)
        if p:
            _write_matrix(local.create_group("V"), entries.part(range(m), range(m, m + p)), m, p)
            _write_matrix(local.create_group("R"), entries.part(range(m, m + p), range(m, m + p)), p, p)
        vectors = local.create_group("vectors")
        vectors["q"] = problem.g[contacts]
        vectors["mu"] = problem.mu
        if p:
            vectors["s"] = problem.g[free]
        for name, text in (info or {}).items():
            # Room for the zero that ends a string in C: the library relies on finding it.
            local[f"info/{name}"] = np.array(text.encode(), dtype=f"S{len(text.encode()) + 1}")
        if solution is not None:
            _write_answer(file.create_group("solution"), *made.pop(), m)
        if made:
            file["guesses/number_of_guesses"] = _int(len(made))
        for k, answer in enumerate(made, start=1):
            _write_answer(file.create_group(f"guesses/{k}"), *answer, m)


class _Triplets(NamedTuple):
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    def part(self, rows: range, columns: range) -> _Triplets:
        inside = (self.rows >= rows.start) & (self.rows < rows.stop)
        inside &= (self.columns >= columns.start) & (self.columns < columns.stop)
        return _Triplets(self.rows[inside] - rows.start, self.columns[inside] - columns.start, self.values[inside])

    def compressed(self, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(data, indices, indptr), columns in order within a row."""
        order = np.lexsort((self.columns, self.rows))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=rows))])
        return self.values[order], self.columns[order], indptr

    def summed(self) -> _Triplets:
        """Each entry once."""
        entries, where = np.unique(np.stack([self.rows, self.columns]), axis=1, return_inverse=True)
        values = np.bincount(where.ravel(), weights=self.values, minlength=entries.shape[1])
        return _Triplets(entries[0], entries[1], values)

    def times(self, x: np.ndarray) -> np.ndarray:
        return np.bincount(self.rows, weights=self.values * x[self.columns], minlength=len(x))


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise ImportError("FCLIB files need h5py: pip install 'taut[fclib]'") from error
    return h5py


# --- reading


def _content(file: h5py.File, cls: type[Problem]) -> Content:
    if "fclib_local" in file:
        group, form = file["fclib_local"], _local
    elif "fclib_global" in file:
        group, form = file["fclib_global"], _global
    elif "fclib_global_rolling" in file:
        raise ValueError("the problem has rolling friction, which taut has not")
    else:
        raise ValueError(f"neither fclib_local nor fclib_global is in it, only {sorted(file)}")
    dimension = _integer(group, "spacedim")
    if dimension != 3:
        raise ValueError(f"spacedim is {dimension}; a contact of taut has three rows")
    entries, q, mu = form(group)
    if 3 * len(mu) > len(q):
        raise ValueError(f"mu has {len(mu)} entries, for a problem of {len(q)} rows")
    place = _places(3 * len(mu), len(q))
    csr = _Triplets(place[entries.rows], place[entries.columns], entries.values).compressed(len(q))
    blocks: list[tuple] = [("cone", float(value)) for value in mu]
    if len(q) > 3 * len(mu):
        blocks.append(("free", len(q) - 3 * len(mu)))
    g = np.empty(len(q))
    g[place] = q
    return Content(
        fitting(cls, csr, g=g, blocks=blocks),
        _answer(file["solution"], place) if "solution" in file else None,
        [_answer(guess, place) for guess in _guesses(file)],
        {name: _text(group["info"][name]) for name in _INFO if name in group.get("info", ())},
    )


def _local(group: h5py.Group) -> tuple[_Triplets, np.ndarray, np.ndarray]:
    vectors = _member(group, "vectors")
    W, m, _ = _read_matrix(_member(group, "W"))
    q, mu = _vector(vectors, "q", m), _vector(vectors, "mu", m // 3)
    if "V" not in group:
        return W, q, mu
    R, p, _ = _read_matrix(_member(group, "R"))
    V, *shape = _read_matrix(group["V"])
    if shape != [m, p]:
        raise ValueError(f"V is {shape[0]} x {shape[1]}, expected {m} x {p}")
    whole = _Triplets(
        np.concatenate([W.rows, V.rows, m + V.columns, m + R.rows]),
        np.concatenate([W.columns, m + V.columns, V.rows, m + R.columns]),
        np.concatenate([W.values, V.values, V.values, R.values]),
    )
    return whole, np.concatenate([q, _vector(vectors, "s", p)]), mu


def _global(group: h5py.Group) -> tuple[_Triplets, np.ndarray, np.ndarray]:
    """Aᵀ M⁻¹ A and Aᵀ M⁻¹ f + (w, b), with A = [H G]."""
    try:
        from scipy.sparse import csc_array, hstack
        from scipy.sparse.linalg import splu
    except ImportError as error:
        raise ImportError("a global problem of FCLIB needs scipy: pip install scipy") from error

    def matrix(name: str) -> Any:
        entries, m, n = _read_matrix(_member(group, name))
        return csc_array((entries.values, (entries.rows, entries.columns)), shape=(m, n))

    vectors = _member(group, "vectors")
    M, A = matrix("M"), matrix("H")
    n, m = A.shape
    q = _vector(vectors, "w", m)
    mu = _vector(vectors, "mu", m // 3)
    if "G" in group:
        G = matrix("G")
        q = np.concatenate([q, _vector(vectors, "b", G.shape[1])])
        A = csc_array(hstack([A, G]))
    if M.shape != (n, n) or A.shape[0] != n:
        raise ValueError(f"M is {M.shape[0]} x {M.shape[1]}, H and G have {n} rows")
    if abs(M - M.T).max() > 1e-9 * abs(M).max():
        raise ValueError("M is not symmetric")
    try:
        factor = splu(M)
    except RuntimeError as error:
        raise ValueError(f"M cannot be factored: {error}") from error
    # A few columns at a time: M⁻¹ A is sparse again, M being block-diagonal, but the solver wants them dense.
    width = 256
    solved = [csc_array(factor.solve(A[:, k : k + width].toarray())) for k in range(0, A.shape[1], width)]
    W = A.T @ hstack(solved) if solved else csc_array((0, 0))
    W = ((W + W.T) / 2).tocoo()  # symmetric but for rounding
    return _Triplets(W.row, W.col, W.data), A.T @ factor.solve(_vector(vectors, "f", n)) + q, mu


def _read_matrix(group: h5py.Group) -> tuple[_Triplets, int, int]:
    m, n, nz = (_integer(group, name) for name in ("m", "n", "nz"))
    name = group.name
    if min(m, n) < 0:
        raise ValueError(f"{name} is {m} x {n}")
    check_bytes(f"{name}, {m} x {n},", 16 * max(m, n))
    p, i, x = (_values(_member(group, part)) for part in ("p", "i", "x"))
    if p.dtype.kind not in "iu" or i.dtype.kind not in "iu" or x.dtype.kind not in "iuf":
        raise ValueError(f"p, i and x of {name} hold {p.dtype}, {i.dtype} and {x.dtype}, not indices and numbers")
    if not p.ndim == i.ndim == x.ndim == 1:
        raise ValueError(f"p, i and x of {name} are not lists")
    if nz >= 0:
        entries = _Triplets(p[:nz], i[:nz], x[:nz])
    elif nz in (_COMPRESSED_COLUMNS, _COMPRESSED_ROWS):
        lines = m if nz == _COMPRESSED_ROWS else n
        if len(p) != lines + 1 or p[0] != 0 or (np.diff(p) < 0).any() or p[-1] > min(len(i), len(x)):
            raise ValueError(f"p of {name} does not fit its {lines} lines and {len(i)} entries")
        line = np.repeat(np.arange(lines), np.diff(p))
        i, x = i[: p[-1]], x[: p[-1]]  # there may be room for more
        entries = _Triplets(line, i, x) if nz == _COMPRESSED_ROWS else _Triplets(i, line, x)
    else:
        raise ValueError(f"nz of {name} is {nz}: not triplets, nor compressed columns (-1) or rows (-2)")
    if len({len(part) for part in entries}) != 1:
        raise ValueError(f"p, i and x of {name} have {len(p)}, {len(i)} and {len(x)} entries")
    for indices, size in ((entries.rows, m), (entries.columns, n)):
        if len(indices) and not 0 <= indices.min() <= indices.max() < size:
            raise ValueError(f"an index of {name} is outside 0 … {size - 1}")
    return entries, m, n


def _answer(group: h5py.Group, place: np.ndarray) -> Answer:
    def ours(contacts: str, rest: str | None) -> np.ndarray:
        u = _values(_member(group, contacts))
        free = _values(group[rest]) if rest and rest in group else np.zeros(len(place) - len(u))
        if len(u) + len(free) != len(place):
            raise ValueError(f"{group.name} has {len(u) + len(free)} rows, the problem {len(place)}")
        made = np.empty(len(place))
        made[place] = np.concatenate([u, free])
        return made

    return Answer(ours("r", "l"), ours("u", None))


def _guesses(file: h5py.File) -> list[h5py.Group]:
    if "guesses" not in file:
        return []
    group = file["guesses"]
    return [_member(group, str(k)) for k in range(1, _integer(group, "number_of_guesses") + 1)]


def _places(contacts: int, rows: int) -> np.ndarray:
    """Where in our order each of their rows goes: the normal from the first place of a contact to the last."""
    place = np.arange(rows)
    place[0:contacts:3] += 2
    place[1:contacts:3] -= 1
    place[2:contacts:3] -= 1
    return place


def _member(group: h5py.Group, name: str) -> Any:
    if name not in group:
        raise ValueError(f"{group.name} has no {name}")
    return group[name]


def _values(dataset: h5py.Dataset) -> np.ndarray:
    """A file of a few bytes may declare any size and be filled with zeros."""
    check_bytes(f"{dataset.name} {dataset.shape}", dataset.dtype.itemsize * math.prod(dataset.shape))
    return dataset[...]


def _integer(group: h5py.Group, name: str) -> int:
    return int(np.ravel(_values(_member(group, name)))[0])


def _vector(group: h5py.Group, name: str, size: int) -> np.ndarray:
    values = _values(_member(group, name))
    if values.shape != (size,):
        raise ValueError(f"{name} has shape {values.shape}, expected ({size},)")
    return values


def _text(dataset: h5py.Dataset) -> str:
    check_bytes(dataset.name, dataset.dtype.itemsize * math.prod(dataset.shape))
    value = dataset[()]
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


# --- writing


def _rows(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Our rows in their order: the contacts', normal first, and the bilateral ones."""
    contacts: list[int] = []
    free: list[int] = []
    start = 0
    for kind, size in zip(problem.kinds, problem.sizes, strict=True):
        if kind == "cone":
            contacts += [start + 2, start, start + 1]
        elif kind == "free":
            free += range(start, start + size)
        else:
            raise ValueError(f"FCLIB has no block of kind '{kind}', only contacts and bilateral rows")
        start += size
    return np.array(contacts, dtype=int), np.array(free, dtype=int)


def _checked(name: str, impulse: ArrayLike, rows: int) -> np.ndarray:
    values = _numbers(impulse, name, rows)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} is not finite")
    return values


def _int(value: int) -> np.ndarray:
    return np.array([value], dtype=np.int32)


def _write_matrix(group: h5py.Group, entries: _Triplets, m: int, n: int) -> None:
    data, indices, indptr = entries.compressed(m)
    for name, value in (("nzmax", len(data)), ("m", m), ("n", n), ("nz", _COMPRESSED_ROWS)):
        group[name] = _int(value)
    group["p"], group["i"], group["x"] = indptr.astype(np.int32), indices.astype(np.int32), data


def _write_answer(group: h5py.Group, velocity: np.ndarray, impulse: np.ndarray, contacts: int) -> None:
    group["u"], group["r"] = velocity[:contacts], impulse[:contacts]
    if len(impulse) > contacts:
        group["l"] = impulse[contacts:]
