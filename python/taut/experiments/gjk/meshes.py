"""[GJK, Table I and Figs. 8 to 11]: the variants on convex meshes, generated and of robots."""

from __future__ import annotations

from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np

from ...cli.terminal import table
from ..experiment import Advance, figure
from .problems import BEYOND, BOOLEAN, COLOURS, DISTANCE, METHODS, Couple, Tally, mesh, plus_minus, robot_hulls

NAME = "meshes"
WHAT = "Times and iterations on convex meshes: by number of vertices, by distance, normalized or not."
PAPER = "[GJK] Table I, Figs. 8-11"

VERTICES = (240, 1811, 3585)  # the paper's three meshes; ours are points of ellipsoids
SHALLOW = 0.01  # m: Table I is between −SHALLOW and SHALLOW
POSES, QUICK_POSES = 1000, 20
# Table I: µs (mean, deviation) on an Apple M1 Max, by vertices; vanilla, Polyak, Nesterov.
PUBLISHED = {
    (240, 240): {DISTANCE: (1.1, 0.9, 0.9), BOOLEAN: (0.9, 0.7, 0.8)},
    (240, 1811): {DISTANCE: (1.9, 1.5, 1.4), BOOLEAN: (1.5, 1.2, 1.1)},
    (240, 3585): {DISTANCE: (3.2, 2.3, 2.4), BOOLEAN: (2.5, 1.7, 1.9)},
    (1811, 1811): {DISTANCE: (2.7, 2.1, 1.9), BOOLEAN: (2.3, 1.6, 1.5)},
    (1811, 3585): {DISTANCE: (4.0, 2.9, 2.9), BOOLEAN: (3.1, 2.1, 2.2)},
    (3585, 3585): {DISTANCE: (4.4, 2.9, 3.0), BOOLEAN: (3.0, 2.1, 2.1)},
}
SEPARATIONS = (-0.03, -0.01, -0.001, 0.0, 0.001, 0.01, 0.03, 0.1, 1.0)
PAIRS, QUICK_PAIRS = 120, 4
POSES_OF_PAIR = 20
REPEAT = {"samples": 10, "calls": 5}
QUICK_REPEAT = {"samples": 3, "calls": 2}


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    rng = np.random.default_rng(11)
    repeat = QUICK_REPEAT if quick else REPEAT
    sizes = list(combinations_with_replacement(VERTICES, 2))
    pairs = QUICK_PAIRS if quick else PAIRS
    total = len(sizes) + pairs
    by_size = []
    for done, (one, two) in enumerate(sizes):
        advance(done, total, f"{one} and {two} vertices")
        by_size += _table_one(one, two, QUICK_POSES if quick else POSES, rng, repeat)
    generated = [mesh(rng, int(n)) for n in np.geomspace(100, 4000, 4 if quick else 20)]
    robots = robot_hulls(4 if quick else 40, rng)
    by_distance, ratios = [], []
    for source, shapes in (("generated", generated), ("robots", robots)):
        if not shapes:
            continue
        tallies = {(s, m, kind): Tally() for s in SEPARATIONS for m in METHODS for kind in (DISTANCE, BOOLEAN)}
        count = pairs // (2 if robots else 1)
        for pair in range(count):
            advance(len(sizes) + pair + (count if source == "robots" else 0), total, f"{source}, pair {pair}")
            first, second = rng.choice(len(shapes), 2)
            couple = Couple.random(shapes[first], shapes[second], POSES_OF_PAIR, rng)
            for separation in SEPARATIONS:
                at_this = {(m, k): tally for (s, m, k), tally in tallies.items() if s == separation}
                _ask(couple, np.full(POSES_OF_PAIR, separation), repeat, at_this)
        by_distance += [
            {"source": source, "separation": s, "method": m, "question": kind, **tally.summary()}
            for (s, m, kind), tally in tallies.items()
        ]
        ratios += _ratios(source, tallies)
    return {
        "poses": QUICK_POSES if quick else POSES,
        "by_size": by_size,
        "by_distance": by_distance,
        "ratios": ratios,
        "vertices": {
            "generated": [shape.num_points for shape in generated],
            "robots": [shape.num_points for shape in robots],
        },
    }


def _ask(couple: Couple, separation: np.ndarray, repeat: dict[str, int], tallies: dict[Any, Tally]) -> None:
    where = couple.at(separation)
    expected = np.array(separation)
    if (separation < 0).any():
        expected = np.where(separation < 0, couple.overlaps(where), separation)
    for method, options in METHODS.items():
        for kind in (DISTANCE, BOOLEAN):
            runs = couple.ask(where, **options, beyond=BEYOND[kind], **repeat)
            tallies[method, kind].add(runs, expected, kind == BOOLEAN)


def _table_one(one: int, two: int, poses: int, rng: np.random.Generator, repeat: dict[str, int]) -> list[Any]:
    tallies = {(m, kind): Tally() for m in METHODS for kind in (DISTANCE, BOOLEAN)}
    couple = Couple.random(mesh(rng, one), mesh(rng, two), poses, rng)
    _ask(couple, rng.uniform(-SHALLOW, SHALLOW, poses), repeat, tallies)
    return [
        {"vertices": [one, two], "method": m, "question": kind, **tally.summary()}
        for (m, kind), tally in tallies.items()
    ]


def _ratios(source: str, tallies: dict[Any, Tally]) -> list[dict[str, Any]]:
    """[GJK, Fig. 11]: how many times faster than the vanilla one, problem by problem."""
    found = []
    for (separation, method, kind), tally in tallies.items():
        if method == "vanilla":
            continue
        ratio = tallies[separation, "vanilla", kind].micros_of_all() / tally.micros_of_all()
        low, median, high = np.quantile(ratio, (0.1, 0.5, 0.9))
        key = {"source": source, "separation": separation, "method": method, "question": kind}
        found.append({**key, "low": low, "median": median, "high": high})
    return found


