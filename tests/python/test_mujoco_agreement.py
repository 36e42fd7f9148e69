"""The same MJCF file in MuJoCo, without contact: two implementations of one smooth motion.

taut's step is of first order in dt, MuJoCo's Runge-Kutta of fourth. So taut at dt, dt/2 and dt/4 must approach MuJoCo
linearly, and Richardson's extrapolation of the three must hit it.
"""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

import taut

mujoco = pytest.importorskip("mujoco")

SECONDS = 1.0
FILES = ("half_cheetah", "humanoid", "go1_mjcf", "h1")
Disable = mujoco.mjtDisableBit
PASSIVE = Disable.mjDSBL_CONTACT | Disable.mjDSBL_LIMIT | Disable.mjDSBL_FRICTIONLOSS


def without_contact(name: str) -> taut.Scene:
    scene = taut.scenes.make(name, floor=False)
    scene.geometry.removeAllCollisionPairs()
    return scene


def in_mujoco_order(model: pinocchio.Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quaternions w first; the linear velocity of a free joint in the world's axes."""
    q, v = q.copy(), v.copy()
    for joint in range(1, model.njoints):
        if model.nqs[joint] == 7:
            iq, iv = model.idx_qs[joint], model.idx_vs[joint]
            v[iv : iv + 3] = pinocchio.Quaternion(q[iq + 3 : iq + 7].copy()).toRotationMatrix() @ v[iv : iv + 3]
            q[iq + 3 : iq + 7] = q[[iq + 6, iq + 3, iq + 4, iq + 5]]
    return q, v


def mujoco_motion(name: str, q: np.ndarray, v: np.ndarray, control: np.ndarray | None, dt: float) -> np.ndarray:
    model = mujoco.MjModel.from_xml_path(str(taut.scenes.path(name)))
    model.opt.disableflags |= int(PASSIVE)
    if control is None:
        model.opt.disableflags |= int(Disable.mjDSBL_ACTUATION)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = dt
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    if control is not None:
        data.ctrl[:] = control
    mujoco.mj_step(model, data, nstep=round(SECONDS / dt))
    return np.concatenate([data.qpos, data.qvel])


def taut_motion(scene: taut.Scene, q: np.ndarray, v: np.ndarray, control: np.ndarray | None, dt: float) -> np.ndarray:
    sim = taut.Simulator(scene, dt=dt, joint_limits=False, joint_friction=False)
    for _ in range(round(SECONDS / dt)):
        step = sim.step(q, v, control=control)
        q, v = step.q, step.v
    return np.concatenate(in_mujoco_order(scene.model, q, v))


def assert_same_motion(name: str, scene: taut.Scene, q: np.ndarray, v: np.ndarray, control=None) -> None:
    start = in_mujoco_order(scene.model, q, v)
    reference = mujoco_motion(name, *start, control, dt=2e-4)  # its own error, against 1e-4: below 3e-10
    scale = np.abs(reference).max()
    coarse, middle, fine = (taut_motion(scene, q, v, control, dt) for dt in (1e-3, 5e-4, 2.5e-4))
    errors = [np.abs(x - reference).max() / scale for x in (coarse, middle, fine)]
    assert errors[0] < 2e-2  # already near at 1 ms
    assert errors[1] / errors[0] == pytest.approx(0.5, abs=0.05)  # first order
    assert errors[2] / errors[1] == pytest.approx(0.5, abs=0.05)
    limit = (8 * fine - 6 * middle + coarse) / 3  # without the terms in dt and dt²
    np.testing.assert_allclose(limit, reference, rtol=0, atol=1e-4 * scale)  # the number


@pytest.mark.parametrize("name", FILES)
def test_passive_motion_is_mujocos(name, rng):
    """Inertias, armature, damping, springs and gravity of the file, from a small random velocity."""
    scene = without_contact(name)
    assert_same_motion(name, scene, scene.q0, 0.2 * rng.normal(size=scene.model.nv))


@pytest.mark.parametrize("name", FILES)
def test_motion_with_controls_is_mujocos(name, rng):
    """Motors: a small command. Position servos: a target 0.1 rad away, inside their force range."""
    scene = without_contact(name)
    control = 0.1 * rng.normal(size=len(scene.actuators))
    for i, actuator in enumerate(scene.actuators):
        if actuator.kind == "position":
            joint = list(scene.model.idx_vs).index(actuator.dof)
            control[i] += scene.q0[scene.model.idx_qs[joint]]
    assert_same_motion(name, scene, scene.q0, 0.2 * rng.normal(size=scene.model.nv), control)


@pytest.mark.parametrize("name", FILES)
def test_mass_matrix_and_bias_are_mujocos(name, rng):
    """At one random state, to rounding: what the file says before any integration."""
    scene = without_contact(name)
    q = pinocchio.integrate(scene.model, scene.q0, 0.3 * rng.normal(size=scene.model.nv))
    # At rest: velocities of free joints live in other axes in MuJoCo, accelerations differ by ω × v.
    v = np.zeros(scene.model.nv)
    data = scene.model.createData()
    M = pinocchio.crba(scene.model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    bias = pinocchio.nonLinearEffects(scene.model, data, q, v)
    model = mujoco.MjModel.from_xml_path(str(taut.scenes.path(name)))
    model.opt.disableflags |= int(PASSIVE)
    state = mujoco.MjData(model)
    state.qpos[:], state.qvel[:] = in_mujoco_order(scene.model, q, v)
    mujoco.mj_forward(model, state)
    # T v_taut = v_mujoco
    T = np.eye(scene.model.nv)
    for joint in range(1, scene.model.njoints):
        if scene.model.nqs[joint] == 7:
            iq, iv = scene.model.idx_qs[joint], scene.model.idx_vs[joint]
            T[iv : iv + 3, iv : iv + 3] = pinocchio.Quaternion(q[iq + 3 : iq + 7].copy()).toRotationMatrix()
    dense = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, state, dense)
    np.testing.assert_allclose(T.T @ dense @ T, M, atol=1e-9 * np.abs(M).max())
    np.testing.assert_allclose(T.T @ state.qfrc_bias, bias, atol=1e-9 * np.abs(bias).max())


def test_contacts_of_a_keyframe_are_mujocos():
    """Go1 stands in its floor in its own keyframe: the same feet, points and depths."""
    scene = taut.scenes.make("go1_mjcf")
    model = mujoco.MjModel.from_xml_path(str(taut.scenes.path("go1_mjcf")))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    theirs = {model.geom(contact.geom2).name: (contact.dist, contact.pos) for contact in data.contact}
    ours = {}
    for contact in taut.Simulator(scene).step(scene.q0, np.zeros(18)).contacts:
        pair = scene.geometry.collisionPairs[contact.pair]
        ours[scene.geometry.geometryObjects[pair.second].name] = (contact.gap, contact.point)
    assert ours.keys() == theirs.keys() == {"FR", "FL", "RR", "RL"}
    for foot in ours:
        assert ours[foot][0] == pytest.approx(theirs[foot][0], abs=1e-9)
        np.testing.assert_allclose(ours[foot][1], theirs[foot][1], atol=1e-9)
