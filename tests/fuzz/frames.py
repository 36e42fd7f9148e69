"""Connections to the viewer's server that no page would make: bytes, requests, frames and messages.

`hostile_connections(seed)` goes on for ever; each of what it yields is a name and a function of (host, port), which
makes one connection and ends it, whatever the server does.
"""

from __future__ import annotations

import base64
import contextlib
import os
import random
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import viser

Attack = Callable[[str, int], None]
PATIENCE = 5.0  # s for the server to answer
VERSION = f"viser-v{viser.__version__}"


def request(host: str, port: int, path: str = "/", upgrade: bool = True, **headers: str | None) -> bytes:
    """Of a page of the server's own, unless headers say otherwise; None leaves one out."""
    name = f"[{host}]" if ":" in host else host
    lines = {"Host": f"{name}:{port}"}
    if upgrade:
        key = base64.b64encode(os.urandom(16)).decode()
        lines |= {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
        lines |= {"Sec-WebSocket-Key": key, "Sec-WebSocket-Protocol": VERSION, "Origin": f"http://{name}:{port}"}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
    return f"GET {path} HTTP/1.1\r\n{text}\r\n".encode()


def frame(payload: bytes, opcode: int = 2, final: bool = True, mask: bool = True, length: int | None = None) -> bytes:
    """As RFC 6455 has it, except where asked otherwise."""
    size = len(payload) if length is None else length
    head = bytes([opcode | (128 if final else 0)])
    flag = 128 if mask else 0
    if size < 126:
        head += bytes([flag | size])
    elif size < 1 << 16:
        head += bytes([flag | 126]) + struct.pack(">H", size)
    else:
        head += bytes([flag | 127]) + struct.pack(">Q", size)
    return head + (bytes(4) if mask else b"") + payload  # a mask of zeros


def answered(sock: socket.socket, limit: int = 1 << 16) -> bytes:
    """The head of an answer, and what came with it."""
    found = b""
    while b"\r\n\r\n" not in found and len(found) < limit:
        piece = sock.recv(4096)
        if not piece:
            break
        found += piece
    return found


def say(host: str, port: int, *pieces: bytes, listen: bool = False) -> None:
    """Send, and go."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), PATIENCE) as sock:
        for piece in pieces:
            sock.sendall(piece)
        if listen:
            sock.settimeout(0.05)
            answered(sock)


def open_page(host: str, port: int, path: str = "/", **headers: str | None) -> socket.socket:
    """A WebSocket as the page opens it; ConnectionRefusedError if it is refused."""
    sock = socket.create_connection((host, port), PATIENCE)
    try:
        sock.sendall(request(host, port, path, **headers))
        answer = answered(sock)
        if b" 101 " not in answer.split(b"\r\n", 1)[0]:
            raise ConnectionRefusedError(answer.decode(errors="replace"))
    except BaseException:
        sock.close()
        raise
    return sock


def say_inside(host: str, port: int, *pieces: bytes, listen: bool = True) -> None:
    """After a handshake as a page does it."""
    with contextlib.suppress(OSError), open_page(host, port) as sock:
        for piece in pieces:
            sock.sendall(piece)
        if listen:
            sock.settimeout(0.05)
            sock.recv(1 << 16)


def camera(**changes: Any) -> dict[str, Any]:
    """What a page says first."""
    usual = {
        "type": "ViewerCameraMessage",
        "wxyz": [1.0, 0.0, 0.0, 0.0],
        "position": [1.0, 1.0, 1.0],
        "fov": 0.8,
        "near": 0.01,
        "far": 1000.0,
        "image_height": 600,
        "image_width": 800,
        "look_at": [0.0, 0.0, 0.0],
        "up_direction": [0.0, 0.0, 1.0],
    }
    return usual | changes


def drag(name: str, phase: str = "start", **changes: Any) -> dict[str, Any]:
    usual = {
        "type": "SceneNodeDragMessage",
        "phase": phase,
        "name": name,
        "instance_index": None,
        "start_position": [0.0, 0.0, 0.0],
        "start_screen_pos": [0.5, 0.5],
        "end_position": [0.1, 0.0, 0.0],
        "end_screen_pos": [0.5, 0.5],
        "button": "left",
        "modifier": "cmd/ctrl",
        "owner": "",
    }
    return usual | changes


def sets(control: str, **updates: Any) -> dict[str, Any]:
    """`control` is its uuid."""
    return {"type": "GuiUpdateMessage", "uuid": control, "updates": updates}


def pack(message: Any) -> bytes:
    return msgspec.msgpack.encode(message)


# --- what is wrong with them

NUMBERS = (-1, 1 << 63, float("nan"), float("inf"), -1e308)
WRONG = (None, True, *NUMBERS, "", "x" * 3000, b"\0" * 100, [], [[[]]], {}, {"": 0})
KINDS = ("ShareUrlRequest", "ShareUrlDisconnect", "ResetGuiMessage", "Message", "nothing", "")


def wrong_message(rng: random.Random, uuids: list[str]) -> Any:
    """One of viser's messages, with fields of other types, too many, too few; or none of them."""
    uuid = rng.choice([*uuids, "no-such-control", ""])
    attributes = ("value", "update_cb", "sync_cb", "removed", "uuid", "props", "_markdown", "__class__", "disabled")
    kind = rng.randrange(8)
    if kind == 0:
        whole = camera()
        return whole | {rng.choice(list(whole)): rng.choice(WRONG)}
    if kind == 1:
        body = rng.choice(["/world/bodies", "/", "/world", "x" * 5000])
        whole = drag(body, rng.choice(["start", "update", "end", "?"]))
        return whole | {rng.choice(list(whole)): rng.choice(WRONG)}
    if kind == 2:
        return sets(uuid) | {"updates": {rng.choice(attributes): rng.choice(WRONG)}}
    if kind == 3:
        whole = camera()
        del whole[rng.choice(list(whole))]
        return whole
    if kind == 4:
        return {"type": rng.choice(KINDS)}
    if kind == 5:
        return {
            "type": "FileTransferStartUpload",
            "source_component_uuid": uuid,
            "transfer_uuid": str(rng.random()),
            "filename": "../../x",
            "mime_type": "",
            "part_count": 1 << 40,
            "size_bytes": 1 << 40,
        }
    if kind == 6:
        return {"type": "RunJavascriptMessage", "source": "alert(1)"}
    return rng.choice(WRONG)


def deep(depth: int) -> bytes:
    """A list in a list in a list ..."""
    return b"\x91" * depth + b"\xc0"


def requests(rng: random.Random, host: str, port: int) -> dict[str, list[bytes]]:
    """What is sent before a handshake, in pieces."""
    noise = rng.randbytes(rng.randrange(1, 3000))
    paths = ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/..\\..", "/%00", "/C:/x"]
    names = ("evil.example", "", "a b", "[", "@")
    version = rng.choice(["viser-v0.0.0", "viser-v[/red]", "\x1b[31m", "x" * 5000, VERSION + ", " + VERSION])
    whole = request(host, port)
    return {
        "noise": [noise],
        "nothing": [],
        "half a request": [whole[: rng.randrange(1, len(whole))]],
        "headers without end": [b"GET / HTTP/1.1\r\n", b"X: y\r\n" * rng.randrange(1, 400)],
        "a long line": [b"GET /" + b"a" * rng.randrange(20000) + b" HTTP/1.1\r\n\r\n"],
        "a body": [b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n", noise],
        "another method": [b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"],
        "another path": [request(host, port, rng.choice(paths), upgrade=rng.random() < 0.5)],
        "another site": [request(host, port, Origin=rng.choice(["http://evil.example", "null", "file://", ""]))],
        "another name": [request(host, port, upgrade=rng.random() < 0.5, Host=rng.choice(names))],
        "two names": [whole[:-2] + b"Host: evil.example\r\n\r\n"],
        "another version": [request(host, port, Sec_WebSocket_Protocol=version)],
        "another key": [request(host, port, Sec_WebSocket_Key=rng.choice(["", "x", "=" * 24]))],
        "bytes in headers": [whole[:-2] + b"X: " + noise.replace(b"\n", b"") + b"\r\n\r\n"],
    }


def frames(rng: random.Random, uuids: list[str]) -> dict[str, list[bytes]]:
    """What is sent after one."""
    noise = rng.randbytes(rng.randrange(1, 3000))
    whole = frame(pack(camera()))
    some = [frame(pack(camera()))] if rng.random() < 0.5 else []
    return {
        "noise as frames": [noise],
        "noise as a message": [*some, frame(noise)],
        "a text": [*some, frame(b"hello", opcode=1)],
        "half a frame": [*some, whole[: rng.randrange(1, len(whole))]],
        "no mask": [frame(pack(camera()), mask=False)],
        "an opcode of nobody": [frame(b"", opcode=rng.choice([3, 4, 5, 6, 7, 11, 15]))],
        "a large frame": [frame(b"x", length=rng.choice([1 << 17, 1 << 31, 1 << 62, (1 << 64) - 1]))],
        "a large message": [frame(bytes(1 << 17))],
        "fragments without end": [frame(b"", final=False), frame(b"", opcode=0, final=False) * 2000],
        "a fragment of nothing": [frame(b"x", opcode=0)],
        "pings": [frame(b"x" * 125, opcode=9) * 2000],
        "a long ping": [frame(b"x" * 126, opcode=9)],
        "a wrong close": [frame(rng.choice([b"\0", b"\x03", struct.pack(">H", 5) + b"\xff"]), opcode=8)],
        "depth": [*some, frame(deep(rng.randrange(1, 60000)))],
        "large lists": [*some, frame(b"\xdd\xff\xff\xff\xff" + noise)],
        "wrong messages": [*some, *(frame(pack(wrong_message(rng, uuids))) for _ in range(rng.randrange(1, 20)))],
        "many cameras": [frame(pack(camera(fov=rng.random()))) * rng.randrange(1, 200)],
    }


def hostile_connections(seed: int, uuids: list[str] | None = None) -> Iterator[tuple[str, Attack]]:
    """Names and functions of (host, port), without end; `uuids` are those of the page's controls, if they are known."""
    rng = random.Random(seed)
    before, after = sorted(requests(rng, "localhost", 0)), sorted(frames(rng, []))
    while True:
        name = rng.choice(before + after)
        number = rng.randrange(1 << 60)  # of what it says: the same whatever the address

        def attack(host: str, port: int, name: str = name, number: int = number) -> None:
            own = random.Random(number)
            listen = own.random() < 0.7
            if name in before:
                say(host, port, *requests(own, host, port)[name], listen=listen)
            else:
                say_inside(host, port, *frames(own, uuids or [])[name], listen=listen)

        yield name, attack
