"""`taut bench loops`, quick: tables, files, and what they claim."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import taut
from taut.cli import app
from taut.experiments.loops import EXPERIMENTS
from taut.experiments.loops.samples import CATEGORIES, categories

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def conduct(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    made = {}

    def get(name: str):
        if name not in made:
            result = CliRunner(env={"COLUMNS": "160"}).invoke(
                app, ["bench", "loops", name, "--quick", "--results", str(folder)]
            )
            assert result.exit_code == 0, result.output
            (numbers,) = folder.glob(f"*/loops_{name}.json")
            assert numbers.with_suffix(".png").stat().st_size > 10_000
            made[name] = json.loads(numbers.read_text()), result.stdout
        return made[name]

    return get


def test_without_a_name_the_experiments_are_listed():
    listed = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["bench", "loops"]).stdout
    for name, experiment in EXPERIMENTS.items():
        assert name in listed
        assert experiment.PAPER in listed


def test_an_unknown_name_is_answered_with_the_known_ones():
    result = CliRunner().invoke(app, ["bench", "loops", "hodl"])
    assert result.exit_code == 2
    assert "'hodl'" in result.stderr and "hold" in result.stderr.replace("hodl", "")


def test_the_suite_is_the_papers(conduct):
    content, printed = conduct("suite")
    assert "ironman †" in printed
    for row in content["results"]["rows"]:
        theirs = row["published"]
        assert row["constraints"] == theirs["constraints"]
        assert row["bodies"] == theirs["bodies"]
        assert row["rank"] <= row["constraints"]
        # Of figures full of loops the paper counts joint freedoms; where there is none, or one, it is what is left.
        if row["system"] in (
            "boxes_fixed",
            "nunchuk",
            "fourbar_fixed",
            "fourbar_free",
            "arm7d",
            "kl_quadruped",
            "lima",
        ):
            assert row["dofs"] == theirs["dofs"], row["system"]


def test_loops_hold(conduct):
    content, _ = conduct("hold")
    rows = content["results"]["rows"]
    assert {row["system"] for row in rows} == {*taut.scenes.mechanisms.MECHANISMS, "cassie"}
    for row in rows:
        ours = row["taut"]
        assert ours["finite"] and ours["linear"] < 1e-5 and ours["angular"] < 1e-5, row["system"]
        assert ours["certified"] > 0.98
        if ours["energy_gain"] is not None:
            assert ours["energy_gain"] < 2e-3 * ours["energy_start"]


def test_hold_measures_mujoco_with_the_same_ruler(conduct):
    pytest.importorskip("mujoco")
    content, _ = conduct("hold")
    cassie = next(row for row in content["results"]["rows"] if row["system"] == "cassie")
    assert cassie["mujoco"]["closures"] == 4
    assert 10 * cassie["taut"]["linear"] < cassie["mujoco"]["linear"] < 0.1


def test_solvers_are_measured_by_category(conduct):
    content, printed = conduct("solvers")
    results = content["results"]
    met = {category for row in results["rows"] for category in row["categories"]}
    assert {"independent_joints", "dense_joints", "redundant_joints", "dense_contacts", "sparse_contacts"} <= met
    assert "r_pen" in printed
    for row in results["rows"]:
        ours = row["answers"]["auto"]
        assert ours["certified"], row["name"]
        assert ours["r_nat"] <= 1e-6 and ours["r_dual"] <= 1e-6
        assert ours["r_pen"] < 1e-5


def test_categories_are_those_of_the_paper():
    """Counted by hand."""
    scene = taut.scenes.make("fourbar_fixed")  # 26 rows on 4 bodies, of rank 23
    sim = taut.Simulator(scene)
    sim.step(scene.q0, np.zeros(24))
    assert categories(scene, scene.q0, sim.problem()) == ("dense_joints",)
    scene = taut.scenes.make("nunchuk")  # in the air: 6 rows on 3 bodies
    sim = taut.Simulator(scene)
    sim.step(scene.q0, np.zeros(18))
    assert categories(scene, scene.q0, sim.problem()) == ("independent_joints",)
    scene = taut.scenes.make("boxes_fixed")  # 4 contacts on 2 bodies, and a weld: 18 rows for 12 freedoms
    sim = taut.Simulator(scene)
    sim.step(scene.q0, np.zeros(12))
    assert categories(scene, scene.q0, sim.problem()) == ("sparse_contacts", "dense_constraints")
    scene = taut.scenes.make("box_on_plane")
    sim = taut.Simulator(scene)
    sim.step(scene.q0, np.zeros(6))
    assert categories(scene, scene.q0, sim.problem()) == ("dense_contacts",)
    assert set(CATEGORIES) >= {"dense_contacts", "single_contact"}
