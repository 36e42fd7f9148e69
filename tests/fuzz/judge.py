"""Judges a step from model, state and what came out, with code that shares nothing with the step's.

Three things are asked of a step. Its contacts: those of Coal's shapes by the definition of the signed distance, none
missing. Its balance: M̃ (v⁺ − v) = dt F + Jᵀ λ and q⁺ = q ⊕ dt v⁺. And, if it says `converged`, the exact law: every
contact, limit and dry joint held to its set at the velocity the bodies have, every loop closed."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

import taut

from . import loops
from .geometry import Placed, body_of, most_separating, plane_of, separation
from .mechanics import Mechanics, cross, quaternion_matrix, solve

# Of the solver's tolerance, m/s: its judge asks the same question of G λ + g, this one of J v⁺. Both may round.
LAW = 5.0
RULES = {
    "maximum": max,
    "minimum": min,
    "average": lambda a, b: 0.5 * (a + b),
    "geometric_mean": lambda a, b: math.sqrt(a * b),
    "product": lambda a, b: a * b,
}
ROUNDING = 1e-10  # of what was added up to get a velocity or an impulse
BALANCE = 1e-8  # the same for momenta: free bodies are factored, not balanced, and masses lie decades apart
GAP = 1e-6  # m: Coal's GJK ends within 1e-9 m of the lower bound, its EPA by a tolerance of its own on round shapes
SURFACE = 2e-6  # m
DEEP = 1.0  # of the smaller shape: how deep curved shapes are is a search with several answers, docs/campaign.md


@dataclass
class Verdict:
    """What is wrong, by name, and what was looked at."""

    wrong: list[str] = field(default_factory=list)
    seen: Counter = field(default_factory=Counter)

    def say(self, what: str) -> None:
        if len(self.wrong) < 8:
            self.wrong.append(what)


class Judge:
    """One simulator's steps. The scene must stay as it was when this was made, but for what the law reads anew."""

    def __init__(self, sim: taut.Simulator) -> None:
        self.sim = sim
        self.m = Mechanics(sim)
        self.options = o = sim.options
        self.tolerance = o["tolerance"]
        self.exact = taut.solver_models()[o["solver"]] == "NCP"
        self.soft = any(o[name] is not None for name in ("soft_contacts", "soft_limits", "soft_loops"))
        scene = sim.scene
        objects = scene.geometry.geometryObjects
        self.bodies, self.planes, self.frames = [], [], []
        for thing in objects:
            self.bodies.append(body_of(thing.geometry))
            self.planes.append(plane_of(thing.geometry))
            self.frames.append((int(thing.parentJoint), np.array(thing.placement.homogeneous)))
        self.radii = np.array([0.0 if b is None else b.radius for b in self.bodies])
        self.parents = np.array([j for j, _ in self.frames], int)
        self.pairs = [(int(p.first), int(p.second)) for p in scene.geometry.collisionPairs]
        first = np.array([a for a, _ in self.pairs], int)
        second = np.array([b for _, b in self.pairs], int)
        plane = np.array([p is not None for p in self.planes] + [False])
        convex = np.array([b is not None for b in self.bodies] + [False])
        self.first, self.second = first, second
        self.between = np.flatnonzero(convex[first] & convex[second]) if len(first) else np.zeros(0, int)
        self.on_planes = (
            np.flatnonzero((plane[first] & convex[second]) | (convex[first] & plane[second]))
            if len(first)
            else np.zeros(0, int)
        )
        self.loops = [loops.Frames(loop) for loop in scene.loops]
        self.couplings = list(scene.couplings)
        names = [thing.name for thing in objects]
        self.names = names
        self.surfaces = [[f(name) for name in names] for f in (scene.friction, scene.restitution, scene.compliance)]
        self.pair_friction = dict(getattr(scene, "_fuzz_friction", {}))  # by names, sorted
        self.rule = None if scene.sources else RULES[scene.friction_rule]  # files have priorities, too
        self.driven = any(a.loop >= 0 for a in scene.actuators)
        self.limits = self._limits()

    def _limits(self) -> list[tuple]:
        """(kind, joint, dof, q index) of what may become a row of a joint, in the order of the problem's blocks."""
        model, scene, rows = self.m.model, self.sim.scene, []
        low, high = model.lowerPositionLimit, model.upperPositionLimit
        balls = getattr(scene, "ball_limits", None)  # not in Python: scenes that set one say so to the judge
        self.ball_angles = dict(balls) if balls else dict(getattr(scene, "_fuzz_balls", {}))
        for j in range(1, model.njoints):
            joint = model.joints[j]
            kind = joint.shortname()
            bounded = {"JointModelFreeFlyer": 3, "JointModelPlanar": 2}.get(
                kind, joint.nq if joint.nq == joint.nv else 0
            )
            if self.options["joint_limits"]:
                for k in range(bounded):
                    if low[joint.idx_q + k] > -1e30:
                        rows.append(("low", j, joint.idx_v + k, joint.idx_q + k))
                    if high[joint.idx_q + k] < 1e30:
                        rows.append(("high", j, joint.idx_v + k, joint.idx_q + k))
                if j in self.ball_angles:
                    rows.append(("ball", j, joint.idx_v, joint.idx_q))
            if self.options["joint_friction"]:
                for k in range(joint.nv):
                    if model.upperDryFrictionLimit[joint.idx_v + k] > 0:
                        rows.append(("dry", j, joint.idx_v + k, joint.idx_q))
        return rows

    # --- contacts

    def _place(self) -> list[Placed | None]:
        placed = []
        for body, (joint, local) in zip(self.bodies, self.frames, strict=True):
            M = self.m.oM[joint] @ local
            self.origins[len(placed)] = M[:3, 3]
            placed.append(None if body is None else Placed(body, M[:3, :3], M[:3, 3]))
        return placed

    def contacts(self, contacts: list, v: np.ndarray, verdict: Verdict) -> None:
        """Holds gap, normal and point of every contact to their definition, and looks for one that is missing."""
        if not self.pairs or self.options["soft_contacts"] is not None:  # MuJoCo's act in penetration only
            return
        self.origins, self.v = np.zeros((len(self.bodies), 3)), v
        placed = self._place()
        margin = self.options["margin"]
        by_pair: dict[int, list] = {}
        for contact in contacts:
            by_pair.setdefault(contact.pair, []).append(contact)
        near = self.between[
            np.sqrt(((self.origins[self.first[self.between]] - self.origins[self.second[self.between]]) ** 2).sum(1))
            < self.radii[self.first[self.between]] + self.radii[self.second[self.between]] + margin
        ]
        candidates = dict.fromkeys([*by_pair, *near.tolist(), *self.on_planes.tolist()])
        for pair in candidates:
            a, b = self.pairs[pair]
            found = by_pair.get(pair, [])
            self._surface(a, b, found, verdict)
            if self.planes[a] is not None or self.planes[b] is not None:
                solid, flat = (b, a) if self.planes[a] is not None else (a, b)
                if placed[solid] is not None:
                    self._on_plane(placed[solid], solid, flat, found, margin, verdict)
            elif placed[a] is not None and placed[b] is not None:
                self._between(placed, a, b, found, margin, verdict)
        verdict.seen["contacts"] += len(contacts)

    def _surface(self, a: int, b: int, found: list, verdict: Verdict) -> None:
        """What two surfaces bring to their contacts."""
        mu, e, compliance = self.surfaces
        expected = [None, max(e[a], e[b]), compliance[a] + compliance[b]]
        if self.rule is not None:
            pair = tuple(sorted((self.names[a], self.names[b])))
            expected[0] = self.pair_friction.get(pair, self.rule(mu[a], mu[b]))
        for c in found:
            for name, value in zip(("mu", "restitution", "compliance"), expected, strict=True):
                if value is not None and abs(getattr(c, name) - value) > 1e-12 * (1 + value):
                    verdict.say(f"wrong {name}: {getattr(c, name)}, of these surfaces {value}")

    def _on_plane(self, solid: Placed, s: int, f: int, found: list, margin: float, verdict: Verdict) -> None:
        n_local, offset = self.planes[f]
        joint, local = self.frames[f]
        M = self.m.oM[joint] @ local
        n = M[:3, :3] @ n_local
        height = offset + float(n @ M[:3, 3])
        distance = -solid.reach(-n) - height
        slack = GAP * (1 + solid.body.radius) + 1e-12 * abs(height)
        if not found:
            if distance < 0.99 * margin - slack:
                verdict.say(f"missing contact: {solid.body.kind} {distance:.3e} m from a half-space, margin {margin:g}")
            return
        lowest = min(c.gap for c in found)
        if abs(lowest - distance) > slack:
            verdict.say(f"wrong gap: {solid.body.kind} on half-space says {lowest:.6e}, is {distance:.6e}")
        wanted = n if self.parents[s] == found[0].joint_1 else -n
        for c in found:
            if np.abs(c.frame[:, 2] - wanted).max() > 1e-9:
                verdict.say(f"wrong normal: {solid.body.kind} on half-space says {c.normal}, is {wanted}")
            on_solid = c.point + 0.5 * c.gap * n
            # A point of the surface, but for points of the side of a lying cylinder or cone, which are a tilt above.
            if abs(float(n @ on_solid) - height - c.gap) > slack or solid.outside(on_solid) > SURFACE + slack:
                verdict.say(f"wrong point: {solid.body.kind} on half-space, {solid.outside(on_solid):.3e} m off")
        self._frames_are_frames(found, verdict)
        if solid.body.kind == "Box" and len(found) < 4:
            heights = (solid.body.vertices @ solid.R.T + solid.p) @ n - height
            within = int((heights < 0.99 * margin - slack).sum())
            # Of more than four that a body may reach in the step those are kept that carry it.
            if within > len(found) and (heights < 1.01 * margin + self._travel(s) + self._travel(f)).sum() <= 4:
                verdict.say(f"missing corner: {within} of a box within the margin, {len(found)} contacts")

    def _travel(self, shape: int) -> float:
        """No point of it goes farther in the step, at the velocity it has."""
        joint = self.parents[shape]
        if not joint:
            return 0.0
        twist = self.m.J @ (self.m.moved[joint] * self.v)
        center = self.origins[shape]
        speed = np.linalg.norm(twist[:3] + cross(twist[3:], center))
        return self.m.dt * float(speed + np.linalg.norm(twist[3:]) * 2 * self.radii[shape])

    def _between(self, placed: list, a: int, b: int, found: list, margin: float, verdict: Verdict) -> None:
        one, two = placed[a], placed[b]
        slack = GAP * (1 + min(one.body.radius, two.body.radius)) + 1e-12 * np.abs(one.p).max()
        distance, n = most_separating(one, two)
        if not found:
            if distance < 0.99 * margin - slack and self._truly(one, two, distance, n, 0.99 * margin - slack):
                verdict.say(
                    f"missing contact: {one.body.kind} and {two.body.kind}, {distance:.3e} m, margin {margin:g}"
                )
            return
        to_one = self.parents[a] == found[0].joint_1
        deepest = min(found, key=lambda c: c.gap)
        normal = deepest.frame[:, 2] if to_one else -deepest.frame[:, 2]
        own = separation(one, two, normal)
        name = f"{one.body.kind} and {two.body.kind}"
        if distance - own > slack + 1e-3 * abs(distance) * (distance < -1e-2):
            if distance < -DEEP * min(one.body.radius, two.body.radius):
                verdict.seen["deep pairs: another direction separates more"] += 1
                return
            verdict.say(f"wrong normal: {name} separated by {own:.6e} m along it, by {distance:.6e} m along another")
        if deepest.gap < own - slack:
            verdict.say(f"wrong gap: {name} says {deepest.gap:.6e}, the normal separates them by {own:.6e}")
        if len(found) == 1 and deepest.gap > own + slack:
            verdict.say(f"wrong gap: {name} says {deepest.gap:.6e} alone, the normal separates them by {own:.6e}")
        for c in found:
            along = c.frame[:, 2] if to_one else -c.frame[:, 2]
            outside_1 = one.outside(c.point + 0.5 * c.gap * along)
            outside_2 = two.outside(c.point - 0.5 * c.gap * along)
            if max(outside_1, outside_2) > SURFACE + slack:
                verdict.say(f"wrong point: {name}, {outside_1:.3e} and {outside_2:.3e} m off the two shapes")
        self._frames_are_frames(found, verdict)

    @staticmethod
    def _truly(one: Placed, two: Placed, distance: float, n: np.ndarray | None, limit: float) -> bool:
        """`distance` is a lower bound; before a contact is called missing Coal's own number must say so, too."""
        from .geometry import coal_distance

        del distance, n
        return coal_distance(one, two)[0] < limit

    @staticmethod
    def _frames_are_frames(found: list, verdict: Verdict) -> None:
        for c in found:
            F = c.frame
            if np.abs(F.T @ F - np.eye(3)).max() > 1e-9 or np.linalg.det(F) < 0:
                verdict.say(f"contact frame is none: {F.tolist()}")

    # --- the step

    def step(
        self,
        q: np.ndarray,
        v: np.ndarray,
        step: taut.Step,
        tau: np.ndarray | None = None,
        fext: np.ndarray | None = None,
        control: np.ndarray | None = None,
        geometry: bool = True,
    ) -> Verdict:
        verdict = Verdict()
        status = step.report.status
        finite = bool(np.isfinite(step.q).all() and np.isfinite(step.v).all())
        if not finite:
            if status != "not_finite":
                verdict.say(f"silent NaN: status is '{status}'")
            return verdict
        if status == "not_finite":  # the problem was not, and its impulses were left out
            return verdict
        m = self.m
        with np.errstate(all="ignore"):
            at, v_at = m.look(q, v)
            m.balance(at, v_at, np.zeros(m.model.nv) if tau is None else tau, fext, control)
            if geometry:
                self.contacts(step.contacts, v_at, verdict)
            if self.driven or self.soft:
                self._by_its_problem(step, verdict)
                return verdict
            lam = self.sim.impulse
            v_plus = m.turned(step.v, step.q, at) if not self._put_back(step) else None
            self._judge(q, at, v_at, v_plus, lam, step, verdict)
        return verdict

    def _put_back(self, step: taut.Step) -> bool:
        """Loops that were put back move q⁺ after v⁺ was found; both stay within what is undone here (1e-2)."""
        del step
        return False

    def _by_its_problem(self, step: taut.Step, verdict: Verdict) -> None:
        """Where rows are another model's: the law on the problem that the step says it solved."""
        verdict.seen["by its problem"] += 1
        if not self.exact or step.report.status != "converged":
            return
        worst = law_of(self.sim.problem(), self.sim.impulse)
        if worst > LAW * self.tolerance:
            verdict.say(f"false converged (by its problem): {worst:.3e}, tolerance {self.tolerance:g}")

    def _rows(self, at: np.ndarray, v_at: np.ndarray, contacts: list) -> tuple:
        """J, kind, bias and so on of every row, in the order of the step's impulses."""
        m, o = self.m, self.options
        n = len(contacts)
        blocks, parts = [], []
        if n:
            joint_1 = np.array([c.joint_1 for c in contacts])
            joint_2 = np.array([c.joint_2 for c in contacts])
            frames = np.array([c.frame for c in contacts])
            points = np.array([c.point for c in contacts])
            J = frames.transpose(0, 2, 1) @ m.point_rows(joint_1, joint_2, points)
            parts.append(J.reshape(3 * n, -1))
        for kind, j, dof, iq in self.limits:
            joint = m.model.joints[j]
            row = np.zeros(m.model.nv)
            if kind == "dry":
                row[dof] = 1.0
                blocks.append((kind, m.dt * m.model.upperDryFrictionLimit[dof], dof))
                parts.append(row[None])
                continue
            span = slice(joint.idx_v, joint.idx_v + joint.nv)
            if kind == "ball":
                turn = pin.log3(quaternion_matrix(at[iq : iq + 4]))
                angle = math.sqrt(turn @ turn)
                gap = self.ball_angles[j] - angle
                row[joint.idx_v : joint.idx_v + 3] = -turn / max(angle, 1e-300)
            else:
                sign = 1.0 if kind == "low" else -1.0
                bound = m.model.lowerPositionLimit[iq] if kind == "low" else m.model.upperPositionLimit[iq]
                gap = sign * (at[iq] - bound)
                if joint.nq == 7:
                    R = quaternion_matrix(at[joint.idx_q + 3 : joint.idx_q + 7])
                    row[joint.idx_v : joint.idx_v + 3] = sign * R[iq - joint.idx_q]
                elif joint.shortname() == "JointModelPlanar":
                    c, s = at[joint.idx_q + 2 : joint.idx_q + 4]
                    row[joint.idx_v : joint.idx_v + 2] = (
                        sign * np.array([c, -s]) if iq == joint.idx_q else sign * np.array([s, c])
                    )
                else:
                    row[dof] = sign
            speed = math.sqrt(v_at[span] @ v_at[span])
            if gap > o["limit_margin"] + m.dt * speed:
                continue
            blocks.append((kind, gap, dof))
            parts.append(row[None])
        closing = []
        for frame in self.loops:
            phi, rows = frame.error_and_rows(m)
            closing.append(phi)
            parts.append(rows)
        for coupling in self.couplings:
            error, row = loops.coupling_error_and_row(m, coupling, at)
            closing.append(np.array([error]))
            parts.append(row[None])
        J = np.vstack(parts) if parts else np.zeros((0, m.model.nv))
        return J, blocks, closing

    def _judge(
        self,
        q: np.ndarray,
        at: np.ndarray,
        v_at: np.ndarray,
        v_plus: np.ndarray,
        lam: np.ndarray,
        step: taut.Step,
        verdict: Verdict,
    ) -> None:
        m = self.m
        contacts = step.contacts
        J, blocks, closing = self._rows(at, v_at, contacts)
        if len(lam) != len(J):
            verdict.say(f"rows: the step has {len(lam)} impulses, the law {len(J)} rows")
            return
        if len(contacts) and np.abs(lam[: 3 * len(contacts)] - step.impulses.ravel()).max() > 0:
            verdict.say("step.impulses are not sim.impulse")

        # Balance of momenta, each against the sizes of what was added up.
        change = v_plus - v_at - m.axes_held(v_at)
        left = m.M @ change - m.impulse - J.T @ lam
        sizes = np.abs(m.M) @ (np.abs(v_plus) + np.abs(v_at)) + m.dt * m.size + np.abs(J.T) @ np.abs(lam)
        moved_by_hand = self.loops and np.abs(step.v).max(initial=0) > 0  # put back: q⁺ turns, v⁺ is written anew
        # What couples a dof to the others of its tree comes as their rounding.
        trees = np.array([sizes[root].max(initial=0.0) for root in m.tree_of])
        off = np.abs(left) > BALANCE * sizes + 1e-13 * trees + 1e-30
        off &= ~m.unsure
        if off.any() and not moved_by_hand:
            worst = int(np.argmax(np.where(off, np.abs(left) / (sizes + 1e-300), 0)))
            verdict.say(f"balance: dof {worst} is off by {left[worst]:.3e} N s of {sizes[worst]:.3e}")
        verdict.seen["dofs not balanced (fast spin)"] += int(m.unsure.any())
        if not self.loops and not self.couplings:
            expected = m.moved_by(at, v_plus, m.ahead)
            scale = 1e-9 * (1 + np.abs(expected) + m.dt * np.abs(v_plus).max(initial=0.0))
            if (np.abs(expected - step.q) > scale).any():
                verdict.say(f"q⁺ is not q ⊕ dt v⁺: off by {np.abs(expected - step.q).max():.3e}")

        if step.report.status != "converged":
            return
        if not self.exact:
            verdict.seen["law of another model"] += 1
            return
        verdict.seen["judged"] += 1
        self._law(at, v_at, v_plus, lam, J, blocks, contacts, verdict)
        self._closed(closing, step, verdict)

    def _gap_bias(self, gap: np.ndarray, approach: np.ndarray, correction: float, penetration: float) -> np.ndarray:
        m, speed = self.m, self.options["correction_speed"]
        left = gap + penetration
        before = np.minimum(0.0, left - (m.dt - m.ahead) * np.minimum(0.0, approach))
        return np.where(left >= 0, left / m.ahead, np.maximum(correction * before / m.dt, -speed))

    def _law(
        self,
        at: np.ndarray,
        v_at: np.ndarray,
        v_plus: np.ndarray,
        lam: np.ndarray,
        J: np.ndarray,
        blocks: list,
        contacts: list,
        verdict: Verdict,
    ) -> None:
        m, o, n = self.m, self.options, len(contacts)
        count = 3 * n + len(blocks)
        if not count:
            return
        J, lam = J[:count], lam[:count]
        MinvJT = solve(m.M, J.T)
        diagonal = np.einsum("ij,ji->i", J, MinvJT)
        approach, rate = J @ v_at, J @ v_plus
        free_rate = J @ self.sim.v_free  # whether a row bounces; what it is was seen in the balance
        R, bias = np.zeros(count), np.zeros(count)
        spring = m.dt * m.ahead
        normal = np.arange(n) * 3 + 2
        if n:
            gaps = np.array([c.gap for c in contacts])
            e = np.array([c.restitution for c in contacts])
            compliance = np.array([c.compliance for c in contacts]) + o["compliance"]
            mu = np.array([c.mu for c in contacts])
            R[normal] = compliance / spring
            R[normal - 1] = R[normal - 2] = o["tangential_compliance"] / spring
            bias[normal] = np.where(
                compliance > 0,
                gaps / m.ahead,
                self._gap_bias(gaps, approach[normal], o["correction"], o["penetration"]),
            )
        limits = self.sim.scene.limit_compliance, self.sim.scene.limit_restitution
        gap_of, e_of = np.full(count, np.inf), np.zeros(count)
        if n:
            gap_of[normal], e_of[normal] = gaps, e
        for k, (kind, value, dof) in enumerate(blocks):
            row = 3 * n + k
            if kind == "dry":
                continue
            gap_of[row], e_of[row] = value, limits[1][dof]
            if limits[0][dof] > 0:
                R[row], bias[row] = limits[0][dof] / spring, value / m.ahead
            else:
                bias[row] = self._gap_bias(value, approach[row], o["limit_correction"], 0.0)
        # Newton's law; where rounding decides whether a row bounces either answer is right.
        scale = self.sim.restitution_scale
        threshold = o["restitution_threshold"]
        bouncing = (e_of > 0) & (approach < -threshold) & (gap_of + m.ahead * np.minimum(approach, free_rate) <= 0)
        bounce = np.minimum(bias, scale * e_of * approach)
        near = np.abs(approach + threshold) < 1e-9 * (1 + threshold)
        near |= np.abs(gap_of + m.ahead * np.minimum(approach, free_rate)) < 1e-9 * (np.abs(gap_of) + 1e-6)
        doubtful = (e_of > 0) & near
        rounding = ROUNDING * (np.abs(J) @ (np.abs(v_plus) + np.abs(v_at)) + np.abs(bias) + R * np.abs(lam))
        # A solver looks at G λ + g: where impulses are huge against the velocities they make, that is what it can see.
        rounding += 1e-13 * (np.abs(J) @ (np.abs(MinvJT) @ np.abs(lam)))
        worst = np.inf
        for choice in [bouncing, *([bouncing ^ doubtful] if doubtful.any() else [])]:
            c = rate + np.where(choice, bounce, bias) + R * lam
            worst = min(worst, self._worst(c, lam, diagonal + R, mu if n else None, n, blocks, rounding))
        if worst > LAW:
            verdict.say(f"false converged: {worst * self.tolerance:.3e}, tolerance {self.tolerance:g}")

    def _worst(
        self,
        c: np.ndarray,
        lam: np.ndarray,
        diagonal: np.ndarray,
        mu: np.ndarray | None,
        n: int,
        blocks: list,
        rounding: np.ndarray,
    ) -> float:
        """The worst residual in tolerances, less what rounding explains."""
        worst = 0.0
        tolerance = self.tolerance
        if n:
            x, c3 = lam[: 3 * n].reshape(n, 3), c[: 3 * n].reshape(n, 3)
            stiff = diagonal[: 3 * n].reshape(n, 3).sum(1) / 3
            stiff = np.where(stiff > 0, stiff, 1.0)
            slack = rounding[: 3 * n].reshape(n, 3).max(1)
            s = c3.copy()
            s[:, 2] += mu * np.hypot(c3[:, 0], c3[:, 1])
            natural = stiff * np.abs(x - onto_cones(x - s / stiff[:, None], mu)).max(1)
            primal = norms(x - onto_cones(x, mu))
            dual = norms(onto_cones(-s, mu))
            worst = max(
                worst,
                float(np.max((natural - slack * (1 + mu)) / tolerance)),
                float(np.max((dual - slack * (1 + mu)) / tolerance)),
                float(np.max((primal - 1e-12 * norms(x)) / tolerance)),
            )
        for k, (kind, value, _) in enumerate(blocks):
            row = 3 * n + k
            x, velocity, stiff = lam[row], c[row], diagonal[row] if diagonal[row] > 0 else 1.0
            if kind == "dry":
                natural = stiff * abs(x - min(max(x - velocity / stiff, -value), value))
                primal = abs(x) - value
            else:
                natural, primal = stiff * abs(x - max(0.0, x - velocity / stiff)), -x
                natural = max(natural, -velocity)
            worst = max(worst, (natural - rounding[row]) / tolerance, (primal - 1e-12 * abs(x)) / tolerance)
        return worst

    def _closed(self, closing: list, step: taut.Step, verdict: Verdict) -> None:
        """A loop that was closed when the step began is closed where it ends."""
        if not closing or self.options["loop_correction"] < 1.0 or self.m.moreau:
            return
        if max(float(np.abs(phi).max()) for phi in closing) > 1e-6:
            verdict.seen["loops open at the start"] += 1
            return
        m = self.m
        keep = m.J, m.oM
        pin.computeJointJacobians(m.model, m.data, step.q)
        m.J, m.oM = m.data.J.reshape(6, -1).copy(), [np.array(x.homogeneous) for x in m.data.oMi]
        for frame in self.loops:
            if frame.rigid:
                phi, _ = frame.error_and_rows(m)
                if np.abs(phi).max() > 1e-4:
                    verdict.say(f"loop open: {frame.kind} by {np.abs(phi).max():.3e} after a converged step")
        m.J, m.oM = keep


