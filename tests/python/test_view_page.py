"""The page as a person meets it in a browser."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pinocchio
import pytest

import taut
from browser import different, green, until
from taut.loading import from_pinocchio

pytest.importorskip("viser", reason="viser is not installed: pip install 'taut[view]'")

from taut.view import LivePlayer, Page, RecordingPlayer
from taut.view.plots import PLOTS
from viewing import G, cube, quadruped, run


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/net/tcp")
def test_only_this_machine_can_reach_the_page():
    def addresses(port: int) -> set[str]:
        rows = [line.split() for file in ("tcp", "tcp6") for line in Path(f"/proc/net/{file}").read_text().splitlines()]
        return {row[1].split(":")[0] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "0A"}

    with Page(cube(), port=0) as page:
        assert addresses(page.port) == {"0100007F"}  # 127.0.0.1
    with Page(cube(), port=0, host="0.0.0.0") as page:
        assert addresses(page.port) == {"00000000"}


def test_an_address_that_is_not_ours_is_named():
    """viser alone would wait for ever."""
    with pytest.raises(ValueError, match=r"203\.0\.113\.7"):
        Page(cube(), host="203.0.113.7", port=0)
    with pytest.raises(ValueError, match="no-such-host"):
        taut.Simulator(taut.scenes.make("ball")).view(host="no-such-host.invalid", port=0)


def test_an_address_of_ip_6_is_one():
    try:
        page = Page(cube(), host="::1", port=0)
    except ValueError:
        pytest.skip("this machine has no IPv6")
    with page:
        assert page.url == f"http://[::1]:{page.port}"


def test_a_port_that_is_taken_gives_the_next_one():
    with Page(cube(), port=0) as first, Page(cube(), port=first.port) as second:
        assert first.port < second.port <= first.port + 100


def test_an_error_is_told_and_the_page_goes_on(capfd):
    player = cube()
    with Page(player, port=0) as page:
        tick = player.tick
        player.tick = lambda elapsed: 1 / 0
        until(lambda: "ZeroDivisionError" in page.panel.said.content, name="what went wrong")
        player.tick = tick
        player.play()
        until(lambda: player.frame.t > 0.05, name="time")
        until(lambda: "ZeroDivisionError" not in page.panel.said.content, name="nothing wrong any more")
    assert capfd.readouterr().err.count("Traceback") == 1


def test_it_plays_when_somebody_looks(browser):
    player = cube()
    with Page(player, port=0) as page:
        page.play_when_seen()
        time.sleep(0.3)
        assert player.frame.t == 0
        browser.open(page.url)
        until(lambda: player.frame.t > 0.1, name="time")


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


def test_dragging_a_body_pulls_it(browser, shows):
    """With a mouse: Ctrl, press on the cube in the picture, move, let go."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    player = cube(mu=0.0, v0=0.0)
    page = shows(player)
    browser.click("Play")
    until(lambda: player.playing)
    time.sleep(1.0)
    browser.dismiss()
    time.sleep(1.0)
    picture = browser.picture()
    page.server.scene.get_handle_by_name("/world/bodies").visible = False
    until(lambda: different(picture, browser.picture()) > 1e-3, name="a picture without it")
    without = browser.picture()
    page.server.scene.get_handle_by_name("/world/bodies").visible = True
    rows, columns = np.nonzero(np.abs(picture - without).max(axis=-1) > 24)
    x, y = int(np.median(columns)), int(np.median(rows))  # the cube and its shadow
    until(lambda: different(without, browser.picture()) > 1e-3, name="the cube again")
    mouse = ActionChains(browser.driver, duration=100)
    mouse.key_down(Keys.CONTROL)
    mouse.w3c_actions.pointer_action.move_to_location(x, y).pointer_down()
    for k in range(1, 11):
        mouse.w3c_actions.pointer_action.move_to_location(x - 12 * k, y)
    mouse.w3c_actions.perform()
    grip = until(lambda: player.grip, 30, name="a grip")
    assert grip.joint == 1
    assert np.abs(grip.point).max() < 0.11  # on the cube of 0.2 m
    start = player.start[0][:2]
    until(lambda: np.linalg.norm(player.frame.q[:2] - start) > 0.05, name="the cube on its way")
    target = np.array(player.pulled_to)
    assert np.dot(player.frame.q[:2] - start, target[:2] - start) > 0  # towards the mouse
    release = ActionChains(browser.driver)
    release.w3c_actions.pointer_action.pointer_up()
    release.key_up(Keys.CONTROL).perform()
    until(lambda: player.grip is None, 30, name="let go")
    assert [error for error in browser.errors() if "passive event listener" not in error] == []  # a note of viser's own


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
    handle.send_keys(Keys.ARROW_RIGHT)
    browser.click("No force")
    until(lambda: not player.force.any(), 20, "no force")
    time.sleep(1.0)
    assert not player.force.any()
    until(lambda: float(handle.get_attribute("aria-valuenow")) == 0, 20, "a slider that follows")
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


