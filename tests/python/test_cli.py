"""The shell: what each command prints, writes and answers to wrong input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import taut
from taut.cli import app
from taut.energy import mechanical_energy


def run(*arguments, code: int = 0):
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def fails(*arguments) -> str:
    """Wrong input: exit code 2 and one line on stderr, nothing on stdout."""
    result = run(*arguments, code=2)
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    return lines[0]


def read(path) -> dict:
    return json.loads(path.read_text())


@pytest.fixture
def problem_file(tmp_path):
    """A point of 2 kg that slides: its impulse is (-mu, 0, 1) m g dt."""
    path = tmp_path / "point.npz"
    taut.Problem(np.eye(3) / 2.0, [1.0, 0.0, -9.81e-3], [0.4]).save(path)
    return path


@pytest.mark.parametrize(
    "command", [[], ["demo"], ["simulate"], ["info"], ["solve"], ["bench"], ["bench", "step"], ["bench", "loops"]]
)
def test_every_command_explains_itself(command):
    assert "Usage: taut" in run(*command, "--help").stdout


def test_version():
    assert run("--version").stdout.strip() == f"taut {taut.__version__}"


def test_demo_checks_every_number_and_says_so_by_its_exit_code(tmp_path):
    path = tmp_path / "demo.json"
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["demo", "--json", str(path)])
    checks = [check for part in read(path).values() for check in part]
    assert len(checks) > 10
    assert result.exit_code == (0 if all(check["good"] for check in checks) else 1), result.output
    assert result.exit_code == 0, result.output


class TestSimulate:
    def test_table_and_json_agree_on_a_cube_at_rest(self, tmp_path):
        path = tmp_path / "run.json"
        result = run("simulate", "cube_on_plane", "--seconds", 0.2, "--json", path)
        assert "steps not certified" in result.stdout
        content = read(path)
        assert content["steps"] == 200
        assert content["steps_not_certified"] == 0
        assert content["worst_residual"] <= content["tolerance"]
        assert content["contacts_max"] == 4
        assert content["height"] == pytest.approx(0.1, abs=1e-6)
        assert content["energy_largest_rise"] < 1e-6
        assert content["passive"]

    def test_a_falling_ball_keeps_its_energy_up_to_the_step(self, tmp_path):
        path = tmp_path / "run.json"
        run("simulate", "ball", "--seconds", 0.2, "--dt", 1e-3, "--json", path)
        # Semi-implicit Euler falls g t dt / 2 further than the parabola: it loses m g of that.
        assert read(path)["energy_drift"] == pytest.approx(-9.81 * 9.81 * 0.2 * 1e-3 / 2, rel=1e-6)

    def test_record_holds_every_state(self, tmp_path):
        path = tmp_path / "out.npz"
        run("simulate", "stack", "--seconds", 0.12, "--record", path)
        with np.load(path) as file:
            assert file["q"].shape == (121, 70)
            assert file["v"].shape == (121, 60)
            assert file["contacts"].shape == (120,)
            assert file["residuals"].shape == (120, 4)
            np.testing.assert_allclose(file["t"], 1e-3 * np.arange(121))
            np.testing.assert_array_equal(file["q"][0], taut.scenes.make("stack").q0)
            assert np.isfinite(file["q"]).all()

    def test_recorded_impulses_carry_the_weight(self, tmp_path):
        path = tmp_path / "out.npz"
        run("simulate", "cube_on_plane", "--seconds", 0.05, "--record", path)
        with np.load(path) as file:
            per_step = np.split(file["impulses"], np.cumsum(file["contacts"])[:-1])
            assert file["points"].shape == file["impulses"].shape
            assert sum(per_step[-1][:, 2]) == pytest.approx(9.81e-3, rel=1e-3)  # 1 kg, 1 ms

    def test_hold_and_drop(self, tmp_path):
        path = tmp_path / "run.json"
        run("simulate", "go1", "--hold", "--drop", 0.1, "--seconds", 0.1, "--json", path)
        content = read(path)
        assert content["gains"]["kp"] == pytest.approx(20 * content["gains"]["kd"])
        assert content["energy_largest_rise"] is None  # the joints are driven
        start = taut.scenes.make("go1").q0[2] + 0.1
        # Falls freely for 100 steps of 1 ms; held joints leave the base where the whole falls.
        assert content["height"] == pytest.approx(start - 9.81 * 1e-6 * 100 * 101 / 2, abs=1e-3)

    def test_files_are_read_too(self, tmp_path):
        path = tmp_path / "ball.xml"
        path.write_text(
            '<mujoco model="b"><worldbody><body pos="0 0 .2"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
        )
        out = tmp_path / "out.npz"
        run("simulate", path, "--floor", "--seconds", 0.3, "--json", tmp_path / "run.json", "--record", out)
        assert read(tmp_path / "run.json")["height"] == pytest.approx(0.1, abs=1e-5)
        with np.load(out) as file:
            assert json.loads(file["metadata"].item())["name"] == "b"

    def test_unknown_name_lists_the_scenes(self):
        message = fails("simulate", "stakc")
        assert "did you mean stack?" in message
        assert all(name in message for name in taut.scenes.names())

    def test_wrong_input_is_named(self, tmp_path):
        assert "no/such.urdf" in fails("simulate", "no/such.urdf")
        assert "folder" in fails("simulate", tmp_path)
        assert "foo" in fails("simulate", "ball", "--solver", "foo")
        assert "-1" in fails("simulate", "ball", "--seconds", "-1")
        assert "dt is 0.0" in fails("simulate", "ball", "--dt", 0)
        assert "floats" in fails("simulate", "half_cheetah", "--drop", 0.1)
        assert "out.csv" in fails("simulate", "ball", "--record", tmp_path / "out.csv")
        assert "nowhere" in fails("simulate", "ball", "--record", tmp_path / "nowhere" / "out.npz")
        assert "kp" in fails("simulate", "go1", "--kp", "-1")

    @pytest.mark.parametrize("name", ["bad.xml", "bad.urdf"])
    def test_malformed_file(self, tmp_path, name):
        (tmp_path / name).write_text("<robot name='x'><link")
        assert name in fails("simulate", tmp_path / name)


class TestInfo:
    def test_joints_bodies_shapes(self, tmp_path):
        path = tmp_path / "info.json"
        out = run("info", "half_cheetah", "--json", path).stdout
        assert all(word in out for word in ("Joints", "Bodies", "Shapes", "Actuators", "bthigh", "prismatic"))
        content = read(path)
        assert content["nv"] == 9
        assert content["mass"] == pytest.approx(14.0)  # settotalmass of the file
        thigh = next(joint for joint in content["joints"] if joint["name"] == "bthigh")
        assert (thigh["type"], thigh["lower"], thigh["stiffness"]) == ("revolute", -0.52, [240.0])
        assert content["joints"][0]["upper"] is None  # no limit: JSON has no infinity
        assert {shape["kind"] for shape in content["shapes"]} == {"halfspace", "capsule"}

    def test_every_line_fits_a_hundred_columns(self):
        for name in ("go1_mjcf", "talos"):
            out = run("info", name).stdout
            tables = out[: out.index(" start: ")]
            assert max(len(line) for line in tables.splitlines() if " pose " not in line) <= 100

    def test_errors(self, tmp_path):
        assert "'nope'" in fails("info", "nope")
        (tmp_path / "empty.xml").touch()
        assert "empty.xml" in fails("info", tmp_path / "empty.xml")


class TestLoops:
    def test_info_lists_loops_and_what_drives_them(self, tmp_path):
        path = tmp_path / "walker.json"
        printed = run("info", "walker", "--json", path).stdout
        assert "Loops" in printed and "left_hip_pitch_fork" in printed
        content = read(path)
        assert len(content["loops"]) == 36
        assert sum(loop["rows"] for loop in content["loops"]) == 180
        assert all(actuator["joint"] in printed for actuator in content["actuators"])

    def test_info_lists_couplings(self, tmp_path):
        file, path = tmp_path / "gears.xml", tmp_path / "gears.json"
        body = '<body><joint name="{}" axis="0 0 1"/><geom size="0.1"/></body>'
        file.write_text(
            f"<mujoco><worldbody>{body.format('big')}{body.format('small')}</worldbody><equality>"
            '<joint joint1="small" joint2="big" polycoef="0 3"/></equality></mujoco>'
        )
        assert "Couplings" in run("info", file, "--json", path).stdout
        (coupling,) = read(path)["couplings"]
        assert (coupling["joint"], coupling["follows"], coupling["polynomial"][1]) == ("small", "big", 3.0)

    def test_simulate_says_how_far_loops_open(self, tmp_path):
        path = tmp_path / "run.json"
        printed = run("simulate", "fourbar_fixed", "--seconds", 0.2, "--json", path).stdout
        assert "loops open by" in printed
        result = read(path)
        assert 0.0 < result["loops_open_at_end"] <= result["loops_open_by"] < 1e-5


class TestSolve:
    def test_all_solvers_find_the_sliding_point(self, problem_file, tmp_path):
        path = tmp_path / "solved.json"
        out = run("solve", problem_file, "--solver", "all", "--json", path).stdout
        results = read(path)["results"]
        assert [result["solver"] for result in results] == list(taut.solvers())
        for result in results:
            # A point that slides tells the models apart: those that relax the law solve theirs and are not certified.
            # Only where normal and tangential motion do not couple, as here, is RaiSim's law the exact one.
            assert result["certified"] == (result["model"] in ("NCP", "RaiSim") or result["solver"].startswith("lcp_"))
            assert result["model_residual"] <= 1e-6
            assert result["seconds"] > 0
            assert result["solver"] in out

    def test_an_answer_that_is_not_certified_shows_in_the_exit_code(self, problem_file, tmp_path):
        path = tmp_path / "solved.json"
        G = np.eye(6) + 0.9 * np.ones((6, 6))
        hard = tmp_path / "hard.npz"
        taut.Problem(G, [1.0, -0.5, -1.0, 0.3, 1.0, -2.0], [0.5, 0.9]).save(hard)
        run("solve", hard, "--solver", "pgs", "--max-iterations", 1, "--tolerance", 1e-12, "--json", path, code=1)
        assert not read(path)["results"][0]["certified"]

    def test_errors(self, problem_file, tmp_path):
        assert "nope.npz" in fails("solve", "nope.npz")
        (tmp_path / "text.npz").write_text("hello")
        assert "text.npz" in fails("solve", tmp_path / "text.npz")
        np.savez(tmp_path / "half.npz", g=np.zeros(3))
        assert "half.npz" in fails("solve", tmp_path / "half.npz")
        assert "foo" in fails("solve", problem_file, "--solver", "foo")


class TestBench:
    def test_lists_the_benchmarks(self):
        assert "step" in run("bench").stdout

    def test_both_simulators_on_one_file(self, tmp_path):
        pytest.importorskip("mujoco")
        path = tmp_path / "bench.json"
        out = run("bench", "step", "half_cheetah", "humanoid", "go1_mjcf", "--steps", 300, "--json", path).stdout
        assert "Where taut's time goes" in out
        content = read(path)
        assert content["machine"]["cpu"]
        for result in content["results"]:
            assert result["taut"]["steps_not_certified"] == 0
            assert len(result["taut"]["chunks_us"]) == 3
            assert min(result["phases_us"].values()) > 0
            for rival in result["mujoco"]:
                assert rival["ratio"] == pytest.approx(result["taut"]["median_us"] / rival["median_us"])
                assert rival["warnings"] == 0
        extras = [[rival["extras"] for rival in result["mujoco"]] for result in content["results"]]
        assert extras == [[[]], [["RK4"], []], [["condim 6"], []]]  # what the files ask for, and without

    def test_the_same_state_means_the_same_bodies_in_the_same_places(self):
        mujoco = pytest.importorskip("mujoco")
        import pinocchio

        from taut.cli.mujoco_side import MujocoRun

        scene = taut.scenes.make("go1_mjcf")
        model, data = scene.model, scene.model.createData()
        rng = np.random.default_rng(3)
        q = pinocchio.integrate(model, scene.q0, rng.normal(size=model.nv))
        v = rng.normal(size=model.nv)
        theirs = MujocoRun(taut.scenes.path("go1_mjcf"), scene, q, v, 1e-3)
        mujoco.mj_forward(theirs.model, theirs.data)
        pinocchio.forwardKinematics(model, data, q, v)
        for joint in range(1, model.njoints):
            body = int(theirs.model.jnt_bodyid[joint - 1])
            np.testing.assert_allclose(data.oMi[joint].translation, theirs.data.xpos[body], atol=1e-12)
            velocity = np.zeros(6)  # (angular, linear) at the body's origin, axes of the world
            mujoco.mj_objectVelocity(theirs.model, theirs.data, mujoco.mjtObj.mjOBJ_XBODY, body, velocity, 0)
            ours = pinocchio.getVelocity(model, data, joint, pinocchio.LOCAL_WORLD_ALIGNED)
            np.testing.assert_allclose(ours.linear, velocity[3:], atol=1e-12)

    def test_without_mujoco_taut_runs_alone_and_says_how_to_get_it(self, monkeypatch, tmp_path):
        monkeypatch.setattr("taut.cli.mujoco_side.mujoco", None)
        path = tmp_path / "bench.json"
        result = run("bench", "step", "half_cheetah", "--seconds", 0.1, "--json", path)
        assert 'pip install "taut[bench]"' in result.stderr
        assert read(path)["mujoco"] is None
        assert read(path)["results"][0]["taut"]["median_us"] > 0

    def test_errors(self):
        assert "'nope'" in fails("bench", "step", "nope")
        assert "seconds is -1" in fails("bench", "step", "half_cheetah", "--seconds", -1)


class TestEnergy:
    def test_springs_and_height(self):
        scene = taut.scenes.make("half_cheetah")
        q, v = np.array(scene.q0), np.zeros(scene.model.nv)
        start = mechanical_energy(scene, q, v)
        joint = scene.model.getJointId("bthigh")
        at, dof = scene.model.idx_qs[joint], scene.model.idx_vs[joint]
        lifted = q.copy()
        lifted[1] += 0.5  # rootz
        assert mechanical_energy(scene, lifted, v) - start == pytest.approx(14.0 * 9.81 * 0.5)
        scene.gravity = [0, 0, 0]
        q[at] = scene.spring_reference[dof] + 0.1
        assert mechanical_energy(scene, q, v) == pytest.approx(0.5 * 240.0 * 0.1**2)

    def test_rows_are_states(self):
        scene = taut.scenes.make("ball")
        v = np.array([[0.0] * 6, [2.0, 0, 0, 0, 0, 0]])
        energy = mechanical_energy(scene, np.tile(scene.q0, (2, 1)), v)
        assert energy.shape == (2,)
        assert energy[1] - energy[0] == pytest.approx(2.0)  # 1/2 m v^2 of 1 kg

    def test_wrong_shapes_are_named(self):
        with pytest.raises(ValueError, match=r"\(3,\)"):
            mechanical_energy(taut.scenes.make("ball"), np.zeros(3), np.zeros(6))
