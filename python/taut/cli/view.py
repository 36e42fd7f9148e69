"""`taut view`: a scene, a file or a recording in the browser."""

from __future__ import annotations

import socket
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from ..recording import load_recording
from . import sources
from .run import DEFAULTS
from .terminal import clean_errors, console, note

RECORDINGS = (".npz", ".mcap")


@clean_errors
def view(
    source: Annotated[
        str, typer.Argument(metavar="FILE|NAME|RECORDING", help=sources.FILE_OR_NAME + " Or a recording.")
    ],
    dt: Annotated[float, typer.Option(help="Time step, s.")] = DEFAULTS.dt,
    solver: Annotated[str, typer.Option(help="One of `taut solve --help`.")] = DEFAULTS.solver,
    tolerance: Annotated[float, typer.Option(help="What the judge must find, m/s.")] = DEFAULTS.tolerance,
    hold: Annotated[
        bool, typer.Option("--hold/--no-hold", help="Hold the joints at the start pose by PD, or let go.")
    ] = False,
    drop: Annotated[float, typer.Option(help="Lift every free body by this much at the start, m.")] = 0.0,
    velocity: Annotated[
        str | None,
        typer.Option(help="Of the start, a number for each degree of freedom: '1 0 0 0 0 0'."),
    ] = None,
    floor: Annotated[
        bool | None, typer.Option("--floor/--no-floor", help="Add a floor at z = 0, or not.", show_default=False)
    ] = None,
    allow: sources.Allow = None,
    trust: sources.Trust = False,
    play: Annotated[
        bool, typer.Option("--play/--no-play", help="Begin when a browser looks, or wait for the button.")
    ] = True,
    host: Annotated[
        str, typer.Option(help="Address to listen at: this machine alone; 0.0.0.0 lets in who knows the token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            envvar="TAUT_VIEW_TOKEN",
            help="What who looks must know, in the address of the page; 'random': a new one. Without it one is made "
            "where others than this machine can come.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port, or the next free one; 0: any.")] = 8080,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page, or only tell where.")] = True,
) -> None:
    """Show a scene in the browser and simulate it, or replay a recording.

    Play, pause, step, look back for a minute and go on from there; contact points and forces coloured by mode, friction
    cones, penetrations; friction, solver, joints and actuators to change, bodies to push or to drag with the mouse
    (Ctrl held); plots of forces, energy, residuals and times. Ctrl-C ends it. Needs viser: pip install 'taut[view]'.

    Examples:

        taut view go1 --hold --drop 0.3
        taut view sliding_cube --velocity "1 0 0 0 0 0" --no-play
        taut view run.npz
    """
    sources.need_viewer()
    from ..view import Page

    player = _player(source, dt, solver, tolerance, hold, drop, velocity, floor, allow, trust)
    with Page(player, host=host, port=port, title=Path(source).name, token=token) as page, suppress(KeyboardInterrupt):
        console().print(
            f"[bold]{escape(Path(source).name)}[/] is at [bold]{page.url}[/]; Ctrl-C ends it", soft_wrap=True
        )
        if page.open_to_others:
            note(
                f"others reach it at {page.url_at(socket.gethostname())} or another address of this machine; who has "
                "it can look and act, and it crosses the network for all to read"
            )
        if play:
            page.play_when_seen()
        if browser:
            webbrowser.open(page.url)
        page.wait()


def _player(source, dt, solver, tolerance, hold, drop, velocity, floor, allow, trust):
    from ..view import LivePlayer, RecordingPlayer

    if Path(source).suffix in RECORDINGS:
        given = {"--dt": dt != DEFAULTS.dt, "--solver": solver != DEFAULTS.solver, "--hold": hold, "--drop": drop}
        given |= {"--tolerance": tolerance != DEFAULTS.tolerance, "--velocity": velocity, "--floor": floor is not None}
        if asked := [option for option, value in given.items() if value]:
            raise ValueError(f"{', '.join(asked)} belongs to a simulation, and {Path(source).name} is a recording")
        return RecordingPlayer(load_recording(source, allow=allow or (), trust=trust))
    scene = sources.open_scene(source, floor, allow=allow, trust=trust)
    v = np.zeros(scene.model.nv) if velocity is None else _numbers("velocity", velocity, scene.model.nv)
    player = LivePlayer(scene, sources.start(scene, drop), v, dt=dt, solver=solver, tolerance=tolerance)
    if hold and not sources.can_hold(scene):
        raise ValueError("nothing can be held: no joint of this scene has one coordinate")
    if hold:
        player.hold(player.start[0], *sources.default_gains(scene))
    return player


def _numbers(name: str, text: str, count: int) -> np.ndarray:
    """As many, finite, as the scene has degrees of freedom."""
    try:
        found = np.array([float(part) for part in text.replace(",", " ").split()])
    except ValueError:
        raise ValueError(f"{name} is '{text}', it must be numbers") from None
    if len(found) != count:
        raise ValueError(f"{name} has {len(found)} numbers, the scene has {count} degrees of freedom")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} is '{text}', it must be finite")
    return found
