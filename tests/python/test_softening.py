"""MuJoCo's soft constraints in taut, beside MuJoCo: where the two have one inverse inertia they take the same steps."""

from __future__ import annotations

import numpy as np
import pytest

import taut

DT = 1e-3
BALL = """
<mujoco>
  <option timestep="0.001" integrator="Euler" cone="elliptic" tolerance="1e-14" iterations="200"/>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" condim="1"/>
    <body pos="0 0 0.12">
      <freejoint/>
      <geom name="ball" type="sphere" size="0.1" mass="2" condim="1" solref="{solref}" solimp="{solimp}"/>
    </body>
  </worldbody>
</mujoco>
"""
STOP = """
<mujoco>
  <option timestep="0.001" integrator="Euler" tolerance="1e-14" iterations="200"/>
  <worldbody>
    <body><joint type="slide" axis="0 0 1" range="-0.05 1" solreflimit="{solref}" solimplimit="{solimp}"/>
      <inertial pos="0 0 0" mass="3" diaginertia="1 1 1"/></body>
  </worldbody>
</mujoco>
"""
SHAPES = [
    {},
    {"time_constant": 0.05, "damping_ratio": 0.4},
    {"d_0": 0.5, "d_width": 0.9, "width": 0.01, "midpoint": 0.3, "power": 3.0},
    {"d_0": 0.8, "d_width": 0.8, "power": 1.0},
    {"time_constant": 1e-4},  # shorter than two steps: both use two steps
]


def attributes(softening: taut.Softening) -> dict[str, str]:
    s = softening
    return {
        "solref": f"{s.time_constant} {s.damping_ratio}",
        "solimp": f"{s.d_0} {s.d_width} {s.width} {s.midpoint} {s.power}",
    }


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("text", "option"), [(BALL, "soft_contacts"), (STOP, "soft_limits")])
def test_a_softened_row_takes_mujocos_steps(shape, text, option, load_text):
    mujoco = pytest.importorskip("mujoco")
    softening = taut.Softening(**shape)
    written = text.format(**attributes(softening))
    if text is BALL:  # the ball's own numbers alone: MuJoCo mixes those of the two geoms
        written = written.replace('name="ball"', 'name="ball" priority="1"')
    scene = load_text(written)
    model = mujoco.MjModel.from_xml_string(written)
    data = mujoco.MjData(model)
    sim = taut.Simulator(scene, dt=DT, tolerance=1e-13, **{option: softening})
    q, v = np.array(scene.q0), np.zeros(scene.model.nv)
    height = 2 if text is BALL else 0
    deepest = 0.0
    for _ in range(600):
        mujoco.mj_step(model, data)
        step = sim.step(q, v)
        q, v = step.q, step.v
        assert q[height] == pytest.approx(data.qpos[height], abs=1e-10)
        assert v[height] == pytest.approx(data.qvel[height], abs=1e-9)
        deepest = min(deepest, q[height] - (0.1 if text is BALL else -0.05))
    assert deepest < -1e-5  # it gave way, in both


def test_impedance_is_mujocos_curve():
    s = taut.Softening(d_0=0.2, d_width=0.9, width=0.01, midpoint=0.3, power=2.0)
    assert s.impedance(0.0) == 0.2
    assert s.impedance(0.02) == s.impedance(-0.01) == 0.9
    # Both branches meet at the midpoint: x²/m there, and 1 − (1 − x)²/(1 − m).
    assert s.impedance(0.003) == pytest.approx(0.2 + 0.3 * 0.7)


def test_softened_loops_stretch_and_rigid_ones_do_not():
    scene = taut.scenes.make("fourbar_fixed")
    stretched = {}
    for name, option in (("rigid", None), ("soft", taut.Softening())):
        path = taut.Simulator(scene, dt=DT, soft_loops=option).rollout(scene.q0, np.zeros(scene.model.nv), steps=500)
        stretched[name], _ = scene.worst_loop_gap(path.q)
        assert all(report.status == "converged" for report in path.reports)
    assert stretched["rigid"] < 1e-5 < 1e-4 < stretched["soft"]


@pytest.mark.parametrize(
    "wrong",
    [{"d_0": 0.0}, {"d_width": 1.0}, {"width": 0.0}, {"midpoint": 1.0}, {"power": 0.5}, {"time_constant": -1.0}],
)
def test_bad_numbers_are_named(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name.replace("d_0", "impedance").replace("d_width", "impedance")):
        scene = taut.scenes.make("ball")
        taut.Simulator(scene, soft_contacts=taut.Softening(**wrong))
