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
from ._taut import Distance, DistanceDerivatives, PatchPoint, PatchPointDerivatives, SizeDerivative

__all__ = [
    "Distance",
    "DistanceDerivatives",
    "PatchPoint",
    "PatchPointDerivatives",
    "SizeDerivative",
    "derivatives",
    "distance",
    "patch",
    "size_derivatives",
]


def distance(shape_1: Any, pose_1: Any, shape_2: Any, pose_2: Any) -> Distance:
    """The signed distance of two shapes, its normal (to the first) and the two nearest points.

    Shapes are Coal's (spheres, ellipsoids, capsules, cones, cylinders, boxes, convex meshes, one half-space); poses are
    pinocchio.SE3 or matrices (4, 4).
    """
    return _taut.collision_distance(shape_1, pose_1, shape_2, pose_2)


def derivatives(shape_1: Any, pose_1: Any, shape_2: Any, pose_2: Any, **options: Any) -> DistanceDerivatives:
    """Derivatives of distance, normal, points and contact frame with respect to both poses.

    Tangents are Pinocchio's: (linear, angular) in the frame of each shape, the first one's six before the second's.

    method       how:
        auto                exact, but gumbel where a convex mesh takes part; `.method` of the answer says which.
        exact               implicit differentiation on the features that touch: vertices, edges, faces, round surfaces.
                            Where features change it is the derivative of one side.
        gumbel              first order, with meshes and boxes as if their corners were rounded: soft-max over the
                            neighbours of the active vertices. Tells where to turn where exact derivatives, rightly,
                            say that a corner stays the corner that touches.
        gaussian            first order, the same for any shape by random directions.
        gaussian_0          zeroth order: distances at random poses.
        finite_differences  central, for reference.
    samples      of the Gaussian estimators, 20.
    depth        of Gumbel's: how many edges away neighbours are, 1.
    temperature  how much is blurred. Gumbel: in radii of the shape, 0.02; gaussian: rad, 0.1; gaussian_0: rad, and
                 moves in radii of the smaller shape, 0.01.
    seed         of the random numbers: the same seed, the same answer. 0.
    step         of finite differences, 1e-6.
    """
    return _taut.collision_derivatives(shape_1, pose_1, shape_2, pose_2, **options)


def size_derivatives(
    shape_1: Any, pose_1: Any, shape_2: Any, pose_2: Any
) -> tuple[dict[str, SizeDerivative], dict[str, SizeDerivative]]:
    """Exact derivatives with respect to the sizes of both shapes, by name.

    Names are Coal's: radius, half_length, half_side_x, offset, …; a convex mesh has scale_x, scale_y, scale_z along the
    axes of its frame, each 1.
    """
    return _taut.collision_size_derivatives(shape_1, pose_1, shape_2, pose_2)


def patch(
    shape_1: Any, pose_1: Any, shape_2: Any, pose_2: Any, *, margin: float = 1e-3, **options: Any
) -> list[PatchPoint]:
    """The points, at most four, where two shapes touch or are closer than `margin`, each with its derivatives.

    The same points whichever shape comes first; the second may be a height field, too. A point of a face follows its
    corner, edge or rim exactly; a witness of the distance (no face gives the normal) is derived as `options`, those of
    `derivatives`, say.
    """
    return _taut.collision_patch(shape_1, pose_1, shape_2, pose_2, margin, **options)
