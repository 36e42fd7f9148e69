"""The three robots of [CB, Fig. 8], each in a situation that keeps its contacts busy.

Solo-12 and Talos stand, held by PD, and are pushed at their base; a ball is dropped into the Allegro hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import coal
import numpy as np
import pinocchio

from .._taut import Scene, Simulator, Step
from ..scenes import make

PUSH_FROM, PUSH_UNTIL = 0.2, 0.4  # s: the robot has settled, and has time to come back


@dataclass(frozen=True)
class System:
    """A scene, how it is held, and what pushes it."""

    name: str
    scene: Scene
    kp: Any  # N m/rad, a number or (nv,)
    kd: Any
    seconds: float
    push: np.ndarray = field(default_factory=lambda: np.zeros(3))  # N, world axes, on the base

    def held(self, solver: str, dt: float = 1e-3, **options: Any) -> Simulator:
        sim = Simulator(self.scene, dt=dt, solver=solver, **options)
        sim.hold(self.scene.q0, self.kp, self.kd)
        return sim

    def run(self, sim: Simulator, seconds: float | None = None) -> Iterator[Step]:
        q, v = np.array(self.scene.q0), np.zeros(self.scene.model.nv)
        for k in range(round((seconds or self.seconds) / sim.dt)):
            step = sim.step(q, v, fext=self._force(q, k * sim.dt))
            if step.report.status == "not_finite":
                return
            q, v = step.q, step.v
            yield step

    def _force(self, q: np.ndarray, t: float) -> np.ndarray | None:
        if not self.push.any() or not PUSH_FROM <= t < PUSH_UNTIL:
            return None
        wrench = np.zeros((self.scene.model.njoints, 6))
        wrench[1, :3] = pinocchio.XYZQUATToSE3(q[:7]).rotation.T @ self.push
        return wrench


def solo12(friction: float = 0.8) -> System:
    return System(
        "solo12", make("solo12", friction=friction), kp=20.0, kd=0.5, seconds=1.0, push=np.array([0, 10.0, 0])
    )


def talos() -> System:
    return System("talos", make("talos"), kp=2000.0, kd=50.0, seconds=1.0, push=np.array([80.0, 0, 0]))


def allegro() -> System:
    """Palm up, tilted toward the fingers, which are curled: the ball rolls into them and stays."""
    hand = make("allegro")
    q = np.array(hand.q0)
    joints = list(hand.model.names)[1:]
    pose = {f"joint_{finger + link}.0": 0.8 for finger in (0, 4, 8) for link in (1, 2, 3)}
    pose |= {"joint_12.0": 1.0, "joint_13.0": 0.3, "joint_14.0": 0.4, "joint_15.0": 0.4}  # the thumb
    for name, angle in pose.items():
        q[joints.index(name)] = angle
    hand.q0 = q
    scene = Scene()
    turn = -np.radians(110.0)
    scene.add_robot(hand, quaternion=[0, np.sin(turn / 2), 0, np.cos(turn / 2)])
    scene.add_body("ball", coal.Sphere(0.04), 0.05, [-0.045, 0.023, 0.12], friction=0.8)
    kp = np.append(np.full(hand.model.nv, 3.0), np.zeros(6))
    return System("allegro", scene, kp=kp, kd=0.03 * kp, seconds=1.0)


SYSTEMS: dict[str, Callable[[], System]] = {"solo12": solo12, "talos": talos, "allegro": allegro}
