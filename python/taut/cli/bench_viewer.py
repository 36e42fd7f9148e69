"""`taut bench viewer`: what a page costs the loop it watches."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from .. import __version__
from .._taut import Scene, Simulator
from . import sources
from .run import DEFAULTS
from .terminal import clean_errors, console, machine, machine_line, progress, require_folders, table, write_json


@clean_errors
def viewer(
    source: Annotated[str, typer.Argument(metavar="FILE|NAME", help=sources.FILE_OR_NAME)] = "go1",
    steps: Annotated[int, typer.Option(min=1, help="Calls of `sim.step` in each turn.")] = 50_000,
    turns: Annotated[int, typer.Option(min=1, help="How often each has its turn.")] = 6,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all of it to this file.")] = None,
) -> None:
    """Time `sim.step` in a loop of Python, watched by a page of `sim.view()` and not, and a step of `taut view`.

    They take turns in one process. A page that watches is a process of its own, so that it needs a second core to cost
    nothing; the loop of `taut view` is in the process of its page and runs as fast as it can, with the page and
    without: its times are those inside the step, means of a picture's steps. What looks at the page receives all that a
    browser does, and draws nothing: a browser draws on the graphics card.

    Examples:

        taut bench viewer
        taut bench viewer h1 --json viewer.json
    """
    require_folders(json)
    scene = sources.open_scene(source, quiet=True)
    kinds = {
        "a loop alone": lambda: _turn(scene, steps, watched=False),
        "watched": lambda: _turn(scene, steps, watched=True),
        "taut view, no page": lambda: _played(scene, steps, paged=False),
        "with its page": lambda: _played(scene, steps, paged=True),
    }
    times: dict[str, list[np.ndarray]] = {name: [] for name in kinds}
    with progress() as bar:
        task = bar.add_task(f"watching {escape(Path(source).name)}", total=len(kinds) * turns)
        for _ in range(turns):
            for name, found in times.items():
                found.append(kinds[name]())
                bar.advance(task)
    results = {name: _result(np.concatenate(found)) for name, found in times.items()}
    costs = {
        name: results[name]["mean_us"] / results[beside]["mean_us"] - 1
        for name, beside in (("watched", "a loop alone"), ("with its page", "taut view, no page"))
    }

    out = console()
    out.print(
        f"[bold]{escape(machine_line())}[/]\ntaut {__version__}, {escape(source)}, {turns} turns of {steps} steps"
    )
    made = table("Time of a step", "<", "median µs", "mean µs", "99 % below µs", "cost of the mean")
    for name, result in results.items():
        share = f"{costs[name]:.1%}" if name in costs else ""
        made.add_row(name, *(f"{result[kind]:.2f}" for kind in ("median_us", "mean_us", "p99_us")), share)
    out.print(made)
    about = {"taut": __version__, "machine": machine(), "source": source, "steps": steps, "turns": turns}
    write_json(json, {**about, "results": results, "costs": costs})


def _turn(scene: Scene, steps: int, watched: bool) -> np.ndarray:
    """Seconds of each step."""
    sim = Simulator(scene, dt=DEFAULTS.dt)
    sim.hold(scene.q0, *sources.default_gains(scene))
    q, v = np.array(scene.q0), np.zeros(scene.model.nv)
    found = np.empty(steps)
    with contextlib.ExitStack() as stack:
        if watched:
            stack.enter_context(_looked_at(stack.enter_context(sim.view(port=0)).url))
        for k in range(steps):
            begun = time.perf_counter()
            step = sim.step(q, v)
            found[k] = time.perf_counter() - begun
            q, v = step.q, step.v
    return found


def _played(scene: Scene, steps: int, paged: bool) -> np.ndarray:
    """Seconds of a step in each picture of a player."""
    from ..view import LivePlayer, Page

    player = LivePlayer(scene, np.array(scene.q0), np.zeros(scene.model.nv), dt=DEFAULTS.dt)
    player.hold(scene.q0, *sources.default_gains(scene))
    player.speed = 1e6
    with contextlib.ExitStack() as stack:
        if paged:
            stack.enter_context(_looked_at(stack.enter_context(Page(player, port=0)).url))
        player.play()
        while player.frame.t < steps * DEFAULTS.dt and player.playing:
            if paged:
                time.sleep(0.01)
            else:
                player.tick(1 / 30)
        player.pause()
    return 1e-6 * np.array([frame.step_us for frame in list(player.history)[1:]])


LOOKER = """
import sys
from websockets.sync.client import connect
address, protocol = sys.argv[1:]
with connect(address, subprotocols=[protocol], max_size=None) as page:
    page.recv()
    print(flush=True)
    for message in page:
        pass
"""


@contextlib.contextmanager
def _looked_at(url: str) -> Iterator[None]:
    """While a process of its own receives what the page sends to a browser."""
    import viser

    address = url.replace("http", "ws", 1)
    command = [sys.executable, "-c", LOOKER, address, f"viser-v{viser.__version__}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as looker:
        if not looker.stdout.readline():
            raise RuntimeError(f"nobody could look at the page:\n{looker.stderr.read()}")
        try:
            yield
        finally:
            looker.terminate()


def _result(seconds: np.ndarray) -> dict[str, Any]:
    microseconds = 1e6 * seconds
    return {
        "median_us": float(np.median(microseconds)),
        "mean_us": float(np.mean(microseconds)),
        "p99_us": float(np.percentile(microseconds, 99)),
    }
