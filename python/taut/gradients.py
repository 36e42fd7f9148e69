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
    contradict each other. One step size for all: `ladder` has differences that know how good they are.
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


SOLVED = 1e-12  # m/s, the judge's residual of each step
RATIO, RUNGS = 4.0, 7  # steps of a ladder: each four times the last
# The shortest ones. q: 5 nm, for a gap turns into a velocity by 1/dt; torques: what changes the velocity by that much.
SHORTEST = {"q": 5e-9, "v": 1e-6, "tau": 1e-6}
# Times that with loops, and two rungs more: their gaps are rounded to 1e-16 m, which a step makes 1e-13 m/s and more.
LOOPS = 16.0


@dataclass
class Ladder:
    """Derivatives of a step by differences over steps h, 4 h, 16 h …, and what they themselves say of their quality.

    Of each pair of neighbours the error in h² is taken out (Richardson); of neighbouring results those count that agree
    best and bend least, column by column: short steps suffer from rounding, long ones from curvature. Nothing here
    knows of analytic gradients.
    """

    slopes: dict[str, np.ndarray]  # by block
    scale: dict[str, float]  # the largest entry of a block, or what stands for it where a block vanishes
    unsure: dict[str, float]  # how far the results that agree best disagree, relative to scale
    kink: dict[str, float]  # how far differences ahead and behind are from their mean, without their curvature: a kink
    column: tuple[str, int] = ("q", 0)  # the worst in either way: what moves and which of the directions


