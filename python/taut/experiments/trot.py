"""Solo-12 at a trot: feet on given paths, inverse kinematics, and joints held there by PD. It looks at nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import coal
import numpy as np

from .._taut import Scene, Simulator, Step
from ..scenes import make

SPEED, PERIOD, LIFT, HEIGHT = 0.3, 0.4, 0.05, 0.2  # m/s asked for, s, m of a foot in swing, m of the hips
KP, KD = 20.0, 0.5  # N m/rad, N m s/rad
REST, RAMP = 0.2, 0.5  # s: it stands, then its steps grow
LINK = 0.16  # m, upper and lower leg alike
LEGS = ((0.0, -1), (0.5, -1), (0.5, 1), (0.0, 1))  # (phase, bend of the knee) of FL FR HL HR: diagonal feet together


def flat(mu: float) -> Scene:
    return make("solo12", friction=mu)


def bumpy(mu: float, spacing: float = 0.1, tallest: float = 0.03, seed: int = 0) -> Scene:
    """A floor with the tops of spheres looking out of it, one for each square of `spacing`."""
    scene = make("solo12", friction=mu, height=0.02)
    rng = np.random.default_rng(seed)
    radius = 0.1
    for i, x in enumerate(np.arange(-0.4, 1.8, spacing)):
        for j, y in enumerate(np.arange(-0.5, 0.55, spacing)):
            centre = [x, y, 0.0] + rng.uniform(-0.3, 0.3, 3) * [spacing, spacing, 0]
            centre[2] = rng.uniform(0.0, tallest) - radius
            scene.add_shape(f"bump_{i}_{j}", coal.Sphere(radius), position=centre, friction=mu)
    return scene


def targets(q0: np.ndarray, t: float) -> np.ndarray:
    """Joint angles at a time: in stance a foot goes straight back, in swing forward on an arc."""
    share = np.clip((t - REST) / RAMP, 0.0, 1.0)
    stride, lift = share * SPEED * PERIOD / 2, share * LIFT
    q = np.array(q0)
    for i, (offset, bend) in enumerate(LEGS):
        phase = (t / PERIOD + offset) % 1.0
        if phase < 0.5:
            x, z = stride / 2 * (1 - 4 * phase), -HEIGHT
        else:
            swing = np.pi * (2 * phase - 1)
            x, z = -stride / 2 * np.cos(swing), -HEIGHT + lift * np.sin(swing)
        q[7 + 3 * i + 1 : 7 + 3 * i + 3] = _leg(x, z, bend)
    return q


def _leg(x: float, z: float, bend: int) -> tuple[float, float]:
    """Hip and knee that put a foot at (x, z) from the hip: two links of one length."""
    knee = bend * np.arccos(np.clip((x**2 + z**2) / (2 * LINK**2) - 1.0, -1.0, 1.0))
    return np.arctan2(-x, -z) - knee / 2, knee


def walk(
    scene: Scene, solver: str, seconds: float, dt: float = 1e-3, **options: Any
) -> Iterator[tuple[Simulator, Step]]:
    sim = Simulator(scene, dt=dt, solver=solver, **options)
    q, v = np.array(scene.q0), np.zeros(scene.model.nv)
    for k in range(round(seconds / dt)):
        sim.hold(targets(scene.q0, k * dt), KP, KD)
        step = sim.step(q, v)
        if step.report.status == "not_finite":
            return
        q, v = step.q, step.v
        yield sim, step
