"""[GJK, Fig. 7]: iterations of the variants over the distance of two ellipsoids, which no simplex fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...cli.terminal import table
from ..experiment import Advance, figure
from .problems import BEYOND, BOOLEAN, COLOURS, DISTANCE, METHODS, Couple, Tally, ellipsoid

NAME = "ellipsoids"
WHAT = "Iterations of vanilla, Polyak's and Nesterov's GJK on ellipsoids, from overlapping to far."
PAPER = "[GJK] Fig. 7"

SEPARATIONS = (-0.1, -0.03, -0.01, -0.003, -0.001, 0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
PAIRS, QUICK_PAIRS = 1000, 10
POSES = 10
# Coal does not normalize for ellipsoids, and neither does the paper.
SHOWN = ("vanilla", "polyak", "nesterov, not normalized")
LABELS = {"vanilla": "vanilla", "polyak": "Polyak", "nesterov, not normalized": "Nesterov"}


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    pairs = QUICK_PAIRS if quick else PAIRS
    tallies = {(s, m, kind): Tally() for s in SEPARATIONS for m in SHOWN for kind in (DISTANCE, BOOLEAN)}
    for pair in range(pairs):
        advance(pair, pairs, f"pair {pair}")
        couple = Couple.random(ellipsoid(rng), ellipsoid(rng), POSES, rng)
        for separation in SEPARATIONS:
            where = couple.at(separation)
            expected = couple.overlaps(where) if separation < 0 else np.full(POSES, separation)
            for method in SHOWN:
                for kind in (DISTANCE, BOOLEAN):
                    runs = couple.ask(where, **METHODS[method], beyond=BEYOND[kind], samples=3, calls=2)
                    tallies[separation, method, kind].add(runs, expected, kind == BOOLEAN)
    rows = [
        {"separation": s, "method": m, "question": kind, **tally.summary()} for (s, m, kind), tally in tallies.items()
    ]
    return {"pairs": pairs, "poses": POSES, "rows": rows}


def _row(results: dict[str, Any], separation: float, method: str, kind: str) -> dict[str, Any]:
    return next(
        row
        for row in results["rows"]
        if row["separation"] == separation and row["method"] == method and row["question"] == kind
    )


def tables(results: dict[str, Any]) -> list[Any]:
    made = []
    for kind, title in ((DISTANCE, "Distance"), (BOOLEAN, "Boolean")):
        columns = [f"{LABELS[method]}\n{unit}" for method in SHOWN for unit in ("iterations", "µs")]
        judged = "worst\nerror, m" if kind == DISTANCE else "wrong\nanswers"
        one = table(
            f"{title}: {results['pairs'] * results['poses']} pairs of ellipsoids at each distance",
            *("distance, m", *columns, judged),
            caption="duality gap 1e-8, start from the centres; mean; the last column over all three. At 0 m either "
            "answer is right" + (", and the error is the root of the gap at most" if kind == DISTANCE else ""),
        )
        for separation in SEPARATIONS:
            rows = [_row(results, separation, method, kind) for method in SHOWN]
            cells = [cell for row in rows for cell in (f"{row['iterations']:.1f}", f"{row['us']:.2f}")]
            bad = (
                f"{max(row['error'] for row in rows):.0e}"
                if kind == DISTANCE
                else str(sum(row["wrong"] for row in rows))
            )
            one.add_row(f"{separation:g}", *cells, bad)
        made.append(one)
    return made


def plot(results: dict[str, Any], path: Path) -> None:
    with figure(path, columns=2, sharey=True) as (_, axes):
        place = np.arange(len(SEPARATIONS))
        for ax, kind in zip(axes, (DISTANCE, BOOLEAN), strict=True):
            for method in SHOWN:
                rows = [_row(results, separation, method, kind) for separation in SEPARATIONS]
                mean = np.array([row["iterations"] for row in rows])
                std = np.array([row["iterations_std"] for row in rows])
                ax.plot(place, mean, "o-", markersize=3, color=COLOURS[method], label=LABELS[method])
                ax.fill_between(place, np.maximum(mean - std, 0), mean + std, color=COLOURS[method], alpha=0.15)
            ax.set(title=kind, xlabel="distance, m")
            ax.set_xticks(place, [f"{separation:g}" for separation in SEPARATIONS], rotation=60)
        axes[0].set(ylabel="iterations, mean and deviation")
        axes[0].legend()
