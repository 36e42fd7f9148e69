"""Files that ask for what no file should get, and what reading them is to say. Run as a program it reads one group:

python hostile.py GROUP FOLDER

It limits its own memory, and writes a line as it begins a case and one as it ends it: what brings it down has a name.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOM = 3 << 30  # bytes of address space beyond what the imports took
LOADS = "loads"

Case = tuple[Callable[[Path], Path], str]  # what makes it, and a regular expression of the error, or LOADS

SPHERE = '<sphere radius="0.1"/>'
BODY = '<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>'
BALL = '<geom size="1"/>'
TETRAHEDRON = "0 0 0  1 0 0  0 1 0  0 0 1"
LINK = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def mjcf(geom: str = '<geom size=".1"/>', *, asset: str = "", body: str = "", rest: str = "", world: str = "") -> str:
    return (
        f"<mujoco><asset>{asset}</asset><worldbody>{world}<body {body}><freejoint/>{BODY}{geom}</body></worldbody>"
        f"{rest}</mujoco>"
    )


def meshed(vertices: str, more: str = "") -> str:
    return mjcf('<geom type="mesh" mesh="m"/>', asset=f'<mesh name="m" vertex="{vertices}" {more}/>')


def jointed(joint: str = "<joint/>", rest: str = "") -> str:
    return f"<mujoco><worldbody><body>{joint}{BODY}</body></worldbody>{rest}</mujoco>"


def field(rows: str, columns: str, size: str = "1 1 1 1", elevation: str = "0 0 0 0") -> str:
    return mjcf(
        asset=f'<hfield name="h" nrow="{rows}" ncol="{columns}" size="{size}" elevation="{elevation}"/>',
        world='<geom type="hfield" hfield="h"/>',
    )


def urdf(
    geometry: str = SPHERE,
    *,
    joint: str = '<axis xyz="0 0 1"/>',
    limit: str = '<limit lower="-1" upper="1" effort="1" velocity="1"/>',
    kind: str = 'type="revolute"',
    inertial: str = LINK,
    name: str = "base",
) -> str:
    return (
        f'<robot name="r"><link name="{name}">{inertial}<collision><geometry>{geometry}</geometry></collision></link>'
        f'<link name="arm">{LINK}</link><joint name="hinge" {kind}><parent link="{name}"/><child link="arm"/>'
        f"{joint}{limit}</joint></robot>"
    )


def links(count: int, joints: list[tuple[int, int]], kind: str = "fixed") -> str:
    text = "".join(f'<link name="l{i}">{LINK}</link>' for i in range(count))
    for k, (parent, child) in enumerate(joints):
        text += f'<joint name="j{k}" type="{kind}"><parent link="l{parent}"/><child link="l{child}"/></joint>'
    return f'<robot name="r">{text}</robot>'


def stl(triangles: list, count: int | None = None) -> bytes:
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *np.ravel(t), 0) for t in triangles)
    return bytes(80) + struct.pack("<I", len(triangles) if count is None else count) + body


SQUARE = [((0, 0, 0), (1, 0, 0), (1, 1, 0)), ((0, 0, 0), (1, 1, 0), (0, 1, 0))]
CORNER = [((0, 0, 0), (1, 0, 0), (0, 1, 0)), ((0, 0, 0), (1, 0, 0), (0, 0, 1)), ((0, 0, 0), (0, 1, 0), (0, 0, 1))]
ON_A_LINE = [((0, 0, 0), (1, 0, 0), (2, 0, 0)), ((0, 0, 0), (1, 0, 0), (3, 0, 0))]


def text(name: str, content: str | bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def with_mesh(name: str, content: bytes, robot: str) -> Callable[[Path], Path]:
    """A robot of one mesh: `robot` is 'xml' or 'urdf'."""

    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return mesh_user(folder, name, robot)

    return make


def mesh_user(folder: Path, name: str, robot: str) -> Path:
    path = folder / f"{name}.{robot}"
    asset = mjcf('<geom type="mesh" mesh="m"/>', asset=f'<mesh name="m" file="{name}"/>')
    path.write_text(asset if robot == "xml" else urdf(f'<mesh filename="{name}"/>'))
    return path


def sparse(name: str, start: bytes, size: int, robot: str = "") -> Callable[[Path], Path]:
    """A file of that size that takes no room on the disk."""

    def make(folder: Path) -> Path:
        with open(folder / name, "wb") as file:
            file.write(start)
            file.truncate(size)
        return mesh_user(folder, name, robot) if robot else folder / name

    return make


def pipe(name: str, robot: str = "") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        os.mkfifo(folder / name)
        return mesh_user(folder, name, robot) if robot else folder / name

    return make


def included(count: int) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        for i in range(count):
            (folder / f"{i}.xml").write_text(f'<mujoco><include file="{i + 1}.xml"/></mujoco>')
        (folder / f"{count}.xml").write_text(mjcf())
        return folder / "0.xml"

    return make


def laughs(root: str, rest: str = "") -> str:
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    return f'<?xml version="1.0"?><!DOCTYPE z [<!ENTITY l0 "lol">{entities}]><{root} name="&l9;">{rest}</{root}>'


def nested(tag: str, depth: int) -> str:
    return f"<{tag}>" * depth + f"</{tag}>" * depth


COLLADA = (
    '<COLLADA version="1.4.1"><library_visual_scenes><visual_scene id="s">{}</visual_scene></library_visual_scenes>'
)
COLLADA += '<scene><instance_visual_scene url="#s"/></scene></COLLADA>'

MESHES: dict[str, Case] = {
    "flat, mjcf": (with_mesh("flat.stl", stl(SQUARE), "xml"), LOADS),
    "flat, urdf": (with_mesh("flat_.stl", stl(SQUARE), "urdf"), LOADS),
    "flat vertices": (text("a.xml", meshed("0 0 0 1 0 0 0 1 0 1 1 0")), LOADS),
    "on a line, mjcf": (with_mesh("line.stl", stl(ON_A_LINE), "xml"), "on one line"),
    "on a line, urdf": (with_mesh("line_.stl", stl(ON_A_LINE), "urdf"), LOADS),
    "in a point": (text("b.xml", meshed("1 1 1 " * 8)), "in one point"),
    "scale of zero, mjcf": (text("c.xml", meshed(TETRAHEDRON, 'scale="0 1 1"')), LOADS),  # flat
    "scale of zero, urdf": (text("d.urdf", urdf('<mesh filename="flat_.stl" scale="0 0 0"/>')), "scale.* is zero"),
    "scale of NaN": (text("e.urdf", urdf('<mesh filename="flat_.stl" scale="nan 1 1"/>')), "not made of numbers"),
    "scale of 1e308": (text("f.urdf", urdf('<mesh filename="flat_.stl" scale="1e308 1 1"/>')), "out of range"),
    "vertices of 1e308": (text("g.xml", meshed("0 0 0 1e308 0 0 0 1e308 0 0 0 1e308")), "out of range"),
    "vertices of infinity": (text("h.xml", meshed("0 0 0 inf 0 0 0 1 0 0 0 1")), "not finite"),
    "infinity, mjcf": (with_mesh("inf.stl", stl([((np.inf, 0, 0), (1, 0, 0), (0, 1, 0)), *CORNER]), "xml"), "finite"),
    "infinity, urdf": (with_mesh("inf_.stl", stl([((np.inf, 0, 0), (1, 0, 0), (0, 1, 0)), *CORNER]), "urdf"), "finite"),
    "NaN, mjcf": (with_mesh("nan.stl", stl([((np.nan, 0, 0), (1, 0, 0), (0, 1, 0)), *CORNER]), "xml"), "finite"),
    "NaN, urdf": (with_mesh("nan_.stl", stl([((np.nan, 0, 0), (1, 0, 0), (0, 1, 0)), *CORNER]), "urdf"), "finite"),
    "a count that lies": (with_mesh("liar.stl", stl([], 0xFFFFFFFF), "urdf"), "names 4294967295 triangles"),
    "no triangles": (with_mesh("none.stl", stl([]), "xml"), "no triangles"),
    "an empty file": (with_mesh("empty.stl", b"", "urdf"), "ends within its head"),
    "face 1e300": (text("i.xml", meshed(TETRAHEDRON, 'face="0 1 1e300"')), "out of range"),
    "half a face": (text("j.xml", meshed(TETRAHEDRON, 'face="0 1 0.5"')), "does not exist"),
    "turned by infinity": (text("k.xml", meshed(TETRAHEDRON, 'refquat="inf 0 0 0"')), "not finite"),
    "obj, no such vertex": (with_mesh("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "urdf"), "does not exist"),
    "obj, no numbers": (with_mesh("b.obj", b"v 0 0 x\nf 1 1 1\n", "xml"), "line 1 is not a point"),
    "a gigabyte, mjcf": (sparse("big.stl", stl([], ((1 << 30) - 84) // 50), 1 << 30, "xml"), "max_bytes"),
    "a gigabyte, urdf": (sparse("big_.stl", stl([], ((1 << 30) - 84) // 50), 1 << 30, "urdf"), "max_bytes"),
    "a gigabyte of Collada": (sparse("big.dae", b"<COLLADA>", 1 << 30, "urdf"), "max_bytes"),
    "a pipe": (pipe("pipe.stl", "xml"), "is not a regular file"),
    "Collada, nothing in it": (with_mesh("none.dae", b"", "urdf"), r"none\.dae' cannot be read"),
    "Collada, 1e5 nodes deep": (
        with_mesh("deep.dae", COLLADA.format(nested("node", 100_000)).encode(), "urdf"),
        "read",
    ),
    "Collada, a billion laughs": (with_mesh("lol.dae", laughs("COLLADA").encode(), "urdf"), "cannot be read"),
    **{
        f"noise.{end}": (with_mesh(f"noise.{end}", np.random.default_rng(7).bytes(4000), "urdf"), f"noise.{end}")
        for end in ("stl", "obj", "dae", "ply", "off", "fbx", "glb", "3ds")
    },
}

NUMBERS: dict[str, Case] = {
    "a world that slides": (text("world.xml", mjcf(world='<joint type="slide"/>')), "the world does not move"),
    "a world that flies": (text("flies.xml", mjcf(world="<freejoint/>")), "the world does not move"),
    "65536 x 65536 heights": (text("a.xml", field("65536", "65536")), "nrow=.65536. times ncol"),
    "46341 x 46341 heights": (text("b.xml", field("46341", "46341")), "nrow=.46341. times ncol"),
    "negative rows": (text("c.xml", field("-2", "-2")), "at least 2"),
    "NaN heights": (text("d.xml", field("2", "2", elevation="0 nan 0 0")), "not made of numbers"),
    "infinite heights": (text("e.xml", field("2", "2", elevation="0 inf 0 -inf")), "not finite"),
    "heights of 1e308": (text("f.xml", field("2", "2", elevation="0 1e308 0 -1e308")), "out of range"),
    "a field of 1e308 m": (text("g.xml", field("2", "2", size="1e308 1 1 1")), "out of range"),
    "a field that is not there": (text("h.xml", mjcf(world='<geom type="hfield" hfield="x"/>')), "not an asset"),
    "position 1e308": (text("i.xml", mjcf(body='pos="1e308 0 0"')), "out of range"),
    "position NaN": (text("j.xml", mjcf(body='pos="nan 0 0"')), "not made of numbers"),
    "quaternion of zeros": (text("k.xml", mjcf(body='quat="0 0 0 0"')), "not a rotation"),
    "Euler angle of infinity": (text("l.xml", mjcf(body='euler="inf 0 0"')), "not finite"),
    "turned by infinity": (text("m.xml", mjcf(body='axisangle="1 0 0 inf"')), "not finite"),
    "mass 1e308": (text("n.xml", mjcf().replace('mass="1"', 'mass="1e308"')), "out of range"),
    "inertia 1e308": (text("o.xml", mjcf().replace("1 1 1", "1e308 1e308 1e308")), "out of range"),
    "size 1e308": (text("p.xml", mjcf('<geom size="1e308"/>')), "out of range"),
    "gravity 1e308": (text("q.xml", jointed(rest='<option gravity="0 0 1e308"/>')), "out of range"),
    "reference of infinity": (text("r.xml", jointed('<joint ref="inf"/>')), "not finite"),
    "spring of 1e308": (text("s.xml", jointed('<joint stiffness="1e308"/>')), "out of range"),
    "spring at infinity": (text("t.xml", jointed('<joint stiffness="1" springref="inf"/>')), "not finite"),
    "coupling of 1e308": (
        text("u.xml", jointed('<joint name="j"/>', '<equality><joint joint1="j" polycoef="1e308"/></equality>')),
        "out of range",
    ),
    "gear of infinity": (
        text("v.xml", jointed('<joint name="j"/>', '<actuator><motor joint="j" gear="inf"/></actuator>')),
        "not finite",
    ),
    "pose of 1e308": (text("w.xml", jointed(rest='<keyframe><key qpos="1e308"/></keyframe>')), "out of range"),
    "groups of 1e15": (text("x.xml", jointed(rest='<compiler inertiagrouprange="-1e15 1e15"/>')), LOADS),
    "axis of zeros": (text("a.urdf", urdf(joint='<axis xyz="0 0 0"/>')), "no direction"),
    "axis of 1e308": (text("b.urdf", urdf(joint='<axis xyz="1e308 0 0"/>')), "out of range"),
    "axis of NaN": (text("c.urdf", urdf(joint='<axis xyz="nan 0 0"/>')), "not made of numbers"),
    "axis of two numbers": (text("d.urdf", urdf(joint='<axis xyz="1 0"/>')), "2 numbers instead of 3"),
    "origin of infinity": (text("e.urdf", urdf(joint='<axis xyz="0 0 1"/><origin xyz="inf 0 0"/>')), "not finite"),
    "infinite mass": (text("f.urdf", urdf(inertial=LINK.replace('value="1"', 'value="inf"'))), "not finite"),
    "NaN inertia": (text("g.urdf", urdf(inertial=LINK.replace('ixx="1"', 'ixx="nan"'))), "not made of numbers"),
    "negative moment": (text("h.urdf", urdf(inertial=LINK.replace('ixx="1"', 'ixx="-1"'))), "rotational inertia"),
    "radius of zero": (text("i.urdf", urdf('<sphere radius="0"/>')), "must be positive"),
    "radius of NaN": (text("j.urdf", urdf('<sphere radius="nan"/>')), "not made of numbers"),
    "radius of infinity": (text("k.urdf", urdf('<sphere radius="inf"/>')), "not finite"),
    "no radius": (text("l.urdf", urdf("<sphere/>")), "'radius' is missing"),
    "a box of two sides": (text("m.urdf", urdf('<box size="1 1"/>')), "2 numbers instead of 3"),
    "a limit that is a word": (text("n.urdf", urdf(limit='<limit lower="x" upper="1"/>')), "not made of numbers"),
    "no limit": (text("o.urdf", urdf(limit="")), "<limit> is missing"),
}

XML: dict[str, Case] = {
    "a billion laughs, mjcf": (text("a.xml", laughs("mujoco")), "entities"),
    "a billion laughs, urdf": (text("a.urdf", laughs("robot", '<link name="a"/>')), "entities"),
    "bodies 1e5 deep": (
        text("b.xml", f"<mujoco><worldbody>{nested('body', 100_000)}</worldbody></mujoco>"),
        "malformed XML in line 1: .*DEPTH",
    ),
    "elements 1e5 deep, urdf": (
        text("b.urdf", f"<robot>{nested('a', 100_000)}</robot>"),
        "malformed XML in line 1: .*DEPTH",
    ),
    "120 nested includes": (included(120), "through more than 100 files"),
    "3000 nested includes": (included(3000), "through more than 100 files"),
    "1e6 bodies": (text("c.xml", f"<mujoco><worldbody>{'<body/>' * 1_000_000}</worldbody></mujoco>"), "max_bytes"),
    "2e5 bodies": (text("d.xml", f"<mujoco><worldbody>{'<body/>' * 200_000}</worldbody></mujoco>"), "10000 bodies"),
    "1e5 shapes": (
        text("e.xml", f"<mujoco><worldbody>{BALL * 100_000}</worldbody></mujoco>"),
        "3000 shapes",
    ),
    "5000 free bodies": (
        text("f.xml", "<mujoco><worldbody>" + f"<body><freejoint/>{BODY}</body>" * 5000 + "</worldbody></mujoco>"),
        "10000 degrees of freedom",
    ),
    "2600 shapes that touch": (
        text(
            "g.xml",
            f"<mujoco><worldbody>{BALL * 1300}<body><freejoint/>{BALL * 1300}</body></worldbody></mujoco>",
        ),
        "500000 pairs",
    ),
    "links 20000 deep": (text("c.urdf", links(20_000, [(i, i + 1) for i in range(19_999)])), "10000 are the most"),
    "links 5000 deep": (text("d.urdf", links(5000, [(i, i + 1) for i in range(4999)], "continuous")), "than"),
    "links 2000 deep": (text("e.urdf", links(2000, [(i, i + 1) for i in range(1999)])), "one on the other"),
    "a circle of links": (text("f.urdf", links(2, [(0, 1), (1, 0)])), "0 trees"),
    "a circle beside a tree": (text("g.urdf", links(3, [(1, 2), (2, 1)])), "in a circle"),
    "a link on itself": (text("h.urdf", links(2, [(1, 1)])), "in a circle"),
    "two parents": (text("i.urdf", links(3, [(0, 1), (0, 2), (1, 2)])), "second joint with the child"),
    "a link twice": (text("j.urdf", "<robot name='r'><link name='a'/><link name='a'/></robot>"), "two links"),
    "no kind of joint": (text("k.urdf", urdf(kind="")), "'type' is missing"),
    "an unknown kind of joint": (text("l.urdf", urdf(kind='type="x"')), "is not one of"),
    "a name of 1e6 letters": (text("m.urdf", urdf(name="b" * 1_000_000)), LOADS),
    "numbers of 1e7 letters": (text("h.xml", mjcf(body='pos="' + "1 " * 5_000_000 + '"')), "5000000 numbers"),
    "a NUL": (text("i.xml", b"<mujoco>\0<worldbody/></mujoco>"), "malformed"),
    "UTF-16": (text("j.xml", mjcf().encode("utf-16")), "malformed"),
    "a name that is not UTF-8": (text("k.xml", mjcf(body='name="?"').encode().replace(b"?", b"\xff\xfe")), "UTF-8"),
    "a value that is not UTF-8": (text("n.urdf", urdf(name="?").encode().replace(b'"?"', b'"\xc0"')), "UTF-8"),
    "an empty file": (text("l.xml", ""), "malformed"),
    "a robot of nothing": (text("o.urdf", "<robot/>"), "0 trees"),
    "a gigabyte of zeros": (sparse("m.xml", b"", 1 << 30), "max_bytes"),
    "two gigabytes": (sparse("p.urdf", b"<robot>", 1 << 31), "max_bytes"),
    "a pipe": (pipe("n.xml"), "is not a regular file"),
    "an endless device": (lambda folder: Path("/dev/zero"), "is not a regular file"),
    "a folder": (lambda folder: folder, "is a folder"),
    "an SRDF of a gigabyte": (
        lambda folder: (sparse("q.srdf", b"<robot>", 1 << 30)(folder), text("q.urdf", urdf())(folder))[1],
        "max_bytes",
    ),
}


def npz(name: str, **members: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as file:
            for member, content in members.items():
                file.writestr(f"{member}.npy", content)
        return folder / name

    return make


def header(shape: str, descr: str = "<f8", content: bytes = b"") -> bytes:
    said = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    said += " " * (-(len(said) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(said)) + said.encode() + content


def bomb(folder: Path) -> Path:
    """Three gigabytes in three megabytes."""
    path = folder / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        with file.open("g.npy", "w", force_zip64=True) as member:
            member.write(header(f"({3 << 27},)"))
            for _ in range(3 << 4):
                member.write(bytes(1 << 26))
        for name in ("G", "mu"):
            file.writestr(f"{name}.npy", header("(1,)", content=bytes(8)))
    return path


ONE = header("(1,)", content=bytes(8))
NONE = header("(0,)")
PROBLEMS: dict[str, Case] = {
    "a zip bomb": (bomb, "MAX_BYTES"),
    "a shape of 1e12": (npz("a.npz", g=header("(1000000000000,)"), mu=ONE, G=ONE), "which its .* bytes are not"),
    "a negative shape": (npz("b.npz", g=header("(-5,)"), mu=ONE, G=ONE), "npz file"),
    "a pickle": (npz("c.npz", g=header("(1,)", "|O", b"cos\nsystem\n."), mu=ONE, G=ONE), "objects"),
    "a header of nonsense": (npz("d.npz", g=header("__import__('os')"), mu=ONE, G=ONE), "npz file"),
    "a header without an end": (npz("i.npz", g=header("(1,"), mu=ONE, G=ONE), "npz file"),
    "no kinds and no sizes": (npz("j.npz", g=NONE, mu=NONE, G=header("(0, 0)"), kinds=header("(0,)", "<U4")), LOADS),
    "letters": (npz("e.npz", g=header("(2,)", "<U1", bytes(8)), mu=ONE, G=ONE), "not numbers"),
    "a gigabyte of zeros": (sparse("f.npz", b"PK\3\4", 1 << 30), "npz file"),
    "an empty file": (text("g.npz", ""), "npz file"),
    "a pipe": (pipe("h.npz"), "is not a file"),
}

RECORDINGS: dict[str, Case] = {
    "npz, a gigabyte of zeros": (sparse("a.npz", b"PK\3\4", 1 << 30), "recording|damaged"),
    "mcap, a gigabyte of zeros": (sparse("a.mcap", b"\x89MCAP0\r\n", 1 << 30), "no record"),
    "mcap, a record of 2^63 bytes": (
        text("b.mcap", b"\x89MCAP0\r\n" + struct.pack("<BQ", 6, 1 << 63) + bytes(99)),
        "recording|damaged|cut short",
    ),
    "empty": (text("c.npz", b""), "empty"),
}


def hdf5(fill: Callable) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        import h5py

        path = folder / f"{len(list(folder.iterdir()))}.hdf5"
        with h5py.File(path, "w") as file:
            fill(file)
        return path

    return make


def fclib(file, **changed) -> None:
    """One contact, but for what is changed."""
    local = file.create_group("fclib_local")
    given = {"spacedim": [3], "W/m": [3], "W/n": [3], "W/nz": [-2], "W/p": [0, 1, 2, 3], "W/i": [0, 1, 2]}
    given |= {"W/x": [1.0, 1.0, 1.0], "vectors/q": [0.0, 0.0, 0.0], "vectors/mu": [0.5]} | changed
    for name, value in given.items():
        if isinstance(value, tuple):
            local.create_dataset(name, value, "<f8", chunks=(1024,))  # no byte of it is in the file
        else:
            local[name] = np.array(value)


FCLIB: dict[str, Case] = {
    "as it should be": (hdf5(fclib), LOADS),
    "a vector of 1e10": (hdf5(lambda file: fclib(file, **{"vectors/q": (10**10,)})), "MAX_BYTES"),
    "entries of 1e10": (hdf5(lambda file: fclib(file, **{"W/x": (10**10,)})), "MAX_BYTES"),
    "2^31 rows": (hdf5(lambda file: fclib(file, **{"W/m": [2**31 - 1], "W/nz": [3]})), "MAX_BYTES"),
    "rows below zero": (hdf5(lambda file: fclib(file, **{"W/m": [-3]})), "-3 x 3"),
    "an index outside": (hdf5(lambda file: fclib(file, **{"W/i": [0, 1, 2**31 - 1]})), "outside"),
    "a group for an array": (hdf5(lambda file: file.create_group("fclib_local/spacedim")), r"\.hdf5"),
    "no HDF5": (text("a.hdf5", b"\x89HDF\r\n\x1a\n" + bytes(500)), "HDF5"),
    "a pipe": (pipe("b.hdf5"), "is not a file"),
}

GROUPS = {
    "meshes": MESHES,
    "numbers": NUMBERS,
    "xml": XML,
    "problems": PROBLEMS,
    "recordings": RECORDINGS,
    "fclib": FCLIB,
}


def main(group: str, folder: Path) -> None:
    import resource

    import taut

    warnings.simplefilter("ignore")
    read = {"problems": taut.Problem.load, "fclib": taut.Problem.load, "recordings": taut.load_recording}
    # Files are made before memory is limited and the clock starts.
    made = {}
    for number, (name, (make, _)) in enumerate(GROUPS[group].items()):
        place = folder / str(number) if "include" in name or group == "fclib" else folder
        place.mkdir(exist_ok=True)
        made[name] = make(place)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, taken + ROOM))
    for name, path in made.items():
        print(json.dumps({"begun": name}), flush=True)
        begun = time.process_time()
        try:
            read.get(group, taut.load)(path)
            outcome = LOADS
        except (ValueError, FileNotFoundError) as error:
            outcome = f"{type(error).__name__}: {error}"
        seconds = time.process_time() - begun
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(json.dumps({"ended": name, "outcome": outcome, "seconds": seconds, "peak_mb": peak}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
