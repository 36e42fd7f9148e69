"""Plots of a page."""

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
    """Of a simulation's last minute as it goes on, or of a whole recording, with a needle at the present frame."""

    def __init__(self, server: viser.ViserServer, player: Player) -> None:
        self.player = player
        self.live = not isinstance(player, RecordingPlayer)
        self.handles = {}
        with server.gui.add_folder("Plots", expand_by_default=False):
            for title, (colour, _) in PLOTS.items():
                if title.startswith("time") and not self.live:
                    continue
                series = (
                    uplot.Series(label="s"),
                    uplot.Series(label=title, stroke=colour, width=1.5),
                    uplot.Series(label="now", stroke="#555555", width=1.0),
                )
                self.handles[title] = server.gui.add_uplot(
                    (np.zeros(1), np.zeros(1), np.zeros(1)),
                    series,
                    title=title,
                    scales={"x": uplot.Scale(time=False), "y": uplot.Scale(auto=True)},
                    legend=uplot.Legend(show=False),
                    aspect=2.2,
                )
        self.times, self.values = np.empty(0), dict[str, np.ndarray]()
        self.dot = -1  # the row that is marked
        self.filled: object = None  # with which frames
        self.update(player.frame)

    def update(self, frame: Frame) -> None:
        version = self.player.version
        if version != self.filled:
            self.filled = version
            self._fill(self.player.frames)
            self.dot = -1
        self._mark(frame)

    def _fill(self, frames: list[Frame]) -> None:
        self.times = np.array([frame.t for frame in frames])
        self.values = {title: np.array([PLOTS[title][1](frame) for frame in frames]) for title in self.handles}

    def _mark(self, frame: Frame) -> None:
        dot = int(np.argmin(np.abs(self.times - frame.t)))
        if dot == self.dot:
            return
        self.dot = dot
        for title, handle in self.handles.items():
            values = self.values[title]
            now = np.full(len(values), values.min())  # not a NaN, of which the page would make its scale
            now[dot] = values.max()
            handle.data = (self.times, values, now)
