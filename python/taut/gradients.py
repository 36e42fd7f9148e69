"""Gradients of a step held against differences of it: what `taut check-gradient` and the tests do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio

from ._taut import Simulator, State

BLOCKS = ("dq_dq", "dq_dv", "dq_dtau", "dv_dq", "dv_dv", "dv_dtau")
# Steps of the differences: dv_dq grows with 1/dt, so that q moves little; torques, which enter linearly, may move more.
STEPS = {"q": 2e-7, "v": 3e-6, "tau": 1e-5}


def free_directions(sim: Simulator, q: np.ndarray) -> np.ndarray:
    """A basis (nv, k) of the motions that leave loops closed: all of them, without loops."""
    nv = sim.scene.model.nv
    if not sim.scene.loops and not sim.scene.couplings:
        return np.eye(nv)
    _, sizes, ways = np.linalg.svd(sim.scene.loop_jacobian(q))
    rank = int(np.sum(sizes > 1e-9 * sizes[0]))
    return ways[rank:].T


def differences(
    sim: Simulator,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    state: State,
    factor: float = 1.0,
    ways: np.ndarray | None = None,
):
    """Central differences of a step from (q, v, tau), each from the same memory `state`: a dictionary by block.

    q and v move along the columns of `ways`, all coordinates if there are none: redundant loops that are pulled open
    contradict each other.
    """
    model = sim.scene.model
    if ways is None:
        ways = np.eye(model.nv)
    along = {"q": ways, "v": ways, "tau": np.eye(model.nv)}
    found = {name: np.zeros((model.nv, along[name.split("_d")[1]].shape[1])) for name in BLOCKS}

    def step(q, v, tau):
        sim.restore(state)
        return sim.step(q, v, tau)

    for what, h in STEPS.items():
        h *= factor
        if what == "q" and ways.shape[1] < model.nv:
            h *= 20  # along what loops leave free nothing grows with 1/dt, and the solver's rounding weighs more
        for k, way in enumerate(along[what].T):
            ends = []
            for side in (h * way, -h * way):
                if what == "q":
                    ends.append(step(pinocchio.integrate(model, q, side), v, tau))
                elif what == "v":
                    ends.append(step(q, v + side, tau))
                else:
                    ends.append(step(q, v, tau + side))
            ahead, behind = ends
            found[f"dq_d{what}"][:, k] = pinocchio.difference(model, behind.q, ahead.q) / (2 * h)
            found[f"dv_d{what}"][:, k] = (ahead.v - behind.v) / (2 * h)
    return found


def reachable_states(
    sim: Simulator, rng: np.random.Generator, torque: float = 0.5, push: float = 2e-4, kick: float = 0.05
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, State]]:
    """States of a run with random torques, each pushed a little, with the memory it is stepped from.

    A body at rest touches without gap or penetration and stands at a kink (docs/theory.md): the push takes it off.
    """
    model = sim.scene.model
    while True:
        sim.reset()
        q = sim.scene.q0.copy()
        ways = free_directions(sim, q)
        v = 0.1 * ways @ rng.normal(size=ways.shape[1])
        for k in range(400):
            tau = torque * rng.normal(size=model.nv)
            state = sim.state()
            if k % 5 == 0:
                ways = free_directions(sim, q)
                pushed = pinocchio.integrate(model, q, push * ways @ rng.normal(size=ways.shape[1]))
                yield pushed, v + kick * ways @ rng.normal(size=ways.shape[1]), tau, state
            sim.restore(state)
            done = sim.step(q, v, tau)
            if not np.isfinite(done.q).all():
                break
            q, v = done.q, done.v


@dataclass
class Comparison:
    """Errors of analytic gradients against differences, relative to the largest entry of each block."""

    errors: list[dict[str, float]] = field(default_factory=list)
    modes: list[Counter] = field(default_factory=list)  # of each state that was compared
    seen: int = 0
    near: int = 0  # left out: a mode or a bias changes within `distance`
    ambiguous: int = 0  # several velocities solve the step
    kinks: int = 0  # two differences disagree: a feature of collision changes
    unsolved: int = 0
    again: int = 0  # loops were closed in further rounds

    @property
    def counted(self) -> Counter:
        return sum(self.modes, Counter())

    def worst(self, block: str) -> float:
        return max((errors[block] for errors in self.errors), default=0.0)


def kinds(sim: Simulator) -> list[str]:
    """What each block of the last step's problem is."""
    names = {"cone": "contact", "positive": "limit", "interval": "dry friction", "free": "loop"}
    return [names[kind] for kind in sim.problem().kinds]


def compare(
    sim: Simulator, states: int, rng: np.random.Generator, distance: float = 5e-3, advance: Any = None, **options: Any
) -> Comparison:
    """Compares `states` reachable states of a simulator, which should solve to 1e-12.

    States closer than `distance` (m/s) to a switch are left out, as the certificate tells; so are those where
    differences with two steps disagree. From the two of them the error of second order is taken out. torque, push and
    kick go to `reachable_states`, other options to `sim.jacobian`.
    """
    sampling = {name: options.pop(name) for name in ("torque", "push", "kick") if name in options}
    found = Comparison()
    for q, v, tau, state in reachable_states(sim, rng, **sampling):
        if len(found.errors) >= states or found.seen >= 40 * states:
            break
        found.seen += 1
        sim.restore(state)
        done = sim.step(q, v, tau)
        jacobian = sim.jacobian(**options)
        certificate = jacobian.certificate
        if done.report.residuals.natural > 1e-9:
            found.unsolved += 1
        elif not certificate.unique:
            found.ambiguous += 1
        elif certificate.nearest < distance:
            found.near += 1
        elif certificate.loops_put_back:
            found.again += 1
        else:
            modes = Counter(f"{kind} {mode}" for kind, mode in zip(kinds(sim), certificate.modes, strict=True))
            ways = free_directions(sim, q)
            along = {"q": ways, "v": ways, "tau": np.eye(len(tau))}
            close, far = (differences(sim, q, v, tau, state, factor, ways) for factor in (1.0, 3.0))
            scale = {name: 1.0 + np.abs(close[name]).max() for name in BLOCKS}
            if max(np.abs(close[name] - far[name]).max() / scale[name] for name in BLOCKS) > 1e-5:
                found.kinks += 1
            else:
                errors = {}
                for name in BLOCKS:
                    reference = close[name] + (close[name] - far[name]) / 8
                    moved = getattr(jacobian, name) @ along[name.split("_d")[1]]
                    errors[name] = float(np.abs(moved - reference).max() / scale[name])
                found.errors.append(errors)
                found.modes.append(modes)
        if advance is not None:
            advance(len(found.errors), states, "")
    return found
