"""What tests of recordings record."""

from __future__ import annotations

import taut

KINDS = ["npz", "mcap"]


def go1_simulator(height: float = 0.1) -> taut.Simulator:
    scene = taut.scenes.make("go1", height=height)
    sim = taut.Simulator(scene)
    sim.hold(scene.q0, 300.0, 10.0)
    return sim
