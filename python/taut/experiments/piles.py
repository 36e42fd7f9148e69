"""A pile from 100 to 1000 bodies: how the time of a solve grows with the number of contacts.

A pile is dropped and its problems are taken while it comes to rest, so that one size gives many numbers of contacts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import scenes
from .._taut import Simulator, solve
from ..cli.terminal import number, table
from . import clock
from .experiment import Advance, figure

NAME = "piles"
WHAT = "Piles of 100 to 1000 bodies: time of a solve against the number of contacts, from zero and warm."
PAPER = ""

SOLVER = "auto"
CARRIER = "pgs"
SIZES = (100, 200, 400, 700, 1000)
QUICK_SIZES = (20, 40, 60)
DT = 5e-3  # as coarse as a pile is simulated in practice; 1 ms would only take longer to come to rest
SECONDS = 1.5
SAMPLES = 5  # problems of each size, over the second half of the run


def run(quick: bool, advance: Advance, sizes: tuple[int, ...] | None = None) -> dict[str, Any]:
    sizes = sizes or (QUICK_SIZES if quick else SIZES)
    count = round((1.0 if quick else SECONDS) / DT)
    samples = 5 if quick else SAMPLES
    rows = []
    for done, bodies in enumerate(sizes):
        for k, row in _fall(bodies, count, samples):
            advance(done * count + k, len(sizes) * count, f"{bodies} bodies")
            if row:
                rows.append(row)
    return {"tolerance": clock.TOLERANCE, "solver": SOLVER, "dt": DT, "seconds": count * DT, "rows": rows}


def _fall(bodies: int, count: int, samples: int):
    """(step, None or what was measured in it).

    The pile is carried by sweeps that stop early, or a thousand bodies would take an hour. A warm start is the
    certified answer of the step before, matched contact by contact.
    """
    scene = scenes.make("pile", n=bodies)
    sim = Simulator(scene, dt=DT, solver=CARRIER, tolerance=1e-5, max_iterations=300)
    chosen = set(np.linspace(count // 2, count - 1, samples).round().astype(int).tolist())
    q, v = np.array(scene.q0), np.zeros(scene.model.nv)
    before: dict[tuple[int, int], np.ndarray] = {}
    for k in range(count):
        step = sim.step(q, v)
        q, v = step.q, step.v
        if step.report.status == "not_finite":
            raise ValueError(f"the pile of {bodies} broke off at step {k}")
        row = None
        if k in chosen and step.contacts:
            guess = np.concatenate([before.get(contact.identity, np.zeros(3)) for contact in step.contacts])
            problem = sim.problem()
            row = {
                "bodies": bodies,
                "contacts": len(step.contacts),
                "cold": clock.solve(problem, SOLVER),
                "warm": clock.solve(problem, SOLVER, guess),
            }
        if k + 1 in chosen:
            answer = solve(sim.problem(), SOLVER, tolerance=clock.TOLERANCE, warm_start=sim.impulse).impulse
            impulses = answer[: 3 * len(step.contacts)].reshape(-1, 3)
            before = {c.identity: impulse for c, impulse in zip(step.contacts, impulses, strict=True)}
        yield k, row


def fit(rows: list[dict[str, Any]], start: str) -> tuple[float, float] | None:
    """(exponent, µs at 100 contacts) of time = a contacts^p, by least squares of the logarithms; certified only."""
    points = np.array([(row["contacts"], row[start]["seconds"]) for row in rows if row[start]["certified"]])
    if len(points) < 2 or np.ptp(points[:, 0]) == 0:
        return None
    exponent, offset = np.polyfit(np.log(points[:, 0] / 100), np.log(points[:, 1]), 1)
    return float(exponent), float(1e6 * np.exp(offset))


def tables(results: dict[str, Any]) -> list[Any]:
    grown = []
    for start in ("cold", "warm"):
        found = fit(results["rows"], start)
        grown.append(f"{start} contacts^{found[0]:.2f}, {number(found[1], 'µs')} at 100" if found else f"{start} –")
    made = table(
        f"One solve of a pile by {results['solver']}, medians",
        *(
            "bodies",
            "problems",
            "contacts",
            "cold ms",
            "warm ms",
            "cold µs\na contact",
            "warm µs\na contact",
            "certified",
        ),
        caption=f"grows as: {'; '.join(grown)}; steps of {1e3 * results['dt']:g} ms, the second half of "
        f"{results['seconds']:g} s; certified at {number(results['tolerance'], 'm/s')}, cold and warm counted apart",
    )
    for bodies in dict.fromkeys(row["bodies"] for row in results["rows"]):
        rows = [row for row in results["rows"] if row["bodies"] == bodies]
        contacts = float(np.median([row["contacts"] for row in rows]))
        ms = {start: 1e3 * float(np.median([row[start]["seconds"] for row in rows])) for start in ("cold", "warm")}
        good = sum(row[start]["certified"] for row in rows for start in ("cold", "warm"))
        made.add_row(
            *(str(bodies), str(len(rows)), number(contacts)),
            *(number(value) for value in ms.values()),
            *(number(1e3 * value / contacts) for value in ms.values()),
            f"[{'green' if good == 2 * len(rows) else 'red'}]{good} of {2 * len(rows)}[/]",
        )
    return [made]


def plot(results: dict[str, Any], path: Path) -> None:
    with figure(path) as (_, (axes,)):
        for start, colour in (("cold", "#08519c"), ("warm", "#6baed6")):
            for certified, filled in ((True, colour), (False, "none")):
                points = [
                    (row["contacts"], 1e3 * row[start]["seconds"])
                    for row in results["rows"]
                    if row[start]["certified"] == certified
                ]
                if points:
                    axes.scatter(*np.array(points).T, s=14, facecolors=filled, edgecolors=colour)
            found = fit(results["rows"], start)
            if found:
                span = np.array(
                    [min(row["contacts"] for row in results["rows"]), max(row["contacts"] for row in results["rows"])]
                )
                line = 1e-3 * found[1] * (span / 100) ** found[0]
                axes.plot(span, line, color=colour, label=f"{start}: contacts^{found[0]:.2f}")
        axes.set(
            xscale="log", yscale="log", xlabel="contacts", ylabel="one solve (ms)", title=f"piles, {results['solver']}"
        )
        axes.legend()
