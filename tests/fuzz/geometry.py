"""Contacts by their definition, for the judge: the signed distance of two convex shapes is their largest separation
over all directions. Supports and surfaces of the shapes are written again here; nothing of taut's collision is used.

So a contact (gap, n, point) of two shapes is right if n separates them by the gap, no direction that anybody knows
separates them more, and point ± n gap/2 lie on the two shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import coal
import numpy as np


@dataclass
class Body:
    """A shape in its own frame: how far it reaches along unit vectors, and how far a point is outside of it."""

    kind: str
    reach: Callable[[np.ndarray], np.ndarray]  # support heights along unit vectors, (n, 3)
    outside: Callable[[np.ndarray], float]  # a lower bound of the distance of a point to the shape; ≤ 0 within
    faces: np.ndarray  # (n, 3): outward normals worth a try as separating directions
    radius: float  # of a ball about the frame's origin that holds the shape
    vertices: np.ndarray | None = None
    geometry: coal.CollisionGeometry | None = None


_NONE = np.zeros((0, 3))
_AXES = np.vstack([np.eye(3), -np.eye(3)])


def body_of(geometry: coal.CollisionGeometry) -> Body | None:
    """None for what has no convex definition: half-spaces are `plane_of`, height fields are not judged."""
    kind = type(geometry).__name__
    if kind == "Sphere":
        r = geometry.radius
        return Body(kind, lambda d: np.full(len(d), r), lambda x: math.sqrt(x @ x) - r, _NONE, r, None, geometry)
    if kind == "Box":
        a = np.array(geometry.halfSide)
        return Body(
            kind,
            lambda d: np.abs(d) @ a,
            lambda x: float(np.max(np.abs(x) - a)),
            _AXES,
            math.sqrt(a @ a),
            np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * a,
            geometry,
        )
    if kind == "Ellipsoid":
        a = np.array(geometry.radii)
        least = float(a.min())

        def above(x: np.ndarray) -> float:
            y = x / a
            return (math.sqrt(y @ y) - 1.0) * least

        return Body(kind, lambda d: np.sqrt(((a * d) ** 2).sum(1)), above, _NONE, float(a.max()), None, geometry)
    if kind == "Capsule":
        r, h = geometry.radius, geometry.halfLength

        def beside(x: np.ndarray) -> float:
            return math.sqrt(x[0] ** 2 + x[1] ** 2 + max(0.0, abs(x[2]) - h) ** 2) - r

        return Body(kind, lambda d: r + h * np.abs(d[:, 2]), beside, _NONE, r + h, None, geometry)
    if kind == "Cylinder":
        r, h = geometry.radius, geometry.halfLength
        return Body(
            kind,
            lambda d: r * np.hypot(d[:, 0], d[:, 1]) + h * np.abs(d[:, 2]),
            lambda x: max(math.hypot(x[0], x[1]) - r, abs(x[2]) - h),
            _AXES[[2, 5]],
            math.hypot(r, h),
            None,
            geometry,
        )
    if kind == "Cone":
        r, h = geometry.radius, geometry.halfLength
        along, up = np.array([2 * h, r]) / math.hypot(2 * h, r)  # normal of the side: (radial, axial)
        return Body(
            kind,
            lambda d: np.maximum(h * d[:, 2], r * np.hypot(d[:, 0], d[:, 1]) - h * d[:, 2]),
            lambda x: max(-x[2] - h, along * math.hypot(x[0], x[1]) + up * (x[2] - h)),
            _AXES[5:],
            math.hypot(r, h),
            None,
            geometry,
        )
    if hasattr(geometry, "points") and hasattr(geometry, "num_points"):
        from scipy.spatial import ConvexHull

        points = np.array([np.array(geometry.point(i)) for i in range(geometry.num_points)])
        hull = ConvexHull(points, qhull_options="QJ" if len(points) < 5 else "Qt")
        normals, offsets = hull.equations[:, :3], hull.equations[:, 3]
        return Body(
            "Convex",
            lambda d: (d @ points.T).max(1),
            lambda x: float(np.max(normals @ x + offsets)),
            normals if len(normals) <= 64 else _NONE,
            float(np.sqrt((points**2).sum(1).max())),
            points,
            geometry,
        )
    return None


def plane_of(geometry: coal.CollisionGeometry) -> tuple[np.ndarray, float] | None:
    if type(geometry).__name__ != "Halfspace":
        return None
    return np.array(geometry.n), float(geometry.d)


class Placed:
    """A body in the world."""

    def __init__(self, body: Body, rotation: np.ndarray, translation: np.ndarray) -> None:
        self.body, self.R, self.p = body, rotation, translation

    def reach(self, n: np.ndarray) -> float:
        """max n · x over the shape."""
        return float(self.reaches(n[None])[0])

    def reaches(self, n: np.ndarray) -> np.ndarray:
        return self.body.reach(n @ self.R) + n @ self.p

    def outside(self, x: np.ndarray) -> float:
        return self.body.outside(self.R.T @ (x - self.p))


def separation(one: Placed, two: Placed, n: np.ndarray) -> float:
    """How far the unit vector n, to `one`, separates two shapes: a lower bound of their signed distance."""
    return -one.reach(-n) - two.reach(n)


_REQUEST = coal.DistanceRequest(True, True)
_REQUEST.gjk_tolerance = _REQUEST.epa_tolerance = 1e-9
_REQUEST.gjk_max_iterations = _REQUEST.epa_max_iterations = 512


def coal_distance(one: Placed, two: Placed) -> tuple[float, np.ndarray | None]:
    """Coal's signed distance and the normal (to `one`) it comes with; no normal where it gives none."""
    result = coal.DistanceResult()
    distance = coal.distance(
        one.body.geometry,
        coal.Transform3s(one.R, one.p),
        two.body.geometry,
        coal.Transform3s(two.R, two.p),
        _REQUEST,
        result,
    )
    n = -np.array(result.normal)
    length = math.sqrt(n @ n) if np.isfinite(n).all() else 0.0
    return distance, n / length if length > 0.5 else None


def directions(one: Placed, two: Placed) -> np.ndarray:
    """(n, 3): directions to `one` that may separate two shapes well: between the centres, and the normals of faces."""
    apart = one.p - two.p
    length = math.sqrt(apart @ apart)
    between = apart[None] / length if length > 0 else _NONE
    return np.concatenate([two.body.faces @ two.R.T, -one.body.faces @ one.R.T, between])


def most_separating(one: Placed, two: Placed) -> tuple[float, np.ndarray | None]:
    """A lower bound of the signed distance, as good as Coal's answer and the faces make it; never above it."""
    _, n = coal_distance(one, two)
    candidates = directions(one, two)
    if n is not None:
        candidates = np.concatenate([candidates, n[None]])
    if not len(candidates):
        return -math.inf, None
    values = -one.reaches(-candidates) - two.reaches(candidates)
    best = int(np.argmax(values))
    return float(values[best]), candidates[best]
