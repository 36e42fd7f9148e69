"""Every public entry point with arguments that are right, to be called with each of them made wrong.

Run as a program it does so, in a process of its own, and writes what came of each call to a file, before and after: a
call that ends the process is the one whose answer is missing.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio

import taut

ROBOT = """<mujoco><option timestep="0.001"/><worldbody>
<geom name="ground" type="plane" size="1 1 1"/>
<body name="base" pos="0 0 1"><joint name="lift" type="slide" axis="0 0 1"/>
<geom name="box" type="box" size=".1 .1 .1"/>
<body name="arm" pos="0 0 .3"><joint name="swing" type="hinge" axis="0 1 0" range="-90 90"/>
<geom name="ball" type="sphere" size=".05" pos=".2 0 0"/></body></body>
<body name="free" pos="1 0 .1"><freejoint/><geom name="cube" type="box" size=".1 .1 .1"/></body>
</worldbody><actuator><motor joint="swing"/></actuator></mujoco>"""


class World:
    """Something of everything, new for each call."""

    def __init__(self, folder: Path):
        self.folder = folder
        path = folder / "robot.xml"
        if not path.exists():
            path.write_text(ROBOT)
        self.path = path
        self.scene = taut.load(path)
        self.scene.add_body("ball_joint_body", coal.Sphere(0.1), position=[0, 3, 2])
        self.scene.add_loop("point", "arm", "free", name="rope", compliance=1e-3)
        self.sim = taut.Simulator(self.scene)
        self.q, self.v, self.nv = self.scene.q0, np.zeros(self.scene.model.nv), self.scene.model.nv
        self.problem = taut.Problem(np.eye(3), [0.1, 0.0, -1.0], [0.5])

    def stepped(self) -> taut.Simulator:
        self.sim.step(self.q, self.v)
        return self.sim

    def recording(self) -> taut.Recording:
        path = self.folder / "run.npz"
        if not path.exists():
            with self.sim.record(path):
                self.sim.rollout(self.q, self.v, steps=3)
        return taut.load_recording(path)


@dataclass(frozen=True)
class Entry:
    """What to call and with what. Which of the arguments are arrays and numbers its signature says, or `arrays`."""

    make: Callable[[World], Callable[..., Any]]
    arguments: Callable[[World], dict[str, Any]]
    arrays: tuple[str, ...] = ()
    scalar: tuple[str, ...] = ()  # arrays that may be a number for all entries
    empty: tuple[str, ...] = ()  # arrays that may be empty
    any_size: tuple[str, ...] = ()  # arrays whose size is their own
    infinite: tuple[str, ...] = ()  # numbers that may be infinite
    spreads: tuple[str, ...] = ()  # arrays whose NaN becomes that of the answer
    called: dict[str, str] = field(default_factory=dict)  # what an argument is called in errors, if not by its name
    free: tuple[str, ...] = ()  # arguments that take anything


def _setter(name: str) -> Callable[[World], Callable[..., Any]]:
    return lambda w: lambda value: setattr(w.scene, name, value)


def _property(name: str, value: Callable[[World], Any], **options: Any) -> Entry:
    return Entry(
        _setter(name), lambda w: {"value": value(w)}, ("value",), called={"value": f"{name}|ArrayLike"}, **options
    )


_SURFACE = {"mu": "friction", "e": "restitution"}
_POSE = pinocchio.SE3.Identity


def _shapes(w: World) -> dict[str, Any]:
    far = np.eye(4)
    far[2, 3] = 0.3
    return {"shape_1": coal.Sphere(0.1), "pose_1": far, "shape_2": coal.Box(1, 1, 0.2), "pose_2": np.eye(4)}


_POSES = ("pose_1", "pose_2")
_ANY = {"infinite": ("correction_speed", "restitution_threshold")}

ENTRIES: dict[str, Entry] = {
    # --- problems
    "Problem": Entry(
        lambda w: taut.Problem,
        lambda w: {"G": np.eye(3), "g": np.zeros(3), "mu": np.array([0.5]), "R": np.zeros(3)},
        ("G",),
        scalar=("mu",),
        any_size=("g",),
        called={"g": "g|mu|R"},
    ),
    "Problem.load": Entry(lambda w: taut.Problem.load, lambda w: {"path": _saved(w)}, free=("path",)),
    "Problem.save": Entry(lambda w: w.problem.save, lambda w: {"path": w.folder / "p.npz"}, free=("path",)),
    "solve": Entry(lambda w: taut.solve, lambda w: {"problem": w.problem, "warm_start": np.zeros(3)}),
    "time_solve": Entry(
        lambda w: taut.time_solve, lambda w: {"problem": w.problem, "warm_start": np.zeros(3), "repeats": 1}
    ),
    "residuals": Entry(
        lambda w: taut.residuals, lambda w: {"problem": w.problem, "impulse": np.zeros(3)}, spreads=("impulse",)
    ),
    "fclib.read": Entry(lambda w: taut.fclib.read, lambda w: {"path": _saved(w, "hdf5")}, free=("path", "cls")),
    "fclib.write": Entry(
        lambda w: taut.fclib.write,
        lambda w: {"path": w.folder / "w.hdf5", "problem": w.problem, "solution": np.zeros(3)},
        ("solution",),
        free=("path", "problem", "info", "guesses"),
    ),
    # --- simulators
    "Simulator": Entry(lambda w: taut.Simulator, lambda w: {"scene": w.scene}, **_ANY),
    "Simulator.step": Entry(
        lambda w: w.sim.step,
        lambda w: {
            "q": w.q,
            "v": w.v,
            "tau": np.zeros(w.nv),
            "fext": np.zeros((w.scene.model.njoints, 6)),
            "control": np.zeros(1),
        },
        empty=("tau", "control"),
    ),
    "Simulator.rollout": Entry(
        lambda w: w.sim.rollout,
        lambda w: {
            "q": w.q,
            "v": w.v,
            "taus": np.zeros((2, w.nv)),
            "steps": 2,
            "control": np.zeros((2, 1)),
            "checkpoints": 1,
        },
    ),
    "Simulator.hold": Entry(
        lambda w: w.sim.hold,
        lambda w: {
            "q": w.q,
            "kp": np.ones(w.nv),
            "kd": np.ones(w.nv),
            "torque_limit": np.ones(w.nv),
        },
        scalar=("kp", "kd", "torque_limit"),
    ),
    "Simulator.restore": Entry(lambda w: w.sim.restore, lambda w: {"state": w.sim.state()}),
    "Simulator.jacobian": Entry(lambda w: w.stepped().jacobian, lambda w: {"temperature": 0.1}),
    "Simulator.jvp": Entry(
        lambda w: w.stepped().jvp,
        lambda w: {"dq": np.zeros(w.nv), "dv": np.zeros(w.nv), "dtau": np.zeros(w.nv), "temperature": 0.1},
    ),
    "Simulator.vjp": Entry(
        lambda w: w.stepped().vjp,
        lambda w: {"q_bar": np.zeros(w.nv), "v_bar": np.zeros(w.nv), "theta": ["mass:lift"], "temperature": 0.1},
    ),
    "Simulator.adjoint": Entry(
        lambda w: w.sim.adjoint,
        lambda w: {
            "trajectory": w.sim.rollout(w.q, w.v, steps=2),
            "q_bar": np.zeros((3, w.nv)),
            "v_bar": np.zeros((3, w.nv)),
            "theta": ["mass:lift"],
            "temperature": 0.1,
        },
    ),
    "Simulator.jacobians": Entry(
        lambda w: w.sim.jacobians,
        lambda w: {"q": w.q[None], "v": w.v[None], "tau": np.zeros((1, w.nv)), "threads": 1, "temperature": 0.1},
        any_size=("q",),
    ),
    "Simulator.vjps": Entry(
        lambda w: w.sim.vjps,
        lambda w: {
            "q": w.q[None],
            "v": w.v[None],
            "q_bar": np.zeros((1, w.nv)),
            "v_bar": np.zeros((1, w.nv)),
            "tau": np.zeros((1, w.nv)),
            "theta": ["mass:lift"],
            "threads": 1,
            "temperature": 0.1,
        },
        any_size=("q",),
    ),
    "Simulator.record": Entry(lambda w: _closing(w.sim.record), lambda w: {"path": w.folder / "r.npz"}, free=("path",)),
    "Softening": Entry(lambda w: taut.Softening, lambda w: {}),
    "Softening.impedance": Entry(lambda w: taut.Softening().impedance, lambda w: {"error": 0.0}, free=("error",)),
    "mechanical_energy": Entry(
        lambda w: taut.mechanical_energy,
        lambda w: {"scene": w.scene, "q": w.q, "v": w.v},
        ("q", "v"),
        spreads=("q", "v"),
    ),
    # --- scenes
    "Scene.add_body": Entry(
        lambda w: w.scene.add_body,
        lambda w: {
            "name": "more",
            "shape": coal.Sphere(0.1),
            "position": np.zeros(3),
            "quaternion": np.array([0.0, 0, 0, 1]),
            "inertia": np.eye(3),
        },
        free=("name", "shape"),
    ),
    "Scene.add_shape": Entry(
        lambda w: w.scene.add_shape,
        lambda w: {
            "name": "more",
            "shape": coal.Sphere(0.1),
            "position": np.zeros(3),
            "quaternion": np.array([0.0, 0, 0, 1]),
        },
        free=("name",),
    ),
    "Scene.add_floor": Entry(lambda w: w.scene.add_floor, lambda w: {}),
    "Scene.add_robot": Entry(
        lambda w: w.scene.add_robot,
        lambda w: {
            "robot": taut.scenes.make("ball"),
            "prefix": "his_",
            "position": np.zeros(3),
            "quaternion": np.array([0.0, 0, 0, 1]),
        },
        free=("prefix",),
    ),
    "Scene.add_loop": Entry(
        lambda w: w.scene.add_loop,
        lambda w: {
            "kind": "universal",
            "body_1": "free",
            "body_2": None,
            "point": np.zeros(3),
            "axis": np.array([1.0, 0, 0]),
            "second_axis": np.array([0.0, 1, 0]),
            "q": w.q,
        },
        free=("name", "body_1", "body_2", "position_1", "position_2", "quaternion_1", "quaternion_2", "length"),
    ),
    "Scene.add_loop, in the bodies": Entry(
        lambda w: w.scene.add_loop,
        lambda w: {
            "kind": "distance",
            "body_1": "free",
            "body_2": "arm",
            "position_1": np.zeros(3),
            "position_2": np.ones(3),
            "quaternion_1": np.array([0.0, 0, 0, 1]),
            "quaternion_2": np.array([0.0, 0, 0, 1]),
            "length": 1.0,
        },
        free=("name", "body_1", "body_2", "point", "axis", "second_axis", "q"),
    ),
    "Scene.add_coupling": Entry(
        lambda w: w.scene.add_coupling,
        lambda w: {"joint_1": "lift", "joint_2": "swing", "polynomial": np.array([0.0, 1.0])},
        any_size=("polynomial",),
        empty=("polynomial",),
        called={"polynomial": "polynomial|coefficient", "reference_1": "reference", "reference_2": "reference"},
        free=("name", "joint_1", "joint_2"),
    ),
    "Scene.add_loop_actuator": Entry(
        lambda w: _with_hinge(w.scene).add_loop_actuator,
        lambda w: {"loop": "hinge", "kind": "position"},
        called={"drive": "drive|number"},
        free=("name", "control_range", "force_range"),
    ),
    "Scene.assemble": Entry(
        lambda w: _without_rope(w).assemble, lambda w: {"q": _without_rope(w).q0, "fixed": []}, free=("fixed",)
    ),
    "Scene.loop_errors": Entry(lambda w: w.scene.loop_errors, lambda w: {"q": w.q}, spreads=("q",)),
    "Scene.limit_excess": Entry(lambda w: w.scene.limit_excess, lambda w: {"q": w.q}, spreads=("q",)),
    "Scene.loop_gaps": Entry(lambda w: w.scene.loop_gaps, lambda w: {"q": w.q}, spreads=("q",)),
    "Scene.worst_loop_gap": Entry(lambda w: w.scene.worst_loop_gap, lambda w: {"q": w.q}, spreads=("q",)),
    "Scene.loop_jacobian": Entry(lambda w: w.scene.loop_jacobian, lambda w: {"q": w.q}, spreads=("q",)),
    "Scene.set_ball_limit": Entry(
        lambda w: _with_ball_joint().set_ball_limit, lambda w: {"joint": "ball", "angle": 1.0}, free=("joint",)
    ),
    "Scene.disable_pair": Entry(lambda w: w.scene.disable_pair, lambda w: {"shape_1": "box", "shape_2": "cube"}),
    "Scene.friction": Entry(lambda w: w.scene.friction, lambda w: {"shape": "box"}),
    "Scene.restitution": Entry(lambda w: w.scene.restitution, lambda w: {"shape": "box"}),
    "Scene.compliance": Entry(lambda w: w.scene.compliance, lambda w: {"shape": "box"}),
    "Scene.pair_friction": Entry(lambda w: w.scene.pair_friction, lambda w: {"shape_1": "box", "shape_2": "cube"}),
    "Scene.set_friction": Entry(lambda w: w.scene.set_friction, lambda w: {"shape": "box", "mu": 0.5}, called=_SURFACE),
    "Scene.set_restitution": Entry(
        lambda w: w.scene.set_restitution, lambda w: {"shape": "box", "e": 0.5}, called=_SURFACE
    ),
    "Scene.set_compliance": Entry(lambda w: w.scene.set_compliance, lambda w: {"shape": "box", "compliance": 0.5}),
    "Scene.set_pair_friction": Entry(
        lambda w: w.scene.set_pair_friction,
        lambda w: {"shape_1": "box", "shape_2": "cube", "mu": 0.5},
        called=_SURFACE,
    ),
    "Scene.set_pair_restitution": Entry(
        lambda w: w.scene.set_pair_restitution,
        lambda w: {"shape_1": "box", "shape_2": "cube", "e": 0.5},
        called=_SURFACE,
    ),
    "Scene.parameter": Entry(lambda w: w.scene.parameter, lambda w: {"name": "gravity"}),
    "Scene.set_parameter": Entry(
        lambda w: w.scene.set_parameter,
        lambda w: {"name": "gravity", "value": np.array([0.0, 0, -1])},
        called={"value": "value|gravity"},
    ),
    "Scene.set_parameter, of one value": Entry(
        lambda w: w.scene.set_parameter,
        lambda w: {"name": "mass:lift", "value": np.array([1.0])},
        scalar=("value",),
        called={"value": "value|mass"},
        free=("name",),
    ),
    "Scene.gravity": _property("gravity", lambda w: np.zeros(3)),
    "Scene.q0": _property("q0", lambda w: w.q),
    "Scene.stiffness": _property("stiffness", lambda w: np.zeros(w.nv)),
    "Scene.spring_reference": _property("spring_reference", lambda w: np.zeros(w.nv)),
    "Scene.limit_restitution": _property("limit_restitution", lambda w: np.zeros(w.nv)),
    "Scene.limit_compliance": _property("limit_compliance", lambda w: np.zeros(w.nv)),
    "Source": Entry(
        lambda w: taut.Source,
        lambda w: {"path": "x", "position": np.zeros(3), "quaternion": np.array([0.0, 0, 0, 1])},
        free=("path", "prefix"),
    ),
    "load": Entry(
        lambda w: taut.load, lambda w: {"path": w.path}, free=("path", "package_dirs", "floor", "friction", "srdf")
    ),
    "load_recording": Entry(lambda w: taut.load_recording, lambda w: _recorded(w), free=("path",)),
    "scenes.make": Entry(lambda w: taut.scenes.make, lambda w: {"name": "stack"}),
    "scenes.path": Entry(lambda w: taut.scenes.path, lambda w: {"name": "go1"}, called={"name": "scene"}),
    # --- collision
    "collision.distance": Entry(lambda w: taut.collision.distance, _shapes, _POSES),
    "collision.derivatives": Entry(lambda w: taut.collision.derivatives, _shapes, _POSES, free=("options",)),
    "collision.size_derivatives": Entry(lambda w: taut.collision.size_derivatives, _shapes, _POSES),
    "collision.patch": Entry(lambda w: taut.collision.patch, _shapes, _POSES, free=("options",)),
}

# Public, and without an argument that could be wrong, or not made by a user.
NOTHING_TO_GET_WRONG = {
    "Problem.csr", "solvers", "solver_models", "scenes.names", "scenes.describe", "Scene", "Scene.copy",
    "Scene.validate", "Simulator.release", "Simulator.state", "Simulator.reset", "Simulator.problem",
    "Simulator.view",  # starts a process: tests/python/test_view_*.py
    "TautWarning", "Recording", "Recording.of_step", "Recording.save",  # tests/python/test_recording*.py
}  # fmt: skip


def _saved(w: World, kind: str = "npz") -> Path:
    path = w.folder / f"saved.{kind}"
    w.problem.save(path)
    return path


def _recorded(w: World) -> dict[str, Any]:
    w.recording()
    return {"path": w.folder / "run.npz"}


def _closing(record: Callable[..., Any]) -> Callable[..., None]:
    def call(*args: Any, **options: Any) -> None:
        record(*args, **options).close()

    return call


def _with_hinge(scene: taut.Scene) -> taut.Scene:
    scene.add_loop("hinge", "free", None, point=[1, 0, 0.1], axis=[0, 0, 1], name="hinge")
    return scene


def _without_rope(w: World) -> taut.Scene:
    return taut.load(w.path)


def _with_ball_joint() -> taut.Scene:
    from taut.loading import from_pinocchio

    model, geometry = pinocchio.Model(), pinocchio.GeometryModel()
    joint = model.addJoint(0, pinocchio.JointModelSpherical(), pinocchio.SE3.Identity(), "ball")
    model.appendBodyToJoint(joint, pinocchio.Inertia(1.0, np.zeros(3), np.eye(3)), pinocchio.SE3.Identity())
    return from_pinocchio(model, geometry)


# --- public names


def public() -> Iterator[str]:
    """Names of all that a user may call, and of the properties that he may set, as the table has them."""
    for prefix, module in (
        ("", taut),
        ("collision.", taut.collision),
        ("fclib.", taut.fclib),
        ("scenes.", taut.scenes),
    ):
        names = getattr(module, "__all__", None) or ["read", "write"]
        for name in names:
            thing = getattr(module, name)
            if not callable(thing):
                continue
            if not isinstance(thing, type):
                yield prefix + name
                continue
            if can_be_made(thing):
                yield prefix + name
            for member, value in inspect.getmembers(thing):
                if member.startswith("_") or issubclass(thing, BaseException):
                    continue
                if callable(value) or (isinstance(value, property) and value.fset is not None):
                    yield f"{prefix}{name}.{member}"


def can_be_made(thing: type) -> bool:
    """Whether a user can make one; taut makes the others."""
    with contextlib.suppress(TypeError):
        thing()
        return True
    try:
        thing()
    except TypeError as error:
        return "no constructor" not in str(error)
    return True


# --- what is wrong


class Raises:
    """An array by its own word, that raises when it is asked for its content."""

    def __init__(self, error: BaseException):
        self.error = error

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise self.error


class RaisesByLength(list):
    """A list that is interrupted."""

    def __len__(self) -> int:
        raise KeyboardInterrupt


class Broken(np.ndarray):
    """A subclass that raises."""

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise RuntimeError("broken")

    def __array_finalize__(self, other: Any) -> None:
        pass


def wrong_arrays(good: np.ndarray, entry: Entry, name: str, optional: bool) -> Iterator[tuple[str, Any, tuple]]:
    """(what, value, exceptions): each of these must be refused."""
    refused = (ValueError, TypeError)
    if name not in entry.scalar:
        yield "a number", 0.5, (ValueError,)
        yield "an array of no dimension", np.array(0.5), (ValueError,)
    if name not in entry.empty:
        yield "empty", np.zeros(0), (ValueError,)
    yield "an empty matrix", np.zeros((0, 3, 2)), (ValueError,)
    yield "one dimension more", good[..., None], (ValueError,)
    if name not in entry.any_size:
        yield "an entry more", np.zeros(tuple(n + 1 for n in good.shape)), (ValueError,)
        yield "huge", np.broadcast_to(0.0, (2**40,)), (ValueError,)
    yield "huge by dimensions", np.broadcast_to(np.float32(0.0), (2**20, 2**20)), (ValueError,)
    yield "complex", good + 1j, (TypeError,)
    yield "objects", good.astype(object), (TypeError,)
    yield "None inside", [None] * max(1, good.size), (TypeError,)
    yield "a word", "abc", (TypeError,)
    yield "words", np.full(good.shape, "1.0"), (TypeError,)
    yield "bytes", b"abcdefgh", (TypeError,)
    yield "dates", np.zeros(good.shape, "datetime64[s]"), (TypeError,)
    yield "a structure", np.zeros(good.shape, [("x", float), ("y", float)]), (TypeError,)
    yield "a dict", {}, (TypeError,)
    yield "a set", {1.0, 2.0}, (TypeError,)
    yield "ragged", [[1.0], [1.0, 2.0]], refused
    yield "itself within itself", _recursive(), refused
    yield "masked", np.ma.masked_array(good, mask=np.ones(good.shape, bool)), (ValueError,)
    yield "integers beyond 2^53", np.full(good.shape, 2**53 + 1), (ValueError,)
    yield "a whole number beyond 2^64", [2**70] * max(1, good.size), refused
    yield "an __array__ that raises", Raises(RuntimeError("nothing here")), refused
    yield "an __array__ that is interrupted", Raises(KeyboardInterrupt()), (KeyboardInterrupt,)
    yield "a subclass that raises", np.ones(good.shape).view(Broken), (*refused, type(None))
    yield "an object", object(), (TypeError,)
    if not optional:
        yield "None", None, (TypeError,)
    if good.size:
        for value in () if name in entry.spreads else (np.nan, np.inf, -np.inf):
            spoiled = np.array(good)
            spoiled.flat[0] = value
            yield f"{value}", spoiled, (ValueError,)


def _recursive() -> list:
    itself: list = []
    itself.append(itself)
    return itself


def right_arrays(good: np.ndarray) -> Iterator[tuple[str, Any]]:
    """The same numbers otherwise: none of these may be refused."""
    good = np.asarray(good, dtype=float)
    spread = np.zeros(tuple(2 * n for n in good.shape))
    spread[tuple(slice(None, None, 2) for _ in good.shape)] = good
    yield "not contiguous", spread[tuple(slice(None, None, 2) for _ in good.shape)]
    yield "in Fortran's order", np.asfortranarray(good)
    yield "with bytes swapped", good.astype(good.dtype.newbyteorder())
    yield "a list", good.tolist()
    read_only = good.copy()
    read_only.flags.writeable = False
    yield "read only", read_only
    yield "long doubles", good.astype(np.longdouble)
    yield "a mask of nothing", np.ma.masked_array(good)
    yield "a subclass", good.view(np.matrix) if good.ndim == 2 else good.view(np.recarray)
    if np.array_equal(good, np.round(good)):
        yield "integers", good.astype(np.int64)
        yield "bytes", good.astype(np.int8)
        yield "halves", good.astype(np.float16)


def wrong_numbers(entry: Entry, name: str, integer: bool, optional: bool) -> Iterator[tuple[str, Any, tuple]]:
    refused = (ValueError, TypeError)
    if integer:
        yield "2^40", 2**40, (ValueError,)
        yield "2^70", 2**70, (ValueError,)
        yield "-2^70", -(2**70), (ValueError,)
        yield "negative", -5, (ValueError,)
        yield "a float", 1.5, (TypeError,)
    else:
        yield "nan", np.nan, (ValueError,)
        yield "-inf", -np.inf, (ValueError,)
        if name not in entry.infinite:
            yield "inf", np.inf, (ValueError,)
    yield "a word", "abc", refused
    yield "complex", 1j, refused
    yield "an array", np.zeros(3), refused
    yield "a dict", {}, refused
    if not optional:
        yield "None", None, refused


# --- the calls


def calls(w: World, entry: Entry) -> Iterator[tuple[str, str, Any, tuple]]:
    """(argument, what is wrong, value, exceptions that are right; none: it is right)."""
    function, arguments = entry.make(w), entry.arguments(w)
    parameters = dict(inspect.signature(function).parameters)
    for name in entry.arrays:
        parameters.setdefault(name, inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY))
    for name, parameter in parameters.items():
        if name in entry.free:
            continue
        annotation = str(parameter.annotation)
        optional = parameter.default is None
        if name in entry.arrays or "ArrayLike" in annotation:
            good = np.asarray(arguments.get(name, parameter.default), dtype=float)
            for what, value in right_arrays(good):
                yield name, what, value, ()
            if name in entry.scalar:
                yield name, "a number", 0.5, ()
            yield from ((name, *wrong) for wrong in wrong_arrays(good, entry, name, optional))
        elif "float" in annotation and "tuple" not in annotation:
            yield from ((name, *wrong) for wrong in wrong_numbers(entry, name, False, optional))
        elif "int" in annotation:
            yield from ((name, *wrong) for wrong in wrong_numbers(entry, name, True, optional))
        elif annotation == "str":
            yield name, "no such word", "no such word", (ValueError,)
            yield name, "half a character", "\ud800", (ValueError, TypeError)
            yield name, "a number", 3, (ValueError, TypeError)
        elif "taut" in annotation:
            yield name, "None", None, (TypeError,) if not optional else ()
            yield name, "a word", "abc", (TypeError,)


def outcome(call: Callable[[], Any]) -> tuple[str, str]:
    try:
        call()
    except BaseException as error:
        return type(error).__name__, str(error)
    return "", ""


def main(log: str, names: list[str]) -> None:
    """Makes all calls of the entries named, and writes a line before and after each."""
    with tempfile.TemporaryDirectory() as folder, open(log, "a", buffering=1) as file:
        for name in names or list(ENTRIES):
            entry = ENTRIES[name]
            for argument, what, value, expected in calls(World(Path(folder)), entry):
                w = World(Path(folder))
                function, arguments = entry.make(w), entry.arguments(w)
                file.write(json.dumps([name, argument, what]) + "\n")
                raised, said = outcome(lambda f=function, a={**arguments, argument: value}: f(**a))
                kinds = [kind.__name__ for kind in expected if kind is not type(None)]
                maybe = type(None) in expected or not expected
                called = entry.called.get(argument, argument)
                file.write(json.dumps([name, argument, what, called, kinds, maybe, raised, said]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
