"""A cube thrown across a floor in every direction: a friction cone treats them alike, a pyramid does not.

With Coulomb's law the cube stops after v0²/(2 μ g), straight ahead, whatever its heading: friction moves the centre
of pressure forward along the path and so makes no yaw moment. Maximum dissipation over a pyramid takes a corner of it
instead of the direction opposed to sliding: the path bends.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..cli.terminal import length, number, table
from ..scenes import make
from .experiment import Advance, available, figure, label, legend, look, simulator

NAME = "isotropy"
WHAT = "A cube thrown in every direction: does friction know north?"
PAPER = "[CB] Fig. 9"

MU, SPEED, DT, GRAVITY = 0.4, 1.0, 1e-3, 9.81
SOLVERS = ("auto", "pgs", "nbgs", "staggered", "admm", "ccp_pgs", "ccp_admm", "raisim")
PYRAMIDS = ("lcp_pivot", "lcp_pgs", "lcp_staggered")
SIDES = (4, 8)
STEPS = round(SPEED / (MU * GRAVITY) / DT) + 20  # until it rests


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    headings = np.radians(np.linspace(0.0, 90.0, 7 if quick else 25))
    cases = [(solver, None) for solver in available(*SOLVERS)]
    cases += [(solver, sides) for solver in available(*PYRAMIDS) for sides in SIDES]
    shown = int(np.argmin(abs(headings - np.radians(15.0))))  # off the symmetries of four and of eight sides
    runs = []
    for k, (solver, sides) in enumerate(cases):
        advance(k, len(cases), solver)
        throws = [_throw(solver, sides, heading) for heading in headings]
        ahead, aside = (np.array([path[-1, i] for path in throws]) for i in (0, 1))
        runs.append(
            {
                "solver": solver,
                "sides": sides,
                "distance": ahead,
                "deviation": aside,
                "path": throws[shown][:: 5 if quick else 2],
            }
        )
    speeds = np.maximum(SPEED - MU * GRAVITY * DT * np.arange(1, STEPS + 1), 0.0)
    return {
        "headings": headings,
        "shown": headings[shown],
        "expected": DT * speeds.sum(),  # of the discrete step, which moves by the new velocity
        "mu": MU,
        "speed": SPEED,
        "dt": DT,
        "runs": runs,
    }


def _throw(solver: str, sides: int | None, heading: float) -> np.ndarray:
    """(ahead, aside) along the way."""
    scene = make("sliding_cube", mu=MU)
    sim = simulator(scene, solver, dt=DT, sides=sides)
    direction = np.array([np.cos(heading), np.sin(heading)])
    path = sim.rollout(scene.q0, [*(SPEED * direction), 0, 0, 0, 0], steps=STEPS)
    travel = path.q[:, :2] - path.q[0, :2]
    return np.column_stack([travel @ direction, travel @ [-direction[1], direction[0]]])


def _named(case: dict[str, Any]) -> str:
    return label(case["solver"]) + (f", {case['sides']} sides" if case["sides"] else "")


def tables(results: dict[str, Any]) -> list:
    made = table(
        f"A cube thrown at {results['speed']:g} m/s, μ {results['mu']:g}, dt {1e3 * results['dt']:g} ms",
        *("<solver", "stops after\nleast m", "most m", "worst deviation\naside", "°"),
        caption=f"over headings from 0 to 90°; Coulomb's law: {results['expected']:.5f} m straight ahead",
    )
    for case in results["runs"]:
        distance, aside = np.asarray(case["distance"]), np.asarray(case["deviation"])
        worst = int(np.argmax(abs(aside)))
        angle = np.degrees(np.arctan2(abs(aside[worst]), distance[worst]))
        row = f"{distance.min():.5f}", f"{distance.max():.5f}", length(abs(aside[worst])), number(angle, digits=2)
        made.add_row(_named(case), *row)
    return [made]


def plot(results: dict[str, Any], path: Path) -> None:
    among = list(dict.fromkeys(case["solver"] for case in results["runs"]))
    with figure(path, columns=2) as (made, (left, right)):
        for case in results["runs"]:
            style = look(case["solver"], among) | {"label": _named(case)}
            if case["sides"] and case["sides"] > SIDES[0]:
                style["alpha"] = 0.5
            way = np.asarray(case["path"])
            left.plot(way[:, 0], 1e3 * way[:, 1], **style)
            right.plot(np.degrees(results["headings"]), 1e3 * np.asarray(case["deviation"]), **style)
        left.axvline(results["expected"], color="black", linewidth=0.8, label="Coulomb: stops here")
        left.set(
            xlabel="way ahead, m",
            ylabel="deviation, mm",
            title=f"Path of a throw at {np.degrees(results['shown']):.3g}°",
        )
        right.set(xlabel="heading, °", ylabel="deviation where it stops, mm", title="All headings")
        for axes in (left, right):
            widest = max(1.0, *np.abs(axes.get_ylim()))  # noise of the solvers' tolerance stays a flat line
            axes.set_ylim(-widest, widest)
        legend(made, left)
