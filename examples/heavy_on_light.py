"""A cube of 1000 kg on a cube of 1 kg: how far does the light one sink? taut beside MuJoCo, in one run.

Needs `pip install "taut[bench]"`; with matplotlib, `python examples/heavy_on_light.py picture.png` draws the curves.
"""

import sys

import mujoco
import numpy as np

import taut

MJCF = """<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="2 2 1" {contact}/>
<body pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1" {contact}/></body>
<body pos="0 0 0.3"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1000" {contact}/></body>
</worldbody></mujoco>"""
STEPS = 2000


def with_taut() -> np.ndarray:
    scene = taut.scenes.make("heavy_on_light", ratio=1000)
    heights = taut.Simulator(scene, dt=1e-3).rollout(scene.q0, np.zeros(12), steps=STEPS).q[1:, 9]
    return 0.3 - heights


def with_mujoco(contact: str) -> np.ndarray:
    model = mujoco.MjModel.from_xml_string(MJCF.format(contact=contact))
    data = mujoco.MjData(model)
    sunk = np.empty(STEPS)
    for k in range(STEPS):
        mujoco.mj_step(model, data)
        sunk[k] = 0.3 - data.qpos[9]
    return sunk


curves = {
    "taut, rigid": with_taut(),
    "MuJoCo, defaults": with_mujoco(""),
    "MuJoCo, solref 0.002": with_mujoco('solref="0.002 1"'),
}
for name, sunk in curves.items():
    worst, last = 1e3 * np.abs(sunk).max(), 1e3 * abs(sunk[-1])
    print(f"{name:21s} the heavy cube sinks {worst:12.6f} mm at worst, {last:12.6f} mm after 2 s")

if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 3.4))
    for name, sunk in curves.items():
        axes.semilogy(np.arange(1, STEPS + 1) * 1e-3, np.maximum(1e3 * np.abs(sunk), 1e-9), label=name)
    axes.set(xlabel="time, s", ylabel="sunk, mm", title="1000 kg on 1 kg, steps of 1 ms")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(sys.argv[1], dpi=130)
