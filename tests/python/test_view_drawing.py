"""What is drawn of a scene and its contacts."""

from __future__ import annotations

import warnings

import coal
import numpy as np
import pinocchio
import pytest

import taut
from browser import until

pytest.importorskip("viser", reason="viser is not installed: pip install 'taut[view]'")

import trimesh

from taut.view import LivePlayer, Page
from taut.view.bodies import tree_masses, with_mass
from taut.view.frame import Frame
from taut.view.marks import COLOURS, Marks
from taut.view.set import Set
from taut.view.shapes import mesh_of, simplified
from taut.view.visuals import visuals
from viewing import G, cube, run


@pytest.mark.parametrize("name", taut.scenes.names())
def test_everything_can_be_drawn(name):
    """Every body, and its shapes in their own size."""
    scene = taut.scenes.make(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown, shapes = visuals(scene), visuals(scene, collision=True)
    for visual in (*shown, *shapes):
        vertices, faces = visual.mesh
        assert np.isfinite(vertices).all()
        assert len(faces)
        assert faces.max() < len(vertices)
    assert {visual.joint for visual in shown} >= set(with_mass(scene.model))
    drawn = {visual.name.split("_", 2)[2]: visual for visual in shapes if visual.name.startswith("shape")}
    for shape in scene.geometry.geometryObjects:
        if shape.parentJoint:
            shape.geometry.computeLocalAABB()
            size = np.array(shape.geometry.aabb_local.max_ - shape.geometry.aabb_local.min_)
            np.testing.assert_allclose(np.ptp(drawn[shape.name].mesh[0], axis=0), size, atol=0.02 * size.max())


def test_a_body_without_shapes_is_a_box_that_turns_as_it_does():
    scene = taut.Scene()
    sides, mass = np.array([0.2, 0.3, 0.4]), 2.0
    inertia = mass / 12 * np.diag(np.sum(sides**2) - sides**2)
    scene.add_body("unseen", None, mass, inertia=inertia)
    (drawn,) = visuals(scene)
    turn = pinocchio.Quaternion(*drawn.wxyz).toRotationMatrix()
    np.testing.assert_allclose(np.ptp(drawn.mesh[0] @ turn.T, axis=0), sides, rtol=1e-6)


def test_a_plane_that_moves_is_drawn():
    scene = taut.scenes.make("ball")
    scene.add_shape("plate", coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.3), joint=1)
    (plate,) = (visual for visual in visuals(scene) if "plate" in visual.name)
    np.testing.assert_allclose(plate.mesh[0][:, 2], 0.3)


def test_every_robot_of_a_scene_has_its_meshes():
    """In the places of its bodies, whatever its names are now; in a copy, too."""
    solo, arm = taut.scenes.make("solo12"), taut.scenes.make("ur5")
    scene = taut.Scene()
    scene.add_body("first", coal.Sphere(0.1))
    scene.add_robot(solo, "a_")
    scene.add_robot(solo, "b_", position=[1.0, 0, 0])
    scene.add_robot(arm, "c_", position=[0, 2.0, 0])
    alone = {name: sum(len(v.mesh[1]) for v in visuals(robot)) for name, robot in (("solo", solo), ("arm", arm))}
    for made in (scene, scene.copy()):
        shown = [visual for visual in visuals(made) if visual.name.startswith("file")]
        assert sum(len(visual.mesh[1]) for visual in shown) == pytest.approx(2 * alone["solo"] + alone["arm"], rel=0.05)
    for robot, before, shift in ((solo, 1, [0, 0, 0]), (solo, 14, [1.0, 0, 0]), (arm, 27, [0, 2.0, 0])):
        one = {visual.joint: visual for visual in visuals(robot) if visual.joint}
        other = {visual.joint: visual for visual in shown}
        for joint, visual in one.items():
            np.testing.assert_allclose(other[joint + before].position, visual.position, atol=1e-12)
        if robot is arm:
            base = [v.position for v in visuals(arm) if v.joint == 0]
            placed = [v.position for v in shown if v.joint == 0]
            np.testing.assert_allclose(placed, np.array(base) + shift, atol=1e-12)


