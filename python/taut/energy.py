"""Mechanical energy of a scene: what a passive run may only lose."""

from __future__ import annotations

import numpy as np
import pinocchio

from ._taut import Scene


def mechanical_energy(scene: Scene, q: np.ndarray, v: np.ndarray) -> float | np.ndarray:
    """Kinetic and potential energy of bodies, armature and joint springs, in J.

    A state gives a number; rows of states, q (n, nq) and v (n, nv), give an array (n,). The height of zero potential
    is z = 0 and springs count from their reference.
    """
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    model = scene.model
    if q.shape[-1:] != (model.nq,) or v.shape[-1:] != (model.nv,) or q.shape[:-1] != v.shape[:-1]:
        raise ValueError(f"q has shape {q.shape} and v {v.shape}, expected (..., {model.nq}) and (..., {model.nv})")
    if q.ndim == 1:
        return float(_energies(scene, q[None], v[None])[0])
    return _energies(scene, q, v)


def _energies(scene: Scene, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    model = scene.model
    data = model.createData()
    energy = np.empty(len(q))
    for k, (q_k, v_k) in enumerate(zip(q, v, strict=True)):
        energy[k] = pinocchio.computeMechanicalEnergy(model, data, q_k, v_k)
    # Springs act on joints of one coordinate, as in the step; 1/2 k (q - reference)^2 each.
    for joint in range(1, model.njoints):
        dof = model.idx_vs[joint]
        if model.nqs[joint] == model.nvs[joint] == 1 and scene.stiffness[dof] > 0:
            stretch = q[:, model.idx_qs[joint]] - scene.spring_reference[dof]
            energy += 0.5 * scene.stiffness[dof] * stretch**2
    return energy
