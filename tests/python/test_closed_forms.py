"""What can be computed by hand: the *discrete* step has closed forms, so the bounds are those of the solver."""

from __future__ import annotations

import math
from itertools import pairwise

import coal
import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taut

GRAVITY = 9.81
DT = 1e-3


def rotation(q: np.ndarray) -> np.ndarray:
    """Of a free body whose coordinates are q (7,)."""
    return pinocchio.Quaternion(np.array(q[3:7])).toRotationMatrix()


def certified(trajectory: taut.Trajectory, tolerance: float) -> bool:
    return all(r.status == "converged" and r.residuals.worst <= tolerance for r in trajectory.reports)


def stopping_distance(speed: float, mu: float, dt: float) -> float:
    """Of the discrete brake v⁺ = max(0, v - mu g dt), x⁺ = x + dt v⁺; v0²/(2 mu g) as dt → 0."""
    distance = 0.0
    while speed > 0.0:
        speed = max(0.0, speed - mu * GRAVITY * dt)
        distance += dt * speed
    return distance


def test_free_fall_is_the_sum_of_its_steps():
    scene = taut.scenes.make("ball", height=10.0)
    steps = 1000
    path = taut.Simulator(scene, dt=DT).rollout(scene.q0, np.zeros(6), steps=steps)
    k = np.arange(steps + 1)
    # v_k = -g dt k and z_k = z_0 - g dt² k (k + 1) / 2; only rounding is left.
    np.testing.assert_allclose(path.v[:, 2], -GRAVITY * DT * k, rtol=0, atol=1e-11)
    np.testing.assert_allclose(path.q[:, 2], scene.q0[2] - GRAVITY * DT**2 * k * (k + 1) / 2, rtol=0, atol=1e-11)
    assert np.abs(path.v[:, [0, 1, 3, 4, 5]]).max() == 0.0


def test_resting_cube_keeps_still():
    scene = taut.scenes.make("cube_on_plane")
    path = taut.Simulator(scene, tolerance=1e-10).rollout(scene.q0, np.zeros(6), steps=2000)
    assert certified(path, 1e-10)
    assert np.abs(path.v).max() < 1e-9  # ten times the tolerance
    assert np.abs(path.q - scene.q0).max() < 1e-9


def test_resting_cube_is_carried_by_its_weight():
    scene = taut.scenes.make("cube_on_plane", mass=2.5)
    step = taut.Simulator(scene, tolerance=1e-12).step(scene.q0, np.zeros(6))
    total = sum(c.frame @ impulse for c, impulse in zip(step.contacts, step.impulses, strict=True))
    sign = 1.0 if step.contacts[0].joint_1 == 1 else -1.0  # impulses act on body 1
    np.testing.assert_allclose(sign * total, [0, 0, 2.5 * GRAVITY * DT], atol=1e-10)


@settings(max_examples=25)
@given(direction=st.floats(0.0, 2 * math.pi), mu=st.floats(0.1, 0.8), speed=st.floats(0.2, 1.5))
def test_sliding_cube_stops_at_the_same_distance_in_every_direction(direction, mu, speed):
    scene = taut.scenes.make("sliding_cube", mu=mu)
    along = np.array([math.cos(direction), math.sin(direction)])
    v = np.zeros(6)
    v[:2] = speed * along
    steps = math.ceil(speed / (mu * GRAVITY * DT)) + 20
    path = taut.Simulator(scene, dt=DT, tolerance=1e-10).rollout(scene.q0, v, steps=steps)
    moved = path.q[-1, :2] - scene.q0[:2]
    assert certified(path, 1e-10)
    # At most 2000 steps, each wrong by the tolerance: velocities 2e-7 m/s, distances 2e-7 m.
    assert moved @ along == pytest.approx(stopping_distance(speed, mu, DT), abs=2e-7)
    assert abs(moved @ [-along[1], along[0]]) < 2e-7
    assert np.abs(path.v[-1]).max() < 1e-9
    # The continuous formula is off by the last step at most: half of v0 dt.
    assert moved @ along == pytest.approx(speed**2 / (2 * mu * GRAVITY), abs=0.51 * speed * DT)