def norms(x: np.ndarray) -> np.ndarray:
    """Lengths of the rows, without overflow."""
    big = np.abs(x).max(1)
    return big * np.sqrt(((x / np.where(big > 0, big, 1.0)[:, None]) ** 2).sum(1))


def onto_cones(x: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """The nearest points of the cones |x_t| ≤ μ x_n, row by row."""
    radius = np.hypot(x[:, 0], x[:, 1])
    inside = radius <= mu * x[:, 2]
    normal = np.maximum(0.0, mu * radius + x[:, 2]) / (1 + mu**2)
    share = mu * normal / np.where(radius > 0, radius, 1.0)
    out = np.stack([share * x[:, 0], share * x[:, 1], normal], 1)
    return np.where(inside[:, None], x, out)


def law_of(problem: taut.Problem, impulse: np.ndarray) -> float:
    """The worst of primal, dual and natural residual of a problem, from its arrays alone."""
    A = problem.G + np.diag(problem.R)
    c = A @ impulse + problem.g
    if not np.isfinite(c).all() or not np.isfinite(impulse).all():
        return math.inf
    worst, start = 0.0, 0
    for block, size in zip(problem.blocks, problem.sizes, strict=True):
        rows = slice(start, start + size)
        start += size
        x, v = impulse[rows], c[rows]
        stiff = float(np.trace(A[rows, rows])) / size or 1.0
        if block[0] == "cone":
            mu = np.array([block[1]])
            s = (v + np.array([0, 0, block[1] * math.hypot(v[0], v[1])]))[None]
            x = x[None]
            found = (
                float(stiff * np.abs(x - onto_cones(x - s / stiff, mu)).max()),
                float(norms(x - onto_cones(x, mu))[0]),
                float(norms(onto_cones(-s, mu))[0]),
            )
        elif block[0] == "positive":
            found = (-x[0], -v[0], stiff * abs(x[0] - max(0.0, x[0] - v[0] / stiff)))
        elif block[0] == "interval":
            b = block[1]
            found = (abs(x[0]) - b, stiff * abs(x[0] - min(max(x[0] - v[0] / stiff, -b), b)))
        else:
            found = (float(np.abs(v).max()),)
        worst = max(worst, *found)
    return float(worst)
