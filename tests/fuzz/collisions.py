"""Pairs of shapes at any pose, far, near, deep and square to each other: what `taut.collision` says of them holds."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin

import taut

from . import scenes
from .geometry import Placed, body_of, most_separating, separation
from .outcome import Outcome

INPUTS = 20
DEEP = 1.0  # of the smaller shape's radius


def run(seed: list[int], outcome: Outcome) -> None:
    for place in range(outcome.first, INPUTS):
        rng = np.random.default_rng([*seed, place])
        with outcome.guard(place), np.errstate(all="ignore"):
            pair(rng, outcome, place)
        outcome.count("inputs")


def pose(rng: scenes.Rng, reach: float) -> pin.SE3:
    x, y, z, w = scenes.quaternion(rng)
    return pin.SE3(pin.Quaternion(w, x, y, z).matrix(), reach * rng.normal(size=3) * rng.choice([0.0, 1e-9, 0.3, 1.0]))


def _radius(shape: coal.CollisionGeometry) -> float:
    body = body_of(shape)
    return np.inf if body is None else body.radius


def _is_not_the_least(one, a: pin.SE3, two, b: pin.SE3, found, back, slack: float) -> bool:
    if abs(back.distance - found.distance) > slack:
        return True
    if np.abs(np.array(found.point_1) - found.point_2 - found.distance * np.array(found.normal)).max() > slack:
        return True  # of such a direction the two points are not opposite each other
    if isinstance(two, coal.Halfspace):
        return False
    placed = [Placed(body_of(shape), M.rotation, M.translation) for shape, M in ((one, a), (two, b))]
    return most_separating(*placed)[0] > separation(*placed, np.array(found.normal)) + slack


def pair(rng: scenes.Rng, outcome: Outcome, place: int) -> None:
    size = scenes.log_uniform(rng, -3, 2)
    one, two = scenes.shape(rng, size), scenes.shape(rng, size * scenes.log_uniform(rng, -2, 0.5))
    if rng.uniform() < 0.1:
        two = coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    a, b = pose(rng, size), pose(rng, size)
    found = taut.collision.distance(one, a, two, b)
    n = np.array(found.normal)
    if not np.isfinite(found.distance) or abs(np.sqrt(n @ n) - 1) > 1e-9:
        outcome.finding(f"distance {found.distance}, normal {n}", place=place)
        return
    name = f"{type(one).__name__} and {type(two).__name__}"
    back = taut.collision.distance(two, b, one, a)
    slack = 1e-6 * size
    # How deep curved shapes are is a search with several answers, which may end in one that is not the best: counted.
    deep = min(found.distance, back.distance) < -DEEP * min(_radius(one), _radius(two))
    if deep and _is_not_the_least(one, a, two, b, found, back, slack):
        outcome.count("deep pairs: another direction separates more")
        return
    if abs(back.distance - found.distance) > slack:
        outcome.finding(f"{name}: {found.distance:.9e} one way, {back.distance:.9e} the other", place=place)
    if np.abs(np.array(found.point_1) - found.point_2 - found.distance * n).max() > slack:
        outcome.finding(f"{name}: the points are not apart by the distance along the normal", place=place)
    if isinstance(two, coal.Halfspace):
        return
    placed_1 = Placed(body_of(one), a.rotation, a.translation)
    placed_2 = Placed(body_of(two), b.rotation, b.translation)
    own = separation(placed_1, placed_2, n)
    if abs(own - found.distance) > slack:
        outcome.finding(f"{name}: distance {found.distance:.6e}, the normal separates by {own:.6e}", place=place)
    best, _ = most_separating(placed_1, placed_2)
    if best > own + slack:
        outcome.finding(f"{name}: separated by {own:.6e} along the normal, by {best:.6e} along another", place=place)
    if rng.uniform() < 0.3:
        method = str(rng.choice(["auto", "exact", "gumbel", "gaussian", "gaussian_0", "finite_differences"]))
        derivative = taut.collision.derivatives(one, a, two, b, method=method)
        if method in ("auto", "exact") and not np.isfinite(derivative.distance).all():
            outcome.finding(f"{name}: derivative of the distance is not finite", place=place)
        taut.collision.size_derivatives(one, a, two, b)
    for point in taut.collision.patch(one, a, two, b, margin=scenes.log_uniform(rng, -5, -1)):
        if not np.isfinite(point.gap) or not np.isfinite(point.position).all():
            outcome.finding(f"{name}: a point of the patch is not finite", place=place)
