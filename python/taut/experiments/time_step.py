"""How much each solver's path of a dragged cube depends on the time step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._taut import Trajectory
from ..cli.terminal import number, table
from ..energy import mechanical_energy
from . import dragged_cube
from .experiment import Advance, available, figure, label, legend, look, simulator

NAME = "time_step"
WHAT = "A dragged cube: the distance of each solver from its own path at a fine step, and its energy"
PAPER = "[CB] Fig. 15"

SOLVERS = (
    *("auto", "pgs", "nbgs", "staggered", "admm", "newton"),
    *("ccp_pgs", "ccp_admm", "ccp_newton_mujoco", "ccp_newton_drake"),
    *("raisim", "lcp_pivot"),
)
QUICK = ("auto", "ccp_admm", "raisim", "lcp_pivot")


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    chosen = available(*(QUICK if quick else SOLVERS))
    reference_dt = 1e-4 if quick else 1e-5
    multiples = (10, 50, 100) if quick else (10, 20, 50, 100, 200, 500, 1000, 2000)
    world = dragged_cube.scene()
    rest = mechanical_energy(world, world.q0, np.zeros(6))
    runs = {}
    for k, solver in enumerate(chosen):
        advance(k, len(chosen), solver)
        reference = _drag(solver, reference_dt).q
        rows = []
        for multiple in multiples:
            dt = multiple * reference_dt
            path = _drag(solver, dt)
            energy = mechanical_energy(world, path.q, path.v) - rest
            t = dt * np.arange(len(path.q))
            rows.append(
                {
                    "dt": dt,
                    "error": dragged_cube.consistency_error(path.q, dt, reference, reference_dt),
                    "energy_error": float(np.abs(energy - _exact_energy(t)).max()),
                    "energy": energy[:: max(1, len(energy) // 100)],
                    "t": t[:: max(1, len(energy) // 100)],
                }
            )
        runs[solver] = rows
    return {"reference_dt": reference_dt, "final_energy": _exact_energy(dragged_cube.SECONDS), "runs": runs}


def _drag(solver: str, dt: float) -> Trajectory:
    world = dragged_cube.scene()
    sim = simulator(world, solver, dt=dt, margin=dragged_cube.MARGIN, tolerance=dragged_cube.TOLERANCE * dt)
    return dragged_cube.drag(world, sim)


def _exact_energy(t: Any) -> Any:
    return dragged_cube.MASS / 2 * dragged_cube.velocity(t) ** 2


def tables(results: dict[str, Any]) -> list:
    dts = [row["dt"] for row in next(iter(results["runs"].values()))]
    shown = [k for k, dt in enumerate(dts) if any(np.isclose(dt, d) for d in (1e-3, 1e-2))]
    made = table(
        "Distance from the own path at a fine step, and energy off by",
        *("<solver", *(f"Σ |q - q̄| dt, m s\ndt {1e3 * dts[k]:g} ms" for k in shown)),
        *(f"energy off by, J\ndt {1e3 * dts[k]:g} ms" for k in shown),
        caption=f"q̄: the same solver at dt {results['reference_dt']:g} s; energy against the closed form, at worst, "
        f"of {results['final_energy']:.1f} J at the end",
    )
    for solver, rows in results["runs"].items():
        errors = [number(rows[k]["error"]) for k in shown]
        made.add_row(label(solver), *errors, *(number(rows[k]["energy_error"]) for k in shown))
    return [made]


def plot(results: dict[str, Any], path: Path) -> None:
    among = list(results["runs"])
    with figure(path, columns=2) as (made, (left, right)):
        for solver, rows in results["runs"].items():
            style = look(solver, among)
            left.loglog([row["dt"] for row in rows], [row["error"] for row in rows], marker="o", markersize=3, **style)
            coarse = next(row for row in rows if np.isclose(row["dt"], 1e-2))
            t = np.asarray(coarse["t"])
            right.plot(t, np.asarray(coarse["energy"]) - _exact_energy(t), **style)
        left.set(xlabel="time step, s", ylabel="Σ |q − q̄| dt, m s", title="Distance from the own fine path")
        right.set(xlabel="time, s", ylabel="energy − Coulomb's law, J", title="Mechanical energy at dt = 10 ms")
        legend(made, right)
