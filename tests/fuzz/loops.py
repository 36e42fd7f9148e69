"""Loops by their definition, for the judge: φ and J from frames in the world (docs/theory.md, "Loops")."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import taut

from .mechanics import Mechanics, cross, skew

LINEAR = {"point": 3, "hinge": 3, "weld": 3, "slider": 2, "cylindrical": 2, "universal": 3, "distance": 1}
ANGULAR = {"point": 0, "hinge": 2, "weld": 3, "slider": 3, "cylindrical": 2, "universal": 1, "distance": 0}


def size_of(loop: taut.Loop) -> int:
    return LINEAR[loop.kind] + ANGULAR[loop.kind]


class Frames:
    """A loop's constants: reading them from Python each step would cost more than the rest."""

    def __init__(self, loop: taut.Loop) -> None:
        self.kind, self.length = loop.kind, loop.length
        self.j1, self.j2 = loop.joint_1, loop.joint_2
        self.p1, self.R1 = np.array(loop.position_1), np.array(loop.rotation_1)
        self.p2, self.R2 = np.array(loop.position_2), np.array(loop.rotation_2)
        self.rigid = loop.compliance == 0 and loop.angular_compliance == 0
        self.size = size_of(loop)

    def error_and_rows(self, m: Mechanics) -> tuple[np.ndarray, np.ndarray]:
        """φ and dφ/dt as rows on v."""
        oM1, oM2 = m.oM[self.j1], m.oM[self.j2]
        o1, A = oM1[:3, :3] @ self.p1 + oM1[:3, 3], oM1[:3, :3] @ self.R1
        o2, B = oM2[:3, :3] @ self.p2 + oM2[:3, 3], oM2[:3, :3] @ self.R2
        apart = o2 - o1
        relative = m.moved[self.j2] - m.moved[self.j1]
        turn = m.J[3:] * relative
        # Velocity of the second origin less that of the point of body 1 which is there.
        move = (m.J[:3] - skew(o2) @ m.J[3:]) * relative
        if self.kind == "distance":
            far = np.sqrt(apart @ apart)
            return np.array([far - self.length]), (apart / far @ move)[None]
        n = LINEAR[self.kind]
        phi, rows = [*(A.T @ apart)[:n]], [*(A.T @ move)[:n]]
        if ANGULAR[self.kind] == 3:
            apart_turn = A.T @ B
            phi += [*pin.log3(apart_turn)]
            rows += [*(pin.Jlog3(apart_turn) @ B.T @ turn)]
        elif ANGULAR[self.kind] == 2:
            for k in range(2):
                phi.append(A[:, k] @ B[:, 2])
                rows.append(cross(B[:, 2], A[:, k]) @ turn)
        elif ANGULAR[self.kind] == 1:
            phi.append(A[:, 0] @ B[:, 1])
            rows.append(cross(B[:, 1], A[:, 0]) @ turn)
        return np.array(phi), np.array(rows)


def coupling_error_and_row(m: Mechanics, coupling: taut.Coupling, q: np.ndarray) -> tuple[float, np.ndarray]:
    """q_1 − r_1 − Σ a_k (q_2 − r_2)^k; a joint that turns without end has a rate and no position."""
    model = m.model
    one, two = model.joints[coupling.joint_1], model.joints[coupling.joint_2] if coupling.joint_2 else None
    endless = one.nq == 2 or (two is not None and two.nq == 2)
    row = np.zeros(model.nv)
    row[one.idx_v] = 1.0
    a = np.array(coupling.polynomial)
    x = 0.0 if two is None or two.nq == 2 else q[two.idx_q] - coupling.reference_2
    if two is not None:
        row[two.idx_v] -= sum(k * a[k] * x ** (k - 1) for k in range(1, 5))
    if endless:
        return 0.0, row
    return q[one.idx_q] - coupling.reference_1 - sum(a[k] * x**k for k in range(5)), row
