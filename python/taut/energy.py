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
    return _taut.mechanical_energies(scene, q, v)
