"""The simulator itself: determinism, states, threads, controls, memory."""

from __future__ import annotations

import subprocess
import sys
import threading

import coal
import numpy as np
import pinocchio
import pytest

import taut


def landing_go1(**options) -> tuple[taut.Simulator, np.ndarray, np.ndarray]:
    """A Go1 that falls on its feet and slips: contacts come and go."""
    scene = taut.scenes.make("go1", height=0.05)
    sim = taut.Simulator(scene, **options)
    sim.hold(scene.q0, np.full(18, 60.0), np.full(18, 2.0))
    v = np.zeros(18)
    v[0] = 0.5
    return sim, scene.q0, v


def step_by_step(sim: taut.Simulator, q, v, steps: int, taus=None) -> tuple[np.ndarray, np.ndarray]:
    qs, vs = [np.asarray(q)], [np.asarray(v)]
    for k in range(steps):
        step = sim.step(qs[-1], vs[-1], None if taus is None else taus[k])
        qs.append(step.q)
        vs.append(step.v)
    return np.array(qs), np.array(vs)


def test_rollout_is_stepping_bit_for_bit(rng):
    taus = rng.normal(size=(400, 18))
    sim, q, v = landing_go1()
    path = sim.rollout(q, v, taus)
    other, q, v = landing_go1()
    qs, vs = step_by_step(other, q, v, 400, taus)
    assert path.q.shape == (401, 19)
    assert path.v.shape == (401, 18)
    assert len(path) == len(path.reports) == len(path.contacts) == 400
    assert path.q.tobytes() == qs.tobytes()
    assert path.v.tobytes() == vs.tobytes()
    assert max(path.contacts) >= 4


def test_rollout_of_no_steps_is_the_start():
    sim, q, v = landing_go1()
    path = sim.rollout(q, v, steps=0)
    assert len(path) == 0
    np.testing.assert_array_equal(path.q, [q])


def test_zero_torque_is_no_torque():
    sim, q, v = landing_go1()
    other, _, _ = landing_go1()
    assert sim.rollout(q, v, steps=100).q.tobytes() == other.rollout(q, v, np.zeros((100, 18))).q.tobytes()


@pytest.mark.parametrize("solver", ["auto", "pgs", "admm"])
def test_restored_state_has_the_same_future_bit_for_bit(solver):
    sim, q, v = landing_go1(solver=solver)
    path = sim.rollout(q, v, steps=150)  # in the middle of the landing
    state = sim.state()
    assert state.q.tobytes() == path.q[-1].tobytes()
    assert state.v.tobytes() == path.v[-1].tobytes()
    future = sim.rollout(state.q, state.v, steps=200)
    assert max(future.contacts) >= 1
    sim.restore(state)
    assert sim.rollout(state.q, state.v, steps=200).q.tobytes() == future.q.tobytes()
    # In another simulator of the same scene, too, whatever it did before.
    other, q, v = landing_go1(solver=solver)
    other.rollout(q, v, steps=333)
    other.restore(state)
    again = other.rollout(state.q, state.v, steps=200)
    assert again.q.tobytes() == future.q.tobytes()
    assert again.v.tobytes() == future.v.tobytes()
    assert [r.iterations for r in again.reports] == [r.iterations for r in future.reports]


def test_reset_is_a_fresh_simulator():
    sim, q, v = landing_go1()
    first = sim.rollout(q, v, steps=200)
    sim.reset()
    assert sim.rollout(q, v, steps=200).q.tobytes() == first.q.tobytes()


def test_state_before_any_step_is_the_start():
    scene = taut.scenes.make("go1")
    state = taut.Simulator(scene).state()
    np.testing.assert_array_equal(state.q, scene.q0)
    np.testing.assert_array_equal(state.v, np.zeros(18))


def test_state_of_another_scene_is_refused():
    sim, q, v = landing_go1()
    expected = sim.step(q, v)
    sim.reset()
    with pytest.raises(ValueError, match=r"\b7\b|\b19\b|state"):
        sim.restore(taut.Simulator(taut.scenes.make("cube_on_plane")).state())
    assert sim.step(q, v).q.tobytes() == expected.q.tobytes()


def test_step_is_a_copy():
    sim, q, v = landing_go1()
    first = sim.step(q, v)
    kept = first.q.copy()
    sim.step(first.q, first.v)
    np.testing.assert_array_equal(first.q, kept)


