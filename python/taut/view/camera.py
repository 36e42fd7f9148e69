"""Pictures of a page, by a browser without a window."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import viser

from .server import Server

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 120.0  # s: without a graphics card the first picture takes a while


def find_browser() -> str:
    """The program, or FileNotFoundError that says what to install; $BROWSER_PATH names another one."""
    named = os.environ.get("BROWSER_PATH")
    found = named or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise FileNotFoundError("pictures are drawn by Chromium, which is not installed (Debian: chromium)")
    return found


class Camera:
    """A browser that looks at a server; a context manager."""

    def __init__(self, server: Server, width: int, height: int, fine: int = 1) -> None:
        """fine: points along a side of a pixel, for edges without steps."""
        for name, value in (("width", width), ("height", height)):
            if not 16 <= value <= 8192:
                raise ValueError(f"{name} is {value}, it must be from 16 to 8192")
        self.server, self.width, self.height = server, width, height
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._log = open(Path(self._folder.name) / "log", "w")  # noqa: SIM115 - open for as long as the browser
        flags = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run"]
        flags += ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", f"--user-data-dir={self._folder.name}"]
        # What the page shows by itself nobody sees: it is small. Pictures are drawn apart from it, in their own size,
        # with `fine` points for each of theirs; left to itself the page would take fewer where it is slow.
        address = f"http://127.0.0.1:{server.get_port()}/?token={server.guard.token}&fixedDpr={fine}"
        command = [find_browser(), *flags, "--window-size=320,240", address]
        self.process = subprocess.Popen(command, stdout=self._log, stderr=self._log)
        self.client = self._connected()

    def _connected(self) -> viser.ClientHandle:
        deadline = time.monotonic() + PATIENCE
        while not (clients := self.server.get_clients()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self._stop()
                raise RuntimeError("the browser that was to draw pictures did not connect")
            time.sleep(0.05)
        client = next(iter(clients.values()))
        try:
            client.get_render(self.height, self.width, timeout=PATIENCE)  # while meshes are on their way
        except BaseException:
            self._stop()
            raise
        return client

    def shoot(self) -> np.ndarray:
        """(height, width, 3), on white."""
        picture = self.client.get_render(self.height, self.width, transport_format="png", timeout=PATIENCE)
        alpha = picture[..., 3:].astype(float) / 255
        return np.round(picture[..., :3] * alpha + 255 * (1 - alpha)).astype(np.uint8)

    def _stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()
        self._folder.cleanup()

    def __enter__(self) -> Camera:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()