def test_an_mjcf_within_a_scene_shows_its_geoms(tmp_path):
    (tmp_path / "robot.xml").write_text("""
    <mujoco><worldbody><geom name="post" type="box" size="0.1 0.1 0.1" pos="0 0 1"/>
      <body><freejoint/><geom name="ball" type="sphere" size="0.1" rgba="1 0 0 1"/></body></worldbody></mujoco>""")
    scene = taut.Scene()
    scene.add_body("first", coal.Sphere(0.1))
    scene.add_robot(taut.load(tmp_path / "robot.xml"), "r_", position=[0, 3.0, 0])
    shown = {visual.name.split("_", 2)[2]: visual for visual in visuals(scene)}
    assert (shown["ball"].joint, shown["ball"].colour) == (2, (255, 0, 0))
    np.testing.assert_allclose(shown["post"].position, [0, 3.0, 1.0])


def test_meshes_are_found_where_they_were(tmp_path):
    """In folders that were named when the file was read, by who looks at a recording; a file that is gone is told."""
    (tmp_path / "packages" / "bowl").mkdir(parents=True)
    (tmp_path / "robots").mkdir()
    (tmp_path / "packages" / "bowl" / "bowl.obj").write_text(bowl())
    mesh = '<geometry><mesh filename="package://bowl/bowl.obj"/></geometry>'
    urdf = f"""<robot name="bowl"><link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
      ixy="0" ixz="0" iyz="0"/></inertial><visual>{mesh}</visual><collision>{mesh}</collision></link></robot>"""
    path = tmp_path / "robots" / "bowl.urdf"
    path.write_text(urdf)
    with pytest.warns(taut.TautWarning, match="convex hulls"):
        sim = taut.Simulator(taut.load(path, package_dirs=[tmp_path / "packages"], root="free"))
    with sim.record(tmp_path / "run.npz"):
        sim.rollout(sim.scene.q0, np.zeros(6), steps=2)
    recording = taut.load_recording(tmp_path / "run.npz")
    assert [len(visual.mesh[1]) for visual in visuals(recording.scene)] == [16]
    path.unlink()
    with pytest.warns(UserWarning, match=r"bowl\.urdf is not where it was"):
        visuals(recording.scene)


# --- marks


def marks_of(player: LivePlayer, **shown: bool) -> Marks:
    """As they are drawn: what each kind was made of."""
    with Set(player.scene, dict.fromkeys(("normals", "cones", "penetration"), True) | shown) as stage_set:
        stage_set.show(player.frame)
        return stage_set.marks


def test_arrows_are_the_forces_on_what_touches():
    """A cube that slides along x: each arrow leans against the motion, by the angle of friction."""
    mu = 0.4
    player = cube(mu=mu)
    for _ in range(20):
        player.step()
    marks = marks_of(player)
    ends, colours = marks.drawn["forces"]
    along = ends[:, 1] - ends[:, 0]
    assert len(along)
    np.testing.assert_allclose(along[:, 0] / along[:, 2], -mu, rtol=1e-6)
    np.testing.assert_allclose(along[:, 1], 0, atol=1e-6)
    assert (colours == COLOURS[2]).all()
    normals, _ = marks.drawn["normals"]
    np.testing.assert_allclose(normals[:, 1] - normals[:, 0], np.tile([0, 0, 0.2 * marks.size], (4, 1)), atol=1e-12)
    points, up, radius, _ = marks.drawn["cones"]
    np.testing.assert_allclose(np.linalg.norm(up, axis=1) * mu, radius)
    np.testing.assert_array_equal(points, player.frame.points)


def test_the_weight_is_an_arrow_half_as_long_as_the_robot():
    player = cube(v0=0.0)
    player.step()
    frame = player.frame
    frame.points, frame.normals = frame.points[:1], frame.normals[:1]
    frame.gaps, frame.mu, frame.modes, frame.pairs = frame.gaps[:1], frame.mu[:1], frame.modes[:1], frame.pairs[:1]
    frame.forces = np.array([[0, 0, player.mass * G]])
    marks = marks_of(player)
    ends, colours = marks.drawn["forces"]
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], [[0, 0, 0.5 * marks.size]], rtol=1e-6)
    assert (colours == COLOURS[1]).all()


def test_penetrations_are_drawn_a_thousand_times_as_deep():
    scene = taut.scenes.make("cube_on_plane")
    q = np.array(scene.q0)
    q[2] -= 1e-4
    player = LivePlayer(scene, q, np.zeros(6))
    player.step()
    ends, _ = marks_of(player).drawn["penetration"]
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], np.tile([0, 0, 0.1], (4, 1)), atol=1e-6)


