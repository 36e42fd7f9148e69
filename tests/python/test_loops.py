"""Loop closures against closed forms: analytic linkages, the same machine in other coordinates, energy."""

from __future__ import annotations

import itertools
import math

import coal
import numpy as np
import pinocchio
import pytest

import taut
from taut.experiments.loops.solvers import violation
from taut.loading import from_pinocchio
from taut.mechanisms import Sketch

DT = 1e-3
GRAVITY = 9.81
X, Y, Z = np.eye(3)


def weightless(scene: taut.Scene) -> taut.Scene:
    scene.gravity = np.zeros(3)
    return scene


def placement(scene: taut.Scene, q: np.ndarray, body: str) -> pinocchio.SE3:
    """Of a body in the world, in either kind of coordinates."""
    data = scene.model.createData()
    pinocchio.framesForwardKinematics(scene.model, data, q)
    return data.oMf[scene.model.getFrameId(body)].copy()


def spun(scene: taut.Scene, name: str, speed: float) -> np.ndarray:
    """A velocity of the closed mechanism in which the body turns about y at `speed`: the smallest there is."""
    model = scene.model
    data = model.createData()
    frame = model.getFrameId(name)
    J = pinocchio.computeFrameJacobian(model, data, scene.q0, frame, pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED)
    rows = np.vstack([scene.loop_jacobian(scene.q0), J[4]])
    wanted = np.zeros(len(rows))
    wanted[-1] = speed
    v, *_ = np.linalg.lstsq(rows, wanted, rcond=1e-10)
    assert np.abs(rows @ v - wanted).max() < 1e-9
    return v


def crank_angle(scene: taut.Scene, q: np.ndarray, body: str, start: np.ndarray) -> float:
    """Of the z axis of a rod, in the plane of x and z, from x towards z, where it was drawn along `start`."""
    along = placement(scene, q, body).rotation @ placement(scene, scene.q0, body).rotation.T @ start
    return math.atan2(along[2], along[0])


# --- a four-bar

GROUND, CRANK, COUPLER, ROCKER = 0.4, 0.2, 0.45, 0.35


def four_bar_corner(theta: float) -> np.ndarray:
    """Where coupler and rocker meet, seen from the crank's pivot: two circles, the upper point."""
    tip = CRANK * np.array([math.cos(theta), math.sin(theta)])
    other = np.array([GROUND, 0.0])
    apart = np.linalg.norm(other - tip)
    along = (COUPLER**2 - ROCKER**2 + apart**2) / (2 * apart)
    ahead = (other - tip) / apart
    return tip + along * ahead + math.sqrt(COUPLER**2 - along**2) * np.array([-ahead[1], ahead[0]])


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
def test_four_bar_follows_its_analytic_kinematics_over_full_turns(coordinates):
    scene = weightless(taut.scenes.make("fourbar_fixed", coordinates=coordinates))
    sim = taut.Simulator(scene, dt=DT, tolerance=1e-9)
    path = sim.rollout(scene.q0, spun(scene, "crank", -6.0), steps=2500)
    pivot = np.array([0.0, 0.0, 1.0])
    angles = []
    for q in path.q[::5]:
        theta = crank_angle(scene, q, "crank", Z)
        angles.append(theta)
        corner = four_bar_corner(theta)
        expected = pivot + np.array([corner[0], 0.0, corner[1]])
        # The ends of coupler and rocker that meet there; each has its frame in its middle and z along it.
        coupler, rocker = placement(scene, q, "coupler"), placement(scene, q, "rocker")
        at_coupler = coupler.act(np.array([0.0, 0.0, COUPLER / 2]))
        at_rocker = rocker.act(np.array([0.0, 0.0, -ROCKER / 2]))
        np.testing.assert_allclose(at_coupler, expected, rtol=0, atol=2e-6)
        np.testing.assert_allclose(at_rocker, expected, rtol=0, atol=2e-6)
    turned = np.abs(np.diff(np.unwrap(angles))).sum()
    assert turned > 2 * 2 * math.pi  # two turns at least: it passed everywhere
    # Nothing is driven and nothing rubs.
    energy = taut.mechanical_energy(scene, path.q, path.v)
    assert energy.max() / energy[0] < 1 + 5e-3 and energy.min() / energy[0] > 0.95


