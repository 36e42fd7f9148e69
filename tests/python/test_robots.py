"""Robots: every scene runs certified, and those with feet land on them."""

from __future__ import annotations

import functools

import numpy as np
import pinocchio
import pytest

import taut

# Gains (N m/rad, N m s/rad) that carry the robot with a sag of millimetres and damp it within a second. They are
# taken implicitly: no upper bound comes from dt.
GAINS = {"go1": (300.0, 10.0), "solo12": (40.0, 1.0), "anymal": (1000.0, 40.0), "talos": (20000.0, 1000.0)}


@pytest.mark.parametrize("name", taut.scenes.names())
def test_scene_steps_certified(name):
    scene = taut.scenes.make(name)
    # A bounded solver: a scene that cannot be solved fails soon instead of running for minutes.
    start = scene.assemble()  # Cassie's file has its loops open by 2 mm
    path = taut.Simulator(scene, max_iterations=2000).rollout(start, np.zeros(scene.model.nv), steps=50)
    assert len(path) == 50
    assert np.isfinite(path.q).all()
    assert np.isfinite(path.v).all()
    assert {report.status for report in path.reports} == {"converged"}
    assert max(report.residuals.worst for report in path.reports) <= 1e-6
    # Nothing is thrown: from rest, 50 ms of gravity give 0.5 m/s to a base and some rad/s to light links.
    assert np.abs(path.v).max() < 50.0


# The keyframe of Go1's MJCF file stands 17.8 mm in the floor, that of Cassie 0.35 mm, and a keyframe is taken as it is:
# see test_mujoco_agreement.py and test_equality.py, where MuJoCo measures the same.
@pytest.mark.parametrize("name", [name for name in taut.scenes.names() if name not in ("go1_mjcf", "cassie")])
def test_scene_does_not_start_in_penetration(name):
    scene = taut.scenes.make(name)
    step = taut.Simulator(scene, max_iterations=2000).step(scene.q0, np.zeros(scene.model.nv))
    deepest = min((contact.gap for contact in step.contacts), default=0.0)
    assert deepest > -2e-4  # 0.1 mm is what loading a pose leaves to the solver; meshes are in floats


@functools.cache
def drop(name: str) -> tuple[np.ndarray, taut.Trajectory]:
    """The stance, and the robot let go half a metre above it with its joints held: 3 s at 1 ms."""
    stance = taut.scenes.make(name).q0
    scene = taut.scenes.make(name, height=0.5)
    assert scene.q0[2] == pytest.approx(stance[2] + 0.5)
    sim = taut.Simulator(scene, dt=1e-3, tolerance=1e-6)
    sim.hold(scene.q0, *(np.full(scene.model.nv, gain) for gain in GAINS[name]))
    return stance, sim.rollout(scene.q0, np.zeros(scene.model.nv), steps=3000)


@pytest.mark.parametrize("name", GAINS)
def test_dropped_robot_is_certified_on_every_step(name):
    _, path = drop(name)
    assert len(path) == 3000
    uncertified = [k for k, report in enumerate(path.reports) if report.status != "converged"]
    assert uncertified == []
    assert max(report.residuals.worst for report in path.reports) <= 1e-6
    assert max(report.residuals.natural for report in path.reports) <= 1e-6


@pytest.mark.parametrize("name", GAINS)
def test_dropped_robot_stands(name):
    stance, path = drop(name)
    assert path.contacts[0] == 0  # it did fall
    assert path.q[300, 2] < path.q[0, 2] - 0.3  # g t²/2 = 0.44 m after 0.3 s
    upright = 1 - 2 * (path.q[-1, 3] ** 2 + path.q[-1, 4] ** 2)  # z of the base's z axis
    assert upright > 0.999  # within 2.6 degrees
    assert abs(path.q[-1, 2] - stance[2]) < 0.02  # gains let it sag by millimetres
    assert np.linalg.norm(path.q[-1, :2] - stance[:2]) < 0.05  # it stayed where it landed
    assert np.abs(path.q[-1, 7:] - stance[7:]).max() < 0.1
    assert path.contacts[-1] >= 4


@pytest.mark.parametrize("name", GAINS)
def test_dropped_robot_comes_to_rest(name):
    _, path = drop(name)
    # The judge's 1e-6 m/s at the feet is some 1e-5 rad/s at the joints of a robot this size; ten times that.
    assert np.abs(path.v[-200:]).max() < 1e-4
    assert np.abs(path.q[-1] - path.q[-200]).max() < 2e-5


@pytest.mark.parametrize("name", GAINS)
def test_robot_at_rest_is_carried_by_its_feet(name):
    """The vertical impulses of a standing robot sum to m g dt, whatever their distribution."""
    _, path = drop(name)
    scene = taut.scenes.make(name)
    sim = taut.Simulator(scene)
    sim.hold(scene.q0, *(np.full(scene.model.nv, gain) for gain in GAINS[name]))
    q, v = path.q[-1], path.v[-1]
    total, steps = 0.0, 50
    for _ in range(steps):
        step = sim.step(q, v)
        q, v = step.q, step.v
        for contact, impulse in zip(step.contacts, step.impulses, strict=True):
            if 0 in (contact.joint_1, contact.joint_2):
                total += (contact.frame @ impulse)[2] * (1 if contact.joint_2 == 0 else -1)
    weight = pinocchio.computeTotalMass(scene.model) * 9.81 * 1e-3
    assert total / steps == pytest.approx(weight, rel=1e-3)
