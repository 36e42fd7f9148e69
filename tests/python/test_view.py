"""The viewer: players without a page, and the page as a person meets it in a browser."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import taut
from browser import different, green, open_browser, until
from taut.cli import app

viser = pytest.importorskip("viser", reason="viser is not installed: pip install 'taut[view]'")

from taut.recording.forces import contact_frames  # noqa: E402
from taut.view import LivePlayer, Page, RecordingPlayer  # noqa: E402
from taut.view.shapes import mesh_of  # noqa: E402
from taut.view.visuals import visuals  # noqa: E402

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


# --- players


def test_a_player_steps_as_the_simulator_does():
    player, sim = cube(), taut.Simulator(taut.scenes.make("sliding_cube", mu=0.4))
    q, v = sim.scene.q0, np.array([1.0, 0, 0, 0, 0, 0])
    for _ in range(5):
        player.step()
        done = sim.step(q, v)
        q, v = done.q, done.v
    np.testing.assert_array_equal(player.frame.q, q)
    assert player.frame.t == pytest.approx(5e-3)
    np.testing.assert_array_equal(player.frame.points, [contact.point for contact in done.contacts])
    np.testing.assert_array_equal(contact_frames(player.frame.normals), [contact.frame for contact in done.contacts])
    assert player.frame.forces[:, 2].sum() == pytest.approx(done.impulses[:, 2].sum() / 1e-3)


def test_friction_changes_where_the_cube_stops():
    for mu in (0.4, 0.8):
        player = cube(mu=0.4)
        player.set_friction(mu)
        run(player, 0.5)
        assert player.frame.q[0] == pytest.approx(1 / (2 * mu * G), abs=2e-3)


def test_going_on_from_the_past_repeats_the_future():
    """Bit for bit: the state is restored, not guessed."""
    player = quadruped(0.05)
    run(player, 0.5)
    end = player.frame
    player.seek(0.2)
    assert player.frame.t == pytest.approx(0.2, abs=0.05)
    while player.frame.t < end.t - 1e-9:
        player.step()
    assert player.frame.t == pytest.approx(end.t)
    np.testing.assert_array_equal(player.frame.q, end.q)


def test_reset_is_the_start():
    player = cube()
    run(player, 0.1)
    player.reset()
    assert player.frame.t == 0
    np.testing.assert_array_equal(player.frame.q, player.start[0])
    assert not player.playing


def test_history_is_the_last_minute():
    player = cube(v0=0.0)
    player.speed = 50.0
    player.play()
    while player.frame.t < 70:
        player.tick(0.1)
    low, high = player.span
    assert high == player.frame.t
    assert 50 < high - low <= 60


def test_another_solver_goes_on_from_here():
    player = cube()
    run(player, 0.1)
    before = player.frame
    player.set_solver("pgs")
    assert player.sim.solver == "pgs"
    run(player, 0.5)
    assert player.frame.t > before.t
    assert player.frame.q[0] == pytest.approx(1 / (2 * 0.4 * G), abs=2e-3)
    with pytest.raises(ValueError, match="foo"):
        player.set_solver("foo")


def test_a_force_moves_a_body():
    """Without friction a force of 2 N on 1 kg: x = f t² / 2 m, a step's worth more."""
    player = cube(mu=0.0, v0=0.0)
    player.force = np.array([2.0, 0, 0])
    run(player, 0.5)
    t, mass = player.frame.t, player.mass
    assert player.frame.q[0] == pytest.approx(2.0 / mass * t * (t + 1e-3) / 2, rel=1e-6)


def test_the_mouse_pulls_a_body_to_where_it_is():
    player = cube(mu=0.0, v0=0.0)
    player.pulled_to = np.array([0.3, 0.2, player.frame.q[2]])
    run(player, 2.0)
    np.testing.assert_allclose(player.frame.q[:2], [0.3, 0.2], atol=5e-3)


def test_joints_go_where_they_are_held():
    scene = taut.scenes.make("ur5")
    player = LivePlayer(scene, scene.q0, np.zeros(6))
    target = np.array(scene.q0) + 0.1
    player.hold(target, 5000.0, 250.0)
    run(player, 1.0)
    np.testing.assert_allclose(player.frame.q, target, atol=0.02)