def test_a_heap_of_a_hundred_has_its_arrows():
    """Each as long as its own weight asks for; and a page of it does not take gigabytes."""
    scene = taut.scenes.make("pile", n=100)
    player = LivePlayer(scene, scene.q0, np.zeros(scene.model.nv))
    run(player, 0.5)
    carry = np.linalg.norm(player.frame.forces, axis=1) > 0.05 * 9.81 * tree_masses(scene.model).max()
    assert carry.sum() > 20
    ends, _ = marks_of(player).drawn["forces"]
    assert len(ends) >= carry.sum()


def test_what_the_user_does_is_drawn():
    player = cube(mu=0.0, v0=0.0)
    with Page(player, port=0) as page:
        player.force = np.array([player.mass * G, 0, 0])
        until(lambda: "pushes" in page.marks.drawn, 10, "an arrow")
        ends, _ = page.marks.drawn["pushes"]
        along = np.array([0.5 * page.marks.size, 0, 0])
        np.testing.assert_allclose(ends[0], [player.frame.q[:3], player.frame.q[:3] + along])
        player.take(1, player.frame.q[:3])
        player.pull_to(np.array([0.3, 0.2, 0.1]))
        until(lambda: "pulls" in page.marks.drawn, 10, "a line")
        np.testing.assert_allclose(page.marks.drawn["pulls"][0][0], [player.frame.q[:3], [0.3, 0.2, 0.1]])
        player.reset()
        until(lambda: not {"pulls", "pushes"} & page.marks.drawn.keys(), 10, "nothing")


@pytest.mark.parametrize("shape", ["Box", "Sphere", "Capsule", "Cylinder", "Cone", "Ellipsoid"])
def test_meshes_are_as_large_as_their_shapes(shape):
    import coal

    made = {
        "Box": lambda: coal.Box(0.2, 0.4, 0.6),
        "Sphere": lambda: coal.Sphere(0.3),
        "Capsule": lambda: coal.Capsule(0.1, 0.5),
        "Cylinder": lambda: coal.Cylinder(0.1, 0.5),
        "Cone": lambda: coal.Cone(0.1, 0.5),
        "Ellipsoid": lambda: coal.Ellipsoid(0.1, 0.2, 0.3),
    }[shape]()
    made.computeLocalAABB()
    vertices, _ = mesh_of(made)
    size = made.aabb_local.max_ - made.aabb_local.min_
    # A polyhedron inside a round shape: up to 2 % less.
    np.testing.assert_allclose(vertices.min(axis=0), made.aabb_local.min_, atol=0.02 * size.max())
    np.testing.assert_allclose(vertices.max(axis=0), made.aabb_local.max_, atol=0.02 * size.max())


def test_a_urdf_shows_its_meshes():
    scene = taut.scenes.make("solo12")
    shown, shapes = visuals(scene), visuals(scene, collision=True)
    assert sum(len(v.mesh[1]) for v in shown) > 2 * sum(len(v.mesh[1]) for v in shapes)


def test_an_mjcf_shows_its_geoms_and_meshes(tmp_path):
    """Those of the groups MuJoCo shows, in their colours, whether they touch or not; a mesh as it is, not its hull."""
    (tmp_path / "bowl.obj").write_text(bowl())
    (tmp_path / "robot.xml").write_text("""
    <mujoco><compiler meshdir="."/>
      <asset><mesh name="bowl" file="bowl.obj" scale="0.1 0.1 0.1"/><material name="red" rgba="1 0 0 1"/></asset>
      <worldbody>
        <geom name="table" type="box" size="1 1 0.1" rgba="0 0.5 1 0.5"/>
        <body pos="0 0 1"><freejoint/>
          <geom name="look" type="mesh" mesh="bowl" material="red" contype="0" conaffinity="0" group="2"/>
          <geom name="touch" type="sphere" size="0.1" group="3"/>
          <geom name="unseen" type="sphere" size="0.1" rgba="0 0 0 0"/>
        </body>
        <body pos="1 0 1"><freejoint/><geom name="only" type="sphere" size="0.1" group="3"/></body>
      </worldbody></mujoco>""")
    scene = taut.load(tmp_path / "robot.xml")
    shown = {visual.name.split("_", 2)[2]: visual for visual in visuals(scene)}
    assert set(shown) == {"table", "look", "only"}
    assert (shown["look"].joint, shown["look"].colour) == (1, (255, 0, 0))
    assert shown["table"].opacity == 0.5
    vertices, faces = shown["look"].mesh
    assert len(faces) == 16
    assert np.ptp(vertices, axis=0) == pytest.approx([0.2, 0.2, 0.1])
    hull = {visual.name.split("_", 2)[2] for visual in visuals(scene, collision=True)}
    assert hull == {"table", "touch", "unseen", "only"}


