"""A run that any process repeats bit for bit: what a recording of it must hold."""

from __future__ import annotations

import numpy as np

import taut


class Run:
    """A stack that is thrown on the floor, stepped on and on."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        scene = taut.scenes.make(str(rng.choice(["cube_on_plane", "stack", "ball"])))
        self.sim = taut.Simulator(scene, dt=1e-3)
        self.q = np.array(scene.q0)
        self.q[2] += 0.1
        self.v = rng.normal(size=scene.model.nv)
        self.chunks = rng.integers(1, 900, 4096)
        self.chunk = 0

    def go_on(self) -> np.ndarray:
        """A chunk of steps; the configurations they start from."""
        steps = int(self.chunks[self.chunk % len(self.chunks)])
        self.chunk += 1
        path = self.sim.rollout(self.q, self.v, steps=steps)
        self.q, self.v = path.q[-1], path.v[-1]
        return path.q


def same(found: taut.Recording, seed: int) -> str:
    """Empty if a recording is a beginning of the run; else what is wrong with it."""
    run, steps = Run(seed), len(found)
    q, v = np.array(found.q), np.array(found.v)
    if not steps:
        return ""
    if len(q) != steps + 1 or len(v) != steps + 1:
        return f"{steps} steps have {len(q)} and {len(v)} states"
    at = 0
    while at < steps:
        rows = run.go_on()[: steps - at + 1]
        if not np.array_equal(q[at : at + len(rows)], rows):
            return f"step {at} and on are not those that were run"
        at += len(rows) - 1
    return ""
