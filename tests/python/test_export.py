"""Recordings as pages, pictures and plots, and in notebooks."""

from __future__ import annotations

import html
import json
import re
import shutil
import time

import numpy as np
import pinocchio
import pytest
from typer.testing import CliRunner

import taut
from browser import different, green, open_browser, until
from taut import plots
from taut.cli import app
from taut.gradients import compare
from taut.loading import from_pinocchio

pytest.importorskip("viser", reason="viser is not installed: pip install 'taut[view]'")

from taut.view import export

needs_chromium = pytest.mark.skipif(
    not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), reason="chromium is not installed"
)


def run(*arguments, code: int = 0):
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def test_rows_are_those_of_the_times(recording):
    np.testing.assert_array_equal(export.rows_at(recording, 10), [0, 100, 200, 300, 400, 500, 600, 700, 800])
    np.testing.assert_array_equal(export.rows_at(recording, 10, speed=2), [0, 200, 400, 600, 800])
    np.testing.assert_array_equal(export.rows_at(recording, 10, start=0.5), [500, 600, 700, 800])
    np.testing.assert_array_equal(export.rows_at(recording, 1, start=0.8, end=0.8), [800])


def test_wrong_requests_are_named(recording_path, tmp_path):
    def fails(*arguments) -> str:
        return run("export", *arguments, code=2).stderr

    assert "--html" in fails(recording_path)
    assert "page.txt" in fails(recording_path, "--html", tmp_path / "page.txt")
    assert "nowhere" in fails(recording_path, "--html", tmp_path / "nowhere" / "page.html")
    assert "none.npz" in fails(tmp_path / "none.npz", "--html", tmp_path / "page.html")
    assert "fps is -1" in fails(recording_path, "--html", tmp_path / "page.html", "--fps", "-1")
    with taut.Simulator(taut.scenes.make("ball")).record(tmp_path / "still.npz"):
        pass
    assert "still.npz has no steps" in fails(tmp_path / "still.npz", "--png", tmp_path / "still.png")
    assert "start is 5" in fails(recording_path, "--html", tmp_path / "page.html", "--start", 5)


def test_the_page_is_one_file(recording_path, tmp_path):
    """Nothing in it is fetched from elsewhere when it is opened."""
    page = tmp_path / "page.html"
    run("export", recording_path, "--html", page, "--fps", 10)
    text = page.read_text()
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']https?:", text)


BUTTON = "document.querySelector('[class*=player-p]').closest('button')"
PAUSE_BETWEEN = f"""
    const [begin, end, done] = arguments;
    const shown = document.querySelector("input[class*=NumberInput]");
    const timer = setInterval(() => {{
      const now = parseFloat(shown.value);
      if (begin <= now && now <= end) {{ clearInterval(timer); {BUTTON}.click(); done(now); }}
    }}, 10);
"""


def test_the_page_plays_in_a_browser(recording_path, tmp_path):
    """From a file, without a server: the robot moves by itself, stands on green arrows in the end, and begins again in
    the air, without them."""
    page = tmp_path / "page.html"
    run("export", recording_path, "--html", page, "--fps", 10, "--speed", 0.04, "--end", 0.4, "--distance", 0.6)
    browser = open_browser(500, 400)
    try:
        browser.open(page.as_uri())
        until(lambda: browser.picture().std() > 5, 120, "a picture")
        browser.dismiss()
        browser.driver.set_script_timeout(240)

        def at(begin: float, end: float):
            """A picture of that part of its 10 s: the page plays on, and is paused by itself when it is there, as a
            processor may draw it once a second, and takes several to hand over a picture."""
            browser.driver.execute_async_script(PAUSE_BETWEEN, begin, end)
            browser.find("//button[.//*[contains(@class, 'player-play')]]")
            picture = browser.still(browser.window)  # there is no panel
            browser.driver.execute_script(f"{BUTTON}.click()")
            return picture

        falls = at(0.3, 3.2)  # the floor is 0.14 s below, twenty-five times slower
        stands = at(6.2, 9.9)
        falls_again = at(0.3, 3.2)
        assert different(falls, stands) > 0.005
        assert green(stands) > green(falls) + 5e-4
        assert green(falls_again) < green(falls) + 1e-4
        assert browser.errors() == []
    finally:
        browser.close()


