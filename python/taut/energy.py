"""Mechanical energy of a scene: what a passive run may only lose."""

from __future__ import annotations

import numpy as np

from . import _taut
from ._taut import Scene


def mechanical_energy(scene: Scene, q: np.ndarray, v: np.ndarray) -> float | np.ndarray:
    """Kinetic and potential energy of bodies, armature and joint springs, in J.

    A state gives a number; rows of states, q (n, nq) and v (n, nv), give an array (n,). The height of zero potential
    is z = 0 and springs count from their reference.
    """
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    model = scene.model
    if q.shape[-1:] != (model.nq,) or v.shape[-1:] != (model.nv,) or q.shape[:-1] != v.shape[:-1]:
        raise ValueError(f"q has shape {q.shape} and v {v.shape}, expected (..., {model.nq}) and (..., {model.nv})")
    energies = _taut.mechanical_energies(scene, np.atleast_2d(q), np.atleast_2d(v))
    return float(energies[0]) if q.ndim == 1 else energies
