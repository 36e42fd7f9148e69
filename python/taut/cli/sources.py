"""FILE|NAME: the scene a command was asked for."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from .. import scenes
from .._taut import Scene
from ..loading import read
from .terminal import note

OPEN = 1e-6  # m: what counts as an open loop

FILE_OR_NAME = "A URDF or MJCF file, or the name of a ready-made scene."

# Options of every command that opens a file: what that file may have read for it.
Allow = Annotated[
    list[Path] | None,
    typer.Option("--allow", metavar="FOLDER", help="A folder the file may read besides its own; may be given again."),
]
Trust = Annotated[bool, typer.Option("--trust", help="The file may read everything.")]


def open_scene(
    source: str,
    floor: bool | None = None,
    quiet: bool = False,
    allow: Sequence[Path] | None = None,
    trust: bool = False,
) -> Scene:
    """The ready-made scene of that name, otherwise the file; what it asks for in vain is noted on stderr."""
    if source in scenes.names() and not Path(source).is_file():
        # Makers warn about nothing: what their files ask for in vain is known.
        return scenes.make(source) if floor is None else scenes.make(source, floor=floor)
    _require_file(source)
    scene = read(source, floor, allow=allow or (), trust=trust)
    if not quiet:
        for what in scene.warnings:
            note(f"{Path(source).name}: {what}")
    return scene


def file_behind(source: str) -> Path | None:
    """The file of a scene, None for one that is built in code."""
    if source in scenes.names() and not Path(source).is_file():
        try:
            return Path(scenes.path(source))
        except ValueError:
            return None
    _require_file(source)
    return Path(source)


def _require_file(source: str) -> None:
    if Path(source).is_file():
        return
    if Path(source).is_dir():
        raise ValueError(f"'{source}' is a folder, not a URDF or MJCF file")
    if Path(source).suffix or "/" in source:
        raise FileNotFoundError(f"no such file: '{source}'; ready-made scenes are {', '.join(scenes.names())}")
    close = difflib.get_close_matches(source, scenes.names(), n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    raise ValueError(f"no file and no scene is called '{source}'{hint}; scenes are {', '.join(scenes.names())}")


def need_viewer() -> None:
    """ValueError that says what to install, if the extra `view` is missing."""
    try:
        from .. import view  # noqa: F401
    except ImportError as error:
        raise ValueError(str(error)) from None


def free_joints(scene: Scene) -> list[int]:
    model = scene.model
    return [joint for joint in range(1, model.njoints) if model.joints[joint].shortname() == "JointModelFreeFlyer"]


def start(scene: Scene, height: float = 0.0) -> np.ndarray:
    """Where a run of the scene starts, with every free body lifted. A keyframe whose loops are open, as it was written
    with few digits, is put right."""
    if not np.isfinite(height):
        raise ValueError(f"drop is {height}, it must be finite")
    q = np.array(scene.q0)
    joints = free_joints(scene)
    if height and not joints:
        raise ValueError(f"drop is {height} m, but nothing in this scene floats")
    if scene.loops and scene.worst_loop_gap(q)[0] > OPEN:
        try:
            q = scene.assemble(q, fixed=[joint for joint in joints if len(scene.model.children[joint])])
        except ValueError as error:
            note(f"loops are open at the start: {error}")
    for joint in joints:
        q[scene.model.idx_qs[joint] + 2] += height
    return q


def can_hold(scene: Scene) -> bool:
    """There are joints that PD can hold."""
    model = scene.model
    return any(model.nqs[joint] == model.nvs[joint] == 1 for joint in range(1, model.njoints))


def default_gains(scene: Scene) -> tuple[float, float]:
    """PD gains that carry the scene's weight: 20 N m/rad for each kg, and damping for a response in 50 ms."""
    kp = 20.0 * sum(inertia.mass for inertia in scene.model.inertias)
    return kp, 0.05 * kp
