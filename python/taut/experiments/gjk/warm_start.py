"""[GJK, Sec. IV-D, Fig. 12]: where to start when poses follow each other, on trajectories that taut simulates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coal
import numpy as np

from ... import _taut
from ..._taut import Scene, Simulator
from ...cli.terminal import table
from ..experiment import Advance, figure
from .problems import (
    BEYOND,
    BOOLEAN,
    COLOURS,
    DISTANCE,
    METHODS,
    PLANE,
    TOLERANCE,
    Couple,
    Tally,
    mesh,
    robot_hulls,
)

NAME = "warm_start"
WHAT = "Where GJK starts over a trajectory: nowhere, from the boxes, from the last answer, turned, carried along."
PAPER = "[GJK] Fig. 12"

# The paper's previous is the separation vector; taut's simulator keeps its direction, of length one.
STARTS = {
    "none": {"start": "none"},
    "boxes": {"start": "boxes"},
    "previous": {"start": "previous"},
    "previous, unit": {"start": "previous", "unit": True},
    "turned, unit": {"start": "turned", "unit": True},
    "transported": {"start": "transported"},
}
SHOWN = ("vanilla", "polyak", "nesterov")
DT, SECONDS = 1 / 120, 1.0
PAIRS, QUICK_PAIRS = 300, 5
# Read off the text of Sec. IV-D: medians in µs, boolean, on an Apple M1 Max.
PUBLISHED = {
    ("vanilla", "previous"): "above 1, its best",
    ("nesterov", "boxes"): "close to 0.5",
    ("nesterov", "previous"): "close to 0.5",
}


def funnel() -> Scene:
    """Four planes that lean outward, over a floor."""
    scene = Scene()
    scene.add_shape("floor", coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0), friction=0.5)
    for k, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        normal = np.array([-x, -y, 1.0]) / np.sqrt(2)
        scene.add_shape(f"wall_{k}", coal.Halfspace(normal, -0.1), friction=0.5)
    return scene


def drop(first: Any, second: Any, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Relative poses (rotation, translation) of the second in the first, 120 a second, for a second."""
    scene = funnel()
    reach = [float(np.linalg.norm(shape.aabb_local.max_ - shape.aabb_local.min_)) / 2 for shape in (first, second)]
    height = 0.3 + reach[0]
    for k, shape in enumerate((first, second)):
        q = rng.normal(size=4)
        side = 0.05 * rng.normal(size=2)
        scene.add_body(f"body_{k}", shape, 1.0, [*side, height], q / np.linalg.norm(q), friction=0.5)
        height += reach[0] + reach[1]
    v = np.concatenate([np.concatenate([0.5 * rng.normal(size=3), 3.0 * rng.normal(size=3)]) for _ in range(2)])
    path = Simulator(scene, dt=DT).rollout(scene.q0, v, steps=round(SECONDS / DT))
    for q in path.q:
        (R1, t1), (R2, t2) = (_placement(q[7 * k : 7 * k + 7]) for k in range(2))
        yield R1.T @ R2, R1.T @ (t2 - t1)


