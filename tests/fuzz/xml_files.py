"""URDF and MJCF files that are changed where it hurts: numbers to extremes, elements and attributes swapped, removed,
repeated, nested, references broken, meshes spoiled, text cut. A reader says ValueError or OSError, or reads; what it
read then steps or is refused."""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import struct
import xml.etree.ElementTree as ET
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import taut

from .outcome import Outcome
from .scenes import Rng
from .seeds import MESHES, MJCF, URDF

INPUTS = 20  # of a case
SLOW = 10.0  # s of the processor: an input that takes more is told of; hostile files are to end within one
NUMBERS = (
    "0 -0 1 -1 nan -nan inf -inf 1e308 -1e308 1e-308 5e-324 1e400 1e16 65536 2147483647 2147483648 -2147483649 "
    "4294967296 18446744073709551616 0x10 1e 1.5.2 1,5 ½ true null 1e-9 1e9 1e5 3.14159 180 0.0001 -0.5 "
)
WORDS = [
    "",
    " ",
    "world",
    "x" * 5000,
    "../../../../etc/passwd",
    "/dev/zero",
    "%s%n",
    "\u202e",
    "a b",
    "0",
    "box",
    "free",
]


def _number(rng: Rng) -> str:
    numbers = NUMBERS.split()
    return numbers[rng.integers(len(numbers))]


def run_urdf(seed: list[int], outcome: Outcome) -> None:
    _run(seed, outcome, "urdf")


def run_mjcf(seed: list[int], outcome: Outcome) -> None:
    _run(seed, outcome, "mjcf")


def _run(seed: list[int], outcome: Outcome, kind: str) -> None:
    with folder_for_files() as folder:
        for place in range(outcome.first, INPUTS):
            rng = np.random.default_rng([*seed, place])
            text, meshes = hostile(rng, kind)
            begun = _used()
            with outcome.guard(place):
                try_file(rng, Path(folder), kind, text, meshes, outcome, place)
            outcome.count("inputs")
            if _used() - begun > SLOW:
                outcome.finding(f"{kind} takes {_used() - begun:.0f} s", place=place)


def _used() -> float:
    """Seconds of the processor's time, those of processes that have ended included."""
    return sum(os.times()[:4])


def folder_for_files():
    """To look at the files of a case: TAUT_FUZZ_FOLDER=… python tests/fuzz replay …; the last input's stay there."""
    kept = os.environ.get("TAUT_FUZZ_FOLDER")
    return contextlib.nullcontext(kept) if kept else TemporaryDirectory()


def try_file(
    rng: Rng, folder: Path, kind: str, text: bytes, meshes: dict[str, bytes], outcome: Outcome, place: int
) -> None:
    path = folder / ("model.urdf" if kind == "urdf" else "model.xml")
    path.write_bytes(text)
    for name, content in meshes.items():
        (folder / name).write_bytes(content)
    options = {"floor": True} if rng.uniform() < 0.3 else {}
    try:
        scene = taut.load(path, **options)
    except (ValueError, OSError) as error:
        outcome.count("refused")
        if not str(error).strip():
            outcome.finding(f"{type(error).__name__} without a message", place=place)
        return
    outcome.count("read")
    try:
        sim = taut.Simulator(scene)
        q, v = scene.q0, np.zeros(scene.model.nv)
        for _ in range(3):
            step = sim.step(q, v)
            if step.report.status == "converged" and not (np.isfinite(step.q).all() and np.isfinite(step.v).all()):
                outcome.finding("silent NaN: converged", f"{kind} that was read", place)
            q, v = step.q, step.v
            if not np.isfinite(q).all():
                outcome.count("read, not finite after a step")
                return
    except ValueError:
        outcome.count("read, refused by the simulator")
        return
    outcome.count("read and stepped")


@functools.lru_cache(maxsize=1)
def _packaged() -> dict[str, list[bytes]]:
    data = Path(taut.__file__).parent / "scenes" / "data"
    return {
        "urdf": [path.read_bytes() for path in sorted(data.glob("*.urdf"))],
        "mjcf": [path.read_bytes() for path in sorted(data.glob("*.xml"))],
    }


def hostile(rng: Rng, kind: str) -> tuple[bytes, dict[str, bytes]]:
    """A file and its meshes."""
    own = [text.encode() for text in (URDF if kind == "urdf" else MJCF)]
    text = own[rng.integers(len(own))]
    if rng.uniform() < 0.05 and _packaged()[kind]:
        text = _packaged()[kind][rng.integers(len(_packaged()[kind]))]
    meshes = dict(MESHES)
    if rng.uniform() < 0.25:
        name = list(meshes)[rng.integers(len(meshes))]
        meshes[name] = spoiled_mesh(rng, name, meshes[name])
    how = rng.uniform()
    if how < 0.85:
        root = ET.fromstring(text)
        try:
            for _ in range(int(rng.integers(1, 5))):
                root = _change(rng, root)
            text = ET.tostring(root)
        except RecursionError:  # deep within deep
            text = _bomb(rng, kind)
        if rng.uniform() < 0.1:
            text = _spoiled_text(rng, text)
    elif how < 0.97:
        text = _spoiled_text(rng, text)
    else:
        text = _bomb(rng, kind)
    return text, meshes


