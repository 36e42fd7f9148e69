"""viser's server, as quiet as the rest of taut, with a guard at its door."""

from __future__ import annotations

import contextlib
import errno
import io
import socket
import threading
from collections.abc import Iterator
from typing import Any

import viser
import websockets.asyncio.server

from .guard import Guard, checked_token

LOCALHOST = "127.0.0.1"
PORTS = 100  # to try, from the one that was asked for
PATIENCE = 10.0  # s for its thread to end


class Server(viser.ViserServer):
    """`guard` is asked about everybody who comes."""

    guard: Guard

    def __init__(self, host: str, listener: socket.socket, title: str, guard: Guard) -> None:
        self.guard = guard
        with _guarded(), contextlib.redirect_stdout(io.StringIO()):  # whoever makes a server tells where it is
            super().__init__(host=_Door(host, listener, guard), port=guard.port, label=title, verbose=False)
        if guard.thread is None:
            super().stop()
            raise RuntimeError(f"viser {viser.__version__} opens its server in a way that cannot be guarded")
        # The button would open a tunnel for everybody to a page that is said to be this machine's own.
        self.gui.configure_theme(control_width="large", dark_mode=False, show_share_button=False)
        guard.page = self

    def stop(self) -> None:
        self.guard.close()
        with contextlib.redirect_stdout(io.StringIO()):
            super().stop()
        if self.guard.thread is not None and self.guard.thread is not threading.current_thread():
            self.guard.thread.join(PATIENCE)


def open_server(
    host: str = LOCALHOST, port: int = 0, title: str = "taut", token: str | None = None, draws: bool = False
) -> Server:
    """At the next free port if `port` is taken; 0: any. Who comes must know the token, as in `checked_token`. Throws
    ValueError if no port is free, or there is no such address of this machine: viser would wait for ever."""
    listener = _listener(host, port)
    try:
        address, free = listener.getsockname()[:2]
        return Server(host, listener, title, Guard(host, address, free, checked_token(token, address), draws))
    except BaseException:
        listener.close()
        raise


def close_server(server: Server) -> None:
    server.stop()


class _Door(str):
    """A host by which a server is told from those of others in the same process."""

    def __new__(cls, host: str, listener: socket.socket, guard: Guard) -> _Door:
        door = super().__new__(cls, host)
        door.listener, door.guard = listener, guard
        return door


_replacing = threading.Lock()


@contextlib.contextmanager
def _guarded() -> Iterator[None]:
    """viser calls this function of websockets with options of its own, and has none for ours."""
    with _replacing:
        serve = websockets.asyncio.server.serve

        def guarded(handler: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
            if isinstance(host, _Door):
                return host.guard.serve(serve, handler, sock=host.listener, **options)
            return serve(handler, host, port, **options)

        websockets.asyncio.server.serve = guarded
        try:
            yield
        finally:
            websockets.asyncio.server.serve = serve


def _listener(host: str, port: int) -> socket.socket:
    last = min(port + PORTS, 65536) if port else 1
    for candidate in range(port, last):
        try:
            family, *_, address = socket.getaddrinfo(host, candidate, type=socket.SOCK_STREAM)[0]
            return socket.create_server(address, family=family, backlog=128)
        except (socket.gaierror, UnicodeError):
            raise ValueError(f"host '{host}' is not an address of this machine") from None
        except PermissionError:
            continue
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise ValueError(f"host '{host}' is not an address of this machine") from None
    raise ValueError(f"no port is free from {port} to {last - 1} at {host}")
