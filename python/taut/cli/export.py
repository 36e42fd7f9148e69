"""`taut export`: a recording as a page or as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from ..recording import Recording, load_recording
from . import sources
from .terminal import clean_errors, console, progress, require_folders


@clean_errors
def export(
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="A file of `taut simulate --record`.")],
    html: Annotated[Path | None, typer.Option(help="A page that plays in any browser, without a server.")] = None,
    png: Annotated[Path | None, typer.Option(help="A picture of one instant.")] = None,
    gif: Annotated[Path | None, typer.Option(help="A film that plays everywhere, large.")] = None,
    mp4: Annotated[Path | None, typer.Option(help="A film, small.")] = None,
    at: Annotated[float | None, typer.Option(help="Instant of --png, s (default: the end).")] = None,
    start: Annotated[float, typer.Option(help="Where films and the page begin, s.")] = 0.0,
    end: Annotated[float | None, typer.Option(help="Where they end, s (default: the end).")] = None,
    fps: Annotated[float, typer.Option(help="Pictures a second.")] = 30.0,
    speed: Annotated[float, typer.Option(help="Times real time.")] = 1.0,
    width: Annotated[int, typer.Option(help="Of pictures, pixels.")] = 960,
    height: Annotated[int, typer.Option(help="Of pictures, pixels.")] = 600,
    azimuth: Annotated[
        float | None, typer.Option(help="Of the camera, degrees from the x axis (default: in front, to the right).")
    ] = None,
    elevation: Annotated[
        float | None, typer.Option(min=-89, max=89, help="Of the camera, degrees (default: about 20).")
    ] = None,
    distance: Annotated[float, typer.Option(help="Of the camera, times the one that shows everything.")] = 1.0,
    follow: Annotated[bool, typer.Option("--follow", help="Keep the first body in the middle.")] = False,
    forces: Annotated[bool, typer.Option("--forces/--no-forces", help="Contact forces, coloured by mode.")] = True,
    cones: Annotated[bool, typer.Option("--cones", help="Friction cones.")] = False,
    normals: Annotated[bool, typer.Option("--normals", help="Contact normals.")] = False,
    allow: sources.Allow = None,
    trust: sources.Trust = False,
) -> None:
    """Make a page, a picture or a film of a recording.

    The page is one file with everything in it. Pictures are drawn by Chromium without a window, which must be
    installed. Needs viser: pip install 'taut[view]'.

    Examples:

        taut export run.npz --html run.html
        taut export run.npz --png last.png --mp4 run.mp4 --speed 0.25
    """
    wanted = {"html": html, "png": png, "gif": gif, "mp4": mp4}
    for kind, path in wanted.items():
        if path is not None and path.suffix != f".{kind}":
            raise ValueError(f"--{kind} is '{path}', its name must end with .{kind}")
    if not any(wanted.values()):
        raise ValueError("nothing was asked for: give --html, --png, --gif or --mp4 FILE")
    require_folders(*wanted.values())
    sources.need_viewer()
    run = load_recording(recording, allow=allow or (), trust=trust)
    for name, value in (("azimuth", azimuth), ("distance", distance)):
        if value is not None and not np.isfinite(value):
            raise ValueError(f"{name} is {value}, it must be finite")
    if not distance > 0:
        raise ValueError(f"distance is {distance}, it must be positive")
    options = {"shown": {"forces": forces, "cones": cones, "normals": normals}, "follow": follow}
    options |= {"azimuth": azimuth, "elevation": elevation, "distance": distance}
    stop = np.inf if end is None else end
    if html is not None:
        _page(run, html, fps, speed, start, stop, options)
    if png is not None:
        _picture(run, png, at, width, height, options)
    for film in filter(None, (gif, mp4)):
        _film(run, film, fps, speed, start, stop, width, height, options)


def _told(path: Path) -> None:
    console(stderr=True).print(f"wrote {escape(str(path))}, {path.stat().st_size / 1e6:.1f} MB", soft_wrap=True)


def _page(run: Recording, path: Path, fps, speed, start, end, options) -> None:
    from ..view import export

    rows = export.rows_at(run, fps, speed, start, end)
    with progress() as bar:
        task = bar.add_task(escape(path.name), total=len(rows))
        text = export.page(run, rows, fps, lambda done, _: bar.update(task, completed=done), **options)
    path.write_text(text)
    _told(path)


def _picture(run: Recording, path: Path, at: float | None, width: int, height: int, options) -> None:
    from ..view import export

    row = export.row_at(run, len(run) * run.dt if at is None else at)
    export.write_picture(path, next(export.pictures(run, np.array([row]), width, height, fine=2, **options)))
    _told(path)


def _film(run: Recording, path: Path, fps, speed, start, end, width, height, options) -> None:
    from ..view import export

    fps = export.film_rate(path, fps)
    rows = export.rows_at(run, fps, speed, start, end)
    with progress() as bar:
        task = bar.add_task(escape(path.name), total=len(rows))

        def images():
            for image in export.pictures(run, rows, width, height, **options):
                bar.advance(task)
                yield image

        export.write_film(path, images(), fps)
    _told(path)