def test_a_run_slower_than_real_time_is_not_late():
    """A tick ends in time, whatever is due."""
    player = LivePlayer(taut.scenes.make("pile", n=40), taut.scenes.make("pile", n=40).q0, np.zeros(240))
    player.speed = 1000.0
    player.play()
    started = time.perf_counter()
    for _ in range(5):
        player.tick(0.05)
    assert time.perf_counter() - started < 2.0  # 250 ms are due, and 5000 steps of a millisecond each
    assert 0 < player.frame.t < 50


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    sim = taut.Simulator(taut.scenes.make("solo12", height=0.1))
    sim.hold(sim.scene.q0, 50.0, 2.0)
    path = tmp_path_factory.mktemp("recording") / "solo.npz"
    with sim.record(path):
        sim.rollout(sim.scene.q0, np.zeros(18), steps=800)
    return taut.load_recording(path)


def test_a_recording_plays_and_stops_at_its_end(recording):
    player = RecordingPlayer(recording)
    player.play()
    player.tick(0.3)
    assert player.playing
    np.testing.assert_array_equal(player.frame.q, recording.q[300])
    assert len(player.frame.points) == recording.contacts[299]
    player.tick(10.0)
    assert not player.playing
    np.testing.assert_array_equal(player.frame.q, recording.q[-1])
    player.seek(0.1)
    np.testing.assert_array_equal(player.frame.q, recording.q[100])
    player.step()
    np.testing.assert_array_equal(player.frame.q, recording.q[101])


# --- what is drawn


@pytest.mark.parametrize("name", taut.scenes.names())
def test_everything_can_be_drawn(name):
    scene = taut.scenes.make(name)
    shown = visuals(scene, collision=True)
    for visual in shown:
        vertices, faces = visual.mesh
        assert np.isfinite(vertices).all()
        assert len(faces)
        assert faces.max() < len(vertices)


@pytest.mark.parametrize("shape", ["Box", "Sphere", "Capsule", "Cylinder", "Cone", "Ellipsoid"])
def test_meshes_are_as_large_as_their_shapes(shape):
    import coal

    made = {
        "Box": lambda: coal.Box(0.2, 0.4, 0.6),
        "Sphere": lambda: coal.Sphere(0.3),
        "Capsule": lambda: coal.Capsule(0.1, 0.5),
        "Cylinder": lambda: coal.Cylinder(0.1, 0.5),
        "Cone": lambda: coal.Cone(0.1, 0.5),
        "Ellipsoid": lambda: coal.Ellipsoid(0.1, 0.2, 0.3),
    }[shape]()
    made.computeLocalAABB()
    vertices, _ = mesh_of(made)
    size = made.aabb_local.max_ - made.aabb_local.min_
    # A polyhedron inside a round shape: up to 2 % less.
    np.testing.assert_allclose(vertices.min(axis=0), made.aabb_local.min_, atol=0.02 * size.max())
    np.testing.assert_allclose(vertices.max(axis=0), made.aabb_local.max_, atol=0.02 * size.max())


def test_a_urdf_shows_its_meshes():
    scene = taut.scenes.make("solo12")
    shown, shapes = visuals(scene), visuals(scene, collision=True)
    assert sum(len(v.mesh[1]) for v in shown) > 2 * sum(len(v.mesh[1]) for v in shapes)


# --- the page


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/net/tcp")
def test_only_this_machine_can_reach_the_page():
    def addresses(port: int) -> set[str]:
        rows = [line.split() for file in ("tcp", "tcp6") for line in Path(f"/proc/net/{file}").read_text().splitlines()]
        return {row[1].split(":")[0] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "0A"}

    with Page(cube(), port=0) as page:
        assert addresses(page.port) == {"0100007F"}  # 127.0.0.1
    with Page(cube(), port=0, host="0.0.0.0") as page:
        assert addresses(page.port) == {"00000000"}


def test_a_page_does_not_slow_a_step():
    """The player of a page steps as fast as a simulator alone, up to the noise of the machine."""
    player = quadruped(0.0)
    with Page(player, port=0):
        player.play()
        until(lambda: player.frame.t > 1.0)
        beside = np.median([frame.step_us for frame in player.frames[5:]])
    alone = quadruped(0.0)
    run(alone, 1.0)
    assert beside < 3 * np.median([frame.step_us for frame in alone.frames[5:]])


