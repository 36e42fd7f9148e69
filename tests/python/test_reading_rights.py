"""A model file reads below its own folder, its package and what the caller names, and nowhere else."""

from __future__ import annotations

import itertools
import json
import os
import re
import struct
import subprocess
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import taut
from taut.cli import app

CORNERS = [(0, 0, 0), (0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.2)]
FACES = [(1, 3, 2), (1, 2, 4), (2, 3, 4), (1, 4, 3)]
TETRAHEDRON = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS) + "".join(f"f {a} {b} {c}\n" for a, b, c in FACES)
URDF = """<robot name="r"><link name="base"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<{shapes}><geometry><mesh filename="{mesh}"/></geometry></{shapes}></link></robot>"""
MJCF = """<mujoco><compiler {compiler}/><asset><mesh name="m" file="{mesh}"/></asset>
<worldbody><body><freejoint/><geom type="mesh" mesh="m" mass="1"/></body></worldbody></mujoco>"""


def put(path: Path, text: str = TETRAHEDRON) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def urdf(path: Path, mesh: str, shapes: str = "collision") -> Path:
    return put(path, URDF.format(mesh=mesh, shapes=shapes))


def mjcf(path: Path, mesh: str, compiler: str = "") -> Path:
    return put(path, MJCF.format(mesh=mesh, compiler=compiler))


def load(path: Path, **options) -> taut.Scene:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", taut.TautWarning)
        return taut.load(path, **({"root": "free"} if path.suffix == ".urdf" else {}), **options)


def is_refused(path: Path, folder: Path, asked: str, **options) -> None:
    """By a message with who asks, for what, and the option that permits it, which then does."""
    with pytest.raises(ValueError, match=re.escape(f"allow=['{folder}']")) as refusal:
        load(path, **options)
    assert str(path) in str(refusal.value)
    assert asked in str(refusal.value)
    assert load(path, allow=[folder], **options).geometry.ngeoms == 1
    assert load(path, trust=True, **options).geometry.ngeoms == 1


@pytest.fixture
def secret(tmp_path) -> Path:
    """A mesh that no model below tmp_path/model may read."""
    return put(tmp_path / "private" / "secret.obj")


WAYS = {
    "absolute": lambda secret: str(secret),
    "URI": lambda secret: f"file://{secret}",
    "climbing": lambda _: "../../private/secret.obj",
    "climbing in a package": lambda _: "package://deep/../../../private/secret.obj",
    "climbing in a model": lambda _: "model://deep/../../../private/secret.obj",
}


@pytest.mark.parametrize("way", WAYS)
def test_urdf_does_not_read_elsewhere(tmp_path, secret, way):
    (tmp_path / "model" / "a" / "deep").mkdir(parents=True)
    asked = WAYS[way](secret)
    is_refused(urdf(tmp_path / "model" / "a" / "robot.urdf", asked), secret.parent, asked)


@pytest.mark.parametrize("way", ["absolute", "climbing"])
def test_mjcf_mesh_does_not_read_elsewhere(tmp_path, secret, way):
    asked = WAYS[way](secret)
    is_refused(mjcf(tmp_path / "model" / "a" / "robot.xml", asked), secret.parent, asked)


@pytest.mark.parametrize("attribute", ["meshdir", "assetdir"])
@pytest.mark.parametrize("folder", ["../../private", "absolute"])
def test_mjcf_folders_do_not_lead_elsewhere(tmp_path, secret, attribute, folder):
    folder = str(secret.parent) if folder == "absolute" else folder
    path = mjcf(tmp_path / "model" / "a" / "robot.xml", "secret.obj", f'{attribute}="{folder}"')
    is_refused(path, secret.parent, "secret.obj")


