"""Two threads on one simulator, and calls from within a call: a clear error, and the first one goes on untouched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from taut._taut import _Tape

import taut

OTHER = "stepping in another thread; use one simulator a thread"
WITHIN = "comes from within"


def fallen(name: str = "go1", **options) -> taut.Simulator:
    sim = taut.Simulator(taut.scenes.make(name, height=0.1), **options)
    sim.hold(sim.scene.q0, 300.0, 10.0)
    return sim


class Rollout:
    """A rollout in another thread, under way until the end of the `with`; then its trajectory, or what it raised."""

    def __init__(self, sim: taut.Simulator, steps: int) -> None:
        self.path = self.error = None
        self.begun = threading.Event()
        self.go_on = threading.Event()
        first = iter([True])

        def pause(piece) -> None:  # after its first step the rollout waits here, so that nothing is left to chance
            if next(first, False):
                self.begun.set()
                assert self.go_on.wait(60)

        self.tape = _Tape(1, 1e5, pause)
        self.sim = sim
        sim._attach(self.tape)
        self.thread = threading.Thread(target=self._run, args=(steps,))

    def _run(self, steps: int) -> None:
        try:
            self.path = self.sim.rollout(self.sim.scene.q0, np.zeros(self.sim.scene.model.nv), steps=steps)
        except BaseException as error:
            self.error = error

    def __enter__(self) -> Rollout:
        self.thread.start()
        assert self.begun.wait(60)
        return self

    def __exit__(self, *error: object) -> None:
        self.go_on.set()
        self.thread.join(60)
        self.sim._detach(self.tape)
        assert not self.thread.is_alive()


CALLS = {
    "step": lambda sim: sim.step(sim.scene.q0, np.zeros(18)),
    "rollout": lambda sim: sim.rollout(sim.scene.q0, np.zeros(18), steps=2),
    "jacobian": lambda sim: sim.jacobian(),
    "jvp": lambda sim: sim.jvp(np.ones(18), np.ones(18)),
    "vjp": lambda sim: sim.vjp(np.ones(18), np.ones(18)),
    "jacobians": lambda sim: sim.jacobians([sim.scene.q0], np.zeros((1, 18))),
    "vjps": lambda sim: sim.vjps([sim.scene.q0], np.zeros((1, 18)), np.ones((1, 18)), np.ones((1, 18))),
    "hold": lambda sim: sim.hold(sim.scene.q0, 1.0, 1.0),
    "release": lambda sim: sim.release(),
    "state": lambda sim: sim.state(),
    "reset": lambda sim: sim.reset(),
    "problem": lambda sim: sim.problem(),
    "impulse": lambda sim: sim.impulse,
    "loop_impulses": lambda sim: sim.loop_impulses,
    "v_free": lambda sim: sim.v_free,
    "seconds": lambda sim: sim.seconds,
    "restitution_scale": lambda sim: sim.restitution_scale,
    "held": lambda sim: sim.held,
}


def test_every_use_of_a_simulator_that_steps_in_another_thread_is_refused():
    sim, twin = fallen(), fallen()
    state = sim.state()
    trajectory = twin.rollout(sim.scene.q0, np.zeros(18), steps=20)
    calls = dict(CALLS)
    calls["restore"] = lambda sim: sim.restore(state)
    calls["adjoint"] = lambda sim: sim.adjoint(trajectory, np.ones(18), np.ones(18))
    with Rollout(sim, 20) as other:
        for name, call in calls.items():
            with pytest.raises(RuntimeError, match=OTHER):
                call(sim)
                pytest.fail(name)
        assert sim.dt == 1e-3  # what never changes may be read
        assert sim.scene is not None
    assert other.error is None
    np.testing.assert_array_equal(other.path.q, trajectory.q)
    sim.jacobian()  # and it is free again


def test_threads_with_a_simulator_each_share_a_scene():
    scene = taut.scenes.make("go1", height=0.1)
    sims = [taut.Simulator(scene) for _ in range(4)]
    found: list = [None] * len(sims)

    def run(k: int) -> None:
        found[k] = sims[k].rollout(scene.q0, np.zeros(18), steps=300).q

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(sims))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for q in found[1:]:
        np.testing.assert_array_equal(q, found[0])


@pytest.mark.parametrize("call", ["step", "rollout", "reset", "hold"])
def test_a_sink_that_uses_the_simulator_it_hears_of_gets_an_error(call):
    sim, told = fallen(), []

    def sink(piece) -> None:
        told.append(np.array_equal(sim.state().q, piece["q"][-1]))  # between steps it may be looked at
        CALLS[call](sim)

    tape = _Tape(1, 1e5, sink)
    sim._attach(tape)
    with pytest.raises(RuntimeError, match=WITHIN):
        sim.rollout(sim.scene.q0, np.zeros(18), steps=5)
    with pytest.raises(RuntimeError, match=WITHIN):
        sim.step(sim.scene.q0, np.zeros(18))
    sim._detach(tape)
    assert all(told)
    sim.step(sim.scene.q0, np.zeros(18))


def test_a_scene_that_is_simulated_keeps_its_structure():
    sim = fallen()
    scene = sim.scene
    robot = taut.scenes.make("cube_on_plane")
    edits = {
        "add_floor": lambda: scene.add_floor(-1.0),
        "add_robot": lambda: scene.add_robot(robot, "other/"),
        "add_coupling": lambda: scene.add_coupling(2, 3),
        "set_pair_friction": lambda: scene.set_pair_friction(shapes[0], shapes[1], 0.1),
        "disable_pair": lambda: scene.disable_pair(shapes[0], shapes[1]),
        "set_parameter": lambda: scene.set_parameter("gravity", [0.0, 0.0, -1.0]),
    }
    shapes = [shape.name for shape in scene.geometry.geometryObjects]
    with Rollout(sim, 5) as other:
        for name, edit in edits.items():
            with pytest.raises(RuntimeError, match="scene is being simulated"):
                edit()
                pytest.fail(name)
    assert other.error is None
    edits["set_parameter"]()
    np.testing.assert_array_equal(scene.gravity, [0.0, 0.0, -1.0])


@pytest.mark.skipif(sys.platform == "win32", reason="signals to oneself are Unix's")
def test_a_handler_that_steps_the_simulator_it_interrupts_gets_an_error():
    sim = taut.Simulator(taut.scenes.make("go1"), dt=0.02)
    told = []

    def handler(*_: object) -> None:
        for name in ("step", "state", "problem", "reset", "jacobian"):
            try:
                CALLS[name](sim)
            except RuntimeError as error:
                told.append(str(error))

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        stop = threading.Event()

        def poke() -> None:
            while not stop.wait(0.02) and len(told) < 5:
                os.kill(os.getpid(), signal.SIGUSR1)

        poking = threading.Thread(target=poke)
        poking.start()
        rng, deadline = np.random.default_rng(0), time.monotonic() + 60
        while len(told) < 5 and time.monotonic() < deadline:
            sim.rollout(sim.scene.q0, np.zeros(18), taus=33.0 * rng.normal(size=(30, 18)))
        stop.set()
        poking.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(told) >= 5
    assert all(WITHIN in text for text in told)


def test_a_handler_may_solve_within_a_solve(tmp_path):
    """Small problems share a workspace a thread: not with one that is under way."""
    code = """
