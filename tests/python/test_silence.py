"""What a reader does not read it names: once for each kind, with how many there are."""

from __future__ import annotations

import warnings

import pytest
from typer.testing import CliRunner

import taut
from taut.cli import app

INERTIAL = """<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"""
SHAPE = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
LINKS = f'<link name="base">{INERTIAL}{SHAPE}{{base}}</link><link name="arm">{INERTIAL}{SHAPE}{{arm}}</link>'
JOINT = """<joint name="hinge" type="revolute" {attribute}><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1" {limit}/><dynamics damping="0.1" friction="0.2" {dynamics}/>
{joint}</joint>"""


def urdf(robot="", base="", arm="", joint="", limit="", dynamics="", attribute="") -> str:
    inside = LINKS.format(base=base, arm=arm) + JOINT.format(
        joint=joint, limit=limit, dynamics=dynamics, attribute=attribute
    )
    return f'<robot name="r" xmlns:xacro="http://ros.org">{inside}{robot}</robot>'


def mjcf(top="", world="", body="", geom="", joint="") -> str:
    return f"""<mujoco model="m"><worldbody>{world}<body name="b"><joint name="j" {joint}/>
    <geom name="g" size="0.1" {geom}/>{body}</body></worldbody>{top}</mujoco>"""


def test_nothing_is_said_about_what_is_read(load_text):
    assert load_text(urdf(), "robot.urdf").warnings == []
    assert load_text(mjcf()).warnings == []


URDF = {
    "transmissions": (
        {"robot": '<transmission name="t1"/><transmission name="t2"/>'},
        "urdf: transmission elements are not supported: 2 (t1, t2)",
    ),
    "sensors": (
        {"robot": '<sensor name="ft"><parent joint="hinge"/></sensor>'},
        "urdf: sensor elements are not supported: 1 (ft)",
    ),
    "gazebo plugins": (
        {"robot": '<gazebo><plugin name="control" filename="libx.so"/></gazebo>'},
        "urdf: gazebo plugins are not supported: 1 (control)",
    ),
    "gazebo sensors": (
        {"robot": '<gazebo reference="arm"><sensor name="imu"/></gazebo>'},
        "urdf: gazebo sensors are not supported: 1 (imu)",
    ),
    "gazebo properties": (
        {"robot": '<gazebo reference="arm"><mu1>0.2</mu1><kp>1e6</kp><material>Gazebo/Red</material></gazebo>'},
        "urdf: gazebo properties are not read: 2 (mu1 of arm, kp of arm)",
    ),
    "friction of a link": (
        {"arm": '<contact><lateral_friction value="2"/></contact>'},
        "urdf: contact elements in <link> are not supported: 1 (arm)",
    ),
    "safety controllers": (
        {"joint": '<safety_controller k_velocity="1"/>'},
        "urdf: safety_controller elements in <joint> are not supported: 1 (hinge)",
    ),
    "other laws of friction": (
        {"dynamics": 'D="1" mu_coulomb="2"'},
        "urdf: unknown attributes of <dynamics> are not read: 2 (D of hinge, mu_coulomb of hinge)",
    ),
    "misspelt": (
        {"limit": 'veloctiy="2"'},
        "urdf: unknown attributes of <limit> are not read: 1 (veloctiy of hinge)",
    ),
    "links that touch nothing": (
        {
            "robot": f'<link name="ghost">{INERTIAL}</link><joint name="second" type="continuous">'
            '<parent link="arm"/><child link="ghost"/></joint>'
        },
        "urdf: links with mass, on bodies without a collision shape, touch nothing: 1 (ghost)",
    ),
}


@pytest.mark.parametrize("kind", URDF)
def test_urdf_names(load_text, kind):
    parts, warning = URDF[kind]
    assert load_text(urdf(**parts), "robot.urdf").warnings == [warning]