def test_includes_do_not_read_elsewhere_even_nested(tmp_path):
    part = '<mujocoinclude><body><freejoint/><geom size="0.1"/></body></mujocoinclude>'
    outside = put(tmp_path / "private" / "part.xml", part)
    path = put(tmp_path / "model" / "a" / "robot.xml", '<mujoco><include file="sub/more.xml"/></mujoco>')
    more = f'<mujocoinclude><worldbody><include file="{outside}"/></worldbody></mujocoinclude>'
    put(path.parent / "sub" / "more.xml", more)
    with pytest.raises(ValueError, match=r"more\.xml: <include> \(line 1\).*allow="):
        load(path)
    assert load(path, allow=[outside.parent]).geometry.ngeoms == 1


@pytest.mark.parametrize("name", ["~/secret.obj", "$HOME/secret.obj", "${HOME}/secret.obj", "%2e%2e/secret.obj"])
def test_names_are_taken_as_they_are(tmp_path, monkeypatch, name):
    """No shell, no environment, no percent signs: these files are not there."""
    monkeypatch.setenv("HOME", str(put(tmp_path / "secret.obj").parent))
    for path in (urdf(tmp_path / "a" / "robot.urdf", name), mjcf(tmp_path / "a" / "robot.xml", name)):
        with pytest.raises(FileNotFoundError, match=re.escape(name)):
            load(path)


def test_links_do_not_lead_out(tmp_path, secret):
    model = tmp_path / "model" / "a"
    model.mkdir(parents=True)
    (model / "mesh.obj").symlink_to(secret)
    (model / "folder").symlink_to(secret.parent)
    is_refused(urdf(model / "robot.urdf", "mesh.obj"), secret.parent, "mesh.obj")
    is_refused(mjcf(model / "robot.xml", "folder/secret.obj"), secret.parent, "folder/secret.obj")


def ply(scale: float = 1.0) -> str:
    """The tetrahedron in a format that Assimp reads."""
    lines = ["ply", "format ascii 1.0", "element vertex 4", *(f"property float {axis}" for axis in "xyz")]
    lines += ["element face 4", "property list uchar int vertex_indices", "end_header"]
    lines += [" ".join(str(scale * x) for x in corner) for corner in CORNERS]
    return "\n".join([*lines, *(f"3 {a - 1} {b - 1} {c - 1}" for a, b, c in FACES)]) + "\n"


@pytest.mark.parametrize("ending, times", [("obj", 500), ("ply", 100)])
def test_a_link_that_is_exchanged_meanwhile_leads_nowhere(tmp_path, ending, times):
    """The file that is read is the one that was checked, however often its name changes hands, by whom it may be."""
    inside, outside = (TETRAHEDRON, TETRAHEDRON.replace("0.2", "5")) if ending == "obj" else (ply(), ply(25.0))
    put(tmp_path / "a" / f"inside.{ending}", inside)
    secret = put(tmp_path / "private" / f"secret.{ending}", outside)
    path = mjcf(tmp_path / "a" / "robot.xml", f"mesh.{ending}")
    (tmp_path / "a" / f"mesh.{ending}").symlink_to(tmp_path / "a" / f"inside.{ending}")
    stop = threading.Event()

    def exchange() -> None:
        targets = itertools.cycle([secret, tmp_path / "a" / f"inside.{ending}"])
        while not stop.is_set():
            (tmp_path / "a" / "next").symlink_to(next(targets))
            os.replace(tmp_path / "a" / "next", tmp_path / "a" / f"mesh.{ending}")

    thread = threading.Thread(target=exchange)
    thread.start()
    seen = Counter()
    try:
        end = time.monotonic() + 60.0  # a busy machine may let the one wait long for the other
        while seen.total() < times or (not (seen["refused"] and seen["inside"]) and time.monotonic() < end):
            try:
                scene = load(path)
            except ValueError:
                seen["refused"] += 1
            else:
                size = np.abs(scene.geometry.geometryObjects[0].geometry.points()).max()
                seen["inside" if size < 1 else "outside"] += 1
    finally:
        stop.set()
        thread.join()
    assert seen["outside"] == 0, seen
    assert seen["refused"] and seen["inside"], seen


def test_links_within_the_folder_are_followed(tmp_path):
    put(tmp_path / "a" / "one.obj")
    (tmp_path / "a" / "other.obj").symlink_to("one.obj")
    assert load(urdf(tmp_path / "a" / "robot.urdf", "other.obj")).geometry.ngeoms == 1


