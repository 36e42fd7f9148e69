"""Zip files by hand, members stored: with a scan of the local headers for a file whose directory was never written,
and arrays aligned so that numpy can use them where they are. Sizes are always 64 bits.
[APPNOTE.TXT of PKWARE, 4.3 and 4.5.3]"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass

LOCAL = struct.Struct("<4s5H3I2H")
CENTRAL = struct.Struct("<4s6H3I5H2I")
END_64 = struct.Struct("<4sQ2H2I4Q")
LOCATOR_64 = struct.Struct("<4sIQI")
END = struct.Struct("<4s4H2IH")
MAX = 0xFFFFFFFF
ALIGNMENT = 64
PADDING_ID = 0xD935  # of Android's zipalign: an extra field to be ignored
DATE = (46 << 9) | (1 << 5) | 1  # 2026-01-01: the same run gives the same bytes


@dataclass(frozen=True)
class Member:
    name: str
    offset: int  # of its local header
    begin: int  # of its content
    end: int
    crc: int


def local_header(name: str, size: int, crc: int, offset: int) -> bytes:
    """What stands before a member at `offset`, padded so that its content is aligned."""
    text = name.encode()
    unpadded = offset + LOCAL.size + len(text) + 20 + 4
    padding = -unpadded % ALIGNMENT
    extra = struct.pack("<2H2Q", 1, 16, size, size) + struct.pack("<2H", PADDING_ID, padding) + bytes(padding)
    return LOCAL.pack(b"PK\3\4", 45, 0, 0, 0, DATE, crc, MAX, MAX, len(text), len(extra)) + text + extra


def directory(members: list[Member], start: int) -> bytes:
    """The end of a file whose directory begins at `start`."""
    rows = []
    for member in members:
        text, size = member.name.encode(), member.end - member.begin
        extra = struct.pack("<2H3Q", 1, 24, size, size, member.offset)
        fields = (45, 45, 0, 0, 0, DATE, member.crc, MAX, MAX, len(text), len(extra), 0, 0, 0, 0, MAX)
        rows.append(CENTRAL.pack(b"PK\1\2", *fields) + text + extra)
    listed = b"".join(rows)
    count = len(members)
    end = start + len(listed)
    return (
        listed
        + END_64.pack(b"PK\6\6", END_64.size - 12, 45, 45, 0, 0, count, count, len(listed), start)
        + LOCATOR_64.pack(b"PK\6\7", 0, end, 1)
        + END.pack(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, MAX, MAX, 0)
    )


def read_directory(view: mmap.mmap) -> dict[str, Member] | None:
    """Members of a finished file by name, without .npy; None if it has no directory as `directory` makes it. Throws
    ValueError if the directory is not right."""
    tail = END_64.size + LOCATOR_64.size + END.size
    at = len(view) - tail
    if at < 0 or view[-END.size : -END.size + 4] != b"PK\5\6" or view[at : at + 4] != b"PK\6\6":
        return None
    *_, count, size, at = END_64.unpack(view[at : at + END_64.size])
    members, end = {}, at + size
    while at < end:
        fields = CENTRAL.unpack(view[at : at + CENTRAL.size])
        name_size, extra_size = fields[10], fields[11]
        at += CENTRAL.size
        name = view[at : at + name_size].decode()
        size, _, offset = struct.unpack("<3Q", view[at + name_size + 4 : at + name_size + 28])
        at += name_size + extra_size
        begin = _content(view, offset)
        if view[offset + LOCAL.size : offset + LOCAL.size + name_size].decode() != name:
            raise ValueError(f"its directory speaks of '{name}', which is not there")
        members[name.removesuffix(".npy")] = Member(name, offset, begin, begin + size, fields[7])
    if len(members) != count:
        raise ValueError(f"its directory has {len(members)} of {count} members")
    return members


def scan(view: mmap.mmap) -> tuple[dict[str, Member], str | None]:
    """Whole members of a file from its start, by name without .npy, and the name of one that is cut short, if any
    ('' if even its name is)."""
    members: dict[str, Member] = {}
    at = 0
    while view[at : at + 4] == b"PK\3\4":
        if at + LOCAL.size > len(view):
            return members, ""
        fields = LOCAL.unpack(view[at : at + LOCAL.size])
        name_at = at + LOCAL.size
        if name_at + fields[9] + 20 > len(view):
            return members, ""
        name = view[name_at : name_at + fields[9]].decode(errors="replace").removesuffix(".npy")
        kind, _, size = struct.unpack("<2HQ", view[name_at + fields[9] : name_at + fields[9] + 12])
        begin = _content(view, at)
        if kind != 1:  # a zip of somebody else
            return members, None
        if begin + size > len(view):
            return members, name
        members[name] = Member(name, at, begin, begin + size, fields[6])
        at = begin + size
    return members, None


def _content(view: mmap.mmap, offset: int) -> int:
    *_, name_size, extra_size = LOCAL.unpack(view[offset : offset + LOCAL.size])
    return offset + LOCAL.size + name_size + extra_size