@pytest.mark.parametrize(
    "parts",
    [
        {"robot": '<material name="red"><color rgba="1 0 0 1"/><texture filename="/nowhere.png"/></material>'},
        {"arm": '<visual name="v"><geometry><box size="1 1 1"/></geometry><material name="red"/></visual>'},
        {"robot": '<gazebo reference="arm"><material>Gazebo/Red</material></gazebo>'},
        {"joint": '<calibration rising="0.1"/>'},
        {
            "robot": f'<link name="tip">{INERTIAL}</link><joint name="weld" type="fixed">'
            '<parent link="arm"/><child link="tip"/></joint>'
        },
    ],
)
def test_urdf_is_read_in_silence_where_nothing_is_lost(load_text, parts):
    assert load_text(urdf(**parts), "robot.urdf").warnings == []


MJCF = {
    "sensors": (
        {"top": '<sensor><jointpos name="angle" joint="j"/><touch site="s"/><touch site="t"/></sensor>'},
        "mjcf: sensor elements are not supported: 3 (angle, <touch>)",
    ),
    "tendons": (
        {"top": '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>'},
        "mjcf: tendon elements are not supported: 1 (t)",
    ),
    "actuator force ranges": (
        {"joint": 'actuatorfrcrange="-1 1"'},
        "mjcf: actuatorfrcrange is kept as the model's effort limit, which no step applies: 1 (j)",
    ),
    "actuator kinds": (
        {"top": '<actuator><velocity name="v" joint="j"/><muscle name="m" joint="j"/></actuator>'},
        [
            "mjcf: velocity actuators are not supported: 1 (v)",
            "mjcf: muscle actuators are not supported: 1 (m)",
        ],
    ),
    "actuator attributes": (
        {"top": '<actuator><motor name="m" joint="j" armature="0.1" damping="0"/></actuator>'},
        "mjcf: motor armature is not supported: 1 (m)",
    ),
    "torsion": ({"geom": 'condim="4"', "world": '<geom type="plane" size="1 1 1" condim="6"/>'}, "condim 4 and 6"),
    "softness": ({"geom": 'solref="0.1 1" margin="0.01"'}, "solref, solimp"),
    "the step's options": (
        {"top": '<option timestep="0.01" integrator="RK4" cone="elliptic" iterations="5" solver="CG"/>'},
        "mjcf: options of MuJoCo's step are not used, a Simulator has its own: 3 (cone, integrator, timestep)",
    ),
    "flags": (
        {"top": '<option><flag clampctrl="disable" energy="enable"/></option>'},
        "mjcf: option flags are not supported: 1 (clampctrl=disable)",
    ),
    "the rest of a keyframe": (
        {"top": '<keyframe><key name="home" qpos="0.1" qvel="1" ctrl="0"/></keyframe>'},
        "mjcf: key qvel is not supported: 1 (home)",
    ),
    "bodies": ({"body": '<flexcomp name="rope"/>'}, "mjcf: flexcomp elements are not supported: 1 (rope)"),
    "plugins": (
        {"top": '<extension><plugin plugin="p"/></extension>'},
        "mjcf: extension elements are not supported: 1 (<plugin>)",
    ),
    "deformables": (
        {"top": '<deformable><flex name="cloth"/></deformable>'},
        "mjcf: deformable elements are not supported: 1 (cloth)",
    ),
    "misspelt attributes": (
        {"geom": 'frictoin="1"'},
        "mjcf: unknown attributes of <geom> are not read: 1 (frictoin of g)",
    ),
    "misspelt defaults": (
        {"top": '<default><joint dampign="1"/></default>'},
        "mjcf: unknown attributes of <joint> are not read: 1 (dampign of line 2)",
    ),
    "misspelt elements": (
        {"body": '<goem size="0.1"/>'},
        "mjcf: unknown elements in <body> are not read: 1 (<goem> in line 2)",
    ),
    "misspelt sections": (
        {"top": "<actuators/>"},
        "mjcf: unknown elements in <mujoco> are not read: 1 (<actuators> in line 2)",
    ),
    "floating bodies": ({"world": '<body gravcomp="1" mocap="true"/>'}, ["mocap", "gravcomp"]),
}


