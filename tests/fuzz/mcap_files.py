"""Recordings in .mcap: records are changed, dropped, repeated, and their lengths and checksums put right."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

import taut

from .outcome import Outcome
from .recordings import flips, recording, use
from .scenes import Rng
from .xml_files import folder_for_files

INPUTS = 20
MAGIC = b"\x89MCAP0\r\n"
CHUNK, METADATA = 0x06, 0x0C


def run(seed: list[int], outcome: Outcome) -> None:
    with folder_for_files() as folder:
        for place in range(outcome.first, INPUTS):
            rng = np.random.default_rng([*seed, place])
            data = recording("mcap", bool(rng.uniform() < 0.4))
            with outcome.guard(place):
                path = Path(folder) / "file.mcap"
                path.write_bytes(hostile(rng, data))
                try:
                    found = taut.load_recording(path)
                except (ValueError, OSError) as error:
                    outcome.count("refused")
                    if path.name not in str(error):
                        outcome.finding("the error does not name the file", str(error)[:200], place)
                else:
                    outcome.count("read")
                    use(found)
            outcome.count("inputs")


def records(data: bytes) -> list[tuple[int, bytes]]:
    at, found = len(MAGIC), []
    while at + 9 <= len(data) and data[at:] != MAGIC:
        op, length = struct.unpack("<BQ", data[at : at + 9])
        found.append((op, data[at + 9 : at + 9 + length]))
        at += 9 + length
    return found


def hostile(rng: Rng, data: bytes) -> bytes:
    if rng.uniform() < 0.25:
        return flips(rng, data)
    found = records(data)
    for _ in range(int(rng.integers(1, 4))):
        i, j = (int(rng.integers(len(found))) for _ in range(2))
        how = rng.integers(7)
        op, content = found[i]
        if how == 0:
            del found[i]
        elif how == 1:
            found.insert(j, found[i])
        elif how == 2:
            found[i], found[j] = found[j], found[i]
        elif how == 3:
            found[i] = (int(rng.integers(0, 17)), content)
        elif op == CHUNK and how < 6:
            found[i] = (op, _chunk(rng, content))
        elif op == METADATA and len(content) > 40:
            found[i] = (op, _metadata(rng, content))
        elif content:
            found[i] = (op, flips(rng, content))
        if not found:
            break
    out = bytearray(MAGIC)
    for op, content in found:
        length = len(content)
        if rng.uniform() < 0.02:
            length = [0, length + 1, 2**32, 2**63, 2**64 - 1][rng.integers(5)]
        out += struct.pack("<BQ", op, length) + content
    return bytes(out + MAGIC)


def _chunk(rng: Rng, content: bytes) -> bytes:
    """What a chunk holds, changed; its size and checksum are right again."""
    head, rest = content[:16], content[28:]
    if len(rest) < 4:  # an earlier change left no chunk
        return flips(rng, content) if content else content
    (named,) = struct.unpack("<I", rest[:4])
    inner = bytearray(rest[4 + named + 8 :])
    if not inner:
        return content
    if rng.uniform() < 0.5:
        for i in rng.integers(0, len(inner), int(rng.integers(1, 10))):
            inner[i] = int(rng.integers(256))
    else:
        inner = bytearray(flips(rng, bytes(inner)))
    size, crc = len(inner), zlib.crc32(inner)
    return head + struct.pack("<QI", size, crc) + rest[: 4 + named] + struct.pack("<Q", size) + inner


def _metadata(rng: Rng, content: bytes) -> bytes:
    """Its JSON with a number or a bracket changed, and the checksum that stands beside it put right."""
    begin, end = content.find(b"{"), content.rfind(b"}") + 1
    if begin < 0 or end <= begin:
        return flips(rng, content)
    text = bytearray(content[begin:end])
    for i in rng.integers(0, len(text), int(rng.integers(1, 5))):
        text[i] = int(rng.choice(list(b'0123456789-eE.,:"[]{}nul')))
    new = bytes(text)
    out = content[: begin - 4] + struct.pack("<I", len(new)) + new + content[end:]
    old_crc, new_crc = f"{zlib.crc32(content[begin:end]):08x}".encode(), f"{zlib.crc32(new):08x}".encode()
    return out.replace(old_crc, new_crc)
