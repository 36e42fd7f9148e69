"""What the tests share: a fixed generator, and property tests that run the same examples every time."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import taut

# Derandomized: a failure in CI is the failure at home. No deadline: a shared core is slow now and then.
settings.register_profile(
    "taut", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("taut")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def load_text(tmp_path):
    """Writes a robot file and loads it, without its warnings."""

    def load(text: str, name: str = "robot.xml", **options) -> taut.Scene:
        path = tmp_path / name
        path.write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return taut.load(path, **options)

    return load


@pytest.fixture(scope="module")
def recording_path(tmp_path_factory):
    """Solo-12 falls on its feet, in 0.8 s."""
    sim = taut.Simulator(taut.scenes.make("solo12", height=0.1))
    sim.hold(sim.scene.q0, 50.0, 2.0)
    path = tmp_path_factory.mktemp("recording") / "solo.npz"
    with sim.record(path):
        sim.rollout(sim.scene.q0, np.zeros(18), steps=800)
    return path


@pytest.fixture(scope="module")
def recording(recording_path):
    return taut.load_recording(recording_path)


@pytest.fixture(scope="module")
def browser():
    from browser import open_browser

    opened = open_browser()
    yield opened
    opened.close()


@pytest.fixture
def shows(browser):
    """Opens a page of a player in the browser and waits until it is drawn; closes it after the test."""
    from browser import different, until
    from taut.view import Page

    pages = []

    def show(player):
        page = Page(player, port=0)
        pages.append(page)
        browser.open(page.url)
        until(lambda: page.server.get_clients(), name="the browser's connection")
        browser.find("//*[normalize-space(text())='Step']")
        blank = np.full(3, 255)
        until(lambda: different(browser.picture(), blank) > 0.02, name="a picture")
        return page

    yield show
    for page in pages:
        page.close()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A Go1 that falls and lands, by rollouts and steps, recorded in both ways: files and what the calls returned."""
    from recorder import KINDS, go1_simulator

    folder = tmp_path_factory.mktemp("run")
    returned = {}
    for kind in KINDS:
        sim = go1_simulator()
        q, v = sim.scene.q0, np.zeros(18)
        with sim.record(folder / f"run.{kind}"):
            fall = sim.rollout(q, v, steps=5000)  # more than a piece
            steps = [sim.step(fall.q[-1], fall.v[-1])]
            for _ in range(49):
                steps.append(sim.step(steps[-1].q, steps[-1].v))
            again = sim.rollout(q, v, steps=30)  # from elsewhere
        returned[kind] = (fall, steps, again)
    return folder, returned
