"""`taut simulate`: run a file or a scene and say how it went."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from .._taut import Scene, Simulator, Trajectory
from ..energy import mechanical_energy
from . import sources
from .run import DEFAULTS, Run
from .terminal import clean_errors, console, length, number, progress, require_folders, table, write_json


@clean_errors
def simulate(
    source: Annotated[str, typer.Argument(metavar="FILE|NAME", help=sources.FILE_OR_NAME)],
    seconds: Annotated[float, typer.Option(help="Length of the run, s.")] = 2.0,
    dt: Annotated[float, typer.Option(help="Time step, s.")] = DEFAULTS.dt,
    solver: Annotated[str, typer.Option(help="One of `taut solve --help`.")] = DEFAULTS.solver,
    tolerance: Annotated[float, typer.Option(help="What the judge must find, m/s.")] = DEFAULTS.tolerance,
    hold: Annotated[
        bool,
        typer.Option("--hold/--no-hold", help="Hold the joints at the start pose by PD, or let go."),
    ] = False,
    kp: Annotated[
        float | None, typer.Option(help="Gain of --hold, N m/rad or N/m; implies it (default: 20 per kg).")
    ] = None,
    kd: Annotated[float | None, typer.Option(help="Damping of --hold, N m s/rad or N s/m (default: kp / 20).")] = None,
    drop: Annotated[float, typer.Option(help="Lift every free body by this much at the start, m.")] = 0.0,
    floor: Annotated[
        bool | None, typer.Option("--floor/--no-floor", help="Add a floor at z = 0, or not.", show_default=False)
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write states, contacts, impulses and reports to this .npz or .mcap file."),
    ] = None,
    allow: sources.Allow = None,
    trust: sources.Trust = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table to this file.")] = None,
) -> None:
    """Run a file or a ready-made scene and print how it went.

    Every step solves the unrelaxed contact problem; the table says how exactly, and how fast.

    Examples:

        taut simulate go1 --hold --drop 0.5
        taut simulate stack --seconds 10 --json stack.json
        taut simulate robot.urdf --floor --record out.npz   # taut view out.npz, taut.load_recording("out.npz")
    """
    scene = sources.open_scene(source, floor, allow=allow, trust=trust)
    for name, value in (("seconds", seconds), ("dt", dt)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name} is {value}, it must be positive")
    require_folders(record, json)
    sim = Simulator(scene, dt=dt, solver=solver, tolerance=tolerance)
    q = sources.start(scene, drop)
    if hold or kp is not None or kd is not None:
        hold = True
        if not sources.can_hold(scene):
            raise ValueError("nothing can be held: no joint of this scene has one coordinate")
        kp = sources.default_gains(scene)[0] if kp is None else kp
        kd = 0.05 * kp if kd is None else kd
        sim.hold(q, np.full(scene.model.nv, kp), np.full(scene.model.nv, kd))

    run = Run(sim, q, np.zeros(scene.model.nv))
    log = _Log(scene)
    steps = max(1, round(seconds / dt))
    with progress() as bar, nullcontext() if record is None else sim.record(record):
        task = bar.add_task(f"simulating {escape(Path(source).name)}", total=steps)

        def each(piece: Trajectory) -> None:
            log.add(piece)
            bar.advance(task, len(piece))

        run.go(steps, each)

    result = _summary(source, run, log, passive=not hold)
    result["gains"] = {"kp": kp, "kd": kd} if hold else None
    console().print(_table(result))
    if record is not None:
        console(stderr=True).print(f"wrote {escape(str(record))}", soft_wrap=True)
    write_json(json, result)
    if run.failed:
        raise typer.Exit(1)


class _Log:
    """Energy of every state, and how far loops are open."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.energy: list[float] = []
        self.open_by = 0.0  # m, of the loops at worst

    def add(self, piece: Trajectory) -> None:
        rows = slice(1 if self.energy else 0, len(piece) + 1)  # row 0 is the last one of the piece before
        self.energy += list(mechanical_energy(self.scene, piece.q[rows], piece.v[rows]))
        if self.scene.loops:
            self.open_by = max(self.open_by, self.scene.worst_loop_gap(piece.q[rows])[0])


def _summary(source: str, run: Run, log: _Log, passive: bool) -> dict[str, Any]:
    scene = log.scene
    free = sources.free_joints(scene)
    energy = np.array(log.energy)
    root = free[0] if free else None
    return {
        "source": source,
        "solver": run.sim.solver,
        "dt": run.sim.dt,
        "tolerance": run.sim.tolerance,
        "passive": passive,
        "finite": not run.failed,
        "steps": run.steps,
        "seconds": run.time,
        "wall_seconds": run.seconds,
        "steps_per_second": run.steps / run.seconds if run.seconds else None,
        "real_time_factor": run.real_time_factor,
        "contacts_mean": float(np.mean(run.contacts)) if run.contacts else 0.0,
        "contacts_max": max(run.contacts, default=0),
        "worst_residual": run.worst,
        "steps_not_certified": run.uncertified,
        "energy_start": energy[0],
        "energy_end": energy[-1],
        "energy_drift": energy[-1] - energy[0],
        "energy_largest_rise": max(0.0, float(np.max(np.diff(energy)))) if passive and len(energy) > 1 else None,
        "smallest_gap": None if run.failed else run.deepest_gap(),
        "loops_open_by": log.open_by if scene.loops else None,
        "loops_open_at_end": scene.worst_loop_gap(run.q)[0] if scene.loops and not run.failed else None,
        "height_of": scene.model.names[root] if root else None,
        "height": float(run.q[scene.model.idx_qs[root] + 2]) if root else None,
        "speed": float(np.max(np.abs(run.v), initial=0.0)),
    }


def _table(result: dict[str, Any]):
    title = (
        f"{escape(Path(result['source']).name)}: {number(result['seconds'], 's')} by {number(1e3 * result['dt'], 'ms')}"
    )
    made = table(title, "<", "<")
    made.show_header = False
    colour = "green" if result["steps_not_certified"] == 0 else "red"
    rows = [
        ("steps", f"{result['steps']} in {number(result['wall_seconds'], 's')}, solver {result['solver']}"),
        ("steps per second", number(result["steps_per_second"])),
        ("real-time factor", number(result["real_time_factor"])),
        ("contacts", f"{result['contacts_mean']:.1f} on average, {result['contacts_max']} at most"),
        (
            "worst residual",
            f"{number(result['worst_residual'], 'm/s')}, tolerance {number(result['tolerance'])}",
        ),
        ("steps not certified", f"[{colour}]{result['steps_not_certified']}[/]"),
        ("smallest gap at the end", length(result["smallest_gap"])),
        ("energy, end − start", number(result["energy_drift"], "J")),
    ]
    if result["loops_open_by"] is not None:
        at_end = length(result["loops_open_at_end"])
        rows.append(("loops open by", f"{length(result['loops_open_by'])} at most, {at_end} at the end"))
    if result["energy_largest_rise"] is not None:
        rows.append(("largest rise in a step", number(result["energy_largest_rise"], "J")))
    if result["height_of"] is not None:
        rows.append((f"height of {result['height_of']}", length(result["height"])))
    rows.append(("largest |v| at the end", number(result["speed"], "(m/s or rad/s)")))
    if not result["finite"]:
        rows.append(("[red]ended early[/]", "[red]the state is not finite[/]"))
    for row in rows:
        made.add_row(*row)
    return made
