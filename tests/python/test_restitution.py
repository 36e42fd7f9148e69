"""Newton's restitution: heights e², exchange of velocities, stops, and energy that never grows."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taut

DT = 1e-3
GRAVITY = 9.81
RADIUS = 0.1


def falling_ball(e: float, height: float = 1.0) -> taut.Scene:
    scene = taut.Scene()
    scene.add_floor(restitution=e)
    scene.add_body("ball", coal.Sphere(RADIUS), 2.0, [0, 0, RADIUS + height])
    return scene


def apexes(z: np.ndarray) -> np.ndarray:
    """Local maxima of the height."""
    inside = (z[1:-1] >= z[:-2]) & (z[1:-1] > z[2:])
    return z[1:-1][inside]


@pytest.mark.parametrize("integrator", ["euler", "moreau"])
@pytest.mark.parametrize("e", [0.5, 0.8, 1.0])
def test_a_ball_bounces_to_heights_of_e_squared(e, integrator):
    scene = falling_ball(e)
    sim = taut.Simulator(scene, dt=DT, tolerance=1e-10, integrator=integrator)
    path = sim.rollout(scene.q0, np.zeros(6), steps=3000)
    heights = apexes(path.q[:, 2]) - RADIUS
    # A bounce is in time by less than a step, g t dt = v dt of height with v = 4.4 m/s at most; from one to the next
    # that share repeats.
    for k, height in enumerate(heights[:3], start=1):
        assert height == pytest.approx(e ** (2 * k), abs=k * 4.5 * DT * (1 + e))
    # It never sinks in; the midpoint scheme sees an impact up to half a step late.
    assert path.q[:, 2].min() > RADIUS - (1e-9 if integrator == "euler" else 4.5 * DT / 2)


def test_with_e_1_the_way_up_mirrors_the_way_down():
    scene = falling_ball(1.0)
    path = taut.Simulator(scene, dt=DT, tolerance=1e-12).rollout(scene.q0, np.zeros(6), steps=20_000)
    heights = apexes(path.q[:, 2]) - RADIUS
    assert len(heights) > 20
    # The discrete fall is symmetric: no drift, whatever the number of bounces.
    assert np.abs(heights - 1.0).max() < 1e-2
    assert heights.max() <= 1.0 + 1e-9
    assert abs(heights[-3:].mean() - heights[:3].mean()) < 5e-3


def test_with_e_0_it_stays_down():
    scene = falling_ball(0.0, height=0.3)
    path = taut.Simulator(scene, dt=DT, tolerance=1e-12).rollout(scene.q0, np.zeros(6), steps=1000)
    landed = int(np.argmax(path.q[:, 2] < RADIUS + 1e-9))
    assert landed > 0
    np.testing.assert_allclose(path.q[landed:, 2], RADIUS, rtol=0, atol=1e-9)


def test_a_slow_ball_does_not_bounce_and_comes_to_rest():
    scene = falling_ball(0.7, height=0.2)
    path = taut.Simulator(scene, dt=DT).rollout(scene.q0, np.zeros(6), steps=3000)
    assert np.abs(path.v[-100:]).max() < 1e-6
    slow = taut.Simulator(scene, dt=DT, restitution_threshold=10.0).rollout(scene.q0, np.zeros(6), steps=1000)
    assert (apexes(slow.q[:, 2]) - RADIUS).max(initial=0.0) < 1e-9  # rounding


@given(m=st.floats(0.1, 10.0), e=st.floats(0.0, 1.0), fast=st.floats(0.5, 5.0), slow=st.floats(-2.0, 0.3))
@settings(max_examples=40)
def test_two_balls_collide_as_in_the_textbook(m, e, fast, slow):
    """v1⁺ = v_c − e m2/(m1+m2) (v1 − v2), and so on; momentum is kept."""
    scene = taut.Scene()
    scene.gravity = np.zeros(3)
    scene.add_body("one", coal.Sphere(RADIUS), 1.0, [0, 0, 0], friction=0.0)
    scene.add_body("two", coal.Sphere(RADIUS), m, [0.25, 0, 0], friction=0.0)
    scene.set_pair_restitution("one", "two", e)
    v = np.zeros(12)
    v[0], v[6] = fast, slow
    steps = round(1.2 * 0.05 / (fast - slow) / DT) + 2
    path = taut.Simulator(scene, dt=DT, tolerance=1e-11).rollout(scene.q0, v, steps=steps)
    middle = (fast + m * slow) / (1 + m)
    expected = (middle - e * m / (1 + m) * (fast - slow), middle + e / (1 + m) * (fast - slow))
    assert path.v[-1, 0] == pytest.approx(expected[0], abs=1e-8)
    assert path.v[-1, 6] == pytest.approx(expected[1], abs=1e-8)


def cradle(gap: float, balls: int = 5) -> taut.Scene:
    scene = taut.Scene()
    scene.gravity = np.zeros(3)
    pitch = 2 * RADIUS + gap
    for k in range(balls):
        scene.add_body(f"ball{k}", coal.Sphere(RADIUS), 1.0, [k * pitch, 0, 0], friction=0.0, restitution=1.0)
    return scene


@pytest.mark.parametrize("hitting", [1, 2])
def test_newtons_cradle(hitting):
    """As many balls leave as arrive. Gaps that take longer than a step: one impact after the other."""
    scene = cradle(gap=3e-3)
    q, v = np.array(scene.q0), np.zeros(30)
    for k in range(hitting):
        q[7 * k] -= 0.05
        v[6 * k] = 1.0
    path = taut.Simulator(scene, dt=DT, tolerance=1e-12).rollout(q, v, steps=150)
    expected = np.zeros(5)
    expected[5 - hitting :] = 1.0
    np.testing.assert_allclose(path.v[-1, 0::6], expected, rtol=0, atol=1e-9)


def test_balls_that_touch_share_an_impact_as_newtons_law_says():
    """Three in a row, simultaneous: the law for both contacts at once, [KL, eq. (54)], gives −1/3, 2/3, 2/3."""
    scene = cradle(gap=0.0, balls=3)
    q, v = np.array(scene.q0), np.zeros(18)
    q[0] -= 0.05
    v[0] = 1.0
    path = taut.Simulator(scene, dt=DT, tolerance=1e-12).rollout(q, v, steps=100)
    np.testing.assert_allclose(path.v[-1, 0::6], [-1 / 3, 2 / 3, 2 / 3], rtol=0, atol=1e-9)


@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
def test_a_joint_bounces_off_its_stop(e, load_text):
    scene = load_text(
        '<mujoco><option gravity="0 0 0"/><worldbody><body><joint type="slide" axis="1 0 0" range="-1 0.5"/>'
        '<inertial pos="0 0 0" mass="3" diaginertia="1 1 1"/></body></worldbody></mujoco>'
    )
    scene.limit_restitution = [e]
    path = taut.Simulator(scene, dt=DT, tolerance=1e-12).rollout(scene.q0, np.array([2.0]), steps=400)
    assert path.v[-1, 0] == pytest.approx(-2.0 * e, abs=1e-9)
    assert path.q[:, 0].max() <= 0.5 + 1e-9
    if e == 0.0:
        assert path.q[-1, 0] == pytest.approx(0.5, abs=1e-9)


@given(
    e=st.floats(0.0, 1.0),
    mu=st.floats(0.0, 1.5),
    tilt=st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3),
    spin=st.lists(st.floats(-15.0, 15.0), min_size=3, max_size=3),
    way=st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3),
)
@settings(max_examples=25)
def test_energy_never_grows_in_an_impact(e, mu, tilt, spin, way):
    """A box thrown at the floor with friction, where Newton's law alone may gain (Kane's paradox)."""
    scene = taut.Scene()
    scene.add_floor(friction=mu, restitution=e)
    quaternion = np.array([*tilt, 1.0])
    scene.add_body(
        "box", coal.Box(0.3, 0.2, 0.1), 1.5, [0, 0, 0.4], quaternion / np.linalg.norm(quaternion), friction=mu
    )
    sim = taut.Simulator(scene, dt=DT, tolerance=1e-9)
    q, v = np.array(scene.q0), np.array([*way, *spin])

    def energy(q: np.ndarray, v: np.ndarray) -> float:
        """What semi-implicit Euler keeps in free fall: E - m g v_z dt/2."""
        rising = (pinocchio.Quaternion(q[3:7].copy()).toRotationMatrix() @ v[:3])[2]
        return taut.mechanical_energy(scene, q, v) - 1.5 * GRAVITY * rising * DT / 2

    before = scale = energy(q, v)
    for _ in range(600):
        step = sim.step(q, v)
        q, v = step.q, step.v
        now = energy(q, v)
        assert now <= before + 1e-4 * scale  # a tumbling box wavers by (ω dt)² of its energy
        before = now


def test_a_spinning_ball_loses_nothing_at_a_ceiling():
    """Axes that turn with the ball are no energy: e stays what it is."""
    scene = taut.Scene()
    scene.add_shape("ceiling", coal.Halfspace(np.array([0.0, 0.0, -1.0]), -1.0), restitution=1.0, friction=0.0)
    scene.add_body("ball", coal.Sphere(RADIUS), 1.0, [0, 0, 0.85], friction=0.0)
    sim = taut.Simulator(scene, dt=DT, tolerance=1e-10)
    q, v = np.array(scene.q0), np.array([0, 0, 5.0, 100.0, 0, 0])
    for _ in range(30):
        step = sim.step(q, v)
        q, v = step.q, step.v
        assert sim.restitution_scale == 1.0
    rising = (pinocchio.Quaternion(q[3:7].copy()).toRotationMatrix() @ v[:3])[2]
    assert rising == pytest.approx(-5.0, abs=2 * 30 * GRAVITY * DT)


def test_a_bounce_with_friction_turns_the_ball_as_the_closed_form_says():
    """A sliding ball hits the floor: λ_t = μ (1 + e) m v_n backwards while it slides, ω = 5/2 λ_t/(m r)."""
    mu, e, v_n, v_t = 0.2, 0.5, 2.0, 3.0
    scene = falling_ball(e, height=1e-9)  # a gap would lengthen the arm of the friction by half of it
    scene.gravity = np.zeros(3)
    scene.set_pair_friction("floor", "ball", mu)
    v = np.array([v_t, 0, -v_n, 0, 0, 0])
    path = taut.Simulator(scene, dt=DT, tolerance=1e-12).rollout(scene.q0, v, steps=5)
    lost = mu * (1 + e) * v_n
    spin = 5 / 2 * lost / RADIUS
    turned = path.v[-1]
    assert np.linalg.norm(turned[:3]) == pytest.approx(np.hypot(v_t - lost, e * v_n), abs=1e-9)
    assert turned[4] == pytest.approx(spin, abs=1e-6)
