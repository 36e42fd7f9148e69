"""Recordings as pages and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..recording import Recording
from .camera import Camera
from .frame import Frame
from .set import Set

Advance = Callable[[int, int], None]  # done, of


def rows_at(
    recording: Recording, fps: float, speed: float = 1.0, start: float = 0.0, end: float = np.inf
) -> np.ndarray:
    """Rows of the states that pictures at this rate show."""
    if not len(recording):
        raise ValueError(f"{recording.name} has no steps")
    for name, value in (("fps", fps), ("speed", speed)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name} is {value}, it must be positive")
    last = recording.t[-1]
    if not 0 <= start <= last:
        raise ValueError(f"start is {start} s, the recording ends at {last:g} s")
    end = min(end, last)
    if end < start:
        raise ValueError(f"end is {end} s, before the start at {start} s")
    count = int((end - start) * fps / speed + 1e-9)
    times = start + np.arange(count + 1) * speed / fps
    return np.minimum(np.round(times / recording.dt).astype(int), len(recording))


def page(recording: Recording, rows: np.ndarray, fps: float, advance: Advance | None = None, **options: Any) -> str:
    """One HTML file that plays in any browser, without a server. Options are those of `Set`."""
    with _set(recording, rows, saved=True, **options) as stage_set:
        serializer = stage_set.server.get_scene_serializer()
        for done, row in enumerate(rows):
            stage_set.show(Frame.of_recording(recording, int(row)))
            serializer.insert_sleep(1 / fps)
            if advance:
                advance(done + 1, len(rows))
        return serializer.as_html()


def pictures(
    recording: Recording, rows: np.ndarray, width: int, height: int, fine: int = 1, **options: Any
) -> Iterator[np.ndarray]:
    """(height, width, 3) for each row, drawn by a browser without a window; `fine` is the camera's."""
    with _set(recording, rows, **options) as stage_set, Camera(stage_set.server, width, height, fine) as camera:
        for row in rows:
            stage_set.show(Frame.of_recording(recording, int(row)))
            yield camera.shoot()


def film_rate(path: Path, fps: float) -> float:
    """The nearest a film of this kind can have: a .gif counts hundredths of a second, browsers show two at least."""
    return 100 / max(2, round(100 / fps)) if path.suffix == ".gif" and 0 < fps < np.inf else fps


def write_film(path: Path, images: Iterator[np.ndarray], fps: float) -> None:
    """A .gif or .mp4."""
    import imageio.v2 as imageio

    options = (
        {"loop": 0, "duration": 10 * round(100 / fps)} if path.suffix == ".gif" else {"fps": fps, "macro_block_size": 2}
    )
    with imageio.get_writer(path, **options) as film:
        for image in images:
            film.append_data(image)


def write_picture(path: Path, image: np.ndarray) -> None:
    import imageio.v3 as imageio

    imageio.imwrite(path, image)


def row_at(recording: Recording, at: float) -> int:
    """The row of the states at this time."""
    if not len(recording):
        raise ValueError(f"{recording.name} has no steps")
    last = recording.t[-1]
    if not 0 <= at <= last + recording.dt / 2:
        raise ValueError(f"at is {at} s, the recording ends at {last:g} s")
    return min(round(at / recording.dt), len(recording))


def _set(
    recording: Recording,
    rows: np.ndarray,
    azimuth: float | None = None,
    elevation: float | None = None,
    distance: float = 1.0,
    **options: Any,
) -> Set:
    """azimuth and elevation of the camera, degrees, and its distance, times the usual."""
    made = Set(recording.scene, **options)
    made.stage.place(recording.q[int(rows[0])])
    way = [] if made.followed else rows[:: max(1, len(rows) // 20)]
    made.stage.look_from_front(*(recording.q[int(row)] for row in way))
    made.stage.look_from(azimuth, elevation, distance)
    made.show(Frame.of_recording(recording, int(rows[0])))
    return made
