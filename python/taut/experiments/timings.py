"""Time of each solver along the way of three robots, cold and warm, with the residual beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..cli.terminal import number, table
from .experiment import Advance, available, figure, label, look
from .systems import SYSTEMS, System

NAME = "timings"
WHAT = "Solo-12 and Talos pushed, a ball in the Allegro hand: µs of each solver, cold and warm"
PAPER = "[CB] Fig. 17"

TOLERANCE, MAX_ITERATIONS = 1e-6, 10_000  # as in the paper
SOLVERS = (
    *("auto", "pgs", "nbgs", "staggered", "admm", "admm_fp", "admm_la", "newton"),
    *("ccp_pgs", "ccp_admm", "ccp_newton_mujoco", "ccp_newton_drake"),
    *("raisim", "lcp_pivot", "lcp_pgs", "lcp_staggered"),
)
QUICK = ("auto", "pgs", "admm", "ccp_admm", "raisim", "lcp_pivot")
SOLVER_PHASE = 3  # of Simulator.seconds


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    chosen = available(*(QUICK if quick else SOLVERS))
    robots: dict[str, Any] = {}
    total = len(SYSTEMS) * len(chosen)
    for r, (robot, make_system) in enumerate(SYSTEMS.items()):
        system = make_system()
        runs = {}
        for k, solver in enumerate(chosen):
            advance(r * len(chosen) + k, total, f"{robot}, {solver}")
            seconds = 0.25 if quick else None
            runs[solver] = {mode: _timed(system, solver, mode == "warm", seconds) for mode in ("cold", "warm")}
        robots[robot] = runs
    return {"tolerance": TOLERANCE, "max_iterations": MAX_ITERATIONS, "robots": robots}


def _timed(system: System, solver: str, warm: bool, seconds: float | None) -> dict[str, Any]:
    """Over the steps that have a contact; every solver makes its own way."""
    options = {"tolerance": TOLERANCE, "max_iterations": MAX_ITERATIONS, "warm_start": warm, "profile": True}
    sim = system.held(solver, **options)
    spent, natural, iterations, contacts, converged = [], [], [], [], []
    for step in system.run(sim, seconds):
        if not step.contacts:
            continue
        spent.append(1e6 * sim.seconds[SOLVER_PHASE])
        natural.append(step.report.residuals.natural)
        iterations.append(step.report.iterations)
        contacts.append(len(step.contacts))
        converged.append(step.report.status == "converged")
    if not spent:
        return {"steps": 0}
    return {
        "steps": len(spent),
        "mean_us": float(np.mean(spent)),
        "median_us": float(np.median(spent)),
        "p95_us": float(np.quantile(spent, 0.95)),
        "iterations": float(np.mean(iterations)),
        "contacts": float(np.mean(contacts)),
        "median_natural": float(np.median(natural)),
        "worst_natural": float(np.max(natural)),
        "converged": float(np.mean(converged)),
    }


def tables(results: dict[str, Any]) -> list:
    made = []
    for robot, runs in results["robots"].items():
        contacts = np.mean([result["warm"]["contacts"] for result in runs.values() if result["warm"]["steps"]])
        one = table(
            f"{robot}, {contacts:.1f} contacts on average",
            *("<solver", "cold, µs\nmean", "median", "iter.", "warm, µs\nmean", "median", "iter."),
            *("natural map\nm/s", "done"),
            caption="the solver's part of a step; median of the judge's natural map, warm, and the share of steps "
            f"that converged within {results['max_iterations']} iterations, warm",
        )
        for solver, result in runs.items():
            cells = []
            for mode in ("cold", "warm"):
                measured = result[mode]
                cells += [number(measured.get(key)) for key in ("mean_us", "median_us", "iterations")]
            share = result["warm"].get("converged")
            done = "–" if share is None else f"{share:.0%}"
            one.add_row(label(solver), *cells, number(result["warm"].get("median_natural"), digits=2), done)
        made.append(one)
    return made


def plot(results: dict[str, Any], path: Path) -> None:
    with figure(path, columns=len(results["robots"]), size=(13.0, 4.6), sharey=True) as (_, panels):
        for axes, (robot, runs) in zip(panels, results["robots"].items(), strict=True):
            among = list(runs)
            for place, solver in enumerate(among):
                colour = look(solver, among)["color"]
                times = [runs[solver][mode].get("mean_us", np.nan) for mode in ("cold", "warm")]
                axes.plot(times, [place, place], color=colour)
                axes.plot(times[0], place, "o", color=colour, markerfacecolor="white", markersize=7)
                axes.plot(times[1], place, "o", color=colour, markersize=7)
            axes.xaxis.set_minor_formatter(lambda *_: "")  # on less than a decade they overlap
            axes.set_yticks(range(len(among)), [label(solver) for solver in among])
            axes.set(xscale="log", xlabel="mean time of the solver, µs", title=f"{robot} (white: cold, full: warm)")
        panels[0].invert_yaxis()
