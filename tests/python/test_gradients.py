"""The analytic derivative of the step: against differences, against itself, and where others are known to be wrong."""

from __future__ import annotations

import json

import coal
import numpy as np
import pinocchio
import pytest
from typer.testing import CliRunner

import taut
from taut.cli import app
from taut.gradient_cases import CASES
from taut.gradients import BLOCKS, compare, differences, free_directions, ladder
from taut.loading import from_pinocchio


def checked(scene: taut.Scene, states: int, seed: int = 0, sampling: dict | None = None, **options):
    sim = taut.Simulator(scene, tolerance=1e-12, **options)
    found = compare(sim, states, np.random.default_rng(seed), **(sampling or {}))
    assert len(found.errors) == states, vars(found)
    for block in BLOCKS:
        assert found.worst(block) < 1e-6, (block, found.worst(block))
    return found.counted


@pytest.mark.parametrize(
    ("name", "must_have"),
    [
        ("cube_on_plane", {"contact open", "contact sliding"}),
        ("go1", {"contact closed", "contact sliding", "contact open", "dry friction open", "limit closed"}),
        ("half_cheetah", {"contact open"}),
        ("humanoid", {"limit closed", "limit open"}),
        ("pinched_capsule", {"contact sliding"}),
    ],
)
def test_agrees_with_differences(name, must_have):
    counted = checked(taut.scenes.make(name), 40)
    assert must_have <= set(counted), counted


@pytest.mark.parametrize("name", ["cube_on_plane", "go1", "humanoid", "fourbar_fixed"])
def test_moreau_agrees_with_differences(name):
    counted = checked(taut.scenes.make(name), 15, integrator="moreau", sampling={"push": 1e-4})
    assert counted


