"""Who may talk to the viewer's server.

A browser lets pages of all sites open connections to this machine: `Origin` and `Host` tell those from ours. Who is not
at this machine has to know a token. What remains are limits, so that neither silence nor noise keeps others out.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hmac
import ipaddress
import logging
import os
import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlencode

import viser
from websockets.http11 import Request, Response

from .visitor import HEAD, Visitor

CLIENTS = 32  # pages at once
PER_ADDRESS = 8  # of them, of another machine
CROWD = 64  # connections that have not asked yet, and as many that are being answered
PING, PONG = 20.0, 20.0  # s between questions whether somebody is there, and for the answer
SIZE = 1 << 16  # bytes of a message: a page's own have some hundreds
PICTURE = 50 << 20  # of those of a browser that draws for us

HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::\d{1,5})?")
PATH = re.compile(r"/[A-Za-z0-9_./-]*")
VERSION = re.compile(r"viser-v[0-9A-Za-z.+-]{1,32}")
TOKEN = re.compile(r"[A-Za-z0-9_-]{16,128}")
TOKEN_VARIABLE, RANDOM = "TAUT_VIEW_TOKEN", "random"
# In the address of viser's page. Not among them: `websocket` and `playbackPath`, by which a link could let somebody
# else's server speak to our page, and so to us.
PARAMETERS = {"fixedDpr", "darkMode", "showStats", "logCamera", "hideViserLogo", "forceOrbitOriginTool"}
PARAMETERS |= {f"initialCamera{what}" for what in ("Position", "LookAt", "Up", "Fov", "Near", "Far")}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*",
}


def is_loopback(address: str) -> bool:
    """Of this machine alone."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def checked_token(token: str | None, address: str) -> str | None:
    """As given, or by the environment; a new one for "random", and for None where others than this machine can come."""
    token = token or os.environ.get(TOKEN_VARIABLE) or None
    if token is None and is_loopback(address):
        return None
    if token is None or token == RANDOM:
        return secrets.token_urlsafe(24)
    if not TOKEN.fullmatch(token):
        raise ValueError(f"token has {len(token)} characters, it must be 16 to 128 of A-Z, a-z, 0-9, - and _")
    return token


