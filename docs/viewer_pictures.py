"""Makes the pictures of docs/viewer.md: the page in a real browser, and plots. Needs selenium and chromium-driver."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import taut
from taut import plots
from taut.view import LivePlayer, Page, export

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from browser import open_browser  # noqa: E402


def standing(name: str, mass_gain: float = 20.0) -> LivePlayer:
    """A robot a second after it was dropped."""
    scene = taut.scenes.make(name, height=0.1)
    player = LivePlayer(scene, scene.q0, np.zeros(scene.model.nv))
    player.hold(scene.q0, mass_gain * player.mass, player.mass)
    player.play()
    while player.frame.t < 1.5:
        player.tick(0.02)
    player.pause()
    return player


def page_pictures(folder: Path) -> None:
    browser = open_browser(1280, 760)
    with Page(standing("go1"), port=0) as page:
        browser.open(page.url)
        time.sleep(20)  # meshes, shadows, no graphics card
        browser.dismiss()
        time.sleep(5)
        browser.save(folder / "viewer.png")
        browser.click("Run")
        browser.click("Look")
        browser.tick("cones")
        browser.click("Look")
        browser.click("Plots")
        time.sleep(20)
        browser.save(folder / "viewer_panel.png")
    browser.close()


def recording_pictures(folder: Path) -> None:
    sim = taut.Simulator(taut.scenes.make("go1", height=0.3))
    mass = sum(inertia.mass for inertia in sim.scene.model.inertias)
    sim.hold(sim.scene.q0, 20 * mass, mass)
    path = folder / "go1.npz"
    with sim.record(path):
        sim.rollout(sim.scene.q0, np.zeros(18), steps=1200)
    recording = taut.load_recording(path)
    plots.modes(recording).savefig(folder / "viewer_modes.png", dpi=130)
    page = folder / "go1.html"
    page.write_text(export.page(recording, export.rows_at(recording, 30.0, start=0.4), 30.0))
    browser = open_browser(1280, 640)
    browser.open(page.as_uri())
    time.sleep(25)
    browser.dismiss()
    time.sleep(5)
    browser.save(folder / "viewer_exported.png")
    browser.close()
    for scratch in (path, page):
        scratch.unlink()


if __name__ == "__main__":
    recording_pictures(ROOT / "docs")
    page_pictures(ROOT / "docs")