def _change(rng: Rng, root: ET.Element) -> ET.Element:
    every = list(root.iter())
    parents = {child: parent for parent in every for child in parent}
    one = every[rng.integers(len(every))]
    other = every[rng.integers(len(every))]
    how = rng.integers(14)
    if how <= 4:  # a number, most often
        with_attributes = [e for e in every if e.attrib]
        if not with_attributes:
            return root
        e = with_attributes[rng.integers(len(with_attributes))]
        name = list(e.attrib)[rng.integers(len(e.attrib))]
        values = e.attrib[name].split() or [""]
        values[rng.integers(len(values))] = _number(rng)
        more = rng.uniform()
        if more < 0.08:
            values = values * int(rng.integers(2, 50))
        elif more < 0.16:
            values = values[: int(rng.integers(len(values)))]
        e.attrib[name] = " ".join(values)
    elif how == 5 and one.attrib:
        del one.attrib[list(one.attrib)[rng.integers(len(one.attrib))]]
    elif how == 6 and other.attrib:
        name = list(other.attrib)[rng.integers(len(other.attrib))]
        one.attrib[name] = other.attrib[name]
    elif how == 7 and one in parents:
        parents[one].remove(one)
    elif how == 8 and one in parents:
        for _ in range(int(rng.integers(1, 4))):
            parents[one].append(copy.deepcopy(one))
    elif how == 9:
        other.append(copy.deepcopy(one) if len(list(one.iter())) < 50 else ET.Element(one.tag))
    elif how == 10:
        one.tag = other.tag
    elif how == 11 and one.attrib:  # a reference or a word
        name = list(one.attrib)[rng.integers(len(one.attrib))]
        names = [e.attrib[k] for e in every for k in ("name", "link", "joint", "mesh", "body1") if k in e.attrib]
        one.attrib[name] = (
            names[rng.integers(len(names))] if names and rng.uniform() < 0.7 else WORDS[rng.integers(len(WORDS))]
        )
    elif how == 12 and one in parents and rng.uniform() < 0.3:  # deep
        deep = inner = ET.Element(one.tag, one.attrib)
        for _ in range(int(rng.choice([10, 100, 600]))):
            inner.append(ET.Element(one.tag, one.attrib))
            inner = inner[0]
        parents[one].append(deep)
    elif how == 13 and one in parents and other in parents and one is not other:
        a, b = parents[one], parents[other]
        if one not in other.iter() and other not in one.iter():
            i, j = list(a).index(one), list(b).index(other)
            a[i], b[j] = copy.deepcopy(other), copy.deepcopy(one)
    return root


def _spoiled_text(rng: Rng, text: bytes) -> bytes:
    data = bytearray(text or b" ")
    how = rng.integers(6)
    at = int(rng.integers(len(data)))
    if how == 0:
        return bytes(data[:at])
    if how == 1:
        for i in rng.integers(0, len(data), int(rng.integers(1, 20))):
            data[i] = rng.integers(256)
    elif how == 2:
        data[at:at] = bytes(rng.integers(0, 256, int(rng.integers(1, 200)), dtype=np.uint8))
    elif how == 3:
        end = min(len(data), at + int(rng.integers(1, 300)))
        data[at:at] = data[at:end] * int(rng.integers(1, 5))
    elif how == 4:
        return b"\xff\xfe" + text.decode(errors="replace").encode("utf-16-le")
    else:
        data[at : at + int(rng.integers(1, 300))] = b""
    return bytes(data)


def _bomb(rng: Rng, kind: str) -> bytes:
    root = b"robot" if kind == "urdf" else b"mujoco"
    how = rng.integers(5)
    if how == 0:
        entities = b'<!ENTITY a "aaaaaaaaaa">' + b"".join(
            b'<!ENTITY %c "%s">' % (98 + k, b"&%c;" % (97 + k) * 10) for k in range(9)
        )
        return b"<!DOCTYPE x [" + entities + b"]><" + root + b' name="&j;"/>'
    if how == 1:
        return b"<" + root + b">" + b"<body>" * 3000 + b"</body>" * 3000 + b"</" + root + b">"
    if how == 2:
        return b"<" + root + b' model="' + b"x" * 2_000_000 + b'"/>'
    if how == 3:
        return (
            b'<mujoco><asset><hfield name="h" nrow="65536" ncol="65536" size="1 1 1 1"/></asset><worldbody>'
            b'<geom type="hfield" hfield="h"/></worldbody></mujoco>'
        )
    return b'<mujoco><include file="model.xml"/></mujoco>'


def spoiled_mesh(rng: Rng, name: str, content: bytes) -> bytes:
    how = rng.integers(6)
    if how == 0:
        return content[: int(rng.integers(len(content)))]
    if how == 1:
        return b""
    if how == 2:
        return _spoiled_text(rng, content)
    if how == 3 and name.endswith(".obj"):  # flat, a line, a point
        axis = int(rng.integers(3))
        lines = []
        for line in content.decode(errors="replace").splitlines():
            words = line.split()
            if words and words[0] == "v":
                words[1 + axis] = "0"
                if rng.uniform() < 0.2:
                    words[1 + (axis + 1) % 3] = "0"
            lines.append(" ".join(words))
        return "\n".join(lines).encode()
    if name.endswith(".obj"):
        words = content.decode(errors="replace").split(" ")
        for _ in range(int(rng.integers(1, 4))):
            words[rng.integers(len(words))] = _number(rng)
        return " ".join(words).encode()
    data = bytearray(content)  # binary STL: the number of triangles, or a vertex
    if how == 4:
        data[80:84] = struct.pack("<I", int(rng.choice([0, 1, 2**31, 2**32 - 1])))
    elif len(data) > 100:
        at = 84 + 4 * int(rng.integers((len(data) - 88) // 4))
        data[at : at + 4] = struct.pack("<f", float(rng.choice([np.nan, np.inf, 3e38, 1e-45, 0.0])))
    return bytes(data)