@pytest.mark.parametrize("kind", MJCF)
def test_mjcf_names(load_text, kind):
    parts, expected = MJCF[kind]
    expected = [expected] if isinstance(expected, str) else expected
    found = load_text(mjcf(**parts)).warnings
    assert len(found) == len(expected), found
    for warning, text in zip(found, expected, strict=True):
        assert warning == text if text.startswith("mjcf:") else text in warning


@pytest.mark.parametrize(
    "parts",
    [
        {"top": '<visual><global azimuth="1"/></visual><statistic extent="1"/><size njmax="5"/>'},
        {"top": '<asset><texture name="t" type="2d" file="/nowhere.png"/><material name="m" texture="t"/></asset>'},
        {"world": '<light pos="0 0 1"/><camera name="c"/>', "geom": 'rgba="1 0 0 1" group="2"'},
        {"joint": 'damping="1" armature="0.1" actuatorfrclimited="false" actuatorfrcrange="-1 1"'},
        {"top": '<actuator><motor joint="j" delay="0" lengthrange="0 1"/></actuator>'},
        {"top": '<keyframe><key qpos="0.1" qvel="0" ctrl="" time="0"/></keyframe>'},
        {"top": '<custom><numeric name="n" data="1"/></custom>'},
    ],
)
def test_mjcf_is_read_in_silence_where_nothing_is_lost(load_text, parts):
    assert load_text(mjcf(**parts)).warnings == []


def test_a_thousand_of_a_kind_are_one_warning(load_text):
    sensors = "".join(f'<jointpos name="s{k}" joint="j"/>' for k in range(1000))
    scene = load_text(mjcf(top=f"<sensor>{sensors}</sensor>"))
    assert scene.warnings == ["mjcf: sensor elements are not supported: 1000 (s0, s1, s2, s3, ...)"]


def test_kinds_come_in_the_order_of_the_file(load_text):
    text = mjcf(top='<sensor><clock/></sensor><tendon><fixed name="t"/></tendon>', geom='a="1"', joint='b="1"')
    found = load_text(text).warnings
    assert ["joint" in found[0], "geom" in found[1], "sensor" in found[2], "tendon" in found[3]] == [True] * 4
    assert found == load_text(text).warnings


@pytest.mark.parametrize(
    ("text", "name"), [(urdf(robot='<a name="x"/><b/>'), "r.urdf"), (mjcf(top="<a/><b/>"), "r.xml")]
)
def test_strict_makes_them_errors(tmp_path, text, name):
    path = tmp_path / name
    path.write_text(text)
    with pytest.warns(taut.TautWarning) as caught:
        scene = taut.load(path)
    assert [str(warning.message).removeprefix(f"{name}: ") for warning in caught] == scene.warnings
    with pytest.raises(ValueError, match=name) as refusal:
        taut.load(path, strict=True)
    assert all(what in str(refusal.value) for what in scene.warnings)


def test_strict_takes_what_is_read_whole(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(urdf())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert taut.load(path, strict=True).model.nv == 7


def test_info_shows_them(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(urdf(robot='<transmission name="t1"/>'))
    assert "transmission elements are not supported: 1 (t1)" in CliRunner().invoke(app, ["info", str(path)]).output


@pytest.mark.parametrize("name", ["go1", "talos", "humanoid", "cassie"])
def test_ready_made_scenes_warn_about_nothing(name, monkeypatch):
    """Their files are known. Not even what is silenced at once: filters belong to all threads."""
    told = []
    monkeypatch.setattr(warnings, "warn", lambda *about, **options: told.append(about))
    assert taut.scenes.make(name).warnings
    assert told == []
    taut.load(taut.scenes.path(name))
    assert told


def test_ready_made_robots_say_what_they_lose_in_few_words():
    """A dozen kinds at most, each in a line that can be read."""
    for name in taut.scenes.names():
        found = taut.scenes.make(name).warnings
        assert len(found) <= 12, (name, found)
        assert max(map(len, found), default=0) < 250, (name, found)
        assert not any("unknown elements" in what for what in found), (name, found)
