"""What a recording says about itself: versions, options, and the model, so that it can be replayed anywhere."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import pinocchio

from .._taut import Scene, Simulator, Softening, Source
from .errors import ForeignFile

FORMAT = 1  # of the files; a reader refuses a later one
SURFACE = ("friction", "restitution", "compliance")  # of a shape
NEEDED = {"options": dict, "nq": int, "nv": int, "nu": int, "model": str, "geometry": str, "sources": list}


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
        "source": scene.source,
        "sources": [_of_source(source) for source in scene.sources],
        "nq": model.nq,
        "nv": model.nv,
        "nu": len(scene.actuators),
        "actuators": [actuator.name for actuator in scene.actuators],
        "joints": list(model.names)[1:],
        "shapes": [shape.name for shape in scene.geometry.geometryObjects],
        "collision_pairs": [[pair.first, pair.second] for pair in scene.geometry.collisionPairs],
        "pair_bodies": [_bodies(scene, pair) for pair in scene.geometry.collisionPairs],
        "surfaces": [_surface(scene, shape.name) for shape in scene.geometry.geometryObjects],
        "friction_rule": scene.friction_rule,
        "pair_friction": [_pair_friction(scene, pair) for pair in scene.geometry.collisionPairs],
        "held": _held(sim),
        "stiffness": scene.stiffness.tolist(),
        "spring_reference": scene.spring_reference.tolist(),
        "model": model.saveToString(),
        "geometry": scene.geometry.saveToString(),
    }


def _bodies(scene: Scene, pair: pinocchio.CollisionPair) -> list[int]:
    """The joints of a contact, the one its normal points to first: that of the first shape, unless it is the world."""
    shapes = scene.geometry.geometryObjects
    first, second = (int(shapes[shape].parentJoint) for shape in (pair.first, pair.second))
    return [first, second] if first else [second, first]


def _surface(scene: Scene, shape: str) -> dict[str, float]:
    return {name: getattr(scene, name)(shape) for name in SURFACE}


def _pair_friction(scene: Scene, pair: pinocchio.CollisionPair) -> float:
    shapes = scene.geometry.geometryObjects
    return scene.pair_friction(shapes[pair.first].name, shapes[pair.second].name)


def _held(sim: Simulator) -> dict[str, list[float | None]] | None:
    """Gains of `hold` as the recording begins; None for a torque without bounds, which JSON has no number for."""
    if sim.held is None:
        return None
    return {
        name: [value if math.isfinite(value) else None for value in values.tolist()]
        for name, values in sim.held.items()
    }


def _of_source(source: Source) -> dict[str, Any]:
    return {
        "path": source.path,
        "package_dirs": list(source.package_dirs),
        "prefix": source.prefix,
        "joints_before": source.joints_before,
        "position": source.position.tolist(),
        "quaternion": source.quaternion.tolist(),
        "allow": list(source.allow),  # for who watches the run; a file has no say in this, see rights.py
        "trust": source.trust,
        "max_bytes": source.max_bytes,
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
    for key, kind in NEEDED.items():
        if not isinstance(about.get(key), kind):
            raise ForeignFile(f"{name} is not a recording of taut: its metadata has no '{key}'")
    if not isinstance(about["options"].get("dt"), float):
        raise ForeignFile(f"{name} is not a recording of taut: its metadata has no time step")
    return about


def restore_model(about: dict[str, Any]) -> tuple[pinocchio.Model, pinocchio.GeometryModel]:
    model, geometry = pinocchio.Model(), pinocchio.GeometryModel()
    model.loadFromString(about["model"])
    geometry.loadFromString(about["geometry"])
    return model, geometry


def restore_scene(about: dict[str, Any]) -> Scene:
    """Bodies, shapes, their surfaces and springs; actuators and loops are not in a recording."""
    from ..loading import from_pinocchio

    scene = from_pinocchio(*restore_model(about))
    scene.stiffness, scene.spring_reference = about["stiffness"], about["spring_reference"]
    scene.sources = [Source(**source) for source in about["sources"]]
    for shape, surface in zip(about["shapes"], about["surfaces"], strict=True):
        for name in SURFACE:
            getattr(scene, f"set_{name}")(shape, surface[name])
    scene.friction_rule = about["friction_rule"]
    for (first, second), mu in zip(about["collision_pairs"], about["pair_friction"], strict=True):
        names = about["shapes"][first], about["shapes"][second]
        if scene.pair_friction(*names) != mu:
            scene.set_pair_friction(*names, mu)
    return scene


def _plain(value: Any) -> Any:
    if isinstance(value, Softening):
        fields = ("d_0", "d_width", "width", "midpoint", "power", "time_constant", "damping_ratio")
        return {field: getattr(value, field) for field in fields}
    return value
