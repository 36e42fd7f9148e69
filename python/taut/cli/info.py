"""`taut info`: what a file or a scene contains, as taut understands it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pinocchio
import typer
from rich.markup import escape

from .._taut import Scene
from . import sources
from .terminal import clean_errors, console, length, number, require_folders, table, write_json


@clean_errors
def info(
    source: Annotated[str, typer.Argument(metavar="FILE|NAME", help=sources.FILE_OR_NAME)],
    floor: Annotated[
        bool | None, typer.Option("--floor/--no-floor", help="Add a floor at z = 0, or not.", show_default=False)
    ] = None,
    allow: sources.Allow = None,
    trust: sources.Trust = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all of it to this file.")] = None,
) -> None:
    """Print joints, bodies, shapes, loops, poses, actuators and what the file asks for in vain.

    Examples:

        taut info go1
        taut info robot.xml --json robot.json
    """
    require_folders(json)
    scene = sources.open_scene(source, floor, quiet=True, allow=allow, trust=trust)
    content = describe(scene)
    out = console()
    totals = (
        f"{content['nv']} dof, {len(content['joints'])} joints, {number(content['mass'], 'kg', 4)}, "
        f"{len(content['shapes'])} shapes, {content['pairs']} pairs that may touch"
    )
    out.print(f"[bold]{escape(Path(source).name)}[/]: {totals}")
    out.print(_joints(content["joints"]))
    out.print(_bodies(content["bodies"]))
    out.print(_shapes(content["shapes"], content["friction_rule"]))
    if content["loops"]:
        out.print(_loops(content["loops"]))
    if content["couplings"]:
        out.print(_couplings(content["couplings"]))
    if content["actuators"]:
        out.print(_actuators(content["actuators"]))
    for name, q in content["poses"].items():
        out.print(f" pose [bold]{escape(name)}[/]: {_vector(q)}", soft_wrap=True)
    out.print(f" start: {_vector(content['q0'])}", soft_wrap=True)
    for what in content["warnings"]:
        out.print(f" [yellow]not supported[/]: {escape(what)}", soft_wrap=True)
    write_json(json, {"source": source, **content})


def describe(scene: Scene) -> dict[str, Any]:
    """Everything the command prints, as plain data."""
    model = scene.model
    return {
        "name": model.name,
        "nq": model.nq,
        "nv": model.nv,
        "mass": sum(inertia.mass for inertia in model.inertias),
        "gravity": scene.gravity,
        "joints": [_joint(scene, joint) for joint in range(1, model.njoints)],
        "bodies": _bodies_of(model),
        "shapes": [_shape(scene, shape) for shape in scene.geometry.geometryObjects],
        "friction_rule": scene.friction_rule,
        "pairs": len(scene.geometry.collisionPairs),
        "loops": _loops_of(scene),
        "couplings": _couplings_of(scene),
        "actuators": [_actuator(scene, actuator) for actuator in scene.actuators],
        "q0": scene.q0,
        "poses": scene.poses,
        "warnings": scene.warnings,
    }


def _joint(scene: Scene, joint: int) -> dict[str, Any]:
    model = scene.model
    dofs = slice(model.idx_vs[joint], model.idx_vs[joint] + model.nvs[joint])
    single = model.nqs[joint] == model.nvs[joint] == 1
    at = model.idx_qs[joint]
    return {
        "name": model.names[joint],
        "type": _type(model.joints[joint].shortname()),
        "nv": model.nvs[joint],
        "lower": model.lowerPositionLimit[at] if single else None,
        "upper": model.upperPositionLimit[at] if single else None,
        "damping": model.damping[dofs],
        "armature": model.armature[dofs],
        "friction": model.upperDryFrictionLimit[dofs],
        "stiffness": scene.stiffness[dofs],
    }


def _type(shortname: str) -> str:
    """Pinocchio's JointModelRX, JointModelRevoluteUnaligned, ... in words."""
    name = shortname.removeprefix("JointModel")
    words = {"R": "revolute", "P": "prismatic", "FreeFlyer": "free", "Spherical": "ball"}
    if name in words:
        return words[name]
    if name.startswith(("Revolute", "RU")) or name in ("RX", "RY", "RZ", "RUBX", "RUBY", "RUBZ"):
        return "revolute"
    if name.startswith("Prismatic") or name in ("PX", "PY", "PZ"):
        return "prismatic"
    return name.lower()


def _bodies_of(model: pinocchio.Model) -> list[dict[str, Any]]:
    """What moves with each joint: bodies rigidly attached to it count as one."""
    names: dict[int, list[str]] = {joint: [] for joint in range(model.njoints)}
    for frame in model.frames:
        if frame.type == pinocchio.FrameType.BODY:
            names[frame.parentJoint].append(frame.name)
    return [
        {"names": names[joint] or [model.names[joint]], "joint": model.names[joint], "mass": y.mass, "com": y.lever}
        for joint, y in enumerate(model.inertias)
        if joint > 0
    ]


def _shape(scene: Scene, shape: pinocchio.GeometryObject) -> dict[str, Any]:
    return {
        "name": shape.name,
        "kind": type(shape.geometry).__name__.removesuffix("Base").lower(),
        "joint": scene.model.names[shape.parentJoint] if shape.parentJoint else "world",
        "friction": scene.friction(shape.name),
    }