class Guard:
    """Stands at the door of one server, in the server's thread."""

    def __init__(self, host: str, address: str, port: int, token: str | None, draws: bool = False) -> None:
        """address: what `host` is. draws: the only client is a browser of ours, and sends pictures."""
        self.address, self.port, self.token, self.draws = address, port, token, draws
        self.names = {"localhost", host.lower(), address}
        self.waiting: dict[Visitor, None] = {}  # the oldest first, as in the others
        self.answered: dict[Visitor, None] = {}
        self.clients: dict[Visitor, None] = {}
        self.page: viser.ViserServer | None = None  # once it is there
        self.thread: threading.Thread | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.closed = False

    # --- the server

    def serve(self, serve: Callable[..., Any], handler: Callable[..., Any], **options: Any) -> Any:
        """As `serve`, which is that of websockets, with us at the door."""
        self.thread, self.loop = threading.current_thread(), asyncio.get_running_loop()
        self.files = options.get("process_request")
        version = f"viser-v{viser.__version__}"

        async def handle(visitor: Visitor) -> None:
            if visitor.subprotocol == version:
                await handler(visitor)
            else:  # viser's page knows this code
                await visitor.close(1002, f"Version mismatch. Client: {visitor.subprotocol}, Server: {version}")

        # Of its own: what is asked for may have a token in it.
        logger = logging.Logger("taut.view", logging.CRITICAL + 1)
        ours = {
            "process_request": self._process_request,
            "process_response": self._process_response,
            "create_connection": functools.partial(Visitor, self),
            "server_header": None,
            "open_timeout": 2 * HEAD,
            "close_timeout": 2 * HEAD,
            "ping_interval": PING,
            "ping_timeout": PONG,
            "max_size": PICTURE if self.draws else SIZE,
            "max_queue": 16,
            "logger": logger,
        }
        return serve(handle, **{**options, **ours})

    def close(self) -> None:
        """From any thread. Everybody has to leave: who is silent would be waited for."""
        self.closed = True
        if self.loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self.loop.call_soon_threadsafe(self._send_away)

    def _send_away(self) -> None:
        for visitor in (*self.waiting, *self.answered, *self.clients):
            visitor.leave()

    def control(self, uuid: str) -> Any:
        """A button, slider ... of the panel."""
        return self.page.gui._gui_input_handle_from_uuid.get(uuid)

    async def worked_off(self) -> None:
        """When what was handed to the program's threads until now has begun."""
        await asyncio.get_running_loop().run_in_executor(self.page._thread_executor, lambda: None)

    # --- visitors

    def came(self, visitor: Visitor) -> None:
        if self.closed:
            visitor.leave()
        self._enter(self.waiting, visitor)

    def asked(self, visitor: Visitor) -> None:
        self.waiting.pop(visitor, None)
        self._enter(self.answered, visitor)

    def left(self, visitor: Visitor) -> None:
        for group in (self.waiting, self.answered, self.clients):
            group.pop(visitor, None)

    @staticmethod
    def _enter(group: dict[Visitor, None], visitor: Visitor) -> None:
        """In a crowd the oldest leaves, of the address that most are from: a page that opens asks at once, and is
        answered at once."""
        if len(group) >= CROWD:
            address = Counter(one.address for one in group).most_common(1)[0][0]
            oldest = next(one for one in group if one.address == address)
            del group[oldest]
            oldest.leave()
        group[visitor] = None

    # --- requests

    def _process_request(self, visitor: Visitor, request: Request) -> Response | None:
        upgrade = "websocket" in [value.lower() for value in request.headers.get_all("Upgrade")]
        path, _, query = request.path.partition("?")
        if len(query) > 2048 or query.count("&") > 32:
            return visitor.respond(HTTPStatus.REQUEST_URI_TOO_LONG, "That is no address of this page.\n")
        asked = parse_qsl(query, keep_blank_values=True)
        if refusal := self._refusal(visitor, request, upgrade, path, asked):
            return visitor.respond(*refusal)
        if upgrade:
            self.answered.pop(visitor, None)
            self.clients[visitor] = None
            return None
        kept = [(key, value) for key, value in asked if key in PARAMETERS]
        if kept != asked:
            response = visitor.respond(HTTPStatus.SEE_OTHER, "")
            response.headers["Location"] = f"{path}?{urlencode(kept)}" if kept else path
            if self.token is not None:  # out of the address, which people copy and browsers remember
                cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Lax"
                response.headers["Set-Cookie"] = cookie
            return response
        return self.files(visitor, request)

    def _process_response(self, visitor: Visitor, request: Request, response: Response) -> None:
        for name, value in HEADERS.items():
            if name not in response.headers:
                response.headers[name] = value

    def _refusal(
        self, visitor: Visitor, request: Request, upgrade: bool, path: str, asked: list[tuple[str, str]]
    ) -> tuple[HTTPStatus, str] | None:
        if self.closed or self.page is None:
            return HTTPStatus.SERVICE_UNAVAILABLE, "The page is not there.\n"
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        named = HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if named is None:
            return HTTPStatus.BAD_REQUEST, "A request names one host.\n"
        # A name of somebody else's that leads to this machine makes his page one of the same origin.
        name = named[1].lower().strip("[]")
        if self.token is None and name not in self.names and not is_loopback(name):
            return HTTPStatus.FORBIDDEN, "This page is called localhost; under other names it needs a token.\n"
        # Browsers tell where a page is from; other programs need not.
        ours = {f"{scheme}://{hosts[0]}".lower() for scheme in ("http", "https")}
        if any(origin.lower() not in ours for origin in origins):
            return HTTPStatus.FORBIDDEN, "This is for pages of its own origin.\n"
        if self.token is not None and not self._knows_token(request, asked):
            return HTTPStatus.FORBIDDEN, "The address of this page has a token in it; its browser keeps a cookie.\n"
        if not PATH.fullmatch(path) or ".." in path or path.startswith("//"):
            return HTTPStatus.NOT_FOUND, "There is no such page.\n"
        if upgrade:
            versions = request.headers.get_all("Sec-WebSocket-Protocol")
            if len(versions) != 1 or not VERSION.fullmatch(versions[0]):
                return HTTPStatus.BAD_REQUEST, "Which viser is it?\n"
            return self._no_room(visitor)
        return None

    def _no_room(self, visitor: Visitor) -> tuple[HTTPStatus, str] | None:
        if len(self.clients) >= CLIENTS:  # a page says where its camera is as soon as it is there
            mute = [one for one in self.clients if not one.spoke and visitor.since - one.since > HEAD]
            for one in mute[:1]:
                del self.clients[one]
                one.leave()
        if len(self.clients) >= CLIENTS:
            return HTTPStatus.SERVICE_UNAVAILABLE, f"{CLIENTS} pages are open, which is the most: close one.\n"
        same = sum(one.address == visitor.address for one in self.clients)
        if same >= PER_ADDRESS and not is_loopback(visitor.address):
            return HTTPStatus.SERVICE_UNAVAILABLE, f"{PER_ADDRESS} pages are open at your machine: close one.\n"
        return None

    @property
    def cookie(self) -> str:
        """Its name; browsers keep those of all ports together."""
        return f"taut_view_{self.port}"

    def _knows_token(self, request: Request, asked: list[tuple[str, str]]) -> bool:
        return any([hmac.compare_digest(given.encode(), self.token.encode()) for given in self._given(request, asked)])

    def _given(self, request: Request, asked: list[tuple[str, str]]) -> Iterator[str]:
        yield from (value for key, value in asked if key == "token")
        for cookies in request.headers.get_all("Cookie"):
            for part in cookies.split(";"):
                name, _, value = part.strip().partition("=")
                if name == self.cookie:
                    yield value
