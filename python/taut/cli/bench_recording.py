"""`taut bench recording`: what it costs to record a run, and whether it reads back equal."""

from __future__ import annotations

import hashlib
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from .. import __version__
from .._taut import Simulator, Trajectory
from ..recording import Recording, load_recording
from ..recording.columns import COLUMNS
from . import sources
from .run import DEFAULTS
from .terminal import (
    BAD,
    GOOD,
    clean_errors,
    console,
    machine,
    machine_line,
    number,
    progress,
    require_folders,
    table,
    write_json,
)


class _Side:
    """One of the runs: its time, on the wall and of the processor, and what it saw."""

    def __init__(self, source: str, path: Path | None) -> None:
        scene = sources.open_scene(source, quiet=True)
        self.sim = Simulator(scene, dt=DEFAULTS.dt)
        kp, kd = sources.default_gains(scene)
        self.sim.hold(scene.q0, kp, kd)
        self.q, self.v = np.array(scene.q0), np.zeros(scene.model.nv)
        self.path, self.recorder = path, None
        self.wall = self.processor = 0.0
        self.digests: list[str] = []
        if path is not None:
            self._timed(lambda: setattr(self, "recorder", self.sim.record(path)))

    def chunk(self, steps: int) -> None:
        """Everything is on its way to the disk when it ends: nobody else pays for it."""
        piece = self._timed(lambda: self._advance(steps))
        self.digests.append(digest(piece.q, piece.v, np.array(piece.contacts)))
        self.q, self.v = piece.q[-1], piece.v[-1]

    def _advance(self, steps: int) -> Trajectory:
        piece = self.sim.rollout(self.q, self.v, steps=steps)
        if self.recorder is not None:
            self.recorder.flush()
        return piece

    def finish(self) -> None:
        if self.recorder is not None:
            self._timed(self.recorder.close)

    def _timed(self, work):
        wall, processor = time.perf_counter(), time.process_time()
        done = work()
        self.wall += time.perf_counter() - wall
        self.processor += time.process_time() - processor
        return done


def digest(q: np.ndarray, v: np.ndarray, contacts: np.ndarray) -> str:
    """Of states and numbers of contacts: equal if every bit is."""
    made = hashlib.blake2b(np.ascontiguousarray(q))
    made.update(np.ascontiguousarray(v))
    made.update(np.ascontiguousarray(contacts, dtype=np.int64))
    return made.hexdigest()


def reads_back(recording: Recording, digests: list[str], chunk: int) -> bool:
    """Every state and number of contacts is the one that `rollout` returned."""
    found = [
        digest(
            recording.q[k : k + chunk + 1],
            recording.v[k : k + chunk + 1],
            recording.contacts[k : k + chunk],
        )
        for k in range(0, len(recording), chunk)
    ]
    return found == digests


@clean_errors
def recording(
    source: Annotated[str, typer.Argument(metavar="FILE|NAME", help=sources.FILE_OR_NAME)] = "go1",
    steps: Annotated[int, typer.Option(min=1, help="Steps of each run.")] = 1_000_000,
    chunk: Annotated[int, typer.Option(min=1, help="Steps at once; the runs take turns by chunks.")] = 20_000,
    folder: Annotated[
        Path | None,
        typer.Option(help="Where the files go, and stay; otherwise into a temporary folder.", show_default=False),
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all of it to this file.")] = None,
) -> None:
    """Time a run that is recorded, as .npz and as .mcap, beside the same run that is not.

    The three take turns by chunks in one process, joints held by PD. A recorded chunk ends when its last step is in the
    file; opening and finishing the file count, too. Each file is then read back and compared, bit by bit, with what
    `rollout` returned and with the other file. *wall* is what a user waits for: the file is written by a thread of its
    own, on a second core if there is one. *processor* adds the work of all threads.

    Examples:

        taut bench recording
        taut bench recording h1 --steps 100000 --json recording.json
    """
    require_folders(json)
    if folder is not None and not folder.is_dir():
        raise FileNotFoundError(f"no such folder: '{folder}'")
    chunk = min(chunk, steps)
    steps -= steps % chunk
    with tempfile.TemporaryDirectory() as scratch:
        where = folder or Path(scratch)
        results = _measure(source, steps, chunk, {kind: where / f"recording.{kind}" for kind in ("npz", "mcap")})

    out = console()
    out.print(
        f"[bold]{escape(machine_line())}[/]\ntaut {__version__}, {escape(source)}, {steps} steps, chunks of {chunk}"
    )
    out.print(_table(results))
    about = {"taut": __version__, "machine": machine(), "source": source, "steps": steps, "chunk": chunk}
    write_json(json, {**about, "results": results})
    if not all(result["equal"] for result in results):
        raise typer.Exit(1)


def _measure(source: str, steps: int, chunk: int, paths: dict[str, Path]) -> list[dict[str, Any]]:
    sides = {"not recorded": _Side(source, None), **{kind: _Side(source, path) for kind, path in paths.items()}}
    order = list(sides.values())
    with progress() as bar:
        task = bar.add_task(f"recording {escape(Path(source).name)}", total=steps // chunk)
        for k in range(steps // chunk):
            for i in np.roll(np.arange(len(order)), k):
                order[i].chunk(chunk)
            bar.advance(task)
    for side in order:
        side.finish()
    plain = sides["not recorded"]
    results = [_result(name, side, plain, steps, chunk) for name, side in sides.items()]
    # Of contacts, impulses and reports `rollout` returns little: the two files are held against each other.
    one, other = (load_recording(path) for path in paths.values())
    alike = all(np.array_equal(getattr(one, column), getattr(other, column)) for column in COLUMNS)
    for result in results[1:]:
        result["equal"] &= alike
    return results


def _result(name: str, side: _Side, plain: _Side, steps: int, chunk: int) -> dict[str, Any]:
    result = {
        "name": name,
        "wall_us": 1e6 * side.wall / steps,
        "processor_us": 1e6 * side.processor / steps,
        "cost_wall": side.wall / plain.wall - 1,
        "cost_processor": side.processor / plain.processor - 1,
        "equal": side.digests == plain.digests,
    }
    if side.path is not None:
        size = side.path.stat().st_size
        start = time.perf_counter()
        read = load_recording(side.path)
        seconds = time.perf_counter() - start
        result |= {"bytes_per_step": size / steps, "megabytes": size / 1e6, "read_seconds": seconds}
        result["equal"] &= len(read) == steps and reads_back(read, side.digests, chunk)
    return result


def _table(results: list[dict[str, Any]]):
    made = table(
        "Cost of a recording",
        *("<", "wall\nµs/step", "cost", "processor\nµs/step", "cost", "MB", "bytes\na step", "read\ns", "<equal"),
        caption="cost: beside the run that is not recorded; read: until the arrays are there, .npz is mapped; "
        "equal: every bit of states and numbers of contacts to what rollout returned, and of all else in both files",
    )
    for result in results:
        file = "megabytes" in result
        made.add_row(
            result["name"],
            f"{result['wall_us']:.2f}",
            f"{result['cost_wall']:.1%}" if file else "",
            f"{result['processor_us']:.2f}",
            f"{result['cost_processor']:.1%}" if file else "",
            f"{result['megabytes']:.0f}" if file else "",
            f"{result['bytes_per_step']:.0f}" if file else "",
            number(result["read_seconds"]) if file else "",
            GOOD if result["equal"] else BAD,
        )
    return made
