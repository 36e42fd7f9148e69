"""Signed distances of Coal's shapes, and their derivatives, without a simulator.

>>> import coal, pinocchio, taut
>>> ball, table = coal.Sphere(0.1), coal.Box(1.0, 1.0, 0.2)
>>> above, here = pinocchio.SE3.Identity(), pinocchio.SE3.Identity()
>>> above.translation[2] = 0.3
>>> round(taut.collision.distance(ball, above, table, here).distance, 12)
0.1
>>> taut.collision.derivatives(ball, above, table, here).distance[:3].round(12).tolist()
[0.0, 0.0, 1.0]
"""

from __future__ import annotations

from typing import Any

from . import _taut
from ._taut import Distance, DistanceDerivatives

__all__ = ["Distance", "DistanceDerivatives", "derivatives", "distance"]


def distance(shape_1: Any, pose_1: Any, shape_2: Any, pose_2: Any) -> Distance:
    """The signed distance of two shapes, its normal (to the first) and the two nearest points.

    Shapes are Coal's (spheres, ellipsoids, capsules, cones, cylinders, boxes, convex meshes, one half-space); poses are
    pinocchio.SE3 or matrices (4, 4).
    """
    return _taut.collision_distance(shape_1, pose_1, shape_2, pose_2)


def derivatives(
    shape_1: Any, pose_1: Any, shape_2: Any, pose_2: Any, *, method: str = "auto", step: float = 1e-6
) -> DistanceDerivatives:
    """Derivatives of distance, normal, points and contact frame with respect to both poses.

    Tangents are Pinocchio's: (linear, angular) in the frame of each shape, the first one's six before the second's.

    exact               implicit differentiation on the features that touch: vertices, edges, faces, round surfaces.
                        Where features change it is the derivative of one side.
    finite_differences  central, with this step; for reference.
    auto                exact.
    """
    return _taut.collision_derivatives(shape_1, pose_1, shape_2, pose_2, method, step)
