"""`taut view`, and `sim.view()` beside somebody's own loop."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest
from typer.testing import CliRunner

import taut
from browser import different, until
from taut.cli import app

pytest.importorskip("viser", reason="viser is not installed: pip install 'taut[view]'")

from taut.view import watch as watch_module
from taut.view.watch import WatchPlayer, send
from viewing import COMMAND, INTERRUPTIBLE


def test_the_command_tells_where_its_page_is_and_ends_when_interrupted():
    command = [sys.executable, "-c", COMMAND, "view", "ball", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = process.stdout.readline()
    url = re.search(r"http://localhost:\d+", said).group()
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert b"viser" in answer.read().lower()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert process.stderr.read() == ""


def test_the_bench_measures_what_a_page_costs(tmp_path):
    path = tmp_path / "viewer.json"
    arguments = ["bench", "viewer", "cube_on_plane", "--steps", "300", "--turns", "1", "--json", str(path)]
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(path.read_text())
    assert set(found["costs"]) == {"watched", "with its page"}
    assert all(row["median_us"] > 0 for row in found["results"].values())


def test_the_command_plays_a_recording(recording, tmp_path):
    for kind in ("npz", "mcap"):
        path = tmp_path / f"run.{kind}"
        recording.save(path)
        command = [sys.executable, "-c", COMMAND, "view", str(path), "--no-browser", "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert f"run.{kind} is at http://localhost:" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr.read() == ""


def test_wrong_requests_are_named(tmp_path, recording):
    def fails(*arguments) -> str:
        result = CliRunner().invoke(app, ["view", *map(str, arguments)])
        assert result.exit_code == 2, result.output
        return result.stderr

    assert "none.npz" in fails(tmp_path / "none.npz")
    assert "did you mean stack?" in fails("stakc")
    assert "velocity has 2 numbers" in fails("ball", "--velocity", "1 2")
    assert "velocity is '1 a'" in fails("ball", "--velocity", "1 a")
    assert "must be finite" in fails("ball", "--velocity", "nan 0 0 0 0 0")
    assert "drop is nan" in fails("ball", "--drop", "nan")
    assert "nothing can be held" in fails("kl_quadruped", "--hold")
    recording.save(tmp_path / "run.npz")
    said = fails(tmp_path / "run.npz", "--hold", "--solver", "pgs")
    assert "--solver, --hold belongs to a simulation" in said
    assert "run.npz" in said
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
        until(lambda: different(first, browser.picture()) > 0.01, name="a picture that changed")
    assert sim._tapes == ()
    assert all("WebSocket" in error for error in browser.errors())  # it was closed


def test_a_loop_is_watched_and_recorded_at_once(tmp_path):
    """And the page is shown the last step, though the loop rests then."""
    sim = taut.Simulator(taut.scenes.make("cube_on_plane"))
    pieces = []
    with sim.view(port=0) as watch, sim.record(tmp_path / "run.npz"):
        take = watch._send_latest
        watch._send_latest = lambda: (pieces.append(watch._latest), take())[1]
        q, v = sim.scene.q0, np.array([0.1, 0, 0, 0, 0, 0])
        for _ in range(37):
            step = sim.step(q, v)
            q, v = step.q, step.v
        until(lambda: watch.steps == 37, 10, "the last step")
    recording = taut.load_recording(tmp_path / "run.npz")
    assert len(recording) == 37
    player = WatchPlayer(recording.metadata, recording.q[0], recording.v[0])
    player.arrive(next(piece for piece in reversed(pieces) if piece is not None))
    player.tick(0.03)
    np.testing.assert_array_equal(player.frame.q, recording.q[-1])
    assert player.frame.t == pytest.approx(0.037)
    assert len(player.frame.points) == 4
    assert 0 < player.frame.step_us < 1e5


def test_a_page_begins_where_the_simulator_is():
    sim = taut.Simulator(taut.scenes.make("ball"))
    run = sim.rollout(sim.scene.q0, np.array([1.0, 0, 0, 0, 0, 0]), steps=100)
    sent = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch_module, "send", lambda stream, value: (sent.append(value), send(stream, value)))
        sim.view(port=0).close()
    np.testing.assert_array_equal(sent[0]["q"], run.q[-1])


def test_one_may_look_on_after_the_last_step():
    code = """
import os, signal, threading, taut
sim = taut.Simulator(taut.scenes.make("ball"))
with sim.view(port=0) as watch:
    sim.rollout(sim.scene.q0, [0.0] * 6, steps=10)
    threading.Timer(1.0, lambda: print(watch.process.poll(), flush=True) or os.kill(os.getpid(), signal.SIGINT)).start()
    watch.wait()
print(watch.process.poll())
"""
    done = subprocess.run([sys.executable, "-c", INTERRUPTIBLE + code], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["None", "0"], "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_is_not_watched():
    code = """
import os, sys, taut
sim = taut.Simulator(taut.scenes.make("ball"))
with sim.view(port=0) as watch:
    if os.fork() == 0:
        sim.rollout(sim.scene.q0, [0.0] * 6, steps=1000)
        sys.exit(0)
    os.wait()
    print(watch.process.poll(), watch.steps)
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["None", "0"], done.stderr


def test_an_interrupt_of_the_loop_does_not_end_the_page():
    code = """
import os, signal, taut
watch = taut.Simulator(taut.scenes.make("ball")).view(port=0)
try:
    os.killpg(os.getpgid(0), signal.SIGINT)  # as a terminal does
    __import__("time").sleep(10)
except KeyboardInterrupt:
    pass
__import__("time").sleep(0.5)
print(watch.process.poll())
watch.close()
"""
    command = [sys.executable, "-c", INTERRUPTIBLE + code]
    done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    assert done.stdout.strip() == "None", done.stderr
    assert done.stderr == ""


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
