"""What a page plays: a simulation that goes on, or a recording. `tick` is called by the page, the rest by its user."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque

from .._taut import Scene
from .frame import Frame

MINUTE = 60.0  # s of history
KEPT = 3600  # frames of it


class Player(ABC):
    """A run with a present frame."""

    scene: Scene
    frame: Frame

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.playing = False
        self.speed = 1.0  # times real time
        self.real_time_factor = 0.0  # what came of it

    def play(self) -> None:
        with self.lock:
            self.playing = True

    def pause(self) -> None:
        with self.lock:
            self.playing = False

    @abstractmethod
    def tick(self, elapsed: float) -> None:
        """Advance by so many seconds on the wall, if it is playing."""

    @abstractmethod
    def step(self) -> None:
        """One time step, and pause."""

    @abstractmethod
    def reset(self) -> None:
        """To the start, and pause."""

    @abstractmethod
    def seek(self, t: float) -> None:
        """To the frame nearest to this time, and pause."""

    @property
    @abstractmethod
    def span(self) -> tuple[float, float]:
        """The times one can seek, s."""

    @property
    @abstractmethod
    def frames(self) -> list[Frame]:
        """Some hundreds of frames for plots, in order."""


class Remembering(Player):
    """A player that keeps the last minute of its frames: all of them, or of the older half fewer and fewer, if a slow
    motion makes many."""

    history: deque[Frame]

    def remember(self, frame: Frame) -> None:
        self.history.append(frame)
        while self.history[-1].t - self.history[0].t > MINUTE:
            self.history.popleft()
        if len(self.history) > KEPT:
            frames = list(self.history)
            self.history = deque(frames[: KEPT // 2 : 2] + frames[KEPT // 2 :])

    def seek(self, t: float) -> None:
        with self.lock:
            self.playing = False
            self.frame = min(self.history, key=lambda frame: abs(frame.t - t))

    @property
    def span(self) -> tuple[float, float]:
        history = self.history
        return history[0].t, history[-1].t

    @property
    def frames(self) -> list[Frame]:
        with self.lock:
            kept = list(self.history)
        return kept[:: max(1, len(kept) // 300)]
