"""A mechanism as an MJCF file: its spanning tree as nested bodies, the other joints as equalities."""

from __future__ import annotations

import xml.etree.ElementTree as xml
from collections.abc import Iterable
from typing import TYPE_CHECKING

import coal
import numpy as np
import pinocchio

from .tree import Branch, spanning_tree

if TYPE_CHECKING:
    from .description import Body, Joint, Mechanism

SPREAD = 0.05  # m, from a hinge's point to each of the two connects that stand for it


def write(mechanism: Mechanism, closures: bool) -> str:
    """The text; without closures the loops are open. Nothing is damped and nothing has armature."""
    writer = _Writer(mechanism)
    writer.tree()
    if closures:
        writer.closures()
    writer.contacts()
    xml.indent(writer.root)
    return xml.tostring(writer.root, encoding="unicode") + "\n"


def _text(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)  # every digit: loops are closed as drawn


class _Writer:
    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        self.bodies = {body.name: body for body in mechanism.bodies}
        self.placements = {body.name: _placement(body) for body in mechanism.bodies}
        self.plan = spanning_tree(mechanism)
        self.root = xml.Element("mujoco", model="mechanism")
        xml.SubElement(self.root, "compiler", angle="radian", autolimits="true")
        self.world = xml.SubElement(self.root, "worldbody")
        self.contact = xml.SubElement(self.root, "contact")
        self.equality = xml.SubElement(self.root, "equality")
        self.actuator = xml.SubElement(self.root, "actuator")
        self.friction = _text((mechanism.friction, 0.005, 0.0001))  # the last two are MJCF's defaults

    def tree(self) -> None:
        if self.mechanism.floor is not None:
            height = _text((0.0, 0.0, self.mechanism.floor))
            xml.SubElement(
                self.world, "geom", name="floor", type="plane", size="0 0 1", pos=height, friction=self.friction
            )
        elements: dict[str | None, xml.Element] = {None: self.world}
        for branch in self.plan.branches:
            elements[branch.body] = self.body(elements[branch.parent], branch)

    def body(self, parent: xml.Element, branch: Branch) -> xml.Element:
        body, oMb = self.bodies[branch.body], self.placements[branch.body]
        pMb = oMb if branch.parent is None else self.placements[branch.parent].actInv(oMb)
        quaternion = pinocchio.Quaternion(pMb.rotation).coeffs()  # x y z w
        element = xml.SubElement(
            parent, "body", name=body.name, pos=_text(pMb.translation), quat=_text(quaternion[[3, 0, 1, 2]])
        )
        if branch.joint is None:
            xml.SubElement(element, "freejoint")
        else:
            self.joint(element, branch.joint, oMb, reverse=branch.joint.body_1 == branch.body)
        I = body.moment()  # noqa: E741
        moments = _text((I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))
        xml.SubElement(element, "inertial", pos="0 0 0", mass=_text((body.mass,)), fullinertia=moments)
        if body.touches():
            kind, size = _geom(body)
            xml.SubElement(element, "geom", name=body.name, type=kind, size=_text(size), friction=self.friction)
        return element

    def joint(self, element: xml.Element, joint: Joint, oMb: pinocchio.SE3, reverse: bool) -> None:
        """Joints in MJCF's order, from the parent to the body. Hung the other way round, an axis points the other
        way too, so that the coordinate stays that of body_2 seen from body_1."""
        steps = {
            "weld": [],
            "point": [("ball", joint.axis)],
            "hinge": [("hinge", joint.axis)],
            "slider": [("slide", joint.axis)],
            "cylindrical": [("slide", joint.axis), ("hinge", joint.axis)],
            "universal": [("hinge", joint.axis), ("hinge", joint.second_axis)],
        }[joint.kind]
        names = [joint.name] if len(steps) == 1 else [f"{joint.name}_{i + 1}" for i in range(len(steps))]
        written = list(zip(names, steps, strict=True))
        for name, (kind, axis) in reversed(written) if reverse else written:
            local = oMb.rotation.T @ np.asarray(axis, dtype=float) * (-1.0 if reverse else 1.0)
            attributes = {} if kind == "ball" else {"axis": _text(local)}
            where = _text(oMb.actInv(np.asarray(joint.point, dtype=float)))
            xml.SubElement(element, "joint", name=name, type=kind, pos=where, **attributes)
        if joint.servo is not None:
            kp, kv = joint.servo
            for name in names:
                xml.SubElement(self.actuator, "position", name=name, joint=name, kp=_text((kp,)), kv=_text((kv,)))

    def closures(self) -> None:
        for joint in self.plan.closures:
            if joint.kind in ("point", "weld"):
                self.close(joint, joint.name, "connect" if joint.kind == "point" else "weld", np.zeros(3))
            elif joint.kind == "hinge":
                along = SPREAD * np.asarray(joint.axis, dtype=float) / np.linalg.norm(joint.axis)
                self.close(joint, f"{joint.name}_1", "connect", along)
                self.close(joint, f"{joint.name}_2", "connect", -along)
            else:
                raise ValueError(f"joint '{joint.name}' closes a loop: MJCF has no equality for a {joint.kind}")

    def close(self, joint: Joint, name: str, kind: str, offset: np.ndarray) -> None:
        one, two = (joint.body_2, None) if joint.body_1 is None else (joint.body_1, joint.body_2)
        attributes = {"name": name, "body1": one} | ({} if two is None else {"body2": two})
        # The anchor of a connect is seen from the first body, that of a weld from the second, or from the world.
        seen_from = one if kind == "connect" else two
        point = np.asarray(joint.point, dtype=float) + offset
        anchor = point if seen_from is None else self.placements[seen_from].actInv(point)
        xml.SubElement(self.equality, kind, anchor=_text(anchor), **attributes)

    def contacts(self) -> None:
        touching = {body.name for body in self.mechanism.bodies if body.touches()}
        pairs = dict.fromkeys(tuple(sorted((j.body_1 or "world", j.body_2))) for j in self.mechanism.joints)
        for one, two in pairs:
            if {one, two} <= touching:
                xml.SubElement(self.contact, "exclude", body1=one, body2=two)


def _placement(body: Body) -> pinocchio.SE3:
    quaternion = np.asarray(body.quaternion, dtype=float)
    rotation = pinocchio.Quaternion(quaternion / np.linalg.norm(quaternion)).toRotationMatrix()
    return pinocchio.SE3(rotation, np.asarray(body.position, dtype=float))


def _geom(body: Body) -> tuple[str, tuple[float, ...]]:
    shape = body.shape
    if isinstance(shape, coal.Box):
        return "box", tuple(shape.halfSide)
    if isinstance(shape, coal.Sphere):
        return "sphere", (shape.radius,)
    if isinstance(shape, coal.Capsule):
        return "capsule", (shape.radius, shape.halfLength)
    if isinstance(shape, coal.Cylinder):
        return "cylinder", (shape.radius, shape.halfLength)
    raise ValueError(f"body '{body.name}': MJCF has no geom for a {type(shape).__name__}")
