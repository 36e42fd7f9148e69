"""The cube of [CB, Figs. 11, 12 and 15]: at rest on a floor, dragged along x by a force that grows from 0 to 20 N.

It sticks until the force reaches μ m g and slides from then on, and its four corners never leave the floor: all there
is to see is the contact model. Where it is at a time has a closed form.
"""

from __future__ import annotations

import numpy as np

from .._taut import Scene, Simulator, Trajectory
from ..scenes import make

MASS, SIDE, MU, GRAVITY = 1.0, 0.2, 0.4, 9.81
SECONDS, FORCE = 1.0, 20.0  # the force grows to this in this time
ONSET = MU * MASS * GRAVITY / FORCE * SECONDS  # when it starts to slide, s

# Far above any height the convex model lifts the cube to (μ |v| dt, 50 mm at the coarsest step): its contacts must
# remain, or it would fall and bounce and the error of the model would drown in that of the bouncing.
MARGIN = 0.1

# m/s². A fine step must be solved as finely: errors of 10⁵ steps add up, and RaiSim's model turns them into a yaw that
# grows. At 1e-6 m/s for any dt its finest path would be its worst.
TOLERANCE = 1e-6


def scene() -> Scene:
    return make("sliding_cube", mu=MU, side=SIDE, mass=MASS)


def force(t: np.ndarray) -> np.ndarray:
    return FORCE * t / SECONDS


def drag(world: Scene, sim: Simulator) -> Trajectory:
    """The whole second in one call."""
    count = round(SECONDS / sim.dt)
    taus = np.zeros((count, world.model.nv))
    taus[:, 0] = force(sim.dt * (np.arange(count) + 0.5))  # its mean over a step: the right impulse
    return sim.rollout(world.q0, np.zeros(world.model.nv), taus)


def position(t: np.ndarray) -> np.ndarray:
    """Where Coulomb's law has the cube: F(t)/m - μ g integrated twice from the onset."""
    late = np.maximum(np.asarray(t), ONSET)
    rate = FORCE / SECONDS / MASS
    pulled = rate / 2 * (late**3 / 3 - ONSET**2 * late + 2 * ONSET**3 / 3)
    return pulled - MU * GRAVITY / 2 * (late - ONSET) ** 2


def velocity(t: np.ndarray) -> np.ndarray:
    late = np.maximum(np.asarray(t), ONSET)
    return FORCE / SECONDS / MASS / 2 * (late**2 - ONSET**2) - MU * GRAVITY * (late - ONSET)


def consistency_error(q: np.ndarray, dt: float, reference: np.ndarray, reference_dt: float) -> float:
    """Σ |q - q̄| Δt over a path, with q̄ of a finer step at the same times [CB, Sec. IV-A]; m s."""
    stride = round(dt / reference_dt)
    same_times = reference[::stride]
    count = min(len(q), len(same_times))
    return float(dt * np.linalg.norm(q[:count] - same_times[:count], axis=1).sum())
