"""`auto` beside the solvers of Pinocchio and Siconos: the same problems, one judge, a residual beside every time.

The peers are timed from Python. The ratio compares their calls with `taut.solve` called from Python, all costs of a
call inside. The net ratio compares what happens in C++: the time of `auto` measured there, and a peer's call less what
its call costs on one contact that separates. Where a peer's net time is below that cost, it is not known well enough
and there is no net ratio: these are the smallest problems.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .. import _taut
from ..cli.terminal import BAD, GOOD, number, table
from . import clock, pinocchio_peer, problems, siconos_peer
from .experiment import Advance, figure

NAME = "peers"
WHAT = "auto beside Pinocchio's ADMM and PGS and Siconos' NSGS: time, residual, certified or not."
PAPER = ""

OURS = "auto"
SICONOS = "Siconos NSGS"
_PINOCCHIO: dict[str, Callable[..., dict[str, Any]]] = {
    "Pinocchio ADMM": pinocchio_peer.admm,
    "Pinocchio PGS": pinocchio_peer.pgs,
}

Solve = Callable[[list[_taut.Problem], list[np.ndarray | None]], list[dict[str, Any]]]

GROUPS = ["go1", "solo12", "talos", "allegro", "pile"]


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    groups = ["go1", "allegro"] if quick else GROUPS
    count = 4 if quick else 20
    total = 2 + len(groups)
    advance(0, total, "peers")
    peers, missing = _peers()
    overhead = _overheads(peers)
    rows = []
    batches = [("files", problems.from_files)] + [(group, partial(problems.collect, group, count)) for group in groups]
    for done, (group, samples) in enumerate(batches, start=1):
        advance(done, total, group)
        met = samples()
        rows += _compare(met, False, peers)
        rows += _compare([sample for sample in met if sample.before is not None], True, peers)
    for row in rows:
        row |= ratios(row, overhead)
    return {
        "tolerance": clock.TOLERANCE,
        "peers": list(peers),
        "missing": missing,
        "overhead_us": {name: 1e6 * seconds for name, seconds in overhead.items()},
        "rows": rows,
    }


def _peers() -> tuple[dict[str, Solve], dict[str, str]]:
    """What can be called, and what cannot with the reason."""

    def one_by_one(solver: Callable[..., dict[str, Any]]) -> Solve:
        return lambda met, starts: [solver(problem, start) for problem, start in zip(met, starts, strict=True)]

    peers: dict[str, Solve] = {name: one_by_one(solver) for name, solver in _PINOCCHIO.items()}
    python, reason = siconos_peer.interpreter()
    if python is None:
        return peers, {SICONOS: reason}
    return peers | {SICONOS: partial(siconos_peer.nsgs, python)}, {}


def _overheads(peers: dict[str, Solve]) -> dict[str, float]:
    separating = _taut.Problem(np.eye(3), np.array([0.0, 0.0, 1.0]), np.array([0.5]))
    return {name: solve([separating], [None])[0]["seconds"] for name, solve in peers.items()}


def _compare(samples: list[problems.Sample], warm: bool, peers: dict[str, Solve]) -> list[dict[str, Any]]:
    if not samples:
        return []
    met = [sample.problem for sample in samples]
    starts = [sample.before if warm else None for sample in samples]
    answers = {OURS: [_ours(problem, start) for problem, start in zip(met, starts, strict=True)]}
    answers |= {name: solve(met, starts) for name, solve in peers.items()}
    return [
        {
            "group": sample.group,
            "name": sample.name,
            "contacts": sample.contacts,
            "warm": warm,
            "answers": {name: made[i] for name, made in answers.items()},
        }
        for i, sample in enumerate(samples)
    ]


def _ours(problem: _taut.Problem, start: np.ndarray | None) -> dict[str, Any]:
    def call() -> None:
        _taut.solve(problem, solver=OURS, tolerance=clock.TOLERANCE, warm_start=start)

    return clock.solve(problem, OURS, start) | {"call_seconds": clock.median_seconds(call)}


def ratios(row: dict[str, Any], overhead: dict[str, float]) -> dict[str, float | None]:
    """Of the fastest certified peer; None where there is none, or its net time cannot be told from a call's cost."""
    ours = row["answers"][OURS]
    certified = [name for name in overhead if row["answers"][name]["certified"]]
    if not certified or not ours["certified"]:
        return {"ratio": None, "net_ratio": None}
    calls = {name: row["answers"][name]["seconds"] for name in certified}
    fastest = min(certified, key=lambda name: calls[name] - overhead[name])
    net = calls[fastest] - overhead[fastest]
    return {
        "ratio": ours["call_seconds"] / min(calls.values()),
        "net_ratio": ours["seconds"] / net if net >= overhead[fastest] else None,
    }


def tables(results: dict[str, Any]) -> list[Any]:
    made = [_each_file(results), _by_group(results)]
    return [one for one in made if one.row_count]


