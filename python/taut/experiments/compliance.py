"""Compliance in the contacts of a standing Solo-12: what it does to normal forces, to dry friction, to redundancy.

Compliance e (m/N) adds R λ, R = e/dt², to the velocity of a contact. Its normal part makes a spring: a foot sinks by
e f. Its tangential part remembers no position: a foot that should stick creeps at e f/dt, and dry friction is gone. In
return forces become unique.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._taut import Simulator
from ..cli.terminal import length, number, table
from . import dragged_cube
from .experiment import Advance, available, figure, label, look, simulator
from .systems import PUSH_FROM, PUSH_UNTIL, solo12

NAME = "compliance"
WHAT = "Compliant contacts under a standing Solo-12: sinking, creeping, and forces made unique"
PAPER = "[CB] Fig. 14"

SOLVER = "auto"
REDUNDANT = ("auto", "pgs", "nbgs", "admm", "raisim")  # on the cube, whose four corners share a force in many ways
DT = 1e-3


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    compliances = [0.0, *(10.0 ** np.arange(-7.0, -3.5, 1.0 if quick else 0.5))]
    solvers = available(*(REDUNDANT[:2] if quick else REDUNDANT))
    total = (1 + len(solvers)) * len(compliances)
    stands = []
    for k, compliance in enumerate(compliances):
        advance(k, total, f"solo12, {compliance:.0e} m/N")
        stands.append({"compliance": compliance} | _stand(compliance))
    cubes = {}
    for i, solver in enumerate(solvers, start=1):
        cubes[solver] = []
        for k, compliance in enumerate(compliances):
            advance(i * len(compliances) + k, total, f"cube, {solver}")
            cubes[solver].append({"compliance": compliance, "internal": _internal_force(solver, compliance)})
    return {"solver": SOLVER, "dt": DT, "stands": stands, "cubes": cubes}


def _stand(compliance: float) -> dict[str, Any]:
    """Settled: how deep the feet are. Pushed: how fast they creep."""
    system = solo12()
    sim = system.held(SOLVER, dt=DT, compliance=compliance, tangential_compliance=compliance)
    depth, normal, creep, tangential = [], [], [], []
    for k, step in enumerate(system.run(sim, PUSH_UNTIL)):
        t = k * DT
        if not step.contacts or t < PUSH_FROM - 0.02:
            continue
        if t < PUSH_FROM:
            depth.append(-np.mean([contact.gap for contact in step.contacts]))
            normal.append(step.impulses[:, 2].mean() / DT)
        else:
            firmest = int(np.argmax(step.impulses[:, 2]))  # a foot that carries little may well slide
            creep.append(_tangential_speed(sim, firmest))
            tangential.append(np.hypot(*step.impulses[firmest, :2]) / DT)
    return {
        "depth": float(np.mean(depth)),
        "normal_force": float(np.mean(normal)),
        "creep": float(np.mean(creep)),
        "tangential_force": float(np.mean(tangential)),
        "creep_history": creep,
    }


def _tangential_speed(sim: Simulator, contact: int) -> float:
    """Contacts come first in a problem. G λ + g is the velocity, R λ is not part of it."""
    problem = sim.problem()
    velocity = problem.G @ sim.impulse + problem.g
    return float(np.hypot(*velocity[3 * contact : 3 * contact + 2]))


def _internal_force(solver: str, compliance: float) -> float:
    """Largest sideways force of a corner of a cube pulled along x by half of what would make it slide, N."""
    world = dragged_cube.scene()
    sim = simulator(world, solver, dt=DT, compliance=compliance, tangential_compliance=compliance)
    pull = np.array([0.5 * dragged_cube.MU * dragged_cube.MASS * dragged_cube.GRAVITY, 0, 0, 0, 0, 0])
    q, v = np.array(world.q0), np.zeros(6)
    for _ in range(50):
        step = sim.step(q, v, pull)
        q, v = step.q, step.v
    return max(
        abs((contact.frame @ impulse)[1]) / DT for contact, impulse in zip(step.contacts, step.impulses, strict=True)
    )


def tables(results: dict[str, Any]) -> list:
    feet = table(
        f"solo12 on compliant contacts, solver {results['solver']}, dt {1e3 * results['dt']:g} ms",
        *("<e, m/N", "feet sink by", "e f", "creep, m/s", "e f/dt, m/s"),
        caption="mean depth of the feet at rest beside that of a spring; tangential speed of the foot that carries "
        "most, mean while 10 N push, beside its force",
    )
    for stand in results["stands"]:
        spring = stand["compliance"] * stand["normal_force"]
        expected = stand["compliance"] * stand["tangential_force"] / results["dt"]
        speeds = (number(speed, digits=2) for speed in (stand["creep"], expected))
        feet.add_row(f"{stand['compliance']:.1e}", length(stand["depth"]), length(spring), *speeds)
    cubes = results["cubes"]
    corners = table(
        "Sideways force of a cube's corner, N",
        *("<e, m/N", *(label(solver) for solver in cubes)),
        caption="largest of the four corners of a cube that is pulled and sticks; no sideways force is needed",
    )
    for k, stand in enumerate(results["stands"]):
        internal = (number(rows[k]["internal"], digits=2) for rows in cubes.values())
        corners.add_row(f"{stand['compliance']:.1e}", *internal)
    return [feet, corners]


def plot(results: dict[str, Any], path: Path) -> None:
    soft = [stand for stand in results["stands"] if stand["compliance"] > 0]
    at = np.array([stand["compliance"] for stand in soft])
    with figure(path, columns=3, size=(13.0, 3.8)) as (_, (left, middle, right)):
        left.loglog(at, [1e3 * stand["depth"] for stand in soft], "o-", label="feet")
        spring = [1e3 * stand["compliance"] * stand["normal_force"] for stand in soft]
        left.loglog(at, spring, color="black", linewidth=3, alpha=0.25, label="compliance × force")
        left.set(xlabel="compliance, m/N", ylabel="depth at rest, mm", title="Normal: feet sink")
        left.legend()
        for stand in (results["stands"][0], *soft[1::2]):
            t = PUSH_FROM + results["dt"] * np.arange(len(stand["creep_history"]))
            middle.semilogy(t, np.maximum(stand["creep_history"], 1e-9), label=f"{stand['compliance']:.0e} m/N")
        middle.set(xlabel="time, s", ylabel="tangential speed of the firmest foot, m/s", title="Tangential: feet creep")
        middle.legend()
        among = list(results["cubes"])
        for solver, rows in results["cubes"].items():
            internal = np.maximum([row["internal"] for row in rows if row["compliance"] > 0], 1e-12)
            right.loglog(at, internal, marker="o", markersize=3, **look(solver, among))
        right.set(xlabel="compliance, m/N", ylabel="sideways force, N", title="Redundant: a cube's internal forces")
        right.legend()
