"""Hostile connections to the viewer's server (`frames.py`), on a page that lives as long as the worker: after each
batch an honest page must get its answer, and the simulation behind it goes on."""

from __future__ import annotations

import functools
import time

import numpy as np

from .outcome import Outcome

INPUTS = 20
PATIENCE = 120.0  # s for an honest page: limits on those who came before it may have to run out first


@functools.lru_cache(maxsize=1)
def page():
    import taut
    from taut.view import Page
    from taut.view.live import LivePlayer

    scene = taut.scenes.make("cube_on_plane")
    return Page(LivePlayer(scene, scene.q0, np.zeros(scene.model.nv)), port=0)


def run(seed: list[int], outcome: Outcome) -> None:
    try:
        from .frames import hostile_connections, open_page

        shown = page()
    except ImportError:  # no viser, or no frames
        outcome.count("not here")
        return
    attacks = hostile_connections(int(np.random.default_rng(seed).integers(2**32)))
    for place in range(INPUTS):
        name, attack = next(attacks)
        if place < outcome.first:
            continue
        with outcome.guard(place):
            attack(shown.host, shown.port)
        outcome.count("inputs")
        outcome.count(name)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            open_page(shown.host, shown.port).close()
            outcome.count("honest pages")
            return
        except OSError as error:
            if time.monotonic() > deadline:
                outcome.finding(f"an honest page is not answered: {type(error).__name__} {error}")
                return
            time.sleep(0.2)