def gltf(path: Path, uri: str) -> bytes:
    """Writes the tetrahedron as a glTF that keeps its numbers at `uri`, and returns them."""
    accessors = [
        {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [0, 0, 0], "max": [0.2, 0.2, 0.2]},
        {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
    ]
    content = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": accessors,
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 24},
        ],
        "buffers": [{"uri": uri, "byteLength": 72}],
    }
    put(path, json.dumps(content))
    return np.array(CORNERS, "<f4").tobytes() + (np.array(FACES) - 1).astype("<u2").tobytes()


def test_a_mesh_does_not_read_elsewhere_either(tmp_path):
    """A glTF keeps its numbers in another file, which Assimp asks for: it comes through the same door."""
    model = tmp_path / "model" / "a"
    path = urdf(model / "robot.urdf", "mesh.gltf")
    (model / "numbers.bin").write_bytes(gltf(model / "mesh.gltf", "numbers.bin"))
    assert load(path).geometry.ngeoms == 1
    outside = tmp_path / "private" / "numbers.bin"
    outside.parent.mkdir()
    outside.write_bytes(gltf(model / "mesh.gltf", "../../private/numbers.bin"))
    is_refused(path, outside.parent, "../../private/numbers.bin")


@pytest.mark.parametrize("library", ["/dev/zero", "../../private/secret.mtl"])
def test_materials_of_a_mesh_are_not_read(tmp_path, library):
    """Nobody looks at them, and many name a folder of the one who drew the mesh."""
    put(tmp_path / "model" / "a" / "mesh.obj", f"mtllib {library}\n" + TETRAHEDRON)
    assert load(urdf(tmp_path / "model" / "a" / "robot.urdf", "mesh.obj")).geometry.ngeoms == 1


