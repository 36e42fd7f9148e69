"""The four tasks of [RS, Sec. V]: ANYmal trots, hangs from its feet, is dropped, and flails.

Steps of 1 ms. Time is that inside the step, without Python and the controller. Where [RS] leaves something open
(friction, gait, gains, how often references change, when a drop is over), the value is here and on the page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from .. import _taut
from .._taut import Scene, Simulator, Step
from ..cli.terminal import length, number, table
from . import quadruped
from .experiment import Advance, figure

NAME = "raisim_tasks"
WHAT = "ANYmal trots, hangs, is dropped and flails: time, iterations, penetration of per-contact bisection and PGS."
PAPER = "[RS] Table II, Fig. 4-7"

DT = 1e-3
STEPS = 100_000
TOLERANCE = 1e-6  # [RS] stops at 1 µN s or µm/s, a sum in its own measures; ours is the judge's worst, in m/s
HEIGHT = 1.0  # m, of the base at the start of all tasks but the trot
STILL = 0.05  # m/s and rad/s: below it a drop is over
LONGEST_DROP = 5.0  # s; unactuated joints without friction swing on for long
EPISODE = 5.0  # s, of flailing [RS]
REFERENCE_PERIOD = 0.02  # s between new references when flailing
FLAIL_KP, FLAIL_KD = 50.0, 1.0  # N m/rad, N m s/rad
HEIGHT_PERIOD = 100  # steps between two measures of the feet's heights
DIFFERENCE_PERIOD = 20  # steps between two problems solved by the other model, too
REST = "all but the solver"

# Two questions of ours about what [RS] reports, asked apart from its tables.
RELAXATIONS = (1.0, 0.8, 0.6, 0.4)  # of PGS, on the problems of a trot
DRIFT_SECONDS = 40.0  # of hanging
DRIFT_SEEDS = 3  # the motion is chaotic: one run says little
DRIFTS = (  # (solver, tolerance in m/s, step in s)
    ("auto", 1e-6, 2e-3),
    ("auto", 1e-6, 1e-3),
    ("auto", 1e-6, 5e-4),
    ("auto", 1e-8, 1e-3),
    ("auto", 1e-4, 1e-3),
    ("pgs", 1e-8, 1e-3),
    ("pgs", 1e-6, 1e-3),
    ("pgs", 1e-4, 1e-3),
    ("raisim", 1e-6, 1e-3),
)


@dataclass(frozen=True)
class Contender:
    name: str
    solver: str
    tolerance: float = TOLERANCE
    options: dict[str, float] = field(default_factory=dict)
    hang_only: bool = False


# [RS] runs bisection with a relaxation that decays from 1 to 0.7, which is our default too, and PGS with 0.6.
CONTENDERS = (
    Contender("raisim", "raisim"),
    Contender("pgs 0.6", "pgs", options={"relaxation": 0.6}),
    Contender("pgs", "pgs"),
    Contender("pgs 1e-8", "pgs", tolerance=1e-8, hang_only=True),
    Contender("auto", "auto"),
)


@dataclass(frozen=True)
class Task:
    """`start` makes (q, v), `reference` the joint angles of a step or None, `over` says when to start again."""

    torso: bool
    start: Callable[[Scene, np.random.Generator], tuple[np.ndarray, np.ndarray]]
    reference: Callable[[Scene], Callable[[int, np.random.Generator], np.ndarray | None]]
    gains: tuple[float, float]
    over: Callable[[int, Step], bool]
    length: int = 1  # in units of STEPS


def _standing(scene: Scene, _: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return np.array(scene.q0), np.zeros(scene.model.nv)


def _in_the_air(scene: Scene, rng: np.random.Generator, tilt: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
    q, v = _standing(scene, rng)
    q[2] = HEIGHT
    turn = np.zeros(scene.model.nv)
    turn[3:6] = tilt * rng.normal(size=3)
    q = pinocchio.integrate(scene.model, q, turn)
    heading = rng.uniform(0, 2 * np.pi)
    in_world = speed * np.array([np.cos(heading), np.sin(heading), 0.0])
    v[:3] = pinocchio.Quaternion(q[3:7]).toRotationMatrix().T @ in_world
    return q, v


def _unactuated(_: Scene) -> Callable[[int, np.random.Generator], None]:
    return lambda k, rng: None


def _trotting(scene: Scene) -> Callable[[int, np.random.Generator], np.ndarray]:
    gait = quadruped.trot(scene, quadruped.SPEED, round(quadruped.PERIOD / DT))
    return lambda k, rng: gait[k % len(gait)]


def _flailing(scene: Scene) -> Callable[[int, np.random.Generator], np.ndarray | None]:
    every = round(REFERENCE_PERIOD / DT)

    def reference(k: int, rng: np.random.Generator) -> np.ndarray | None:
        if k % every:
            return None
        q = np.array(scene.q0)
        q[7:] += rng.normal(size=len(q) - 7)  # 1 rad² of variance [RS]
        return q

    return reference


TASKS = {
    "trot": Task(True, _standing, _trotting, (quadruped.KP, quadruped.KD), lambda k, step: False),
    "hang": Task(
        torso=False,
        start=lambda scene, rng: _in_the_air(scene, rng, tilt=0.1, speed=0.0),
        reference=_unactuated,
        gains=(0.0, 0.0),
        over=lambda k, step: False,
        length=2,  # the 200 s of [RS, Fig. 7]
    ),
    "drop": Task(
        torso=True,
        start=lambda scene, rng: _in_the_air(scene, rng, tilt=0.5, speed=1.0),
        reference=_unactuated,
        gains=(0.0, 0.0),
        over=lambda k, step: k * DT > 0.5 and (bool(np.abs(step.v).max() < STILL) or k * DT > LONGEST_DROP),
    ),
    "random": Task(
        torso=True,
        start=lambda scene, rng: _in_the_air(scene, rng, tilt=0.5, speed=0.0),
        reference=_flailing,
        gains=(FLAIL_KP, FLAIL_KD),
        over=lambda k, step: k * DT >= EPISODE,
    ),
}


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    known = _taut.solvers()
    runs = [
        (task, contender)
        for task in TASKS
        for contender in CONTENDERS
        if contender.solver in known and (task == "hang" or not contender.hang_only)
    ]
    steps = STEPS // 50 if quick else STEPS
    results = []
    for done, (task, contender) in enumerate(runs):
        advance(done, len(runs), f"{task}, {contender.name}")
        results.append({"task": task, "contender": contender.name, **_performed(TASKS[task], contender, steps)})
    differences = {}
    if "raisim" in known:
        advance(len(runs) - 1, len(runs), "the models' difference")
        differences = {task: _differences(TASKS[task], steps) for task in TASKS}
    advance(len(runs) - 1, len(runs), "relaxation of PGS")
    relaxations = _relaxations(steps // 10)
    advance(len(runs) - 1, len(runs), "drift against step and tolerance")
    seconds = DRIFT_SECONDS / 20 if quick else DRIFT_SECONDS
    drifts = [_drift(*settings, seconds) for settings in DRIFTS if settings[0] in known]
    return {
        "tolerance": TOLERANCE,
        "steps": steps,
        "runs": results,
        "differences": differences,
        "relaxations": relaxations,
        "drifts": drifts,
        "drift_seconds": seconds,
    }


def _steps(task: Task, contender: Contender, count: int, profile: bool = True, dt: float = DT, seed: int = 0):
    """(simulator, step, resets so far) of each step, every contender with the same starts and references."""
    scene = quadruped.anymal(torso=task.torso)
    sim = Simulator(
        scene,
        dt=dt,
        solver=contender.solver,
        tolerance=contender.tolerance,
        correction=0.0,  # drift is one of the things to be seen
        joint_limits=False,
        joint_friction=False,
        profile=profile,
        **contender.options,
    )
    rng = np.random.default_rng(seed)
    reference = task.reference(scene)
    gains = [np.full(scene.model.nv, gain) for gain in task.gains]
    (q, v), resets, since = task.start(scene, rng), 0, 0
    for _ in range(count):
        target = reference(since, rng)
        if target is not None:
            sim.hold(target, *gains)
        step = sim.step(q, v)
        yield sim, step, resets
        q, v, since = step.q, step.v, since + 1
        if task.over(since, step) or step.report.status == "not_finite":
            (q, v), resets, since = task.start(scene, rng), resets + 1, 0
            sim.reset()


def _performed(task: Task, contender: Contender, steps: int) -> dict[str, Any]:
    count = steps * task.length
    seconds, iterations, contacts = np.zeros(5), np.zeros(count, int), np.zeros(count, int)
    missed, lost, heights, starts = 0, 0, [], set()
    data = None
    for k, (sim, step, resets) in enumerate(_steps(task, contender, count)):
        starts.add(resets)
        seconds += sim.seconds
        iterations[k], contacts[k] = step.report.iterations, len(step.contacts)
        missed += step.report.status != "converged"
        lost += step.report.status == "not_finite"
        if k % HEIGHT_PERIOD == 0:
            data = data or sim.scene.model.createData()
            heights.append(quadruped.foot_heights(sim.scene, data, step.q))
    per_table = STEPS / count  # [RS, Table II] is for 100,000 steps
    depth = np.minimum(0.0, np.array(heights)).mean(axis=1)  # [RS, Fig. 7]: the average over the feet
    touching = iterations[contacts > 0]
    return {
        "seconds": float(seconds.sum() * per_table),
        "solver_seconds": float(seconds[3] * per_table),
        "iterations_mean": float(touching.mean()) if len(touching) else 0.0,
        "iterations_max": int(iterations.max()),
        "iterations_histogram": _powers_of_two(touching),
        "contacts_mean": float(contacts.mean()),
        "contacts_max": int(contacts.max()),
        "not_converged": missed,
        "not_finite": lost,
        "steps": count,
        "resets": len(starts) - 1,
        "depth": depth.tolist(),
        "depth_times": (HEIGHT_PERIOD * DT * np.arange(len(depth))).tolist(),
    }


def _powers_of_two(iterations: np.ndarray) -> list[float]:
    """Share of the steps with contacts that took 0, 1, 2-3, 4-7, … iterations."""
    if not len(iterations):
        return []
    bins = np.where(iterations > 0, np.floor(np.log2(np.maximum(iterations, 1))).astype(int) + 1, 0)
    return (np.bincount(bins) / len(iterations)).tolist()


def _differences(task: Task, steps: int) -> list[float]:
    """How far RaiSim's impulses are from those of Coulomb's law, in the problems of a run of RaiSim's.

    In the norm of G, that is in the velocity the impulses cause measured by kinetic energy: with eight contacts on 18
    degrees of freedom the impulses themselves are not unique. [RS, Fig. 6] takes their plain norm.
    """
    found = []
    for k, (sim, step, _) in enumerate(_steps(task, CONTENDERS[0], steps, profile=False)):
        if k % DIFFERENCE_PERIOD or not step.contacts:
            continue
        problem = sim.problem()
        exact = _taut.solve(problem, solver="auto", tolerance=1e-10).impulse
        size = exact @ problem.G @ exact
        if size > 0:
            off = sim.impulse - exact
            found.append(float(np.sqrt(max(off @ problem.G @ off, 0.0) / size)))
    return found


def _relaxations(steps: int) -> list[dict[str, Any]]:
    """PGS from zero on the problems of a trot that `auto` runs, at several relaxations."""
    runner = Contender("auto", "auto")
    trotting = _steps(TASKS["trot"], runner, steps, profile=False)
    problems = [sim.problem() for sim, step, _ in trotting if step.contacts]
    found = []
    for relaxation in RELAXATIONS:
        reports = [_taut.solve(p, solver="pgs", tolerance=TOLERANCE, relaxation=relaxation).report for p in problems]
        solved = [report.iterations for report in reports if report.status == "converged"]
        found.append(
            {
                "relaxation": relaxation,
                "problems": len(problems),
                "failed": len(problems) - len(solved),
                "iterations": float(np.median(solved)) if solved else None,
            }
        )
    return found


def _drift(solver: str, tolerance: float, dt: float, seconds: float) -> dict[str, Any]:
    """Depth of the feet after hanging for a while, from several starts."""
    contender, depths, missed = Contender(solver, solver, tolerance=tolerance), [], 0
    for seed in range(DRIFT_SEEDS):
        hanging = _steps(TASKS["hang"], contender, round(seconds / dt), profile=False, dt=dt, seed=seed)
        for scene, step in ((sim.scene, step) for sim, step, _ in hanging):
            missed += step.report.status != "converged"
            last = scene, step.q
        heights = quadruped.foot_heights(last[0], last[0].model.createData(), last[1])
        depths.append(float(np.minimum(0.0, heights).mean()))
    return {"solver": solver, "tolerance": tolerance, "dt": dt, "depths": depths, "not_converged": missed}


def tables(results: dict[str, Any]) -> list[Any]:
    made = [_times(results), _iterations(results), _hanging(results)]
    if results["differences"]:
        made.append(_alike(results))
    return [*made, _relaxed(results), _drifted(results)]


def _by(results: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """{contender: {task: run}}"""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for one in results["runs"]:
        found.setdefault(one["contender"], {})[one["task"]] = one
    return found


def _times(results: dict[str, Any]):
    made = table(
        "Time of 100,000 steps, s (of which the solver)",
        "<solver",
        *TASKS,
        caption="[RS] Table II on a Xeon E5-1620: bisection 1.98, 2.57, 2.62, 1.90; PGS 1.81, 5.92, 4.35, 2.88; "
        f"measured: {results['steps']} steps, twice as many of hanging; tolerance {results['tolerance']:g} m/s",
    )
    for contender, runs in _by(results).items():
        cells = (runs.get(task) for task in TASKS)
        made.add_row(contender, *(f"{c['seconds']:.2f} ({c['solver_seconds']:.2f})" if c else "–" for c in cells))
    return made


def _iterations(results: dict[str, Any]):
    made = table(
        "Iterations of a step with contacts: mean / most, and steps that did not converge",
        "<solver",
        *TASKS,
        caption="one iteration: a sweep over the contacts, for auto a Newton step or a sweep",
    )
    for contender, runs in _by(results).items():
        cells = []
        for task in TASKS:
            one = runs.get(task)
            missed = one["not_converged"] if one else 0
            colour = "red" if missed else "green"
            cells.append(
                f"{number(one['iterations_mean'])} / {one['iterations_max']}  [{colour}]{missed}[/]" if one else "–"
            )
        made.add_row(contender, *cells)
    return made


def _hanging(results: dict[str, Any]):
    made = table(
        "Average penetration of the feet while hanging, not stabilized",
        *("<solver", "at the end", "deepest"),
        caption=f"after {2 * results['steps'] * DT:g} s; [RS] Fig. 7 shows 200 s, its axis reaches 0.1 m",
    )
    for contender, runs in _by(results).items():
        depth = runs["hang"]["depth"]
        made.add_row(contender, length(depth[-1]), length(min(depth)))
    return made


def _alike(results: dict[str, Any]):
    made = table(
        "Difference of RaiSim's impulses from Coulomb's law",
        *("<task", "problems", "median", "99 %", "below 1 %"),
        caption="relative, in the norm of G; [RS]: more than 99.6 % below 1 %",
    )
    for task, values in results["differences"].items():
        if values:
            share = np.mean(np.array(values) < 0.01)
            figures = number(np.median(values), digits=2), number(np.quantile(values, 0.99), digits=2)
            made.add_row(task, str(len(values)), *figures, f"{share:.1%}")
    return made


def _relaxed(results: dict[str, Any]):
    made = table(
        f"PGS from zero on {results['relaxations'][0]['problems']} problems of a trot",
        *("relaxation", "not converged", "median iterations"),
        caption="of those that converged; [RS] relaxes PGS by 0.6",
    )
    for one in results["relaxations"]:
        share = one["failed"] / one["problems"]
        made.add_row(f"{one['relaxation']:g}", f"{one['failed']} ({share:.1%})", number(one["iterations"]))
    return made


def _drifted(results: dict[str, Any]):
    made = table(
        f"Average height of the feet after {results['drift_seconds']:g} s of hanging",
        *("<solver", "tolerance", "step", "mean", "from", "to", "not converged"),
        caption=f"{DRIFT_SEEDS} starts each, the shallowest and the deepest beside their mean; not stabilized",
    )
    for one in results["drifts"]:
        depths = one["depths"]
        about = one["solver"], f"{one['tolerance']:g}", f"{1e3 * one['dt']:g} ms"
        spread = (length(depth) for depth in (float(np.mean(depths)), max(depths), min(depths)))
        made.add_row(*about, *spread, str(one["not_converged"]))
    return made


_COLOURS = {"raisim": "#31a354", "pgs 0.6": "#fd8d3c", "pgs": "#d94801", "pgs 1e-8": "#fdbe85", "auto": "#08519c"}


def plot(results: dict[str, Any], path: Path) -> None:
    by = _by(results)
    with figure(path, rows=2, columns=2) as (_, (time_axes, iteration_axes, depth_axes, difference_axes)):
        _plot_times(time_axes, {name: runs for name, runs in by.items() if "trot" in runs})
        for contender, runs in by.items():
            if "drop" in runs:
                shares = runs["drop"]["iterations_histogram"]
                more = np.cumsum(shares[::-1])[::-1][1:]  # from the small end: no rounding left where nothing is
                most = 2.0 ** np.arange(len(more)) - 1
                iteration_axes.plot(most, more, color=_COLOURS[contender], label=contender)
            hang = runs["hang"]
            depth_axes.plot(
                hang["depth_times"], 1e3 * np.array(hang["depth"]), color=_COLOURS[contender], label=contender
            )
        iteration_axes.set(
            xscale="symlog", yscale="log", xlabel="iterations", title="drop: share of steps that need more"
        )
        iteration_axes.legend()
        depth_axes.set(xlabel="time (s)", ylabel="average height of the feet (mm)", title="hang: drift of the feet")
        depth_axes.legend()
        for task, values in results["differences"].items():
            if values:
                worst_first = np.sort(values)[::-1]
                difference_axes.plot(worst_first, np.arange(1, len(values) + 1) / len(values), label=task)
        difference_axes.axvline(0.01, color="grey", linestyle=":")
        difference_axes.set(xscale="log", yscale="log", xlabel="relative difference of RaiSim from Coulomb's law")
        difference_axes.set(title="share of problems above", xlim=(1e-8, None))
        if results["differences"]:
            difference_axes.legend()


def _plot_times(axes: Any, by: dict[str, dict[str, dict[str, Any]]]) -> None:
    width = 0.8 / len(by)
    for i, (contender, runs) in enumerate(by.items()):
        places = np.arange(len(TASKS)) + (i - (len(by) - 1) / 2) * width
        solver = np.array([runs[task]["solver_seconds"] for task in TASKS])
        rest = np.array([runs[task]["seconds"] for task in TASKS]) - solver
        axes.bar(places, rest, width, color="lightgrey", edgecolor="white", label=REST if i == 0 else None)
        axes.bar(places, solver, width, bottom=rest, color=_COLOURS[contender], label=contender)
    axes.set_xticks(np.arange(len(TASKS)), list(TASKS))
    axes.set(ylabel="time of 100,000 steps (s)", title="time, by solver")
    axes.legend()