@pytest.fixture(scope="module")
def browser():
    opened = open_browser()
    yield opened
    opened.close()


@pytest.fixture
def shows(browser):
    """Opens a page of a player in the browser and waits until it is drawn; closes it after the test."""
    pages = []

    def show(player) -> Page:
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


def test_the_robot_is_in_the_picture(browser, shows):
    page = shows(quadruped())
    until(lambda: browser.picture().std() > 5)
    time.sleep(1.0)
    with_robot = browser.picture()
    page.server.scene.get_handle_by_name("/world/bodies").visible = False
    until(lambda: different(with_robot, browser.picture()) > 0.02, name="the robot gone")
    assert browser.errors() == []


def test_play_moves_it_and_pause_stops_it(browser, shows):
    player = quadruped()
    shows(player)
    before = browser.picture()
    browser.click("Play")
    until(lambda: player.frame.t > 0.3, name="time")
    browser.click("Pause")
    until(lambda: not player.playing)
    assert player.frame.q[2] < player.start[0][2] - 0.05  # it fell
    until(lambda: different(before, browser.picture()) > 0.01, name="a picture that changed")
    stopped = player.frame.t
    browser.click("Step")
    until(lambda: player.frame.t > stopped)
    assert player.frame.t == pytest.approx(stopped + 1e-3)
    browser.click("Reset")
    until(lambda: player.frame.t == 0)
    assert browser.errors() == []


def test_arrows_appear_when_it_stands(browser, shows):
    """Green is for sticking contacts; in the air there is none."""
    player = quadruped()

    page = shows(player)
    before = green(browser.picture())  # of the axes in the corner
    run(player, 1.5)
    assert len(player.frame.points) >= 4
    until(lambda: green(browser.picture()) > before + 5e-4, name="green arrows")
    page.marks.shown.update(forces=False, points=False)
    page.panel.changed = True
    until(lambda: green(browser.picture()) < before + 1e-4, name="no arrows")


def test_the_friction_slider_moves_where_the_cube_stops(browser, shows):
    from selenium.webdriver.common.keys import Keys

    player = cube(mu=0.4)
    shows(player)
    browser.click("Play")
    until(lambda: player.frame.t > 0.4, name="time")
    first = player.frame.q[0]
    browser.click("Reset")
    until(lambda: player.frame.t == 0)
    browser.click("Physics")
    handle = browser.slider("friction")
    for _ in range(40):  # hundredths
        handle.send_keys(Keys.ARROW_RIGHT)
    until(lambda: player.scene.friction("floor") == pytest.approx(0.8), name="friction")
    browser.click("Play")
    until(lambda: player.frame.t > 0.4, name="time")
    assert first == pytest.approx(1 / (2 * 0.4 * G), abs=2e-3)
    assert player.frame.q[0] == pytest.approx(1 / (2 * 0.8 * G), abs=2e-3)
    assert browser.errors() == []


def test_sliders_push_a_body_and_a_menu_changes_the_solver(browser, shows):
    from selenium.webdriver.common.keys import Keys

    player = cube(mu=0.0, v0=0.0)
    shows(player)
    browser.click("Push")
    handle = browser.slider("force y")
    for _ in range(5):
        handle.send_keys(Keys.ARROW_RIGHT)
    force = until(lambda: player.force[1], name="a force")
    browser.click("Physics")
    menu = browser.find("//label[text()='solver']/ancestor::*[.//input][1]//input")
    until(menu.is_displayed, name="the menu")
    menu.click()
    browser.find("//*[@role='option'][.='pgs']").click()
    until(lambda: player.sim.solver == "pgs", name="another solver")
    browser.click("Play")
    until(lambda: player.frame.t > 0.3, name="time")
    player.pause()
    moved, t = player.frame.q[1], player.frame.t
    assert moved == pytest.approx(player.force[1] / player.mass * t * (t + 1e-3) / 2, rel=1e-6)
    assert force > 0
    assert browser.errors() == []