def _placement(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, y, z, w = q[3:]
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    return R, q[:3]


def boxes_touch(first: Any, second: Any, rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    """The broad phase of the paper: whether the bounding boxes, each in its shape's frame, overlap."""
    sides = [shape.aabb_local.max_ - shape.aabb_local.min_ for shape in (first, second)]
    centers = [(shape.aabb_local.max_ + shape.aabb_local.min_) / 2 for shape in (first, second)]
    where = translation + rotation @ centers[1] - centers[0]
    boxes = [coal.Box(*side) for side in sides]
    runs = _taut.time_gjk(*boxes, rotation.reshape(-1, 9), where, beyond=0.0, samples=1, calls=1)
    return np.array(runs.touching)


def trajectory(first: Any, second: Any, rng: np.random.Generator) -> tuple[Couple, np.ndarray, np.ndarray]:
    """Shapes and rotations, translations, whether the pose before was culled: of poses the broad phase lets through."""
    rotation, translation = (np.array(part) for part in zip(*drop(first, second, rng), strict=True))
    kept = boxes_touch(first, second, rotation, translation)
    fresh = np.concatenate([[True], ~kept[:-1]])
    couple = Couple(first, second, rotation[kept], translation[kept], np.zeros((kept.sum(), 3)))
    return couple, translation[kept], fresh[kept]


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    rng = np.random.default_rng(17)
    pairs = QUICK_PAIRS if quick else PAIRS
    shapes = [mesh(rng, int(n), 0.05, 0.15) for n in np.geomspace(100, 4000, 4 if quick else 20)]
    shapes += robot_hulls(2 if quick else 20, rng)
    tallies = {(m, s, kind): Tally() for m in SHOWN for s in STARTS for kind in (BOOLEAN, DISTANCE)}
    signed: list[np.ndarray] = []
    repeat = {"samples": 3, "calls": 2} if quick else {"samples": 10, "calls": 3}
    for pair in range(pairs):
        advance(pair, pairs, f"trajectory {pair}")
        first, second = (shapes[i] for i in rng.choice(len(shapes), 2))
        couple, where, fresh = trajectory(first, second, rng)
        if not len(where):
            continue
        expected = couple.overlaps(where)
        signed.append(expected)
        for (method, start, kind), tally in tallies.items():
            options = {**METHODS[method], "beyond": BEYOND[kind], **STARTS[start], "fresh": fresh}
            tally.add(couple.ask(where, **options, **repeat), expected, kind == BOOLEAN)
    distances = np.concatenate(signed)
    return {
        "pairs": pairs,
        "problems": len(distances),
        "overlapping": float(np.mean(distances < 0)),
        "median_distance": float(np.median(distances)),
        "robots": bool(len(shapes) > 20 or (quick and len(shapes) > 4)),
        "rows": [
            {"method": m, "start": s, "question": kind, **tally.summary()} for (m, s, kind), tally in tallies.items()
        ],
    }


def tables(results: dict[str, Any]) -> list[Any]:
    made = []
    for kind in (BOOLEAN, DISTANCE):
        judged = "wrong answers" if kind == BOOLEAN else "worst error, m"
        one = table(
            f"{kind.capitalize()}: {results['problems']} problems of {results['pairs']} trajectories",
            *("<variant", "<start", "iterations", "µs, median", "quartiles", "mean", judged),
            *(("<paper, M1, median µs",) if kind == BOOLEAN else ()),
            caption=f"two meshes dropped into a funnel, 1 s at 120 Hz, poses whose bounding boxes overlap: "
            f"{100 * results['overlapping']:.0f} % overlap; duality gap {TOLERANCE:g}; answers within {PLANE:g} m of "
            "touching are not judged",
        )
        for row in results["rows"]:
            if row["question"] != kind:
                continue
            low, high = row["us_quartiles"]
            paper = PUBLISHED.get((row["method"], row["start"]), "")
            one.add_row(
                row["method"] if row["start"] == "none" else "",
                row["start"],
                f"{row['iterations']:.2f}",
                f"{row['us_median']:.2f}",
                f"{low:.2f}-{high:.2f}",
                f"{row['us']:.2f}",
                str(row["wrong"]) if kind == BOOLEAN else f"{row['error']:.0e}",
                *((paper,) if kind == BOOLEAN else ()),
            )
        made.append(one)
    return made


def plot(results: dict[str, Any], path: Path) -> None:
    place = np.arange(len(STARTS))
    with figure(path, columns=2) as (_, axes):
        for ax, kind in zip(axes, (BOOLEAN, DISTANCE), strict=True):
            for k, method in enumerate(SHOWN):
                rows = [row for row in results["rows"] if row["method"] == method and row["question"] == kind]
                median = np.array([row["us_median"] for row in rows])
                low, high = np.array([row["us_quartiles"] for row in rows]).T
                spread = np.array([median - low, high - median])
                ax.bar(
                    place + 0.27 * (k - 1), median, 0.25, yerr=spread, color=COLOURS[method], label=method, capsize=2
                )
            ax.set(title=kind, ylabel="µs, median and quartiles")
            ax.set_xticks(place, list(STARTS), rotation=25)
        axes[0].legend()
