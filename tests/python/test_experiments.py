"""The experiments of [CB], quick: each writes its files, and what the paper found is found again."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import taut
from taut.cli import app
from taut.experiments import EXPERIMENTS

pytest.importorskip("matplotlib")

NAMES = [name for name, experiment in EXPERIMENTS.items() if experiment.PAPER.startswith("[CB]")]
TOLERANCE = 1e-6  # of the simulator, m/s


@pytest.fixture(scope="module")
def conduct(tmp_path_factory):
    """The content of NAME.json and the path of NAME.png; every experiment runs once."""
    folder = tmp_path_factory.mktemp("results")
    made = {}

    def get(name: str):
        if name not in made:
            arguments = ["bench", "contact", name, "--quick", "--results", str(folder)]
            result = CliRunner(env={"COLUMNS": "120"}).invoke(app, arguments)
            assert result.exit_code == 0, result.output
            (numbers,) = folder.glob(f"*/{name}.json")
            made[name] = json.loads(numbers.read_text()), numbers.with_suffix(".png"), result.stdout
        return made[name]

    return get


@pytest.fixture
def results(conduct):
    return lambda name: conduct(name)[0]["results"]


def test_without_a_name_the_experiments_are_listed():
    listed = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["bench", "contact"]).stdout
    for name, experiment in EXPERIMENTS.items():
        assert name in listed
        assert experiment.PAPER in listed


def test_an_unknown_name_is_answered_with_the_known_ones():
    result = CliRunner().invoke(app, ["bench", "contact", "isotrpy"])
    assert result.exit_code == 2
    assert "'isotrpy'" in result.stderr
    assert "isotropy" in result.stderr.replace("isotrpy", "")


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_writes_numbers_and_a_figure(conduct, name):
    content, picture, printed = conduct(name)
    assert content["experiment"] == name
    assert content["quick"] is True
    assert content["machine"]["cpu"]
    assert content["versions"]["taut"] == taut.__version__
    assert content["command"].startswith("taut")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "NCP/" in printed


def test_a_cone_is_isotropic(results):
    found = results("isotropy")
    for case in found["runs"]:
        if case["solver"] in ("auto", "pgs", "nbgs", "admm", "staggered"):
            # 275 steps of 1 ms, each off by the tolerance at most
            np.testing.assert_allclose(case["distance"], found["expected"], atol=275 * 1e-3 * 275 * TOLERANCE)
            np.testing.assert_allclose(case["deviation"], 0.0, atol=275 * 1e-3 * 275 * TOLERANCE)


def test_a_pyramid_is_not_isotropic_and_more_sides_help(results):
    worst = {
        case["sides"]: np.abs(case["deviation"]).max()
        for case in results("isotropy")["runs"]
        if case["solver"] == "lcp_pivot"
    }
    assert worst[4] > 5e-3  # of 0.13 m
    assert worst[8] < worst[4]


def test_energy_of_a_sliding_cube_follows_the_closed_form(results):
    found = results("energy")
    for solver in ("auto", "pgs"):
        assert found["runs"][solver]["error"] < 1e-4  # J, of 0.5
        assert max(found["runs"][solver]["height"]) < 1e-6


def test_the_convex_model_takes_off(results):
    found = results("energy")["runs"]
    assert max(found["ccp_admm"]["height"]) > 1e-3
    assert found["ccp_admm"]["error"] > 100 * found["auto"]["error"]


def test_raisim_stays_down_but_brakes_less_than_it_should(results):
    found = results("energy")
    assert max(found["runs"]["raisim"]["height"]) < 1e-6
    assert found["runs"]["raisim"]["distance"] > 1.005 * found["distance"]
    assert found["runs"]["raisim"]["error"] > 100 * found["runs"]["auto"]["error"]


def test_the_dragged_cube_follows_the_closed_form(results):
    found = results("dragged")
    assert found["reference_error"] < 4 * found["reference_dt"]  # first order; the speed at the end is 6.5 m/s


def test_the_convex_model_is_off_in_proportion_to_the_step(results):
    assert results("dragged")["runs"]["ccp_admm"]["model_order"] == pytest.approx(1.0, abs=0.15)


def test_gauss_seidel_leaves_internal_forces_where_admm_does_not(results):
    found = results("internal_forces")["runs"]
    assert found["pgs"]["at_stiction"] > 0.1  # N
    assert found["admm"]["at_stiction"] < 1e-6
    assert found["pgs"]["sliding"] < 1e-3  # maximum dissipation leaves no room for them
    assert found["raisim"]["sliding"] > 0.05  # which RaiSim's model does not have


def test_a_large_mass_ratio_defeats_gauss_seidel_alone(results):
    found = results("heavy_on_light")["runs"]
    assert found["pgs"][0]["mean_natural"] <= TOLERANCE
    assert found["pgs"][-1]["mean_natural"] > 1e-3
    assert found["raisim"][-1]["mean_natural"] > 1e-3
    assert found["auto"][-1]["mean_natural"] <= TOLERANCE


def test_compliance_sinks_creeps_and_makes_forces_unique(results):
    found = results("compliance")
    rigid, *soft = found["stands"]
    assert rigid["creep"] < TOLERANCE
    for stand in soft:
        assert stand["depth"] == pytest.approx(stand["compliance"] * stand["normal_force"], rel=0.02)
        expected = stand["compliance"] * stand["tangential_force"] / found["dt"]
        assert stand["creep"] == pytest.approx(expected, rel=0.02)
    internal = [row["internal"] for row in found["cubes"]["pgs"]]
    assert internal[0] > 0.1  # N
    assert internal[-1] < 1e-3 * internal[0]


def test_the_energy_of_the_convex_model_depends_on_the_step(results):
    found = results("time_step")["runs"]
    for rigid, convex in zip(found["auto"], found["ccp_admm"], strict=True):
        assert convex["error"] > rigid["error"]
        assert convex["energy_error"] > 10 * rigid["energy_error"]


def test_second_order_methods_need_few_iterations(results):
    for about in results("convergence")["robots"].values():
        found = about["runs"]
        newton, pgs = (found[solver]["iterations_to"] for solver in ("newton", "pgs"))
        assert newton["1e-08"] is not None
        assert newton["1e-08"] < (pgs["1e-08"] or np.inf)
        assert pgs["1e-05"] is not None  # a mild accuracy is within reach


def test_a_warm_start_saves_iterations(results):
    for runs in results("timings")["robots"].values():
        for solver in ("auto", "pgs", "admm"):
            assert runs[solver]["warm"]["iterations"] < runs[solver]["cold"]["iterations"]
        assert runs["auto"]["warm"]["worst_natural"] <= TOLERANCE
        assert runs["auto"]["warm"]["mean_us"] > 0


def test_solvers_of_one_model_walk_alike(results):
    for about in results("locomotion")["terrains"].values():
        assert about["runs"]["pgs"]["speed_apart"] < 0.01  # m/s, of 0.3
        assert about["runs"]["auto"]["bad_steps"] == 0


def test_on_slippery_bumps_contacts_slide_and_relaxed_models_fail(results):
    found = results("locomotion")["terrains"]
    assert found["bumpy"]["runs"]["auto"]["sliding"] > 3 * found["flat"]["runs"]["auto"]["sliding"]
    for solver in ("ccp_admm", "raisim", "lcp_pivot"):
        assert found["flat"]["runs"][solver]["bad_steps"] < 0.25
        assert found["bumpy"]["runs"][solver]["bad_steps"] > 0.75
