"""The files that mutations begin with: small, and with something of everything that readers know."""

from __future__ import annotations

import struct


def _obj() -> bytes:
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    faces = [(1, 3, 4), (1, 4, 2), (5, 6, 8), (5, 8, 7), (1, 2, 6), (1, 6, 5), (3, 7, 8), (3, 8, 4), (1, 5, 7)]
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in corners)
    return (text + "".join(f"f {a} {b} {c}\n" for a, b, c in faces)).encode()


def _stl() -> bytes:
    corners = [(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
    triangles = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    body = b"".join(
        struct.pack("<12fH", 0, 0, 0, *(x for corner in triangle for x in corners[corner]), 0) for triangle in triangles
    )
    return b"\0" * 80 + struct.pack("<I", len(triangles)) + body


MESHES = {"cube.obj": _obj(), "corner.stl": _stl()}

URDF = [
    """<?xml version="1.0"?>
<robot name="r">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base">
    <inertial><origin xyz="0 0 0.1" rpy="0 0 0"/><mass value="2"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    <visual><geometry><box size="0.1 0.1 0.1"/></geometry><material name="red"/></visual>
    <collision name="c0"><origin xyz="0 0 0" rpy="0 0.1 0"/><geometry><box size="0.2 0.2 0.1"/></geometry></collision>
  </link>
  <link name="upper">
    <inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
    <collision><geometry><cylinder radius="0.05" length="0.3"/></geometry></collision>
  </link>
  <link name="lower">
    <inertial><mass value="0.5"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
    <collision><geometry><mesh filename="cube.obj" scale="1 1 1"/></geometry></collision>
  </link>
  <link name="foot">
    <inertial><mass value="0.1"/><inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial>
    <collision><geometry><sphere radius="0.03"/></geometry></collision>
  </link>
  <link name="slide">
    <inertial><mass value="0.1"/><inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial>
    <collision><geometry><mesh filename="corner.stl"/></geometry></collision>
  </link>
  <link name="wheel">
    <inertial><mass value="0.1"/><inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial>
  </link>
  <joint name="hip" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0.1 0 0" rpy="0 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="5"/><dynamics damping="0.1" friction="0.2"/>
  </joint>
  <joint name="knee" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.3"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="0" effort="10" velocity="5"/>
    <mimic joint="hip" multiplier="-2" offset="0.1"/></joint>
  <joint name="ankle" type="fixed"><parent link="lower"/><child link="foot"/><origin xyz="0 0 -0.2"/></joint>
  <joint name="rail" type="prismatic"><parent link="base"/><child link="slide"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.2" effort="1" velocity="1"/></joint>
  <joint name="axle" type="continuous"><parent link="base"/><child link="wheel"/><axis xyz="0 1 0"/></joint>
  <transmission name="t"><type>x</type><joint name="hip"/><actuator name="m"/></transmission>
  <gazebo reference="foot"><mu1>0.5</mu1></gazebo>
</robot>
""",
    """<robot name="p">
  <link name="world"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <collision><geometry><box size="1 1 1"/></geometry></collision></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="f" type="floating"><parent link="world"/><child link="a"/></joint>
  <joint name="g" type="planar"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
</robot>
""",
]

MJCF = [
    """<mujoco model="m">
  <compiler angle="degree" autolimits="true" eulerseq="xyz"/>
  <option timestep="0.002" gravity="0 0 -9.81" integrator="Euler" cone="elliptic"/>
  <default>
    <geom friction="0.8 0.01 0.001" density="500" contype="1" conaffinity="1"/>
    <joint damping="0.1" armature="0.01" frictionloss="0.05"/>
    <default class="leg"><geom type="capsule" size="0.03"/><position kp="50" kv="1"/></default>
  </default>
  <asset>
    <mesh name="cube" file="cube.obj" scale="1 1 1"/>
    <mesh name="tetra" vertex="0 0 0 0.1 0 0 0 0.1 0 0 0 0.1"/>
    <hfield name="field" nrow="3" ncol="3" size="1 1 0.2 0.1" elevation="0 1 0 1 0 1 0 1 0"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <geom name="hills" type="hfield" hfield="field" pos="3 0 0"/>
    <body name="trunk" pos="0 0 0.5" quat="1 0 0 0">
      <freejoint name="root"/>
      <inertial pos="0 0 0" mass="3" diaginertia="0.1 0.1 0.1"/>
      <geom name="box" type="box" size="0.1 0.1 0.05" margin="0.001"/>
      <site name="s0" pos="0.1 0 0"/>
      <body name="thigh" pos="0.1 0 0" euler="0 10 0" childclass="leg">
        <joint name="hip" type="hinge" axis="0 1 0" range="-60 60" stiffness="1" springref="0.1"/>
        <geom name="thigh" fromto="0 0 0 0 0 -0.2"/>
        <body name="shin" pos="0 0 -0.2">
          <joint name="knee" type="hinge" axis="0 1 0" range="-120 0"/>
          <geom name="shin" fromto="0 0 0 0 0 -0.2"/>
          <geom name="foot" type="sphere" size="0.04" pos="0 0 -0.2" condim="3" priority="1"/>
        </body>
      </body>
      <body name="arm" pos="-0.1 0 0">
        <joint name="shoulder" type="ball" range="0 90"/>
        <geom type="ellipsoid" size="0.05 0.04 0.1" pos="0 0 -0.1"/>
        <body name="slider" pos="0 0 -0.2"><joint name="slide" type="slide" axis="0 0 1" range="-0.1 0.1"/>
          <geom type="cylinder" size="0.03 0.05"/></body>
      </body>
    </body>
    <body name="loose" pos="1 0 0.3"><joint name="loose" type="free"/><geom type="mesh" mesh="cube"/></body>
    <body name="shard" pos="2 0 0.3"><freejoint/><geom type="mesh" mesh="tetra" mass="0.2"/></body>
  </worldbody>
  <equality>
    <connect name="c" body1="shin" body2="slider" anchor="0 0 0" active="false"/>
    <weld name="w" body1="loose" body2="world" active="false"/>
    <joint name="j" joint1="knee" joint2="hip" polycoef="0 -1 0 0 0"/>
  </equality>
  <contact><exclude body1="trunk" body2="shin"/><pair geom1="foot" geom2="box" friction="1 1 0.1 0.1 0.1"/></contact>
  <tendon><fixed name="t"><joint joint="hip" coef="1"/><joint joint="knee" coef="-1"/></fixed></tendon>
  <actuator>
    <motor name="m" joint="hip" gear="2" ctrlrange="-1 1" forcerange="-5 5"/>
    <position name="p" joint="knee" class="leg" ctrlrange="-2 2"/>
    <general name="g" joint="slide" gainprm="1" biastype="affine" biasprm="0 -1 -0.1"/>
  </actuator>
  <sensor><jointpos joint="hip"/><accelerometer site="s0"/></sensor>
  <keyframe><key name="home" qpos="0 0 0.5 1 0 0 0 0.1 -0.2 1 0 0 0 0 1 0 0.3 1 0 0 0 2 0 0.3 1 0 0 0"/></keyframe>
</mujoco>
""",
    """<mujoco><compiler coordinate="local" inertiafromgeom="true"/>
  <worldbody><light pos="0 0 3"/><geom type="box" size="1 1 0.1" pos="0 0 -0.1"/>
    <body pos="0 0 1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
      <geom type="sphere" size="0.1" mass="1"/>
      <body pos="0.2 0 0"><geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02"/><joint axis="0 1 0"/></body>
    </body>
    <body mocap="true" pos="0 0 2"><geom size="0.1"/></body>
  </worldbody>
</mujoco>
""",
]
