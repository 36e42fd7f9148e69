"""Live plots of a page."""

from __future__ import annotations

import numpy as np
import viser
from viser import uplot

from .frame import Frame
from .player import Player
from .replay import RecordingPlayer

PLOTS = {
    "contact forces, N": ("#2ea043", lambda frame: float(np.linalg.norm(frame.forces, axis=1).sum())),
    "energy, J": ("#3b6ea8", lambda frame: frame.energy),
    "residual of the judge, log10 m/s": ("#c2410c", lambda frame: float(np.log10(max(frame.residual, 1e-16)))),
    "time of a step, µs": ("#7c5cbf", lambda frame: frame.step_us),
}


class Plots:
    """Of a simulation's last minute as it goes on, or of the whole recording with the present time."""

    def __init__(self, server: viser.ViserServer, player: Player) -> None:
        self.player = player
        live = not isinstance(player, RecordingPlayer)
        self.handles = {}
        with server.gui.add_folder("Plots", expand_by_default=False):
            for title, (colour, _) in PLOTS.items():
                if title.startswith("time") and not live:
                    continue
                series = (uplot.Series(label="s"), uplot.Series(label=title, stroke=colour, width=1.5))
                self.handles[title] = server.gui.add_uplot(
                    (np.zeros(1), np.zeros(1)),
                    series,
                    title=title,
                    scales={"x": uplot.Scale(time=False), "y": uplot.Scale(auto=True)},
                    legend=uplot.Legend(show=False),
                    aspect=2.2,
                )
        self._fill(player.frames)

    def update(self, frame: Frame) -> None:
        if self.player.playing and not isinstance(self.player, RecordingPlayer):
            self._fill(self.player.frames)

    def _fill(self, frames: list[Frame]) -> None:
        if len(frames) < 2:
            return
        times = np.array([frame.t for frame in frames])
        for title, handle in self.handles.items():
            handle.data = (times, np.array([PLOTS[title][1](frame) for frame in frames]))
