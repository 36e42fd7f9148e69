"""Random programs over the public API. Calls are drawn with arguments that fit, nearly fit, or make no sense; what a
program may meet is a value, ValueError, TypeError or OSError. What was refused has changed nothing.

`machines.py` has the same calls as a hypothesis state machine, which shrinks what it finds."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin

import taut

from . import scenes
from .judge import law_of
from .outcome import Outcome

CALLS = 40  # of a program
ALLOWED = (ValueError, TypeError, OSError)  # FileNotFoundError is an OSError


class World:
    """What a program has made so far."""

    def __init__(self, rng: np.random.Generator, folder: Path) -> None:
        self.rng, self.folder = rng, folder
        self.wrong: list[str] = []
        self.scenes: list[taut.Scene] = [self.small_scene()]
        self.sims: list[taut.Simulator] = []
        self.states: list[Any] = []
        self.paths: list[Any] = []
        self.recorders: list[Any] = []
        self.files: list[Path] = []
        self.problems: list[taut.Problem] = []

    def small_scene(self) -> taut.Scene:
        rng = self.rng
        how = rng.integers(4)
        if how == 0:
            return taut.scenes.make(str(rng.choice(["cube_on_plane", "ball", "stack", "sliding_cube"])))
        if how == 1:
            scene = taut.Scene()
            scene.add_floor()
            scenes.bodies(rng, scene, int(rng.integers(1, 3)))
            return scene
        if how == 2:
            scene = scenes.tree(rng, int(rng.integers(1, 5)))
            scene.add_floor()
            return scene
        return taut.scenes.make("four_bar") if "four_bar" in taut.scenes.names() else taut.scenes.make("ball")

    def one(self, things: list) -> Any:
        return things[self.rng.integers(len(things))] if things else None

    def sim(self) -> taut.Simulator | None:
        if not self.sims or self.rng.uniform() < 0.1:
            self.sims.append(taut.Simulator(self.one(self.scenes), dt=scenes.log_uniform(self.rng, -4, -2)))
            self.sims = self.sims[-4:]
        return self.one(self.sims)

    # --- arguments

    def number(self) -> Any:
        rng = self.rng
        odd: list[Any] = [
            0,
            -1.0,
            np.nan,
            np.inf,
            1e308,
            -1e-300,
            "1",
            None,
            [1.0],
            2**70,
            True,
            1 + 2j,
            np.float32(0.5),
        ]
        return odd[rng.integers(len(odd))] if rng.uniform() < 0.4 else float(rng.uniform(0, 1))

    def vector(self, n: int) -> Any:
        """Mostly n numbers; else something else that could be taken for them."""
        rng = self.rng
        x = rng.normal(size=n)
        if rng.uniform() < 0.55:
            return x
        if n and rng.uniform() < 0.25:
            x[rng.integers(n)] = rng.choice([np.nan, np.inf, 1e308, -1e200])
            return x
        odd: list[Any] = [
            0.0,
            None,
            "x",
            [],
            x.tolist(),
            x[:-1],
            np.append(x, 1.0),
            x[None],
            x[:, None],
            x.astype(np.float32),
            x.astype(int),
            x.astype(complex),
            x.astype(object),
            np.repeat(x, 2)[::2],
            np.zeros((2, 2, 2)),
            np.array(1.0),
            tuple(x),
            {"a": 1},
            object(),
            np.ma.masked_array(x),
            np.zeros(0),
            x[::-1],
            np.asfortranarray(np.outer(x, x)),
            memoryview(x),
        ]
        return odd[rng.integers(len(odd))]

    def state_of(self, sim: taut.Simulator) -> tuple[Any, Any]:
        model = sim.scene.model
        rng = self.rng
        if rng.uniform() < 0.75:
            q = np.array(sim.scene.q0)
            if rng.uniform() < 0.5 and model.nv:
                q = pin.integrate(model, q, 0.1 * rng.normal(size=model.nv))
            return q, scenes.log_uniform(rng, -2, 1) * rng.normal(size=model.nv)
        return self.vector(model.nq), self.vector(model.nv)

    def name(self, names: list[str]) -> Any:
        rng = self.rng
        if names and rng.uniform() < 0.8:
            return str(names[rng.integers(len(names))])
        return [None, "", "no such", 0, "x" * 1000, "a\0b", b"floor"][rng.integers(7)]

    def shape(self) -> Any:
        rng = self.rng
        if rng.uniform() < 0.7:
            return scenes.shape(rng, 0.2)
        odd: list[Callable[[], Any]] = [
            lambda: None,
            lambda: coal.Sphere(-1.0),
            lambda: coal.Box(0.0, 1.0, 1.0),
            lambda: coal.Box(np.nan, 1.0, 1.0),
            lambda: coal.Capsule(1e308, 1.0),
            lambda: coal.Halfspace(np.zeros(3), 0.0),
            lambda: coal.BVHModelOBBRSS(),
            lambda: coal.Convex(),
            lambda: "sphere",
            lambda: coal.Plane(np.array([0, 0, 1.0]), 0.0),
            lambda: coal.TriangleP(np.zeros(3), np.zeros(3), np.zeros(3)),
            lambda: coal.HeightFieldOBBRSS(1.0, 1.0, np.full((3, 3), np.nan), -1.0),
        ]
        return odd[rng.integers(len(odd))]()


# --- calls. Each takes the world and does one thing.


def make_scene(w: World) -> None:
    rng = w.rng
    if rng.uniform() < 0.3:
        options = {str(rng.choice(["mu", "side", "n", "height", "radius", "none"])): w.number()}
        made = taut.scenes.make(w.name(["cube_on_plane", "ball", "pile"]), **({} if rng.uniform() < 0.5 else options))
    else:
        made = w.small_scene()
    w.scenes = [*w.scenes, made][-4:]


def copy_scene(w: World) -> None:
    scene = w.one(w.scenes)
    w.scenes = [*w.scenes, scene.copy() if w.rng.uniform() < 0.5 else copy.copy(scene)][-4:]


def add_to_scene(w: World) -> None:
    rng, scene = w.rng, w.one(w.scenes)
    how = rng.integers(7)
    place = {"position": w.vector(3), "quaternion": [0, 0, 0, 1] if rng.uniform() < 0.7 else w.vector(4)}
    if how == 0:
        scene.add_body(f"b{rng.integers(1000)}", w.shape(), w.number(), friction=w.number(), **place)
    elif how == 1:
        scene.add_shape(f"s{rng.integers(1000)}", w.shape(), w.one([0, 1, -1, 99, "x", 2**40]), **place)
    elif how == 2:
        scene.add_floor(w.number(), w.number(), w.number(), w.number())
    elif how == 3:
        scene.add_robot(w.one(w.scenes), w.name(["a_", "b_"]), **place)
    elif how == 4:
        kind = w.name(list(scenes.LOOP_KINDS))
        bodies = [None, *list(scene.model.names), 0, 1, -1, 77]
        scene.add_loop(kind, w.one(bodies), w.one(bodies), axis=w.vector(3), compliance=w.number())
    elif how == 5:
        joints = [*list(scene.model.names), 1, 2, None, 99]
        scene.add_coupling(w.one(joints), w.one(joints), w.vector(2), compliance=w.number())
    else:
        scene.add_loop_actuator(w.name([loop.name for loop in scene.loops]), w.name(["motor", "position"]), w.number())


def edit_scene(w: World) -> None:
    rng, scene = w.rng, w.one(w.scenes)
    shapes = [thing.name for thing in scene.geometry.geometryObjects]
    nv = scene.model.nv
    how = rng.integers(16)
    if how == 0:
        scene.gravity = w.vector(3)
    elif how == 1:
        scene.q0 = w.vector(scene.model.nq)
    elif how == 2:
        scene.stiffness = w.vector(nv)
    elif how == 3:
        scene.set_friction(w.name(shapes), w.number())
    elif how == 4:
        scene.set_restitution(w.name(shapes), w.number())
    elif how == 5:
        scene.set_pair_friction(w.name(shapes), w.name(shapes), w.number())
    elif how == 6:
        scene.friction_rule = w.name(list(scenes.RULES))
    elif how == 7:
        name = w.name(list(scene.parameters))
        scene.set_parameter(name, scene.parameter(name) if rng.uniform() < 0.5 else w.vector(1))
    elif how == 8:
        scene.disable_pair(w.name(shapes), w.name(shapes))
    elif how == 9:
        scene.limit_restitution = w.vector(nv)
    elif how == 10:
        scene.set_ball_limit(w.one([1, 2, 0, -3, "x"]), w.number())
    elif how == 11:
        scene.validate()
    elif how == 12:
        scene.loop_errors(w.vector(scene.model.nq) if rng.uniform() < 0.5 else None)
        scene.loop_jacobian(w.vector(scene.model.nq) if rng.uniform() < 0.5 else None)
    elif how == 13:
        scene.assemble(w.vector(scene.model.nq), tolerance=w.number())
    elif how == 14:
        scene.spring_reference = w.vector(nv)
    else:
        scene.set_compliance(w.name(shapes), w.number())


def edit_model(w: World) -> None:
    """The live model: what makes no sense is found where it is used."""
    rng, scene = w.rng, w.one(w.scenes)
    model = scene.model
    how = rng.integers(10)
    value = w.one([0.0, -1.0, np.nan, np.inf, 1e300, 1.0])

    def put(*fields: str, values: tuple = (value,)) -> None:
        """One entry of each; an earlier call may have left a field of any size."""
        entry = rng.integers(max(len(getattr(model, field)) for field in fields) or 1)
        for field, new in zip(fields, values, strict=True):
            if entry < len(getattr(model, field)):
                getattr(model, field)[entry] = new

    if how == 0:
        put("damping")
    elif how == 1 and model.njoints > 1:
        inertia = model.inertias[int(rng.integers(1, model.njoints))]
        inertia.mass = value
    elif how == 2:
        field = w.one(["damping", "armature", "upperDryFrictionLimit", "lowerPositionLimit", "upperPositionLimit"])
        setattr(model, field, np.zeros(int(rng.integers(0, 3))))
    elif how == 3 and scene.geometry.ngeoms:
        scene.geometry.geometryObjects[int(rng.integers(scene.geometry.ngeoms))].parentJoint = w.one([0, 1, 12345])
    elif how == 4:
        put("lowerPositionLimit", "upperPositionLimit", values=(value, w.one([0.0, value])))
    elif how == 5:
        put("upperDryFrictionLimit")
    elif how == 6:
        put("armature")
    elif how == 7:
        model.gravity.linear = np.array([0, 0, value])
    elif how == 8 and len(scene.geometry.collisionPairs):
        scene.geometry.removeAllCollisionPairs()
    elif how == 9 and scene.geometry.ngeoms:
        scene.geometry.geometryObjects[int(rng.integers(scene.geometry.ngeoms))].geometry = w.shape()


def make_simulator(w: World) -> None:
    rng = w.rng
    o: dict[str, Any] = {}
    for _ in range(int(rng.integers(0, 4))):
        name = w.one(
            [
                "dt",
                "tolerance",
                "max_iterations",
                "margin",
                "correction",
                "loop_correction",
                "correction_speed",
                "penetration",
                "compliance",
                "relaxation",
                "sides",
                "alpha",
                "rho",
                "restitution_threshold",
                "limit_margin",
                "soft_contacts",
                "nothing",
            ]
        )
        o[name] = w.number()
    if rng.uniform() < 0.3:
        o["solver"] = w.name(list(taut.solvers()))
    if rng.uniform() < 0.3:
        o["integrator"] = w.name(["euler", "moreau"])
    if rng.uniform() < 0.2:
        o["gjk"] = w.name(["vanilla", "polyak", "nesterov"])
        o["gjk_start"] = w.name(["none", "boxes", "previous", "turned", "transported"])
    sim = taut.Simulator(w.one(w.scenes), **o)
    len(sim.options)
    repr(sim)
    w.sims = [*w.sims, sim][-4:]


def step(w: World) -> None:
    sim = w.sim()
    model = sim.scene.model
    before = sim.state()
    q, v = w.state_of(sim)
    extra: dict[str, Any] = {}
    if w.rng.uniform() < 0.3:
        extra["tau"] = w.vector(model.nv)
    if w.rng.uniform() < 0.2:
        extra["fext"] = w.rng.normal(size=(model.njoints, 6)) if w.rng.uniform() < 0.5 else w.vector(6)
    if w.rng.uniform() < 0.2:
        extra["control"] = w.vector(len(sim.scene.actuators))
    try:
        done = sim.step(q, v, **extra)
    except ALLOWED:
        after = sim.state()
        if not (np.array_equal(before.q, after.q, True) and np.array_equal(before.v, after.v, True)):
            w.wrong.append("a step that was refused has changed the state")
        raise
    if done.report.status == "converged" and not (np.isfinite(done.q).all() and np.isfinite(done.v).all()):
        w.wrong.append("silent NaN: a converged step is not finite")
    repr((done.report, done.contacts))


def rollout(w: World) -> None:
    sim = w.sim()
    nv = sim.scene.model.nv
    q, v = w.state_of(sim)
    steps = w.one([0, 1, 5, 20, -1, 2.5, None, "3"])
    taus = w.one([None, w.rng.normal(size=(5, nv)), w.vector(nv), np.full((3, nv), np.nan), np.zeros((0, nv))])
    path = sim.rollout(q, v, taus, steps, checkpoints=w.one([None, 1, 3, 0, -2]))
    repr((len(path), path.q.sum(), path.reports, path.contacts))
    w.paths = [*w.paths, (sim, path)][-3:]


def hold(w: World) -> None:
    sim = w.sim()
    model = sim.scene.model
    how = w.rng.integers(4)
    if how == 0:
        sim.release()
    elif how == 1:
        sim.hold(sim.scene.q0, 10.0, 1.0)
    else:
        sim.hold(w.vector(model.nq), w.vector(model.nv), w.number(), w.one([None, w.vector(model.nv)]))
    repr((sim.held, sim.v_free, sim.impulse, sim.loop_impulses))


def states(w: World) -> None:
    sim = w.sim()
    how = w.rng.integers(4)
    if how == 0:
        w.states = [*w.states, sim.state()][-4:]
    elif how == 1:
        state = w.one([*w.states, None, "x"])
        sim.restore(state)
    elif how == 2:
        sim.reset()
    else:
        # The future after `restore` is the same, bit for bit.
        q, v = np.array(sim.scene.q0), np.zeros(sim.scene.model.nv)
        first = sim.step(q, v)
        kept = sim.state()
        one = sim.step(first.q, first.v)
        sim.restore(kept)
        two = sim.step(first.q, first.v)
        if not (np.array_equal(one.q, two.q, True) and np.array_equal(one.v, two.v, True)):
            w.wrong.append("a step after restore is another one")


def derivatives(w: World) -> None:
    rng, sim = w.rng, w.sim()
    nv = sim.scene.model.nv
    if rng.uniform() < 0.8:
        sim.step(sim.scene.q0, 0.1 * rng.normal(size=nv))
    how = rng.integers(6)
    if how == 0:
        found = sim.jacobian(impulses=bool(rng.integers(2)), forces=bool(rng.integers(2)))
        repr((found.certificate.nearest, found.certificate.modes))
    elif how == 1:
        sim.jvp(w.vector(nv), w.vector(nv), w.one([None, w.vector(nv)]))
    elif how == 2:
        theta = [w.name(list(sim.scene.parameters)) for _ in range(int(rng.integers(0, 3)))]
        sim.vjp(w.vector(nv), w.vector(nv), theta=theta)
    elif how == 3 and w.paths:
        owner, path = w.one(w.paths)
        sim = owner if rng.uniform() < 0.8 else sim
        n = len(path) + 1
        bars = w.one([np.ones((n, path.v.shape[1])), w.vector(nv), np.ones((n - 1, nv))])
        sim.adjoint(path, bars, bars)
    elif how == 4:
        count = int(rng.integers(0, 4))
        q = np.tile(sim.scene.q0, (count, 1))
        sim.jacobians(
            q, w.one([np.zeros((count, nv)), np.zeros((count + 1, nv)), w.vector(nv)]), threads=w.one([1, 2, -1])
        )
    else:
        sim.vjps(w.vector(nv), w.vector(nv), w.vector(nv), w.vector(nv), threads=1)


def derivatives_of_nothing(w: World) -> None:
    """Before any step, after reset, after restore."""
    sim = taut.Simulator(w.one(w.scenes))
    how = w.rng.integers(3)
    if how == 1:
        sim.restore(sim.state())
    elif how == 2:
        sim.reset()
    w.one([sim.jacobian, sim.problem, lambda: sim.vjp(*2 * [np.zeros(sim.scene.model.nv)])])()


def record(w: World) -> None:
    sim, rng = w.sim(), w.rng
    how = rng.integers(5)
    if how == 0:
        path = w.folder / f"run{rng.integers(4)}.{w.one(['npz', 'mcap', 'txt', 'npz', 'mcap'])}"
        w.recorders.append(sim.record(path))
        w.files.append(path)
    elif how == 1 and w.recorders:
        w.recorders.pop(int(rng.integers(len(w.recorders)))).close()
    elif how == 2 and w.recorders:
        w.one(w.recorders).flush()
    elif how == 3:
        sim.record(w.one([w.folder, w.folder / "no" / "x.npz", "", None, 3]))
    else:
        path = w.folder / "whole.npz"
        with sim.record(path):
            run = sim.rollout(sim.scene.q0, np.zeros(sim.scene.model.nv), steps=7)
        found = taut.load_recording(path)
        n = len(found.q)  # a rollout ends where a step is not finite; its arrays are then longer
        if not np.array_equal(found.q, run.q[:n], True) or (n < len(run.q) and np.isfinite(run.q[n:]).any()):
            w.wrong.append("a recording is not what was run")


def load(w: World) -> None:
    path = w.one([*w.files, w.folder / "none.npz", w.folder, "", None, 7])
    w.one([taut.load_recording, taut.load, taut.Problem.load])(path)


def problem(w: World) -> None:
    rng = w.rng
    if w.problems and rng.uniform() < 0.5:
        p = w.one(w.problems)
        solver = w.name(list(taut.solvers()))
        extra = {str(w.one(["tolerance", "max_iterations", "relaxation", "sides", "alpha", "rho"])): w.number()}
        extra = extra if rng.uniform() < 0.3 else {}
        solution = taut.solve(p, solver, **extra, warm_start=w.one([None, w.vector(3)]))
        if solution.report.status == "converged" and taut.solver_models()[solver] == "NCP":
            worst = law_of(p, solution.impulse)
            tolerance = extra.get("tolerance", 1e-6)
            scale = float(np.abs(p.G).max(initial=0)) * float(np.abs(solution.impulse).max(initial=0))
            if isinstance(tolerance, float) and worst > 5 * tolerance + 1e-9 * scale:
                w.wrong.append(f"false converged: {solver} {worst:.2e}")
        taut.residuals(p, w.vector(len(p.g)))
        return
    n = int(rng.integers(1, 4))
    J = rng.normal(size=(3 * n, int(rng.integers(1, 12)))) * scenes.log_uniform(rng, -3, 3)
    how = rng.integers(5)
    if how <= 1:
        made = taut.Problem(J @ J.T, rng.normal(size=3 * n), np.full(n, scenes.friction(rng)))
    elif how == 2:
        made = taut.Problem(w.one([J @ J.T, J, w.vector(9), None]), w.vector(3 * n), w.vector(n), w.vector(3 * n))
    elif how == 3:
        blocks = [w.one([("cone", 0.5), ("positive",), ("interval", 0.1), ("free", 2), ("cone",), (), "cone", 3])]
        made = taut.Problem(np.eye(3), w.vector(3), blocks=blocks * int(rng.integers(1, 4)))
    else:
        made = taut.Problem((np.ones(3), np.arange(3), np.array([0, 1, 2, w.one([3, 2**40, -1])])), np.ones(3), [0.5])
    repr((made, made.kinds, made.blocks))
    w.problems = [*w.problems, made][-3:]


def collision(w: World) -> None:
    def pose() -> Any:
        return w.one([pin.SE3.Identity(), np.eye(4), w.vector(16), pin.SE3(np.eye(3), np.full(3, np.nan)), None])

    arguments = w.shape(), pose(), w.shape(), pose()
    how = w.rng.integers(4)
    if how == 0:
        taut.collision.distance(*arguments)
    elif how == 1:
        method = w.name(["auto", "exact", "gumbel", "gaussian", "gaussian_0", "finite_differences"])
        taut.collision.derivatives(*arguments, method=method, temperature=w.one([0.1, 0.0, -1.0, np.nan]))
    elif how == 2:
        taut.collision.patch(*arguments, margin=w.number())
    else:
        taut.collision.size_derivatives(*arguments)


def look_around(w: World) -> None:
    scene = w.one(w.scenes)
    repr((scene, scene.parameters, scene.warnings, scene.sources, scene.poses, scene.actuators, scene.loops))
    w.one([taut.solvers, taut.solver_models, taut.scenes.describe, taut.scenes.names])()
    taut.mechanical_energy(scene, w.vector(scene.model.nq), w.vector(scene.model.nv))


CALLS_OF = {
    make_scene: 1,
    copy_scene: 1,
    add_to_scene: 2,
    edit_scene: 3,
    edit_model: 1,
    make_simulator: 3,
    step: 6,
    rollout: 3,
    hold: 1,
    states: 3,
    derivatives: 3,
    derivatives_of_nothing: 0.5,
    record: 1.5,
    load: 1,
    problem: 3,
    collision: 3,
    look_around: 1,
}


def do(w: World, call: Callable[[World], None], outcome: Outcome, place: int) -> None:
    with np.errstate(all="ignore"):
        try:
            call(w)
            outcome.count(f"{call.__name__}: done")
        except ALLOWED as error:
            outcome.count(f"{call.__name__}: {type(error).__name__}")
        except Exception as error:
            outcome.finding(f"{call.__name__}: {type(error).__name__}: {str(error)[:200]}", place=place)
    for what in w.wrong:
        outcome.finding(what, call.__name__, place)
    w.wrong.clear()


def run(seed: list[int], outcome: Outcome, calls: int = CALLS) -> None:
    rng = np.random.default_rng(seed)
    names, weights = list(CALLS_OF), np.array(list(CALLS_OF.values()))
    with tempfile.TemporaryDirectory() as folder:
        w = World(rng, Path(folder))
        for place in range(calls):
            call = names[rng.choice(len(names), p=weights / weights.sum())]
            outcome.at(place)
            do(w, call, outcome, place)
            outcome.count("inputs")
        for recorder in w.recorders:
            with outcome.guard(calls):
                try:
                    recorder.close()
                except ALLOWED:
                    outcome.count("recorder refused to close")
