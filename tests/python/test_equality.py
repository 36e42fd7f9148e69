"""Loops and couplings from files: MJCF <equality> beside MuJoCo itself, URDF <mimic> beside its formula."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

import taut

# A free body with sites inside frames, a hinge and a slide on one body with references, a ball joint below them, and
# what nothing moves.
WORLD = """<mujoco><compiler angle="radian"/>
<worldbody>
  <site name="on_world" pos="1 2 3" euler="0.2 0 1"/>
  <body name="fixed" pos="0 0 -1" euler="0.5 0 0"><geom size="0.1"/><site name="on_fixed" pos="0 0.3 0"/></body>
  <body name="a" pos="0 0 1" euler="0.3 0 0"><freejoint/><geom size="0.1"/>
    <frame pos="1 0 0" euler="0 0.5 0"><site name="on_a" pos="0 0 0.5" euler="0.1 0.2 0.3"/>
      <site name="bar_on_a" type="capsule" size="0.01" fromto="0 0 0 0.3 0.2 0.1"/></frame>
    <body name="stuck_to_a" pos="0.2 0.1 0" euler="0 0 0.4"><geom size="0.1"/></body></body>
  <body name="b" pos="1 0 1" euler="0.3 0.4 0">
    <joint name="hinge" axis="1 2 3" pos="0.1 0 0" ref="0.7"/><joint name="slide" type="slide" axis="1 0 0" ref="0.2"/>
    <geom size="0.1"/>
    <body name="c" pos="0.1 0 0"><joint name="ball" type="ball"/><geom size="0.1"/><site name="on_c" pos="0 0.2 0"/>
    </body></body>
</worldbody>
<equality>%s</equality></mujoco>"""

CLOSURES = (
    '<connect body1="a" body2="c" anchor="0.1 0.2 0.3"/>',
    '<connect body1="c" anchor="0.1 0.2 0.3"/>',
    '<connect body1="stuck_to_a" body2="fixed" anchor="0.1 0.2 0.3"/>',
    '<connect site1="on_a" site2="on_c"/>',
    '<connect site1="on_world" site2="bar_on_a"/>',
    '<weld body1="a" body2="c"/>',
    '<weld body1="world" body2="c"/>',
    '<weld body1="a" body2="c" anchor="0.1 0.2 0.3" torquescale="2"/>',
    '<weld body1="a" body2="c" anchor="0.1 0.2 0.3" relpose="0.3 0.2 0.1 2 0.2 0.3 0.4"/>',
    '<weld body1="c" body2="stuck_to_a" relpose="9 9 9 0 0 0 0"/>',
    '<weld site1="on_a" site2="on_c"/>',
    '<weld site1="bar_on_a" site2="on_fixed"/>',
)
COUPLINGS = (
    '<joint joint1="hinge" joint2="slide" polycoef="0.1 0.2 0.3 0.4 0.5"/>',
    '<joint joint1="slide" joint2="hinge" polycoef="0.1"/>',
    '<joint joint1="hinge"/>',
    '<joint joint1="slide" polycoef="0.3 7"/>',
)


def in_mujoco_order(model: pinocchio.Model, q: np.ndarray) -> np.ndarray:
    """Quaternions w first, those of free and of ball joints."""
    q = q.copy()
    for joint in range(1, model.njoints):
        if (model.nqs[joint], model.nvs[joint]) in ((7, 6), (4, 3)):
            end = model.idx_qs[joint] + model.nqs[joint]
            q[end - 4 : end] = q[[end - 1, end - 4, end - 3, end - 2]]
    return q


def configurations(scene: taut.Scene, rng: np.random.Generator) -> list[np.ndarray]:
    return [pinocchio.integrate(scene.model, scene.q0, 0.4 * rng.normal(size=scene.model.nv)) for _ in range(20)]


class Peer:
    """The same file in MuJoCo, which measures an equality in other coordinates."""

    def __init__(self, text_or_path: str):
        mujoco = self.mujoco = pytest.importorskip("mujoco")
        read = mujoco.MjModel.from_xml_string if "<" in text_or_path else mujoco.MjModel.from_xml_path
        self.model = read(text_or_path)
        self.data = mujoco.MjData(self.model)

    def rows(self, qpos: np.ndarray, equality: int = 0) -> np.ndarray:
        """MuJoCo's own residual."""
        self.data.qpos[:] = qpos
        self.mujoco.mj_forward(self.model, self.data)
        is_equality = self.data.efc_type == self.mujoco.mjtConstraint.mjCNSTR_EQUALITY
        return self.data.efc_pos[is_equality & (self.data.efc_id == equality)]

    def rotation(self, equality: int, which: int) -> np.ndarray:
        """The quaternion of the frame that an equality holds, as MuJoCo puts it together."""
        model, data = self.model, self.data
        index = (model.eq_obj1id, model.eq_obj2id)[which][equality]
        quaternion = np.empty(4)
        if model.eq_objtype[equality] == self.mujoco.mjtObj.mjOBJ_SITE:
            body = model.site_bodyid[index]
            self.mujoco.mju_mulQuat(quaternion, data.xquat[body], model.site_quat[index])
        elif which == 0 and model.eq_type[equality] == self.mujoco.mjtEq.mjEQ_WELD:
            self.mujoco.mju_mulQuat(quaternion, data.xquat[index], model.eq_data[equality, 6:10])
        else:
            quaternion = data.xquat[index].copy()
        return quaternion

    def closure(self, qpos: np.ndarray, equality: int = 0) -> np.ndarray:
        """MuJoCo's residual of a connect or weld, in the coordinates of taut: from the first frame to the second, in
        the axes of the first, and a rotation vector. MuJoCo's goes the other way, in the world's axes, and has the
        vector part of a quaternion, times torquescale, of either sign."""
        rows = self.rows(qpos, equality)
        first, second = self.rotation(equality, 0), self.rotation(equality, 1)
        axes = np.empty(9)
        self.mujoco.mju_quat2Mat(axes, first)
        apart = -axes.reshape(3, 3).T @ rows[:3]
        if len(rows) == 3:
            return apart
        half_sine = -np.sign(first @ second) * rows[3:] / self.model.eq_data[equality, 10]
        length = np.linalg.norm(half_sine)
        return np.concatenate([apart, 2 * np.arcsin(length) * half_sine / length])


