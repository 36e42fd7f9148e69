"""Objects on a floor, each built in a few lines of the Scene interface."""

from __future__ import annotations

import math

import coal
import numpy as np
import pinocchio

from .._taut import Scene, _scene_of

MOST = 100_000  # bodies of a scene: pairs grow with the square


def _on_floor(mu: float) -> Scene:
    scene = Scene()
    scene.add_floor(friction=mu)
    return scene


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0 or not math.isfinite(value):
            raise ValueError(f"{name} is {value}, it must be positive")


def _some(n: int) -> None:
    if not 1 <= n <= MOST:
        raise ValueError(f"n is {n}, expected 1 to {MOST}")


def cube_on_plane(side: float = 0.2, mass: float = 1.0, mu: float = 0.8) -> Scene:
    """A cube at rest on a floor."""
    _positive(side=side)
    scene = _on_floor(mu)
    scene.add_body("cube", coal.Box(side, side, side), mass, [0, 0, side / 2], friction=mu)
    return scene


def sliding_cube(mu: float = 0.4, slope: float = 0.0, side: float = 0.2, mass: float = 1.0) -> Scene:
    """A cube on a floor inclined by `slope` (rad), to be pushed or let go: it slides if tan(slope) > mu."""
    _positive(side=side)
    scene = Scene()
    turn = np.array([0.0, math.sin(slope / 2), 0.0, math.cos(slope / 2)])
    normal = np.array([math.sin(slope), 0.0, math.cos(slope)])
    scene.add_shape("floor", coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0), quaternion=turn, friction=mu)
    scene.add_body("cube", coal.Box(side, side, side), mass, normal * side / 2, turn, friction=mu)
    return scene


def ball(height: float = 1.0, radius: float = 0.1, mass: float = 1.0, mu: float = 0.8) -> Scene:
    """A ball above a floor."""
    _positive(radius=radius)
    scene = _on_floor(mu)
    scene.add_body("ball", coal.Sphere(radius), mass, [0, 0, height + radius], friction=mu)
    return scene


def stack(n: int = 10, side: float = 0.1, mass: float = 1.0, mu: float = 0.8) -> Scene:
    """Cubes on top of each other."""
    _some(n)
    _positive(side=side)
    scene = _on_floor(mu)
    for i in range(n):
        scene.add_body(f"cube_{i}", coal.Box(side, side, side), mass, [0, 0, side * (i + 0.5)], friction=mu)
    return scene


def heavy_on_light(ratio: float = 1000.0, side: float = 0.2, mu: float = 0.8) -> Scene:
    """A heavy cube on a cube of 1 kg."""
    _positive(ratio=ratio, side=side)
    scene = _on_floor(mu)
    scene.add_body("light", coal.Box(side, side, side), 1.0, [0, 0, side / 2], friction=mu)
    scene.add_body("heavy", coal.Box(side, side, side), ratio, [0, 0, 1.5 * side], friction=mu)
    return scene


def pile(n: int = 20, seed: int = 0, mu: float = 0.6) -> Scene:
    """Boxes, balls, capsules and cylinders dropped on each other, from a block of them that do not touch."""
    _some(n)
    if seed < 0:
        raise ValueError(f"seed is {seed}, it must not be negative")
    rng = np.random.default_rng(seed)
    scene = _on_floor(mu)
    makers = (
        lambda s: coal.Box(*(s * rng.uniform(0.8, 1.2, 3))),
        lambda s: coal.Sphere(s / 2),
        lambda s: coal.Capsule(s / 3, s / 2),
        lambda s: coal.Cylinder(s / 2, s),
    )
    size, jitter = 0.1, 0.01
    reach = 1.2 * size * math.sqrt(3) / 2  # half the diagonal of the largest box: no body is wider, however turned
    cell = 2 * (reach + jitter)
    side = max(3, round(n ** (1 / 3)))  # as wide as high
    for i in range(n):
        layer, place = divmod(i, side * side)
        column, row = divmod(place, side)
        shape = makers[i % 4](size)
        quaternion = rng.normal(size=4)
        corner = np.array([row - (side - 1) / 2, column - (side - 1) / 2, layer + 0.5])
        scene.add_body(
            f"body_{i}",
            shape,
            1.0,
            cell * corner + rng.uniform(-jitter, jitter, 3),
            quaternion / np.linalg.norm(quaternion),
            friction=mu,
        )
    return scene


def prism(mu: float = 0.6, side: float = 0.1, length: float = 0.2, mass: float = 1.0) -> Scene:
    """A triangular prism lying on a side."""
    _positive(side=side, length=length)
    height = side * math.sqrt(3) / 2
    corners = np.array([[-side / 2, -height / 3], [side / 2, -height / 3], [0.0, 2 * height / 3]])
    points = coal.StdVec_Vec3s()
    for y in (-length / 2, length / 2):
        for x, z in corners:
            points.append(np.array([x, y, z]))
    scene = _on_floor(mu)
    hull = coal.Convex.convexHull(points, True, "Qt")
    scene.add_body("prism", hull, mass, [0, 0, height / 3], friction=mu)
    return scene


def pinched_capsule(mu: float = 1.0, mass: float = 0.045) -> Scene:
    """A capsule between two pads that slide toward each other: press with tau[0] = tau[1] > 0."""
    _positive(mass=mass)
    model = pinocchio.Model()
    geometry = pinocchio.GeometryModel()
    pad = coal.Box(0.02, 0.04, 0.04)
    for name, axis, x in (("left", 1.0, -0.022), ("right", -1.0, 0.022)):
        placement = pinocchio.SE3(np.eye(3), np.array([x, 0.0, 0.5]))
        joint = model.addJoint(0, pinocchio.JointModelPrismaticUnaligned(axis, 0.0, 0.0), placement, name)
        model.appendBodyToJoint(joint, pinocchio.Inertia(0.1, np.zeros(3), 1e-4 * np.eye(3)), pinocchio.SE3.Identity())
        geometry.addGeometryObject(pinocchio.GeometryObject(f"{name}_pad", joint, pinocchio.SE3.Identity(), pad))
    scene = _scene_of(model, geometry, mu)
    scene.add_body("capsule", coal.Capsule(0.012, 0.06), mass, [0, 0, 0.5], friction=mu)
    return scene


MAKERS = {
    maker.__name__: maker
    for maker in (cube_on_plane, sliding_cube, ball, stack, heavy_on_light, pile, prism, pinched_capsule)
}