@pytest.mark.parametrize("name", ["solo12", "ur5"])
def test_agrees_with_differences_on_robots(name):
    try:
        scene = taut.scenes.make(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    checked(scene, 30)


def body(shape, **options) -> taut.Scene:
    scene = taut.Scene()
    scene.add_floor(friction=0.6, **options)
    scene.add_body("body", shape, 1.5, [0.0, 0.0, 0.12])
    return scene


@pytest.mark.parametrize(
    "shape",
    [
        coal.Sphere(0.1),
        coal.Ellipsoid(0.1, 0.12, 0.08),
        coal.Capsule(0.05, 0.15),
        coal.Cylinder(0.08, 0.2),
        coal.Cone(0.1, 0.2),
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_every_shape_on_a_floor(shape):
    checked(body(shape), 25, sampling={"kick": 0.3, "push": 2e-3})


def test_two_bodies_that_touch():
    scene = body(coal.Box(0.2, 0.2, 0.1))
    scene.add_body("egg", coal.Ellipsoid(0.06, 0.05, 0.08), 0.5, [0.0, 0.0, 0.26])
    counted = checked(scene, 30, sampling={"kick": 0.3, "push": 1e-3})
    assert counted["contact open"] > 0


def test_compliance_restitution_and_implicit_joints():
    checked(body(coal.Sphere(0.1), compliance=1e-4), 20)
    bouncing = body(coal.Sphere(0.1), restitution=0.7)
    sim = taut.Simulator(bouncing, tolerance=1e-12)
    q, v = bouncing.q0.copy(), np.array([0.3, 0.1, -1.5, 1.0, 2.0, 0.5])
    q[2] = 0.1005
    state = sim.state()
    sim.step(q, v)
    jacobian = sim.jacobian()
    reference = differences(sim, q, v, np.zeros(6), state)
    for block in BLOCKS:
        np.testing.assert_allclose(
            getattr(jacobian, block), reference[block], atol=1e-6 * (1 + np.abs(reference[block]).max())
        )
    assert abs(jacobian.dv_dv[2, 2] + 0.7) < 1e-3  # it comes back with e


@pytest.mark.parametrize("name", ["fourbar_fixed", "nunchuk", "arm7d", "boxes_fixed"])
def test_loops_and_redundant_ones(name):
    """Along what the loops leave free: pulled open, redundant ones contradict each other."""
    counted = checked(taut.scenes.make(name), 12, sampling={"push": 1e-4})
    assert counted["loop closed"] > 0


def test_cassie_whose_loops_are_closed_in_rounds():
    sim = taut.Simulator(taut.scenes.make("cassie"), tolerance=1e-12, correction=1.0, limit_correction=1.0)
    found = compare(sim, 10, np.random.default_rng(0), push=1e-5, kick=0.005, torque=0.1)
    assert len(found.errors) == 10
    assert found.worst_of_all() < 1e-6


def test_gears_that_bend(load_text):
    text = """<mujoco><compiler angle="radian"/><worldbody>
      <body name="a"><joint name="one" type="hinge" axis="0 1 0"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/></body>
      <body name="b" pos="0 0.2 0"><joint name="two" type="hinge" axis="0 1 0"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0"/></body>
    </worldbody><equality><joint joint1="one" joint2="two" polycoef="0 0.7 0.3 0.1 0"/></equality></mujoco>"""
    scene = load_text(text)
    checked(scene, 10, sampling={"kick": 1.0, "push": 1e-4})


def test_gears_between_joints_that_turn_without_end(load_text):
    def joint(name: str, y: float) -> str:
        inertia = '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>'
        return f"""<link name="{name}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>{inertia}</inertial></link>
          <joint name="j_{name}" type="continuous"><parent link="base"/><child link="{name}"/><origin xyz="0 {y} 0"/>
          <axis xyz="0 1 0"/>{'<mimic joint="j_a" multiplier="2"/>' if name == "b" else ""}</joint>"""

    text = f"""<robot name="gears"><link name="base"/>{joint("a", 0.0)}{joint("b", 0.3)}</robot>"""
    scene = load_text(text, "gears.urdf")
    assert len(scene.couplings) == 1
    sim = taut.Simulator(scene, tolerance=1e-12)
    q, v, state = scene.q0, np.array([0.4, 0.8]), sim.state()
    sim.step(q, v)
    jacobian = sim.jacobian()
    reference = differences(sim, q, v, np.zeros(2), state)
    for block in BLOCKS:
        assert np.abs(getattr(jacobian, block) - reference[block]).max() < 1e-6, block


def test_a_loop_that_is_closed_as_fast_as_allowed():
    scene = taut.Scene()
    scene.add_body("bob", coal.Sphere(0.1), 1.0, [0.3, 0.0, 0.0])
    scene.add_loop("point", None, "bob", position_1=[0.3, 0.0, 0.004], position_2=[0.0, 0.0, 0.0])
    sim = taut.Simulator(scene, tolerance=1e-12)
    q, v, state = scene.q0, np.zeros(6), sim.state()
    sim.step(q, v)
    jacobian = sim.jacobian()
    reference = differences(sim, q, v, np.zeros(6), state)
    assert np.abs(jacobian.dv_dq - reference["dv_dq"]).max() < 0.05 * (1 + np.abs(reference["dv_dq"]).max())


def test_joints_it_does_not_know_are_refused():
    pin = pinocchio
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelSphericalZYX(), pin.SE3.Identity(), "wrist")
    model.appendBodyToJoint(joint, pin.Inertia.FromSphere(1.0, 0.1), pin.SE3.Identity())
    scene = from_pinocchio(model, pin.GeometryModel())
    sim = taut.Simulator(scene)
    sim.step(scene.q0, np.zeros(3))
    with pytest.raises(ValueError, match="'wrist', a JointModelSphericalZYX"):
        sim.jacobian()


def test_a_held_robot_with_saturated_servos():
    scene = taut.scenes.make("go1")
    sim = taut.Simulator(scene, tolerance=1e-12)
    sim.hold(scene.q0, kp=30.0, kd=1.0, torque_limit=8.0)
    found = compare(sim, 20, np.random.default_rng(3))
    assert len(found.errors) == 20
    assert max(found.worst(block) for block in BLOCKS) < 1e-6


def test_external_forces_move_with_their_bodies():
    scene = taut.scenes.make("go1")
    sim = taut.Simulator(scene, tolerance=1e-12)
    rng = np.random.default_rng(5)
    q, v, model = scene.q0.copy(), 0.3 * rng.normal(size=18), scene.model
    q[2] += 1.0
    fext = rng.normal(size=(model.njoints, 6))
    sim.step(q, v, fext=fext)
    jacobian = sim.jacobian()
    h = 1e-6
    for k in range(18):
        way = np.zeros(18)
        way[k] = h
        ahead, behind = (sim.step(pinocchio.integrate(model, q, side), v, fext=fext).v for side in (way, -way))
        np.testing.assert_allclose(jacobian.dv_dq[:, k], (ahead - behind) / (2 * h), atol=1e-7)


@pytest.mark.parametrize("integrator", ["euler", "moreau"])
@pytest.mark.parametrize("name", ["go1", "humanoid", "cube_on_plane", "pile", "cassie", "fourbar_fixed"])
def test_forward_and_reverse_are_the_jacobian(name, integrator, rng):
    scene = taut.scenes.make(name)
    sim = taut.Simulator(scene, integrator=integrator)
    nv = scene.model.nv
    q, v = scene.q0, np.zeros(nv)
    for k in range(120):
        done = sim.step(q, v, rng.normal(size=nv))
        if k % 4 == 0:
            J = sim.jacobian()
            dq, dv, dtau, q_bar, v_bar = rng.normal(size=(5, nv))
            q_dot, v_dot = sim.jvp(dq, dv, dtau)
            np.testing.assert_allclose(q_dot, J.dq_dq @ dq + J.dq_dv @ dv + J.dq_dtau @ dtau, rtol=1e-10, atol=1e-9)
            np.testing.assert_allclose(v_dot, J.dv_dq @ dq + J.dv_dv @ dv + J.dv_dtau @ dtau, rtol=1e-9, atol=1e-7)
            bars = sim.vjp(q_bar, v_bar)
            forward = q_bar @ q_dot + v_bar @ v_dot
            backward = bars.q @ dq + bars.v @ dv + bars.tau @ dtau
            size = np.abs(q_bar) @ np.abs(q_dot) + np.abs(v_bar) @ np.abs(v_dot)
            assert abs(forward - backward) <= 1e-10 * size
        q, v = done.q, done.v


def test_elastic_balls_exchange_their_velocities():
    """What one had the other gets: the derivative is an exchange, too (nimblephysics issue 97)."""
    scene = taut.Scene()
    scene.gravity = [0.0, 0.0, 0.0]
    for name, x in (("left", -0.1005), ("right", 0.1)):
        scene.add_body(name, coal.Sphere(0.1), 1.0, [x, 0.0, 0.0], friction=0.0, restitution=1.0)
    sim = taut.Simulator(scene, tolerance=1e-12)
    v = np.zeros(12)
    v[0] = 1.0
    done = sim.step(scene.q0, v)
    np.testing.assert_allclose(done.v[[0, 6]], [0.0, 1.0], atol=1e-9)
    jacobian = sim.jacobian()
    along = np.ix_([0, 6], [0, 6])
    np.testing.assert_allclose(jacobian.dv_dv[along], [[0.0, 1.0], [1.0, 0.0]], atol=1e-9)
    # The impact comes with the velocity that was there, not with the place: dq⁺/dq of the two along the line.
    np.testing.assert_allclose(jacobian.dv_dq[along], 0.0, atol=1e-9)


def test_a_ball_dropped_from_higher_bounces_higher():
    """The sign of d(bounce height)/d(drop height), by the chain of a whole fall and bounce, and its size.

    Within one and the same step of impact the speed of the impact does not change, but where it happens does: that
    function of the discrete run has slope one, and jumps from step to step make up for it to e² on the whole.
    """

    def run(height: float, chained: bool):
        scene = taut.Scene()
        scene.add_floor(restitution=0.8)
        scene.add_body("ball", coal.Sphere(0.1), 1.0, [0.0, 0.0, 0.1 + height])
        sim = taut.Simulator(scene, tolerance=1e-12)
        q, v = scene.q0, np.zeros(6)
        dq, dv = np.eye(6)[2], np.zeros(6)
        for _ in range(500):
            done = sim.step(q, v)
            if chained:
                dq, dv = sim.jvp(dq, dv)
            q, v = done.q, done.v
        return q[2] + v[2] ** 2 / (2 * 9.81), dq[2] + v[2] * dv[2] / 9.81  # where it will turn

    _, gradient = run(0.5, chained=True)
    h = 1e-6
    difference = (run(0.5 + h, chained=False)[0] - run(0.5 - h, chained=False)[0]) / (2 * h)
    assert gradient > 0
    assert gradient == pytest.approx(difference, abs=1e-6)


def test_a_foot_that_leaves_the_ground_is_finite_and_right():
    """MuJoCo's differences were off there (mujoco issue 1517)."""
    scene = taut.scenes.make("go1")
    sim = taut.Simulator(scene, tolerance=1e-12)
    sim.hold(scene.q0, kp=60.0, kd=2.0)
    q, v = scene.q0, np.zeros(18)
    for _ in range(300):
        done = sim.step(q, v)
        q, v = done.q, done.v
    v = v.copy()
    v[2] += 0.5  # it jumps
    state = sim.state()
    sim.step(q, v)
    jacobian = sim.jacobian()
    assert set(jacobian.certificate.modes[: len(sim.problem().mu)]) == {"open"}
    reference = differences(sim, q, v, np.zeros(18), state)
    for block in BLOCKS:
        scale = 1 + np.abs(reference[block]).max()
        assert np.abs(getattr(jacobian, block) - reference[block]).max() < 1e-6 * scale


def test_leaving_the_collision_term_out_is_seen():
    scene = body(coal.Sphere(0.1))
    sim = taut.Simulator(scene, tolerance=1e-12)
    q = scene.q0.copy()
    q[2] = 0.0999
    sim.step(q, np.array([0.5, 0.0, 0.0, 0.0, 1.0, 0.0]))
    with_it, without = sim.jacobian(), sim.jacobian(move_contacts=False)
    assert np.abs(with_it.dv_dq - without.dv_dq).max() > 1e-3


def test_the_certificate_tells_of_rest_and_redundancy():
    scene = taut.scenes.make("cube_on_plane")
    sim = taut.Simulator(scene, tolerance=1e-12)
    q, v = scene.q0, np.zeros(6)
    for _ in range(50):
        done = sim.step(q, v)
        q, v = done.q, done.v
    certificate = sim.jacobian(impulses=True).certificate
    assert certificate.modes == ["closed"] * 4
    assert certificate.unknowns == 12 and certificate.rank == 6 and certificate.unique and certificate.solved
    assert certificate.nearest < 1e-6  # at rest without gap or penetration: a kink of the bias
    assert len(certificate.distance) == 4


def test_what_cannot_be_asked_is_named():
    scene = taut.scenes.make("cube_on_plane")
    sim = taut.Simulator(scene)
    with pytest.raises(ValueError, match="no step yet"):
        sim.jacobian()
    with pytest.raises(ValueError, match="no step yet"):
        sim.vjp(np.zeros(6), np.zeros(6))
    sim.step(scene.q0, np.zeros(6))
    with pytest.raises(ValueError, match="v_bar is not finite"):
        sim.vjp(np.zeros(6), np.full(6, np.nan))
    with pytest.raises(ValueError, match=r"q_bar has shape \(5,\), expected \(6,\)"):
        sim.vjp(np.zeros(5), np.zeros(6))
    with pytest.raises(ValueError, match="'magic'"):
        sim.jacobian(collision="magic")
    soft = taut.Simulator(scene, soft_contacts=taut.Softening())
    soft.step(scene.q0, np.zeros(6))
    with pytest.raises(ValueError, match="softened"):
        soft.jacobian()


def test_a_step_that_failed_has_no_derivative():
    scene = taut.scenes.make("half_cheetah")
    sim = taut.Simulator(scene)
    assert sim.step(scene.q0, np.full(9, 1e200)).report.status == "not_finite"
    for ask in (sim.jacobian, lambda: sim.vjp(np.zeros(9), np.zeros(9)), lambda: sim.jvp(np.zeros(9), np.zeros(9))):
        with pytest.raises(ValueError, match="the last step is not finite"):
            ask()


def test_check_gradient_prints_and_writes(tmp_path):
    file = tmp_path / "errors.json"
    result = CliRunner(env={"COLUMNS": "160"}).invoke(
        app, ["check-gradient", "go1", "--states", "10", "--json", str(file)]
    )
    assert result.exit_code == 0, result.output
    assert "10 of" in result.stdout and "contact sliding" in result.stdout and "dv_dtau" in result.stdout
    content = json.loads(file.read_text())
    assert content["states"] == len(content["errors"]) == 10 and max(content["worst"].values()) < 1e-6
    assert CliRunner().invoke(app, ["check-gradient", "go1", "--states", "0"]).exit_code == 2
    assert CliRunner().invoke(app, ["check-gradient"]).exit_code == 2
    assert CliRunner().invoke(app, ["check-gradient", "go1", "--all"]).exit_code == 2


def test_check_gradient_of_several_scenes_counts_blocks_by_mode(tmp_path):
    file = tmp_path / "states.json"
    names = ["cube_on_plane", "go1", "fourbar_fixed", "bouncing"]
    result = CliRunner(env={"COLUMNS": "160"}).invoke(
        app, ["check-gradient", *names, "--states", "8", "--json", str(file)]
    )
    assert result.exit_code == 0, result.output
    for text in ("dry friction, slipping", "loop: hinge", "redundant impulses", "near a switch"):
        assert text in result.stdout, text
    content = json.loads(file.read_text())
    assert [row["source"] for row in content["results"]] == names
    for row in content["results"]:
        assert row["states"] == 8 and row["above_tolerance"] == 0
        assert row["seen"] == row["states"] + sum(row["left_out"].values())
    assert content["total"]["loop closed"]["blocks"] == 8 * 5
    assert content["total"]["contact sliding"]["worst"] < 1e-6


@pytest.mark.parametrize("name", [name for name in CASES if name != "talos"])
def test_states_of_every_case_are_worth_comparing(name):
    """Talos alone takes as long as the others together."""
    case = CASES[name]
    try:
        sim = case.simulator()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    found = compare(sim, 4, np.random.default_rng(1), **case.sampling)
    assert len(found.errors) == 4, found.left_out
    assert found.worst_of_all() < 1e-6
    assert max(found.unsure) < 5e-7


def test_a_ladder_of_differences_knows_a_kink():
    """A ball that touches without gap or penetration: the bias has another slope on each side, the step a kink."""
    scene = body(coal.Sphere(0.1))
    sim = taut.Simulator(scene, tolerance=1e-12)
    state, v, tau = sim.state(), np.zeros(6), np.zeros(6)
    for height, kinked in ((0.1, True), (0.0999, False)):
        q = scene.q0.copy()
        q[2] = height
        found = ladder(sim, q, v, tau, state, free_directions(sim, q))
        assert (found.kink["dv_dq"] > 0.1) == kinked
        assert (max(found.kink.values()) < 1e-8) != kinked
        if kinked:
            assert found.column == ("q", 2)


def test_an_error_in_torques_is_seen():
    """They move a step by 1e-6 m: relative to one, all of the block could be wrong."""
    scene = taut.scenes.make("cube_on_plane")
    sim = taut.Simulator(scene, tolerance=1e-12)
    q, state = scene.q0.copy(), sim.state()
    q[2] += 1.0
    found = ladder(sim, q, np.zeros(6), np.zeros(6), state, np.eye(6))
    assert found.scale["dq_dtau"] < 1e-3
    sim.step(q, np.zeros(6))
    assert np.abs(sim.jacobian().dq_dtau - found.slopes["dq_dtau"]).max() < 1e-8 * found.scale["dq_dtau"]


def test_bench_gradients_prints_times_beside_errors(tmp_path):
    file = tmp_path / "gradients.json"
    result = CliRunner(env={"COLUMNS": "200"}).invoke(
        app, ["bench", "gradients", "half_cheetah", "go1_mjcf", "--steps", "40", "--samples", "2", "--json", str(file)]
    )
    assert result.exit_code == 0, result.output
    rows = json.loads(file.read_text())["results"]
    assert [row["source"] for row in rows] == ["half_cheetah", "go1_mjcf"]
    for row in rows:
        assert row["jacobian_us"] > 0 and row["vjp_us"] > 0 and row["error"] < 1e-5


@pytest.mark.parametrize("integrator", ["euler", "moreau"])
@pytest.mark.parametrize("speed", [0.0, 3.0], ids=["sticking", "sliding"])
def test_impulses_where_they_are_unique(speed, integrator):
    scene = body(coal.Sphere(0.1))
    sim = taut.Simulator(scene, tolerance=1e-13, integrator=integrator)
    q, v, tau = scene.q0.copy(), np.array([speed, 0.1 * speed, -0.4, 0.0, 0.3 * speed, 0.2]), np.zeros(6)
    q[2] = 0.0998
    state = sim.state()

    def impulse(dq, dv, dtau):
        sim.restore(state)
        sim.step(pinocchio.integrate(scene.model, q, dq), v + dv, tau + dtau)
        return sim.impulse

    still = np.zeros(6)
    sim.step(q, v, tau)
    jacobian = sim.jacobian(impulses=True)
    assert jacobian.certificate.modes == ["sliding" if speed else "closed"]
    for what, h in (("q", 1e-7), ("v", 1e-6), ("tau", 1e-4)):
        found = getattr(jacobian, f"dimpulse_d{what}")
        for k in range(6):
            way = h * np.eye(6)[k]
            ahead, behind = (
                impulse(*(side if name == what else still for name in ("q", "v", "tau"))) for side in (way, -way)
            )
            reference = (ahead - behind) / (2 * h)
            np.testing.assert_allclose(found[:, k], reference, atol=1e-6 * (1 + np.abs(found).max()))
