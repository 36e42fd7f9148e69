"""`taut bench gjk`, quick: tables, files, and what they claim; and the options they compare."""

from __future__ import annotations

import json

import coal
import numpy as np
import pytest
from typer.testing import CliRunner

import taut
from taut import _taut
from taut.cli import app
from taut.experiments.gjk import EXPERIMENTS, baselines, problems, step, warm_start

pytest.importorskip("matplotlib")

STARTS = ("none", "boxes", "previous", "turned", "transported")


@pytest.fixture(scope="module")
def conduct(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    made = {}

    def get(name: str):
        if name not in made:
            result = CliRunner(env={"COLUMNS": "160"}).invoke(
                app, ["bench", "gjk", name, "--quick", "--results", str(folder)]
            )
            assert result.exit_code == 0, result.output
            (numbers,) = folder.glob(f"*/gjk_{name}.json")
            assert numbers.with_suffix(".png").stat().st_size > 10_000
            made[name] = json.loads(numbers.read_text())["results"], result.stdout
        return made[name]

    return get


def test_without_a_name_the_experiments_are_listed():
    listed = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["bench", "gjk"]).stdout
    for name, experiment in EXPERIMENTS.items():
        assert name in listed
        assert experiment.PAPER in listed


def test_an_unknown_name_is_answered_with_the_known_ones():
    result = CliRunner().invoke(app, ["bench", "gjk", "mehses"])
    assert result.exit_code == 2
    assert "'mehses'" in result.stderr and "meshes" in result.stderr


def right(row) -> None:
    """What a duality gap of 1e-8 promises."""
    assert row["wrong"] == 0 and row["limited"] == 0, row
    assert row["error"] <= 1.01e-4, row


def test_ellipsoids_show_what_the_paper_shows(conduct):
    results, printed = conduct("ellipsoids")
    assert "Nesterov" in printed
    for row in results["rows"]:
        right(row)
    mean = {(row["separation"], row["method"], row["question"]): row["iterations"] for row in results["rows"]}
    nesterov = "nesterov, not normalized"
    assert mean[0.01, nesterov, "distance"] < mean[0.01, "polyak", "distance"] < mean[0.01, "vanilla", "distance"]
    assert mean[1.0, nesterov, "distance"] > mean[1.0, "vanilla", "distance"]  # momentum hurts far away
    assert mean[1.0, "vanilla", "boolean"] == 0  # the first direction separates


def test_momentum_saves_iterations_on_meshes(conduct):
    results, printed = conduct("meshes")
    assert "1811, 3585" in printed
    for row in (*results["by_size"], *results["by_distance"]):
        right(row)
    for vertices in ([240, 240], [3585, 3585]):
        mean = {row["method"]: row["iterations"] for row in results["by_size"] if row["vertices"] == vertices}
        assert mean["polyak"] < mean["vanilla"] and mean["nesterov"] < mean["vanilla"]


def test_baselines_need_more(conduct):
    results, _ = conduct("baselines")
    for row in results["simplex"]:
        if row["method"] != "frank_wolfe":
            right(row)
    mean = {(row["shapes"], row["place"], row["method"]): row["iterations"] for row in results["simplex"]}
    assert mean["cubes", "close", "frank_wolfe"] > 100 * mean["cubes", "close", "vanilla"]
    assert mean["ellipsoids", "close", "frank_wolfe"] > mean["ellipsoids", "close", "vanilla"]
    assert [row["vertices"] for row in results["programs"]] == [8, 250, 940]
    assert [row["faces"] for row in results["programs"]] == [6, 496, 1876]  # Euler's, and the paper's
    for row in results["programs"]:
        if row["proxqp"] is not None:
            assert row["proxqp"]["error"] < 1e-3 and row["proxqp"]["us"] > 10 * row["vanilla"]["us"]


def test_without_proxqp_the_row_says_so(conduct, monkeypatch):
    results, _ = conduct("baselines")
    without = {**results, "programs": [{**row, "proxqp": None} for row in results["programs"]]}
    (_, made) = baselines.tables(without)
    assert "pip install proxsuite" in list(made.columns[2].cells)


