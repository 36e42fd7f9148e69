"""Do loops hold? Every system of [KL, Table II] for a minute, passive and driven, and Cassie dropped on its feet.

taut runs in maximal coordinates, where every joint is a closure; MuJoCo runs the same mechanism with a spanning tree as
coordinates, so that it has fewer joints to hold, at its default solref and solimp. For Cassie both read one file, from
one pose in which its rods are closed.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..._taut import Scene, Simulator
from ...cli import mujoco_side
from ...cli.terminal import number, table
from ...energy import mechanical_energy
from ...loading import load
from ...scenes import make, path
from ...scenes.mechanisms import MECHANISMS, mechanism
from ..experiment import Advance, figure

NAME = "hold"
WHAT = "Closure errors, energy and certified steps over a minute at 1 ms, with MuJoCo beside."
PAPER = "[KL] Sec. VII"

DT = 1e-3
SECONDS, QUICK_SECONDS = 60.0, 0.2
PIECE = 50  # steps between two looks at the clock
DROP = 0.2  # m, of Cassie


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    seconds = QUICK_SECONDS if quick else SECONDS
    tasks = [(name, driven) for name in MECHANISMS for driven in (False, True) if not driven or _is_driven(name)]
    rows = []
    for done, (name, driven) in enumerate(tasks):
        advance(done, len(tasks) + 1, f"{name}{', driven' if driven else ''}")
        scene = mechanism(name).scene("maximal")
        rows.append({"system": name, "driven": driven, "taut": _taut(scene, scene.q0, driven, seconds)})
        if not driven:
            rows[-1]["mujoco"] = _mujoco_mechanism(name, seconds)
    advance(len(tasks), len(tasks) + 1, "cassie, dropped")
    scene = make("cassie")
    q = scene.assemble(scene.q0, fixed=[1])
    q[2] += DROP
    rows.append(
        {
            "system": "cassie",
            "driven": False,
            "taut": _taut(scene, q, False, seconds),
            "mujoco": _mujoco(Path(path("cassie")), scene, q, seconds),
        }
    )
    return {"dt": DT, "seconds": seconds, "rows": rows}


def _is_driven(name: str) -> bool:
    return any(joint.servo is not None for joint in mechanism(name).joints)


def _taut(scene: Scene, q: np.ndarray, driven: bool, seconds: float) -> dict[str, Any]:
    """Servos hold the drawn pose: what moves then is gravity's sag and the impact of a landing."""
    sim = Simulator(scene, dt=DT)
    control = np.zeros(len(scene.actuators)) if driven else None
    v = np.zeros(scene.model.nv)
    start = highest = float(mechanical_energy(scene, q, v))
    linear = angular = residual = spent = 0.0
    certified = made = 0
    late = 0.0  # worst of the last tenth
    steps = round(seconds / DT)
    while made < steps:
        before = time.perf_counter()
        piece = sim.rollout(q, v, steps=min(PIECE, steps - made), control=control)
        spent += time.perf_counter() - before
        count = len(piece)
        worst = [report.residuals.worst for report in piece.reports]
        residual = max(residual, float(np.max(worst)))
        certified += int(np.sum(np.array(worst) <= sim.tolerance))
        gap = scene.worst_loop_gap(piece.q[1 : count + 1])
        linear, angular = max(linear, gap[0]), max(angular, gap[1])
        if made >= 0.9 * steps:
            late = max(late, gap[0])
        if not driven:
            highest = max(highest, float(mechanical_energy(scene, piece.q[: count + 1], piece.v[: count + 1]).max()))
        q, v, made = piece.q[count], piece.v[count], made + count
        if piece.reports[-1].status == "not_finite":
            break
    return {
        "linear": linear,
        "angular": angular,
        "linear_late": late,
        "certified": certified / made,
        "residual": residual,
        "energy_start": start,
        "energy_gain": None if driven else highest - start,
        "us": 1e6 * spent / made,
        "finite": made == steps,
    }


def _mujoco_mechanism(name: str, seconds: float) -> dict[str, Any] | None:
    if not mujoco_side.available():
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.xml"
        file.write_text(mechanism(name).mjcf())
        scene = load(file)
        return _mujoco(file, scene, scene.q0, seconds)


