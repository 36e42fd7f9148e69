"""What tests of the viewer look at."""

from __future__ import annotations

import numpy as np
import pytest

import taut

pytest.importorskip("viser", reason="viser is not installed: pip install 'taut[view]'")

from taut.view import LivePlayer

# Who runs tests in the background of a shell has them, and their children, ignore interrupts.
INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
COMMAND = INTERRUPTIBLE + "from taut.cli import app; app()"

G = 9.81


def cube(mu: float = 0.4, v0: float = 1.0) -> LivePlayer:
    scene = taut.scenes.make("sliding_cube", mu=mu)
    return LivePlayer(scene, scene.q0, np.array([v0, 0, 0, 0, 0, 0]))


def quadruped(height: float = 0.15) -> LivePlayer:
    scene = taut.scenes.make("solo12", height=height)
    player = LivePlayer(scene, scene.q0, np.zeros(scene.model.nv))
    player.hold(scene.q0, 50.0, 2.0)
    return player


def run(player: LivePlayer, seconds: float) -> None:
    """Simulated ones, whatever the machine does meanwhile."""
    player.play()
    while player.playing and player.frame.t < seconds:
        player.tick(0.02)
    player.pause()
