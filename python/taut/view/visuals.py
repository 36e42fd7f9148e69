"""What a scene looks like: the meshes of its file where there are any, otherwise the shapes that collide."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as xml
from dataclasses import dataclass
from pathlib import Path

import coal
import numpy as np
import pinocchio

from .._taut import Scene, _mjcf_visuals
from .shapes import Mesh, mesh_of

# For shapes whose file gives no colour, body by body.
PALETTE = ((86, 124, 178), (224, 158, 84), (108, 166, 118), (190, 104, 108), (140, 116, 172), (150, 150, 150))
NO_COLOURS = ((0, 0, 0), (229, 229, 229))  # what Pinocchio has for "none given"

FACES = 150_000  # of all meshes together: what a browser without a graphics card still moves


@dataclass(frozen=True)
class Visual:
    """A mesh that moves with a joint."""

    name: str
    joint: int
    position: np.ndarray
    wxyz: np.ndarray
    mesh: Mesh
    colour: tuple[int, int, int]
    opacity: float = 1.0
    frame: int = 0  # of the link, by which parts of the world are told apart

    @property
    def part(self) -> tuple[int, int]:
        """What has one look: a body, or a link of the world."""
        return self.joint, 0 if self.joint else self.frame


@dataclass(frozen=True)
class Floor:
    """A plane n · x = d of the world."""

    normal: np.ndarray
    offset: float


def wxyz_of(rotation: np.ndarray) -> np.ndarray:
    x, y, z, w = pinocchio.Quaternion(rotation).coeffs()
    return np.array([w, x, y, z])


def visuals(scene: Scene, collision: bool = False) -> list[Visual]:
    """Of a scene; `collision` asks for the shapes that collide, even if there is something better to look at. A joint
    of which the file shows nothing shows its shapes."""
    shapes = _of(scene.geometry)
    if collision:
        return shapes
    shown = _of_file(scene)
    seen = {visual.part for visual in shown}
    return shown + [shape for shape in shapes if shape.part not in seen]


def floors(scene: Scene) -> list[Floor]:
    """Half-spaces of the world."""
    found = []
    for shape in scene.geometry.geometryObjects:
        if isinstance(shape.geometry, coal.Halfspace) and shape.parentJoint == 0:
            normal = shape.placement.rotation @ shape.geometry.n
            found.append(Floor(normal, float(shape.geometry.d + normal @ shape.placement.translation)))
    return found


def _of_file(scene: Scene) -> list[Visual]:
    source = getattr(scene, "source", None)
    if source is None or not Path(source).is_file():
        return []
    try:
        model = _mjcf(source) if xml.parse(source).getroot().tag == "mujoco" else _urdf(scene, source)
    except (ValueError, RuntimeError, OSError, xml.ParseError) as error:
        warnings.warn(f"{Path(source).name}: its meshes cannot be shown: {error}", stacklevel=3)
        return []
    return [visual for visual in _of(model) if visual.joint < scene.model.njoints]  # the file may have changed


def _urdf(scene: Scene, source: str) -> pinocchio.GeometryModel:
    folders = [*getattr(scene, "package_dirs", []), *(str(folder) for folder in Path(source).parents)]
    return pinocchio.buildGeomFromUrdf(scene.model, source, pinocchio.GeometryType.VISUAL, package_dirs=folders)


def _mjcf(source: str) -> pinocchio.GeometryModel:
    model = pinocchio.GeometryModel()
    _mjcf_visuals(source, model)
    return model


def _of(geometry: pinocchio.GeometryModel) -> list[Visual]:
    made, drawn = [], {}
    total = sum(getattr(shape.geometry, "num_tris", 0) for shape in geometry.geometryObjects)
    share = min(1.0, FACES / max(total, 1))
    for number, shape in enumerate(geometry.geometryObjects):
        key = (shape.meshPath, *shape.meshScale) if shape.meshPath else number
        if key not in drawn:  # the four legs of a quadruped have one file
            drawn[key] = mesh_of(shape.geometry, max(500, int(share * getattr(shape.geometry, "num_tris", 0))))
        mesh = drawn[key]
        if mesh is None:
            continue
        colour = tuple(round(255 * channel) for channel in shape.meshColor[:3])
        if colour in NO_COLOURS:
            colour = PALETTE[shape.parentJoint % len(PALETTE)] if not shape.meshPath else (72, 74, 80)
        place = shape.placement
        made.append(
            Visual(
                f"{number}_{shape.name}".replace("/", "_"),
                shape.parentJoint,
                np.array(place.translation),
                wxyz_of(place.rotation),
                mesh,
                colour,
                float(shape.meshColor[3]) or 1.0,
                shape.parentFrame,
            )
        )
    return made