def test_a_joint_slider_leaves_other_joints_alone(browser, shows):
    """Of a robot that has moved since the start."""
    from selenium.webdriver.common.keys import Keys

    scene = taut.scenes.make("ur5")
    player = LivePlayer(scene, scene.q0, np.zeros(6))
    run(player, 0.2)
    moved = np.array(player.frame.q)
    assert np.abs(moved - scene.q0).max() > 1e-2
    shows(player)
    browser.click("Joints")
    handle = browser.slider("elbow_joint")
    until(lambda: float(handle.get_attribute("aria-valuenow")) == pytest.approx(moved[2], abs=2e-3))  # it follows
    handle.send_keys(Keys.HOME)
    until(lambda: player.frame.q[2] == pytest.approx(float(handle.get_attribute("aria-valuemin")), abs=1e-3))
    np.testing.assert_array_equal(np.delete(player.frame.q, 2), np.delete(moved, 2))


def test_the_time_slider_looks_back(browser, shows):
    from selenium.webdriver.common.keys import Keys

    player = cube()
    run(player, 0.4)
    shows(player)
    handle = browser.slider("time")
    until(lambda: float(handle.get_attribute("aria-valuemax")) == pytest.approx(player.span[1], abs=1e-3))
    handle.send_keys(Keys.HOME)
    until(lambda: player.frame.t == 0, name="the start")


def test_boxes_show_what_they_say(browser, shows):
    player = cube()
    player.step()
    page = shows(player)
    browser.click("Look")
    browser.tick("see through")
    until(lambda: all((mesh.opacity or 1.0) < 0.5 for _, mesh in page.stage.meshes), 20, "bodies to see through")
    for kind in ("normals", "cones"):
        before = browser.still()
        browser.tick(kind)
        until(lambda kind=kind: kind in page.marks.drawn, 20, kind)
        until(lambda before=before: different(before, browser.picture()) > 1e-4, name=f"a picture with {kind}")
    menu = browser.find("//label[text()='follow']/ancestor::*[.//input][1]//input")
    until(menu.is_displayed, name="the menu")
    menu.click()
    browser.find(f"//*[@role='option'][.='{player.scene.model.names[1]}']").click()
    until(lambda: page.panel.followed == 1, 20, "a body that is followed")
    run(player, 0.2)
    until(
        lambda: np.abs(page.stage.offset[0] - player.frame.q[0] + page.stage.looked_at[0]) < 1e-9, 20, "the world moved"
    )
    assert browser.errors() == []


def test_keys_play_and_step(browser, shows):
    from selenium.webdriver.common.action_chains import ActionChains

    player = cube()
    shows(player)
    ActionChains(browser.driver).send_keys("n").perform()
    until(lambda: player.frame.t == pytest.approx(1e-3), 20, "a step")
    ActionChains(browser.driver).send_keys("p").perform()
    until(lambda: player.frame.t > 0.1, 20, "time")
    ActionChains(browser.driver).send_keys("r").perform()
    until(lambda: player.frame.t == 0, 20, "the start")