@pytest.mark.parametrize("mu", [0.2, 0.5, 0.8])
def test_cube_on_an_incline_sticks_below_the_friction_angle_and_slides_above(mu):
    for share in (0.9, 0.999):
        scene = taut.scenes.make("sliding_cube", mu=mu, slope=share * math.atan(mu))
        path = taut.Simulator(scene, tolerance=1e-9).rollout(scene.q0, np.zeros(6), steps=500)
        assert np.abs(path.v).max() < 1e-7  # sticks: no speed above a few times the tolerance
    for share in (1.001, 1.1):
        slope = share * math.atan(mu)
        scene = taut.scenes.make("sliding_cube", mu=mu, slope=slope)
        path = taut.Simulator(scene, dt=DT, tolerance=1e-9).rollout(scene.q0, np.zeros(6), steps=500)
        speed = rotation(path.q[-1]) @ path.v[-1, :3] @ np.array([math.cos(slope), 0.0, -math.sin(slope)])
        # a = g (sin α - mu cos α), exact for the discrete step; 500 steps wrong by the tolerance
        assert speed == pytest.approx(500 * DT * GRAVITY * (math.sin(slope) - mu * math.cos(slope)), abs=5e-7)


@pytest.mark.parametrize("height", [0.05, 0.3, 1.0])
def test_dropped_ball_lands_without_bouncing_or_sinking(height):
    scene = taut.scenes.make("ball", height=height, radius=0.1)
    path = taut.Simulator(scene, dt=DT, tolerance=1e-10).rollout(scene.q0, np.zeros(6), steps=1000)
    gap = path.q[:, 2] - 0.1
    k = np.arange(1001)
    fall = height - GRAVITY * DT**2 * k * (k + 1) / 2
    landing = int(np.argmax(fall <= 0.0))  # the first step that free fall would end below the floor
    np.testing.assert_allclose(gap[:landing], fall[:landing], rtol=0, atol=1e-11)
    # c_n ≥ -gap/dt closes the gap exactly: neither bounce, nor penetration; rounding and tolerance · dt remain.
    np.testing.assert_allclose(gap[landing:], 0.0, rtol=0, atol=1e-10)
    assert np.abs(path.v[landing + 1 :]).max() < 1e-9


def test_rolling_ball_reaches_the_rolling_speed_of_a_sliding_one():
    """A ball set down sliding at v0 rolls at 5/7 v0 (angular momentum about the contact line is kept)."""
    scene = taut.scenes.make("ball", height=0.0, radius=0.1, mu=0.5)
    v = np.array([1.0, 0, 0, 0, 0, 0])
    path = taut.Simulator(scene, dt=DT, tolerance=1e-11).rollout(scene.q0, v, steps=400)
    world = rotation(path.q[-1])
    linear, angular = world @ path.v[-1, :3], world @ path.v[-1, 3:]
    assert linear[0] == pytest.approx(5 / 7, abs=1e-7)
    assert angular[1] == pytest.approx(5 / 7 / 0.1, abs=1e-6)


def torque_free_body() -> tuple[taut.Scene, np.ndarray]:
    scene = taut.Scene()
    scene.gravity = [0, 0, 0]
    scene.add_body("block", coal.Box(0.3, 0.2, 0.1), 2.0, [0, 0, 1])
    return scene, np.array([0.3, -0.2, 0.1, 1.0, 4.0, 2.0])


