"""viser's server, as quiet as the rest of taut."""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import socket

import viser

LOCALHOST = "127.0.0.1"
PORTS = 100  # to try, from the one that was asked for


def open_server(host: str = LOCALHOST, port: int = 0, title: str = "taut") -> viser.ViserServer:
    """At the next free port if `port` is taken; 0: any. Throws ValueError if there is none, or no such address of this
    machine: viser would wait for ever."""
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # browsers come and go
    free = _free_port(host, port)
    with contextlib.redirect_stdout(io.StringIO()):  # its banner; whoever makes a server tells where it is
        server = viser.ViserServer(host=host, port=free, label=title, verbose=False)
    # The button would open a tunnel for everybody to a page that is said to be this machine's own.
    server.gui.configure_theme(control_width="large", dark_mode=False, show_share_button=False)
    return server


def close_server(server: viser.ViserServer) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def _free_port(host: str, port: int) -> int:
    last = min(port + PORTS, 65536) if port else 1
    for candidate in range(port, last):
        try:
            address = socket.getaddrinfo(host, candidate, type=socket.SOCK_STREAM)[0]
            with socket.socket(address[0], socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
                probe.bind(address[4])
                return probe.getsockname()[1]
        except socket.gaierror:
            raise ValueError(f"host '{host}' is not an address of this machine") from None
        except PermissionError:
            continue
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise ValueError(f"host '{host}' is not an address of this machine") from None
    raise ValueError(f"no port is free from {port} to {last - 1} at {host}")