def test_inputs_are_not_changed():
    sim, q, v = landing_go1()
    arguments = [q.copy(), v.copy(), np.ones(18), np.ones((14, 6))]
    sim.step(*arguments)
    for argument, before in zip(arguments, [q, v, np.ones(18), np.ones((14, 6))], strict=True):
        np.testing.assert_array_equal(argument, before)


@pytest.mark.parametrize("form", [list, tuple, np.asfortranarray, lambda x: np.stack([x, x], axis=1)[:, 0]])
def test_any_array_like_will_do(form):
    sim, q, v = landing_go1()
    expected = sim.step(q, v)
    sim.reset()
    assert sim.step(form(q), form(v)).q.tobytes() == expected.q.tobytes()
    sim.reset()
    assert sim.step(q, np.zeros(18, dtype=np.int32)).report.status == "converged"


# --- threads


def test_threads_share_a_scene():
    """Two simulators of one scene on two threads: each as if it were alone."""
    scene = taut.scenes.make("go1", height=0.05)

    def run(push: float) -> np.ndarray:
        sim = taut.Simulator(scene)
        sim.hold(scene.q0, np.full(18, 60.0), np.full(18, 2.0))
        v = np.zeros(18)
        v[0] = push
        return sim.rollout(scene.q0, v, steps=1500).q

    pushes = (0.0, 0.3, 0.6, -0.4)
    expected = [run(push) for push in pushes]
    found: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda i=i: found.__setitem__(i, run(pushes[i]))) for i in range(len(pushes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, path in enumerate(expected):
        assert found[i].tobytes() == path.tobytes()


def test_rollout_releases_the_gil():
    """While a rollout runs, Python goes on in another thread."""
    scene = taut.scenes.make("stack", n=6)
    sim = taut.Simulator(scene)
    started, done = threading.Event(), threading.Event()
    ticks = 0

    def work():
        started.set()
        sim.rollout(scene.q0, np.zeros(36), steps=1500)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    while not done.is_set():
        ticks += 1
        done.wait(1e-4)
    thread.join()
    assert ticks > 10  # with the GIL held it would be one or two


# --- forces and control


def test_torque_and_external_force_are_the_same_on_a_free_body():
    scene = taut.scenes.make("ball", height=1.0, mass=2.0)
    wrench = np.array([1.0, -2.0, 3.0, 0.01, 0.02, -0.03])
    sim = taut.Simulator(scene)
    by_tau = sim.step(scene.q0, np.zeros(6), tau=wrench)
    by_fext = sim.step(scene.q0, np.zeros(6), fext=[np.zeros(6), wrench])
    np.testing.assert_allclose(by_tau.v, by_fext.v, atol=1e-15)
    # Newton and Euler: m v = (f + m g) dt, (2/5) m r² ω = n dt; v is in the axes of the new q
    turned = pinocchio.Quaternion(by_fext.q[3:7].copy()).toRotationMatrix()
    np.testing.assert_allclose(turned @ by_fext.v[:3], (wrench[:3] / 2.0 - [0, 0, 9.81]) * 1e-3, atol=1e-14)
    np.testing.assert_allclose(by_fext.v[3:], wrench[3:] / (0.4 * 2.0 * 0.1**2) * 1e-3, rtol=1e-9)


def test_external_force_is_that_of_pinocchios_aba(rng):
    scene = taut.scenes.make("ur5")
    q, v = 0.3 * rng.normal(size=6), 0.3 * rng.normal(size=6)
    tau, forces = rng.normal(size=6), rng.normal(size=(7, 6))
    sim = taut.Simulator(scene, joint_limits=False, joint_friction=False)
    scene.model.damping = np.zeros(6)
    step = sim.step(q, v, tau, forces)
    vector = pinocchio.StdVec_Force()
    for force in forces:
        vector.append(pinocchio.Force(force))
    acceleration = pinocchio.aba(scene.model, scene.model.createData(), q, v, tau, vector)
    np.testing.assert_allclose(step.v, v + 1e-3 * acceleration, atol=1e-10)
    np.testing.assert_allclose(step.q, q + 1e-3 * step.v, atol=1e-14)  # semi-implicit


def test_motor_is_a_torque_times_its_gear():
    scene = taut.scenes.make("half_cheetah")
    assert {actuator.kind for actuator in scene.actuators} == {"motor"}
    control = np.linspace(-0.9, 0.9, len(scene.actuators))
    tau = np.zeros(scene.model.nv)
    for actuator, u in zip(scene.actuators, control, strict=True):
        tau[actuator.dof] += actuator.gear * u
    v = np.zeros(scene.model.nv)
    by_control = taut.Simulator(scene).step(scene.q0, v, control=control)
    by_torque = taut.Simulator(scene).step(scene.q0, v, tau=tau)
    np.testing.assert_allclose(by_control.v, by_torque.v, atol=1e-12)
    # Beyond the control range it saturates.
    full = taut.Simulator(scene).step(scene.q0, v, control=np.ones(len(control)))
    more = taut.Simulator(scene).step(scene.q0, v, control=7 * np.ones(len(control)))
    assert full.v.tobytes() == more.v.tobytes()


def test_position_servo_is_an_implicit_spring():
    """In free fall at rest, hold() with the servo's gains and the servo itself are one thing."""
    scene = taut.scenes.make("go1_mjcf", floor=False)
    scene.geometry.removeAllCollisionPairs()
    assert {actuator.kind for actuator in scene.actuators} == {"position"}
    target = scene.q0.copy()
    target[7:] += 0.05
    kp, kd = np.zeros(18), np.zeros(18)
    for actuator in scene.actuators:
        kp[actuator.dof], kd[actuator.dof] = actuator.kp, actuator.kv
    held = taut.Simulator(scene, joint_friction=False)
    held.hold(target, kp, kd)
    driven = taut.Simulator(scene, joint_friction=False)
    a, b = held.step(scene.q0, np.zeros(18)), driven.step(scene.q0, np.zeros(18), control=target[7:])
    assert np.abs(a.v[6:]).max() > 0.1
    np.testing.assert_allclose(a.v, b.v, atol=1e-12)


def test_wrong_number_of_controls_is_named():
    scene = taut.scenes.make("half_cheetah")
    with pytest.raises(ValueError, match=r"control has shape \(2,\), expected \(6,\)"):
        taut.Simulator(scene).step(scene.q0, np.zeros(9), control=[0, 0])


def one_joint() -> taut.Scene:
    """A slider of 2 kg without gravity: m v' = -kp x - kd v."""
    model = pinocchio.Model()
    model.gravity.linear = np.zeros(3)
    joint = model.addJoint(0, pinocchio.JointModelPX(), pinocchio.SE3.Identity(), "slider")
    model.appendBodyToJoint(joint, pinocchio.Inertia(2.0, np.zeros(3), np.eye(3)), pinocchio.SE3.Identity())
    from taut.loading import from_pinocchio

    return from_pinocchio(model, pinocchio.GeometryModel())


def test_hold_is_implicit_euler_of_a_spring_and_damper():
    sim = taut.Simulator(one_joint(), dt=1e-2)
    sim.hold([0.5], [300.0], [7.0])
    x, v, m, kp, kd, dt = 0.0, 0.0, 2.0, 300.0, 7.0, 1e-2
    q, qd = np.zeros(1), np.zeros(1)
    for _ in range(200):
        step = sim.step(q, qd)
        q, qd = step.q, step.v
        v = (m * v + dt * kp * (0.5 - x)) / (m + dt * kd + dt**2 * kp)  # m (v⁺ - v) = dt (kp (r - x - dt v⁺) - kd v⁺)
        x += dt * v
        assert q[0] == pytest.approx(x, abs=1e-12)
        assert qd[0] == pytest.approx(v, abs=1e-12)


@pytest.mark.parametrize("kp", [1e3, 1e6, 1e9])
def test_hold_is_stable_for_any_gain(kp):
    sim = taut.Simulator(one_joint(), dt=1e-2)
    sim.hold([1.0], [kp], [0.0])
    path = sim.rollout([0.0], [0.0], steps=500)
    assert np.abs(path.q).max() < 2.1
    assert abs(path.q[-1, 0] - 1.0) < 0.1


def test_hold_takes_numbers_for_all_joints():
    scene = taut.scenes.make("go1")
    sims = [taut.Simulator(scene) for _ in range(4)]
    sims[0].hold(scene.q0, np.full(18, 60.0), np.full(18, 2.0))
    sims[1].hold(scene.q0, 60, 2)
    sims[2].hold(scene.q0, 60.0, 2.0)
    sims[3].hold(scene.q0, np.float64(60.0), np.array(2.0))
    paths = [sim.rollout(scene.q0, np.zeros(18), steps=50).q.tobytes() for sim in sims]
    assert len(set(paths)) == 1


def test_torque_limit_is_kept():
    sim = taut.Simulator(one_joint(), dt=1e-3)
    sim.hold([100.0], [1e6], [0.0], torque_limit=[3.0])
    step = sim.step([0.0], [0.0])
    assert step.v[0] == pytest.approx(3.0 / 2.0 * 1e-3)  # f dt / m


def test_release_ends_hold():
    scene = taut.scenes.make("go1", height=1.0)
    sim = taut.Simulator(scene)
    free = sim.step(scene.q0, 0.1 * np.ones(18))
    sim.hold(scene.q0, np.full(18, 60.0), np.full(18, 2.0))
    assert not np.allclose(sim.step(scene.q0, 0.1 * np.ones(18)).v, free.v)
    sim.release()
    sim.reset()
    assert sim.step(scene.q0, 0.1 * np.ones(18)).v.tobytes() == free.v.tobytes()


def test_joint_limit_stops_a_joint():
    scene = one_joint()
    scene.model.lowerPositionLimit, scene.model.upperPositionLimit = np.array([-1.0]), np.array([0.1])
    path = taut.Simulator(scene).rollout([0.0], [1.0], steps=300)
    assert path.q.max() == pytest.approx(0.1, abs=1e-6)
    assert abs(path.v[-1, 0]) < 1e-6
    free = taut.Simulator(scene, joint_limits=False).rollout([0.0], [1.0], steps=300)
    assert free.q[-1, 0] == pytest.approx(0.3)


def test_joint_friction_brakes_and_holds():
    scene = one_joint()
    scene.model.lowerDryFrictionLimit, scene.model.upperDryFrictionLimit = np.array([-3.0]), np.array([3.0])
    sim = taut.Simulator(scene, tolerance=1e-10)
    assert sim.step([0.0], [1.0]).v[0] == pytest.approx(1 - 3.0 / 2.0 * 1e-3, abs=1e-9)
    assert abs(sim.step([0.0], [0.0], tau=[2.9]).v[0]) < 1e-9
    assert sim.step([0.0], [0.0], tau=[3.1]).v[0] == pytest.approx(0.1 / 2.0 * 1e-3, abs=1e-9)


# --- the solution


def test_problem_of_a_step_is_the_one_that_was_solved():
    sim, q, v = landing_go1()
    path = sim.rollout(q, v, steps=150)
    step = sim.step(path.q[-1], path.v[-1])
    problem = sim.problem()
    assert len(step.contacts) >= 1
    assert problem.kinds.count("cone") == len(step.contacts) == len(step.impulses)
    assert np.array_equal(problem.mu, [contact.mu for contact in step.contacts])
    judged = taut.residuals(problem, sim.impulse)
    assert judged.natural == pytest.approx(step.report.residuals.natural, rel=1e-9, abs=1e-15)
    assert judged.worst <= 1e-6
    np.testing.assert_allclose(step.impulses.ravel(), sim.impulse[: 3 * len(step.contacts)])
    np.testing.assert_allclose(problem.G, problem.G.T, atol=1e-12 * np.abs(problem.G).max())
    assert np.linalg.eigvalsh(problem.G).min() > -1e-9 * np.abs(problem.G).max()


def test_contacts_are_described_and_keep_their_identity():
    scene = taut.scenes.make("cube_on_plane", side=0.2)
    sim = taut.Simulator(scene)
    step = sim.step(scene.q0, np.zeros(6))
    assert len(step.contacts) == 4
    corners = {tuple(np.sign(contact.point[:2])) for contact in step.contacts}
    assert corners == {(-1, -1), (-1, 1), (1, -1), (1, 1)}
    for contact in step.contacts:
        np.testing.assert_allclose(contact.frame.T @ contact.frame, np.eye(3), atol=1e-12)
        assert np.linalg.det(contact.frame) == pytest.approx(1.0)
        np.testing.assert_array_equal(contact.normal, contact.frame[:, 2])
        up = 1.0 if contact.joint_1 == 1 else -1.0  # the normal points to body 1
        np.testing.assert_allclose(contact.normal, [0, 0, up], atol=1e-9)
        assert abs(contact.gap) < 1e-9
    places = {contact.identity: contact.point for contact in step.contacts}
    q, v = scene.q0, np.array([0.5, 0.2, 0, 0, 0, 0])
    for _ in range(100):
        step = sim.step(q, v)
        assert {contact.identity for contact in step.contacts} == places.keys()
        for contact in step.contacts:  # the same corner under the same name
            assert np.linalg.norm(contact.point - places[contact.identity]) < 5e-3
        places = {contact.identity: contact.point for contact in step.contacts}
        q, v = step.q, step.v


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10])
def test_tolerance_is_kept(tolerance):
    sim, q, v = landing_go1(tolerance=tolerance)
    assert sim.tolerance == tolerance
    path = sim.rollout(q, v, steps=400)
    assert all(report.status == "converged" for report in path.reports)
    assert max(report.residuals.worst for report in path.reports) <= tolerance


