"""The page: a scene, its contacts, and the panel beside them."""

from __future__ import annotations

import contextlib
import io
import logging
import threading
import time

import numpy as np
import viser

from .frame import Frame
from .marks import Marks
from .panel import Panel
from .player import Player
from .stage import Stage

RATE = 30.0  # pictures a second
LOCALHOST = "127.0.0.1"


class Page:
    """Shows a player to every browser that asks, until it is closed. It moves in a thread of its own."""

    def __init__(self, player: Player, host: str = LOCALHOST, port: int = 8080, title: str = "taut") -> None:
        """The page is at `url`: at the next free port if `port` is taken; 0: any. Only this machine can reach it unless
        `host` is another address of it, "0.0.0.0" for all."""
        self.player = player
        logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # browsers come and go
        with contextlib.redirect_stdout(io.StringIO()):  # viser's banner; whoever makes a page tells where it is
            self.server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
        self.server.gui.configure_theme(control_width="large", dark_mode=False)
        self.stage = Stage(self.server, player.scene)
        gravity = float(np.linalg.norm(player.scene.gravity)) or 9.81
        mass = sum(inertia.mass for inertia in player.scene.model.inertias[1:]) or 1.0
        self.marks = Marks(self.server, self.stage.size, gravity * mass)
        self.panel = Panel(self.server, player, self.stage, self.marks, weight=gravity * mass)
        self.drawn: Frame | None = None
        self._draw()
        frames = player.frames
        self.stage.look_from_front(*(frame.q for frame in frames[:: max(1, len(frames) // 20)]))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="taut page", daemon=True)
        self._thread.start()

    @property
    def host(self) -> str:
        return self.server.get_host()

    @property
    def port(self) -> int:
        return self.server.get_port()

    @property
    def url(self) -> str:
        """Where it is, for a browser on this machine."""
        return f"http://{'localhost' if self.host in (LOCALHOST, '0.0.0.0') else self.host}:{self.port}"

    def _run(self) -> None:
        before = time.perf_counter()
        while not self._ended.wait(max(0.0, before + 1 / RATE - time.perf_counter())):
            now = time.perf_counter()
            self.player.tick(now - before)
            before = now
            self._draw()

    def _draw(self) -> None:
        """What changed since the last picture."""
        frame = self.player.frame
        if frame is not self.drawn or self.panel.changed:
            self.panel.changed = False
            with self.server.atomic():
                self.stage.place(frame.q)
                self.stage.follow(self.panel.followed)
                self.marks.show(frame)
            self.drawn = frame
        self.panel.update(frame)

    def wait(self) -> None:
        """Until it is closed, or somebody interrupts."""
        with contextlib.suppress(KeyboardInterrupt):
            self._ended.wait()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
