"""Bodies of a scene, without a pinocchio.Data: that of a heap of a hundred takes gigabytes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pinocchio

from .._taut import Scene, _Bodies


class Bodies:
    """Where the bodies of a scene are in any state."""

    def __init__(self, scene: Scene) -> None:
        self._bodies = _Bodies(scene)
        self.model = scene.model

    def placements(self, q: np.ndarray) -> np.ndarray:
        """(njoints, 3, 4): [R | p] of each joint in the world."""
        return self._bodies.placements(q).reshape(-1, 3, 4)

    def velocities(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(njoints, 6): (linear, angular) of each joint, in its own frame."""
        return self._bodies.velocities(q, v)

    def mobility(self, q: np.ndarray, joint: int, point: np.ndarray) -> float:
        """1/kg: how easily a point of a body (in the joint's frame) moves, on average over all directions."""
        return self._bodies.mobility(q, joint, point)


def apply(placement: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points of a joint's frame, (..., 3), in the world."""
    return points @ placement[:, :3].T + placement[:, 3]


def apply_inverse(placement: np.ndarray, point: np.ndarray) -> np.ndarray:
    return placement[:, :3].T @ (point - placement[:, 3])


def with_mass(model: pinocchio.Model) -> list[int]:
    """Joints that carry something one can push."""
    return [joint for joint in range(1, model.njoints) if model.inertias[joint].mass > 0]


def roots(model: pinocchio.Model) -> np.ndarray:
    """The first joint of the tree of each joint; 0 for the world."""
    found = np.zeros(model.njoints, int)
    for joint in range(1, model.njoints):
        parent = int(model.parents[joint])
        found[joint] = found[parent] if parent else joint
    return found


def tree_masses(model: pinocchio.Model) -> np.ndarray:
    """kg, of all that hangs together with each joint; 0 for the world."""
    tree = roots(model)
    masses = np.bincount(tree, [inertia.mass for inertia in model.inertias], model.njoints)
    masses[0] = 0.0
    return masses[tree]


def typical_weight(scene: Scene) -> float:
    """N, of the heaviest thing that hangs together: what contact forces are compared with."""
    gravity = float(np.linalg.norm(scene.gravity)) or 9.81
    return gravity * (float(tree_masses(scene.model).max(initial=0.0)) or 1.0)


def extent(points: Iterable[np.ndarray]) -> np.ndarray:
    """How large the box around points is, m."""
    stacked = np.concatenate([np.zeros((0, 3)), *points])
    return np.ptp(stacked, axis=0) if len(stacked) else np.zeros(3)
