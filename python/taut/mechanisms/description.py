"""What a mechanism is, bodies and the joints between them, and the scenes it becomes."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._taut import Scene
from ..loading import load
from .mjcf import write
from .tree import spanning_tree

# Degrees of freedom that a joint of each kind leaves free, and those of them that a motor can drive.
FREE = {"hinge": 1, "slider": 1, "cylindrical": 2, "universal": 2, "point": 3, "weld": 0}
DRIVEN = {"hinge": 1, "slider": 1, "cylindrical": 2, "universal": 2, "point": 0, "weld": 0}


@dataclass(frozen=True)
class Body:
    """A rigid body; its frame is at its centre of mass."""

    name: str
    mass: float
    position: Sequence[float]
    quaternion: Sequence[float] = (0.0, 0.0, 0.0, 1.0)  # x y z w
    shape: object | None = None  # of Coal, centred at the frame; None: the body needs an inertia
    inertia: Sequence[Sequence[float]] | None = None  # (3, 3); None: the shape's, homogeneous
    collides: bool = True  # False: the shape gives the inertia and touches nothing

    def moment(self) -> np.ndarray:
        """(3, 3) about the centre of mass, in the axes of the body."""
        if self.inertia is not None:
            return np.asarray(self.inertia, dtype=float)
        if self.shape is None:
            raise ValueError(f"body '{self.name}': without a shape it needs an inertia")
        return self.shape.computeMomentofInertiaRelatedToCOM() * (self.mass / self.shape.computeVolume())

    def touches(self) -> bool:
        """Whether its shape takes part in collisions."""
        return self.collides and self.shape is not None


@dataclass(frozen=True)
class Joint:
    """What holds body_2 to body_1, where both are drawn."""

    name: str
    kind: str  # hinge, point, weld, slider, cylindrical or universal
    body_1: str | None  # None: the world
    body_2: str
    point: Sequence[float]  # world
    axis: Sequence[float] = (0.0, 0.0, 1.0)  # world; of a universal joint the one on body_1
    second_axis: Sequence[float] | None = None  # of a universal joint the one on body_2, at a right angle
    servo: tuple[float, float] | None = None  # (kp, kv) of a position servo on each direction; None: passive


@dataclass(frozen=True)
class Mechanism:
    """Bodies and joints, in the configuration in which they are drawn."""

    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...] = ()
    floor: float | None = None  # height
    friction: float = 0.8

    def __post_init__(self) -> None:
        names = [part.name for part in (*self.bodies, *self.joints)]
        for name in names:
            if not name or name == "world" or names.count(name) > 1:
                raise ValueError(f"'{name}' names no body or joint, or more than one")
        bodies = {body.name for body in self.bodies}
        for joint in self.joints:
            if joint.kind not in FREE:
                raise ValueError(f"joint '{joint.name}': '{joint.kind}' is not one of {', '.join(FREE)}")
            for body in (joint.body_1, joint.body_2):
                if body is not None and body not in bodies:
                    raise ValueError(f"joint '{joint.name}': no body is named '{body}'")
            if (joint.kind == "universal") != (joint.second_axis is not None):
                raise ValueError(f"joint '{joint.name}': a universal joint, and no other, has a second axis")
            if joint.servo is not None and not DRIVEN[joint.kind]:
                raise ValueError(f"joint '{joint.name}': a {joint.kind} has no direction to drive")

    def scene(self, coordinates: str = "maximal") -> Scene:
        """A scene at rest, as drawn.

        maximal: every body is free, and every joint a loop closure, in the order of `joints`.
        reduced: a spanning tree has joint coordinates; only what is left of the joints are loop closures.

        The servos hold the drawn pose at zero control. Bodies that a joint connects do not collide with each other.
        """
        if coordinates == "maximal":
            return self._maximal()
        if coordinates == "reduced":
            return self._reduced()
        raise ValueError(f"coordinates are '{coordinates}', they must be 'maximal' or 'reduced'")

    def mjcf(self) -> str:
        """The reduced form as an MJCF file, for `taut.load` and for MuJoCo.

        A hinge that closes a loop is written as two connects on its axis, and its servo, if it has one, is left out:
        MJCF has no word for either.
        """
        return write(self, closures=True)

    def _maximal(self) -> Scene:
        scene = Scene()
        if self.floor is not None:
            scene.add_floor(self.floor, friction=self.friction)
        for body in self.bodies:
            scene.add_body(
                body.name,
                body.shape if body.touches() else None,
                body.mass,
                body.position,
                body.quaternion,
                friction=self.friction,
                inertia=body.moment(),
            )
        touching = {body.name for body in self.bodies if body.touches()}
        for joint in self.joints:
            if {joint.body_1, joint.body_2} <= touching:
                scene.disable_pair(joint.body_1, joint.body_2)
            _close(scene, joint)
        return scene

    def _reduced(self) -> Scene:
        with tempfile.TemporaryDirectory() as folder:  # the tree goes through the reader of files
            path = Path(folder) / "tree.xml"
            path.write_text(write(self, closures=False))
            scene = load(path)
        for joint in spanning_tree(self).closures:
            _close(scene, joint)
        return scene


def _close(scene: Scene, joint: Joint) -> None:
    axes = {} if joint.kind == "point" else {"axis": joint.axis, "second_axis": joint.second_axis}
    scene.add_loop(joint.kind, joint.body_1, joint.body_2, point=joint.point, name=joint.name, **axes)
    if joint.servo is not None:
        kp, kv = joint.servo
        for drive in range(DRIVEN[joint.kind]):
            name = joint.name if DRIVEN[joint.kind] == 1 else f"{joint.name}_{drive + 1}"
            scene.add_loop_actuator(joint.name, "position", drive, kp=kp, kv=kv, name=name)
