"""`taut.collision`: distances and derivatives of Coal's shapes, and what it answers to shapes that have none."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio
import pytest

import taut


def pose(rng: np.random.Generator, spread: float = 1.0) -> pinocchio.SE3:
    return pinocchio.SE3(
        pinocchio.Quaternion(rng.normal(size=4)).normalized().toRotationMatrix(), spread * rng.normal(size=3)
    )


def test_a_capsule_on_a_plane_as_in_the_book(rng):
    """phi = z - h |R_zz| - r: the lower end of its axis."""
    radius, half = 0.1, 0.3
    capsule, ground = coal.Capsule(radius, 2 * half), coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    still = pinocchio.SE3.Identity()
    for _ in range(50):
        M = pose(rng)
        axis = M.rotation[:, 2]
        found = taut.collision.distance(capsule, M, ground, still)
        assert found.distance == pytest.approx(M.translation[2] - half * abs(axis[2]) - radius, abs=1e-12)
        np.testing.assert_allclose(found.normal, [0, 0, 1], atol=1e-12)
        derived = taut.collision.derivatives(capsule, M, ground, still)
        end = -np.sign(axis[2]) * half * np.array([0.0, 0.0, 1.0])  # in the body
        # dphi = n . (R dx + R (dtheta x end))
        local = M.rotation.T @ [0, 0, 1]
        np.testing.assert_allclose(derived.distance[:6], [*local, *np.cross(end, local)], atol=1e-8)


def test_exact_and_differences_agree(rng):
    shapes = [coal.Ellipsoid(0.1, 0.2, 0.3), coal.Box(0.2, 0.3, 0.4), coal.Cylinder(0.1, 0.4), coal.Cone(0.2, 0.4)]
    agreed = 0
    for first in shapes:
        for second in shapes:
            for _ in range(5):
                poses = pose(rng, 0.5), pose(rng, 0.5)
                if taut.collision.distance(first, poses[0], second, poses[1]).distance < 0.02:
                    continue
                exact = taut.collision.derivatives(first, poses[0], second, poses[1])
                reference = taut.collision.derivatives(first, poses[0], second, poses[1], method="finite_differences")
                np.testing.assert_allclose(exact.distance, reference.distance, atol=1e-6)
                agreed += np.abs(exact.point_1 - reference.point_1).max() < 1e-4 * (1 + np.abs(exact.point_1).max())
    assert agreed > 40  # the others stand at a change of features


def test_gradient_descent_brings_two_shapes_into_touch(rng):
    """Half of d² as a cost, its gradient from the derivatives: what they are for."""
    first, second = coal.Ellipsoid(0.1, 0.2, 0.3), coal.Box(0.2, 0.3, 0.4)
    one, two = pose(rng), pose(rng)
    for _ in range(60):
        d = taut.collision.distance(first, one, second, two).distance
        slope = taut.collision.derivatives(first, one, second, two).distance[:6]
        one = one * pinocchio.exp6(pinocchio.Motion(-d * slope / (slope @ slope)))
    assert abs(taut.collision.distance(first, one, second, two).distance) < 1e-9


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        (coal.Sphere(0.0), "radius is 0"),
        (coal.Box(1.0, 0.0, 1.0), "half side is 0"),
        (coal.Ellipsoid(1.0, -1.0, 1.0), "radius is -1"),
    ],
)
def test_degenerate_shapes_are_named(shape, named):
    still = pinocchio.SE3.Identity()
    with pytest.raises(ValueError, match=named):
        taut.collision.distance(shape, still, coal.Sphere(1.0), still)


def test_wrong_poses_and_methods_are_named():
    ball, still = coal.Sphere(1.0), pinocchio.SE3.Identity()
    with pytest.raises(ValueError, match="pose_1 is not finite"):
        taut.collision.distance(ball, np.full((4, 4), np.nan), ball, still)
    with pytest.raises(ValueError, match=r"pose_2 has shape \(3, 3\)"):
        taut.collision.distance(ball, still, ball, np.eye(3))
    with pytest.raises(ValueError, match="pose_2 has no rotation"):
        taut.collision.distance(ball, still, ball, 2 * np.eye(4))
    with pytest.raises(ValueError, match="'magic'"):
        taut.collision.derivatives(ball, still, ball, still, method="magic")
    with pytest.raises(ValueError, match="must be positive"):
        taut.collision.derivatives(ball, still, ball, still, method="finite_differences", step=0.0)
    with pytest.raises(ValueError, match="Coal shape"):
        taut.collision.distance("ball", still, ball, still)


def test_far_apart_and_on_top_of_each_other_are_finite():
    ball, box = coal.Sphere(0.1), coal.Box(0.2, 0.2, 0.2)
    still, far = pinocchio.SE3.Identity(), pinocchio.SE3(np.eye(3), np.array([1e4, 0, 0]))
    assert taut.collision.distance(ball, far, box, still).distance == pytest.approx(1e4 - 0.2, abs=1e-6)
    for first, second in ((ball, ball), (box, box), (ball, box)):
        found = taut.collision.distance(first, still, second, still)
        assert found.distance < 0 and np.isfinite(found.normal).all()
        derived = taut.collision.derivatives(first, still, second, still)
        assert np.isfinite(derived.distance).all() and np.isfinite(derived.normal).all()
