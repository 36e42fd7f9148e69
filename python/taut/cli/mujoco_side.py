"""MuJoCo's half of a benchmark: the same file, the same state, one thread."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio

from .._taut import Scene

try:
    import mujoco
except ImportError:  # an extra: taut[bench]
    mujoco = None

MISSING = 'MuJoCo is not installed, so taut runs alone; pip install "taut[bench]" brings it'


def available() -> bool:
    return mujoco is not None


def version() -> str | None:
    return mujoco.__version__ if mujoco else None


class MujocoRun:
    """Steps a file with its own options for MuJoCo, except for the time step and the actuators, which are off.

    `alike` takes away what costs MuJoCo time and taut does not do: other integrators than Euler, and torsional and
    rolling friction (condim 4 and 6), which make a contact problem of up to six rows where taut has three.
    """

    def __init__(self, path: Path, scene: Scene, q: np.ndarray, v: np.ndarray, dt: float, alike: bool = False) -> None:
        with _quiet():
            self.model = mujoco.MjModel.from_xml_path(str(path))
        self.model.opt.timestep = dt
        # taut runs passively; here a servo with control 0 would pull its joint to 0.
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        if alike:
            self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
            self.model.geom_condim[:] = np.minimum(self.model.geom_condim, 3)
            self.model.pair_dim[:] = np.minimum(self.model.pair_dim, 3)
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:], self.data.qvel[:] = mujoco_state(self.model, scene, q, v)

    def extras(self) -> list[str]:
        """What these options make MuJoCo do beyond taut."""
        integrator = mujoco.mjtIntegrator(self.model.opt.integrator).name.removeprefix("mjINT_")
        condim = max([*self.model.geom_condim, *self.model.pair_dim], default=0)
        found = {integrator: integrator != "EULER", f"condim {condim}": condim > 3}
        return [what for what, present in found.items() if present]

    def chunk(self, steps: int) -> float:
        """Wall time of so many steps, s."""
        with _quiet():
            start = time.perf_counter()
            mujoco.mj_step(self.model, self.data, nstep=steps)
            return time.perf_counter() - start

    def differences(self) -> float:
        """Wall time of its centred differences of a step from here, s."""
        n = 2 * self.model.nv + self.model.na
        A, B = np.zeros((n, n)), np.zeros((n, max(self.model.nu, 1)))
        with _quiet():
            start = time.perf_counter()
            mujoco.mjd_transitionFD(self.model, self.data, 1e-6, True, A, B if self.model.nu else None, None, None)
            return time.perf_counter() - start

    def contacts(self) -> int:
        return int(self.data.ncon)

    def smallest_gap(self) -> float | None:
        mujoco.mj_forward(self.model, self.data)  # contacts of the state itself: a step leaves those of the one before
        return float(self.data.contact.dist.min()) if self.data.ncon else None

    def configuration(self, scene: Scene) -> np.ndarray:
        """Where it is, as taut writes it: quaternions end with w."""
        ours, q = scene.model, np.array(self.data.qpos)
        for joint in range(1, ours.njoints):
            if (ours.nqs[joint], ours.nvs[joint]) in ((7, 6), (4, 3)):
                end = ours.idx_qs[joint] + ours.nqs[joint]
                quaternion = q[[end - 3, end - 2, end - 1, end - 4]]
                q[end - 4 : end] = quaternion / np.linalg.norm(quaternion)
        return q

    def warnings(self) -> int:
        """How often MuJoCo found its state bad; it restarts from the initial one then."""
        return int(sum(warning.number for warning in self.data.warning))


def mujoco_state(model, scene: Scene, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) of taut as MuJoCo's (qpos, qvel).

    A quaternion is (x, y, z, w) here and (w, x, y, z) there; a free joint's linear velocity is local here and in the
    world there, its angular velocity local in both.
    """
    ours = scene.model
    if (model.nq, model.nv, model.njnt) != (ours.nq, ours.nv, ours.njoints - 1):
        raise ValueError(
            f"taut reads {ours.njoints - 1} joints with {ours.nq} coordinates from this file and MuJoCo "
            f"{model.njnt} with {model.nq}: they cannot start from the same state"
        )
    qpos, qvel = np.empty(model.nq), np.empty(model.nv)
    for joint in range(1, ours.njoints):
        theirs = joint - 1  # both number joints depth first
        name = model.joint(theirs).name
        if name and name != ours.names[joint]:
            raise ValueError(f"joint {theirs} is '{ours.names[joint]}' for taut and '{name}' for MuJoCo")
        q_j = q[ours.idx_qs[joint] :][: ours.nqs[joint]]
        v_j = v[ours.idx_vs[joint] :][: ours.nvs[joint]]
        if ours.nqs[joint] == 7:
            x, y, z, w = q_j[3:]
            q_j = [*q_j[:3], w, x, y, z]
            v_j = [*(pinocchio.Quaternion(w, x, y, z).toRotationMatrix() @ v_j[:3]), *v_j[3:]]
        elif ours.nqs[joint] == 4:
            x, y, z, w = q_j
            q_j = [w, x, y, z]
        qpos[model.jnt_qposadr[theirs] :][: ours.nqs[joint]] = q_j
        qvel[model.jnt_dofadr[theirs] :][: ours.nvs[joint]] = v_j
    return qpos, qvel


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without a handler MuJoCo prints warnings into the progress bar and leaves MUJOCO_LOG.TXT where one stands."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