def test_pictures_of_a_collada_mesh_are_not_read(tmp_path):
    corners = " ".join(str(x) for corner in CORNERS for x in corner)
    faces = " ".join(str(corner - 1) for face in FACES for corner in face)
    dae = f"""<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_images><image id="i"><init_from>/dev/zero</init_from></image></library_images>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="12">{corners}</float_array>
<technique_common><accessor source="#a" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>{faces}</p></triangles></mesh></geometry>
</library_geometries><library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
    put(tmp_path / "a" / "mesh.dae", dae)
    assert load(urdf(tmp_path / "a" / "robot.urdf", "mesh.dae")).geometry.ngeoms == 1


def test_the_process_that_runs_assimp_can_open_no_file(tmp_path):
    """Whatever its parsers do: it has its pipes, none of what its parent had open, and no room for more."""
    program = Path(taut._taut.__file__).parent / "taut_mesh_reader"
    kept = os.open(put(tmp_path / "secret"), os.O_RDONLY)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([program], pass_fds=[kept], **pipes) as process:
        name, mesh = b"mesh.ply", ply().encode()
        process.stdin.write(struct.pack("<QQ", len(name), len(mesh)) + name + mesh)
        process.stdin.flush()
        assert struct.unpack("<QQQQ", process.stdout.read(32)) == (4, 4, 0, 0)  # vertices, faces, no error
        assert set(os.listdir(f"/proc/{process.pid}/fd")) == {"0", "1", "2"}
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        assert re.search(r"Max open files +3 +3 ", limits), limits
        process.stdin.close()
        process.stdout.read()
    os.close(kept)


# --- rights and bounds together


def grow(path: Path, size: int = 1 << 40) -> Path:
    """A file of that size, which takes no room."""
    put(path)
    os.truncate(path, size)
    return path


@pytest.mark.parametrize("ending", ["obj", "stl", "dae"])
@pytest.mark.parametrize("kind", [urdf, mjcf])
def test_rights_come_before_the_size(tmp_path, kind, ending):
    """Of a file elsewhere nothing is said, not even that it is too large."""
    mesh = grow(tmp_path / "private" / f"mesh.{ending}")
    path = kind(tmp_path / "model" / "a" / "robot.model", str(mesh))
    path = path.rename(path.with_suffix(".urdf" if kind is urdf else ".xml"))
    with pytest.raises(ValueError, match="outside of the folders") as refusal:
        load(path)
    assert str(1 << 40) not in str(refusal.value)
    for options in ({"allow": [mesh.parent]}, {"trust": True}):
        with pytest.raises(ValueError, match=rf"mesh\.{ending}' has {1 << 40} bytes.*max_bytes"):
            load(path, **options)


def test_what_a_mesh_refers_to_counts(tmp_path):
    path = urdf(tmp_path / "a" / "robot.urdf", "mesh.gltf")
    mesh = tmp_path / "a" / "mesh.gltf"
    numbers = gltf(mesh, "numbers.bin")
    (tmp_path / "a" / "numbers.bin").write_bytes(numbers)
    put(mesh, mesh.read_text().ljust(1 << 14))
    both = mesh.stat().st_size + len(numbers)
    assert load(path, max_bytes=both).geometry.ngeoms == 1
    with pytest.raises(ValueError, match=r"numbers\.bin' has 72 bytes"):
        load(path, max_bytes=both - 1)


def test_bounds_hold_for_includes_and_srdfs_that_may_be_read(tmp_path):
    part = grow(tmp_path / "private" / "part.xml")
    path = put(tmp_path / "model" / "a" / "robot.xml", f'<mujoco><include file="{part}"/></mujoco>')
    with pytest.raises(ValueError, match="outside of the folders"):
        load(path)
    with pytest.raises(ValueError, match=r"part\.xml' has .* bytes; the XML files"):
        load(path, allow=[part.parent])
    put(path.parent / "mesh.obj")
    robot = urdf(path.parent / "robot.urdf", "mesh.obj")
    grow(path.parent / "robot.srdf")
    with pytest.raises(ValueError, match=r"robot\.srdf' has .* bytes; the XML files"):
        load(robot)
    (path.parent / "robot.srdf").rename(path.parent / "other.srdf")  # of whom it is cannot be known
    assert load(robot).geometry.ngeoms == 1


LAYOUTS = {
    "beside": ("robot.urdf", "mesh.obj", "mesh.obj"),
    "below": ("robot.urdf", "meshes/mesh.obj", "meshes/mesh.obj"),
    "urdf and meshes": ("urdf/robot.urdf", "../meshes/mesh.obj", "meshes/mesh.obj"),
    "robots and meshes": ("robots/robot.urdf", "../meshes/mesh.obj", "meshes/mesh.obj"),
    "package named after its folder": ("urdf/robot.urdf", "package://model/meshes/mesh.obj", "meshes/mesh.obj"),
    "package under another name": ("urdf/robot.urdf", "package://arm/meshes/mesh.obj", "meshes/mesh.obj"),
    "package with three slashes": ("urdf/robot.urdf", "package:///model/meshes/mesh.obj", "meshes/mesh.obj"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_usual_layouts_need_no_flags(tmp_path, layout):
    file, asked, mesh = LAYOUTS[layout]
    put(tmp_path / "model" / mesh)
    assert load(urdf(tmp_path / "model" / file, asked)).geometry.ngeoms == 1


def test_mjcf_with_its_assets_beside_needs_no_flags(tmp_path):
    put(tmp_path / "model" / "assets" / "mesh.obj")
    assert load(mjcf(tmp_path / "model" / "xml" / "robot.xml", "mesh.obj", 'meshdir="../assets"')).geometry.ngeoms == 1


def test_a_package_is_read_whole(tmp_path):
    put(tmp_path / "model" / "package.xml", "<package/>")
    put(tmp_path / "model" / "parts" / "mesh.obj")
    deep = tmp_path / "model" / "robots" / "arm" / "v2"
    assert load(urdf(deep / "robot.urdf", "../../../parts/mesh.obj")).geometry.ngeoms == 1


def test_a_package_beside_is_found_by_its_name(tmp_path):
    put(tmp_path / "gripper" / "package.xml", "<package/>")
    put(tmp_path / "gripper" / "mesh.obj")
    path = urdf(tmp_path / "arm" / "a" / "robot.urdf", "package://gripper/mesh.obj")
    assert load(path).geometry.ngeoms == 1
    (tmp_path / "gripper" / "package.xml").unlink()
    is_refused(path, tmp_path / "gripper", "package://gripper/mesh.obj")  # any folder has a name


def test_one_step_up_within_a_checkout_and_not_two(tmp_path):
    mesh = put(tmp_path / "parts" / "mesh.obj")
    near = urdf(tmp_path / "arm" / "robot.urdf", "../parts/mesh.obj")
    is_refused(near, mesh.parent, "../parts/mesh.obj")
    (tmp_path / ".git").mkdir()
    assert load(near).geometry.ngeoms == 1
    far = urdf(tmp_path / "robots" / "arm" / "robot.urdf", "../../parts/mesh.obj")
    is_refused(far, mesh.parent, "../../parts/mesh.obj")


def test_home_is_no_checkout(tmp_path, monkeypatch):
    put(tmp_path / "parts" / "mesh.obj")
    put(tmp_path / "package.xml", "<package/>")
    path = urdf(tmp_path / "arm" / "robot.urdf", "../parts/mesh.obj")
    assert load(path).geometry.ngeoms == 1
    monkeypatch.setenv("HOME", str(tmp_path))
    is_refused(path, tmp_path / "parts", "../parts/mesh.obj")


def test_what_everybody_writes_to_is_no_checkout(tmp_path):
    put(tmp_path / "shared" / "parts" / "mesh.obj")
    (tmp_path / "shared" / ".git").mkdir()
    path = urdf(tmp_path / "shared" / "arm" / "robot.urdf", "../parts/mesh.obj")
    assert load(path).geometry.ngeoms == 1
    (tmp_path / "shared").chmod(0o777)
    is_refused(path, tmp_path / "shared" / "parts", "../parts/mesh.obj")


def test_package_dirs_are_allowed(tmp_path, secret):
    path = urdf(tmp_path / "model" / "a" / "robot.urdf", "package://private/secret.obj")
    assert load(path, package_dirs=[tmp_path]).geometry.ngeoms == 1
    link = tmp_path / "model" / "a" / "also.obj"
    link.symlink_to(secret)
    assert load(urdf(path, "also.obj"), package_dirs=[secret.parent]).geometry.ngeoms == 1


def test_an_srdf_elsewhere_is_not_used_and_that_is_said(tmp_path):
    srdf = '<robot name="r"><group_state name="home" group="all"/></robot>'
    path = urdf(tmp_path / "model" / "a" / "robot.urdf", "mesh.obj")
    put(path.parent / "mesh.obj")
    outside = put(tmp_path / "private" / "robot.srdf", srdf)
    (path.parent / "robot.srdf").symlink_to(outside)
    scene = load(path)
    assert scene.poses == {}
    assert any(str(path.parent / "robot.srdf") in what for what in scene.warnings)
    assert "home" in load(path, allow=[outside.parent]).poses


def test_folders_are_given_in_a_list(tmp_path):
    put(tmp_path / "mesh.obj")
    path = urdf(tmp_path / "robot.urdf", "mesh.obj")
    for option in ("allow", "package_dirs"):
        with pytest.raises(ValueError, match=re.escape(f"{option}=['/x']")):
            taut.load(path, **{option: "/x"})


def test_the_command_line_has_the_same_options(tmp_path, secret):
    path = str(urdf(tmp_path / "model" / "a" / "robot.urdf", str(secret)))
    run = CliRunner().invoke
    assert "--allow" in run(app, ["info", "--help"]).output
    refused = run(app, ["info", path])
    assert refused.exit_code != 0
    for options in (["--allow", str(secret.parent)], ["--trust"]):
        allowed = run(app, ["info", path, *options])
        assert allowed.exit_code == 0, allowed.output
        assert "1 shapes" in allowed.output


# --- what is looked at


@pytest.fixture
def shown():
    visuals = pytest.importorskip("taut.view.visuals")
    return lambda scene: [visual.name for visual in visuals.visuals(scene) if visual.name.startswith("file")]


def test_visual_meshes_are_confined_like_the_others(tmp_path, secret, shown):
    path = urdf(tmp_path / "model" / "a" / "robot.urdf", str(secret), shapes="visual")
    with pytest.warns(UserWarning, match=re.escape(f"allow=['{secret.parent}']")):
        assert shown(load(path)) == []
    assert len(shown(load(path, allow=[secret.parent]))) == 1
    assert len(shown(load(path, trust=True).copy())) == 1


def record(scene: taut.Scene, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    sim = taut.Simulator(scene)
    with sim.record(path):
        sim.rollout(scene.q0, np.zeros(scene.model.nv), steps=3)
    return path


@pytest.mark.parametrize("kind", ["npz", "mcap"])
def test_a_recording_reads_no_models_elsewhere(tmp_path, secret, shown, kind):
    model = urdf(tmp_path / "private" / "robot.urdf", "secret.obj", shapes="visual")
    trusted = load(model, trust=True)  # which counts for nothing in the recording
    path = record(trusted, tmp_path / "runs" / "today" / f"run.{kind}")
    with pytest.warns(taut.TautWarning, match=re.escape(f"allow=['{model.parent}']")):
        scene = taut.load_recording(path).scene
    assert scene.sources == []
    assert shown(scene) == []
    for options in ({"allow": [model.parent]}, {"trust": True}):
        scene = taut.load_recording(path, **options).scene
        assert len(shown(scene)) == 1


def test_a_recording_beside_its_model_shows_it(tmp_path, shown):
    put(tmp_path / "mesh.obj")
    scene = load(urdf(tmp_path / "robot.urdf", "mesh.obj", shapes="visual"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(shown(taut.load_recording(record(scene, tmp_path / "run.npz")).scene)) == 1


def test_ready_made_robots_are_shown_from_any_recording(tmp_path, shown):
    scene = taut.scenes.make("solo12")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(shown(taut.load_recording(record(scene, tmp_path / "run.npz")).scene)) > 10


def test_bounds_of_the_one_who_loaded_hold_for_what_is_looked_at(tmp_path, shown):
    put(tmp_path / "a" / "seen.obj", TETRAHEDRON + "#" * (1 << 16))
    path = urdf(tmp_path / "a" / "robot.urdf", "seen.obj", shapes="visual")
    assert len(shown(load(path))) == 1
    with pytest.warns(UserWarning, match=r"seen\.obj' has .* bytes"):
        assert shown(load(path, max_bytes=1 << 14)) == []


# --- errors of the file system have their names


def test_folders_pipes_and_devices_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.obj")
    (tmp_path / "folder.obj").mkdir()
    for name, what in (("pipe.obj", "regular"), ("folder.obj", "folder")):
        with pytest.raises(ValueError, match=rf"{name}.*{what}"):
            taut.load(tmp_path / name)
        with pytest.raises((ValueError, FileNotFoundError), match=name):
            load(urdf(tmp_path / "robot.urdf", name))
        with pytest.raises((ValueError, FileNotFoundError), match=name):
            load(mjcf(tmp_path / "robot.xml", name))


def test_a_file_without_permission_is_named(tmp_path):
    path = mjcf(tmp_path / "robot.xml", "mesh.obj")
    put(tmp_path / "mesh.obj").chmod(0)
    user = os.geteuid()
    if user == 0:  # whom no mode keeps out
        for folder in (path for path in (tmp_path, *tmp_path.parents) if "pytest-of" in str(path)):
            folder.chmod(0o755)
        os.seteuid(65534)
    try:
        with pytest.raises(PermissionError, match=r"robot\.xml.*mesh\.obj"):
            load(path)
    finally:
        os.seteuid(user)


def test_malformed_xml_is_named_with_its_line(tmp_path):
    path = put(tmp_path / "robot.xml", "<mujoco>\n<worldbody>\n<body>\n</worldbody></mujoco>")
    with pytest.raises(ValueError, match=r"robot\.xml: malformed XML in line [34]"):
        taut.load(path)
