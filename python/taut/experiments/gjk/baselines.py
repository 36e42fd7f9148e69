"""[GJK, Tables II and III]: what a simplex is worth. Frank-Wolfe without it, and a quadratic program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import coal
import numpy as np

from ... import _taut
from ...cli.terminal import table
from ..experiment import Advance, figure
from .problems import METHODS, TOLERANCE, Couple, Tally, directions, ellipsoid, hull, plus_minus

NAME = "baselines"
WHAT = "GJK beside Frank-Wolfe (ellipsoids, cubes) and ProxQP (polytopes of 8 to 940 vertices)."
PAPER = "[GJK] Tables II, III"

SEPARATIONS = {"overlapping": (-0.05, -0.001), "close": (0.0, 0.1), "distant": (1.0, 1.0)}
PAIRS, QUICK_PAIRS = 1000, 12
LIMIT = 100_000  # iterations of Frank-Wolfe
# Table III: iterations, mean and deviation; FW, GJK, Nesterov's. Nesmino, which projects onto the shapes, is not here.
PUBLISHED_ITERATIONS = {
    ("ellipsoids", "overlapping"): ("73 ± 62", "6 ± 2", "6 ± 3"),
    ("ellipsoids", "close"): ("48 ± 42", "16 ± 5", "7 ± 2"),
    ("ellipsoids", "distant"): ("4 ± 1", "4 ± 1", "13 ± 4"),
    ("cubes", "overlapping"): ("5.4k ± 4.8k", "6 ± 1", "5 ± 1"),
    ("cubes", "close"): ("14.3k ± 9.7k", "5 ± 1", "4 ± 1"),
    ("cubes", "distant"): ("13.1k ± 13.5k", "4 ± 1", "3 ± 1"),
}
VERTICES = (8, 250, 940)
QP_PROBLEMS, QUICK_QP_PROBLEMS = 50, 3
# Table II: µs on an Apple M1 Max; ProxQP, GJK, Nesterov's, Polyak's.
PUBLISHED_TIMES = {8: (5.3, 0.2, 0.2, 0.2), 250: (2e3, 0.8, 0.7, 0.6), 940: (20e3, 2.1, 1.4, 1.4)}


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    rng = np.random.default_rng(13)
    total = len(PUBLISHED_ITERATIONS) + len(VERTICES)
    simplex = []
    for done, (shapes, place) in enumerate(PUBLISHED_ITERATIONS):
        advance(done, total, f"{shapes}, {place}")
        simplex += _frank_wolfe(shapes, place, QUICK_PAIRS if quick else PAIRS, rng)
    programs = []
    for done, vertices in enumerate(VERTICES):
        advance(len(PUBLISHED_ITERATIONS) + done, total, f"{vertices} vertices")
        programs.append(_programs(vertices, QUICK_QP_PROBLEMS if quick else QP_PROBLEMS, rng))
    return {"pairs": QUICK_PAIRS if quick else PAIRS, "simplex": simplex, "programs": programs}


def _shape(shapes: str, rng: np.random.Generator) -> Any:
    if shapes == "ellipsoids":
        return ellipsoid(rng)
    side = rng.uniform(0.12, 0.6)
    return coal.Box(side, side, side)


def _frank_wolfe(shapes: str, place: str, pairs: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    # Coal decides whether to normalize: for cubes, not for ellipsoids.
    methods = {"vanilla": METHODS["vanilla"], "polyak": METHODS["polyak"], "nesterov": {"variant": "nesterov"}}
    tallies = {name: Tally() for name in ("frank_wolfe", *methods)}
    for _ in range(pairs):
        couple = Couple.random(_shape(shapes, rng), _shape(shapes, rng), 1, rng)
        separation = rng.uniform(*SEPARATIONS[place], 1)
        where = couple.at(separation)
        expected = couple.overlaps(where) if place == "overlapping" else separation
        rotation = couple.rotation.reshape(-1, 9)
        runs = _taut.time_frank_wolfe(
            couple.first, couple.second, rotation, where, tolerance=TOLERANCE, max_iterations=LIMIT, samples=1
        )
        tallies["frank_wolfe"].add(runs, expected, boolean=False)
        for name, options in methods.items():
            tallies[name].add(couple.ask(where, **options), expected, boolean=False)
    return [{"shapes": shapes, "place": place, "method": name, **tally.summary()} for name, tally in tallies.items()]


def planes(shape: Any) -> tuple[np.ndarray, np.ndarray]:
    """{x : A x ≤ b}: one row for each plane of the hull."""
    points = np.array([shape.point(i) for i in range(shape.num_points)])
    inside = points.mean(axis=0)
    found = {}
    for i in range(shape.num_polygons):
        triangle = shape.polygons(i)
        a, b, c = (points[triangle[k]] for k in range(3))
        n = np.cross(b - a, c - a)
        n /= np.linalg.norm(n)
        if n @ (a - inside) < 0:
            n = -n
        found[(*np.round(n, 9), np.round(n @ a, 9))] = (n, n @ a)
    A, b = zip(*found.values(), strict=True)
    return np.array(A), np.array(b)


def polytope(vertices: int, rng: np.random.Generator) -> Any:
    if vertices == 8:
        return hull(0.1 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float))
    return hull(np.array([0.1, 0.15, 0.2]) * directions(rng, vertices))


def _programs(vertices: int, problems: int, rng: np.random.Generator) -> dict[str, Any]:
    """Pairs of one shape with itself, close, as in the paper."""
    shape = polytope(vertices, rng)
    couple = Couple.random(shape, shape, problems, rng)
    separation = rng.uniform(0.001, 0.1, problems)
    where = couple.at(separation)
    tallies = {name: Tally() for name in ("vanilla", "nesterov", "polyak")}
    for name, tally in tallies.items():
        tally.add(couple.ask(where, **METHODS[name]), separation, boolean=False)
    A, b = planes(shape)
    answers = {name: tally.summary() for name, tally in tallies.items()}
    return {"vertices": vertices, "faces": len(b), **answers, "proxqp": _proxqp(A, b, couple, where, separation)}


def _proxqp(A: np.ndarray, b: np.ndarray, couple: Couple, where: np.ndarray, separation: np.ndarray) -> Any:
    """min |x_1 − x_2|² over A x_1 ≤ b, A Rᵀ (x_2 − t) ≤ b [GJK, eq. (2)]; None without the package."""
    try:
        import proxsuite
    except ImportError:
        return None
    eye = np.eye(3)
    H = 2 * np.block([[eye, -eye], [-eye, eye]])
    nothing = np.zeros_like(A)
    micros, setup, errors, iterations = [], [], [], []
    for rotation, translation, expected in zip(couple.rotation, where, separation, strict=True):
        turned = A @ rotation.T
        C = np.block([[A, nothing], [nothing, turned]])
        u = np.concatenate([b, b + turned @ translation])
        runs = []
        for _ in range(3):  # the first one warms the caches
            qp = proxsuite.proxqp.dense.QP(6, 0, len(u))
            qp.settings.eps_abs = 1e-8
            qp.settings.compute_timings = True
            qp.init(H, np.zeros(6), None, None, C, np.full(len(u), -1e20), u)
            qp.solve()
            runs.append((qp.results.info.solve_time, qp.results.info.setup_time))  # by its own clock, in µs
        micros.append(min(run[0] for run in runs))
        setup.append(min(run[1] for run in runs))
        iterations.append(qp.results.info.iter)
        x = qp.results.x
        if qp.results.info.status == proxsuite.proxqp.QPSolverOutput.PROXQP_SOLVED:
            errors.append(abs(np.linalg.norm(x[:3] - x[3:]) - expected))
    return {
        "us": float(np.mean(micros)),
        "us_std": float(np.std(micros)),
        "setup_us": float(np.mean(setup)),
        "iterations": float(np.mean(iterations)),
        "error": float(np.max(errors)),
        "unsolved": len(micros) - len(errors),
    }


def tables(results: dict[str, Any]) -> list[Any]:
    return [_simplex(results), _quadratic(results)]


def _count(mean: float, std: float) -> str:
    return f"{mean / 1e3:.1f}k ± {std / 1e3:.1f}k" if mean >= 1e3 else f"{mean:.0f} ± {std:.0f}"


def _simplex(results: dict[str, Any]):
    made = table(
        f"Iterations to a duality gap of 1e-8, {results['pairs']} pairs",
        *("<shapes", "<place", "<", "Frank-Wolfe", "GJK", "Polyak", "Nesterov"),
        caption="iterations: mean ± deviation, the paper's in the row below; µs: mean; error: worst, m; limit: not "
        f"converged in {LIMIT} iterations. Overlapping: 1 to 50 mm, close: 0 to 0.1 m, distant: 1 m",
    )
    for (shapes, place), theirs in PUBLISHED_ITERATIONS.items():
        rows = {row["method"]: row for row in results["simplex"] if row["shapes"] == shapes and row["place"] == place}
        ordered = [rows[name] for name in ("frank_wolfe", "vanilla", "polyak", "nesterov")]
        made.add_row(
            shapes, place, "iterations", *(_count(row["iterations"], row["iterations_std"]) for row in ordered)
        )
        made.add_row("", "", "paper", theirs[0], theirs[1], "–", theirs[2])
        made.add_row("", "", "µs", *(f"{row['us']:.3g}" for row in ordered))
        made.add_row("", "", "error", *(f"{row['error']:.0e}" for row in ordered))
        if any(row["limited"] for row in ordered):
            made.add_row("", "", "limit", *(str(row["limited"]) for row in ordered))
    return made


def _quadratic(results: dict[str, Any]):
    made = table(
        "A quadratic program instead: µs, mean ± deviation",
        *(
            "<vertices",
            "faces",
            "ProxQP",
            "GJK",
            "Nesterov",
            "Polyak",
            "worst error, m\nProxQP",
            "not\nsolved",
            "GJK's",
        ),
        "paper, M1\nµs",
        caption="1 mm to 0.1 m apart; ProxQP: solving alone, by its own clock, eps_abs 1e-8; not solved: it calls "
        "the problem infeasible; paper: ProxQP, GJK, Nesterov, Polyak",
    )
    for row in results["programs"]:
        program = row["proxqp"]
        ours = [row[name] for name in ("vanilla", "nesterov", "polyak")]
        made.add_row(
            str(row["vertices"]),
            str(row["faces"]),
            plus_minus(program["us"], program["us_std"], 0) if program else "pip install proxsuite",
            *(plus_minus(one["us"], one["us_std"], 2) for one in ours),
            f"{program['error']:.0e}" if program else "–",
            str(program["unsolved"]) if program else "–",
            f"{max(one['error'] for one in ours):.0e}",
            " ".join(f"{value:g}" for value in PUBLISHED_TIMES[row["vertices"]]),
        )
    return made


def plot(results: dict[str, Any], path: Path) -> None:
    looks = {"frank_wolfe": "tab:red", "vanilla": "tab:blue", "polyak": "tab:orange", "nesterov": "tab:green"}
    with figure(path, columns=2) as (_, (left, right)):
        groups = list(PUBLISHED_ITERATIONS)
        place = np.arange(len(groups))
        for k, (method, colour) in enumerate(looks.items()):
            mean = [
                next(
                    row["iterations"]
                    for row in results["simplex"]
                    if (row["shapes"], row["place"]) == group and row["method"] == method
                )
                for group in groups
            ]
            left.bar(place + 0.2 * (k - 1.5), mean, 0.19, color=colour, label=method.replace("_", "-"))
        left.set(yscale="log", ylabel="iterations, mean")
        left.set_xticks(place, [f"{shapes},\n{where}" for shapes, where in groups], rotation=40, ha="right")
        left.legend()
        vertices = [row["vertices"] for row in results["programs"]]
        for method in ("vanilla", "polyak", "nesterov", "proxqp"):
            times = [row[method]["us"] if row[method] else np.nan for row in results["programs"]]
            right.plot(vertices, times, "o-", color=looks.get(method, "tab:red"), label=method, markersize=3)
        right.set(xscale="log", yscale="log", xlabel="vertices", ylabel="µs, mean")
        right.legend()