def _notes(results: dict[str, Any]) -> str:
    calls = ", ".join(f"{name} {us:.1f}" for name, us in results["overhead_us"].items())
    missing = "".join(f"; not here: {name}, {reason}" for name, reason in results["missing"].items())
    return f"a call alone costs, in µs: {calls}{missing}"


def _each_file(results: dict[str, Any]):
    names = [OURS, *results["peers"]]
    made = table(
        "Problem files, from zero: time of one solve, and natural map of the answer in m/s",
        *("<problem", "contacts"),
        *(f"{name.replace(' ', chr(10))}" for name in names),
        "ratio",
        caption=f"✔ certified at {number(results['tolerance'], 'm/s')}; ratio: auto over the fastest certified peer, "
        "both called from Python; " + _notes(results),
    )
    for row in results["rows"]:
        if row["group"] == "files" and not row["warm"]:
            cells = (_answer(row["answers"][name]) for name in names)
            made.add_row(row["name"], str(row["contacts"]), *cells, number(row["ratio"], digits=2))
    return made


def _answer(answer: dict[str, Any]) -> str:
    mark = GOOD if answer["certified"] else BAD
    return f"{clock.duration(answer['seconds'])} [dim]{clock.exponent(answer['natural'])}[/] {mark}"


def summary(results: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each group and start: medians, and how many are certified."""
    names = [OURS, *results["peers"]]
    keys = list(dict.fromkeys((row["group"], row["warm"]) for row in results["rows"]))
    found = []
    for group, warm in keys:
        rows = [row for row in results["rows"] if (row["group"], row["warm"]) == (group, warm)]
        found.append(
            {
                "group": group,
                "warm": warm,
                "problems": len(rows),
                "contacts": float(np.median([row["contacts"] for row in rows])),
                "median_us": {n: 1e6 * float(np.median([row["answers"][n]["seconds"] for row in rows])) for n in names},
                "certified": {n: sum(row["answers"][n]["certified"] for row in rows) for n in names},
                "ratio": _median(rows, "ratio"),
                "net_ratio": _median(rows, "net_ratio"),
            }
        )
    return found


def _median(rows: list[dict[str, Any]], key: str) -> float | None:
    """None unless it is known of most: the problems it is not known of are those a peer was quickest on."""
    known = [row[key] for row in rows if row[key] is not None]
    return float(np.median(known)) if 2 * len(known) > len(rows) else None


def _by_group(results: dict[str, Any]):
    names = [OURS, *results["peers"]]
    known = {key: [row[key] for row in results["rows"] if row[key] is not None] for key in ("ratio", "net_ratio")}
    overall = "; ".join(
        f"{key.replace('_', ' ')} {np.median(of):.2g} ({len(of)} problems, {sum(r > 1 for r in of)} above 1)"
        for key, of in known.items()
        if of
    )
    made = table(
        "All problems: median time, and how many are certified",
        *("<problems", "<start", "number", "contacts"),
        *(name.replace(" ", "\n") for name in names),
        *("median\nratio", "median\nnet"),
        caption=f"medians of all: {overall}; net: without the cost of the calls; warm: "
        "from the impulses of the step before",
    )
    for entry in summary(results):
        cells = []
        for name in names:
            certified = entry["certified"][name]
            colour = "green" if certified == entry["problems"] else "red"
            cells.append(f"{clock.duration(1e-6 * entry['median_us'][name])} [{colour}]{certified}[/]")
        start = "warm" if entry["warm"] else "cold"
        about = entry["group"], start, str(entry["problems"]), number(entry["contacts"])
        made.add_row(*about, *cells, *(number(entry[key], digits=2) for key in ("ratio", "net_ratio")))
    return made


_LOOKS = {OURS: ("#08519c", "o"), "Pinocchio ADMM": ("#d95f0e", "s"), "Pinocchio PGS": ("#fec44f", "^")}


def plot(results: dict[str, Any], path: Path) -> None:
    """Time against contacts: filled where the judge certifies, hollow where it does not."""
    with figure(path, columns=2, sharey=True) as (_, axes):
        for ax, warm in zip(axes, (False, True), strict=True):
            rows = [row for row in results["rows"] if row["warm"] == warm]
            for name in [*results["peers"], OURS]:  # ours on top
                colour, marker = _LOOKS.get(name, ("#31a354", "D"))
                for certified in (True, False):
                    points = [
                        (row["contacts"], 1e6 * row["answers"][name]["seconds"])
                        for row in rows
                        if row["answers"][name]["certified"] == certified
                    ]
                    style = {"facecolors": colour if certified else "none", "edgecolors": colour, "s": 16}
                    shown = {"label": name} if certified else {}
                    if points or certified:
                        ax.scatter(
                            *np.array(points or np.empty((0, 2))).T, marker=marker, linewidths=0.8, **style, **shown
                        )
            ax.set(xscale="log", yscale="log", xlabel="contacts", title="warm start" if warm else "from zero")
        axes[0].set_ylabel("one solve (µs)")
        axes[0].legend(title="hollow: not certified", loc="upper left")
