"""`sim.view()`: a page that watches a simulator somebody else steps, from a process of its own.

The simulator's process hands over a frame now and then, and a thread passes it on; drawing and talking to browsers go
on elsewhere, and do not wait for Python's lock here.
"""

from __future__ import annotations

import atexit
import contextlib
import pickle
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from typing import Any, BinaryIO

import numpy as np

from .._taut import Simulator, _Tape
from ..energy import mechanical_energy
from ..recording import about
from .frame import Frame
from .page import LOCALHOST, RATE, Page
from .player import MINUTE, Remembering


def send(stream: BinaryIO, value: Any) -> None:
    content = pickle.dumps(value)
    stream.write(struct.pack("<Q", len(content)) + content)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """None at the end."""
    head = stream.read(8)
    return pickle.loads(stream.read(struct.unpack("<Q", head)[0])) if len(head) == 8 else None


class Watch:
    """A page that shows every step of a simulator as it is made, until it is closed; a context manager."""

    def __init__(self, sim: Simulator, host: str = LOCALHOST, port: int = 8080) -> None:
        if sim._tape is not None:
            raise ValueError(f"the simulator has a {sim._recorder} already: close that one first")
        command = [sys.executable, "-c", "from taut.view.watch import serve; serve()"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.sim, self.steps, self.since = sim, 0, time.perf_counter()
        self._latest: Frame | None = None
        self._news = threading.Condition()
        self._closed = False
        send(self.process.stdin, {"about": about.describe(sim), "q0": sim.scene.q0, "host": host, "port": port})
        answer = receive(self.process.stdout)
        if answer is None:
            raise RuntimeError("the page's process ended before it had begun")
        self.url: str = answer
        self._thread = threading.Thread(target=self._pass_on, name="taut watch", daemon=True)
        self._thread.start()
        self._tape = _Tape(1 << 20, 1 / RATE, self._take)
        sim._tape, sim._recorder = self._tape, self
        atexit.register(self.close)

    def _take(self, piece: dict[str, np.ndarray]) -> None:
        """Of the steps since the last time only the last one is shown; if the page is slow it misses some."""
        now = time.perf_counter()
        made = len(piece["status"])
        self.steps += made
        frame = Frame.of_piece(piece, self.sim.dt, self.steps * self.sim.dt)
        frame.step_us = 1e6 * (now - self.since) / made
        self.since = now
        with self._news:
            self._latest = frame
            self._news.notify()

    def _pass_on(self) -> None:
        while True:
            with self._news:
                while self._latest is None and not self._closed:
                    self._news.wait()
                frame, self._latest = self._latest, None
            if frame is None:
                return
            try:
                send(self.process.stdin, frame)
            except OSError:  # the page is gone; the simulation goes on
                return

    def close(self) -> None:
        """End the page. The simulator goes on without it."""
        if self._closed:
            return
        atexit.unregister(self.close)
        self._tape.hand_over()
        del self.sim._tape, self.sim._recorder, self._tape  # which refers to this object, unseen by Python's collector
        with self._news:
            self._closed = True
            self._news.notify()
        self._thread.join()
        with contextlib.suppress(OSError):  # it may have ended before
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Watch({self.url!r}{', closed' if self._closed else ''})"


class WatchPlayer(Remembering):
    """Shows what arrives, and looks back for a minute."""

    def __init__(self, metadata: dict[str, Any], q0: np.ndarray) -> None:
        super().__init__()
        self.scene = about.restore_scene(metadata)
        self.scene.q0 = q0
        self.frame = Frame.start(q0, np.zeros(self.scene.model.nv))
        self.history: deque[Frame] = deque([self.frame], maxlen=round(MINUTE * 2 * RATE))
        self.playing = True

    def arrive(self, frame: Frame) -> None:
        frame.energy = float(mechanical_energy(self.scene, frame.q, frame.v))
        with self.lock:
            self.remember(frame)

    def tick(self, elapsed: float) -> None:
        with self.lock:
            if self.playing:
                self.frame = self.history[-1]

    def step(self) -> None:
        """The next frame that was kept."""
        with self.lock:
            self.playing = False
            later = [frame for frame in self.history if frame.t > self.frame.t]
            self.frame = later[0] if later else self.frame

    def reset(self) -> None:
        self.seek(self.span[0])


def serve() -> None:
    """The process of the page: frames come in, the address goes out; it ends with its input."""
    begin = receive(sys.stdin.buffer)
    player = WatchPlayer(begin["about"], begin["q0"])
    with Page(player, begin["host"], begin["port"], begin["about"]["name"] or "taut") as page:
        send(sys.stdout.buffer, page.url)
        while (frame := receive(sys.stdin.buffer)) is not None:
            player.arrive(frame)