@pytest.mark.parametrize("solver", ["pgs", "admm"])
def test_solvers_make_the_same_cube_trajectory(solver):
    """Slides straight, stops and rests. (Four corners that slide and turn have no unique velocity: the share of each
    in the weight is free, and friction follows it.)"""
    scene = taut.scenes.make("sliding_cube")
    v = np.array([0.8, 0.3, 0, 0, 0, 0])
    expected = taut.Simulator(scene, tolerance=1e-9).rollout(scene.q0, v, steps=400)
    found = taut.Simulator(scene, tolerance=1e-9, solver=solver).rollout(scene.q0, v, steps=400)
    assert {report.status for report in found.reports} == {"converged"}
    np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=1e-6)  # 400 steps, each to 1e-9 m/s


@pytest.mark.parametrize("solver", ["pgs", "admm"])
def test_solvers_make_the_same_go1_trajectory(solver):
    sim, q, v = landing_go1(tolerance=1e-9, joint_friction=False)
    expected = sim.rollout(q, v, steps=300)
    other, q, v = landing_go1(tolerance=1e-9, joint_friction=False, solver=solver)
    found = other.rollout(q, v, steps=300)
    assert {report.status for report in found.reports} == {"converged"}
    assert max(expected.contacts) >= 4
    np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=1e-7)  # 300 steps, each to 1e-9 m/s