def _refined(
    ahead: np.ndarray, behind: np.ndarray, h: np.ndarray, residual: np.ndarray, size: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of results (rungs, nv, columns) on both sides, relative to the middle: slopes, and by column unsure and kink.

    Rungs with a step that was not solved do not count. `size` of the results gives their rounding: short steps can
    agree to the last digit, and be wrong by that.
    """
    h = h[:, None, :]
    central, bend = (ahead - behind) / (2 * h), (ahead + behind) / (2 * h)
    better = central[:-1] + (central[:-1] - central[1:]) / (RATIO**2 - 1)
    apart = np.abs(better[1:] - better[:-1]).max(axis=1, initial=0.0) + np.finfo(float).eps * size / h[:-2, 0, :]
    worst = np.maximum(np.maximum(residual[:-2], residual[1:-1]), residual[2:])
    apart[worst > SOLVED] = np.inf
    # Curvature makes the two sides differ by odd powers of h; what is left at h = 0 is a kink.
    left = (RATIO * bend[:-1] - bend[1:]) / (RATIO - 1)
    left = np.abs(RATIO**3 * left[:-1] - left[1:]).max(axis=1, initial=0.0) / (RATIO**3 - 1)
    pick, columns = np.maximum(apart, left).argmin(axis=0), np.arange(apart.shape[1])
    slopes = 0.5 * (better[pick, :, columns] + better[pick + 1, :, columns]).T
    return slopes, apart[pick, columns], left[pick, columns]


def _floors(sim: Simulator, q: np.ndarray) -> dict[str, float]:
    """What errors of a block that vanishes are relative to: what the coordinates of a free body have there.

    A motion keeps itself (1), moves by dt and answers a torque with the inverse of the inertia; dv_dq, which free
    bodies do not have, is held against a gravity that turns, g a radian.
    """
    inverse = np.abs(_inverse_inertia(sim, q)).max(initial=0.0)
    dt = sim.dt
    return {
        "dq_dq": 1.0,
        "dq_dv": dt,
        "dq_dtau": dt * dt * inverse,
        "dv_dq": 9.81 * dt,
        "dv_dv": 1.0,
        "dv_dtau": dt * inverse,
    }


def _inverse_inertia(sim: Simulator, q: np.ndarray) -> np.ndarray:
    model = sim.scene.model
    upper = pinocchio.computeMinverse(model, model.createData(), q)
    return np.triu(upper) + np.triu(upper, 1).T


def ladder(sim: Simulator, q: np.ndarray, v: np.ndarray, tau: np.ndarray, state: State, ways: np.ndarray) -> Ladder:
    """Differences of a step from (q, v, tau) that know how good they are, each step from the same memory `state`.

    q and v move along the columns of `ways`.
    """
    model, nv = sim.scene.model, sim.scene.model.nv
    reach = sim.dt * np.abs(_inverse_inertia(sim, q)).max(axis=0)  # of a unit torque: the change of velocity
    made = Ladder({}, {}, {}, {})
    floors = _floors(sim, q)

    def step(q, v, tau):
        sim.restore(state)
        done = sim.step(q, v, tau)
        return done.q, done.v, done.report.residuals.natural

    q_0, v_0, _ = step(q, v, tau)
    rungs = RUNGS + 2 if ways.shape[1] < nv else RUNGS
    worst = 0.0
    for what, along in (("q", ways), ("v", ways), ("tau", np.eye(nv))):
        count = along.shape[1]
        shortest = SHORTEST[what] * (LOOPS if what == "q" and count < nv else 1.0)
        h = shortest * np.outer(RATIO ** np.arange(rungs), 1.0 / reach if what == "tau" else np.ones(count))
        ends = np.zeros((2, 2, rungs, nv, count))  # of q and v, on both sides
        residual = np.zeros((rungs, count))
        for side, sign in enumerate((1.0, -1.0)):
            for rung in range(rungs):
                for k in range(count):
                    move = sign * h[rung, k] * along[:, k]
                    if what == "q":
                        q_1, v_1, left = step(pinocchio.integrate(model, q, move), v, tau)
                    elif what == "v":
                        q_1, v_1, left = step(q, v + move, tau)
                    else:
                        q_1, v_1, left = step(q, v, tau + move)
                    ends[0, side, rung, :, k] = pinocchio.difference(model, q_0, q_1)
                    ends[1, side, rung, :, k] = v_1 - v_0
                    residual[rung, k] = max(residual[rung, k], left)
        for name, (ahead, behind), result in ((f"dq_d{what}", ends[0], q_0), (f"dv_d{what}", ends[1], v_0)):
            slopes, unsure, kink = _refined(ahead, behind, h, residual, np.abs(result).max(initial=1.0))
            scale = max(float(np.abs(slopes).max(initial=0.0)), floors[name])
            made.slopes[name], made.scale[name] = slopes, scale
            made.unsure[name] = float(unsure.max(initial=0.0)) / scale
            made.kink[name] = float(kink.max(initial=0.0)) / scale
            if count and max(made.unsure[name], made.kink[name]) > worst:
                worst = max(made.unsure[name], made.kink[name])
                made.column = (what, int(np.maximum(unsure, kink).argmax()))
    return made


def reachable_states(
    sim: Simulator,
    rng: np.random.Generator,
    torque: float = 0.5,
    push: float = 2e-4,
    kick: float = 0.05,
    spread: float = 0.0,
    speed: float = 0.1,
    length: int = 400,
    mixed: bool = False,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, State]]:
    """States of runs with random torques, each pushed a little, with the memory it is stepped from.

    A body at rest touches without gap or penetration and stands at a kink (docs/theory.md): the push takes it off.
    `mixed` draws the size of each push and kick from two decades up to the given ones: large pushes lift contacts off,
    small ones leave several of a body closed. Runs of `length` steps start at q0, moved by `spread` (rad or m) and at
    `speed`, both normal.
    """
    model = sim.scene.model
    closed = bool(sim.scene.loops or sim.scene.couplings)
    while True:
        sim.reset()
        q = sim.scene.q0.copy()
        ways = free_directions(sim, q)
        if spread:
            q = pinocchio.integrate(model, q, spread * ways @ rng.normal(size=ways.shape[1]))
            q = sim.scene.assemble(q) if closed else q
        v = speed * ways @ rng.normal(size=ways.shape[1])
        for k in range(length):
            tau = torque * rng.normal(size=model.nv)
            state = sim.state()
            if k % 5 == 0:
                ways = free_directions(sim, q)
                shares = 10.0 ** rng.uniform(-2.0, 0.0, size=2) if mixed else np.ones(2)
                pushed = pinocchio.integrate(model, q, shares[0] * push * ways @ rng.normal(size=ways.shape[1]))
                if closed:
                    pushed = sim.scene.assemble(pushed)
                yield pushed, v + shares[1] * kick * ways @ rng.normal(size=ways.shape[1]), tau, state
            sim.restore(state)
            done = sim.step(q, v, tau)
            if not np.isfinite(done.q).all():
                break
            q, v = done.q, done.v


# Why a state is left out, in the order in which it is asked; none of them knows the error.
REASONS = {
    "unsolved": "not solved to 1e-12",
    "ambiguous": "several velocities solve the step",
    "other": "another start of the solver finds another velocity, though the certificate has it unique",
    "put back": "loops left open and put back, not differentiated",
    "scaled": "bounces lowered to keep energy, by a factor that is not differentiated",
    "near": "near a switch of modes",
    "features": "a feature of collision changes between the two sides",
    "modes": "modes differ between the two sides, though the certificate does not see a switch",
    "kinks": "differences ahead and behind disagree, for no reason seen",
    "rough": "differences are not sure to the tolerance",
}


@dataclass
class Comparison:
    """Errors of analytic gradients against differences, relative to the largest entry of each block."""

    errors: list[dict[str, float]] = field(default_factory=list)
    unsure: list[float] = field(default_factory=list)  # of the differences themselves, the worst block
    modes: list[Counter] = field(default_factory=list)  # of each state that was compared
    traits: list[Counter] = field(default_factory=list)
    left_out: Counter = field(default_factory=Counter)  # by REASONS
    seen: int = 0
    numbers: list[int] = field(default_factory=list)  # which of those seen

    @property
    def counted(self) -> Counter:
        return sum(self.modes, Counter())

    def worst(self, block: str) -> float:
        return max((errors[block] for errors in self.errors), default=0.0)

    def worst_of_all(self) -> float:
        return max((self.worst(block) for block in BLOCKS), default=0.0)


def kinds(sim: Simulator) -> list[str]:
    """What each block of the last step's problem is."""
    names = {"cone": "contact", "positive": "limit", "interval": "dry friction", "free": "loop"}
    return [names[kind] for kind in sim.problem().kinds]


def _approach(sim: Simulator, q: np.ndarray, v: np.ndarray, contacts: list) -> list[float]:
    """m/s: how fast the bodies of each contact come together before the step."""
    model = sim.scene.model
    data = model.createData()
    pinocchio.forwardKinematics(model, data, q, v)

    def velocity(joint: int, point: np.ndarray) -> np.ndarray:
        twist = data.oMi[joint].act(data.v[joint])
        return twist.linear + np.cross(twist.angular, point)

    return [
        float(-contact.normal @ (velocity(contact.joint_1, contact.point) - velocity(contact.joint_2, contact.point)))
        for contact in contacts
    ]


def traits(sim: Simulator, q: np.ndarray, v: np.ndarray, contacts: list, certificate: Any) -> Counter:
    """What else takes part in the last step, from (q, v): blocks of each sort that are not open, and redundant ones."""
    problem, found = sim.problem(), Counter()
    touching = [
        (contact, speed)
        for contact, speed, mode in zip(contacts, _approach(sim, q, v, contacts), certificate.modes, strict=False)
        if mode != "open"
    ]
    pairs = Counter(contact.pair for contact, _ in touching)
    found["contacts in a patch"] = sum(count for count in pairs.values() if count > 1)
    found["contacts that bounce"] = sum(c.restitution > 0 and speed > 0.02 for c, speed in touching)
    compliant = np.asarray(problem.R) > 0 if problem.R is not None else []
    row = 0
    for kind, size, mode in zip(problem.kinds, problem.sizes, certificate.modes, strict=True):
        if mode != "open" and len(compliant) and np.any(compliant[row : row + size]):
            found[{"cone": "compliant contacts", "free": "compliant loops"}.get(kind, "compliant limits")] += 1
        row += size
    for loop in sim.scene.loops:
        found[f"loop: {loop.kind}"] += 1
    found["loop: gear or cam"] = len(sim.scene.couplings)
    found["redundant impulses"] = certificate.unknowns - certificate.rank
    return +found


def _what_changes(sim: Simulator, q, v, tau, state: State, way: np.ndarray) -> str | None:
    """Along `way` of q: whether contacts that carry something jump or bend, or modes differ between the two sides."""
    model = sim.scene.model
    seen = []
    for h in (0.0, 1.0, -1.0):
        sim.restore(state)
        done = sim.step(pinocchio.integrate(model, q, h * way), v, tau)
        modes = sim.jacobian().certificate.modes
        carrying = {
            contact.identity: (mode, np.concatenate([contact.point, contact.normal, [contact.gap]]))
            for contact, mode in zip(done.contacts, modes, strict=False)
            if mode != "open"
        }
        rest = tuple(modes[len(done.contacts) :])
        seen.append((carrying, rest))
    (middle, rest), *sides = seen
    for carrying, _ in sides:
        if carrying.keys() != middle.keys():
            return "features"
    ahead, behind = sides[0][0], sides[1][0]
    for identity, (_, place) in middle.items():
        bend = np.abs(ahead[identity][1] + behind[identity][1] - 2 * place).max()
        if bend > 1e-3 * np.abs(ahead[identity][1] - behind[identity][1]).max() + 1e-13:
            return "features"
    if any(part != rest or any(part_c[i][0] != middle[i][0] for i in middle) for part_c, part in sides):
        return "modes"
    return None


def _another_velocity(sim: Simulator, q, v, tau, found: np.ndarray) -> bool:
    """Whether a cold start, solved as well, ends elsewhere by more than rounding of the solver."""
    sim.reset()
    done = sim.step(q, v, tau)
    return done.report.residuals.natural <= SOLVED and bool(np.abs(done.v - found).max() > 1e-8)


def compare(
    sim: Simulator,
    states: int,
    rng: np.random.Generator,
    distance: float = 5e-3,
    tolerance: float = 1e-6,
    advance: Any = None,
    **options: Any,
) -> Comparison:
    """Compares `states` reachable states of a simulator, which should solve to 1e-12.

    States closer than `distance` (m/s) to a switch are left out, as the certificate tells; so are those whose
    differences say of themselves that they are not good to half of `tolerance`, or that the two sides differ by more
    than that: a kink. Whether a state counts never depends on its error. torque, push, kick and other options of
    `reachable_states` go there, the rest to `sim.jacobian`.
    """
    names = ("torque", "push", "kick", "spread", "speed", "length", "mixed")
    sampling = {name: options.pop(name) for name in names if name in options}
    found = Comparison()
    for q, v, tau, state in reachable_states(sim, rng, **sampling):
        if len(found.errors) >= states or found.seen >= 40 * states:
            break
        found.seen += 1
        reason = _add(found, sim, q, v, tau, state, distance, tolerance, options)
        if reason is not None:
            found.left_out[reason] += 1
        if advance is not None:
            advance(len(found.errors), states, "")
    return found


def _add(found: Comparison, sim: Simulator, q, v, tau, state, distance, tolerance, options) -> str | None:
    """Compares one state, or says why not."""
    sim.restore(state)
    done = sim.step(q, v, tau)
    jacobian = sim.jacobian(**options)
    certificate = jacobian.certificate
    for reason, leave_out in (
        ("unsolved", done.report.residuals.natural > SOLVED),
        ("ambiguous", not certificate.unique),
        ("put back", certificate.loops_put_back),
        ("scaled", certificate.scaled_restitution),
        ("near", certificate.nearest < distance),
    ):
        if leave_out:
            return reason
    modes = Counter(f"{kind} {mode}" for kind, mode in zip(kinds(sim), certificate.modes, strict=True))
    marks = traits(sim, q, v, done.contacts, certificate)
    ways = free_directions(sim, q)
    reference = ladder(sim, q, v, tau, state, ways)
    unsure, kink = (max(numbers.values()) for numbers in (reference.unsure, reference.kink))
    if not np.isfinite(unsure):
        return "unsolved"
    if max(unsure, kink) > 0.5 * tolerance:
        what, k = reference.column
        if what == "q":
            reason = _what_changes(sim, q, v, tau, state, SHORTEST["q"] * RATIO * ways[:, k])
            if reason is not None:
                return reason
        return "kinks" if kink > 3 * unsure else "rough"
    if certificate.rank < certificate.unknowns and _another_velocity(sim, q, v, tau, done.v):
        return "other"
    along = {"q": ways, "v": ways, "tau": np.eye(len(tau))}
    errors = {}
    for name in BLOCKS:
        moved = getattr(jacobian, name) @ along[name.split("_d")[1]]
        errors[name] = float(np.abs(moved - reference.slopes[name]).max(initial=0.0) / reference.scale[name])
    found.errors.append(errors)
    found.unsure.append(unsure)
    found.modes.append(modes)
    found.traits.append(marks)
    found.numbers.append(found.seen)
    return None