def test_sliders_drive_actuators(browser, shows):
    from selenium.webdriver.common.keys import Keys

    scene = taut.scenes.make("kl_quadruped")
    player = LivePlayer(scene, scene.q0, np.zeros(scene.model.nv))
    shows(player)
    browser.click("Actuators")
    handle = browser.slider(scene.actuators[0].name)
    browser.tick("drive")
    until(lambda: player.control is not None, 20, "controls")
    assert not player.control.any()
    for _ in range(50):
        handle.send_keys(Keys.ARROW_RIGHT)
    until(lambda: player.control[0] == pytest.approx(50 * 2 * np.pi / 1000, rel=1e-3), 20, "a control")
    assert not player.control[1:].any()
    assert browser.errors() == []


def test_hold_holds_what_is_shown(browser, shows):
    """A wheel that has turned three times is held there, not brought back; a slider then moves it and nothing else."""
    model = pinocchio.Model()
    for name in ("wheel", "other"):
        joint = model.addJoint(0, pinocchio.JointModelRX(), pinocchio.SE3.Identity(), name)
        model.appendBodyToJoint(joint, pinocchio.Inertia.FromSphere(1.0, 0.1), pinocchio.SE3.Identity())
    model.upperPositionLimit[:], model.lowerPositionLimit[:] = np.inf, -np.inf
    player = LivePlayer(from_pinocchio(model, pinocchio.GeometryModel()), np.array([20.1, 0.2]), np.zeros(2))
    shows(player)
    browser.click("Joints")
    browser.slider("wheel")
    browser.tick("hold")
    until(lambda: player.held is not None, 20, "a hold")
    np.testing.assert_allclose(player.held[0], [20.1, 0.2])
    player.step()
    assert np.abs(player.frame.v).max() < 1e-6
    time.sleep(1.0)
    from selenium.webdriver.common.keys import Keys

    browser.slider("other").send_keys(Keys.HOME)
    until(lambda: player.held[0][1] < -3, 20, "another target")
    assert player.held[0][0] == pytest.approx(20.1, abs=1e-3)


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


def test_plots_are_drawn(browser, shows):
    """Each a line in its colour, from one side to the other, of a cube that falls and rests."""
    scene = taut.scenes.make("ball", height=0.3)
    player = LivePlayer(scene, scene.q0, np.zeros(6))
    run(player, 0.6)
    shows(player)
    browser.click("Run")
    browser.click("Plots")
    for number, (title, (colour, _)) in enumerate(PLOTS.items(), start=1):
        wanted = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)])

        def columns(number=number, wanted=wanted) -> int:
            seen = browser.part(f"(//canvas[ancestor::*[contains(@class, 'uplot')]])[{number}]")
            return int((np.abs(seen - wanted).max(axis=-1) < 40).any(axis=0).sum())

        until(lambda columns=columns: columns() > 100, 20, f"a line of {title}")
    assert browser.errors() == []


def test_plots_mark_the_present(recording):
    player = RecordingPlayer(recording)
    with Page(player, port=0) as page:
        for t in (0.5, 0.3):
            player.seek(t)
            until(lambda: abs(page.panel.plots.times[page.panel.plots.dot] - player.frame.t) < 2e-3, 10, "the needle")
            times, values, now = page.panel.plots.handles["contact forces, N"].data
            assert np.isfinite(now).all()  # a NaN would be the page's scale
            (row,) = np.flatnonzero(now > values.min())
            assert times[row] == pytest.approx(t, abs=2e-3)
            assert now[row] == values.max()


def test_plots_and_sliders_follow_steps_and_resets():
    player = cube()
    with Page(player, port=0) as page:
        run(player, 0.3)

        def ends_at(t: float) -> bool:
            times = page.panel.plots.times
            return times[-1] == pytest.approx(t) and page.panel.time.max == pytest.approx(max(t, 1e-3))

        until(lambda: ends_at(player.frame.t), 10, "the end of the run")
        player.step()
        until(lambda: ends_at(player.frame.t), 10, "a step more")
        for title, (_, value) in PLOTS.items():

            def is_drawn(title=title, value=value) -> bool:  # one after the other
                times, values, _ = page.panel.plots.handles[title].data
                wanted = [value(frame) for frame in player.frames]
                return list(times) == [frame.t for frame in player.frames] and np.array_equal(values, wanted)

            until(is_drawn, 10, title)
        player.reset()
        until(lambda: ends_at(0.0), 10, "the start")