@pytest.mark.parametrize("equality", CLOSURES)
def test_error_of_a_closure_is_mujocos(equality, load_text, rng):
    text = WORLD % equality
    scene, peer = load_text(text), Peer(text)
    (loop,) = scene.loops
    assert loop.kind == ("point" if "<connect" in equality else "weld")
    for q in configurations(scene, rng):
        expected = peer.closure(in_mujoco_order(scene.model, q))
        assert np.linalg.norm(expected) > 1e-2  # an open loop: there is something to compare
        np.testing.assert_allclose(scene.loop_errors(q)[loop.name], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("equality", COUPLINGS)
def test_error_of_a_coupling_is_mujocos(equality, load_text, rng):
    text = WORLD % equality
    scene, peer = load_text(text), Peer(text)
    (coupling,) = scene.couplings
    for q in configurations(scene, rng):
        expected = peer.rows(in_mujoco_order(scene.model, q))
        assert abs(expected) > 1e-4
        np.testing.assert_allclose(scene.loop_errors(q)[coupling.name], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("equality", [e for e in CLOSURES if "site" not in e and 'relpose="0.3' not in e])
def test_what_is_not_given_is_taken_from_the_drawing(equality, load_text):
    scene = load_text(WORLD % equality)
    assert np.abs(scene.loop_errors(scene.q0)[scene.loops[0].name]).max() < 1e-15


def test_limits_of_a_ball_joint_are_mujocos(load_text, rng):
    text = (WORLD % "").replace('type="ball"', 'type="ball" range="0 0.3"')
    scene, peer = load_text(text), Peer(text)
    assert scene.warnings == []
    q = next(q for q in configurations(scene, rng) if np.linalg.norm(pinocchio.log3(ball_rotation(scene, q))) > 0.4)
    peer.rows(in_mujoco_order(scene.model, q))
    at_limit = peer.data.efc_type == peer.mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT
    (beyond,) = peer.data.efc_pos[at_limit]
    assert beyond == pytest.approx(0.3 - np.linalg.norm(pinocchio.log3(ball_rotation(scene, q))), abs=1e-12)
    # In taut the limit pushes back, and it does not in the same file without a range.
    free = load_text(WORLD % "")
    rest = np.zeros(scene.model.nv)
    angles = []
    for world in (scene, free):
        step = taut.Simulator(world, dt=1e-3).step(q, rest)
        angles.append(np.linalg.norm(pinocchio.log3(ball_rotation(world, step.q))))
    assert angles[0] < angles[1] - 1e-6


def ball_rotation(scene: taut.Scene, q: np.ndarray) -> np.ndarray:
    start = scene.model.idx_qs[scene.model.getJointId("ball")]
    return pinocchio.Quaternion(q[start : start + 4].copy()).toRotationMatrix()


def test_loops_of_cassie_are_mujocos(rng):
    scene, peer = taut.scenes.make("cassie"), Peer(str(taut.scenes.path("cassie")))
    assert [loop.kind for loop in scene.loops] == ["point"] * 4
    for q in [scene.q0, *configurations(scene, rng)]:
        errors = scene.loop_errors(q)
        for i, loop in enumerate(scene.loops):
            expected = peer.closure(in_mujoco_order(scene.model, q), i)
            np.testing.assert_allclose(errors[loop.name], expected, rtol=0, atol=1e-12)


def test_feet_of_cassie_touch_the_floor_with_friction_as_in_mujoco():
    scene, peer = taut.scenes.make("cassie"), Peer(str(taut.scenes.path("cassie")))
    peer.rows(in_mujoco_order(scene.model, scene.q0))
    theirs = [(contact.dist, contact.dim, contact.friction[0]) for contact in peer.data.contact]
    assert len(theirs) == 4  # two ends of a capsule at each foot
    assert {(dim, mu) for _, dim, mu in theirs} == {(3, 1.0)}
    ours = taut.Simulator(scene).step(scene.q0, np.zeros(scene.model.nv)).contacts
    assert {contact.mu for contact in ours} == {1.0}
    np.testing.assert_allclose(sorted(c.gap for c in ours), sorted(dist for dist, _, _ in theirs), rtol=0, atol=1e-9)


def link(name: str) -> str:
    return (
        f'<link name="{name}"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def test_a_mimic_joint_follows_its_leader(load_text):
    """Two pendulums side by side, geared: one turns half as fast as the other, the other way, from an offset."""
    joint = (
        '<joint name="{0}" type="revolute"><parent link="world"/><child link="{0}_link"/><axis xyz="0 1 0"/>'
        '<limit lower="-9" upper="9" effort="1" velocity="1"/>{1}</joint>'
    )
    scene = load_text(
        f'<robot name="gears"><link name="world"/>{link("leader_link")}{link("follower_link")}'
        + joint.format("follower", '<mimic joint="leader" multiplier="-0.5" offset="0.25"/>')
        + joint.format("leader", "")
        + "</robot>",
        name="gears.urdf",
    )
    assert scene.warnings == []
    leader, follower = (scene.model.idx_qs[scene.model.getJointId(name)] for name in ("leader", "follower"))
    assert scene.q0[follower] == 0.25
    path = taut.Simulator(scene, dt=1e-3).rollout(scene.q0, np.zeros(2), steps=300)
    assert abs(path.q[-1, leader]) > 0.1  # they did move
    # A linear law has no curvature: a step misses it by dt times the solver's 1e-6, and the next makes up for that.
    np.testing.assert_allclose(path.q[:, follower], 0.25 - 0.5 * path.q[:, leader], rtol=0, atol=2e-9)


@pytest.mark.parametrize(
    ("file", "couplings"),
    [("panda_description/urdf/panda_collision.urdf", 1), ("pr2_description/urdf/pr2.urdf", 10)],
)
@pytest.mark.filterwarnings("ignore::taut.TautWarning")
def test_robots_with_mimic_joints_start_where_they_are_coupled(file, couplings):
    scene = taut.load(taut.scenes.path("ur5").parents[2] / file)
    assert len(scene.couplings) == couplings
    assert np.abs(list(scene.loop_errors().values())).max() < 1e-15
