"""`sim.view()`: a page that watches a simulator somebody else steps, from a process of its own.

The simulator's process hands over a frame now and then, and a thread passes it on; drawing and talking to browsers go
on elsewhere, and do not wait for Python's lock here.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import struct
import subprocess
import sys
import threading
import time
import weakref
import webbrowser
from collections import deque
from typing import Any, BinaryIO

import numpy as np

from .._taut import Simulator, _Tape
from ..energy import mechanical_energy
from ..recording import about
from .frame import Frame
from .page import RATE, Page
from .player import Pace, Remembering
from .server import LOCALHOST


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

    def __init__(
        self,
        sim: Simulator,
        host: str = LOCALHOST,
        port: int = 8080,
        browser: bool = False,
        token: str | None = None,
    ) -> None:
        command = [sys.executable, "-c", "from taut.view.watch import serve; serve()"]
        # A session of its own: who interrupts the loop in a terminal does not mean the page.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self.sim, self.steps = sim, 0
        self._latest: dict[str, Any] | None = None
        self._news = threading.Condition()
        self._closed = False
        state = sim.state()
        begin = {"about": about.describe(sim), "q": state.q, "v": state.v, "host": host, "port": port, "token": token}
        send(self.process.stdin, begin)
        answer = receive(self.process.stdout)
        if answer is None:
            raise RuntimeError("the page's process ended before it had begun")
        if isinstance(answer, Exception):
            self.process.wait()
            raise answer
        self.url: str = answer
        self._thread = threading.Thread(target=self._pass_on, name="taut watch", daemon=True)
        self._tape = _Tape(1, 1 / RATE, self._take, latest=True)
        sim._attach(self._tape)
        self._thread.start()
        atexit.register(self.close)
        _alive.add(self)
        if browser:
            webbrowser.open(self.url)

    def _take(self, piece: dict[str, np.ndarray]) -> None:
        """Of the steps since the last time only the last one is shown; if the page is slow it misses some."""
        self.steps += piece["counted"]
        piece["after"] = self.steps
        with self._news:
            self._latest = piece  # the page makes a frame of it: every microsecond here is the loop's
            self._news.notify()

    def _pass_on(self) -> None:
        while not self._closed:
            with self._news:
                if self._latest is None:
                    self._news.wait(2 / RATE)
            if self._latest is None and not self._closed:
                self._tape.catch_up(self.sim)  # the loop rests, on steps that were only counted
            if not self._send_latest():
                return

    def _send_latest(self) -> bool:
        """False if the page is gone; the simulation goes on."""
        with self._news:
            piece, self._latest = self._latest, None
        if piece is not None:
            try:
                send(self.process.stdin, piece)
            except OSError:
                return False
        return True

    def wait(self) -> None:
        """Until somebody interrupts, or the page has ended: there is more to look at than the loop had time for."""
        with contextlib.suppress(KeyboardInterrupt):
            self.process.wait()

    def close(self) -> None:
        """Show the last step and end the page. The simulator goes on without it."""
        if self._closed:
            return
        atexit.unregister(self.close)
        self.sim._detach(self._tape)
        with self._news:
            self._closed = True
            self._news.notify()
        self._thread.join()
        self._tape.catch_up(self.sim)
        self._send_latest()
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


_alive: weakref.WeakSet[Watch] = weakref.WeakSet()


def _leave_to_parent() -> None:
    """A process that is forked off is not watched: the page is its parent's, and so is the thread that talks to it."""
    for watch in list(_alive):
        atexit.unregister(watch.close)
        watch.sim._detach(watch._tape)
        watch._closed = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


class WatchPlayer(Remembering):
    """Shows what arrives, and looks back for a minute."""

    def __init__(self, metadata: dict[str, Any], q: np.ndarray, v: np.ndarray) -> None:
        super().__init__()
        self.scene, self.dt = about.restore_scene(metadata), metadata["options"]["dt"]
        self.scene.q0 = q
        self.frame = Frame.start(q, v)
        self.pace = Pace()
        self.history = deque([self.frame])
        self.playing = True
        self.arrived = time.perf_counter()

    def arrive(self, piece: dict[str, Any]) -> None:
        frame = Frame.of_piece(piece, self.dt, piece["after"] * self.dt)
        frame.step_us = 1e6 * piece["seconds"] / piece["counted"]
        frame.energy = float(mechanical_energy(self.scene, frame.q, frame.v))
        now = time.perf_counter()
        with self.lock:
            self.real_time_factor = self.pace.note(now, frame.t)
            self.arrived = now
            self.remember(frame)

    def tick(self, elapsed: float) -> None:
        with self.lock:
            if self.playing:
                self.frame = self.history[-1]
            if time.perf_counter() - self.arrived > 0.5:  # the loop rests
                self.real_time_factor, self.pace = 0.0, Pace()

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
    player = WatchPlayer(begin["about"], begin["q"], begin["v"])
    try:
        page = Page(player, begin["host"], begin["port"], begin["about"]["name"] or "taut", begin["token"])
    except ValueError as error:
        send(sys.stdout.buffer, error)
        return
    with page:
        send(sys.stdout.buffer, page.url)
        while (piece := receive(sys.stdin.buffer)) is not None:
            player.arrive(piece)
