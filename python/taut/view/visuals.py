"""What a scene looks like: the meshes of its files where there are any, else the shapes that collide, else boxes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import coal
import numpy as np
import pinocchio

from .._taut import Scene, Source, _is_mjcf, _mjcf_visuals, _urdf_visuals
from .bodies import with_mass
from .shapes import Mesh, box, mesh_of, mesh_of_plane

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
    """Of a scene; `collision` asks for the shapes that collide, even if there is something better to look at. A part
    of which the files show nothing shows its shapes, and a body that has none the box that turns as it does."""
    shapes = _of(scene.geometry, "shape")
    shown = [] if collision else _of_files(scene)
    seen = {visual.part for visual in shown}
    shown += [shape for shape in shapes if shape.part not in seen]
    seen = {visual.joint for visual in shown}
    return shown + [_inertia_box(scene, joint) for joint in with_mass(scene.model) if joint not in seen]


def _inertia_box(scene: Scene, joint: int) -> Visual:
    """Of the same mass, centre and moments: I_x = m (b² + c²) / 12."""
    inertia = scene.model.inertias[joint]
    moments, axes = np.linalg.eigh(inertia.inertia)
    squares = 6 / inertia.mass * (moments.sum() - 2 * moments)
    sides = np.sqrt(np.maximum(squares, 0.0))
    sides = np.maximum(sides, max(0.05 * sides.max(), 1e-3))
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    return Visual(
        f"box_{joint}",
        joint,
        np.array(inertia.lever),
        wxyz_of(axes),
        box(sides),
        PALETTE[joint % len(PALETTE)],
        opacity=0.6,
    )


def floors(scene: Scene) -> list[Floor]:
    """Half-spaces of the world."""
    found = []
    for shape in scene.geometry.geometryObjects:
        if isinstance(shape.geometry, coal.Halfspace) and shape.parentJoint == 0:
            normal = shape.placement.rotation @ shape.geometry.n
            found.append(Floor(normal, float(shape.geometry.d + normal @ shape.placement.translation)))
    return found


def _of_files(scene: Scene) -> list[Visual]:
    found = []
    for number, source in enumerate(scene.sources):
        file = Path(source.path).name
        try:
            model = _mjcf(source) if _is_mjcf(source) else _urdf(scene, source)
        except FileNotFoundError:
            warnings.warn(f"{file} is not where it was, and its meshes cannot be shown", stacklevel=3)
        except (ValueError, RuntimeError, OSError) as error:
            warnings.warn(f"{file}: its meshes cannot be shown: {error}", stacklevel=3)
        else:
            found += [visual for visual in _of(model, f"file{number}") if visual.joint < scene.model.njoints]
    return found


def _urdf(scene: Scene, source: Source) -> pinocchio.GeometryModel:
    """In the scene's joints, which links are found in by their names: the file knows nothing of what holds its root."""
    alone, shown = pinocchio.Model(), pinocchio.GeometryModel()
    _urdf_visuals(source, alone, shown)
    for shape in shown.geometryObjects:
        link = alone.frames[shape.parentFrame]
        name = source.prefix + link.name
        if not scene.model.existFrame(name):
            raise ValueError(f"no link is called {name}")
        shape.parentFrame = scene.model.getFrameId(name)
        frame = scene.model.frames[shape.parentFrame]
        shape.parentJoint = frame.parentJoint
        shape.placement = frame.placement * link.placement.inverse() * shape.placement
    return shown


def _mjcf(source: Source) -> pinocchio.GeometryModel:
    """In the scene's joints: the file's, after those that were there before."""
    shown = pinocchio.GeometryModel()
    _mjcf_visuals(source, shown)
    world = pinocchio.XYZQUATToSE3(np.concatenate([source.position, source.quaternion]))
    for shape in shown.geometryObjects:
        if shape.parentJoint:
            shape.parentJoint = shape.parentJoint + source.joints_before
        else:
            shape.placement = world * shape.placement
    return shown


def _of(geometry: pinocchio.GeometryModel, kind: str) -> list[Visual]:
    made, drawn = [], {}
    total = sum(getattr(shape.geometry, "num_tris", 0) for shape in geometry.geometryObjects)
    share = min(1.0, FACES / max(total, 1))
    for number, shape in enumerate(geometry.geometryObjects):
        is_file = isinstance(shape.geometry, coal.BVHModelBase)  # Pinocchio has "BOX" for the file of a box
        key = (shape.meshPath, *shape.meshScale) if is_file and shape.meshPath else number
        if key not in drawn:  # the four legs of a quadruped have one file
            drawn[key] = mesh_of(shape.geometry, max(500, int(share * getattr(shape.geometry, "num_tris", 0))))
        mesh = drawn[key]
        if mesh is None and shape.parentJoint:
            mesh = mesh_of_plane(shape.geometry)
        if mesh is None:  # of the world: see `floors`
            continue
        colour = tuple(round(255 * channel) for channel in shape.meshColor[:3])
        if colour in NO_COLOURS:
            colour = PALETTE[shape.parentJoint % len(PALETTE)] if not is_file else (72, 74, 80)
        place = shape.placement
        made.append(
            Visual(
                f"{kind}_{number}_{shape.name}".replace("/", "_"),
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
