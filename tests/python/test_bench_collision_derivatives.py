"""`taut bench collision-derivatives`, quick: tables, files, and what they claim."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from taut.cli import app

pytest.importorskip("matplotlib")


def invoke(*arguments: str):
    return CliRunner(env={"COLUMNS": "160"}).invoke(app, ["bench", "collision-derivatives", *arguments])


def test_both_tables_and_files(tmp_path):
    result = invoke("--quick", "--problems", "30", "--results", str(tmp_path))
    assert result.exit_code == 0, result.output
    for name in ("poses", "times"):
        (numbers,) = tmp_path.glob(f"*/collision_derivatives_{name}.json")
        assert numbers.with_suffix(".png").stat().st_size > 10_000
    (poses,) = tmp_path.glob("*/collision_derivatives_poses.json")
    rows = {(row["targets"], row["method"]): row for row in json.loads(poses.read_text())["results"]["rows"]}
    gumbel = rows["corners", "1st-order Gumbel, depth 1"]
    assert gumbel["problems"] == 30
    assert gumbel["median"] <= 1e-6
    assert gumbel["solved"] > rows["corners", "finite differences, 1e-6"]["solved"]
    (times,) = tmp_path.glob("*/collision_derivatives_times.json")
    content = json.loads(times.read_text())["results"]
    for row in content["simple"]:  # exact ones are exact
        assert row["worst"] < 1e-4, row
    differs = {row["method"]: row.get("differs") for row in content["meshes"] if row["place"] == "apart"}
    assert differs["finite differences, 12 calls"] < 1e-6 and differs["1st-order Gumbel, depth 1"] > 1e-3
    assert "paper" in result.stdout and "times faster than finite differences" in result.stdout


def test_unknown_names_and_numbers_are_answered():
    assert "'pose'" in invoke("pose").stderr
    assert invoke("--problems", "0").exit_code == 2
