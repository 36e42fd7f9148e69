"""What a page plays: a simulation that goes on, or a recording. `tick` is called by the page, the rest by its user."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque

import numpy as np

from .._taut import Scene
from .frame import Frame

MINUTE = 60.0  # s of history
KEPT = 3600  # frames of it


NOBODY = np.zeros((0, 2, 3))  # pushes or pulls


class Pace:
    """How fast simulated time goes, on average over half a second on the wall: a picture may have no step, or two."""

    WINDOW = 0.5

    def __init__(self) -> None:
        self.seen: deque[tuple[float, float]] = deque()

    def note(self, wall: float, t: float) -> float:
        """Simulated seconds a second, as the clocks go on."""
        if self.seen and t < self.seen[-1][1]:  # it began anew
            self.seen.clear()
        self.seen.append((wall, t))
        while len(self.seen) > 2 and wall - self.seen[1][0] >= self.WINDOW:
            self.seen.popleft()
        (begin, first), (end, last) = self.seen[0], self.seen[-1]
        return (last - first) / (end - begin) if end > begin else 0.0


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

    @property
    @abstractmethod
    def version(self) -> object:
        """Differs whenever `frames` do."""

    @property
    def pushes(self) -> np.ndarray:
        """Forces the user applies, (n, 2, 3): a point, m in the world, and N."""
        return NOBODY

    @property
    def pulls(self) -> np.ndarray:
        """Springs the user pulls at, (n, 2, 3): from where to where, m in the world."""
        return NOBODY


class Remembering(Player):
    """A player that keeps the last minute of its frames: all of them, or of the older half fewer and fewer, if a slow
    motion makes many."""

    history: deque[Frame]

    @property
    def version(self) -> object:
        history = self.history
        return id(history[-1]), id(history[0]), len(history)

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
        return kept[:: -max(1, len(kept) // 300)][::-1]  # the last one is always there
