"""The judge of docs/theory.md written again in numpy, for every kind of block: another opinion than the C++ one's."""

from __future__ import annotations

import math

import numpy as np

import taut


def onto_cone(x: np.ndarray, mu: float) -> np.ndarray:
    radius = math.hypot(x[0], x[1])
    if radius <= mu * x[2]:
        return x
    if mu * radius <= -x[2]:
        return np.zeros(3)
    normal = (mu * radius + x[2]) / (1 + mu**2)
    return normal * np.array([mu * x[0] / radius, mu * x[1] / radius, 1.0])


def residuals(problem: taut.Problem, impulse: np.ndarray) -> dict[str, float]:
    """primal, dual and natural, the worst block each; NaN if something is not finite."""
    A = problem.G + np.diag(problem.R)
    velocity = A @ impulse + problem.g
    worst = {"primal": 0.0, "dual": 0.0, "natural": 0.0}
    if not np.isfinite([*impulse, *velocity]).all():
        return dict.fromkeys(worst, math.nan)
    start = 0
    for block, size in zip(problem.blocks, problem.sizes, strict=True):
        rows = slice(start, start + size)
        start += size
        x, c = impulse[rows], velocity[rows]
        stiffness = np.trace(A[rows, rows]) / size or 1.0
        if block[0] == "cone":
            s = c + np.array([0, 0, block[1] * math.hypot(c[0], c[1])])
            primal = math.hypot(*(x - onto_cone(x, block[1])))  # unlike a norm it does not overflow
            dual = math.hypot(*onto_cone(-s, block[1]))
            projected = onto_cone(x - s / stiffness, block[1])
        elif block[0] == "positive":
            primal, dual, projected = max(0, -x[0]), max(0, -c[0]), np.maximum(0, x - c / stiffness)
        elif block[0] == "interval":
            primal, dual = max(0, abs(x[0]) - block[1]), 0
            projected = np.clip(x - c / stiffness, -block[1], block[1])
        else:
            primal, dual, projected = 0, np.abs(c).max(), x - c / stiffness
        natural = stiffness * np.abs(x - projected).max()
        for name, value in (("primal", primal), ("dual", dual), ("natural", natural)):
            worst[name] = max(worst[name], float(value))
    return worst


def worst(problem: taut.Problem, impulse: np.ndarray) -> float:
    return max(residuals(problem, impulse).values())
