"""`taut demo`: a robot dropped on its feet, and numbers beside the ones that are known."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pinocchio
import typer
from rich.progress import Progress

from .. import scenes
from .._taut import Simulator, Trajectory
from ..recording import load_recording
from . import sources
from .run import DEFAULTS, Run
from .terminal import (
    BAD,
    GOOD,
    clean_errors,
    console,
    length,
    machine_line,
    number,
    progress,
    require_folders,
    table,
    write_json,
)

DT = DEFAULTS.dt


@dataclass
class Check:
    """A number, what it should be, and whether it is."""

    what: str
    measured: str
    expected: str
    good: bool
    value: float


@clean_errors
def demo(
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the checks to this file.")] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page on which the Go1 falls to this .html file.")
    ] = None,
) -> None:
    """Show what taut does in half a minute: every number beside the one expected.

    A Go1 is dropped from half a metre with its joints held and comes to rest on its feet; a cube slides and stops where
    the closed form says; a cube of one tonne stands on one of a kilogram; ten cubes stand on each other; Cassie lands
    and keeps its rods; a ball bounces. The exit code is 1 if a number is off.
    """
    require_folders(json, page)
    if page is not None and page.suffix != ".html":
        raise ValueError(f"--page is '{page}', its name must end with .html")
    if page is not None:
        sources.need_viewer()
    scratch = tempfile.TemporaryDirectory()
    recorded = Path(scratch.name) / "go1.npz"
    parts = {
        "A Go1 dropped from 0.5 m, joints held by PD": lambda bar: _robot(bar, recorded),
        "A cube pushed at 1 m/s over a floor with μ = 0.4": _sliding,
        "A cube of 1000 kg on a cube of 1 kg": _heavy_on_light,
        "Ten cubes on each other": _stack,
        "Cassie dropped from 0.2 m, its rods closing four loops": _cassie,
        "A ball that bounces with e = 0.8": _bounce,
    }
    out = console()
    out.print(f"[bold]taut[/]: rigid contact without relaxation, on {machine_line()}\n")
    checks: dict[str, list[Check]] = {}
    with progress() as bar:
        for title, part in parts.items():
            checks[title] = list(part(bar))
            made = table(title, "<", "<measured", "<expected", "<")
            made.columns[0].width, made.columns[1].width, made.columns[2].width = 34, 22, 34
            made.show_header = title == next(iter(parts))
            for check in checks[title]:
                made.add_row(check.what, check.measured, check.expected, GOOD if check.good else BAD)
            out.print(made)

    wrong = [check.what for part in checks.values() for check in part if not check.good]
    write_json(json, _content(checks))
    if page is not None:
        _write_page(page, recorded)
    scratch.cleanup()
    if wrong:
        out.print(f"{BAD} {len(wrong)} not as expected: {'; '.join(wrong)}")
        raise typer.Exit(1)
    out.print(f"{GOOD} all as expected. Try next:")
    for command, what in (
        ("taut view go1 --hold --drop 0.5", "look at it, push it, change its friction"),
        ("taut simulate talos --hold --drop 0.1", "another robot, with a table of the run"),
        ("taut info cassie", "what a file contains"),
        ("taut bench step", "taut and MuJoCo on the same files"),
    ):
        out.print(f"   [bold]{command:40s}[/] {what}")
    if page is not None:
        out.print(f"See the Go1 fall, in any browser: [bold]{page.resolve().as_uri()}[/]", soft_wrap=True)


def _write_page(page: Path, recorded: Path) -> None:
    from ..view import export

    run = load_recording(recorded)
    page.write_text(export.page(run, export.rows_at(run, 30.0, end=2.0), 30.0))


def _robot(bar: Progress, recorded: Path) -> Iterator[Check]:
    height, seconds, watched = 0.5, 3.0, 1.0
    scene = scenes.make("go1")
    stand = float(scene.q0[2])
    run = Run(Simulator(scene, dt=DT), sources.start(scene, height), np.zeros(scene.model.nv))
    nv = scene.model.nv
    kp, kd = sources.default_gains(scene)
    run.sim.hold(scene.q0, np.full(nv, kp), np.full(nv, kd))

    with run.sim.record(recorded):
        _go(run, seconds - watched, "Go1 falls and lands", bar)
        landing = next((k for k, contacts in enumerate(run.contacts) if contacts), run.steps) * DT
        before = run.q
        _go(run, watched, "Go1 stands", bar)
    if run.failed:
        yield Check("state", "not finite", "finite", False, math.nan)
        return
    creep, feet = _creep(run, before, watched)
    upright = pinocchio.Quaternion(*run.q[[6, 3, 4, 5]]).toRotationMatrix()[2, 2]
    tilt = math.degrees(math.acos(min(1.0, upright)))
    fall = math.sqrt(2 * height / 9.81)
    speed = float(np.max(np.abs(run.v)))

    # Feet start at the floor's height + 0.5 m up to the millimetres of the margin, hence 10 ms.
    yield _near("touches the floor after", landing, fall, 0.01, "s", "√(2h/g) = ")
    expected = f"{number(stand, 'm')} in its stance"
    yield Check("height after 3 s", number(float(run.q[2]), "m"), expected, abs(run.q[2] - stand) < 0.02, run.q[2])
    yield _below("tilt", tilt, 3.0, number(tilt, "°"), "3 °")
    yield Check("feet on the floor", str(feet), "4", feet == 4, feet)
    yield _below("largest |v| at the end", speed, 1e-3, number(speed, "m/s, rad/s"), "1e-3: at rest")
    yield _below("creep of a foot while it stands", creep, 1e-4, f"{length(creep)}/s", "0.1 mm/s")
    yield _certified(run)
    factor = run.real_time_factor
    yield Check("real-time factor", number(factor), "above 1", factor > 1, factor)


def _creep(run: Run, before: np.ndarray, seconds: float) -> tuple[float, int]:
    """How fast the points now on the floor moved along it since the state `before`, m/s, and how many they are."""
    model = run.sim.scene.model
    data_then, data_now = model.createData(), model.createData()
    pinocchio.forwardKinematics(model, data_then, before)
    pinocchio.forwardKinematics(model, data_now, run.q)
    fastest, feet = 0.0, set()
    for contact in run.sim.step(run.q, run.v).contacts:
        joint = max(contact.joint_1, contact.joint_2)  # the other one is the world, 0
        local = data_now.oMi[joint].actInv(contact.point)
        moved = contact.point - data_then.oMi[joint].act(local)
        fastest = max(fastest, float(np.linalg.norm(moved[:2])) / seconds)
        feet.add(joint)
    return fastest, len(feet)


def _sliding(bar: Progress) -> Iterator[Check]:
    v0, mu = 1.0, 0.4
    tolerance = 1e-10  # of the solver, so that the discrete closed form shows
    scene = scenes.make("sliding_cube", mu=mu)
    velocity = np.array([v0, 0, 0, 0, 0, 0])
    run = Run(Simulator(scene, dt=DT, tolerance=tolerance), np.array(scene.q0), velocity)
    _go(run, 0.5, "a cube slides", bar)
    path = float(run.q[0] - scene.q0[0])
    exact = v0**2 / (2 * mu * 9.81)
    # The same with semi-implicit steps: v loses μ g dt in each until it would turn, x gains dt times the new v.
    speeds = v0 - mu * 9.81 * DT * np.arange(1, 1 + int(v0 / (mu * 9.81 * DT)))
    discrete = DT * float(np.sum(speeds))
    yield _near("stops after", path, exact, v0 * DT, "m", "v0²/(2μg) = ", digits=6)
    error = abs(path - discrete)
    yield _below(f"off {discrete:.9f} m, exact for 1 ms", error, 1e-8, length(error), "10 nm")
    yield _below("speed once it stands", speed := float(np.abs(run.v).max()), 1e-9, number(speed, "m/s"), "1e-9 m/s")
    yield _certified(run)


def _heavy_on_light(bar: Progress) -> Iterator[Check]:
    scene = scenes.make("heavy_on_light", ratio=1000.0)
    run = Run(Simulator(scene, dt=DT), np.array(scene.q0), np.zeros(scene.model.nv))
    _go(run, 2.0, "1000 kg on 1 kg", bar)
    depth = max(0.0, -(run.deepest_gap() or 0.0)) if not run.failed else math.nan
    sunk = abs(float(run.q[9] - scene.q0[9]))
    yield _below("penetration after 2 s", depth, 1e-4, length(depth), "0.1 mm")
    yield _below("the upper cube moved by", sunk, 1e-4, length(sunk), "0.1 mm")
    yield _certified(run)


def _stack(bar: Progress) -> Iterator[Check]:
    scene = scenes.make("stack", n=10)
    run = Run(Simulator(scene, dt=DT), np.array(scene.q0), np.zeros(scene.model.nv))
    _go(run, 5.0, "a stack of ten", bar)
    moved = float(np.abs(run.q - scene.q0).reshape(10, 7)[:, :3].max())
    yield _below("largest move of a cube in 5 s", moved, 1e-3, length(moved), "1 mm")
    yield _certified(run)


def _cassie(bar: Progress) -> Iterator[Check]:
    scene = scenes.make("cassie")
    run = Run(Simulator(scene, dt=DT), sources.start(scene, 0.2), np.zeros(scene.model.nv))
    worst = []
    _go(run, 2.0, "Cassie lands", bar, lambda piece: worst.append(scene.worst_loop_gap(piece.q)[0]))
    open_by = max(worst)
    yield _below("loops are open by at most", open_by, 1e-5, length(open_by), "10 µm")
    yield _certified(run)


def _bounce(bar: Progress) -> Iterator[Check]:
    e, radius = 0.8, 0.1
    scene = scenes.make("ball", height=1.0, radius=radius)
    scene.set_restitution("floor", e)
    run = Run(Simulator(scene, dt=DT), np.array(scene.q0), np.zeros(6))
    heights: list[float] = []
    _go(run, 1.2, "a ball bounces", bar, lambda piece: heights.extend(piece.q[1:, 2] - radius))
    landed = int(np.argmin(heights[:600]))
    # A bounce is on time to within a step, in which the ball falls 4.4 mm; e (1 + e) of that is left in the height.
    yield _near("height after the first bounce", max(heights[landed:]), e**2, 0.008, "m", "e² h = ", digits=3)
    yield _certified(run)


def _go(run: Run, seconds: float, what: str, bar: Progress, look: Callable[[Trajectory], None] | None = None) -> None:
    steps = round(seconds / run.sim.dt)
    task = bar.add_task(what, total=steps)

    def each(piece: Trajectory) -> None:
        bar.advance(task, len(piece))
        if look:
            look(piece)

    run.go(steps, each)
    bar.remove_task(task)


def _near(what: str, value: float, exact: float, tolerance: float, unit: str, formula: str, digits: int = 4) -> Check:
    expected = f"{formula}{number(exact, unit, digits)}"
    return Check(what, number(value, unit, digits), expected, abs(value - exact) <= tolerance, value)


def _below(what: str, value: float, bound: float, measured: str, expected: str) -> Check:
    return Check(what, measured, f"below {expected}", value < bound, value)


def _certified(run: Run) -> Check:
    expected = f"at most {number(run.sim.tolerance, 'm/s')}"
    good = run.uncertified == 0 and not run.failed
    return Check(f"worst residual of {run.steps} steps", number(run.worst, "m/s"), expected, good, run.worst)


def _content(checks: dict[str, list[Check]]) -> dict[str, Any]:
    return {title: [vars(check) for check in part] for title, part in checks.items()}
