"""A recording that is played."""

from __future__ import annotations

import numpy as np

from ..energy import mechanical_energy
from ..recording import Recording
from .frame import Frame
from .player import Player


class RecordingPlayer(Player):
    """Shows rows of a recording at its own pace, and stops at its end."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        if not len(recording):
            raise ValueError(f"{recording.name} has no steps")
        self.recording, self.scene = recording, recording.scene
        self.scene.q0 = recording.q[0]
        self.t = 0.0
        self.frame = self._at(0)

    def _at(self, row: int) -> Frame:
        frame = Frame.of_recording(self.recording, row)
        frame.energy = float(mechanical_energy(self.scene, frame.q, frame.v))
        return frame

    def _show(self, t: float) -> None:
        self.t = float(np.clip(t, *self.span))
        self.frame = self._at(round(self.t / self.recording.dt))

    def play(self) -> None:
        """From the beginning, if it is at its end."""
        with self.lock:
            if self.t >= self.span[1]:
                self._show(0.0)
            self.playing = True

    def tick(self, elapsed: float) -> None:
        with self.lock:
            self.real_time_factor = self.speed if self.playing else 0.0
            if self.playing:
                self._show(self.t + elapsed * self.speed)
                self.playing = self.t < self.span[1]

    def step(self) -> None:
        with self.lock:
            self.playing = False
            self._show(self.frame.t + self.recording.dt)

    def reset(self) -> None:
        self.seek(0.0)

    def seek(self, t: float) -> None:
        with self.lock:
            self.playing = False
            self._show(t)

    @property
    def span(self) -> tuple[float, float]:
        return 0.0, len(self.recording) * self.recording.dt

    @property
    def version(self) -> object:
        return len(self.recording)

    @property
    def frames(self) -> list[Frame]:
        rows = np.unique(np.linspace(0, len(self.recording), 300).astype(int))
        return [self._at(int(row)) for row in rows]