@needs_chromium
def test_pictures_show_the_robot_where_it_is(recording):
    start, end = export.pictures(recording, np.array([0, 800]), 400, 300)
    assert start.shape == (300, 400, 3)
    assert start.std() > 5
    assert different(start.astype(int), end.astype(int)) > 0.01


@needs_chromium
def test_films_have_their_length(tmp_path):
    imageio = pytest.importorskip("imageio.v3")
    sim = taut.Simulator(taut.scenes.make("sliding_cube", mu=0.1))
    path = tmp_path / "cube.npz"
    with sim.record(path):
        sim.rollout(sim.scene.q0, np.array([1.0, 0, 0, 0, 0, 0]), steps=800)
    gif, mp4, png = (tmp_path / f"run.{kind}" for kind in ("gif", "mp4", "png"))
    run("export", path, "--gif", gif, "--mp4", mp4, "--png", png, "--fps", 5, "--width", 320, "--height", 240)
    assert imageio.imread(png).shape == (240, 320, 3)
    for film in (gif, mp4):
        frames = imageio.imread(film)
        assert frames.shape[1:] == (240, 320, 3)
        assert len(frames) == 5 or film == gif  # of equal pictures a .gif keeps one, for longer
        assert different(frames[0].astype(int), frames[-1].astype(int)) > 0.01


def test_a_gif_lasts_as_long_as_the_run(tmp_path):
    """It counts hundredths of a second: of 30 pictures a second it has 33, of 120 the 50 browsers show."""
    imageio = pytest.importorskip("imageio.v3")
    for fps, rate in ((30, 100 / 3), (120, 50), (25, 25)):
        path = tmp_path / f"{fps}.gif"
        assert export.film_rate(path, fps) == pytest.approx(rate)
        noise = np.random.default_rng(0).integers(0, 255, (10, 16, 16, 3), np.uint8)
        export.write_film(path, iter(noise), export.film_rate(path, fps))
        assert imageio.immeta(path)["duration"] == pytest.approx(1000 / rate)
    assert export.film_rate(tmp_path / "run.mp4", 30) == 30


# --- notebooks


def test_a_recording_displays_itself(recording):
    text = recording._repr_html_()
    assert "<iframe" in text
    assert "800 steps" in text
    assert "__VISER_EMBED_DATA__" in html.unescape(text)


def test_a_simulator_displays_itself():
    sim = taut.Simulator(taut.scenes.make("cube_on_plane"))
    text = sim._repr_html_()
    assert "<iframe" in text
    assert "6 dof" in text


def test_what_a_notebook_shows_is_a_picture(tmp_path):
    """As a notebook does: the text within a page."""
    sim = taut.Simulator(taut.scenes.make("stack", n=3))
    page = tmp_path / "cell.html"
    page.write_text(f"<!doctype html><meta charset='utf-8'><body>{sim._repr_html_()}</body>")
    browser = open_browser(800, 600)
    try:
        browser.open(page.as_uri())
        until(lambda: browser.picture()[100:400].std() > 5, 120, "a picture")
        time.sleep(1.0)
        assert browser.errors() == []
    finally:
        browser.close()


# --- plots


def lines_of(figure, axes: int = 0):
    return {line.get_label(): line.get_xydata() for line in figure.axes[axes].lines}


def test_trajectories_are_the_columns(recording):
    joint = recording.metadata["joints"][3]
    figure = plots.trajectories(recording, [joint])
    (data,) = (line.get_ydata() for line in figure.axes[0].lines)
    np.testing.assert_array_equal(data, recording.q[:, recording.model.idx_qs[4]])
    with pytest.raises(ValueError, match="elbow"):
        plots.trajectories(recording, ["elbow"])