def test_torque_free_body_keeps_its_momentum():
    scene, v0 = torque_free_body()
    # The inertia of a block, by hand.
    inertia = 2.0 / 12 * np.diag([0.2**2 + 0.1**2, 0.3**2 + 0.1**2, 0.3**2 + 0.2**2])
    spin_0 = inertia @ v0[3:]
    errors = []
    for dt in (1e-3, 5e-4, 2.5e-4):
        path = taut.Simulator(scene, dt=dt).rollout(scene.q0, v0, steps=round(1 / dt))
        linear = np.array([rotation(q) @ v[:3] for q, v in zip(path.q, path.v, strict=True)])
        np.testing.assert_allclose(linear, np.tile(v0[:3], (len(linear), 1)), atol=1e-12)  # exact in every step
        spin = rotation(path.q[-1]) @ inertia @ path.v[-1, 3:]
        errors.append(np.linalg.norm(spin - spin_0) / np.linalg.norm(spin_0))
    # The step is of first order: the error of the angular momentum is small and halves with dt.
    assert errors[0] < 2e-3
    assert errors[1] / errors[0] == pytest.approx(0.5, abs=0.02)
    assert errors[2] / errors[1] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("turn", [1e-3, 0.1, 1.0, 2.0, 3.0, 5.0, 10.0, 100.0])
def test_a_body_that_spins_freely_never_gains_energy(turn, rng):
    """However fast, and about its middle axis, where it tumbles; `turn` in rad a step, of moments up to 1e4 apart."""
    scene, dt, steps = taut.Scene(), 1e-2, 2000
    scene.gravity = [0, 0, 0]
    ratios, v = 10.0 ** rng.uniform(-4, 0, size=(6, 3)), np.zeros(36)
    for k, moments in enumerate(ratios):  # second moments of mass: what any body has
        inertia = np.diag(moments.sum() - moments)
        scene.add_body(f"body_{k}", None, 1.0, [2.0 * k, 0, 0], inertia=inertia)
        axis = np.eye(3)[np.argsort(np.diag(inertia))[1]] if k % 2 else np.zeros(3)
        omega = axis + 10.0 ** (-2 * (k % 2)) * rng.normal(size=3)
        v[6 * k + 3 : 6 * k + 6] = turn / dt * omega / np.linalg.norm(omega)
    path = taut.Simulator(scene, dt=dt).rollout(scene.q0, v, steps=steps)
    assert np.isfinite(path.v).all()
    omega = path.v.reshape(-1, 6, 6)[:, :, 3:]
    moments = ratios.sum(axis=1, keepdims=True) - ratios
    energy = (moments * omega**2).sum(axis=2)
    # Rounding as the condition of the inertia has it.
    rounding = 1e-14 * np.sqrt(steps) * moments.max(axis=1) / moments.min(axis=1)
    assert (energy.max(axis=0) / energy[0] - 1 < rounding).all()
    if turn <= 3.0:
        assert (energy.min(axis=0) / energy[0] - 1 > -rounding).all()
        momentum = np.linalg.norm(moments * omega, axis=2)
        np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(momentum), 1)), rtol=1e-6)


def bodies_off_their_origins(count: int, rng, decades: float = 4.0) -> tuple[taut.Scene, np.ndarray, np.ndarray]:
    """Bodies of 1 kg that fly alone, their second moments of mass, and where their centres are."""
    scene = taut.Scene()
    scene.gravity = [0, 0, 0]
    ratios, centres = 10.0 ** rng.uniform(-decades, 0, size=(count, 3)), rng.normal(size=(count, 3))
    for k, moments in enumerate(ratios):
        scene.add_body(f"body_{k}", None, 1.0, [2.0 * k, 0, 0], inertia=np.diag(moments.sum() - moments))
        scene.set_parameter(f"com:body_{k}", centres[k])
    return scene, ratios.sum(axis=1, keepdims=True) - ratios, centres


