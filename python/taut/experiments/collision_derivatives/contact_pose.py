"""A pose in which two shapes touch at given points: the problem of [DCD, Sec. V], and Gauss-Newton on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio

from ... import collision

STILL = pinocchio.SE3.Identity()


@dataclass(frozen=True)
class ContactPose:
    """min_q ½ |x_1 − target_1|² + ½ |x_2 − target_2|² + ½ |x_1 − x_2|² over the pose of the second [DCD, eq. (30)].

    x_1, x_2 are the witness points; each target is in its shape's frame; the first shape stands still.
    """

    first: Any
    second: Any
    target_1: np.ndarray
    target_2: np.ndarray
    start: pinocchio.SE3

    def residual(self, pose: pinocchio.SE3) -> np.ndarray:
        at = collision.distance(self.first, STILL, self.second, pose)
        return np.concatenate(
            [at.point_1 - self.target_1, at.point_2 - pose.act(self.target_2), at.point_1 - at.point_2]
        )

    def jacobian(self, pose: pinocchio.SE3, **options: Any) -> np.ndarray:
        d = collision.derivatives(self.first, STILL, self.second, pose, **options)
        point_1, point_2 = d.point_1[:, 6:], d.point_2[:, 6:]
        target = np.hstack([pose.rotation, -pose.rotation @ pinocchio.skew(self.target_2)])
        return np.vstack([point_1, point_2 - target, point_1 - point_2])

    def solve(self, iterations: int = 50, **options: Any) -> list[float]:
        """Costs along Gauss-Newton with backtracking, the first that of the start; `options` say whose Jacobian."""
        pose = self.start
        r = self.residual(pose)
        costs = [0.5 * float(r @ r)]
        for _ in range(iterations):
            J = self.jacobian(pose, **options)
            H = J.T @ J
            # A witness may not feel some motions at all: a touch of damping, relative to each, keeps the step finite.
            scale = np.diag(H)
            H = H + 1e-8 * np.diag(np.maximum(scale, 1e-4 * scale.max() + 1e-300))
            step = -np.linalg.solve(H, J.T @ r)
            for halvings in range(20):
                tried = pose * pinocchio.exp6(0.5**halvings * step)
                new = self.residual(tried)
                if new @ new < r @ r:
                    break
            else:
                break  # no descent along it
            pose, r = tried, new
            costs.append(0.5 * float(r @ r))
            if costs[-1] < 1e-32:
                break
        return costs


def vertices(shape: Any) -> np.ndarray:
    return np.array([shape.point(i) for i in range(shape.num_points)])


def on_surface(shape: Any, rng: np.random.Generator) -> np.ndarray:
    """Any point of the surface, evenly."""
    points = vertices(shape)
    triangles = np.array([[points[shape.polygons(i)[k]] for k in range(3)] for i in range(shape.num_polygons)])
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    k = rng.choice(len(areas), p=areas / areas.sum())
    u, w = rng.random(2)
    if u + w > 1:
        u, w = 1 - u, 1 - w
    return a[k] + u * (b[k] - a[k]) + w * (c[k] - a[k])