def bowl() -> str:
    """Two open pyramids, one within the other."""
    corners = [(1, 0, 1), (0, 1, 1), (-1, 0, 1), (0, -1, 1)]
    lines = ["v 0 0 0", *(f"v {x} {y} {z}" for x, y, z in corners)]
    lines += ["v 0 0 0.2", *(f"v {0.9 * x} {0.9 * y} {z}" for x, y, z in corners)]
    sides = [(k + 2, (k + 1) % 4 + 2) for k in range(4)]
    lines += [f"f 1 {b} {a}" for a, b in sides] + [f"f 6 {a + 5} {b + 5}" for a, b in sides]
    lines += [f"f {a} {b} {b + 5}" for a, b in sides] + [f"f {a} {b + 5} {a + 5}" for a, b in sides]
    return "\n".join(lines) + "\n"


def test_what_stands_beside_a_fixed_robot_is_drawn():
    scene = taut.scenes.make("ur5")
    scene.add_shape("table", coal.Box(1, 1, 0.1), position=[0.5, 0, -0.1])
    assert any("table" in visual.name for visual in visuals(scene))


def test_a_large_mesh_becomes_smaller_and_stays_where_it_is():
    ball = trimesh.creation.icosphere(subdivisions=6)
    vertices, faces = simplified(ball.vertices, ball.faces, 2000)
    assert 1000 < len(faces) <= 2000
    # An edge of such a face is 0.08 long; nothing leaves the ball by more than a quarter of that.
    assert np.abs(np.linalg.norm(vertices, axis=1) - 1).max() < 0.02


def test_the_camera_looks_at_what_is_finite():
    scene = taut.scenes.make("ball")
    with Set(scene) as stage_set:
        stage = stage_set.stage
        stage.place(scene.q0)
        stage.look_from_front(scene.q0, np.full(7, np.nan), np.array([1e9, 0, 0, 0, 0, 0, 1]))
        assert np.isfinite(stage.looked_at).all()
        assert np.linalg.norm(stage_set.server.initial_camera.position) < 100 * stage.size


def test_what_falls_for_ever_is_followed():
    scene = taut.Scene()
    scene.add_body("ball", coal.Sphere(0.1))
    with Set(scene, follow=True) as stage_set:
        stage_set.stage.look_from_front()
        stage_set.show(Frame.start(np.array([0, 0, -20.0, 0, 0, 0, 1]), np.zeros(6)))
        assert stage_set.stage.world.position[2] == pytest.approx(20.0 + stage_set.stage.looked_at[2])


def test_the_camera_goes_where_it_is_sent():
    scene = taut.scenes.make("ball")
    with Set(scene) as stage_set:
        stage = stage_set.stage
        stage.look_from_front()
        camera = stage_set.server.initial_camera
        usual = camera.position - stage.looked_at
        stage.look_from(90.0, 30.0, 2.0)
        reach = 2 * np.linalg.norm(usual)
        expected = reach * np.array([0, np.cos(np.pi / 6), 0.5])
        np.testing.assert_allclose(camera.position - stage.looked_at, expected, atol=1e-9)
        stage.look_from(None, None, 0.5)
        np.testing.assert_allclose(camera.position - stage.looked_at, expected / 2, atol=1e-9)


def test_following_keeps_the_body_where_the_camera_looks():
    scene = taut.scenes.make("ball")
    with Set(scene, follow=True) as stage_set:
        stage = stage_set.stage
        for x in (7.0, 9.0):
            q = np.array(scene.q0)
            q[0] = x
            if x == 7.0:
                stage.place(q)
                stage.look_from_front()
            stage_set.show(Frame.start(q, np.zeros(6)))
            np.testing.assert_allclose(q[:2] + stage.world.position[:2], stage.looked_at[:2])