@pytest.mark.parametrize("integrator", ["euler", "moreau"])
@pytest.mark.parametrize("turn", [1e-3, 0.1, 1.0, 2.0, 3.0, 5.0, 10.0, 100.0])
def test_a_body_with_its_centre_off_its_origin_keeps_its_momentum(turn, integrator, rng):
    """And gains no energy: it is the centre of mass that flies straight on. `turn` in rad a step."""
    dt, steps = 1e-2, 3000
    scene, moments, centres = bodies_off_their_origins(6, rng)
    v0 = rng.normal(size=(6, 6))
    v0[:, 3:] *= turn / dt / np.linalg.norm(v0[:, 3:], axis=1, keepdims=True)
    path = taut.Simulator(scene, dt=dt, integrator=integrator).rollout(scene.q0, v0.ravel(), steps=steps)
    v, q = path.v.reshape(-1, 6, 6), path.q.reshape(-1, 6, 7)
    centre = v[..., :3] + np.cross(v[..., 3:], centres)
    energy = 0.5 * (centre**2).sum(axis=2) + 0.5 * (moments * v[..., 3:] ** 2).sum(axis=2)
    # Rounding of the spin: the turn times the condition of the inertia about the origin; and of the turn again.
    condition = (moments.max(axis=1) + (centres**2).sum(axis=1)) / moments.min(axis=1)
    rounding = 1e-14 * np.sqrt(steps) * max(1.0, turn) ** 2 * condition
    assert (energy.max(axis=0) / energy[0] - 1 < rounding).all()
    momentum = np.array([[rotation(q[k, i]) @ centre[k, i] for i in range(6)] for k in (0, 1, 10, 1000, steps)])
    size = np.linalg.norm(v[0, :, :3], axis=1) + turn / dt * np.linalg.norm(centres, axis=1)
    assert (np.abs(momentum - momentum[0]).max(axis=(0, 2)) < rounding * size).all()


def test_a_body_with_its_centre_off_its_origin_flies_to_second_order_by_moreaus_rule(rng):
    """Towards where it is after 1 s when steps are short: errors quarter with dt, Euler's halve."""
    scene, _, _ = bodies_off_their_origins(3, rng, decades=0.5)
    v0 = 2.0 * rng.normal(size=18)

    def end(dt, integrator):
        path = taut.Simulator(scene, dt=dt, integrator=integrator).rollout(scene.q0, v0, steps=round(1 / dt))
        return np.concatenate([path.q[-1], path.v[-1]])

    reference = (4 * end(1e-4, "moreau") - end(2e-4, "moreau")) / 3
    for integrator, order in (("euler", 1), ("moreau", 2)):
        errors = [np.linalg.norm(end(dt, integrator) - reference) for dt in (4e-3, 2e-3, 1e-3)]
        for long, short in pairwise(errors):
            assert long / short == pytest.approx(2**order, rel=0.05)


@pytest.mark.parametrize("integrator", ["euler", "moreau"])
def test_gravity_pulls_at_the_centre_of_mass(integrator, rng):
    scene, _, centres = bodies_off_their_origins(3, rng, decades=1.0)
    scene.gravity = [0, 0, -GRAVITY]
    v0 = np.array([1.0, -0.5, 2.0, 5.0, 3.0, -8.0])
    path = taut.Simulator(scene, dt=DT, integrator=integrator).rollout(scene.q0, np.tile(v0, 3), steps=500)
    for k in range(3):
        q, v = path.q[:, 7 * k : 7 * k + 7], path.v[:, 6 * k : 6 * k + 6]
        world = np.array(
            [rotation(q_i) @ (v_i[:3] + np.cross(v_i[3:], centres[k])) for q_i, v_i in zip(q, v, strict=True)]
        )
        fall = np.outer(DT * np.arange(501), [0, 0, -GRAVITY])
        np.testing.assert_allclose(world, world[0] + fall, atol=1e-10)


