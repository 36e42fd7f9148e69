"""What a recording says about itself: versions, options, and the model, so that it can be replayed anywhere."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pinocchio

from .._taut import Scene, Simulator, Softening
from .errors import ForeignFile

FORMAT = 1  # of the files; a reader refuses a later one


def describe(sim: Simulator) -> dict[str, Any]:
    """Plain data, as JSON takes it."""
    from .. import __version__

    scene, model = sim.scene, sim.scene.model
    return {
        "format": FORMAT,
        "taut": __version__,
        "pinocchio": pinocchio.__version__,
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "options": {name: _plain(value) for name, value in sim.options.items()},
        "name": model.name,
        "source": getattr(scene, "source", None),
        "nq": model.nq,
        "nv": model.nv,
        "nu": len(scene.actuators),
        "actuators": [actuator.name for actuator in scene.actuators],
        "joints": list(model.names)[1:],
        "shapes": [shape.name for shape in scene.geometry.geometryObjects],
        "collision_pairs": [[pair.first, pair.second] for pair in scene.geometry.collisionPairs],
        "stiffness": scene.stiffness.tolist(),
        "spring_reference": scene.spring_reference.tolist(),
        "model": model.saveToString(),
        "geometry": scene.geometry.saveToString(),
    }


def encode(about: dict[str, Any]) -> bytes:
    return json.dumps(about).encode()


def decode(text: bytes, name: str) -> dict[str, Any]:
    """Throws ValueError, naming the file, if this is not what `encode` made or a later taut did."""
    try:
        about = json.loads(text)
        version = about["format"]
    except (ValueError, KeyError, TypeError):
        raise ForeignFile(f"{name} is not a recording of taut: its metadata does not say so") from None
    if version != FORMAT:
        raise ForeignFile(f"{name} has format {version} of taut {about.get('taut')}, this taut reads format {FORMAT}")
    return about


def restore_model(about: dict[str, Any]) -> tuple[pinocchio.Model, pinocchio.GeometryModel]:
    model, geometry = pinocchio.Model(), pinocchio.GeometryModel()
    model.loadFromString(about["model"])
    geometry.loadFromString(about["geometry"])
    return model, geometry


def restore_scene(about: dict[str, Any]) -> Scene:
    """Bodies, shapes and springs, which have energy; friction, actuators and loops are not in a recording."""
    from ..loading import from_pinocchio

    scene = from_pinocchio(*restore_model(about))
    scene.stiffness, scene.spring_reference = about["stiffness"], about["spring_reference"]
    scene.source = about["source"]
    return scene


def _plain(value: Any) -> Any:
    if isinstance(value, Softening):
        fields = ("d_0", "d_width", "width", "midpoint", "power", "time_constant", "damping_ratio")
        return {field: getattr(value, field) for field in fields}
    return value
