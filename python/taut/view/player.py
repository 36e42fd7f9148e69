"""What a page plays: a simulation that goes on, or a recording. `tick` is called by the page, the rest by its user."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

from .._taut import Scene
from .frame import Frame

MINUTE = 60.0  # s of history


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
