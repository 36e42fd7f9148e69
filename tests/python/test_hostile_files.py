"""No file ends the process, or takes more than it is given: each group of cases is read in a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import hostile
import taut

PATIENCE = 120  # s, for a group that takes some three


@pytest.mark.parametrize("group", hostile.GROUPS)
def test_hostile_files_end_in_a_named_error(group, tmp_path):
    if group == "fclib":
        pytest.importorskip("h5py")
    command = [sys.executable, hostile.__file__, group, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, errors = process.communicate(timeout=PATIENCE)
        how = f"exit code {process.returncode}"
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
        how = f"no end within {PATIENCE} s"
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    found = {line["ended"]: line["outcome"] for line in lines if "ended" in line}
    unfinished = [line["begun"] for line in lines if "begun" in line and line["begun"] not in found]
    assert process.returncode == 0, f"{how} at {unfinished}\n{errors[-2000:]}"
    expected = {name: wanted for name, (_, wanted) in hostile.GROUPS[group].items()}
    assert found.keys() == expected.keys()
    wrong = {
        name: found[name]
        for name, wanted in expected.items()
        if (wanted == hostile.LOADS) != (found[name] == hostile.LOADS) or not re.search(wanted, found[name], re.DOTALL)
    }
    assert not wrong, json.dumps(wrong, indent=1)
    assert all(len(outcome) < 2000 for outcome in found.values())  # an error quotes, it does not repeat the file


def plate(folder: Path, more: str = "") -> Path:
    """A flat square of one metre above the floor."""
    path = folder / "plate.xml"
    path.write_text(
        '<mujoco><asset><mesh name="m" vertex="-.5 -.5 0  .5 -.5 0  .5 .5 0  -.5 .5 0"/></asset><worldbody>'
        '<geom type="plane" size="1 1 1"/><body pos="0 0 0.05"><freejoint/>'
        '<inertial mass="1" pos="0 0 0" diaginertia="0.084 0.084 0.167"/><geom type="mesh" mesh="m"/></body>'
        f"{more}</worldbody></mujoco>"
    )
    return path


def test_a_flat_mesh_collides_as_a_plate(tmp_path):
    with pytest.warns(taut.TautWarning, match="'m' is flat"):
        scene = taut.load(plate(tmp_path))
    sim = taut.Simulator(scene, dt=1e-3)
    q, v = scene.q0, np.zeros(6)
    for _ in range(300):
        step = sim.step(q, v)
        q, v = step.q, step.v
    assert step.report.status == "converged"
    assert abs(q[2] - 0.5e-4) < 1e-6  # half of the plate's thickness, 1e-4 of its extent
    assert np.abs(v).max() < 1e-6
    assert np.sum([impulse[2] for impulse in step.impulses]) == pytest.approx(9.81e-3, rel=1e-4)


def test_a_ball_comes_to_rest_on_a_flat_mesh(tmp_path):
    ball = '<body pos="0.1 0.2 0.2"><freejoint/><geom size="0.1"/></body>'
    with pytest.warns(taut.TautWarning, match="'m' is flat"):
        scene = taut.load(plate(tmp_path, ball))
    sim = taut.Simulator(scene, dt=1e-3)
    q, v = scene.q0, np.zeros(12)
    for _ in range(500):
        step = sim.step(q, v)
        q, v = step.q, step.v
    assert abs(q[9] - (0.1 + 1e-4)) < 1e-5


def test_the_bound_on_meshes_can_be_raised(tmp_path):
    path = hostile.with_mesh("square.stl", hostile.stl(hostile.SQUARE * 100), "urdf")(tmp_path)
    with pytest.raises(ValueError, match=r"square\.stl' has 10084 bytes.*max_bytes"):
        taut.load(path, max_bytes=10_000)
    with pytest.warns(taut.TautWarning):
        assert taut.load(path, max_bytes=1_000_000).geometry.ngeoms == 1


def test_mesh_files_of_three_kinds_hold_the_same_corners(tmp_path):
    """The same vertices from binary and textual STL and from OBJ, as a hull shows them."""
    corners = [(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    triangles = [tuple(corners[i] for i in face) for face in faces]
    as_text = "solid x\n"
    for triangle in triangles:
        as_text += "facet normal 0 0 0\n outer loop\n"
        as_text += "".join("  vertex {} {} {}\n".format(*corner) for corner in triangle) + " endloop\nendfacet\n"
    obj = "# a comment\n" + "".join("v {} {} {}\n".format(*corner) for corner in corners)
    obj += "".join("f {}/1/1 {}/2 {}\n".format(*(i + 1 for i in face)) for face in faces)
    for name, content in {"a.stl": hostile.stl(triangles), "b.stl": as_text.encode(), "c.obj": obj.encode()}.items():
        with pytest.warns(taut.TautWarning, match="convex hulls"):
            scene = taut.load(hostile.with_mesh(name, content, "xml")(tmp_path))
        assert sorted(map(tuple, scene.geometry.geometryObjects[0].geometry.points())) == sorted(corners)


def test_a_problem_of_numpy_is_read_as_before(tmp_path):
    problem = taut.Problem(np.eye(3), [1.0, 0.0, -0.1], [0.5])
    problem.save(tmp_path / "a.npz")
    assert zipfile.is_zipfile(tmp_path / "a.npz")
    assert np.array_equal(taut.Problem.load(tmp_path / "a.npz").g, problem.g)
