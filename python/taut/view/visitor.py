"""A connection to the viewer's server, of which no more is heard than a page has to say."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode

from . import messages

if TYPE_CHECKING:
    from .guard import Guard

HEAD = 5.0  # s to ask for something
LAST = 1.0  # s to hear why it ends
FRAGMENTS = 64  # of a message
RATE, BURST = 200.0, 400.0  # messages a second that are heard, and at once; dragging sends 100
NOISE = 4.0  # times as many frames end the connection
IN_WORK = 16  # messages of a client that the program has not answered to


class Bucket:
    """Lets through so many a second, and a burst."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate, self.burst, self.level, self.filled = rate, burst, burst, now

    def take(self, now: float) -> float:
        """s to wait for this one; 0: none."""
        self.level = min(self.burst, self.level + self.rate * (now - self.filled)) - 1
        self.filled = now
        return max(0.0, -self.level / self.rate)


class Visitor(ServerConnection):
    """Has some seconds to ask for something; may then send so much, and only messages that make sense."""

    def __init__(self, guard: Guard, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.guard = guard
        self.address = ""
        self.spoke = False  # it has said something that makes sense
        now = self.loop.time()
        self.heard = Bucket(RATE, BURST, now)
        self.noise = Bucket(NOISE * RATE, NOISE * BURST, now)
        self.fragments = self.in_work = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if peer else ""
        super().connection_made(transport)
        self.since = self.loop.time()
        self.late = self.loop.call_later(HEAD, self.leave)
        self.guard.came(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.late.cancel()
        self.guard.left(self)
        super().connection_lost(error)

    def leave(self) -> None:
        """Now, without a word."""
        self.transport.abort()

    def process_event(self, event: Any) -> None:
        if self.request is None:
            self.late.cancel()
            self.guard.asked(self)
        elif not self.guard.draws and isinstance(event, Frame):
            # Frames without content escape the limits of size, and pings those of the queue.
            self.fragments = self.fragments + 1 if event.opcode is Opcode.CONT else 0
            if self.fragments > FRAGMENTS or self.noise.take(self.loop.time()):
                self.leave()
                return
        super().process_event(event)

    def send_data(self) -> None:
        """At once: answers to a thousand pings of somebody who has gone would be a thousand warnings."""
        pieces = self.protocol.data_to_send()
        if self.transport.is_closing():
            return
        if data := b"".join(pieces):
            self.transport.write(data)
        if b"" in pieces:  # the end
            with contextlib.suppress(OSError):
                self.transport.write_eof()

    async def recv(self, decode: bool | None = None) -> Any:
        """The next message that makes sense. One that none of our pages would send ends the connection."""
        while True:
            data = await super().recv(decode)
            if not self.guard.draws and (wait := self.heard.take(self.loop.time())):
                await asyncio.sleep(wait)
            try:
                message = messages.parse(data, self.guard.draws)
            except ValueError:
                await self._end(1008, "that is no message of this page")
                continue  # to be told that it is closed
            message = messages.checked(message, self.guard.control)
            if message is None or self.guard.closed:
                continue
            self.spoke = True
            if isinstance(message, messages.ACTS):
                await self._keep_up()
            return messages.packed(message)

    async def _end(self, code: int, reason: str) -> None:
        try:
            await asyncio.wait_for(self.close(code, reason), LAST)
        except asyncio.TimeoutError:
            self.leave()

    async def _keep_up(self) -> None:
        """Who acts faster than the program answers waits for it, so that nothing piles up."""
        self.in_work += 1
        if self.in_work >= IN_WORK:
            self.in_work = 0
            await self.guard.worked_off()