@pytest.mark.parametrize("solver", ["pgs", "admm"])
def test_solvers_make_the_same_go1_trajectory_with_joint_friction(solver):
    """Twelve rows more than the robot has freedoms: Gauss-Seidel may stall, and then says so."""
    sim, q, v = landing_go1()
    expected = sim.rollout(q, v, steps=300)
    other, q, v = landing_go1(solver=solver)
    found = other.rollout(q, v, steps=300)
    for report in found.reports:
        assert report.status in {"converged", "stalled"}
        assert (report.status == "converged") == (report.residuals.worst <= 1e-6)
        assert report.residuals.worst < 1e-5
    if solver == "admm":
        assert {report.status for report in found.reports} == {"converged"}
    np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=1e-5)  # 300 steps, each to some 1e-6 m/s


@pytest.mark.parametrize("warm_start", [True, False])
def test_warm_start_changes_the_cost_not_the_motion(warm_start):
    scene = taut.scenes.make("sliding_cube")
    v = np.array([0.8, 0.3, 0, 0, 0, 0])
    expected = taut.Simulator(scene, tolerance=1e-9).rollout(scene.q0, v, steps=200)
    found = taut.Simulator(scene, tolerance=1e-9, solver="pgs", warm_start=warm_start).rollout(scene.q0, v, steps=200)
    np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=1e-6)


