"""How long a solve takes, and what the judge says of its answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _taut

TOLERANCE = 1e-6  # m/s on the judge: what certified means in these experiments
BUDGET = 0.05  # s spent on repeating one measurement
REPEATS = 50
LONG = 0.2  # s: a solve that need not be repeated


def median_seconds(call: Callable[[], Any]) -> float:
    """The median over as many calls as fit into BUDGET, of a Python call: its overhead is inside."""
    times: list[float] = []
    while not times or (sum(times) < BUDGET and len(times) < REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def solve(problem: _taut.Problem, solver: str, warm_start: np.ndarray | None = None) -> dict[str, Any]:
    """A solver of taut, timed in C++ with a warm workspace: no call overhead, no allocation.

    Where the time will not be compared, after a failure, or where a call costs nothing beside it, once is enough.
    """
    options = {"solver": solver, "tolerance": TOLERANCE, "warm_start": warm_start}
    start = time.perf_counter()
    solution = _taut.solve(problem, **options)
    seconds = time.perf_counter() - start
    answer = judged(problem, solution.impulse)
    if answer["certified"] and seconds < LONG:
        repeats = int(np.clip(BUDGET / seconds, 1, REPEATS))
        seconds = float(np.median(_taut.time_solve(problem, **options, repeats=repeats)))
    return {"seconds": seconds, **answer}


def judged(problem: _taut.Problem, impulse: np.ndarray) -> dict[str, Any]:
    residuals = _taut.residuals(problem, impulse)
    return {"natural": residuals.natural, "worst": residuals.worst, "certified": bool(residuals.worst <= TOLERANCE)}


def duration(seconds: float) -> str:
    """Two digits and the unit one would say it in, short enough for a column."""
    unit, size = next(((u, s) for u, s in (("s", 1.0), ("ms", 1e-3)) if seconds >= 0.995 * s), ("µs", 1e-6))
    return f"{seconds / size:.1f} {unit}" if seconds < 9.95 * size else f"{seconds / size:.0f} {unit}"


def exponent(value: float) -> str:
    """One digit and the power of ten, without the zeros of printf: 3e-7."""
    mantissa, power = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(power)}"
