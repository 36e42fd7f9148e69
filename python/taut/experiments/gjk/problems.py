"""Couples of convex shapes at known distances, and the methods that are asked for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import coal
import numpy as np

from ... import _taut
from ...collision import distance
from ...scenes import make

TOLERANCE = 1e-8  # m² on the duality gap, [GJK]'s
BOOLEAN, DISTANCE = "boolean", "distance"
BEYOND = {DISTANCE: None, BOOLEAN: 0.0}
PLANE = TOLERANCE**0.5  # m: what that promises. Closer to touching, either answer to "do they touch?" is right
APART = 1e-3  # m: from here on a couple that approaches is moved along its normal

# As [GJK] compares them; Coal knows no normalization of Polyak's directions.
METHODS: dict[str, dict[str, Any]] = {
    "vanilla": {"variant": "vanilla"},
    "polyak": {"variant": "polyak"},
    "nesterov": {"variant": "nesterov", "normalize": True},
    "nesterov, not normalized": {"variant": "nesterov", "normalize": False},
}
COLOURS = {
    "vanilla": "tab:blue",
    "polyak": "tab:orange",
    "nesterov": "tab:green",
    "nesterov, not normalized": "tab:olive",
}


def directions(rng: np.random.Generator, count: int) -> np.ndarray:
    found = rng.normal(size=(count, 3))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def rotations(rng: np.random.Generator, count: int) -> np.ndarray:
    """(count, 3, 3), uniform: of unit quaternions."""
    q = rng.normal(size=(count, 4))
    x, y, z, w = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def ellipsoid(rng: np.random.Generator, smallest: float = 0.06, largest: float = 0.5) -> Any:
    return coal.Ellipsoid(*np.exp(rng.uniform(np.log(smallest), np.log(largest), 3)))


def hull(points: np.ndarray) -> Any:
    corners = coal.StdVec_Vec3s()
    for point in points:
        corners.append(point)
    made = coal.Convex.convexHull(corners, True, "Qt")
    made.computeLocalAABB()
    return made


def mesh(rng: np.random.Generator, vertices: int, smallest: float = 0.06, largest: float = 0.3) -> Any:
    """Random points of an ellipsoid: all of them are vertices of their hull."""
    radii = np.exp(rng.uniform(np.log(smallest), np.log(largest), 3))
    return hull(radii * directions(rng, vertices))


def robot_hulls(count: int, rng: np.random.Generator) -> list[Any]:
    """Hulls of meshes of Talos, Solo12, G1 and UR5, some of those with a hundred vertices or more.

    Empty without the package that has them (`pip install 'taut[robots]'`).
    """
    found: list[Any] = []
    for name in ("talos", "solo12", "g1", "ur5"):
        try:
            scene = make(name)
        except FileNotFoundError:
            continue
        # Copies: what a scene lends lives as long as the scene.
        found += [
            shape.clone()
            for shape in (thing.geometry for thing in scene.geometry.geometryObjects)
            if isinstance(shape, coal.ConvexBase) and shape.num_points >= 100
        ]
    for shape in found:
        shape.computeLocalAABB()
    chosen = rng.permutation(len(found))[:count]
    return [found[i] for i in sorted(chosen)]


def inside(shape: Any) -> np.ndarray:
    """A point of it: hulls of robots need not hold their origin."""
    return np.mean(shape.points(), axis=0) if isinstance(shape, coal.ConvexBase) else np.zeros(3)


def matrix(rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    M = np.eye(4)
    M[:3, :3], M[:3, 3] = rotation, translation
    return M


@dataclass(frozen=True)
class Couple:
    """Two shapes and random relative poses, the second seen from the first, in which they just touch."""

    first: Any
    second: Any
    rotation: np.ndarray  # (n, 3, 3)
    touching: np.ndarray  # (n, 3): where the second stands
    normal: np.ndarray  # (n, 3): to the first

    @classmethod
    def random(cls, first: Any, second: Any, count: int, rng: np.random.Generator) -> Couple:
        """Any orientation, toward each other along any line, then along that of the nearest points [GJK, Sec. IV].

        What meets on the way is an edge and an edge or a face and a corner. From afar it would be two corners.
        """
        rotation = rotations(rng, count)
        way = directions(rng, count)
        touching = 4.0 * way + inside(first) - rotation @ inside(second)  # so that they meet
        normal = np.zeros((count, 3))
        for i in range(count):
            at = distance(first, np.eye(4), second, matrix(rotation[i], touching[i]))
            while at.distance > APART:  # conservative: along the normal they come no closer than this
                touching[i] -= 0.999 * at.distance / -(way[i] @ at.normal) * way[i]
                at = distance(first, np.eye(4), second, matrix(rotation[i], touching[i]))
            normal[i] = at.normal
            touching[i] += at.distance * at.normal
        return cls(first, second, rotation, touching, normal)

    def at(self, separation: Any) -> np.ndarray:
        """Translations at this distance, exact where it is not negative; one or a value for each pose."""
        return self.touching - np.reshape(separation, (-1, 1)) * self.normal

    def overlaps(self, translation: np.ndarray) -> np.ndarray:
        """Signed distances: of overlapping shapes the nominal one is a bound only."""
        poses = zip(self.rotation, translation, strict=True)
        return np.array([distance(self.first, np.eye(4), self.second, matrix(*pose)).distance for pose in poses])

    def ask(self, translation: np.ndarray, **options: Any) -> _taut.GjkRuns:
        rotation = self.rotation.reshape(-1, 9)
        given = {"criterion": "duality_gap", "tolerance": TOLERANCE, **options}
        return _taut.time_gjk(self.first, self.second, rotation, translation, **given)


class Tally:
    """Iterations, times and errors of one method, over couples."""

    def __init__(self) -> None:
        self.iterations: list[np.ndarray] = []
        self.micros: list[np.ndarray] = []
        self.error = 0.0
        self.wrong = self.limited = 0

    def add(self, runs: _taut.GjkRuns, expected: np.ndarray, boolean: bool) -> None:
        """`expected` are signed distances."""
        self.iterations.append(np.array(runs.iterations))
        self.micros.append(np.array(runs.nanoseconds) / 1e3)
        clear = np.abs(expected) > PLANE
        self.wrong += int(np.sum(runs.touching[clear] != (expected[clear] < 0)))
        self.limited += int(np.sum(~np.array(runs.converged)))
        if not boolean:
            self.error = max(self.error, float(np.abs(runs.distance - np.maximum(expected, 0.0)).max()))

    def micros_of_all(self) -> np.ndarray:
        return np.concatenate(self.micros)

    def summary(self) -> dict[str, Any]:
        iterations, micros = np.concatenate(self.iterations), self.micros_of_all()
        return {
            "problems": len(micros),
            "iterations": float(iterations.mean()),
            "iterations_std": float(iterations.std()),
            "us": float(micros.mean()),
            "us_std": float(micros.std()),
            "us_median": float(np.median(micros)),
            "us_quartiles": [float(value) for value in np.quantile(micros, (0.25, 0.75))],
            "error": self.error,
            "wrong": self.wrong,
            "limited": self.limited,
        }


def plus_minus(mean: float, std: float, digits: int = 1) -> str:
    return f"{mean:.{digits}f} ± {std:.{digits}f}"