def momenta(q: np.ndarray, v: np.ndarray, masses, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Linear, and angular about the origin, of balls."""
    linear, angular = np.zeros(3), np.zeros(3)
    for i, mass in enumerate(masses):
        qi, vi = q[7 * i : 7 * i + 7], v[6 * i : 6 * i + 6]
        velocity = rotation(qi) @ vi[:3]
        linear += mass * velocity
        angular += np.cross(qi[:3], mass * velocity) + 0.4 * mass * radius**2 * (rotation(qi) @ vi[3:])
    return linear, angular


@pytest.mark.parametrize("offset", [0.0, 0.05, 0.12])
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_two_balls_that_collide_keep_their_momenta(offset, mu):
    masses, radius = (1.0, 3.0), 0.1
    scene = taut.Scene()
    scene.gravity = [0, 0, 0]
    scene.add_body("left", coal.Sphere(radius), masses[0], [-0.3, 0, 0], friction=mu)
    scene.add_body("right", coal.Sphere(radius), masses[1], [0.3, offset, 0], friction=mu)
    v = np.zeros(12)
    v[0], v[6], v[5] = 2.0, -1.0, 3.0
    path = taut.Simulator(scene, tolerance=1e-12).rollout(scene.q0, v, steps=400)
    assert max(path.contacts) == 1
    linear_0, angular_0 = momenta(path.q[0], path.v[0], masses, radius)
    for k in range(0, 401, 20):
        linear, angular = momenta(path.q[k], path.v[k], masses, radius)
        # impulses are equal and opposite at one point: rounding only, in every step
        np.testing.assert_allclose(linear, linear_0, atol=1e-12)
        np.testing.assert_allclose(angular, angular_0, atol=1e-12)
    if offset == 0.0 and mu == 0.0:  # head-on: plastic, both leave with the common velocity
        for i in (0, 1):
            velocity = rotation(path.q[-1, 7 * i : 7 * i + 7]) @ path.v[-1, 6 * i : 6 * i + 3]
            np.testing.assert_allclose(velocity, [(2.0 - 3.0) / 4.0, 0, 0], atol=1e-9)


def test_heavy_cube_on_a_light_one_stands_still():
    scene = taut.scenes.make("heavy_on_light", ratio=1000.0)
    path = taut.Simulator(scene).rollout(scene.q0, np.zeros(12), steps=5000)
    assert certified(path, 1e-6)
    sinking = scene.q0[[2, 9]] - path.q[:, [2, 9]]
    assert sinking.max() < 1e-4  # MuJoCo 48 mm, Drake 0.5 to 1 mm
    assert np.abs(path.q - scene.q0).max() < 1e-6  # what the solver makes of it


def test_stack_of_ten_stands_for_ten_seconds():
    scene = taut.scenes.make("stack", n=10)
    path = taut.Simulator(scene).rollout(scene.q0, np.zeros(60), steps=10_000)
    assert certified(path, 1e-6)
    drift = np.abs(path.q - scene.q0).max()
    # Ten seconds at the tolerance of 1e-6 m/s, should every error point the same way, are 10 µm a cube.
    assert drift < 1e-4


def test_pinched_capsule_does_not_creep():
    scene = taut.scenes.make("pinched_capsule", mu=1.0, mass=0.045)
    seconds = 5
    taus = np.zeros((1000 * seconds, 8))
    taus[:, :2] = 5.0
    path = taut.Simulator(scene).rollout(scene.q0, np.zeros(8), taus)
    assert certified(path, 1e-6)
    moved = path.q[:, 2:5] - scene.q0[2:5]
    assert np.linalg.norm(moved[-1]) / seconds < 1e-6  # 1 µm/s
    assert np.abs(path.q[:, 5:] - scene.q0[5:]).max() < 1e-5  # it does not turn either


def test_pinched_capsule_falls_when_the_pads_do_not_hold_its_weight():
    """The other side of the claim: two pads at mu f each carry 2 mu f < m g."""
    scene = taut.scenes.make("pinched_capsule", mu=1.0, mass=0.045)
    taus = np.zeros((100, 8))  # 25 mm of fall: it is still between the pads
    taus[:, :2] = 0.5 * 0.045 * GRAVITY / 2  # half of what would hold it
    path = taut.Simulator(scene, tolerance=1e-9).rollout(scene.q0, np.zeros(8), taus)
    assert path.v[-1, 4] == pytest.approx(-0.5 * GRAVITY * 0.1, abs=1e-7)  # half its weight is held


def test_prism_does_not_drift():
    scene = taut.scenes.make("prism", mu=0.6)
    path = taut.Simulator(scene).rollout(scene.q0, np.zeros(6), steps=6000)
    assert certified(path, 1e-6)
    assert np.abs(path.q[:, :3] - scene.q0[:3]).max() < 1e-4  # 0.1 mm in 6 s
