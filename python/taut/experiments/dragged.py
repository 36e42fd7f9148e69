"""How far from the rigid solution the relaxed models take a dragged cube, against the time step.

Two distances: from the rigid path at a fine step, as in the paper, which holds the error of the integration too, and
from the rigid path at the same step, which is the model's alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..cli.terminal import number, table
from . import dragged_cube
from .experiment import Advance, available, figure, label, legend, look, simulator

NAME = "dragged"
WHAT = "A dragged cube: the distance of each model from the rigid path, against dt"
PAPER = "[CB] Fig. 11"

REFERENCE = "pgs"
SOLVERS = ("auto", "pgs", "ccp_pgs", "ccp_admm", "raisim", "lcp_pivot")
QUICK = ("pgs", "ccp_admm", "raisim", "lcp_pivot")


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    reference_dt = 1e-4 if quick else 1e-5
    multiples = (10, 50, 100) if quick else (10, 20, 50, 100, 200, 500, 1000, 2000)
    chosen = available(*(QUICK if quick else SOLVERS))
    world = dragged_cube.scene()
    total = 1 + len(chosen)

    def path_of(solver: str, dt: float) -> np.ndarray:
        sim = simulator(world, solver, dt=dt, margin=dragged_cube.MARGIN, tolerance=dragged_cube.TOLERANCE * dt)
        return dragged_cube.drag(world, sim).q

    advance(0, total, f"reference, {REFERENCE}")
    reference = path_of(REFERENCE, reference_dt)
    time = reference_dt * np.arange(len(reference))
    rigid = {multiple: path_of(REFERENCE, multiple * reference_dt) for multiple in multiples}
    runs = {}
    for k, solver in enumerate(chosen, start=1):
        advance(k, total, solver)
        rows = []
        for multiple in multiples:
            dt = multiple * reference_dt
            q = path_of(solver, dt)
            rows.append(
                {
                    "dt": dt,
                    "error": dragged_cube.consistency_error(q, dt, reference, reference_dt),
                    "model_error": dragged_cube.consistency_error(q, dt, rigid[multiple], dt),
                    "height": float(np.max(q[:, 2]) - q[0, 2]),
                }
            )
        runs[solver] = {"rows": rows, "order": _order(rows, "error"), "model_order": _order(rows, "model_error")}
    off = float(np.abs(reference[:, 0] - reference[0, 0] - dragged_cube.position(time)).max())
    return {"reference": REFERENCE, "reference_dt": reference_dt, "reference_error": off, "runs": runs}


def _order(rows: list[dict[str, float]], key: str) -> float | None:
    """The exponent of dt; none where there is no error but the tolerance of the solver."""
    errors = np.array([row[key] for row in rows])
    if errors.max() < 1e-6:
        return None
    return float(np.polyfit(np.log([row["dt"] for row in rows]), np.log(errors), 1)[0])


def tables(results: dict[str, Any]) -> list:
    steps = [row["dt"] for row in next(iter(results["runs"].values()))["rows"]]
    shown = [k for k, dt in enumerate(steps) if any(np.isclose(dt, d) for d in (1e-3, 5e-3, 1e-2))]
    made = table(
        "Σ |q - q̄| dt of a dragged cube, m s",
        *("<solver", *(f"fine q̄\n{1e3 * steps[k]:g} ms" for k in shown), "order\nin dt"),
        *(*(f"same dt\n{1e3 * steps[k]:g} ms" for k in shown), "order\nin dt", "rises\nby, mm"),
        caption=f"q̄ is of NCP/{results['reference']}: at dt {results['reference_dt']:g} s (within "
        f"{results['reference_error']:.1e} m of the closed form), then at the same dt; height at "
        f"{1e3 * steps[shown[-1]]:g} ms",
    )
    for solver, result in results["runs"].items():
        rows = result["rows"]
        fine = (number(rows[k]["error"]) for k in shown)
        same = (number(rows[k]["model_error"], digits=2) for k in shown)
        orders = (number(result[key], digits=2) for key in ("order", "model_order"))
        height = number(1e3 * rows[shown[-1]]["height"], digits=2)
        made.add_row(label(solver), *fine, next(orders), *same, next(orders), height)
    return [made]


def plot(results: dict[str, Any], path: Path) -> None:
    among = list(results["runs"])
    with figure(path, columns=2, sharey=True) as (made, both):
        for axes, key in zip(both, ("error", "model_error"), strict=True):
            for solver, result in results["runs"].items():
                dts = np.array([row["dt"] for row in result["rows"]])
                errors = np.maximum([row[key] for row in result["rows"]], 1e-9)  # the reference itself has none
                axes.loglog(dts, errors, marker="o", markersize=3, **look(solver, among))
            guide = np.array([dts.min(), dts.max()])
            axes.loglog(guide, 0.1 * guide, color="black", linewidth=0.8, alpha=0.5, label="proportional to dt")
            axes.set(xlabel="time step, s", ylabel="Σ |q − q̄| dt, m s")
        both[0].set_title("From the rigid path at a fine step")
        both[1].set_title("From the rigid path at the same step")
        legend(made, both[0])