import numpy as np, os, signal, taut, threading, time
rng = np.random.default_rng(3)
def problem(n):
    A = rng.normal(size=(3 * n, 2 * n))
    return taut.Problem(A @ A.T, rng.normal(size=3 * n), np.full(n, 0.8))
hard, easy = problem(30), problem(20)
options = dict(solver="admm_fp", tolerance=1e-300, max_iterations=100_000)
expected = taut.solve(hard, **options).impulse, taut.solve(easy, **options).impulse
within = []
def handler(*_):
    if len(within) < 3:
        within.append(taut.solve(easy, **options).impulse)
signal.signal(signal.SIGUSR1, handler)
def poke():
    while len(within) < 3:
        time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGUSR1)
thread = threading.Thread(target=poke)
thread.start()
while len(within) < 3:
    np.testing.assert_array_equal(taut.solve(hard, **options).impulse, expected[0])
thread.join()
for impulse in within:
    np.testing.assert_array_equal(impulse, expected[1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


STRESS = """
import sys, threading, time
import numpy as np, taut
sys.setswitchinterval(1e-5)
sim = taut.Simulator(taut.scenes.make("go1", height=0.1))
nv, q0 = 18, sim.scene.q0
state = sim.state()
end = time.monotonic() + float(sys.argv[1])
refused, done, wrong = [], [], []

def work(seed):
    rng = np.random.default_rng(seed)
    while time.monotonic() < end:
        try:
            which = rng.integers(9)
            if which < 3:
                sim.step(q0, rng.normal(size=nv))
            elif which == 3:
                sim.rollout(q0, rng.normal(size=nv), steps=int(rng.integers(1, 30)))
            elif which == 4:
                sim.jacobian()
            elif which == 5:
                sim.vjp(np.ones(nv), np.ones(nv), theta=["gravity"])
            elif which == 6:
                sim.restore(state)
                sim.reset()
            elif which == 7:
                sim.problem(), sim.impulse, sim.state(), sim.v_free
            else:
                sim.hold(q0, rng.uniform(0, 300), 10.0) if rng.random() < 0.5 else sim.release()
            done.append(which)
        except RuntimeError as error:
            refused.append(str(error))
        except ValueError as error:
            if "no step yet" not in str(error):
                wrong.append(repr(error))

threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong, wrong[:3]
assert done and refused, (len(done), len(refused))
assert all("one simulator a thread" in text for text in refused), set(refused)
# What is left is a simulator like any other.
sim.release(); sim.restore(state); sim.reset()
fresh = taut.Simulator(sim.scene)
np.testing.assert_array_equal(sim.rollout(q0, np.zeros(nv), steps=200).q, fresh.rollout(q0, np.zeros(nv), steps=200).q)
print(len(done), len(refused))
"""


def test_threads_that_fight_over_a_simulator_do_no_harm():
    done = subprocess.run([sys.executable, "-c", STRESS, "3"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


def test_files_are_loaded_in_several_threads(tmp_path):
    expected = taut.scenes.make("go1").model.nq
    found, errors = [], []

    def load() -> None:
        try:
            for _ in range(3):
                found.append(taut.scenes.make("go1").model.nq)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert found == [expected] * 9
