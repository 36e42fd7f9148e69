"""What variant and start are worth in a step of the simulator.

One run with the defaults is recorded; every choice then takes each of its steps again, from the same state, so that all
see the same poses and solve the same problems. Choices alternate; times are the simulator's own, of its phases.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from ..._taut import Contact, Scene, Simulator
from ...cli.terminal import number, table
from ...collision import distance
from ...scenes import make
from ..experiment import Advance, figure, legend
from .problems import COLOURS, ellipsoid, mesh

NAME = "step"
WHAT = "Collision and the whole step with every variant and start: a heap of meshes, a pile, robots of mesh hulls."
PAPER = "[GJK] Sec. IV-D"

VARIANTS = ("vanilla", "polyak", "nesterov")
STARTS = ("none", "boxes", "previous", "turned", "transported")
DT = 1e-3
ROBOTS = ("solo12", "talos", "g1")
STEPS, QUICK_STEPS = 100, 10
ROUNDS, QUICK_ROUNDS = 5, 2
JUDGED = 5  # every so many steps gaps are compared with signed distances


def heap(bodies: int, vertices: int, seed: int = 3) -> Scene:
    """Meshes between four walls, above each other; ellipsoids, if they are to have no vertices."""
    rng = np.random.default_rng(seed)
    scene = Scene()
    scene.add_shape("floor", coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0), friction=0.6)
    for k, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        scene.add_shape(f"wall_{k}", coal.Halfspace(np.array([-x, -y, 0.0]), -0.22), friction=0.6)
    for i in range(bodies):
        q = rng.normal(size=4)
        place = 0.1 * np.array([1 if i & 1 else -1, 1 if i & 2 else -1])
        shape = mesh(rng, vertices, 0.05, 0.09) if vertices else ellipsoid(rng, 0.05, 0.09)
        position = [*place, 0.1 + 0.18 * (i // 4)]
        scene.add_body(f"body_{i}", shape, 1.0, position, q / np.linalg.norm(q), friction=0.6)
    return scene


def scenes(quick: bool) -> dict[str, tuple[Scene, float]]:
    """With the time after which they are looked at: heaps have come to rest by then, robots have landed."""
    found = {
        "heap of 24 meshes, 60 vertices": (heap(24, 60), 1.5),
        "heap of 24 meshes, 500 vertices": (heap(24, 500), 1.5),
        "heap of 24 ellipsoids": (heap(24, 0), 1.5),
        "pile of 20 boxes, balls, capsules, cylinders": (make("pile", n=20), 1.0),
    }
    if quick:
        return {"heap of 6 meshes, 100 vertices": (heap(6, 100), 0.3)}
    for name in ROBOTS:
        try:
            found[name] = make(name), 0.3
        except FileNotFoundError:  # without taut[robots]
            continue
    return found


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    rows = []
    chosen = scenes(quick)
    for done, (name, (scene, seconds)) in enumerate(chosen.items()):
        advance(done, len(chosen), name)
        rows += _scene(name, scene, seconds, QUICK_STEPS if quick else STEPS, QUICK_ROUNDS if quick else ROUNDS)
    default = Simulator(make("ball"))
    return {"dt": DT, "default": [default.gjk, default.gjk_start], "rows": rows}


def _scene(name: str, scene: Scene, seconds: float, steps: int, rounds: int) -> list[dict[str, Any]]:
    sim = Simulator(scene, dt=DT)
    before = sim.rollout(scene.q0, np.zeros(scene.model.nv), steps=round(seconds / DT))
    sim.reset()
    path = sim.rollout(before.q[-1], before.v[-1], steps=steps)
    choices = [(variant, start) for variant in VARIANTS for start in STARTS]
    sims = {choice: Simulator(scene, dt=DT, gjk=choice[0], gjk_start=choice[1], profile=True) for choice in choices}
    spent = {choice: np.full((rounds, 2), np.nan) for choice in choices}
    first = {}
    for k in range(rounds):
        for choice, one in sims.items():
            one.reset()
            spent[choice][k], answers = _again(one, path, steps, judge=k == 0)
            first.setdefault(choice, answers)
    # The other phases solve the same problems up to rounding: their spread is not GJK's.
    rest = np.array([(spent[choice][:, 1] - spent[choice][:, 0]).min() for choice in choices])
    found = []
    for variant, start in choices:
        answers = first[variant, start]
        collision = spent[variant, start][:, 0].min()
        found.append(
            {
                "scene": name,
                "variant": variant,
                "start": start,
                "contacts": answers["contacts"],
                "collision_us": 1e6 * collision / steps,
                "step_us": 1e6 * (collision + np.median(rest)) / steps,
                "rest_us": [1e6 * value / steps for value in (rest.min(), rest.max())],
                "residual": answers["residual"],
                "error": answers["error"],
            }
        )
    return found


def _again(sim: Simulator, path: Any, steps: int, judge: bool) -> tuple[np.ndarray, dict[str, Any]]:
    """Seconds of (collision, all phases), and how good what was found is."""
    spent = np.zeros(2)
    contacts, residual, error = 0, 0.0, 0.0
    for k, (q, v) in enumerate(zip(path.q[:steps], path.v[:steps], strict=True)):
        made = sim.step(q, v)
        seconds = sim.seconds
        spent += seconds[1], sum(seconds)
        contacts += len(made.contacts)
        residual = max(residual, made.report.residuals.worst)
        if judge and k % JUDGED == 0:
            error = max(error, _error(sim.scene, q, made.contacts))
    return spent, {"contacts": contacts / steps, "residual": residual, "error": error}


def _error(scene: Scene, q: np.ndarray, contacts: list[Contact]) -> float:
    """Of the deepest point of each pair against the signed distance of its shapes."""
    data, placed = scene.model.createData(), scene.geometry.createData()
    pin.updateGeometryPlacements(scene.model, data, scene.geometry, placed, q)
    gaps: dict[int, float] = {}
    for contact in contacts:
        gaps[contact.pair] = min(contact.gap, gaps.get(contact.pair, np.inf))
    worst = 0.0
    for index, gap in gaps.items():
        pair = scene.geometry.collisionPairs[index]
        shapes = [(scene.geometry.geometryObjects[i].geometry, placed.oMg[i]) for i in (pair.first, pair.second)]
        worst = max(worst, abs(gap - distance(*shapes[0], *shapes[1]).distance))
    return worst


def tables(results: dict[str, Any]) -> list[Any]:
    made = []
    for scene in dict.fromkeys(row["scene"] for row in results["rows"]):
        rows = [row for row in results["rows"] if row["scene"] == scene]
        cold = next(row for row in rows if row["variant"] == "vanilla" and row["start"] == "none")
        low, high = rows[0]["rest_us"]
        one = table(
            f"{scene}: {rows[0]['contacts']:.1f} contacts",
            *("<variant", "<start", "collision\nµs", "saved", "step\nµs", "saved", "worst error\nof a gap, m"),
            "worst\nresidual, m/s",
            caption="the same states for all, best of the rounds; saved: against vanilla from nowhere; step: this "
            f"collision and the median of the rest ({number(low)} to {number(high)} µs); * the default",
        )
        for row in rows:
            one.add_row(
                row["variant"] if row["start"] == STARTS[0] else "",
                row["start"] + ("*" if [row["variant"], row["start"]] == list(results["default"]) else ""),
                number(row["collision_us"]),
                f"{100 * (1 - row['collision_us'] / cold['collision_us']):.0f} %",
                number(row["step_us"]),
                f"{100 * (1 - row['step_us'] / cold['step_us']):.0f} %",
                f"{row['error']:.0e}",
                f"{row['residual']:.0e}",
            )
        made.append(one)
    return made


def plot(results: dict[str, Any], path: Path) -> None:
    names = list(dict.fromkeys(row["scene"] for row in results["rows"]))
    place = np.arange(len(STARTS))
    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    with figure(path, rows=lines, columns=columns, size=(4.2 * columns + 1, 3.0 * lines)) as (made, axes):
        for ax, name in zip(axes, names, strict=False):
            for k, variant in enumerate(VARIANTS):
                rows = [row for row in results["rows"] if row["scene"] == name and row["variant"] == variant]
                times = [row["collision_us"] for row in rows]
                ax.bar(place + 0.27 * (k - 1), times, 0.25, color=COLOURS[variant], label=variant)
            ax.set(title=name, ylabel="collision, µs a step")
            ax.set_xticks(place, STARTS, rotation=25)
        for ax in axes[len(names) :]:
            ax.set_axis_off()
        legend(made, axes[0])