def test_angles_of_joints_that_turn_without_end(tmp_path):
    model = pinocchio.Model()
    joint = model.addJoint(0, pinocchio.JointModelRUBX(), pinocchio.SE3.Identity(), "wheel")
    model.appendBodyToJoint(joint, pinocchio.Inertia.Random(), pinocchio.SE3.Identity())
    sim = taut.Simulator(from_pinocchio(model, pinocchio.GeometryModel()))
    sim.scene.gravity = [0, 0, 0]
    with sim.record(tmp_path / "wheel.npz"):
        sim.rollout([1.0, 0.0], [20.0], steps=500)
    figure = plots.trajectories(taut.load_recording(tmp_path / "wheel.npz"))
    (line,) = figure.axes[0].lines
    np.testing.assert_allclose(line.get_ydata(), 20 * 1e-3 * np.arange(501), atol=1e-9)


def test_modes_cover_the_time_in_contact(recording):
    figure = plots.modes(recording)
    pairs = np.unique(recording.pairs)
    assert len(figure.axes[0].get_yticks()) == len(pairs)
    drawn = sum(
        path.vertices[:, 0].max() - path.vertices[:, 0].min()
        for collection in figure.axes[0].collections
        for path in collection.get_paths()
    )
    steps = recording.steps_of_contacts
    touching = sum(len(np.unique(steps[recording.pairs == pair])) for pair in pairs)
    assert drawn == pytest.approx(touching * recording.dt)


def test_forces_stay_in_their_cones(recording):
    figure = plots.forces(recording)
    points = figure.axes[0].collections[0].get_offsets()
    assert len(points) == recording.contacts[-1]
    assert (points[:, 1] <= recording.mu[recording.of_step(799)] * points[:, 0] + 1e-6).all()
    sums = figure.axes[1].lines[0].get_ydata()
    weight = 9.81 * sum(inertia.mass for inertia in recording.model.inertias[1:])
    assert sums[-100:].mean() == pytest.approx(weight, rel=0.05)


def test_convergence_goes_down():
    sim = taut.Simulator(taut.scenes.make("stack", n=3))
    sim.rollout(sim.scene.q0, np.zeros(18), steps=3)
    figure = plots.convergence(sim.problem(), ("pgs", "newton"), 200)
    found = lines_of(figure)
    assert set(found) == {"pgs", "newton"}
    assert found["pgs"][-1, 1] < 1e-2 * found["pgs"][0, 1]


def test_gradient_errors_are_counted():
    sim = taut.Simulator(taut.scenes.make("sliding_cube"), tolerance=1e-12)
    found = compare(sim, 10, np.random.default_rng(0))
    figure = plots.gradient_errors(found)
    for line in figure.axes[0].lines:
        assert line.get_ydata().sum() == 10
    found.errors[0] = dict.fromkeys(found.errors[0], 1e9)
    found.errors[1] = dict.fromkeys(found.errors[1], np.nan)
    for line in plots.gradient_errors(found).axes[0].lines:
        assert line.get_ydata().sum() == 9
        assert line.get_ydata()[-1] == 1
        assert "1 not finite" in line.get_label()


def test_figures_are_saved(recording, tmp_path):
    plots.modes(recording).savefig(tmp_path / "modes.png")
    assert (tmp_path / "modes.png").stat().st_size > 5000
    json.dumps(recording.metadata)  # plain data


def test_the_demo_tells_where_its_page_is(tmp_path):
    page = tmp_path / "demo.html"
    result = run("demo", "--page", page)
    assert page.as_uri() in result.stdout
    assert "__VISER_EMBED_DATA__" in page.read_text()
    assert "page.txt" in run("demo", "--page", tmp_path / "page.txt", code=2).stderr
