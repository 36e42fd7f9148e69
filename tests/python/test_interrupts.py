"""Ctrl-C ends whatever is under way, soon, and what was used is as it was after its last whole step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import taut

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals to processes are Unix's")

# A call that would take minutes or more; SIGINT comes when it has been under way for a while.
PROGRAM = """
import json, os, signal, sys, threading, time
import numpy as np, taut
from taut import gradients

rng = np.random.default_rng(5)

def random_problem(contacts, rank):
    A = rng.normal(size=(3 * contacts, rank))
    return taut.Problem(A @ A.T, rng.normal(size=3 * contacts), np.full(contacts, 0.8))

def torques(count, nv):
    return 33.0 * rng.normal(size=(count, nv))

{setup}

def begin():
    time.sleep({wait})
    begin.at = time.monotonic()
    os.kill(os.getpid(), signal.{signal})

threading.Thread(target=begin, daemon=True).start()
try:
    {call}
except KeyboardInterrupt:
    print(json.dumps(dict(latency=time.monotonic() - begin.at)))
else:
    sys.exit("it ended of its own accord")
{after}
"""


def interrupted(setup: str, call: str, after: str = "", wait: float = 0.5, which: str = "SIGINT", within: float = 5.0):
    """Seconds from the signal to the KeyboardInterrupt."""
    code = PROGRAM.format(setup=setup, call=call, after=after, wait=wait, signal=which)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    latency = json.loads(done.stdout.splitlines()[0])["latency"]
    print(f"{call}: {latency:.3f} s")
    assert latency < within  # 0.01 to 0.1 s if nobody else works


GO1 = """
scene = taut.scenes.make("go1")
sim = taut.Simulator(scene, dt={dt})
q, v = scene.q0, np.zeros(18)
"""
# The simulator steps on exactly as one that was put into the same state.
SAME = """
state = sim.state()
fresh = taut.Simulator(scene, **sim.options)
fresh.restore(state)
first, second = sim.step(state.q, state.v), fresh.step(state.q, state.v)
np.testing.assert_array_equal(first.q, second.q)
np.testing.assert_array_equal(first.v, second.v)
assert first.report.iterations == second.report.iterations
sim.jacobian()
"""

HARD = "problem = random_problem({contacts}, {rank})"
NEVER = "tolerance=1e-300, max_iterations=2_000_000_000"


def test_a_rollout():
    interrupted(GO1.format(dt=0.001), "sim.rollout(q, v, steps=1_000_000)", SAME)


def test_a_rollout_of_steps_that_take_long():
    interrupted(GO1.format(dt=0.02), "sim.rollout(q, v, taus=torques(20_000, 18))", SAME)


def test_an_adjoint():
    setup = GO1.format(dt=0.001) + "path = sim.rollout(q, v, steps=20_000)\nstate = sim.state()\n"
    after = "again = sim.state()\nassert np.array_equal(state.q, again.q)\n" + SAME
    interrupted(setup, "[sim.adjoint(path, np.ones(18), np.ones(18)) for _ in range(1000)]", after)


@pytest.mark.parametrize("threads", [1, 3])
def test_jacobians_of_many_states(threads):
    setup = GO1.format(dt=0.001) + "Q, V = np.tile(q, (40_000, 1)), rng.normal(size=(40_000, 18))\n"
    interrupted(setup, f"sim.jacobians(Q, V, threads={threads})", SAME)


def test_vjps_of_many_states():
    setup = GO1.format(dt=0.001) + "Q, V = np.tile(q, (100_000, 1)), rng.normal(size=(100_000, 18))\n"
    interrupted(setup, "sim.vjps(Q, V, V, V)", SAME)


@pytest.mark.parametrize("name", [name for name in taut.solvers() if name != "lcp_pivot"])
def test_a_solve_that_never_ends(name):
    """Patience and pivots end some methods at such a tolerance: they are asked again and again."""
    interrupted(
        HARD.format(contacts=60, rank=90),
        f"while True: taut.solve(problem, solver={name!r}, {NEVER})",
        "x = taut.solve(problem); y = taut.solve(problem)\nnp.testing.assert_array_equal(x.impulse, y.impulse)",
    )


@pytest.mark.parametrize("name", ["auto", "newton", "admm", "proximal", "lcp_pivot", "lcp_staggered"])
def test_one_long_solve(name):
    """Factorizations of thousands of rows take seconds each."""
    contacts = {"lcp_pivot": 150, "lcp_staggered": 600}.get(name, 1000)
    interrupted(
        HARD.format(contacts=contacts, rank=2 * contacts),
        f"taut.solve(problem, solver={name!r}, {NEVER if name != 'lcp_pivot' else 'tolerance=1e-300'})",
        wait=1.0 if name != "lcp_pivot" else 0.2,
    )


def test_check_gradient():
    setup = GO1.format(dt=0.001) + "states = gradients.reachable_states(sim, rng)\n"
    interrupted(setup, "while True: q, v, tau, state = next(states); gradients.differences(sim, q, v, tau, state)")


def test_a_file_of_many_parts(tmp_path):
    """As many bodies as a file may have that fly."""
    path = tmp_path / "many.xml"
    bodies = "".join(f'<body pos="{k} 0 1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>' for k in range(1600))
    path.write_text(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    interrupted("import warnings; warnings.simplefilter('ignore')", f"while True: taut.load({str(path)!r})", wait=0.3)


def test_the_handler_of_another_signal_runs_and_may_let_the_run_go_on():
    setup = GO1.format(dt=0.001) + (
        "seen = []\nsignal.signal(signal.SIGTERM, lambda *_: seen.append(time.monotonic() - begin.at))\n"
        "fresh = taut.Simulator(scene)\nexpected = fresh.rollout(q, v, steps=100_000).q\n"
    )
    call = (
        "found = sim.rollout(q, v, steps=100_000).q; np.testing.assert_array_equal(found, expected); "
        "assert seen and seen[0] < 5, seen; raise KeyboardInterrupt"
    )
    interrupted(setup, call, wait=0.2, which="SIGTERM", within=120.0)


def test_an_interrupt_in_a_step_leaves_the_state_before_it():
    """Contacts and impulses of the step before are still there. usage_test.cpp does it at every place of a step."""
    scene = taut.scenes.make("go1")
    options = {"dt": 0.02, "gjk_start": "transported"}
    sim = taut.Simulator(scene, **options)
    rng = np.random.default_rng(1)
    q, v = scene.q0, np.zeros(18)
    ended, deadline = 0, time.monotonic() + 60
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        while ended < 3 and time.monotonic() < deadline:
            state = sim.state()
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.02, 0.1))
                done = sim.step(q, v, 33.0 * rng.normal(size=18))
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            except KeyboardInterrupt:
                try:
                    sim.jacobian()
                except ValueError as error:
                    assert "interrupted" in str(error)
                else:  # the step was over by then
                    continue
                ended += 1
                after = sim.state()
                np.testing.assert_array_equal(after.q, state.q)
                np.testing.assert_array_equal(after.v, state.v)
                assert len(sim.problem()) == len(sim.impulse) == 0
                twin = taut.Simulator(scene, **options)
                twin.restore(state)
                tau = rng.normal(size=18)
                done, expected = sim.step(q, v, tau), twin.step(q, v, tau)
                np.testing.assert_array_equal(done.q, expected.q)
                np.testing.assert_array_equal(done.impulses, expected.impulses)
                assert done.report.iterations == expected.report.iterations
            q, v = (done.q, done.v) if np.abs(done.v).max() < 1e3 else (scene.q0, np.zeros(18))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert ended == 3


def test_a_thread_that_is_not_the_main_one_is_left_alone():
    """Python runs handlers in the main thread: a rollout elsewhere goes on, and the main thread is interrupted."""
    setup = GO1.format(dt=0.001) + (
        "found = []\n"
        "thread = threading.Thread(target=lambda: found.append(sim.rollout(q, v, steps=100_000)))\nthread.start()\n"
    )
    interrupted(setup, "time.sleep(60)", "thread.join(); assert len(found[0]) == 100_000", wait=0.2)


def test_the_command_line_ends(tmp_path):
    process = subprocess.Popen(
        [Path(sys.executable).with_name("taut"), "simulate", "go1", "--hold", "--seconds", "100000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"COLUMNS": "120"},
    )
    time.sleep(5.0)
    assert process.poll() is None, process.stdout.read()
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0].decode()
    print(time.monotonic() - begun)
    assert process.returncode != 0
    assert "Traceback" not in output