def _actuator(scene: Scene, actuator) -> dict[str, Any]:
    """A motor on a loop has the loop's name for that of its joint."""
    model = scene.model
    if actuator.loop >= 0:
        name = scene.loops[actuator.loop].name
    else:
        joints = range(1, model.njoints)
        name = model.names[next(j for j in joints if 0 <= actuator.dof - model.idx_vs[j] < model.nvs[j])]
    fields = ("name", "kind", "dof", "gear", "kp", "kv", "control_range", "force_range")
    return {"joint": name, **{field: getattr(actuator, field) for field in fields}}


def _place(scene: Scene, joint: int) -> str:
    return scene.model.names[joint] if joint else "world"


def _loops_of(scene: Scene) -> list[dict[str, Any]]:
    gaps, errors = scene.loop_gaps(), scene.loop_errors()
    return [
        {
            "name": loop.name,
            "kind": loop.kind,
            "between": [_place(scene, loop.joint_1), _place(scene, loop.joint_2)],
            "rows": len(errors[loop.name]),
            "open_by": gaps[loop.name],
        }
        for loop in scene.loops
    ]


def _couplings_of(scene: Scene) -> list[dict[str, Any]]:
    errors = scene.loop_errors()
    return [
        {
            "name": coupling.name,
            "joint": _place(scene, coupling.joint_1),
            "follows": _place(scene, coupling.joint_2) if coupling.joint_2 else None,
            "polynomial": coupling.polynomial,
            "open_by": float(abs(errors[coupling.name][0])),
        }
        for coupling in scene.couplings
    ]


def _joints(joints: list[dict[str, Any]]):
    columns = ("lower", "upper", "damping", "armature", "friction", "stiffness")
    made = table("Joints", "<name", "<type", "dof", *columns, caption="in rad or m, N m or N, kg m² or kg, s")
    for joint in joints:
        values = [_limit(joint["lower"]), _limit(joint["upper"])]
        values += [_if_any(joint[column]) for column in columns[2:]]
        made.add_row(escape(joint["name"]), joint["type"], str(joint["nv"]), *values)
    return made


def _bodies(bodies: list[dict[str, Any]]):
    made = table("Bodies", "<name", "<moved by", "mass, kg", "centre of mass in the joint's frame, m")
    for body in bodies:
        more = f" + {len(body['names']) - 1} fixed to it" if len(body["names"]) > 1 else ""
        com = "  ".join(f"{x:7.4f}" for x in body["com"])
        made.add_row(escape(body["names"][0]) + more, escape(body["joint"]), number(body["mass"], digits=4), com)
    return made


def _shapes(shapes: list[dict[str, Any]], rule: str):
    caption = f"friction of a contact: the {rule.replace('_', ' ')} of its two shapes, unless a pair says otherwise"
    made = table("Shapes", "<kind", "count", "friction", "<on", caption=caption)
    kinds = Counter((shape["kind"], shape["friction"]) for shape in shapes)
    for (kind, friction), count in sorted(kinds.items()):
        on = dict.fromkeys(s["joint"] for s in shapes if (s["kind"], s["friction"]) == (kind, friction))
        places = ", ".join(list(on)[:3]) + (f" and {len(on) - 3} more" if len(on) > 3 else "")
        made.add_row(kind, str(count), number(friction), escape(places))
    return made


def _loops(loops: list[dict[str, Any]]):
    made = table("Loops", "<name", "<kind", "<between", "rows", "open at the start")
    for loop in loops:
        metres, radians = loop["open_by"]
        apart = length(metres) + (f", {number(radians, 'rad')}" if radians > 1e-9 else "")
        made.add_row(
            escape(loop["name"]), loop["kind"], escape(" and ".join(loop["between"])), str(loop["rows"]), apart
        )
    return made


def _couplings(couplings: list[dict[str, Any]]):
    made = table("Couplings", "<name", "<joint", "<follows", "<by the powers 0, 1, … of its coordinate")
    for coupling in couplings:
        powers = np.trim_zeros(np.array(coupling["polynomial"]), "b")
        made.add_row(
            escape(coupling["name"]), escape(coupling["joint"]), escape(coupling["follows"] or "–"), _vector(powers)
        )
    return made


def _actuators(actuators: list[dict[str, Any]]):
    made = table("Actuators", "<name", "<kind", "<joint or loop", "gear", "kp", "kv", "control", "force")
    for a in actuators:
        ranges = (_range(a["control_range"]), _range(a["force_range"]))
        gains = (number(a["gear"]), _if_any([a["kp"]]), _if_any([a["kv"]]))
        made.add_row(escape(a["name"]), a["kind"], escape(a["joint"]), *gains, *ranges)
    return made


def _limit(value: float | None) -> str:
    return number(value) if value is not None and np.isfinite(value) and abs(value) < 1e10 else "–"


def _range(limits: tuple[float, float]) -> str:
    return "–" if not np.isfinite(limits).any() else f"{number(limits[0])} … {number(limits[1])}"


def _if_any(values) -> str:
    largest = np.max(np.abs(values), initial=0.0)
    return number(float(largest)) if largest > 0 else "–"


def _vector(q) -> str:
    return " ".join(f"{x:.4g}" for x in q)
