"""Solo-12 trots over a floor it grips and over slippery bumps: when does the choice of a contact model show?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..cli.terminal import number, table
from . import trot
from .experiment import Advance, available, figure, label, legend, look

NAME = "locomotion"
WHAT = "Solo-12 trots on a flat floor (μ 0.9) and over bumps (μ 0.3): speed, residual, time"
PAPER = "[CB] Figs. 18-19"

DT, TOLERANCE, MAX_ITERATIONS = 1e-3, 1e-6, 10_000
TERRAINS = {"flat": (trot.flat, 0.9), "bumpy": (trot.bumpy, 0.3)}
SOLVERS = ("auto", "pgs", "nbgs", "admm", "newton", "ccp_pgs", "ccp_admm", "ccp_newton_drake", "raisim", "lcp_pivot")
QUICK = ("auto", "pgs", "ccp_admm", "raisim", "lcp_pivot")
REFERENCE = "auto"
SOLVER_PHASE = 3  # of Simulator.seconds


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    chosen = available(*(QUICK if quick else SOLVERS))
    seconds = 1.2 if quick else 4.0
    terrains: dict[str, Any] = {}
    total = len(TERRAINS) * len(chosen)
    for i, (terrain, (make_scene, mu)) in enumerate(TERRAINS.items()):
        scene = make_scene(mu)
        runs = {}
        for k, solver in enumerate(chosen):
            advance(i * len(chosen) + k, total, f"{terrain}, {solver}")
            runs[solver] = _walk(scene, solver, seconds)
        for result in runs.values():
            count = min(len(result["speed"]), len(runs[REFERENCE]["speed"]))
            apart = np.subtract(result["speed"][:count], runs[REFERENCE]["speed"][:count])
            result["speed_apart"] = float(np.sqrt(np.mean(apart**2)))
        terrains[terrain] = {"mu": mu, "runs": runs}
    return {"dt": DT, "seconds": seconds, "asked": trot.SPEED, "period": trot.PERIOD, "terrains": terrains}


def _walk(scene, solver: str, seconds: float) -> dict[str, Any]:
    options = {"tolerance": TOLERANCE, "max_iterations": MAX_ITERATIONS, "profile": True}
    place, natural, spent, slides, touches, converged = [], [], [], 0, 0, []
    for sim, step in trot.walk(scene, solver, seconds, DT, **options):
        place.append(step.q[:2])
        natural.append(step.report.residuals.natural)
        spent.append(1e6 * sim.seconds[SOLVER_PHASE])
        converged.append(step.report.status == "converged")
        for contact, impulse in zip(step.contacts, step.impulses, strict=True):
            touches += impulse[2] > 1e-9
            slides += impulse[2] > 1e-9 and np.hypot(*impulse[:2]) > 0.999 * contact.mu * impulse[2]
    place, natural = np.array(place), np.array(natural)
    period = round(trot.PERIOD / DT)
    window = 50
    return {
        "speed": (place[period:, 0] - place[:-period, 0])[::10] / trot.PERIOD,  # of a period: the steps average out
        "final_speed": float(np.mean(np.diff(place[len(place) // 2 :, 0])) / DT),
        "drift": float(place[-1, 1] - place[0, 1]),
        "natural": [float(natural[k : k + window].max()) for k in range(0, len(natural), window)],
        "median_natural": float(np.median(natural)),
        "worst_natural": float(natural.max()),
        "bad_steps": float(np.mean(~(natural <= 10 * TOLERANCE))),
        "us": [float(np.mean(spent[k : k + window])) for k in range(0, len(spent), window)],
        "mean_us": float(np.mean(spent)),
        "sliding": float(slides / max(touches, 1)),
        "converged": float(np.mean(converged)),
        "window": window * DT,
    }


def tables(results: dict[str, Any]) -> list:
    made = []
    for terrain, about in results["terrains"].items():
        one = table(
            f"{terrain}, μ {about['mu']:g}: a trot at {results['asked']:g} m/s asked for, {results['seconds']:g} s",
            *("<solver", "speed\nm/s", "apart from\nauto, m/s", "drift\nm", "sliding", "natural map\nmedian", "worst"),
            *("bad\nsteps", "solver\nµs"),
            caption="speed over the second half; rms of the difference in speed from auto's; share of loaded contacts "
            f"that slide; natural map in m/s, and the share of steps where it exceeds {10 * TOLERANCE:g}",
        )
        for solver, result in about["runs"].items():
            one.add_row(
                label(solver),
                *(f"{result[key]:.3f}" for key in ("final_speed", "speed_apart", "drift")),
                f"{result['sliding']:.0%}",
                *(number(result[key], digits=2) for key in ("median_natural", "worst_natural")),
                f"{result['bad_steps']:.1%}",
                number(result["mean_us"]),
            )
        made.append(one)
    return made


def plot(results: dict[str, Any], path: Path) -> None:
    floor = 1e-9  # below this, and where nothing touches, there is nothing to see
    with figure(path, rows=len(results["terrains"]), columns=3, size=(15.0, 7.0)) as (made, axes):
        for row, (terrain, about) in enumerate(results["terrains"].items()):
            speed, judged, time = axes[3 * row : 3 * row + 3]
            among = list(about["runs"])
            for solver, result in about["runs"].items():
                style = look(solver, among)
                at = results["period"] + 10 * results["dt"] * np.arange(len(result["speed"]))
                speed.plot(at, result["speed"], **style)
                at = result["window"] * (np.arange(len(result["natural"])) + 0.5)
                judged.semilogy(at, np.maximum(result["natural"], floor), **style)
                time.semilogy(at, result["us"], **style)
            speed.set(xlabel="time, s", ylabel="speed over the last period, m/s")
            speed.set_title(f"{terrain}, μ {about['mu']:g}: speed of the base")
            judged.set(xlabel="time, s", ylabel="natural map, worst of 50 ms, m/s", title="Residual")
            time.set(xlabel="time, s", ylabel="mean of 50 ms, µs", title="Time of the solver")
        legend(made, axes[0])