def _mujoco(file: Path, scene: Scene, q: np.ndarray, seconds: float) -> dict[str, Any] | None:
    """Its closures as taut reads them from the same file, measured by the same ruler."""
    if not mujoco_side.available():
        return None
    rival = mujoco_side.MujocoRun(file, scene, q, np.zeros(scene.model.nv), DT)
    linear = late = spent = 0.0
    steps = round(seconds / DT)
    looks = max(1, round(steps / 2000)) if steps > 2000 else 1
    for made in range(0, steps, looks):
        spent += rival.chunk(looks)
        gap, _ = scene.worst_loop_gap(rival.configuration(scene))
        linear = max(linear, gap)
        if made >= 0.9 * steps:
            late = max(late, gap)
    return {
        "linear": linear,
        "linear_late": late,
        "us": 1e6 * spent / steps,
        "looked_every": looks,
        "warnings": rival.warnings(),
        "closures": len(scene.loops),
    }


def tables(results: dict[str, Any]) -> list[Any]:
    return [_open(results), _rest(results)]


def _name(row: dict[str, Any]) -> str:
    return row["system"] + (", driven" if row["driven"] else "")


def _open(results: dict[str, Any]):
    made = table(
        f"{results['seconds']:g} s at {1e3 * results['dt']:g} ms: how far loops are open at worst",
        *("<system", "taut\nm", "taut\nrad", "MuJoCo\nm", "at the end\ntaut, m", "at the end\nMuJoCo, m"),
        caption="taut: maximal coordinates, every joint a closure (Cassie: its file's tree and rods); MuJoCo: a tree, "
        "and closures where loops are, default solref, looked at two thousand times, * if it found its state bad and "
        "started anew; at the end: worst of the last tenth",
    )
    for row in results["rows"]:
        ours, theirs = row["taut"], row.get("mujoco")
        if not ours["linear"] and not ours["angular"]:
            continue
        closed = bool(theirs and theirs["closures"])
        made.add_row(
            _name(row),
            f"{ours['linear']:.1e}",
            f"{ours['angular']:.1e}",
            f"{theirs['linear']:.1e}{'*' if theirs['warnings'] else ''}" if closed else "–",
            f"{ours['linear_late']:.1e}",
            f"{theirs['linear_late']:.1e}" if closed else "–",
        )
    return made


def _uncertified(results: dict[str, Any], ours: dict[str, Any]) -> int:
    return round((1 - ours["certified"]) * results["seconds"] / results["dt"])


def _rest(results: dict[str, Any]):
    made = table(
        "Energy, certified steps, time",
        *("<system", "energy gained", "not certified", "worst residual, m/s", "taut, µs", "MuJoCo, µs"),
        caption="energy gained: most above the start, in parts of it, passive runs; not certified: steps that the "
        f"judge finds above 1e-6 m/s, of {round(results['seconds'] / results['dt'])}; time of a step, the two in "
        "different coordinates except for Cassie",
    )
    for row in results["rows"]:
        ours, theirs = row["taut"], row.get("mujoco")
        gain = ours["energy_gain"]
        made.add_row(
            _name(row),
            "–" if gain is None else f"{max(0.0, gain) / abs(ours['energy_start']):.1e}",
            "not finite" if not ours["finite"] else str(_uncertified(results, ours)),
            f"{ours['residual']:.1e}",
            number(ours["us"]),
            number(theirs["us"]) if theirs else "–",
        )
    return made


def plot(results: dict[str, Any], file: Path) -> None:
    rows = [row for row in results["rows"] if not row["driven"] and row["taut"]["linear"] > 0]
    place = np.arange(len(rows))
    with figure(file, size=(6.8, 3.8)) as (_, (ax,)):
        ax.bar(place - 0.2, [row["taut"]["linear"] for row in rows], 0.38, label="taut", color="tab:blue")
        theirs = [
            row["mujoco"]["linear"] if row.get("mujoco") and row["mujoco"]["closures"] else np.nan for row in rows
        ]
        ax.bar(place + 0.2, theirs, 0.38, label="MuJoCo, default solref", color="tab:orange")
        ax.axhline(1e-5, color="k", linewidth=0.8, linestyle=":")
        ax.set(yscale="log", ylabel=f"largest closure error in {results['seconds']:g} s, m")
        ax.set_xticks(place, [row["system"] for row in rows], rotation=50, ha="right")
        ax.legend(loc="upper left")
