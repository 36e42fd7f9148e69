"""Recordings: every state, contact, impulse and report of a run, in a file that survives a killed process.

>>> import taut, tempfile, pathlib
>>> sim = taut.Simulator(taut.scenes.make("ball", height=0.1))
>>> path = pathlib.Path(tempfile.mkdtemp()) / "ball.npz"
>>> with sim.record(path):
...     run = sim.rollout(sim.scene.q0, [0.0] * 6, steps=300)
>>> recording = taut.load_recording(path)
>>> len(recording), bool((recording.q == run.q).all())
(300, True)
"""

from __future__ import annotations

from .columns import MODES, STATUSES
from .loading import load_recording
from .recorder import Recorder
from .recording import Recording

__all__ = ["MODES", "STATUSES", "Recorder", "Recording", "load_recording"]
