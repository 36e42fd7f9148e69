"""Turn and move a mesh until a given corner of it touches a given corner of another, by Gauss-Newton.

The exact derivative of a mesh's nearest point knows one corner only; the smoothed one (Gumbel's) knows its neighbours,
and gets there more often. See docs/collision.md.

    python examples/contact_pose.py
"""

import coal
import numpy as np
import pinocchio

import taut

CORNERS = 12


def rough_stone(rng: np.random.Generator):
    """A convex mesh with a dozen corners on an ellipsoid."""
    corners = rng.normal(size=(CORNERS, 3))
    corners *= rng.uniform(0.05, 0.15, 3) / np.linalg.norm(corners, axis=1, keepdims=True)
    points = coal.StdVec_Vec3s()
    for corner in corners:
        points.append(corner)
    return coal.Convex.convexHull(points, True, "Qt"), corners


def residual(still, stone, pose, target_1, target_2):
    """Zero where the nearest points are the targets and touch."""
    at = taut.collision.distance(still, pinocchio.SE3.Identity(), stone, pose)
    return np.concatenate([at.point_1 - target_1, at.point_2 - pose.act(target_2), at.point_1 - at.point_2])


def find(still, stone, target_1, target_2, pose, method):
    r = residual(still, stone, pose, target_1, target_2)
    for _ in range(50):
        d = taut.collision.derivatives(still, pinocchio.SE3.Identity(), stone, pose, method=method)
        moves_1, moves_2 = d.point_1[:, 6:], d.point_2[:, 6:]  # with the pose of the second
        moves_target = np.hstack([pose.rotation, -pose.rotation @ pinocchio.skew(target_2)])
        J = np.vstack([moves_1, moves_2 - moves_target, moves_1 - moves_2])
        step = -np.linalg.lstsq(J.T @ J + 1e-10 * np.eye(6), J.T @ r, rcond=None)[0]
        for halvings in range(20):
            tried = pose * pinocchio.exp6(0.5**halvings * step)
            new = residual(still, stone, tried, target_1, target_2)
            if new @ new < r @ r:
                break
        else:
            break
        pose, r = tried, new
        if r @ r < 1e-28:
            break
    return np.linalg.norm(r)


def main() -> None:
    rng = np.random.default_rng(2)
    missed = {"exact": [], "gumbel": []}
    for _ in range(50):
        (still, corners_1), (stone, corners_2) = rough_stone(rng), rough_stone(rng)
        turn = pinocchio.Quaternion(rng.normal(size=4)).normalized().toRotationMatrix()
        start = pinocchio.SE3(turn, np.array([0.4, 0.0, 0.0]))
        for method, found in missed.items():
            found.append(find(still, stone, corners_1[0], corners_2[0], start, method))
    for method, found in missed.items():
        reached = np.mean(np.array(found) < 1e-6)
        print(
            f"{method:7s} reaches the pose in {100 * reached:.0f} % of 50 tries; median miss {np.median(found):.1e} m"
        )


if __name__ == "__main__":
    main()
