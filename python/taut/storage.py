"""How a problem from a file is kept: dense or sparse."""

from __future__ import annotations

from typing import Any

from ._taut import Problem

# Up to here the bookkeeping of blocks costs more than their zeros.
DENSE_ROWS = 72


def fitting(cls: type[Problem], csr: tuple[Any, Any, Any], **content: Any) -> Problem:
    """A problem whose G is (data, indices, indptr): sparse if it is large and more than half empty."""
    problem = cls(csr, **content)
    rows = len(problem.g)
    if rows > DENSE_ROWS and 2 * len(csr[0]) < rows**2:
        return problem
    return cls(problem.G, **content)
