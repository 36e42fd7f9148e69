"""The step's own equations from model and state, for the judge: with Pinocchio and numpy, docs/theory.md in hand."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import taut


class Mechanics:
    """What does not change from step to step of a simulator."""

    def __init__(self, sim: taut.Simulator) -> None:
        self.sim, self.scene, self.model = sim, sim.scene, sim.scene.model
        model = self.model
        self.data = model.createData()
        self.options = sim.options
        self.dt = self.options["dt"]
        self.moreau = self.options["integrator"] == "moreau"
        self.ahead = 0.5 * self.dt if self.moreau else self.dt
        # Of each joint, which degrees of freedom move it.
        self.moved = np.zeros((model.njoints, model.nv))
        self.free, self.planar, self.plain = [], [], {}
        for j in range(1, model.njoints):
            joint = model.joints[j]
            for support in list(model.supports[j])[1:]:
                other = model.joints[support]
                self.moved[j, other.idx_v : other.idx_v + other.nv] = 1.0
            kind = joint.shortname()
            if kind == "JointModelFreeFlyer":
                self.free.append((j, joint.idx_q, joint.idx_v))
            elif kind == "JointModelPlanar":
                self.planar.append((j, joint.idx_q, joint.idx_v))
            if joint.nq == 1 and joint.nv == 1:
                self.plain[joint.idx_v] = joint.idx_q
        # Of each degree of freedom, those of its tree.
        roots = [int(list(model.supports[j])[1]) if j else 0 for j in range(model.njoints)]
        owner = np.zeros(model.nv, int)
        for j in range(1, model.njoints):
            owner[model.joints[j].idx_v : model.joints[j].idx_v + model.joints[j].nv] = roots[j]
        self.tree_of = [owner == owner[dof] for dof in range(model.nv)]
        # Bodies of their own: their gyroscopic torque is that of mid-step.
        self.alone = [(j, v) for j, _, v in self.free if model.parents[j] == 0 and len(model.subtrees[j]) == 1]
        self.dofs_alone = np.zeros(model.nv, bool)
        for _, v in self.alone:
            self.dofs_alone[v : v + 6] = True
        self.held = None

    # --- free and planar joints: their linear velocity is written in their own axes

    def turned(self, v: np.ndarray, q_from: np.ndarray, q_to: np.ndarray) -> np.ndarray:
        """v in the axes of q_from, written in those of q_to."""
        v = v.copy()
        for _, iq, iv in self.free:
            world = quaternion_matrix(q_from[iq + 3 : iq + 7]) @ v[iv : iv + 3]
            v[iv : iv + 3] = quaternion_matrix(q_to[iq + 3 : iq + 7]).T @ world
        for _, iq, iv in self.planar:
            world = plane_matrix(q_from[iq + 2 : iq + 4]) @ v[iv : iv + 2]
            v[iv : iv + 2] = plane_matrix(q_to[iq + 2 : iq + 4]).T @ world
        return v

    def moved_by(self, q: np.ndarray, v: np.ndarray, time: float) -> np.ndarray:
        """q ⊕ time v, but floating joints go straight."""
        q_next = pin.integrate(self.model, q, time * v)
        for _, iq, iv in self.free:
            q_next[iq : iq + 3] = q[iq : iq + 3] + time * (quaternion_matrix(q[iq + 3 : iq + 7]) @ v[iv : iv + 3])
        for _, iq, iv in self.planar:
            q_next[iq : iq + 2] = q[iq : iq + 2] + time * (plane_matrix(q[iq + 2 : iq + 4]) @ v[iv : iv + 2])
        return q_next

    def axes_held(self, v: np.ndarray) -> np.ndarray:
        """dt ω × v of floating joints: what turning axes take out of the velocity is put back."""
        change = np.zeros_like(v)
        for _, _, iv in self.free:
            change[iv : iv + 3] = self.dt * cross(v[iv + 3 : iv + 6], v[iv : iv + 3])
        for _, _, iv in self.planar:
            change[iv : iv + 2] = self.dt * v[iv + 2] * np.array([-v[iv + 1], v[iv]])
        return change

    # --- forces

    def look(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the step looks at the world."""
        if not self.moreau:
            return q, v
        at = self.moved_by(q, v, self.ahead)
        return at, self.turned(v, q, at)

    def update(self, q: np.ndarray, v: np.ndarray) -> None:
        pin.computeJointJacobians(self.model, self.data, q)
        pin.crba(self.model, self.data, q)
        M = np.triu(np.reshape(self.data.M, (self.model.nv, self.model.nv)))
        self.M = M + np.triu(M, 1).T
        self.b = pin.nonLinearEffects(self.model, self.data, q, v).copy()
        self.J = self.data.J.reshape(6, -1).copy()  # a single column would come as a vector
        self.oM = [np.array(x.homogeneous) for x in self.data.oMi]

    def joint_terms(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, control: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques of damping, springs, servos and motors at the start, and what they add to M."""
        scene, model, dt, ahead = self.scene, self.model, self.dt, self.ahead
        torque = tau - model.damping * v
        implicit = dt * model.damping
        stiffness, rest = scene.stiffness, scene.spring_reference

        def servo(dof: int, kp: float, kd: float, target: float, low: float, high: float) -> None:
            here = q[self.plain[dof]] if dof in self.plain else target
            push = kp * (target - here - ahead * v[dof]) - kd * v[dof]
            if push < low or push > high:
                torque[dof] += min(max(push, low), high)
                return
            torque[dof] += push
            implicit[dof] += dt * (kd + ahead * kp)

        for dof, iq in self.plain.items():
            if stiffness[dof] > 0:
                torque[dof] -= stiffness[dof] * (q[iq] + ahead * v[dof] - rest[dof])
                implicit[dof] += dt * ahead * stiffness[dof]
        held = self.held
        if held is not None:
            for dof in range(model.nv):
                if held["kp"][dof] > 0 or held["kd"][dof] > 0:
                    limit = held["torque_limit"][dof]
                    servo(dof, held["kp"][dof], held["kd"][dof], held["target"][dof], -limit, limit)
        if control is not None:
            for actuator, u in zip(scene.actuators, control, strict=True):
                u = min(max(u, actuator.control_range[0]), actuator.control_range[1])
                low, high = actuator.force_range
                if actuator.kind == "motor":
                    torque[actuator.dof] += actuator.gear * min(max(u, low), high)
                    continue
                r = actuator.gear
                servo(actuator.dof, r * r * actuator.kp, r * r * actuator.kv, u / r, *sorted((r * low, r * high)))
        return torque, implicit

    def pushed(self, fext: np.ndarray) -> np.ndarray:
        """Torques of forces (force, moment) in the joints' frames."""
        torque = np.zeros(self.model.nv)
        for j in np.flatnonzero(np.abs(fext).sum(1)):
            if j == 0:
                continue
            R, p = self.oM[j][:3, :3], self.oM[j][:3, 3]
            force, moment = R @ fext[j, :3], R @ fext[j, 3:]
            torque += self.moved[j] * (self.J.T @ np.concatenate([force, moment + cross(p, force)]))
        return torque

    def balance(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        fext: np.ndarray | None,
        control: np.ndarray | None,
    ) -> None:
        """Sets M̃, dt F and what it is made of: M̃ (v⁺ − v − axes held) = dt F + Jᵀ λ."""
        self.update(q, v)
        torque, implicit = self.joint_terms(q, v, tau, control)
        if fext is not None:
            torque += self.pushed(fext)
        self.M = self.M + np.diag(implicit)
        self.size = np.abs(torque) + np.abs(self.b)
        self.unsure = np.zeros(self.model.nv, bool)
        b = self.b
        if self.moreau or self.dt * np.abs(v).max(initial=0.0) > 0.02:
            w = solve(self.M, torque - b)
            middle = pin.nonLinearEffects(self.model, self.data, q, v + 0.5 * self.dt * w)
            b = np.where(self.dofs_alone, b, middle)
            self.size = self.size + np.abs(b)
        b = b.copy()
        for j, iv in self.alone:
            spin = v[iv + 3 : iv + 6]
            if self.dt * np.sqrt(spin @ spin) > 0.3:  # several ways to do it; energy is looked at elsewhere
                self.unsure[iv : iv + 6] = True
                continue
            inertia = np.array(self.model.inertias[j].inertia)
            middle = spin_of_the_middle(inertia, spin, self.dt)
            old, new = cross(spin, inertia @ spin), cross(middle, inertia @ middle)
            b[iv + 3 : iv + 6] += new - old
            self.size[iv + 3 : iv + 6] += np.abs(old) + np.abs(new)
            # Nothing pulls at the centre of mass: its velocity is that of the origin and of what turns about it, in
            # the axes that the body had at the start of the step and has at its end.
            centre, mass = np.array(self.model.inertias[j].lever), self.model.inertias[j].mass
            end = 2.0 * middle - spin
            before = pin.exp3(-(self.dt - self.ahead) * spin) @ cross(spin, centre)
            after = pin.exp3(self.ahead * end) @ cross(end, centre)
            lost = (
                after - before - cross(end - spin, centre)
            ) / self.dt  # by the origin, beside what its turning takes
            held = cross(spin, cross(spin, centre))
            force = mass * (lost - held)
            b[iv : iv + 3] += force
            b[iv + 3 : iv + 6] += cross(centre, force)
            scale = mass * (np.abs(before) + np.abs(after)).max() / self.dt
            self.size[iv : iv + 3] += scale
            self.size[iv + 3 : iv + 6] += np.abs(centre).max() * scale
        self.impulse = self.dt * (torque - b)

    def point_rows(self, joint_1: np.ndarray, joint_2: np.ndarray, points: np.ndarray) -> np.ndarray:
        """(n, 3, nv): velocity of body 1 relative to body 2 at each point, world axes."""
        linear, angular = self.J[:3], self.J[3:]
        rows = linear - np.array([skew(p) for p in points]) @ angular  # v + ω × p
        return rows * (self.moved[joint_1] - self.moved[joint_2])[:, None, :]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of two vectors; numpy's own takes twenty times as long."""
    a0, a1, a2 = a
    b0, b1, b2 = b
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def skew(p: np.ndarray) -> np.ndarray:
    x, y, z = p
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def solve(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    """M⁻¹ x, scaled first: masses may lie decades apart."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(M), 1e-300))
    scaled = np.linalg.solve(scale[:, None] * M * scale, scale[:, None] * x if x.ndim == 2 else scale * x)
    return scale[:, None] * scaled if x.ndim == 2 else scale * scaled


def quaternion_matrix(x: np.ndarray) -> np.ndarray:
    x0, y, z, w = x
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x0 * y - z * w), 2 * (x0 * z + y * w)],
            [2 * (x0 * y + z * w), 1 - 2 * (x0 * x0 + z * z), 2 * (y * z - x0 * w)],
            [2 * (x0 * z - y * w), 2 * (y * z + x0 * w), 1 - 2 * (x0 * x0 + y * y)],
        ]
    )


def plane_matrix(x: np.ndarray) -> np.ndarray:
    return np.array([[x[0], -x[1]], [x[1], x[0]]])


def spin_of_the_middle(inertia: np.ndarray, spin: np.ndarray, dt: float) -> np.ndarray:
    """m with 2 I (m − ω) + dt m × I m = 0, by fixed points: a contraction for the slow spins it is asked for."""
    inverse = np.linalg.inv(inertia)
    middle = spin
    for _ in range(200):
        new = spin - 0.5 * dt * (inverse @ cross(middle, inertia @ middle))
        if np.abs(new - middle).max() <= 1e-16 * (1 + np.abs(spin).max()):
            return new
        middle = new
    return middle
