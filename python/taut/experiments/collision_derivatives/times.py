"""[DCD, Table II]: what a derivative of collision costs beside the collision itself, and exact ones of every pair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import coal
import numpy as np

from ... import _taut, collision
from ...cli.terminal import table
from ..experiment import Advance, figure
from ..gjk.problems import Couple, matrix, mesh, robot_hulls

NAME = "times"
WHAT = "Microseconds of a derivative beside those of the collision, overlapping and apart."
PAPER = "[DCD] Table II"

PAIRS, POSES = 50, 40
QUICK_PAIRS, QUICK_POSES = 2, 3
PLACES = {"overlapping": (-0.02, -0.001), "apart": (0.001, 0.1)}

METHODS: dict[str, dict[str, Any]] = {
    "finite differences, 12 calls": {"method": "finite_differences"},
    "0th-order Gaussian, 20 samples": {"method": "gaussian_0", "samples": 20},
    "0th-order Gaussian, 50 samples": {"method": "gaussian_0", "samples": 50},
    "1st-order Gaussian, 10 samples": {"method": "gaussian", "samples": 10},
    "1st-order Gaussian, 20 samples": {"method": "gaussian", "samples": 20},
    "1st-order Gaussian, 50 samples": {"method": "gaussian", "samples": 50},
    "1st-order Gumbel, depth 1": {"method": "gumbel", "depth": 1},
    "1st-order Gumbel, depth 3": {"method": "gumbel", "depth": 3},
    "1st-order Gumbel, depth 5": {"method": "gumbel", "depth": 5},
    "exact": {"method": "exact"},
}
GUMBEL, DIFFERENCES = "1st-order Gumbel, depth 1", "finite differences, 12 calls"
# Table II: µs, mean and deviation, on YCB meshes: in collision, and not.
PUBLISHED = {
    "finite differences, 12 calls": ("78 ± 48", "11.0 ± 7.3"),
    "0th-order Gaussian, 20 samples": ("122 ± 130", "17 ± 10"),
    "0th-order Gaussian, 50 samples": ("338 ± 391", "47 ± 30"),
    "1st-order Gaussian, 10 samples": ("4.8 ± 1.4", "3.1 ± 0.3"),
    "1st-order Gaussian, 20 samples": ("8.9 ± 2.8", "5.8 ± 0.5"),
    "1st-order Gaussian, 50 samples": ("22 ± 8", "15 ± 3"),
    "1st-order Gumbel, depth 1": ("1.7 ± 0.5", "1.6 ± 0.5"),
    "1st-order Gumbel, depth 3": ("4.1 ± 1.8", "3.9 ± 1.4"),
    "1st-order Gumbel, depth 5": ("9.6 ± 7.8", "9.7 ± 8.1"),
}

SIMPLE = {
    "sphere": lambda: coal.Sphere(0.1),
    "ellipsoid": lambda: coal.Ellipsoid(0.08, 0.1, 0.15),
    "capsule": lambda: coal.Capsule(0.06, 0.2),
    "cylinder": lambda: coal.Cylinder(0.08, 0.2),
    "cone": lambda: coal.Cone(0.08, 0.2),
    "box": lambda: coal.Box(0.15, 0.2, 0.25),
    "plane": lambda: coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0),
}
COUPLES = (
    ("sphere", "sphere"),
    ("sphere", "plane"),
    ("capsule", "plane"),
    ("capsule", "capsule"),
    ("ellipsoid", "plane"),
    ("ellipsoid", "ellipsoid"),
    ("sphere", "box"),
    ("cylinder", "cone"),
    ("box", "box"),
)


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    rng = np.random.default_rng(19)
    pairs, poses = (QUICK_PAIRS, QUICK_POSES) if quick else (PAIRS, POSES)
    shapes = [mesh(rng, int(n)) for n in np.geomspace(50, 4000, 4 if quick else 20)]
    shapes += robot_hulls(2 if quick else 20, rng)
    total = pairs + len(COUPLES)
    times: dict[tuple[str, str], list[np.ndarray]] = {}
    differ: dict[tuple[str, str], list[float]] = {}
    for done in range(pairs):
        advance(done, total, "meshes")
        first, second = (shapes[i] for i in rng.integers(len(shapes), size=2))
        couple = Couple.random(first, second, poses, rng)
        for place, span in PLACES.items():
            where = couple.at(rng.uniform(*span, poses))
            second_poses = [matrix(R, t) for R, t in zip(couple.rotation, where, strict=True)]
            _measure(first, second, second_poses, place, times, differ)
    meshes = []
    for place in PLACES:
        for name in ("collision", *METHODS):
            micros = np.concatenate(times[place, name])
            row = {"place": place, "method": name, "problems": len(micros), "us": float(micros.mean())}
            row |= {"us_std": float(micros.std()), "us_median": float(np.median(micros))}
            if name in METHODS:
                row["differs"] = float(np.median(differ[place, name]))
            meshes.append(row)
    simple = []
    for done, (one, two) in enumerate(COUPLES):
        advance(pairs + done, total, f"{one} and {two}")
        simple.append(_simple(one, two, 10 if quick else 200, rng))
    return {"meshes": meshes, "simple": simple, "pairs": pairs, "poses": poses}


def _measure(first, second, poses, place, times, differ) -> None:
    still = [np.eye(4)] * len(poses)
    exact = [collision.derivatives(first, np.eye(4), second, pose, method="exact").point_1 for pose in poses]
    for name, options in METHODS.items():
        of_distance, of_derivatives = _taut.collision_seconds(first, second, still, poses, 3, **options)
        times.setdefault((place, name), []).append(1e6 * of_derivatives)
        if name == GUMBEL:
            times.setdefault((place, "collision"), []).append(1e6 * of_distance)
        for pose, known in zip(poses, exact, strict=True):
            found = collision.derivatives(first, np.eye(4), second, pose, **options).point_1
            differ.setdefault((place, name), []).append(
                float(np.linalg.norm(found - known) / (1.0 + np.linalg.norm(known)))
            )


def _simple(one: str, two: str, count: int, rng: np.random.Generator) -> dict[str, Any]:
    first, second = SIMPLE[one](), SIMPLE[two]()
    still = [np.eye(4)] * count
    poses = []
    for _ in range(count):
        M = np.eye(4)
        q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        M[:3, :3] = q * np.sign(np.linalg.det(q))
        M[:3, 3] = rng.normal(size=3)
        M[:3, 3] *= rng.uniform(0.05, 0.5) / np.linalg.norm(M[:3, 3])
        poses.append(M)
    if two == "plane":
        poses, still = still, poses  # the body moves, the ground stays
    of_distance, of_derivatives = _taut.collision_seconds(first, second, still, poses, 5, method="exact")
    worst = 0.0
    for M1, M2 in zip(still, poses, strict=True):
        exact = collision.derivatives(first, M1, second, M2, method="exact")
        differences = collision.derivatives(first, M1, second, M2, method="finite_differences")
        wider = collision.derivatives(first, M1, second, M2, method="finite_differences", step=1e-5)
        size = 1.0 + np.linalg.norm(exact.point_1) + np.linalg.norm(exact.normal)
        bend = np.linalg.norm(wider.normal - differences.normal) + np.linalg.norm(wider.point_1 - differences.point_1)
        if bend > 1e-4 * size or not exact.unique:
            continue  # a change of features, or a place so curved that a step of 1e-5 is long
        error = max(
            np.linalg.norm(getattr(exact, x) - getattr(differences, x)) for x in ("normal", "point_1", "point_2")
        )
        worst = max(worst, float(error / size))
    return {
        "pair": f"{one} and {two}",
        "collision_us": float(1e6 * np.median(of_distance)),
        "us": float(1e6 * np.median(of_derivatives)),
        "worst": worst,
    }


def tables(results: dict[str, Any]) -> list[Any]:
    rows = {(row["place"], row["method"]): row for row in results["meshes"]}
    made = table(
        f"µs of a derivative on meshes of 50 to 4000 vertices, {results['pairs']} pairs, {results['poses']} poses each",
        *("<method", "overlapping", "apart", "paper, overlapping", "paper, apart", "differs\nfrom exact"),
        caption="mean ± deviation; overlapping: 1 to 20 mm, apart: 1 to 100 mm; the paper's on YCB meshes and its "
        "machine. differs: median of the relative difference of dx_1/dq, overlapping; estimators are meant to differ",
    )
    for name in ("collision", *METHODS):
        ours = [rows[place, name] for place in PLACES]
        made.add_row(
            "the collision itself" if name == "collision" else name,
            *(f"{row['us']:.2f} ± {row['us_std']:.2f}" for row in ours),
            *PUBLISHED.get(name, ("", "")),
            f"{ours[0]['differs']:.0e}" if "differs" in ours[0] else "",
        )
    ratios = table("Gumbel's, depth 1", "<", *PLACES)
    for what, over in (("times the collision", "collision"), ("times faster than finite differences", DIFFERENCES)):
        cells = []
        for place in PLACES:
            ratio = rows[place, GUMBEL]["us"] / rows[place, over]["us"]
            cells.append(f"{ratio if over == 'collision' else 1 / ratio:.2g}")
        ratios.add_row(what, *cells)
    simple = table(
        "Exact derivatives",
        *("<pair", "collision, µs", "derivatives, µs", "worst error"),
        caption="medians; error: relative, against central differences, away from changes of features",
    )
    for row in results["simple"]:
        simple.add_row(row["pair"], f"{row['collision_us']:.2f}", f"{row['us']:.2f}", f"{row['worst']:.0e}")
    return [made, ratios, simple]


def plot(results: dict[str, Any], path: Path) -> None:
    rows = {(row["place"], row["method"]): row for row in results["meshes"]}
    names = ("collision", *METHODS)
    with figure(path, size=(8, 4.5)) as (_, (axis,)):
        at = np.arange(len(names))
        for k, place in enumerate(PLACES):
            axis.barh(at + 0.4 * k - 0.2, [rows[place, name]["us"] for name in names], 0.4, label=place)
        axis.set_yticks(at, ["the collision itself", *METHODS])
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.set_xlabel("µs, mean")
        axis.legend()
