"""Drawing a mechanism: boxes, rods, and the linkages that drive one body by a motor on another."""

from __future__ import annotations

from collections.abc import Sequence

import coal
import numpy as np
import pinocchio

from .description import Body, Joint, Mechanism

Point = Sequence[float]


class Sketch:
    """Collects bodies and joints. Everything is given in the world, as drawn; bodies are known by their names."""

    def __init__(self, servo: tuple[float, float] = (200.0, 10.0)):
        """servo: (kp, kv) of what is driven."""
        self.servo = servo
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []

    def mechanism(self, floor: float | None = None, friction: float = 0.8) -> Mechanism:
        """What has been drawn so far."""
        return Mechanism(tuple(self.bodies), tuple(self.joints), floor, friction)

    # --- bodies

    def box(self, name: str, mass: float, center: Point, size: Point, collides: bool = False) -> str:
        """A box along the axes of the world."""
        self.bodies.append(Body(name, mass, tuple(center), shape=coal.Box(*size), collides=collides))
        return name

    def ball(self, name: str, mass: float, center: Point, radius: float, collides: bool = False) -> str:
        """A ball."""
        self.bodies.append(Body(name, mass, tuple(center), shape=coal.Sphere(radius), collides=collides))
        return name

    def rod(
        self, name: str, mass: float, start: Point, end: Point, radius: float = 0.02, collides: bool = False
    ) -> str:
        """A capsule from start to end."""
        start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
        length = float(np.linalg.norm(end - start))
        turn = pinocchio.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), end - start)
        shape = coal.Capsule(radius, length)
        self.bodies.append(
            Body(name, mass, tuple((start + end) / 2), tuple(turn.coeffs()), shape=shape, collides=collides)
        )
        return name

    # --- joints

    def joint(
        self,
        name: str,
        kind: str,
        body_1: str | None,
        body_2: str,
        point: Point,
        axis: Point = (0.0, 0.0, 1.0),
        second_axis: Point | None = None,
        driven: bool = False,
    ) -> None:
        """A joint; if driven, with the servo of the sketch."""
        second = None if second_axis is None else tuple(second_axis)
        servo = self.servo if driven else None
        self.joints.append(Joint(name, kind, body_1, body_2, tuple(point), tuple(axis), second, servo))

    def weld(self, body: str) -> None:
        """Holds a body to the world."""
        position = next(part.position for part in self.bodies if part.name == body)
        self.joint(f"{body}_weld", "weld", None, body, position)

    def link(
        self,
        name: str,
        parent: str | None,
        mass: float,
        start: Point,
        end: Point,
        axis: Point,
        driven: bool = True,
        radius: float = 0.02,
        collides: bool = False,
    ) -> str:
        """A rod, hinged to its parent at its start."""
        self.rod(name, mass, start, end, radius, collides)
        self.joint(f"{name}_hinge", "hinge", parent, name, start, axis, driven=driven)
        return name

    def block(
        self,
        name: str,
        parent: str | None,
        mass: float,
        pivot: Point,
        axis: Point,
        center: Point,
        size: Point,
        driven: bool = True,
        collides: bool = True,
    ) -> str:
        """A box, hinged to its parent at the pivot."""
        self.box(name, mass, center, size, collides)
        self.joint(f"{name}_hinge", "hinge", parent, name, pivot, axis, driven=driven)
        return name

    # --- loops

    def second_hinge(self, body: str, parent: str, pivot: Point, axis: Point, distance: float) -> None:
        """The other half of a fork: a hinge on the axis of one that is there. All five of its rows are redundant."""
        axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
        self.joint(f"{body}_fork", "hinge", parent, body, np.asarray(pivot) + distance * axis, axis)

    def drive(
        self,
        output: str,
        parent: str,
        pivot: Point,
        axis: Point,
        lever: Point,
        base: Point,
        kind: str = "planar",
        crank_mass: float = 0.1,
        rod_mass: float = 0.1,
        cross_mass: float = 0.01,
        all_driven: bool = False,
    ) -> None:
        """Turns `output`, which a passive hinge at `pivot` holds to `parent`, by a crank on the parent and a rod.

        planar     a four-bar: three more hinges, all along the axis. Three rows of its loop are redundant.
        universal  the crank turns about another axis; a point joint at its end, a universal joint at the other end of
                   the rod. No row is redundant.
        cross      the same with the cross of the universal joint as a body of its own, between two hinges.

        lever is the vector from the pivot to the rod's end on the output, base that to the pivot of the crank. Both
        should be at right angles to the axis, and to each other. The crank is longer than the lever: the output may
        turn all the way round, while the crank goes to and fro, so that a heavy output never comes to a dead point
        at which a light crank would have to take all of its energy.
        """
        pivot, axis, lever, base = (np.asarray(x, dtype=float) for x in (pivot, axis, lever, base))
        axis = axis / np.linalg.norm(axis)
        center, crank_axis = pivot + base, axis
        if kind != "planar":
            center = center + 0.5 * np.linalg.norm(lever) * axis
            crank_axis = _turned(axis, lever, 0.3)
        tip, end = center + 1.6 * lever, pivot + lever
        crank = self.rod(f"{output}_crank", crank_mass, center, tip, 0.01)
        rod = self.rod(f"{output}_rod", rod_mass, tip, end, 0.008)
        self.joint(f"{crank}_hinge", "hinge", parent, crank, center, crank_axis, driven=True)
        # About `across` the rod only swings out of the plane a little: it never lies along the output's axis, where a
        # universal joint would let it spin.
        across = np.cross(axis, tip - end)
        across /= np.linalg.norm(across)
        if kind == "planar":
            self.joint(f"{rod}_start", "hinge", crank, rod, tip, axis, driven=all_driven)
            self.joint(f"{rod}_end", "hinge", rod, output, end, axis, driven=all_driven)
        elif kind == "universal":
            self.joint(f"{rod}_start", "point", crank, rod, tip)
            self.joint(f"{rod}_end", "universal", rod, output, end, across, axis)
        elif kind == "cross":
            cross = self.ball(f"{output}_cross", cross_mass, end, 0.01)
            self.joint(f"{rod}_start", "point", crank, rod, tip)
            self.joint(f"{cross}_1", "hinge", rod, cross, end, across)
            self.joint(f"{cross}_2", "hinge", cross, output, end, axis)
        else:
            raise ValueError(f"a drive is planar, universal or cross, not '{kind}'")


def _turned(vector: np.ndarray, about: np.ndarray, angle: float) -> np.ndarray:
    return pinocchio.AngleAxis(angle, about / np.linalg.norm(about)).toRotationMatrix() @ vector