def test_a_joint_slider_poses_a_robot(browser, shows):
    from selenium.webdriver.common.keys import Keys

    scene = taut.scenes.make("ur5")
    player = LivePlayer(scene, scene.q0, np.zeros(6))
    shows(player)
    before = browser.picture()
    browser.click("Joints")
    handle = browser.slider("elbow_joint")  # to its stop, half a turn
    handle.send_keys(Keys.HOME)
    until(lambda: player.frame.q[2] == pytest.approx(float(handle.get_attribute("aria-valuemin")), abs=1e-3))
    until(lambda: different(before, browser.picture()) > 0.01, name="a picture that changed")
    np.testing.assert_array_equal(np.delete(player.frame.q, 2), np.delete(scene.q0, 2))


def test_the_time_slider_looks_back(browser, shows):
    from selenium.webdriver.common.keys import Keys

    player = cube()
    run(player, 0.4)
    shows(player)
    handle = browser.slider("time")
    until(lambda: float(handle.get_attribute("aria-valuemax")) == pytest.approx(player.span[1], abs=1e-3))
    handle.send_keys(Keys.HOME)
    until(lambda: player.frame.t == 0, name="the start")


def test_everything_that_can_be_shown_is_shown_without_errors(browser, shows):
    player = quadruped(0.0)
    run(player, 0.3)
    page = shows(player)
    for kind in page.marks.shown:
        page.marks.shown[kind] = True
    page.panel.changed = True
    page.panel.followed = 1
    page.stage.show_shapes(True)
    for folder in ("Look", "Push", "Joints", "Plots"):
        browser.click(folder)
    browser.click("Play")
    until(lambda: player.frame.t > 0.8, name="time")
    assert browser.errors() == []


def test_a_recording_plays_in_the_page(browser, shows, recording):
    player = RecordingPlayer(recording)
    shows(player)
    before = browser.picture()
    browser.click("Play")
    until(lambda: not player.playing and player.t > 0.79, name="the end")
    until(lambda: different(before, browser.picture()) > 0.01, name="a picture that changed")
    assert browser.errors() == []


# --- the command


def test_the_command_tells_where_its_page_is_and_ends_when_interrupted():
    code = "from taut.cli import app; app()"
    command = [sys.executable, "-c", code, "view", "ball", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = process.stdout.readline()
    url = re.search(r"http://localhost:\d+", said).group()
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert b"viser" in answer.read().lower()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert process.stderr.read() == ""


def test_wrong_requests_are_named(tmp_path):
    def fails(*arguments) -> str:
        result = CliRunner().invoke(app, ["view", *map(str, arguments)])
        assert result.exit_code == 2, result.output
        return result.stderr

    assert "none.npz" in fails(tmp_path / "none.npz")
    assert "did you mean stack?" in fails("stakc")
    assert "velocity has 2 numbers" in fails("ball", "--velocity", "1 2")
    (tmp_path / "foreign.npz").write_text("hello")
    assert "not a recording" in fails(tmp_path / "foreign.npz")


# --- a page beside somebody's own loop


def test_a_watched_loop_computes_the_same_and_the_page_sees_it(browser):
    def loop(sim) -> list[np.ndarray]:
        q, v = sim.scene.q0, np.zeros(18)
        path = []
        for _ in range(600):
            step = sim.step(q, v)
            q, v = step.q, step.v
            path.append(q)
        return path

    alone = loop(taut.Simulator(taut.scenes.make("solo12", height=0.1)))
    sim = taut.Simulator(taut.scenes.make("solo12", height=0.1))
    with sim.view(port=0) as watch:
        assert watch.url.startswith("http://localhost:")
        browser.open(watch.url)
        browser.find("//*[normalize-space(text())='Step']")
        first = browser.picture()
        np.testing.assert_array_equal(loop(sim), alone)
        watch._tape.hand_over()
        until(lambda: different(first, browser.picture()) > 0.01, name="a picture that changed")
        with pytest.raises(ValueError, match="already"):
            sim.record("never.npz")
    assert sim._tape is None
    assert all("WebSocket" in error for error in browser.errors())  # it was closed


def test_a_loop_outlives_its_page():
    sim = taut.Simulator(taut.scenes.make("cube_on_plane"))
    watch = sim.view(port=0)
    watch.process.kill()
    watch.process.wait()
    q, v = sim.scene.q0, np.zeros(6)
    for _ in range(200):
        step = sim.step(q, v)
        time.sleep(1e-3)
    assert step.report.status == "converged"
    watch.close()
