"""[DCD, Table I]: contact poses found by Gauss-Newton with each estimator's Jacobian."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from ...cli.terminal import table
from ..experiment import Advance, figure, legend
from ..gjk.problems import directions, hull, rotations
from .contact_pose import ContactPose, on_surface, vertices

NAME = "poses"
WHAT = "Poses in which two rough meshes touch at given points, by Gauss-Newton with each estimator."
PAPER = "[DCD] Table I"

PROBLEMS, QUICK_PROBLEMS = 10_000, 40
TARGETS = 100  # of each pair of shapes, as in the paper
CORNERS = 12
QUANTILES = {"D1": 0.1, "Q1": 0.25, "median": 0.5, "Q3": 0.75, "D9": 0.9}

METHODS: dict[str, dict[str, Any]] = {
    "finite differences, 1e-6": {"method": "finite_differences", "step": 1e-6},
    "finite differences, 1e-3": {"method": "finite_differences", "step": 1e-3},
    "0th-order Gaussian, 50 samples": {"method": "gaussian_0", "samples": 50},
    "1st-order Gaussian, 20 samples": {"method": "gaussian", "samples": 20},
    "1st-order Gumbel, depth 1": {"method": "gumbel"},
    "exact": {"method": "exact"},
}
# Table I, with the paper's own parameters.
PUBLISHED = {
    "finite differences, 1e-6": (2e-33, 4e-32, 3e-3, 4e-2, 8e-2),
    "finite differences, 1e-3": (8e-33, 7e-23, 4e-14, 1e-2, 5e-2),
    "0th-order Gaussian, 50 samples": (4e-23, 5e-20, 2e-13, 2e-3, 5e-3),
    "1st-order Gaussian, 20 samples": (4e-16, 1e-10, 4e-8, 3e-7, 2e-6),
    "1st-order Gumbel, depth 1": (6e-16, 3e-10, 1e-8, 7e-8, 2e-5),
}


def rough_ellipsoid(rng: np.random.Generator) -> Any:
    """A dozen points of an ellipsoid with radii of 0.3 to 1 m."""
    return hull(rng.uniform(0.3, 1.0, 3) * directions(rng, CORNERS))


def problems(count: int, targets: str, rng: np.random.Generator) -> list[ContactPose]:
    made = []
    while len(made) < count:
        first, second = rough_ellipsoid(rng), rough_ellipsoid(rng)
        for _ in range(min(TARGETS, count - len(made))):
            if targets == "corners":
                aims = [rng.choice(vertices(shape)) for shape in (first, second)]
            else:
                aims = [on_surface(shape, rng) for shape in (first, second)]
            start = pinocchio.SE3(rotations(rng, 1)[0], 2.5 * directions(rng, 1)[0])
            made.append(ContactPose(first, second, *aims, start))
    return made


def run(quick: bool, advance: Advance, count: int | None = None) -> dict[str, Any]:
    count = count or (QUICK_PROBLEMS if quick else PROBLEMS)
    rng = np.random.default_rng(17)
    # A tenth as many where the targets are anywhere: there is less to learn from them.
    asked = {"corners": problems(count, "corners", rng), "surface": problems(max(1, count // 10), "surface", rng)}
    total = sum(len(each) for each in asked.values())
    done, rows, mean_costs = 0, [], {}
    for targets, each in asked.items():
        ends: dict[str, list[float]] = {name: [] for name in METHODS}
        histories: dict[str, list[np.ndarray]] = {name: [] for name in METHODS}
        for problem in each:
            for name, options in METHODS.items():
                costs = problem.solve(**options)
                ends[name].append(costs[-1])
                padded = np.full(51, costs[-1])
                padded[: len(costs)] = costs
                histories[name].append(padded)
            done += 1
            if done % 20 == 0:
                advance(done, total, f"targets: {targets}")
        for name, found in ends.items():
            cuts = np.quantile(found, list(QUANTILES.values()))
            rows.append(
                {
                    "targets": targets,
                    "method": name,
                    "problems": len(found),
                    **dict(zip(QUANTILES, map(float, cuts), strict=True)),
                    "solved": float(np.mean(np.array(found) < 1e-6)),
                }
            )
            mean_costs[f"{targets}: {name}"] = np.median(histories[name], axis=0).tolist()
    return {"rows": rows, "median_cost": mean_costs}


def tables(results: dict[str, Any]) -> list[Any]:
    made = table(
        "Cost after 50 iterations of Gauss-Newton, m²",
        *("<targets", "<Jacobian", "problems", *QUANTILES, "below 1e-6"),
        caption="by percentile; the paper's in the row below. corners: both targets are corners of their meshes. "
        "surface: anywhere on them, which only a face that lies exactly on a face can reach",
    )
    for row in results["rows"]:
        made.add_row(
            row["targets"],
            row["method"],
            str(row["problems"]),
            *(f"{row[name]:.0e}" for name in QUANTILES),
            f"{100 * row['solved']:.1f} %",
        )
        if row["targets"] == "corners" and row["method"] in PUBLISHED:
            made.add_row("", "[dim]paper[/]", "", *(f"[dim]{value:.0e}[/]" for value in PUBLISHED[row["method"]]), "")
    return [made]


def plot(results: dict[str, Any], path: Path) -> None:
    with figure(path, columns=2) as (made, axes):
        for axis, targets in zip(axes, ("corners", "surface"), strict=True):
            for name in METHODS:
                costs = np.maximum(results["median_cost"][f"{targets}: {name}"], 1e-34)
                axis.semilogy(costs, label=name)
            axis.set_title(f"targets: {targets}")
            axis.set_xlabel("iteration of Gauss-Newton")
            axis.set_ylabel("median cost, m²")
        legend(made, *axes)
