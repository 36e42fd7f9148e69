"""How a problem from a file is kept: dense or sparse."""

from __future__ import annotations

from typing import Any

from ._taut import Problem

# The most that the arrays of one file may take in memory; a file says how large they are before they are read.
MAX_BYTES = 1 << 30

# Up to here the bookkeeping of blocks costs more than their zeros.
DENSE_ROWS = 72


def check_bytes(what: str, count: int) -> None:
    """Throws ValueError if an array is larger than what a file may ask for."""
    if count > MAX_BYTES:
        raise ValueError(f"{what} would take {count} bytes; {MAX_BYTES} are the most (taut.storage.MAX_BYTES)")


def fitting(cls: type[Problem], csr: tuple[Any, Any, Any], **content: Any) -> Problem:
    """A problem whose G is (data, indices, indptr): sparse if it is large and more than half empty."""
    problem = cls(csr, **content)
    rows = len(problem.g)
    if rows > DENSE_ROWS and 2 * len(csr[0]) < rows**2:
        return problem
    return cls(problem.G, **content)
