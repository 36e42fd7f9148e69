"""What variant and start are worth in a step of the simulator.

One run with the defaults is recorded; every choice then takes each of its steps again, from the same state, so that all
see the same poses and solve the same problems. Choices alternate; times are the simulator's own, of its phases.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import coal
import numpy as np

from ..._taut import Scene, Simulator
from ...cli.terminal import number, table
from ...scenes import make
from ..experiment import Advance, figure
from .problems import COLOURS, mesh

NAME = "step"
WHAT = "Collision and the whole step with every variant and start: a heap of meshes, a pile, robots of mesh hulls."
PAPER = "[GJK] Sec. IV-D"

VARIANTS = ("vanilla", "polyak", "nesterov")
STARTS = ("none", "boxes", "previous", "turned", "transported")
DT = 1e-3
ROBOTS = ("solo12", "talos", "g1")
STEPS, QUICK_STEPS = 300, 10
ROUNDS, QUICK_ROUNDS = 7, 2


def heap(bodies: int, vertices: int, seed: int = 3) -> Scene:
    """Meshes between four walls, above each other."""
    rng = np.random.default_rng(seed)
    scene = Scene()
    scene.add_shape("floor", coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0), friction=0.6)
    for k, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        scene.add_shape(f"wall_{k}", coal.Halfspace(np.array([-x, -y, 0.0]), -0.22), friction=0.6)
    for i in range(bodies):
        q = rng.normal(size=4)
        place = 0.1 * np.array([1 if i & 1 else -1, 1 if i & 2 else -1])
        shape = mesh(rng, vertices, 0.05, 0.09)
        position = [*place, 0.1 + 0.18 * (i // 4)]
        scene.add_body(f"body_{i}", shape, 1.0, position, q / np.linalg.norm(q), friction=0.6)
    return scene


def scenes(quick: bool) -> dict[str, tuple[Scene, float]]:
    """With the time after which they are looked at: heaps have come to rest by then, robots have landed."""
    found = {
        "heap of 24 meshes, 60 vertices": (heap(24, 60), 1.5),
        "heap of 24 meshes, 500 vertices": (heap(24, 500), 1.5),
        "pile of 20 boxes, balls, capsules": (make("pile", n=20), 1.0),
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
            spent[choice][k], answers = _again(one, path, steps)
            first.setdefault(choice, answers)
    reference = first["vanilla", "previous"]
    found = []
    for variant, start in choices:
        answers = first[variant, start]
        collision, whole = spent[variant, start].min(axis=0)
        found.append(
            {
                "scene": name,
                "variant": variant,
                "start": start,
                "contacts": float(np.mean([len(gaps) for gaps in answers["gaps"]])),
                "collision_us": 1e6 * collision / steps,
                "step_us": 1e6 * whole / steps,
                "residual": answers["residual"],
                "gap_difference": _difference(reference["gaps"], answers["gaps"]),
                "other_contacts": sum(
                    len(a) != len(b) for a, b in zip(reference["gaps"], answers["gaps"], strict=True)
                ),
            }
        )
    return found


def _again(sim: Simulator, path: Any, steps: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Seconds of (collision, all phases), and what was found."""
    spent = np.zeros(2)
    gaps, residual = [], 0.0
    for q, v in zip(path.q[:steps], path.v[:steps], strict=True):
        made = sim.step(q, v)
        seconds = sim.seconds
        spent += seconds[1], sum(seconds)
        gaps.append(sorted(contact.gap for contact in made.contacts))
        residual = max(residual, made.report.residuals.worst)
    return spent, {"gaps": gaps, "residual": residual}


def _difference(reference: list[list[float]], gaps: list[list[float]]) -> float:
    """Of the deepest contact: what it is does not depend on which of several equal points was kept."""
    deepest = [abs(a[0] - b[0]) for a, b in zip(reference, gaps, strict=True) if a and b]
    return max(deepest, default=0.0)


def tables(results: dict[str, Any]) -> list[Any]:
    made = []
    for scene in dict.fromkeys(row["scene"] for row in results["rows"]):
        rows = [row for row in results["rows"] if row["scene"] == scene]
        cold = next(row for row in rows if row["variant"] == "vanilla" and row["start"] == "none")
        one = table(
            f"{scene}: {rows[0]['contacts']:.1f} contacts",
            *("<variant", "<start", "collision, µs", "saved", "step, µs", "saved", "deepest gap\ndiffers, m"),
            *("steps with\nother contacts", "worst\nresidual, m/s"),
            caption="the same states for all, best of the rounds; saved: against vanilla from nowhere; gaps against "
            "vanilla from the previous; * the default",
        )
        for row in rows:
            one.add_row(
                row["variant"] if row["start"] == STARTS[0] else "",
                row["start"] + ("*" if [row["variant"], row["start"]] == list(results["default"]) else ""),
                number(row["collision_us"]),
                f"{100 * (1 - row['collision_us'] / cold['collision_us']):.0f} %",
                number(row["step_us"]),
                f"{100 * (1 - row['step_us'] / cold['step_us']):.0f} %",
                f"{row['gap_difference']:.0e}",
                str(row["other_contacts"]),
                f"{row['residual']:.0e}",
            )
        made.append(one)
    return made


def plot(results: dict[str, Any], path: Path) -> None:
    names = list(dict.fromkeys(row["scene"] for row in results["rows"]))
    place = np.arange(len(STARTS))
    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    with figure(path, rows=lines, columns=columns, size=(4.2 * columns, 3.0 * lines)) as (_, axes):
        for ax, name in zip(axes, names, strict=False):
            for k, variant in enumerate(VARIANTS):
                rows = [row for row in results["rows"] if row["scene"] == name and row["variant"] == variant]
                times = [row["collision_us"] for row in rows]
                ax.bar(place + 0.27 * (k - 1), times, 0.25, color=COLOURS[variant], label=variant)
            ax.set(title=name, ylabel="collision, µs a step")
            ax.set_xticks(place, STARTS, rotation=25)
        for ax in axes[len(names) :]:
            ax.set_axis_off()
        axes[0].legend(loc="lower left")
