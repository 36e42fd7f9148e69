"""The scenes whose gradients `taut check-gradient --all` holds against differences, and how their states are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import coal
import numpy as np
import pinocchio

from . import scenes
from ._taut import Scene, Simulator, _scene_of

# At rest a contact or a limit stands at the kink between gap and penetration; with all of a penetration corrected in a
# step there is none, and robots can be compared as they stand.
NO_KINK = {"correction": 1.0, "limit_correction": 1.0}
MIXED = {"mixed": True, "push": 1e-3, "kick": 0.5}  # from still to flying: all modes, few of them near a switch


@dataclass(frozen=True)
class Case:
    """A scene, options of its Simulator and of `gradients.reachable_states`, and what it is there for."""

    why: str
    make: Callable[[], Scene]
    options: dict[str, Any] = field(default_factory=dict)
    sampling: dict[str, Any] = field(default_factory=dict)
    hold: tuple[float, float, float | None] | None = None  # kp, kd, torque limit
    share: float = 1.0  # of the states asked for: slow ones that are there for one thing need no more

    def simulator(self) -> Simulator:
        scene = self.make()
        sim = Simulator(scene, **{"tolerance": 1e-12, **self.options})
        if self.hold is not None:
            kp, kd, limit = self.hold
            sim.hold(scene.q0, kp, kd, limit) if limit else sim.hold(scene.q0, kp, kd)
        return sim


def _named(name: str) -> Callable[[], Scene]:
    return lambda: scenes.make(name)


def _settled(name: str, seconds: float) -> Callable[[], Scene]:
    """The scene as it lies after falling."""

    def make() -> Scene:
        scene = scenes.make(name)
        path = Simulator(scene).rollout(scene.q0, np.zeros(scene.model.nv), steps=round(1000 * seconds))
        scene.q0 = path.q[-1]
        return scene

    return make


def _thrown(**surface: float) -> Callable[[], Scene]:
    """A ball, an egg, a capsule and a box side by side, all shapes with a surface of their own on a floor."""

    def make() -> Scene:
        scene = Scene()
        scene.add_floor(friction=0.5, **surface)
        shapes = (
            coal.Sphere(0.1),
            coal.Ellipsoid(0.1, 0.12, 0.08),
            coal.Capsule(0.05, 0.15),
            coal.Box(0.2, 0.16, 0.12),
        )
        for k, (shape, height) in enumerate(zip(shapes, (0.1, 0.08, 0.125, 0.06), strict=True)):
            scene.add_body(f"body_{k}", shape, 1.0 + 0.5 * k, [0.5 * k, 0.0, height + 1e-3], friction=0.5, **surface)
        return scene

    return make


def _eccentric() -> Scene:
    """Thrown shapes whose centres of mass are off their origins."""
    scene = _thrown()()
    for k in range(4):
        scene.set_parameter(f"com:body_{k}", [0.02, -0.03, 0.01 * k])
    return scene


def _loops(compliance: float = 0.0) -> Callable[[], Scene]:
    """A pair of bodies for each kind of loop, and two hinges with a cam between them."""

    def make() -> Scene:
        model = pinocchio.Model()
        for name, y in (("cam", -0.5), ("follower", -0.8)):
            place = pinocchio.SE3(np.eye(3), np.array([0.0, y, 1.0]))
            joint = model.addJoint(0, pinocchio.JointModelRY(), place, name)
            inertia = pinocchio.Inertia(1.0, np.array([0.1, 0.0, 0.0]), 0.01 * np.eye(3))
            model.appendBodyToJoint(joint, inertia, pinocchio.SE3.Identity())
        scene = _scene_of(model, pinocchio.GeometryModel(), 0.8)
        scene.add_coupling("cam", "follower", [0.0, 0.7, 0.3, 0.1], compliance=compliance)
        for k, kind in enumerate(("point", "hinge", "weld", "slider", "cylindrical", "universal", "distance")):
            for side, x, turns in (("a", 0.0, (0.01, 0.02, 0.025)), ("b", 0.3, (0.03, 0.015, 0.02))):
                place = [x, 0.5 * k, 1.0]
                scene.add_body(f"{kind}_{side}", None, 1.0 + x, place, inertia=np.diag(turns))
            bodies = (f"{kind}_a", f"{kind}_b")
            give = {"compliance": compliance, "angular_compliance": 10 * compliance if kind != "point" else 0.0}
            if kind in ("point", "distance"):
                give.pop("angular_compliance")
            if kind == "distance":
                scene.add_loop(kind, *bodies, position_1=[0.05, 0.0, 0.0], position_2=[-0.05, 0.02, 0.0], **give)
                continue
            axes = {} if kind in ("point", "weld") else {"axis": [0.0, 1.0, 0.0]}
            if kind == "universal":
                axes["second_axis"] = [1.0, 0.0, 0.0]
            scene.add_loop(kind, *bodies, point=[0.15, 0.5 * k + 0.02, 1.01], **axes, **give)
        return scene

    return make


def _ball_joints() -> Scene:
    """Two arms on ball joints that turn by 0.3 rad at most, one hung from the other."""
    model, parent = pinocchio.Model(), 0
    for name in ("shoulder", "elbow"):
        place = pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, 1.0 if parent == 0 else -0.3]))
        parent = model.addJoint(parent, pinocchio.JointModelSpherical(), place, name)
        inertia = pinocchio.Inertia(1.0, np.array([0.0, 0.02, -0.15]), np.diag([0.02, 0.02, 0.01]))
        model.appendBodyToJoint(parent, inertia, pinocchio.SE3.Identity())
    scene = _scene_of(model, pinocchio.GeometryModel(), 0.8)
    for name in ("shoulder", "elbow"):
        scene.set_ball_limit(name, 0.3)
    return scene


def _soft_limits() -> Scene:
    scene = scenes.make("humanoid")
    scene.limit_compliance = np.full_like(np.asarray(scene.limit_compliance, dtype=float), 1e-4)
    return scene


# Those of the requirement first; then what they do not reach.
CASES: dict[str, Case] = {
    "cube_on_plane": Case("all modes of a patch", _named("cube_on_plane"), sampling=MIXED),
    "go1": Case("feet that stick, slip and lift; dry joints; limits", _named("go1"), sampling=MIXED),
    "solo12": Case("the same without dry joints", _named("solo12"), sampling=MIXED),
    "talos": Case(
        "flat feet that stand: without the kink at rest; torques that matter to 90 kg",
        _named("talos"),
        NO_KINK,
        {**MIXED, "torque": 20.0},
    ),
    "ur5": Case(
        "no contact where it starts: from anywhere, fast, so that it meets limits and itself",
        _named("ur5"),
        sampling={**MIXED, "spread": 2.0, "speed": 2.0, "torque": 20.0},
    ),
    "half_cheetah": Case("a planar joint and springs", _named("half_cheetah"), sampling={**MIXED, "torque": 5.0}),
    "humanoid": Case("limits, springs and damping", _named("humanoid"), sampling={**MIXED, "torque": 5.0}),
    "fourbar_fixed": Case("redundant loops", _named("fourbar_fixed"), sampling={"speed": 1.0, "kick": 0.5}),
    "cassie": Case(
        "loops and contacts, standing; where it moves more, loops are closed in rounds",
        _named("cassie"),
        NO_KINK,
        {"mixed": True, "push": 1e-5, "kick": 0.005, "torque": 0.1, "speed": 0.01},
        hold=(100.0, 5.0, None),
    ),
    "cassie_short": Case(
        "the same falling, in steps of 0.25 ms, which leave loops closed at once",
        _named("cassie"),
        {**NO_KINK, "dt": 2.5e-4},
        {"mixed": True, "push": 1e-4, "kick": 0.05, "torque": 0.5},
    ),
    "cube_at_rest": Case(
        "four corners that stick: redundant contacts",
        _named("cube_on_plane"),
        NO_KINK,
        {"mixed": True, "push": 3e-7, "kick": 1e-3, "torque": 0.02, "speed": 0.0, "distance": 1e-3},
        share=0.3,
    ),
    "go1_belly": Case(
        "a robot that lies: patches on its trunk and legs",
        _settled("go1", 1.5),
        NO_KINK,
        {**MIXED, "distance": 1e-3},
        share=0.3,
    ),
    "go1_held": Case("servos, some of them saturated", _named("go1"), sampling=MIXED, hold=(30.0, 1.0, 8.0)),
    "bouncing": Case(
        "restitution", _thrown(restitution=0.6), sampling={**MIXED, "kick": 1.0, "speed": 1.0, "length": 200}
    ),
    "compliant": Case("contacts that give way", _thrown(compliance=1e-4), sampling=MIXED),
    "eccentric": Case(
        "centres of mass off their origins, in flight and rolling: fast",
        _eccentric,
        sampling={**MIXED, "kick": 3.0, "speed": 10.0, "push": 1e-2, "length": 200},
    ),
    "pile": Case("bodies on bodies", lambda: scenes.make("pile", n=5), sampling={**MIXED, "speed": 1.0, "length": 600}),
    "loops": Case("every kind of loop, and a cam", _loops(), sampling={"speed": 1.0, "kick": 0.5}, share=0.2),
    "compliant_loops": Case("the same as springs", _loops(1e-4), sampling={"speed": 1.0, "kick": 0.5}, share=0.2),
    "ball_joints": Case(
        "limits of ball joints",
        _ball_joints,
        sampling={**MIXED, "speed": 3.0, "torque": 2.0, "spread": 0.1},
    ),
    "compliant_limits": Case(
        "limits that give way",
        _soft_limits,
        sampling={**MIXED, "speed": 2.0, "torque": 5.0, "spread": 0.2},
    ),
    "fourbar_free": Case("redundant loops that tumble", _named("fourbar_free"), sampling=MIXED, share=0.3),
}