def tables(results: dict[str, Any]) -> list[Any]:
    return [_by_size(results, DISTANCE), _by_size(results, BOOLEAN), *_by_distance(results), _normalization(results)]


def _by_size(results: dict[str, Any], kind: str):
    judged = "worst\nerror, m" if kind == DISTANCE else "wrong\nanswers"
    made = table(
        f"{kind.capitalize()}, µs: |distance| ≤ {SHALLOW:g} m, {results['poses']} poses of each pair",
        *("<vertices", "vanilla\nµs", "Polyak\nµs", "Nesterov\nµs", "not normalized\nµs", "iterations", judged),
        "paper, M1\nµs",
        caption="mean ± deviation; iterations and paper: vanilla, Polyak, Nesterov; the paper's meshes are others, of "
        "as many vertices",
    )
    for sizes, theirs in PUBLISHED.items():
        rows = [
            next(
                row
                for row in results["by_size"]
                if tuple(row["vertices"]) == sizes and row["method"] == method and row["question"] == kind
            )
            for method in METHODS
        ]
        bad = f"{max(row['error'] for row in rows):.0e}" if kind == DISTANCE else str(sum(row["wrong"] for row in rows))
        made.add_row(
            f"{sizes[0]}, {sizes[1]}",
            *(plus_minus(row["us"], row["us_std"]) for row in rows),
            " ".join(f"{row['iterations']:.1f}" for row in rows[:3]),
            bad,
            " ".join(f"{value:g}" for value in theirs[kind]),
        )
    return made


def _by_distance(results: dict[str, Any]) -> list[Any]:
    made = []
    for source in dict.fromkeys(row["source"] for row in results["by_distance"]):
        rows = {
            (row["separation"], row["method"], row["question"]): row
            for row in results["by_distance"]
            if row["source"] == source
        }
        ratios = {
            (row["separation"], row["method"], row["question"]): row
            for row in results["ratios"]
            if row["source"] == source
        }
        sizes = results["vertices"][source]
        for kind in (DISTANCE, BOOLEAN):
            judged = "worst\nerror, m" if kind == DISTANCE else "wrong\nanswers"
            one = table(
                f"{kind.capitalize()}: {source}, {min(sizes)} to {max(sizes)} vertices",
                *("distance, m", "vanilla\niterations", "Polyak\niterations", "Nesterov\niterations"),
                *("vanilla\nµs", "Polyak\nµs", "Nesterov\nµs", "Polyak\nfaster", "Nesterov\nfaster", judged),
                caption="mean; faster: times faster than the vanilla one on the same problem, median (10 % to 90 %)",
            )
            for separation in SEPARATIONS:
                trio = [rows[separation, method, kind] for method in ("vanilla", "polyak", "nesterov")]
                faster = [ratios[separation, method, kind] for method in ("polyak", "nesterov")]
                bad = (
                    f"{max(row['error'] for row in trio):.0e}"
                    if kind == DISTANCE
                    else str(sum(row["wrong"] for row in trio))
                )
                one.add_row(
                    f"{separation:g}",
                    *(f"{row['iterations']:.1f}" for row in trio),
                    *(f"{row['us']:.2f}" for row in trio),
                    *(f"{row['median']:.2f} ({row['low']:.1f}-{row['high']:.1f})" for row in faster),
                    bad,
                )
            made.append(one)
    return made


def _normalization(results: dict[str, Any]):
    made = table(
        "Close, 0.001 to 0.1 m: what normalization does to Nesterov's",
        *("<meshes", "<question", "vanilla", "Polyak", "normalized", "not normalized"),
        caption="iterations and µs, mean over the four distances [GJK, Fig. 8]",
    )
    for source in dict.fromkeys(row["source"] for row in results["by_distance"]):
        for kind in (DISTANCE, BOOLEAN):
            cells = []
            for method in METHODS:
                rows = [
                    row
                    for row in results["by_distance"]
                    if row["source"] == source
                    and row["method"] == method
                    and row["question"] == kind
                    and 0 < row["separation"] <= 0.1
                ]
                mean = [np.mean([row[key] for row in rows]) for key in ("iterations", "us")]
                cells.append(f"{mean[0]:.1f}  {mean[1]:.2f} µs")
            made.add_row(source, kind, *cells)
    return made


def plot(results: dict[str, Any], path: Path) -> None:
    sources = list(dict.fromkeys(row["source"] for row in results["by_distance"]))
    place = np.arange(len(SEPARATIONS))
    with figure(path, rows=len(sources), columns=2) as (_, axes):
        for i, source in enumerate(sources):
            for ax, kind in zip(axes[2 * i : 2 * i + 2], (DISTANCE, BOOLEAN), strict=True):
                for method, colour in COLOURS.items():
                    rows = [
                        row
                        for row in results["by_distance"]
                        if row["source"] == source and row["method"] == method and row["question"] == kind
                    ]
                    low, high = np.array([row["us_quartiles"] for row in rows]).T
                    ax.plot(place, [row["us_median"] for row in rows], "o-", markersize=3, color=colour, label=method)
                    ax.fill_between(place, low, high, color=colour, alpha=0.12)
                ax.set(title=f"{source}, {kind}", ylabel="µs, median and quartiles", ylim=(0, None))
                ax.set_xticks(place, [f"{separation:g}" for separation in SEPARATIONS])
        for ax in axes[-2:]:
            ax.set(xlabel="distance, m")
        axes[0].legend()
