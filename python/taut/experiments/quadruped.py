"""ANYmal as [RS] simulates it: four spheres for feet, a box for the torso, nothing else touches.

A trot for it: feet on given paths below the hips, joints by inverse kinematics, PD. What [RS] used is not told; this
one is ours.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio

from .. import scenes
from .._taut import Scene, _scene_of

LEGS = ("LF", "RF", "LH", "RH")
MU = 0.8  # [RS] does not give its friction
SPEED = 1.5  # m/s, of the trot, as in [RS]; with these gains and this period the robot does run at it, to 1 %
PERIOD = 0.3  # s
LIFT = 0.05  # m
KP, KD = 500.0, 10.0  # N m/rad, N m s/rad


def anymal(torso: bool = True) -> Scene:
    """Feet, and the torso if asked for, above a floor; they do not touch each other."""
    full = scenes.make("anymal")
    kept = pinocchio.GeometryModel()
    names = [f"{leg}_FOOT_0" for leg in LEGS] + ["base_0"] * torso
    for name in names:
        kept.addGeometryObject(full.geometry.geometryObjects[full.geometry.getGeometryId(name)].copy())
    scene = _scene_of(full.model, kept, MU)
    scene.add_floor(friction=MU)
    for i, first in enumerate(names):
        for second in names[:i]:
            if scene.geometry.existCollisionPair(_pair(scene, first, second)):
                scene.disable_pair(first, second)
    scene.q0 = full.q0
    return scene


def _pair(scene: Scene, first: str, second: str) -> pinocchio.CollisionPair:
    ids = sorted(scene.geometry.getGeometryId(name) for name in (first, second))
    return pinocchio.CollisionPair(*ids)


def feet(scene: Scene) -> list[tuple[int, np.ndarray, float]]:
    """(joint, centre in its frame, radius) of each foot."""
    found = []
    for leg in LEGS:
        foot = scene.geometry.geometryObjects[scene.geometry.getGeometryId(f"{leg}_FOOT_0")]
        found.append((foot.parentJoint, np.array(foot.placement.translation), foot.geometry.radius))
    return found


def foot_heights(scene: Scene, data: pinocchio.Data, q: np.ndarray) -> np.ndarray:
    """Of the lowest points of the feet above the floor, m: negative in penetration."""
    pinocchio.forwardKinematics(scene.model, data, q)
    return np.array([data.oMi[joint].act(centre)[2] - radius for joint, centre, radius in feet(scene)])


def trot(scene: Scene, speed: float, samples: int) -> np.ndarray:
    """(samples, nq): joint angles over one period, the base where it starts. Diagonal legs move together."""
    model, q0 = scene.model, np.array(scene.q0)
    data = model.createData()
    pinocchio.forwardKinematics(model, data, q0)
    table = np.tile(q0, (samples, 1))
    for (joint, centre, _), leg in zip(feet(scene), LEGS, strict=True):
        start = data.oMi[joint].act(centre)
        delay = 0.0 if leg in ("LF", "RH") else 0.5
        q = q0.copy()
        for k in range(samples):
            q = _reach(model, q, joint, centre, start + _foot_path((k / samples + delay) % 1.0, speed))
            own = slice(model.idx_qs[joint] - 2, model.idx_qs[joint] + 1)
            table[k, own] = q[own]
    return table


def _foot_path(phase: float, speed: float) -> np.ndarray:
    """Relative to where the foot stands: back over the ground for half a period, then forward through the air."""
    stride = speed * PERIOD / 2
    if phase < 0.5:
        return np.array([stride * (0.5 - 2 * phase), 0.0, 0.0])
    swing = 2 * phase - 1
    return np.array([-stride / 2 * math.cos(math.pi * swing), 0.0, LIFT * math.sin(math.pi * swing)])


def _reach(model: pinocchio.Model, q: np.ndarray, joint: int, centre: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Newton on the three joints of a leg, from the angles of the sample before."""
    data, frame = model.createData(), pinocchio.SE3(np.eye(3), centre)
    columns = slice(model.idx_vs[joint] - 2, model.idx_vs[joint] + 1)
    for _ in range(20):
        pinocchio.computeJointJacobians(model, data, q)
        placement = data.oMi[joint] * frame
        error = target - placement.translation
        if np.abs(error).max() < 1e-9:
            return q
        local = frame.toActionMatrixInverse() @ pinocchio.getJointJacobian(model, data, joint, pinocchio.LOCAL)
        step = np.zeros(model.nv)
        step[columns] = np.linalg.solve((placement.rotation @ local[:3])[:, columns], error)
        q = pinocchio.integrate(model, q, step)
    raise ValueError(f"a foot cannot reach {target.round(3)}")
