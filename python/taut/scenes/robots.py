"""Robots: from example-robot-data and gymnasium (pip), and files packaged with taut."""

from __future__ import annotations

import importlib.util
import math
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._taut import Scene
from ..loading import read


@dataclass(frozen=True)
class _File:
    what: str
    package: str  # "example-robot-data", "gymnasium" or "taut"
    path: str
    root: str = "auto"
    floor: bool = True


FILES = {
    "go1": _File("Unitree Go1, a quadruped", "example-robot-data", "go1_description/urdf/go1.urdf"),
    "solo12": _File("Solo12, a quadruped", "example-robot-data", "solo_description/robots/solo12.urdf"),
    "anymal": _File("ANYmal B, a quadruped", "example-robot-data", "anymal_b_simple_description/robots/anymal.urdf"),
    "talos": _File("Talos, a humanoid", "example-robot-data", "talos_data/robots/talos_reduced.urdf"),
    "ur5": _File("UR5, an arm", "example-robot-data", "ur_description/urdf/ur5_robot.urdf", floor=False),
    "allegro": _File(
        "Allegro, a right hand",
        "example-robot-data",
        "allegro_hand_description/urdf/allegro_right_hand.urdf",
        root="fixed",
        floor=False,
    ),
    "g1": _File("Unitree G1, a humanoid", "example-robot-data", "g1_description/urdf/g1_29dof_rev_1_0.urdf"),
    "half_cheetah": _File("the half-cheetah of gymnasium (MJCF)", "gymnasium", "half_cheetah.xml"),
    "humanoid": _File("the humanoid of gymnasium (MJCF)", "gymnasium", "humanoid.xml"),
    "h1": _File("Unitree H1, a humanoid (MJCF)", "taut", "h1.xml"),
    "go1_mjcf": _File("Unitree Go1 as MuJoCo Menagerie has it (MJCF)", "taut", "go1.xml"),
    "cassie": _File("Cassie, a biped with four closed loops (MJCF)", "taut", "cassie.xml"),
    "atlas": _File("Atlas with 16 contact points, a humanoid", "taut", "atlas.urdf"),
}


def _robot_data() -> Path | None:
    """Where the wheel of example-robot-data puts its files: it has no importable module."""
    roots = {*sys.path, sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]}
    for root in sorted(roots):
        folder = Path(root) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
        if folder.is_dir():
            return folder
    return None


def _gymnasium_assets() -> Path | None:
    found = importlib.util.find_spec("gymnasium")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "envs" / "mujoco" / "assets"


def file_of(name: str) -> Path:
    file = FILES[name]
    folder = {
        "example-robot-data": _robot_data,
        "gymnasium": _gymnasium_assets,
        "taut": lambda: Path(__file__).parent / "data",
    }[file.package]()
    if folder is None:
        raise FileNotFoundError(f"scene '{name}' needs the package {file.package}: pip install 'taut[robots]'")
    return folder / file.path


def _maker(name: str) -> Callable[..., Scene]:
    file = FILES[name]

    def make(floor: bool = file.floor, friction: float | None = None, height: float | None = None) -> Scene:
        scene = read(file_of(name), floor, friction=friction, root=file.root)  # what it loses is in scene.warnings
        if height is not None:
            if not math.isfinite(height):
                raise ValueError(f"height is {height}, it must be finite")
            if scene.model.nqs[1] != 7:
                raise ValueError(f"height is {height}, but '{name}' does not float")
            scene.q0 = scene.q0 + height * np.eye(scene.model.nq)[2]
        return scene

    make.__name__ = name
    make.__doc__ = f"{file.what}. Options: floor, friction, height (m, added to the start of a floating robot)."
    return make


MAKERS = {name: _maker(name) for name in FILES}
