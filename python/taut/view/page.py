"""The page: a scene, its contacts, and the panel beside them."""

from __future__ import annotations

import contextlib
import threading
import time
import traceback

from .bodies import typical_weight
from .frame import Frame
from .guard import is_loopback
from .marks import Marks
from .panel import Panel
from .player import Player
from .server import LOCALHOST, close_server, open_server
from .stage import Stage

RATE = 30.0  # pictures a second


class Page:
    """Shows a player to every browser that asks, until it is closed. It moves in a thread of its own."""

    def __init__(
        self,
        player: Player,
        host: str = LOCALHOST,
        port: int = 8080,
        title: str = "taut",
        token: str | None = None,
    ) -> None:
        """The page is at `url`: at the next free port if `port` is taken; 0: any. Only this machine can reach it unless
        `host` is another address of it, "0.0.0.0" for all; then who looks must know the token that is part of `url`:
        the one given, that of $TAUT_VIEW_TOKEN, or a random one. A page for this machine alone has one if it is given;
        "random" makes it."""
        self.player = player
        self.server = open_server(host, port, title, token)
        self.stage = Stage(self.server, player.scene)
        weight = typical_weight(player.scene)
        self.marks = Marks(self.server, self.stage.size, weight)
        self.panel = Panel(self.server, player, self.stage, self.marks, weight)
        self.drawn: Frame | None = None
        self._draw()
        frames = player.frames
        self.stage.look_from_front(*(frame.q for frame in frames[:: max(1, len(frames) // 20)]))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="taut page", daemon=True)
        self._thread.start()

    @property
    def host(self) -> str:
        return str(self.server.get_host())

    @property
    def port(self) -> int:
        return self.server.get_port()

    @property
    def url(self) -> str:
        """Where it is, for a browser on this machine."""
        return self.url_at(_name(self.host))

    def url_at(self, name: str) -> str:
        """Where it is, for who calls this machine so."""
        token = self.server.guard.token
        return f"http://{name}:{self.port}" + ("" if token is None else f"/?token={token}")

    @property
    def open_to_others(self) -> bool:
        return not is_loopback(self.server.guard.address)

    def _run(self) -> None:
        before = time.perf_counter()
        while not self._ended.wait(max(0.0, before + 1 / RATE - time.perf_counter())):
            now = time.perf_counter()
            try:
                self.player.tick(now - before)
                self._draw()
                self.panel.error = None
            except Exception as error:  # whatever it was: a page that stands still for ever would not say so
                if self.panel.error is None:
                    traceback.print_exc()
                self.panel.error = f"{type(error).__name__}: {error}"
                self.player.pause()
                with contextlib.suppress(Exception):
                    self.panel.tell(self.player.frame)
            before = now

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
        self.marks.show_user(self.player.pushes, self.player.pulls)
        self.panel.update(frame)

    def play_when_seen(self) -> None:
        """Begin as soon as a browser looks: a fall is over before one has opened."""
        begun = threading.Event()

        @self.server.on_client_connect
        def _(_: object) -> None:
            if not begun.is_set():
                begun.set()
                self.player.play()

    def wait(self) -> None:
        """Until it is closed, or somebody interrupts."""
        with contextlib.suppress(KeyboardInterrupt):
            self._ended.wait()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        close_server(self.server)

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _name(host: str) -> str:
    """Of this machine, as it stands in an address."""
    if host in (LOCALHOST, "0.0.0.0", "::"):
        return "localhost"
    return f"[{host}]" if ":" in host else host