def test_iteration_limit_is_a_status():
    scene = taut.scenes.make("stack", n=5)
    sim = taut.Simulator(scene, solver="pgs", max_iterations=1)
    step = sim.step(scene.q0, np.zeros(30))
    assert step.report.status == "iteration_limit"
    assert step.report.iterations == 1
    assert step.report.residuals.worst > 1e-6
    assert np.isfinite(step.q).all()


def test_profile_fills_the_seconds():
    scene = taut.scenes.make("go1")
    sim = taut.Simulator(scene, profile=True)
    sim.step(scene.q0, np.zeros(18))
    assert len(sim.seconds) == 5
    assert all(second >= 0 for second in sim.seconds)
    assert sum(sim.seconds) > 0
    silent = taut.Simulator(scene)
    silent.step(scene.q0, np.zeros(18))
    assert sum(silent.seconds) == 0


def test_energy_of_a_passive_pile_is_only_lost():
    from taut.energy import mechanical_energy

    scene = taut.scenes.make("pile", n=8)
    path = taut.Simulator(scene, tolerance=1e-8).rollout(scene.q0, np.zeros(48), steps=800)
    energy = mechanical_energy(scene, path.q, path.v)
    # Free fall by semi-implicit Euler loses (m g dt)²/2m a step; turning bodies gain of first order in dt: 1 % of it.
    assert energy[-1] < 0.5 * energy[0]
    assert np.diff(energy).max() < 1e-2 * energy[0]


