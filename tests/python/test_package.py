"""The package as others meet it: types, docstrings, doctests, and `find_package(taut)`."""

from __future__ import annotations

import ast
import doctest
import importlib.metadata
import importlib.resources
import inspect
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import taut
import taut.energy
import taut.loading
import taut.recording
import taut.scenes.objects
import taut.scenes.robots

FOLDERS = [Path(taut.__file__).parent, Path(taut._taut.__file__).parent]


def packaged(name: str) -> Path:
    """A file of the package; an editable install has two folders."""
    found = [folder / name for folder in FOLDERS if (folder / name).exists()]
    assert found, f"{name} is in none of {FOLDERS}"
    return found[0]


@pytest.fixture(scope="module")
def stub() -> ast.Module:
    return ast.parse(packaged("_taut.pyi").read_text())


def test_version_is_that_of_the_distribution():
    assert taut.__version__ == importlib.metadata.version("taut")


def test_all_is_what_it_says():
    assert sorted(taut.__all__) == taut.__all__
    for name in taut.__all__:
        assert hasattr(taut, name)


def test_names_of_the_design_are_there():
    for name in ("load", "scenes", "Simulator", "Problem", "solve", "residuals", "solvers", "Scene"):
        assert name in taut.__all__
    for name in ("step", "rollout", "hold", "state", "restore", "problem"):
        assert hasattr(taut.Simulator, name)
    for name in ("names", "make", "path", "describe"):
        assert hasattr(taut.scenes, name)
    wanted = {"cube_on_plane", "sliding_cube", "ball", "stack", "heavy_on_light", "pile", "go1", "solo12", "anymal"}
    wanted |= {"talos", "ur5", "allegro", "g1", "half_cheetah", "humanoid", "h1", "atlas"}
    assert wanted <= set(taut.scenes.names())


def test_signatures_are_those_of_the_design():
    load = inspect.signature(taut.load).parameters
    assert list(load)[:4] == ["path", "floor", "package_dirs", "friction"]
    assert taut.Problem.load.__self__ is taut.Problem


