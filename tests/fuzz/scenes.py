"""Random scenes, states and options: extremes are what they are made of, but every one is within what docs allow."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import coal
import numpy as np
import pinocchio as pin
from taut._taut import _scene_of

import taut

Rng = np.random.Generator

ROBOTS = ("go1", "solo12", "anymal", "ur5", "allegro", "h1", "go1_mjcf", "cassie", "half_cheetah", "humanoid")
LOOP_KINDS = ("point", "hinge", "weld", "slider", "cylindrical", "universal", "distance")
RULES = ("maximum", "minimum", "average", "geometric_mean", "product")


def log_uniform(rng: Rng, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def friction(rng: Rng) -> float:
    return float(rng.choice([0.0, rng.uniform(0, 1.5), rng.uniform(0, 10), 10.0], p=[0.15, 0.6, 0.2, 0.05]))


def restitution(rng: Rng) -> float:
    return float(rng.choice([0.0, rng.uniform(), 1.0], p=[0.75, 0.2, 0.05]))


def quaternion(rng: Rng) -> np.ndarray:
    if rng.uniform() < 0.3:  # square to the world: faces on faces
        return np.array([0.0, 0.0, 0.0, 1.0])
    x = rng.normal(size=4)
    return x / np.linalg.norm(x)


def shape(rng: Rng, size: float) -> coal.CollisionGeometry:
    kind = rng.integers(7)
    a, b, c = size * rng.uniform(0.2, 1.0, 3)
    if kind == 0:
        return coal.Sphere(a)
    if kind == 1:
        return coal.Box(2 * a, 2 * b, 2 * c)
    if kind == 2:
        return coal.Capsule(a, b)
    if kind == 3:
        return coal.Cylinder(a, b)
    if kind == 4:
        return coal.Cone(a, b)
    if kind == 5:
        return coal.Ellipsoid(a, b, c)
    points = coal.StdVec_Vec3s()
    for x in rng.normal(size=(int(rng.integers(4, 20)), 3)):
        points.append(size * x / np.linalg.norm(x))
    return coal.Convex.convexHull(points, True, "Qt")


def surface(rng: Rng) -> dict[str, float]:
    compliance = log_uniform(rng, -7, -3) if rng.uniform() < 0.1 else 0.0
    return {"friction": friction(rng), "restitution": restitution(rng), "compliance": compliance}


def ground(rng: Rng, scene: taut.Scene) -> None:
    kind = rng.uniform()
    if kind < 0.6:
        scene.add_floor(**surface(rng))
    elif kind < 0.75:
        normal = rng.normal(size=3) * [0.3, 0.3, 0] + [0, 0, 1]
        scene.add_shape("slope", coal.Halfspace(normal / np.linalg.norm(normal), 0.0), **surface(rng))
    elif kind < 0.9:
        scene.add_shape("table", coal.Box(4, 4, 0.5), position=[0, 0, -0.25], **surface(rng))
    elif kind < 0.96:
        heights = 0.1 * rng.uniform(size=(int(rng.integers(3, 9)), int(rng.integers(3, 9))))
        with contextlib.suppress(TypeError, AttributeError):
            scene.add_shape("field", coal.HeightFieldOBBRSS(4.0, 4.0, heights, -1.0), **surface(rng))


def bodies(rng: Rng, scene: taut.Scene, count: int) -> None:
    size = log_uniform(rng, -1.5, 0.0)
    spread = rng.uniform(0.8, 2.5) * size
    mass = log_uniform(rng, -6, 6)
    wild = rng.uniform() < 0.4
    for i in range(count):
        # Of every order of magnitude in one scene, or all near one.
        m = log_uniform(rng, -6, 6) if wild else mass * log_uniform(rng, -0.5, 0.5)
        position = spread * rng.uniform(-1, 1, 3) * [1, 1, 0] + [0, 0, size * rng.uniform(0.1, 2.5 + i)]
        scene.add_body(f"body_{i}", shape(rng, size), m, position, quaternion(rng), **surface(rng))


def _joint(rng: Rng) -> Any:
    makers = [
        pin.JointModelRX,
        pin.JointModelRY,
        pin.JointModelRZ,
        pin.JointModelPX,
        pin.JointModelPZ,
        lambda: pin.JointModelRevoluteUnaligned(*_unit(rng)),
        lambda: pin.JointModelPrismaticUnaligned(*_unit(rng)),
        pin.JointModelSpherical,
        pin.JointModelRUBZ,
        pin.JointModelTranslation,
        pin.JointModelPlanar,
    ]
    weights = np.array([3, 3, 3, 1, 1, 2, 1, 1.5, 1, 0.7, 0.7])
    return makers[rng.choice(len(makers), p=weights / weights.sum())]()


def _unit(rng: Rng) -> np.ndarray:
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def tree(rng: Rng, joints: int) -> taut.Scene:
    """A robot of random joints, each with a shape, limits, damping, armature, dry friction."""
    model, geometry = pin.Model(), pin.GeometryModel()
    size = log_uniform(rng, -1.2, -0.2)
    mass = log_uniform(rng, -4, 4)
    for i in range(joints):
        floats = i == 0 and rng.uniform() < 0.5
        kind = pin.JointModelFreeFlyer() if floats else _joint(rng)
        where = pin.SE3(np.eye(3), size * rng.uniform(-1, 1, 3))
        if i == 0:
            where.translation[:] = [0, 0, 2 * size]
        # Depth first, as Pinocchio wants them: on the last joint or one that carries it.
        parent = 0 if i == 0 else int(rng.choice(list(model.supports[model.njoints - 1])[1:][-3:]))
        joint = model.addJoint(parent, kind, where, f"j{i}")
        m = mass * log_uniform(rng, -1, 1)
        box = size * rng.uniform(0.1, 0.5, 3)
        inertia = pin.Inertia.FromBox(m, *box)
        inertia.lever = 0.2 * size * rng.uniform(-1, 1, 3) if not floats or rng.uniform() < 0.5 else np.zeros(3)
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        if rng.uniform() < 0.8:
            at = pin.SE3(np.eye(3), 0.2 * size * rng.uniform(-1, 1, 3))
            geometry.addGeometryObject(pin.GeometryObject(f"g{i}", joint, at, shape(rng, 0.4 * size)))
    for j in range(1, model.njoints):
        joint = model.joints[j]
        span = slice(joint.idx_v, joint.idx_v + joint.nv)
        if rng.uniform() < 0.4:
            model.damping[span] = mass * size**2 * log_uniform(rng, -3, 1)
        if rng.uniform() < 0.3:
            model.armature[span] = mass * size**2 * log_uniform(rng, -4, 0)
        if rng.uniform() < 0.3:
            model.upperDryFrictionLimit[span] = mass * size * log_uniform(rng, -3, 1)
            model.lowerDryFrictionLimit[span] = -model.upperDryFrictionLimit[span]
        if joint.nq == joint.nv and rng.uniform() < 0.6:
            low = rng.uniform(-1.5, 0.1, joint.nq)
            model.lowerPositionLimit[joint.idx_q : joint.idx_q + joint.nq] = low
            model.upperPositionLimit[joint.idx_q : joint.idx_q + joint.nq] = low + rng.uniform(0.0, 2.5, joint.nq)
    scene = _scene_of(model, geometry, friction(rng))
    # Shapes of all bodies but of neighbours.
    if scene.geometry.ngeoms > 1 and rng.uniform() < 0.5:
        objects = scene.geometry.geometryObjects
        for a in range(scene.geometry.ngeoms):
            for b in range(a):
                one, two = int(objects[a].parentJoint), int(objects[b].parentJoint)
                if model.parents[one] != two and model.parents[two] != one and one != two:
                    scene.geometry.addCollisionPair(pin.CollisionPair(b, a))
    scene.q0 = pin.neutral(model)
    return scene


def springs_and_stops(rng: Rng, scene: taut.Scene) -> None:
    nv = scene.model.nv
    scale = max(float(sum(i.mass for i in scene.model.inertias)), 1e-9)
    if rng.uniform() < 0.25:
        scene.stiffness = scale * rng.uniform(0, 1, nv) * log_uniform(rng, -1, 3)
        scene.spring_reference = rng.uniform(-0.5, 0.5, nv)
    if rng.uniform() < 0.25:
        scene.limit_restitution = rng.uniform(0, 1, nv)
    if rng.uniform() < 0.2:
        scene.limit_compliance = np.where(rng.uniform(size=nv) < 0.5, 0.0, 1e-4 * rng.uniform(size=nv))
    balls = {}
    for j in range(1, scene.model.njoints):
        if scene.model.joints[j].shortname() == "JointModelSpherical" and rng.uniform() < 0.5:
            balls[j] = float(rng.uniform(0.2, 3.0))
            scene.set_ball_limit(j, balls[j])
    if balls:
        scene._fuzz_balls = balls


def close_loops(rng: Rng, scene: taut.Scene) -> None:
    """A loop or two between joints of the scene, or a coupling; what cannot be made is left out."""
    model = scene.model
    for _ in range(int(rng.integers(1, 3))):
        one, two = (int(rng.integers(0, model.njoints)) for _ in range(2))
        if one == two or two == 0:
            continue
        kind = str(rng.choice(LOOP_KINDS))
        axis = {} if kind in ("point", "distance") else {"axis": _unit(rng)}
        soft = {"compliance": log_uniform(rng, -7, -3)} if rng.uniform() < 0.15 else {}
        with contextlib.suppress(ValueError):
            scene.add_loop(kind, one or None, two, name=f"loop_{len(scene.loops)}", **axis, **soft)
    single = [j for j in range(1, model.njoints) if model.joints[j].nq == 1 and model.joints[j].nv == 1]
    if len(single) > 1 and rng.uniform() < 0.3:
        one, two = rng.choice(single, 2, replace=False)
        with contextlib.suppress(ValueError):
            scene.add_coupling(int(one), int(two), [0.0, float(rng.uniform(-3, 3))], name="gear")
    hinges = [loop.name for loop in scene.loops if loop.kind in ("hinge", "slider")]
    if hinges and rng.uniform() < 0.2:
        kind = str(rng.choice(["motor", "position"]))
        scene.add_loop_actuator(hinges[0], kind, kp=float(rng.uniform(0, 100)), kv=float(rng.uniform(0, 10)))


@functools.lru_cache(maxsize=32)
def _made(name: str) -> taut.Scene:
    return taut.scenes.make(name)


def packaged(rng: Rng) -> tuple[str, taut.Scene]:
    robots = [name for name in ROBOTS if name in taut.scenes.names()]
    others = [n for n in taut.scenes.names() if n not in taut.scenes.robots.FILES]
    name = str(rng.choice(robots)) if rng.uniform() < 0.5 else str(rng.choice(others))
    try:
        return name, _made(name).copy()
    except FileNotFoundError:  # a package of robots that is not installed
        return "cube_on_plane", _made("cube_on_plane").copy()


def random_scene(rng: Rng) -> tuple[str, taut.Scene]:
    """(what kind of scene, the scene)."""
    kind = rng.uniform()
    if kind < 0.45:
        scene = taut.Scene()
        ground(rng, scene)
        bodies(rng, scene, int(rng.integers(1, 6)))
        name = "bodies"
    elif kind < 0.8:
        scene = tree(rng, int(rng.integers(1, 8)))
        name = "tree"
        if rng.uniform() < 0.7:
            ground(rng, scene)
        if rng.uniform() < 0.3:
            bodies(rng, scene, int(rng.integers(1, 3)))
        if rng.uniform() < 0.3:
            close_loops(rng, scene)
            name = "loops" if scene.loops or scene.couplings else name
    else:
        name, scene = packaged(rng)
        name = "robot" if name in taut.scenes.robots.FILES else "packaged"
    if rng.uniform() < 0.3:
        scene.friction_rule = str(rng.choice(RULES))
    shapes = [thing.name for thing in scene.geometry.geometryObjects]
    if len(shapes) > 1 and rng.uniform() < 0.15:
        pair = tuple(sorted(str(x) for x in rng.choice(shapes, 2, replace=False)))
        scene._fuzz_friction = {pair: friction(rng)}
        scene.set_pair_friction(*pair, scene._fuzz_friction[pair])
    springs_and_stops(rng, scene)
    if rng.uniform() < 0.15:
        scene.gravity = rng.normal(size=3) * log_uniform(rng, -2, 1.5)
    return name, scene


def options(rng: Rng, scene: taut.Scene) -> dict[str, Any]:
    o: dict[str, Any] = {"dt": log_uniform(rng, -5, -2)}
    if rng.uniform() < 0.25:
        o["integrator"] = "moreau"
    if rng.uniform() < 0.2:
        o["solver"] = str(rng.choice(list(taut.solvers())))
        if scene.loops or scene.couplings:
            o["solver"] = str(rng.choice(["auto", "pgs", "admm"]))
    if rng.uniform() < 0.3:
        o["tolerance"] = log_uniform(rng, -10, -4)
    if rng.uniform() < 0.1:
        o["max_iterations"] = int(rng.integers(1, 100))
    if rng.uniform() < 0.2:
        o["correction"] = float(rng.uniform())
    if rng.uniform() < 0.1:
        o["penetration"] = float(rng.uniform(-1e-3, 1e-3))
    if rng.uniform() < 0.1:
        o["margin"] = log_uniform(rng, -6, -1)
    if rng.uniform() < 0.1:
        o["compliance"] = log_uniform(rng, -8, -3)
    if rng.uniform() < 0.05:
        o["tangential_compliance"] = log_uniform(rng, -8, -3)
    if rng.uniform() < 0.1:
        o["restitution_threshold"] = float(rng.uniform(0, 0.1))
    if rng.uniform() < 0.2:
        o["gjk"] = str(rng.choice(["vanilla", "polyak", "nesterov"]))
        o["gjk_start"] = str(rng.choice(["none", "boxes", "previous", "turned", "transported"]))
    if rng.uniform() < 0.1:
        o["warm_start"] = False
    if rng.uniform() < 0.05:
        o["joint_limits"] = False
    if rng.uniform() < 0.05:
        o["joint_friction"] = False
    for name in ("soft_contacts", "soft_limits", "soft_loops"):
        if rng.uniform() < 0.02:
            o[name] = taut.Softening()
    return o


def start(rng: Rng, scene: taut.Scene, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """A configuration near q0, and a velocity from rest to what passes 0.3 m or rad in a step at most."""
    nv = scene.model.nv
    q = np.array(scene.q0)
    if rng.uniform() < 0.5 and nv and not scene.loops and not scene.couplings:
        q = pin.integrate(scene.model, q, log_uniform(rng, -4, -0.5) * rng.normal(size=nv))
    speed = 0.0 if rng.uniform() < 0.3 else min(log_uniform(rng, -3, 2.5), 0.3 / dt)
    if scene.loops or scene.couplings:
        speed = 0.0  # a velocity that breaks loops is another test
    return q, speed * rng.normal(size=nv)


def joint_inertia(scene: taut.Scene) -> np.ndarray:
    """The diagonal of M at q0."""
    data = scene.model.createData()
    return np.diag(np.reshape(pin.crba(scene.model, data, scene.q0), (scene.model.nv, scene.model.nv))).copy()