def test_warm_starts_are_measured_over_trajectories(conduct):
    results, _ = conduct("warm_start")
    rows = {(row["method"], row["start"], row["question"]): row for row in results["rows"]}
    assert {start for _, start, _ in rows} == set(warm_start.STARTS)
    assert results["problems"] > 100
    for row in rows.values():
        right(row)
    for kind in ("boolean", "distance"):
        assert rows["vanilla", "previous", kind]["iterations"] < rows["vanilla", "none", kind]["iterations"]


def test_every_choice_finds_the_gaps_of_a_step(conduct):
    results, printed = conduct("step")
    assert {(row["variant"], row["start"]) for row in results["rows"]} == {
        (variant, start) for variant in step.VARIANTS for start in STARTS
    }
    assert f"{results['default'][1]}*" in printed
    for row in results["rows"]:
        assert row["contacts"] > 0 and row["collision_us"] > 0
        assert row["error"] < 1e-6  # what a witness is held to
        assert row["residual"] < 2e-6


@pytest.mark.parametrize("gjk", ("vanilla", "polyak", "nesterov"))
@pytest.mark.parametrize("start", STARTS)
def test_the_option_does_not_change_where_things_come_to_rest(gjk, start):
    scene = step.heap(3, 40)
    sim = taut.Simulator(scene, gjk=gjk, gjk_start=start)
    assert (sim.gjk, sim.gjk_start) == (gjk, start)
    reference = taut.Simulator(scene).rollout(scene.q0, np.zeros(18), steps=100)
    assert np.abs(sim.rollout(scene.q0, np.zeros(18), steps=100).q - reference.q).max() < 1e-6


def test_unknown_options_are_answered_with_the_known_ones():
    scene = taut.scenes.make("ball")
    with pytest.raises(ValueError, match="'newton' is not one of vanilla, polyak, nesterov"):
        taut.Simulator(scene, gjk="newton")
    with pytest.raises(ValueError, match="'warm' is not one of none, boxes, previous, turned, transported"):
        taut.Simulator(scene, gjk_start="warm")


def test_bad_problems_are_named():
    box, turn, away = coal.Box(1, 1, 1), np.eye(3).reshape(1, 9), np.array([[3.0, 0, 0]])
    with pytest.raises(ValueError, match=r"rotations has shape \(3, 3\), expected \(n, 9\)"):
        _taut.time_gjk(box, box, np.eye(3), away)
    with pytest.raises(ValueError, match="rotation 0"):
        _taut.time_gjk(box, box, 2 * turn, away)
    with pytest.raises(ValueError, match="not finite"):
        _taut.time_gjk(box, box, turn, away * np.nan)
    with pytest.raises(ValueError, match="shape_2 must be bounded"):
        _taut.time_gjk(box, coal.Halfspace(np.array([0, 0, 1.0]), 0.0), turn, away)
    with pytest.raises(ValueError, match="samples"):
        _taut.time_gjk(box, box, turn, away, samples=0)
    with pytest.raises(ValueError, match="normalize"):
        _taut.time_gjk(box, box, turn, away, variant="polyak", normalize=True)
    with pytest.raises(ValueError, match="lower_bound, duality_gap"):
        _taut.time_gjk(box, box, turn, away, criterion="kkt")
    runs = _taut.time_gjk(box, box, turn, away)
    assert runs.distance == pytest.approx([2.0]) and not runs.touching[0] and runs.converged[0]


def test_couples_stand_at_the_distance_asked_for():
    """Against the bound that any direction gives and the points that attain it: taut's own distance."""
    rng = np.random.default_rng(1)
    couple = problems.Couple.random(problems.mesh(rng, 60), problems.mesh(rng, 90), 10, rng)
    for separation in (0.0, 0.01, 1.0):
        assert couple.overlaps(couple.at(separation)) == pytest.approx(np.full(10, separation), abs=1e-9)
    assert (couple.overlaps(couple.at(-0.01)) < 0).all()
