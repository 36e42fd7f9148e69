"""The systems of [KL, Table II]: toy problems, robots, and figures full of kinematic loops.

The robots and figures are not public. Those here are stand-ins with the same numbers of bodies, joints, constraints and
driven joints and the same ratio of the largest to the smallest mass. x is ahead, y to the left, z up; SI units.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._taut import Scene
from ..mechanisms import Mechanism, Sketch

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
SIDES = (("left", 1.0), ("right", -1.0))


def _box_on_plane() -> Mechanism:
    """A box at rest on a floor [KL, Table II]."""
    sketch = Sketch()
    sketch.box("box", 1.0, (0, 0, 0.1), (0.2, 0.2, 0.2), collides=True)
    return sketch.mechanism(floor=0.0)


def _boxes_fixed() -> Mechanism:
    """Two boxes welded to each other, one a thousand times as heavy as the other [KL, Table II]."""
    sketch = Sketch()
    sketch.box("light", 1.0, (0, 0, 0.1), (0.2, 0.2, 0.2), collides=True)
    sketch.box("heavy", 1000.0, (0, 0, 0.3), (0.2, 0.2, 0.2), collides=True)
    sketch.joint("weld", "weld", "light", "heavy", (0, 0, 0.2))
    return sketch.mechanism(floor=0.0)


def _nunchuk() -> Mechanism:
    """Two sticks and a bar between them on ball joints, dropped [KL, Table II]."""
    sketch = Sketch()
    sketch.rod("left", 1.0, (-0.45, 0, 0.4), (-0.1, 0.05, 0.6), collides=True)
    sketch.rod("bar", 1.0, (-0.1, 0.05, 0.6), (0.1, 0, 0.6), collides=True)
    sketch.rod("right", 1.0, (0.1, 0, 0.6), (0.4, -0.05, 0.3), collides=True)
    sketch.joint("left_ball", "point", "left", "bar", (-0.1, 0.05, 0.6))
    sketch.joint("right_ball", "point", "bar", "right", (0.1, 0, 0.6))
    return sketch.mechanism(floor=0.0)


def _fourbar(height: float, collides: bool) -> Sketch:
    """Sides of 0.4, 0.2, 0.45 and 0.35 m: no configuration in which all of them lie on one line."""
    ground, tip = np.array([0.0, 0.0, height]), np.array([0.0, 0.0, height + 0.2])
    other = np.array([0.4, 0.0, height])
    # Where circles about the tip (0.45) and about the other end of the ground (0.35) meet above.
    apart = float(np.linalg.norm(other - tip))
    along = (0.45**2 - 0.35**2 + apart**2) / (2 * apart)
    ahead = (other - tip) / apart
    corner = tip + along * ahead + np.sqrt(0.45**2 - along**2) * np.cross(ahead, Y)
    sketch = Sketch()
    sketch.rod("ground", 1.0, ground, other, collides=collides)
    sketch.rod("crank", 1.0, ground, tip, collides=collides)
    sketch.rod("coupler", 1.0, tip, corner, collides=collides)
    sketch.rod("rocker", 1.0, corner, other, collides=collides)
    sketch.joint("crank_hinge", "hinge", "ground", "crank", ground, Y, driven=True)
    sketch.joint("coupler_start", "hinge", "crank", "coupler", tip, Y)
    sketch.joint("coupler_end", "hinge", "coupler", "rocker", corner, Y)
    sketch.joint("rocker_hinge", "hinge", "rocker", "ground", other, Y)
    return sketch


def _fourbar_fixed() -> Mechanism:
    """A four-bar on a base welded to the world, one hinge driven [KL, Table II]."""
    sketch = _fourbar(1.0, collides=False)
    sketch.weld("ground")
    return sketch.mechanism()


def _fourbar_free() -> Mechanism:
    """A four-bar standing on a floor, one hinge driven [KL, Table II]."""
    return _fourbar(0.02, collides=True).mechanism(floor=0.0)


def _arm7d() -> Mechanism:
    """An arm of seven driven hinges on a base welded to the world: the numbers of [KL, Table II]."""
    light = 0.25
    sketch = Sketch(servo=(400.0, 20.0))
    body = sketch.box("base", 19.54 * light, (0, 0, 0.05), (0.2, 0.2, 0.1))
    sketch.weld("base")
    points = [
        (0, 0, 0.1),
        (0, 0, 0.25),
        (0.1, 0, 0.45),
        (0.2, 0, 0.6),
        (0.35, 0, 0.65),
        (0.45, 0, 0.6),
        (0.52, 0, 0.55),
    ]
    ends = [*points[1:], (0.6, 0, 0.5)]
    for i, (start, end) in enumerate(zip(points, ends, strict=True)):
        mass = (4.0, 3.5, 3.0, 2.5, 1.5, 1.0, light)[i]
        axis = (Z, Y, Z, Y, Z, Y, X)[i]
        body = sketch.link(f"link_{i + 1}", body, mass, start, end, axis, radius=0.04 - 0.003 * i)
    return sketch.mechanism()


def _kl_quadruped() -> Mechanism:
    """A quadruped of twelve driven hinges on a floor: the numbers of [KL, Table II]."""
    light = 0.25
    sketch = Sketch(servo=(200.0, 5.0))
    base = sketch.box("base", 29.07 * light, (0, 0, 0.45), (0.5, 0.2, 0.12), collides=True)
    for end, x in (("front", 0.2), ("hind", -0.2)):
        for side, y in SIDES:
            leg = f"{end}_{side}"
            hip = sketch.link(f"{leg}_hip", base, 0.7, (x, 0.13 * y, 0.45), (x, 0.2 * y, 0.45), X, radius=0.03)
            thigh = sketch.link(f"{leg}_thigh", hip, 1.0, (x, 0.2 * y, 0.45), (x - 0.1, 0.2 * y, 0.23), Y)
            foot = (x, 0.2 * y, 0.02)
            sketch.link(f"{leg}_shank", thigh, light, (x - 0.1, 0.2 * y, 0.23), foot, Y, collides=True)
    return sketch.mechanism(floor=0.0)


def _leg(sketch: Sketch, base: str, side: str, y: float, hip: float, light: float, ankle_roll: bool) -> None:
    """Yaw, roll and pitch of the hip at height `hip`, knee, ankle, and a foot that rests on the floor."""
    at = np.array([0.0, y, hip])
    knee, ankle = np.array([0.05, y, 0.09 + (hip - 0.2) / 2]), np.array([0.0, y, 0.09])
    yaw = sketch.link(f"{side}_hip_yaw", base, 0.6, at, at - (0, 0, 0.05), Z, radius=0.03)
    roll = sketch.link(f"{side}_hip_roll", yaw, 0.6, at - (0, 0, 0.05), at - (0, 0, 0.1), X, radius=0.03)
    thigh = sketch.link(f"{side}_thigh", roll, 1.2, at - (0, 0, 0.1), knee, Y)
    shank = sketch.link(f"{side}_shank", thigh, 0.8, knee, ankle, Y)
    if ankle_roll:
        shank = sketch.link(f"{side}_ankle", shank, light, ankle, ankle - (0, 0, 0.04), Y)
        ankle = ankle - (0, 0, 0.04)
    sketch.block(f"{side}_foot", shank, 0.4, ankle, X if ankle_roll else Y, (0.02, y, 0.015), (0.2, 0.08, 0.03))


def _bdx() -> Mechanism:
    """A biped with a long neck, fourteen driven hinges: stand-in for a system that is not public.

    Same numbers of bodies, joints, constraints and mass ratio as [KL, Table II].
    """
    light = 0.15
    sketch = Sketch(servo=(200.0, 5.0))
    torso = sketch.box("torso", 42.49 * light, (0, 0, 0.6), (0.2, 0.2, 0.2), collides=True)
    for side, y in SIDES:
        _leg(sketch, torso, side, 0.08 * y, 0.48, light, ankle_roll=False)
    neck = sketch.link("neck", torso, 0.4, (0.05, 0, 0.7), (0.12, 0, 0.85), Y)
    pitch = sketch.link("head_pitch", neck, 0.3, (0.12, 0, 0.85), (0.12, 0, 0.9), Y)
    head = sketch.block("head", pitch, 0.8, (0.12, 0, 0.9), Z, (0.14, 0, 0.97), (0.16, 0.12, 0.1))
    sketch.link("antenna", head, light, (0.1, 0, 1.02), (0.1, 0, 1.1), X, radius=0.01)
    return sketch.mechanism(floor=0.0)


def _lima() -> Mechanism:
    """A small humanoid, twenty driven hinges: stand-in for a system that is not public.

    Same numbers of bodies, joints, constraints and mass ratio as [KL, Table II].
    """
    light = 0.03
    sketch = Sketch(servo=(300.0, 5.0))
    torso = sketch.box("torso", 321.39 * light, (0, 0, 0.75), (0.2, 0.26, 0.3), collides=True)
    for side, y in SIDES:
        _leg(sketch, torso, side, 0.09 * y, 0.58, light, ankle_roll=True)
        shoulder = np.array([0.0, 0.16 * y, 0.85])
        pitch = sketch.link(f"{side}_shoulder", torso, 0.3, shoulder, shoulder + (0, 0.05 * y, 0), Y)
        elbow = shoulder + (0.02, 0.1 * y, -0.2)
        upper = sketch.link(f"{side}_upper_arm", pitch, 0.6, shoulder + (0, 0.05 * y, 0), elbow, X)
        sketch.link(f"{side}_forearm", upper, 0.4, elbow, elbow + (0.15, 0, -0.1), Y, collides=True)
    neck = sketch.link("neck", torso, 0.2, (0, 0, 0.9), (0.02, 0, 0.97), Z)
    sketch.block("head", neck, 0.9, (0.02, 0, 0.97), Y, (0.03, 0, 1.05), (0.15, 0.13, 0.14))
    return sketch.mechanism(floor=0.0)


def _misha() -> Mechanism:
    """A seated figure with four-bars at the elbows, every hinge driven: stand-in for a system that is not public.

    Same numbers of bodies, joints, constraints and mass ratio as [KL, Table II]; all four hinges of a four-bar are
    driven, since the table has no passive ones.
    """
    light = 0.1
    sketch = Sketch(servo=(300.0, 10.0))
    base = sketch.box("base", 6.0, (0, 0, 0.1), (0.3, 0.3, 0.2))
    sketch.weld("base")
    waist = sketch.link("waist", base, 1.0, (0, 0, 0.2), (0, 0, 0.3), Z, radius=0.05)
    torso = sketch.block("torso", waist, 90.67 * light, (0, 0, 0.3), Y, (0, 0, 0.5), (0.2, 0.3, 0.35))
    for side, y in SIDES:
        shoulder = np.array([0.0, 0.18 * y, 0.6])
        yaw = sketch.link(f"{side}_shoulder_yaw", torso, 0.4, shoulder, shoulder + (0, 0.05 * y, 0), Z)
        pitch = sketch.link(
            f"{side}_shoulder_pitch", yaw, 0.4, shoulder + (0, 0.05 * y, 0), shoulder + (0, 0.1 * y, 0), Y
        )
        elbow = shoulder + (0.05, 0.12 * y, -0.25)
        upper = sketch.link(f"{side}_upper_arm", pitch, 1.0, shoulder + (0, 0.1 * y, 0), elbow, X)
        forearm = sketch.link(f"{side}_forearm", upper, 0.7, elbow, elbow + (0.2, 0, 0.05), Y)
        sketch.drive(forearm, upper, elbow, Y, (-0.04, 0, 0), (0, 0, 0.15), all_driven=True)
        hand = elbow + (0.25, 0, 0.05)
        sketch.block(f"{side}_hand", forearm, 0.3, elbow + (0.2, 0, 0.05), X, hand, (0.08, 0.06, 0.03))
    neck = sketch.link("neck", torso, 0.3, (0, 0, 0.7), (0.02, 0, 0.78), Y)
    pan = sketch.link("head_pan", neck, 0.2, (0.02, 0, 0.78), (0.02, 0, 0.82), Z)
    head = sketch.block("head", pan, 1.2, (0.02, 0, 0.82), Y, (0.05, 0, 0.92), (0.18, 0.15, 0.16))
    sketch.link("jaw", head, light, (0.08, 0, 0.86), (0.16, 0, 0.83), Y)
    sketch.link("tail", base, 0.3, (-0.15, 0, 0.1), (-0.4, 0, 0.15), Y)
    return sketch.mechanism()


def _walker() -> Mechanism:
    """A humanoid with four-bars at knees and neck, hips and waist in forks: stand-in for a system that is not public.

    Same numbers of bodies, joints, constraints and mass ratio as [KL, Table II].
    """
    light = 0.1
    sketch = Sketch(servo=(400.0, 10.0))
    pelvis = sketch.box("pelvis", 5.0, (0, 0, 0.8), (0.18, 0.12, 0.1), collides=True)
    for side, y in SIDES:
        hip = np.array([0.0, 0.1 * y, 0.8])
        pitch = sketch.link(f"{side}_hip_pitch", pelvis, 0.8, hip, hip - (0, 0, 0.08), Y, radius=0.03)
        sketch.second_hinge(pitch, pelvis, hip, Y, 0.05 * y)
        knee, ankle = np.array([0.05, 0.1 * y, 0.42]), np.array([0.0, 0.1 * y, 0.1])
        thigh = sketch.link(f"{side}_thigh", pitch, 2.0, hip - (0, 0, 0.08), knee, X, radius=0.03)
        shank = sketch.link(f"{side}_shank", thigh, 1.2, knee, ankle, Y, driven=False, radius=0.03)
        sketch.drive(shank, thigh, knee, Y, (-0.05, 0, 0), (0, 0, 0.2), crank_mass=0.2, rod_mass=0.15)
        joint = sketch.link(f"{side}_ankle", shank, 0.2, ankle, ankle - (0, 0, 0.04), Y)
        sketch.block(f"{side}_foot", joint, 0.6, ankle - (0, 0, 0.04), X, (0.03, 0.1 * y, 0.015), (0.24, 0.1, 0.03))
    torso = sketch.box("torso", 99.55 * light, (0, 0, 1.1), (0.2, 0.28, 0.36), collides=True)
    sketch.joint("torso_hinge", "hinge", pelvis, torso, (0, -0.04, 0.87), Y, driven=True)
    sketch.second_hinge(torso, pelvis, (0, -0.04, 0.87), Y, 0.08)
    for side, y in SIDES:
        shoulder = np.array([0.0, 0.17 * y, 1.22])
        elbow = shoulder + (0.03, 0.08 * y, -0.25)
        pitch = sketch.link(f"{side}_shoulder", torso, 0.5, shoulder, shoulder + (0, 0.06 * y, 0), Y)
        upper = sketch.link(f"{side}_upper_arm", pitch, 1.0, shoulder + (0, 0.06 * y, 0), elbow, X)
        wrist = elbow + (0.18, 0, -0.1)
        forearm = sketch.link(f"{side}_forearm", upper, 0.7, elbow, wrist, Y)
        turn = sketch.link(f"{side}_wrist", forearm, light, wrist, wrist + (0.03, 0, 0), X)
        hand = wrist + (0.03, 0, 0)
        sketch.block(f"{side}_hand", turn, 0.3, hand, Y, hand + (0.06, 0, 0), (0.1, 0.06, 0.03))
    neck = sketch.link("neck", torso, 0.4, (0, 0, 1.28), (0.03, 0, 1.4), Y, driven=False)
    sketch.drive(neck, torso, (0, 0, 1.28), Y, (-0.04, 0, 0), (0, 0, -0.12))
    pan = sketch.link("head_pan", neck, 0.2, (0.03, 0, 1.4), (0.03, 0, 1.44), Z)
    sketch.block("head", pan, 1.5, (0.03, 0, 1.44), Y, (0.05, 0, 1.54), (0.18, 0.15, 0.18))
    return sketch.mechanism(floor=0.0)


def _gazelle() -> Mechanism:
    """A mounted animal, its hips and jaw driven by rods in space: stand-in for a system that is not public.

    Same numbers of bodies, joints, constraints and mass ratio as [KL, Table II].
    """
    light = 0.01  # the crosses of the universal joints
    sketch = Sketch(servo=(300.0, 10.0))
    trunk = sketch.box("trunk", 1012.54 * light, (0, 0, 1.0), (0.7, 0.2, 0.25))
    sketch.weld("trunk")
    for end, x, kind in (("front", 0.28, "universal"), ("hind", -0.28, "cross")):
        for side, y in SIDES:
            leg = f"{end}_{side}"
            hip, knee = np.array([x, 0.13 * y, 0.9]), np.array([x - 0.05, 0.13 * y, 0.6])
            upper = sketch.link(f"{leg}_upper", trunk, 1.0, hip, knee, Y, driven=False)
            sketch.drive(upper, trunk, hip, Y, (-0.05, 0, 0), (0, 0, 0.18), kind, 0.15, 0.1, light)
            fetlock = knee + (0.04, 0, -0.28)
            lower = sketch.link(f"{leg}_lower", upper, 0.5, knee, fetlock, Y)
            sketch.block(f"{leg}_hoof", lower, 0.2, fetlock, Y, fetlock + (0.02, 0, -0.05), (0.06, 0.04, 0.06))
    withers = np.array([0.36, 0.0, 1.1])
    neck = sketch.link("neck", trunk, 1.0, withers, withers + (0.1, 0, 0.2), Y, driven=False, radius=0.04)
    sketch.drive(neck, trunk, withers, Y, (0, 0, 0.06), (-0.2, 0, 0), crank_mass=0.15)
    bend = sketch.link("neck_bend", neck, 0.6, withers + (0.1, 0, 0.2), withers + (0.17, 0, 0.35), X)
    pan = sketch.link("head_pan", bend, 0.2, withers + (0.17, 0, 0.35), withers + (0.18, 0, 0.39), Z)
    tilt = sketch.link("head_tilt", pan, 0.2, withers + (0.18, 0, 0.39), withers + (0.2, 0, 0.42), X)
    nod = withers + (0.2, -0.03, 0.42)
    head = sketch.block("head", tilt, 0.8, nod, Y, nod + (0.08, 0.03, 0.03), (0.22, 0.1, 0.1))
    sketch.second_hinge(head, tilt, nod, Y, 0.06)
    hinge = nod + (0.06, 0.03, -0.03)
    jaw = sketch.link("jaw", head, 0.1, hinge, hinge + (0.12, 0, -0.03), Y, driven=False, radius=0.015)
    sketch.drive(jaw, head, hinge, Y, (0, 0, -0.025), (-0.07, 0, 0), "cross", 0.03, 0.02, light)
    for side, y in SIDES:
        root = nod + (0.0, 0.03 + 0.04 * y, 0.08)
        sketch.link(f"{side}_ear", head, 0.05, root, root + (-0.02, 0.03 * y, 0.08), X, radius=0.01)
    tail = sketch.link("tail", trunk, 0.15, (-0.35, 0, 1.1), (-0.42, 0, 1.0), Y)
    sketch.link("tail_tip", tail, 0.1, (-0.42, 0, 1.0), (-0.45, 0, 0.88), X)
    return sketch.mechanism()


def _ironman() -> Mechanism:
    """The upper half of a figure in armour, thirteen spatial linkages: stand-in for a system that is not public.

    Same numbers of bodies, joints, constraints and mass ratio as [KL, Table II].
    """
    light = 0.0015  # the crosses of the universal joints
    sketch = Sketch(servo=(1000.0, 30.0))
    pelvis = sketch.box("pelvis", 15.0, (0, 0, 1.0), (0.25, 0.35, 0.2))
    sketch.weld("pelvis")
    yaw = sketch.link("waist_yaw", pelvis, 3.0, (0, 0, 1.1), (0, 0, 1.2), Z, radius=0.06)

    def driven(name, parent, mass, start, end, axis, lever, base, kind, radius=0.03):
        """A rod that a linkage turns; cranks and rods weigh a share of what they move."""
        sketch.link(name, parent, mass, start, end, axis, driven=False, radius=radius)
        sketch.drive(name, parent, start, axis, lever, base, kind, 0.1 * mass, 0.05 * mass, light)
        return name

    roll = driven("waist_roll", yaw, 3.0, (0, 0, 1.2), (0, 0, 1.28), X, (0, 0.08, 0), (0, 0, -0.15), "cross", 0.06)
    torso = sketch.box("torso", 25544.44 * light, (0, 0, 1.55), (0.3, 0.4, 0.45), collides=True)
    sketch.joint("torso_hinge", "hinge", roll, torso, (0, 0, 1.28), Y)
    sketch.drive(torso, roll, (0, 0, 1.28), Y, (-0.08, 0, 0), (0, 0, -0.2), "cross", 0.8, 0.5, light)
    for side, y in SIDES:
        shoulder = np.array([0.0, 0.25 * y, 1.7])
        joint, elbow = shoulder + (0, 0.08 * y, 0), shoulder + (0.05, 0.15 * y, -0.3)
        wrist = elbow + (0.2, 0, -0.15)
        lever, up = (-0.05, 0, 0), (0, 0, 0.15)
        pitch = driven(f"{side}_shoulder", torso, 1.5, shoulder, joint, Y, lever, up, "cross")
        upper = driven(f"{side}_upper_arm", pitch, 2.5, joint, elbow, X, (0, 0, 0.05), (0, -0.12 * y, 0), "universal")
        forearm = driven(f"{side}_forearm", upper, 1.5, elbow, wrist, Y, lever, up, "cross")
        back = (-0.12, 0, 0.09)
        palm = driven(
            f"{side}_palm", forearm, 0.5, wrist, wrist + (0.08, 0, -0.06), Y, (0.024, 0, 0.032), back, "universal"
        )
        tip = wrist + (0.08, 0, -0.06)
        sketch.block(f"{side}_hand", palm, 0.4, tip, Z, tip + (0.06, 0, -0.02), (0.1, 0.08, 0.04))
    top = np.array([0.0, 0.0, 1.78])
    neck = driven("neck", torso, 1.0, top, top + (0, 0, 0.08), Y, (-0.04, 0, 0), (0, 0, -0.15), "cross")
    tilt = driven(
        "head_tilt", neck, 0.6, top + (0, 0, 0.08), top + (0, 0, 0.12), X, (0, 0.03, 0), (0, 0, -0.1), "universal"
    )
    # Without limits the neck would fall over and wedge the head into the torso: it passes through.
    head = sketch.block(
        "head", tilt, 3.0, top + (0, 0, 0.12), Z, top + (0.03, 0, 0.27), (0.2, 0.17, 0.26), collides=False
    )
    hinge = top + (0.05, 0, 0.18)
    driven("jaw", head, 0.2, hinge, hinge + (0.08, 0, -0.02), Y, (0, 0, -0.025), (-0.08, 0, 0), "universal", 0.02)
    for side, y in SIDES:
        eye = top + (0.1, 0.04 * y, 0.3)
        sketch.link(f"{side}_eye", head, 0.05, eye, eye + (0.02, 0, 0), Z, radius=0.015)
    brow = top + (0.05, 0, 0.4)
    sketch.link("visor", head, 0.3, brow, brow + (0.1, 0, -0.05), Y)
    return sketch.mechanism()


# By the names of the scenes, in the order of Table II.
MECHANISMS: dict[str, Callable[[], Mechanism]] = {
    drawing.__name__.removeprefix("_"): drawing
    for drawing in (
        _box_on_plane,
        _boxes_fixed,
        _nunchuk,
        _fourbar_fixed,
        _fourbar_free,
        _arm7d,
        _kl_quadruped,
        _bdx,
        _lima,
        _misha,
        _walker,
        _gazelle,
        _ironman,
    )
}


def mechanism(name: str) -> Mechanism:
    """The mechanism behind a scene, to be changed or written as MJCF."""
    try:
        return MECHANISMS[name]()
    except KeyError:
        raise ValueError(f"no mechanism is named '{name}'; there are {', '.join(MECHANISMS)}") from None


def _maker(drawing: Callable[[], Mechanism]) -> Callable[..., Scene]:
    def make(coordinates: str = "maximal") -> Scene:
        return drawing().scene(coordinates)

    make.__doc__ = drawing.__doc__
    return make


MAKERS = {name: _maker(drawing) for name, drawing in MECHANISMS.items()}