# --- a slider-crank


def slider_crank(r: float = 0.15, length: float = 0.4) -> Sketch:
    sketch = Sketch()
    frame = sketch.box("frame", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    sketch.weld(frame)
    crank = sketch.rod("crank", 0.5, (0, 0, 0), (r, 0, 0))
    rod = sketch.rod("rod", 0.3, (r, 0, 0), (r + length, 0, 0))
    piston = sketch.box("piston", 0.8, (r + length, 0, 0), (0.08, 0.05, 0.05))
    sketch.joint("crank_hinge", "hinge", frame, crank, (0, 0, 0), Y)
    sketch.joint("big_end", "hinge", crank, rod, (r, 0, 0), Y)
    sketch.joint("small_end", "hinge", rod, piston, (r + length, 0, 0), Y)
    sketch.joint("cylinder", "slider", frame, piston, (r + length, 0, 0), X)
    return sketch


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
@pytest.mark.parametrize("integrator", ["euler", "moreau"])
def test_slider_crank_moves_its_piston_as_the_formula_says(coordinates, integrator):
    r, length = 0.15, 0.4
    scene = weightless(slider_crank(r, length).mechanism().scene(coordinates))
    sim = taut.Simulator(scene, dt=DT, tolerance=1e-9, integrator=integrator)
    path = sim.rollout(scene.q0, spun(scene, "crank", 8.0), steps=2000)
    seen = []
    for q in path.q[::5]:
        theta = crank_angle(scene, q, "crank", X)
        seen.append(theta)
        x = placement(scene, q, "piston").translation
        expected = r * math.cos(theta) + math.sqrt(length**2 - (r * math.sin(theta)) ** 2)
        np.testing.assert_allclose(x, [expected, 0.0, 0.0], rtol=0, atol=2e-6)
    assert np.ptp(np.unwrap(seen)) > 2 * math.pi


# --- a pendulum


def pendulum() -> Sketch:
    sketch = Sketch()
    sketch.rod("rod", 1.0, (0, 0, 0), (0.5, 0, 0))
    sketch.joint("pivot", "hinge", None, "rod", (0, 0, 0), Y)
    return sketch


def test_pendulum_on_a_closure_is_the_pendulum_in_reduced_coordinates_as_the_step_shrinks():
    ends = {}
    for coordinates in ("maximal", "reduced"):
        scene = pendulum().mechanism().scene(coordinates)
        for dt in (2e-3, 1e-3, 5e-4, 2.5e-4):
            path = taut.Simulator(scene, dt=dt, tolerance=1e-11).rollout(
                scene.q0, np.zeros(scene.model.nv), steps=round(0.6 / dt)
            )
            ends[coordinates, dt] = crank_angle(scene, path.q[-1], "rod", X)
    apart = [abs(ends["maximal", dt] - ends["reduced", dt]) for dt in (2e-3, 1e-3, 5e-4, 2.5e-4)]
    assert apart[0] < 2e-2
    for coarse, fine in itertools.pairwise(apart):
        assert fine < 0.6 * coarse  # first order: both are semi-implicit Euler, in other coordinates


def test_moreau_is_second_order_on_the_arm_and_euler_first():
    """Extrapolated, both end in the same place; the midpoint scheme gets there faster."""
    scene = taut.scenes.make("arm7d", coordinates="reduced")
    v = np.linspace(0.5, -0.5, 7)
    steps = (1e-3, 5e-4, 2.5e-4, 1.25e-4)
    ends = {
        integrator: [
            taut.Simulator(scene, dt=dt, integrator=integrator).rollout(scene.q0, v, steps=round(0.2 / dt)).q[-1, 1]
            for dt in steps
        ]
        for integrator in ("euler", "moreau")
    }
    for integrator, order in (("euler", 1), ("moreau", 2)):
        change = np.abs(np.diff(ends[integrator]))
        measured = np.log2(change[:-1] / change[1:])
        np.testing.assert_allclose(measured, order, atol=0.15)
    euler, moreau = (
        2 * ends["euler"][-1] - ends["euler"][-2],
        (4 * ends["moreau"][-1] - ends["moreau"][-2]) / 3,
    )
    assert euler == pytest.approx(moreau, abs=1e-5)


def test_pendulum_on_a_closure_keeps_its_period_and_energy():
    scene = pendulum().mechanism().scene("maximal")
    path = taut.Simulator(scene, dt=DT, integrator="moreau").rollout(scene.q0, np.zeros(6), steps=10_000)
    energy = taut.mechanical_energy(scene, path.q, path.v)
    scale = 1.0 * GRAVITY * 0.25  # what it gains and loses on its way
    assert (energy.max() - energy[0]) / scale < 1e-3
    assert (energy[-1000:].mean() - energy[:1000].mean()) / scale > -0.05


# --- distances, gears, motors


def test_distance_holds_two_bodies_apart():
    scene = weightless(taut.Scene())
    scene.add_body("one", coal.Sphere(0.05), 1.0, [0, 0, 0])
    scene.add_body("two", coal.Sphere(0.05), 3.0, [0.5, 0, 0])
    scene.add_loop("distance", "one", "two", position_1=[0, 0, 0], position_2=[0, 0, 0], name="rope")
    v = np.zeros(12)
    v[1], v[7] = 3.0, -1.0  # turning about the common centre of mass at 8 rad/s
    path = taut.Simulator(scene, dt=DT, tolerance=1e-10).rollout(scene.q0, v, steps=3000)
    apart = np.linalg.norm(path.q[:, 7:10] - path.q[:, :3], axis=1)
    np.testing.assert_allclose(apart, 0.5, rtol=0, atol=1e-6)
    # ω = Δv / r stays: 1 kg · 0.375 m · 3 m/s and 3 kg · 0.125 m · 1 m/s are one momentum.
    angle = np.unwrap(np.arctan2(path.q[:, 8] - path.q[:, 1], path.q[:, 7] - path.q[:, 0]))
    assert (angle[-1] - angle[0]) / 3.0 == pytest.approx(-8.0, rel=1e-3)


def test_gear_passes_torque_by_its_ratio(load_text):
    """(J1 + J2/n²) α1 = τ for θ1 = n θ2: a rotor geared to a wheel, torque on the rotor."""
    inertia = {"rotor": 0.02, "wheel": 0.5}
    bodies = "".join(
        f'<body><joint name="{name}" type="hinge" axis="0 0 1"/>'
        f'<inertial pos="0 0 0" mass="1" diaginertia="{moment} {moment} {moment}"/></body>'
        for name, moment in inertia.items()
    )
    scene = load_text(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    n = 5.0
    scene.add_coupling("rotor", "wheel", polynomial=[0.0, n], name="gear")
    torque = 0.3
    path = taut.Simulator(scene, dt=DT, tolerance=1e-12).rollout(
        scene.q0, np.zeros(2), taus=np.tile([torque, 0.0], (1000, 1))
    )
    acceleration = torque / (inertia["rotor"] + inertia["wheel"] / n**2)
    assert path.v[-1, 0] == pytest.approx(acceleration * 1.0, rel=1e-9)
    np.testing.assert_allclose(path.q[:, 0], n * path.q[:, 1], rtol=0, atol=1e-10)


def test_servo_on_a_closure_is_the_servo_on_the_joint():
    """The same arm in maximal coordinates, its motors on closures, and in reduced ones."""
    ends = []
    for coordinates in ("maximal", "reduced"):
        scene = taut.scenes.make("arm7d", coordinates=coordinates)
        q, v = np.array(scene.q0), np.zeros(scene.model.nv)
        sim = taut.Simulator(scene, dt=DT, tolerance=1e-10)
        control = np.linspace(0.1, 0.4, len(scene.actuators))
        for _ in range(3000):
            step = sim.step(q, v, control=control)
            q, v = step.q, step.v
        ends.append(placement(scene, q, "link_7"))
        assert np.abs(v).max() < 1e-3
    np.testing.assert_allclose(ends[0].homogeneous, ends[1].homogeneous, rtol=0, atol=1e-4)


def test_servo_that_works_hard_is_no_loop_that_closes():
    """Energy that a motor puts in is not taken for that of closing: every step is certified, in both coordinates."""
    ends = []
    for coordinates in ("maximal", "reduced"):
        scene = taut.scenes.make("fourbar_fixed", coordinates=coordinates)
        path = taut.Simulator(scene).rollout(scene.q0, np.zeros(scene.model.nv), steps=1500, control=[0.5])
        assert all(report.status == "converged" for report in path.reports)
        assert scene.worst_loop_gap(path.q)[0] < 1e-5
        ends.append(crank_angle(scene, path.q[-1], "crank", Z))
    assert ends[0] == pytest.approx(ends[1], abs=1e-3)
    assert abs(ends[0] - math.pi / 2) > 0.3  # it did turn


def test_compliant_ground_under_a_welded_box_carries_what_it_gives():
    scene = taut.Scene()
    scene.add_floor(compliance=1e-5)
    scene.add_body("box", coal.Box(0.2, 0.2, 0.2), 1.0, [0, 0, 0.099])
    scene.add_loop("weld", None, "box", point=[0, 0, 0.099])
    sim = taut.Simulator(scene)
    step = sim.step(scene.q0, np.zeros(6))
    assert step.report.status == "converged"
    # Each corner is 1 mm deep: 1e-3 m over 1e-5 m/N.
    np.testing.assert_allclose(step.impulses[:, 2] / sim.dt, 100.0, rtol=1e-6)


def test_a_weld_that_starts_half_a_turn_off_closes_calmly():
    scene = weightless(taut.Scene())
    scene.add_body("box", coal.Box(0.2, 0.2, 0.2), 1.0, [0, 0, 0])
    half = [0.0, 0.0, 1.0, 0.0]
    scene.add_loop("weld", None, "box", position_1=[0, 0, 0], quaternion_1=half, name="weld")
    for spin in (0.0, 5.0, -5.0):
        v = np.array([0, 0, 0, 0, 0, spin])
        path = taut.Simulator(scene, dt=DT).rollout(scene.q0, v, steps=5000)
        assert np.abs(path.v).max() < 20
        assert scene.worst_loop_gap(path.q[-1])[1] < 1e-6


def test_motor_on_a_closure_does_the_work_it_is_asked_for():
    scene = weightless(pendulum().mechanism().scene("maximal"))
    scene.add_loop_actuator("pivot", "motor", gear=2.0)
    sim = taut.Simulator(scene, dt=1e-4, tolerance=1e-10)
    q, v = np.array(scene.q0), np.zeros(6)
    for _ in range(5000):
        step = sim.step(q, v, control=[0.1])
        q, v = step.q, step.v
    # Twice 0.1 N m on 1/3 m l² and a little for the radius of the capsule, about the y axis of the drawing.
    data = scene.model.createData()
    inertia = pinocchio.crba(scene.model, data, scene.q0)
    angle = abs(crank_angle(scene, q, "rod", X))
    moment = inertia[4, 4] + 1.0 * 0.25**2 if abs(inertia[4, 4] - inertia[3, 3]) < 1e-9 else None
    assert moment is not None
    assert angle == pytest.approx(0.5 * 0.2 / moment * 0.5**2, rel=1e-3)


# --- every system


SYSTEMS = list(taut.scenes.mechanisms.MECHANISMS)
TABLE = {  # [KL, Table II]: bodies, joints, constraints, actuated degrees of freedom, mass ratio
    "box_on_plane": (1, 0, 0, 0, 1.0),
    "boxes_fixed": (2, 1, 6, 0, 1000.0),
    "nunchuk": (3, 2, 6, 0, 1.0),
    "fourbar_fixed": (4, 5, 26, 1, 1.0),
    "fourbar_free": (4, 4, 20, 1, 1.0),
    "arm7d": (8, 8, 41, 7, 19.54),
    "kl_quadruped": (13, 12, 60, 12, 29.07),
    "bdx": (15, 14, 70, 14, 42.49),
    "lima": (21, 20, 100, 20, 321.39),
    "misha": (22, 24, 121, 23, 90.67),
    "walker": (31, 36, 180, 24, 99.55),
    "gazelle": (38, 45, 214, 22, 1012.54),
    "ironman": (54, 67, 304, 20, 25544.44),
}


def test_the_suite_has_the_numbers_of_the_paper():
    assert list(TABLE) == SYSTEMS
    for name, (bodies, joints, constraints, actuated, ratio) in TABLE.items():
        scene = taut.scenes.make(name)
        masses = [inertia.mass for inertia in scene.model.inertias][1:]
        rows = sum(len(error) for error in scene.loop_errors().values())
        assert (len(masses), len(scene.loops), rows) == (bodies, joints, constraints), name
        assert max(masses) / min(masses) == pytest.approx(ratio), name
        assert len(scene.actuators) == actuated, name


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_loops_of_every_system_hold(name, coordinates):
    """A second without control; `taut bench loops hold` does the minute that the claim is about."""
    scene = taut.scenes.make(name, coordinates=coordinates)
    sim = taut.Simulator(scene, dt=DT)
    path = sim.rollout(scene.q0, np.zeros(scene.model.nv), steps=1000)
    worst = np.array([report.residuals.worst for report in path.reports])
    # Some impacts of boxes on many corners stall close to the tolerance; they say so.
    assert np.mean(worst <= 1e-6) > 0.985
    assert worst.max() < 1e-4
    if coordinates == "maximal":
        # A pendulum's energy wavers by m g v dt/2 with semi-implicit Euler; potential energy is of this size.
        energy = taut.mechanical_energy(scene, path.q, path.v)
        assert energy.max() <= energy[0] * (1 + 2e-3)
    if scene.loops:
        linear, angular = scene.worst_loop_gap(path.q)
        assert linear < 1e-5 and angular < 1e-5


@pytest.mark.parametrize("name", ["fourbar_fixed", "nunchuk", "kl_quadruped"])
def test_loops_hold_with_moreaus_midpoint_too(name):
    """Not those of arm7d, whose last links spin too fast for it: docs/theory.md, "Moreau's midpoint"."""
    scene = taut.scenes.make(name)
    path = taut.Simulator(scene, dt=DT, integrator="moreau").rollout(scene.q0, np.zeros(scene.model.nv), steps=4000)
    assert max(scene.worst_loop_gap(path.q)) < 1e-5


def test_both_coordinates_tell_one_story():
    """Where nothing is chaotic yet: the figure on its base, a quarter of a second of it falling in on itself."""
    for name, body in (("misha", "head"), ("gazelle", "head"), ("fourbar_fixed", "coupler")):
        ends = []
        for coordinates in ("maximal", "reduced"):
            scene = taut.scenes.make(name, coordinates=coordinates)
            path = taut.Simulator(scene, dt=2e-4).rollout(scene.q0, np.zeros(scene.model.nv), steps=500)
            ends.append(placement(scene, path.q[-1], body).homogeneous)
            moved = np.abs(ends[-1] - placement(scene, scene.q0, body).homogeneous).max()
            assert moved > 1e-3
        np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-3)


def test_cassie_dropped_on_its_feet_keeps_its_rods():
    scene = taut.scenes.make("cassie")
    assert scene.worst_loop_gap(scene.q0)[0] > 1e-3  # the pose of the file
    q = scene.assemble(scene.q0, fixed=[1])
    assert scene.worst_loop_gap(q)[0] < 1e-9
    np.testing.assert_array_equal(q[:7], scene.q0[:7])
    q[2] += 0.2
    path = taut.Simulator(scene, dt=DT).rollout(q, np.zeros(scene.model.nv), steps=1500)
    assert scene.worst_loop_gap(path.q)[0] < 1e-5
    assert all(report.residuals.worst <= 1e-6 for report in path.reports)
    assert len(path) == 1500 and max(path.contacts) >= 4


@pytest.mark.parametrize("push", [20, 150])  # N m or N on every joint: up to tens of radians in a step
def test_a_step_whose_loops_end_open_is_not_converged(push):
    scene = taut.scenes.make("cassie")
    start, nv = scene.assemble(scene.q0, fixed=[1]), scene.model.nv
    closed = given_up = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        sim = taut.Simulator(scene, dt=1.2e-3)
        q, v = start, np.zeros(nv)
        for _ in range(100):
            was_closed = max(scene.worst_loop_gap(q)) < 1e-6
            step = sim.step(q, v, push * rng.normal(size=nv))
            status = step.report.status
            if status == "not_finite" or not was_closed:
                break
            if status == "converged":
                closed += 1
                assert max(scene.worst_loop_gap(step.q)) < 3e-5
            else:
                given_up += 1
                assert status == "stalled"
            q, v = step.q, step.v
    assert closed > 0 and given_up > 0


def test_loops_that_start_open_close_no_faster_than_allowed():
    scene = taut.scenes.make("cassie")
    path = taut.Simulator(scene, dt=DT).rollout(scene.q0, np.zeros(scene.model.nv), steps=50)
    gaps = [scene.worst_loop_gap(q)[0] for q in path.q]
    assert gaps[0] > 1e-3
    assert max(gaps[20:]) < 1e-6
    assert np.abs(path.v).max() < 30  # metres a second and radians: light rods turn, nothing is thrown


def test_how_far_joints_are_beyond_their_limits():
    """By hand: a slide in metres, a hinge and a ball joint in radians; r_pen of [KL] counts them."""
    model = pinocchio.Model()
    for name, joint in (
        ("slide", pinocchio.JointModelPX()),
        ("hinge", pinocchio.JointModelRZ()),
        ("ball", pinocchio.JointModelSpherical()),
    ):
        index = model.addJoint(0, joint, pinocchio.SE3.Identity(), name)
        model.appendBodyToJoint(index, pinocchio.Inertia.FromSphere(1.0, 0.1), pinocchio.SE3.Identity())
    model.lowerPositionLimit[:2] = [-0.1, -0.5]
    model.upperPositionLimit[:2] = [0.2, 0.5]
    scene = from_pinocchio(model, pinocchio.GeometryModel())
    scene.set_ball_limit("ball", 0.3)
    q = pinocchio.neutral(model)
    assert scene.limit_excess(q) == (0.0, 0.0)
    beyond = q.copy()
    beyond[0] = 0.23
    assert scene.limit_excess(beyond) == pytest.approx((0.03, 0.0))
    beyond[1] = -0.54
    assert scene.limit_excess(beyond) == pytest.approx((0.03, 0.04))
    turned = q.copy()
    turned[2:] = [np.sin(0.2), 0, 0, np.cos(0.2)]  # by 0.4 rad
    assert scene.limit_excess(turned) == pytest.approx((0.0, 0.1))
    assert scene.limit_excess([beyond, turned]) == pytest.approx((0.03, 0.1))
    assert violation(scene, turned) == pytest.approx(0.1)
    assert np.isnan(scene.limit_excess(np.full(model.nq, np.nan))).all()
