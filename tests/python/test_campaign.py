"""Two minutes of the campaign (docs/campaign.md), with fixed seeds; and that it finds what it is there to find."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import numpy as np
import pytest

import taut

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz import campaign, kinds, scenes, worker
from fuzz.children import spawn
from fuzz.judge import Judge
from fuzz.outcome import Outcome

SEED = 30


def told(journal) -> str:
    return journal.summary()


def test_random_scenes_are_solved_as_they_say():
    journal = campaign.campaign(steps=8000, seed=SEED, progress=False)
    assert journal.done("steps") >= 8000
    assert journal.counts["steps"]["judged"] > 4000
    assert not journal.findings, told(journal)


@pytest.mark.parametrize("kind", ["programs", "urdf", "mjcf", "npz", "mcap", "hdf5", "collisions"])
def test_hostile_inputs_are_refused_or_used(kind):
    journal = campaign.campaign(inputs=600, seed=SEED, only=[kind], progress=False)
    assert journal.done("inputs") >= 600 or journal.counts[kind]["not here"]
    assert not journal.findings, told(journal)


def test_a_state_machine_finds_no_program_that_fails():
    child = spawn("from fuzz.machines import search; search(examples=20, calls=20)")  # it may die of what it finds
    _, told = child.communicate(timeout=300)
    assert child.returncode == 0, told[-3000:]


@pytest.mark.parametrize("kind", ["viewer", "faults"])
def test_what_is_around_a_process_may_fail(kind):
    journal = campaign.campaign(inputs=4 * kinds.KINDS[kind].size, seed=SEED, only=[kind], progress=False)
    assert not journal.findings, told(journal)


def test_kills_leave_a_beginning_of_the_run():
    journal = campaign.campaign(kills=4, seed=SEED, progress=False)
    assert journal.done("kills") == 4
    assert not journal.findings, told(journal)


# --- that it finds


@pytest.fixture
def settled():
    """A cube that slides: a simulator, its state, and a step that the judge has nothing against."""
    scene = taut.scenes.make("cube_on_plane", mu=0.5)
    sim = taut.Simulator(scene)
    q, v = scene.q0, np.array([0.5, 0.1, 0, 0, 0, 0.3])
    step = sim.step(q, v)
    assert not Judge(sim).step(q, v, step).wrong
    return sim, q, v, step


class Changed:
    """A simulator whose impulses are others than it says, or a step that is another than it was."""

    def __init__(self, of, **changes):
        self._of, self._changes = of, changes

    def __getattr__(self, name):
        return self._changes[name] if name in self._changes else getattr(self._of, name)


def _contact(of, **changes):
    names = ["pair", "joint_1", "joint_2", "gap", "mu", "restitution", "compliance", "point", "frame", "normal"]
    return types.SimpleNamespace(**{name: changes.get(name, getattr(of, name)) for name in names})


def _judged(sim, q, v, step, **options):
    judge = Judge(sim._of if isinstance(sim, Changed) else sim)
    judge.sim = sim
    return " | ".join(judge.step(q, v, step, **options).wrong)


def test_the_judge_refuses_other_impulses(settled):
    sim, q, v, step = settled
    impulse = sim.impulse.copy()
    impulse[2] *= 1 + 1e-4
    changed = Changed(step, impulses=impulse.reshape(-1, 3))
    assert "balance" in _judged(Changed(sim, impulse=impulse), q, v, changed)


def test_the_judge_refuses_a_velocity_that_breaks_the_law(settled):
    """Balanced, but friction does not oppose: impulses without their tangential part."""
    sim, q, v, step = settled
    impulse = sim.impulse.copy().reshape(-1, 3)
    impulse[:, :2] = 0.0
    free = types.SimpleNamespace(report=step.report, contacts=step.contacts, impulses=impulse, q=step.q, v=step.v)
    from fuzz.mechanics import Mechanics, solve

    m = Mechanics(sim)
    m.balance(q, v, np.zeros(6), None, None)
    rows = m.point_rows(*(np.array([getattr(c, n) for c in step.contacts]) for n in ("joint_1", "joint_2", "point")))
    J = np.concatenate([c.frame.T @ row for c, row in zip(step.contacts, rows, strict=True)])
    v_plus = v + m.axes_held(v) + solve(m.M, m.impulse + J.T @ impulse.ravel())
    free.q = m.moved_by(q, v_plus, sim.dt)
    free.v = m.turned(v_plus, q, free.q)
    assert "false converged" in _judged(Changed(sim, impulse=impulse.ravel()), q, v, free)


def test_the_judge_refuses_other_contacts(settled):
    sim, q, v, step = settled
    frame = step.contacts[0].frame.copy()
    turned = np.array([[1, 0, 0], [0, np.cos(1e-3), -np.sin(1e-3)], [0, np.sin(1e-3), np.cos(1e-3)]]) @ frame
    for changed, expected in (
        ([_contact(step.contacts[0], gap=step.contacts[0].gap - 1e-4), *step.contacts[1:]], "wrong gap"),
        ([_contact(step.contacts[0], frame=turned, normal=turned[:, 2]), *step.contacts[1:]], "wrong normal"),
        (
            [_contact(step.contacts[0], point=step.contacts[0].point + np.array([0.3, 0, 0])), *step.contacts[1:]],
            "wrong point",
        ),
        ([_contact(step.contacts[0], mu=step.contacts[0].mu * 0.999), *step.contacts[1:]], "wrong mu"),
        ([], "missing contact"),
        (step.contacts[1:], "missing corner"),
    ):
        said = _judged(sim, q, v, Changed(step, contacts=changed))
        assert expected in said, (expected, said)


def test_the_judge_refuses_a_silent_nan(settled):
    sim, q, v, step = settled
    assert "silent NaN" in _judged(sim, q, v, Changed(step, v=np.full(6, np.nan)))


def test_the_judge_refuses_a_limit_that_does_not_hold():
    """One that was dropped from the rows."""
    rng = np.random.default_rng(4)
    scene = scenes.tree(rng, 1)
    while not np.isfinite(scene.model.lowerPositionLimit).any() or scene.model.nq != scene.model.nv:
        scene = scenes.tree(rng, 1)
    scene.model.lowerPositionLimit[:] = 0.0
    scene.model.upperPositionLimit[:] = 1.0
    sim = taut.Simulator(scene)
    q, v = np.zeros(scene.model.nq), -np.ones(scene.model.nv)
    step = sim.step(q, v)
    assert not _judged(sim, q, v, step)
    loose = taut.Simulator(scene, joint_limits=False)
    step = loose.step(q, v)
    judge = Judge(sim)
    judge.sim = loose
    assert "rows" in " ".join(judge.step(q, v, step).wrong)


@pytest.fixture
def bad_kind(tmp_path):
    """A kind of input some of which end or stop the process, throw, or keep memory."""
    path = tmp_path / "bad_kind.py"
    path.write_text(
        "import os, signal, threading, time\n"
        "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()  # which did not do it\n"
        "hoard = []\n"
        "def run(seed, outcome):\n"
        "    for place in range(outcome.first, 10):\n"
        "        outcome.at(place)\n"
        "        if seed[2] == 1 and place == 6: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "        while seed[2] == 2 and place == 3: pass\n"
        "        if seed[2] == 3 and place == 4:\n"
        "            with outcome.guard(place): raise KeyError('x')\n"
        "        hoard.append(bytes(50_000))\n"
        "        outcome.count('inputs')\n"
    )
    return path


def test_the_supervisor_finds_crashes_hangs_exceptions_and_leaks_and_goes_on(bad_kind, tmp_path, monkeypatch):
    bad = kinds.Kind(str(bad_kind), "ends badly", "inputs", 1.0, 10, 3.0)
    monkeypatch.setitem(kinds.KINDS, "bad", bad)
    monkeypatch.setenv("TAUT_FUZZ_KIND", str(bad_kind))
    path = tmp_path / "journal.jsonl"
    journal = campaign.campaign(inputs=3000, seed=1, only=["bad"], path=path, progress=False)
    found = {what: (one["case"], int(one["place"])) for (_, what), seen in journal.findings.items() for one in seen}
    text = " | ".join(found)
    assert "process ended with # in bad_kind.py:run <" in text and (1, 6) in found.values()
    assert "hangs" in text and (2, 3) in found.values()
    assert "KeyError" in text and (3, 4) in found.values()
    assert journal.done("inputs") >= 2990  # all but those that ended it
    growth = journal.growth()
    assert growth is not None and growth[0] > 20
    # A campaign that goes on knows what was done.
    again = campaign.campaign(inputs=3000, seed=1, only=["bad"], path=path, resume=True, progress=False)
    assert again.done("inputs") == journal.done("inputs")
    assert again.findings.keys() == journal.findings.keys()
    assert f"| seed | {1} |" in again.summary()


def test_a_case_is_the_same_again():
    outcomes = [worker.run_case("steps", SEED, 3) for _ in range(2)]
    assert outcomes[0].counts == outcomes[1].counts
    assert isinstance(outcomes[0], Outcome)
