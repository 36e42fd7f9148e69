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


def hull(points) -> coal.ConvexBase:
    corners = coal.StdVec_Vec3s()
    for point in points:
        corners.append(np.asarray(point, dtype=float))
    return coal.Convex.convexHull(corners, True, "Qt")


def rough(rng: np.random.Generator, count: int = 12) -> coal.ConvexBase:
    directions = rng.normal(size=(count, 3))
    return hull(rng.uniform(0.3, 1.0, 3) * directions / np.linalg.norm(directions, axis=1, keepdims=True))


def test_auto_says_what_it_chose(rng):
    ball, box, mesh = coal.Sphere(0.1), coal.Box(0.2, 0.3, 0.4), rough(rng)
    one, two = pose(rng, 2.0), pose(rng, 2.0)
    assert taut.collision.derivatives(ball, one, box, two).method == "exact"
    assert taut.collision.derivatives(ball, one, mesh, two).method == "gumbel"
    for method in ("exact", "gumbel", "gaussian", "gaussian_0", "finite_differences"):
        assert taut.collision.derivatives(box, one, mesh, two, method=method).method == method


def test_estimators_are_finite_and_a_seed_decides_them(rng):
    first, second = rough(rng), rough(rng)
    for _ in range(20):
        one, two = pose(rng), pose(rng)
        for method in ("gumbel", "gaussian", "gaussian_0"):
            found = [
                taut.collision.derivatives(first, one, second, two, method=method, seed=seed, temperature=0.3)
                for seed in (1, 1, 2)
            ]
            assert all(np.isfinite(d.point_1).all() and np.isfinite(d.normal).all() for d in found)
            np.testing.assert_array_equal(found[0].point_1, found[1].point_1)
            if method == "gumbel":  # a closed form: nothing is drawn
                np.testing.assert_array_equal(found[0].point_1, found[2].point_1)
            elif method == "gaussian_0":
                assert (found[0].distance != found[2].distance).any()


def test_contact_poses_are_found_where_differences_find_half(rng):
    """[DCD, Table I] in small: the median cost of Gumbel's estimator is nothing, and it solves more than exact ones."""
    from taut.experiments.collision_derivatives.poses import problems

    asked = problems(240, "corners", np.random.default_rng(4))
    ends = {
        method: np.array([problem.solve(method=method)[-1] for problem in asked])
        for method in ("gumbel", "gaussian", "exact", "finite_differences")
    }
    assert np.median(ends["gumbel"]) <= 1e-6
    assert np.median(ends["gaussian"]) <= 1e-6
    solved = {method: np.mean(costs < 1e-6) for method, costs in ends.items()}
    assert solved["gumbel"] > solved["exact"] + 0.1 and solved["gumbel"] > solved["finite_differences"] + 0.1
    for problem in asked:  # every accepted step descends
        costs = problem.solve(method="gumbel")
        assert (np.diff(costs) < 0).all()


def test_sizes_by_name():
    ball, box = coal.Sphere(0.1), coal.Box(0.2, 0.3, 0.4)
    above = np.eye(4)
    above[2, 3] = 0.5
    of_ball, of_box = taut.collision.size_derivatives(ball, above, box, np.eye(4))
    assert list(of_ball) == ["radius"] and list(of_box) == ["half_side_x", "half_side_y", "half_side_z"]
    assert of_ball["radius"].distance == pytest.approx(-1.0)
    assert of_box["half_side_z"].distance == pytest.approx(-1.0)
    assert of_box["half_side_x"].distance == pytest.approx(0.0)
    np.testing.assert_allclose(of_box["half_side_z"].point_2, [0, 0, 1], atol=1e-12)
    assert list(taut.collision.size_derivatives(coal.Cone(0.1, 0.2), above, box, np.eye(4))[0]) == [
        "radius",
        "half_length",
    ]


def test_a_box_stands_on_four_points_with_their_derivatives():
    box, ground = coal.Box(0.2, 0.4, 0.1), coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    M = np.eye(4)
    M[2, 3] = 0.05
    points = taut.collision.patch(box, M, ground, np.eye(4))
    assert len(points) == 4
    for point in points:
        x, y, _ = point.position
        assert point.gap == pytest.approx(0.0, abs=1e-12) and point.kind == "vertex"
        np.testing.assert_allclose(point.derivatives.gap[:6], [0, 0, 1, y, -x, 0], atol=1e-12)
        assert [point.sizes_1[name][0] for name in point.sizes_1] == pytest.approx([0.0, 0.0, -1.0])
        np.testing.assert_allclose(point.sizes_1["half_side_x"][1], [np.sign(x), 0.0, 0.0], atol=1e-12)
        assert point.sizes_2["offset"][0] == pytest.approx(-1.0)
    M[2, 3] = 1.0
    assert taut.collision.patch(box, M, ground, np.eye(4)) == []
    with pytest.raises(ValueError, match="margin is -1"):
        taut.collision.patch(box, M, ground, np.eye(4), margin=-1.0)


def test_meshes_that_are_none_are_named_and_doubled_vertices_do_not_matter(rng):
    still = pinocchio.SE3.Identity()
    square = [[x, y, 0.0] for x in (-1, 1) for y in (-1, 1)]
    triangles = coal.StdVec_Triangle()
    for corners in ((0, 1, 2), (1, 2, 3)):
        triangles.append(coal.Triangle(*corners))
    points = coal.StdVec_Vec3s()
    for point in square:
        points.append(np.array(point))
    with pytest.raises(ValueError, match="flat"):
        taut.collision.distance(coal.Convex(points, triangles), still, coal.Sphere(1.0), still)
    with pytest.raises(ValueError, match="at least 4 vertices"):
        taut.collision.distance(
            coal.Convex(coal.StdVec_Vec3s(), coal.StdVec_Triangle()), still, coal.Sphere(1.0), still
        )

    # Every corner of a cube twice, the faces on the second ones: the first ones have no edges.
    cube = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
    once = hull(cube)
    doubled, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for point in (*[once.point(i) for i in range(8)], *[once.point(i) for i in range(8)]):
        doubled.append(point)
    for i in range(once.num_polygons):
        triangle = once.polygons(i)
        faces.append(coal.Triangle(*(triangle[k] + 8 for k in range(3))))
    twice = coal.Convex(doubled, faces)
    ball = coal.Sphere(0.05)
    for _ in range(30):
        M = pose(rng, 0.2)
        expected = taut.collision.distance(ball, M, once, still)
        found = taut.collision.distance(ball, M, twice, still)
        assert found.distance == pytest.approx(expected.distance, abs=1e-9)
        a = taut.collision.derivatives(ball, M, twice, still)
        b = taut.collision.derivatives(ball, M, once, still)
        assert np.isfinite(a.point_1).all()
        np.testing.assert_allclose(a.distance, b.distance, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"samples": 0}, "samples is 0"),
        ({"depth": 0}, "depth is 0"),
        ({"temperature": -1.0}, "temperature is -1"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"step": float("inf")}, "step is inf"),
    ],
)
def test_wrong_options_are_named(options, named):
    ball, still = coal.Sphere(1.0), pinocchio.SE3.Identity()
    with pytest.raises(ValueError, match=named):
        taut.collision.derivatives(ball, still, ball, still, **options)