def test_far_bodies_do_not_touch():
    scene = taut.Scene()
    scene.add_floor()
    for i in range(5):
        scene.add_body(f"ball_{i}", coal.Sphere(0.1), 1.0, [i, 0, 0.1])
    step = taut.Simulator(scene).step(scene.q0, np.zeros(30))
    assert len(step.contacts) == 5


# --- memory

MANY = """
import numpy as np
import taut

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

scene = taut.scenes.make("go1")
v = np.zeros(scene.model.nv)
taut.Simulator(scene).rollout(scene.q0, v, steps=3)
before = resident()
sims = [taut.Simulator(scene) for _ in range(1000)]
for sim in sims:
    sim.rollout(scene.q0, v, steps=3)
print((resident() - before) / 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/status")
def test_thousand_go1_simulators_fit_in_a_gigabyte():
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, check=True, timeout=120)
    megabytes = float(done.stdout)
    assert 1.0 < megabytes < 1024


LEAK = """
import numpy as np
import taut

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

def work(n):
    for _ in range(n):
        scene = taut.scenes.make("cube_on_plane")
        sim = taut.Simulator(scene)
        model = scene.model
        sim.rollout(scene.q0, np.zeros(6), steps=3)
        sim.problem(), sim.state(), scene.geometry, scene.copy()

work(300)
before = resident()
work(3000)
print((resident() - before) / 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/status")
def test_scenes_and_simulators_are_freed():
    done = subprocess.run([sys.executable, "-c", LEAK], capture_output=True, text=True, check=True, timeout=120)
    assert "leaked" not in done.stderr  # nanobind's own count at exit
    assert float(done.stdout) < 30  # MB; 3000 of them, were they kept, are some 500


class TestSolverOptions:
    def test_compliance_sinks_a_resting_cube_by_force_times_compliance(self):
        scene = taut.scenes.make("cube_on_plane")
        sim = taut.Simulator(scene, compliance=1e-5, correction=1.0)
        path = sim.rollout(scene.q0, np.zeros(6), steps=2000)
        # Four corners share the weight of 1 kg; the whole gap is corrected in every step.
        assert scene.q0[2] - path.q[-1, 2] == pytest.approx(1e-5 * 9.81 / 4, rel=1e-3)

    def test_sides_of_the_pyramid_change_where_a_cube_stops(self):
        ends = []
        for sides in (4, 16):
            scene = taut.scenes.make("cube_on_plane", mu=0.5)
            sim = taut.Simulator(scene, solver="lcp_pgs", sides=sides)
            v = np.zeros(6)
            v[:2] = 1.0 / np.sqrt(2.0)  # between two vertices of four sides, where friction is weakest
            ends.append(np.linalg.norm(sim.rollout(scene.q0, v, steps=400).q[-1, :2]))
        assert ends[0] > 1.2 * ends[1]

    @pytest.mark.parametrize(
        ("name", "value"), [("relaxation", 2.5), ("sides", 2), ("rho", -1.0), ("compliance", -1e-6)]
    )
    def test_out_of_range_is_named(self, name, value):
        with pytest.raises(ValueError, match=name):
            taut.Simulator(taut.scenes.make("cube_on_plane"), solver="pgs", **{name: value})


def test_a_pile_of_a_thousand_steps_without_a_dense_matrix():
    scene = taut.scenes.make("pile", n=1000)
    sim = taut.Simulator(scene, dt=5e-3, solver="pgs", tolerance=1e-3, max_iterations=50)
    path = sim.rollout(scene.q0, np.zeros(scene.model.nv), steps=70)
    assert path.contacts[0] == 0  # nothing overlaps at the start
    problem = sim.problem()
    assert path.contacts[-1] > 500
    assert problem.sparse
    data, _, _ = problem.csr()
    assert len(data) < 0.05 * len(problem.g) ** 2