def test_package_is_typed(stub):
    assert packaged("py.typed").exists()
    defined = {node.name for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    compiled = {name for name in taut.__all__ if getattr(getattr(taut, name), "__module__", "") == "taut._taut"}
    assert len(compiled) > 8
    assert compiled <= defined


def test_stub_has_every_member(stub):
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            public = {name for name in vars(getattr(taut._taut, node.name)) if not name.startswith("_")}
            assert public <= members, f"{node.name} has no stub for {public - members}"


def test_stub_is_importable_by_a_checker(stub):
    """Every name an annotation uses is defined or imported in the stub."""
    known = {"self", *dir(__import__("builtins"))}
    for node in ast.walk(stub):
        if isinstance(node, ast.Import | ast.ImportFrom):
            known |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
    used = {node.id for node in ast.walk(stub) if isinstance(node, ast.Name)}
    assert used <= known


def public_objects():
    for name in taut.__all__:
        value = getattr(taut, name)
        yield name, value
        if inspect.isclass(value):
            for member, function in vars(value).items():
                if not member.startswith("_") and (callable(function) or isinstance(function, classmethod)):
                    yield f"{name}.{member}", getattr(value, member)
    for name in taut.scenes.__all__:
        yield f"scenes.{name}", getattr(taut.scenes, name)
    yield "energy.mechanical_energy", taut.energy.mechanical_energy
    yield "loading.from_pinocchio", taut.loading.from_pinocchio


@pytest.mark.parametrize(
    ("name", "value"), list(public_objects()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_public_objects_have_docstrings(name, value):
    text = inspect.getdoc(value) or ""
    signature = text.splitlines()[0] if text else ""
    if signature.startswith(name.split(".")[-1] + "("):  # nanobind puts the signature first
        text = "\n".join(text.splitlines()[1:]).strip()
    assert len(text) > 10, f"{name} has no docstring"


def test_scenes_are_described():
    described = taut.scenes.describe()
    assert list(described) == taut.scenes.names()
    assert all(len(line) > 5 for line in described.values())


@pytest.mark.parametrize(
    "module",
    [
        taut,
        taut.recording,
        taut.scenes,
        taut.loading,
        taut.problem,
        taut.energy,
        taut.scenes.objects,
        taut.scenes.robots,
    ],
)
def test_doctests(module):
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert results.failed == 0
    if module in (taut, taut.scenes):
        assert results.attempted >= 3


def test_packaged_robots_come_with_their_licences():
    data = packaged("scenes/data")
    assert list(data.glob("*.xml"))
    texts = " ".join(path.read_text(errors="ignore") for path in data.iterdir() if path.suffix in (".md", ".txt", ""))
    assert "BSD" in texts


def test_import_does_not_bring_in_the_heavy_extras():
    """MuJoCo and gymnasium are extras: importing taut must not need them."""
    code = "import sys, taut; print([m for m in ('mujoco', 'gymnasium', 'matplotlib', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- C++

CMAKE = """
cmake_minimum_required(VERSION 3.24)
project(consumer CXX)
find_package(taut REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE taut::taut)
"""

MAIN = """
#include <cmath>
#include <cstdio>
#include <memory>

#include <coal/shape/geometric_shapes.h>
#include <taut/simulation/simulator.hpp>

int main() {
  taut::Scene scene;
  taut::add_floor(scene);
  const pinocchio::SE3 place(Eigen::Matrix3d::Identity(), Eigen::Vector3d(0, 0, 0.1));
  const auto joint = taut::add_free_body(scene, "cube", pinocchio::Inertia::FromBox(1.0, 0.2, 0.2, 0.2), place);
  taut::add_shape(scene, joint, "cube", std::make_shared<coal::Box>(0.2, 0.2, 0.2), pinocchio::SE3::Identity());
  taut::Simulator simulator(std::make_shared<const taut::Scene>(scene));
  Eigen::VectorXd v = Eigen::VectorXd::Zero(6);
  v[0] = 0.5;
  simulator.rollout(scene.q0, v, Eigen::MatrixXd(6, 0), 500, [](int, const taut::Record&) {});
  std::printf("%.6f %s\\n", simulator.record().q_next[0], taut::to_string(simulator.record().report.status));
  return 0;
}
"""


@pytest.mark.skipif("TAUT_BUILD_DIR" not in os.environ, reason="TAUT_BUILD_DIR is not set: make test sets it")
def test_find_package_from_another_project(tmp_path):
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert cmake, "cmake is not installed"
    prefix, source, build = tmp_path / "prefix", tmp_path / "consumer", tmp_path / "build"

    def run(*command):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    run(cmake, "--install", Path(os.environ["TAUT_BUILD_DIR"]).resolve(), "--prefix", prefix)
    configs = list(prefix.rglob("taut-config.cmake"))
    assert configs, (
        f"nothing to find in {sorted(p.name for p in prefix.rglob('*'))[:20]}: was it built with TAUT_INSTALL_CXX?"
    )
    source.mkdir()
    (source / "CMakeLists.txt").write_text(textwrap.dedent(CMAKE))
    (source / "main.cpp").write_text(textwrap.dedent(MAIN))
    import cmeel  # its folder holds the CMake files of Pinocchio and Coal

    dependencies = Path(cmeel.__file__).parents[1] / "cmeel.prefix"
    run(
        cmake,
        "-S", source,
        "-B", build,
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_PREFIX_PATH={prefix};{dependencies}",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DCMAKE_BUILD_RPATH={dependencies / 'lib'}",
    )  # fmt: skip
    run(cmake, "--build", build)
    distance, status = run(build / "consumer").split()
    assert status == "converged"
    # v0²/(2 mu g) with the default friction 0.8, but for half a step
    assert float(distance) == pytest.approx(0.5**2 / (2 * 0.8 * 9.81), abs=5e-4)
