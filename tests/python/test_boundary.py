"""No argument ends the process, or passes for what it is not: every entry point, every wrong value (boundary.py)."""

from __future__ import annotations

import json
import pydoc
import re
import subprocess
import sys
from inspect import Parameter, Signature, signature
from pathlib import Path

import numpy as np
import pytest

import boundary
import taut

KINDS = sorted({name.split(".")[0] for name in boundary.ENTRIES})


def test_every_public_callable_is_in_the_table():
    covered = {name.split(",")[0] for name in boundary.ENTRIES} | boundary.NOTHING_TO_GET_WRONG
    public = set(boundary.public())
    settable = {"Scene.friction_rule", "Scene.sources"}  # words, and Sources: below
    made_by_hand = {name for name in public if name.startswith("Actuator.")} | settable
    assert public - covered - made_by_hand == set(), "public, and not in the table of boundary.py"
    assert covered - public == set(), "in the table, and not public"


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What came of each call of the table, and the call that ended the process, if one did."""
    log = tmp_path_factory.mktemp("boundary") / "log"
    run = subprocess.run(
        [sys.executable, boundary.__file__, str(log)], capture_output=True, text=True, timeout=600, check=False
    )
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    ended = lines[-1] if run.returncode else None
    assert run.returncode == 0, f"{ended} ended the process with {run.returncode}: {run.stderr[-2000:]}"
    return [line for line in lines if len(line) > 3]


def test_no_call_ends_the_process(answers):
    assert len(answers) > 3000
    assert {name for name, *_ in answers} >= {name for name in boundary.ENTRIES if name.startswith("Simulator.")} - {
        "Simulator.record"
    }


def test_what_is_wrong_is_refused_by_name_and_what_is_right_is_taken(answers):
    failures = []
    for name, argument, what, called, kinds, maybe, raised, said in answers:
        if not raised:
            if not maybe:
                failures.append(f"{name}({argument}: {what}) was taken")
        elif raised not in kinds:
            failures.append(f"{name}({argument}: {what}) raised {raised}: {said[:150]}")
        elif (
            raised != "KeyboardInterrupt"
            and what not in said
            and what != "a subclass that raises"
            and not re.search(called.replace("_", "[_ ]"), said, re.IGNORECASE)
        ):
            failures.append(f"{name}({argument}: {what}) is not named: {raised}: {said[:150]}")
    assert failures == [], f"{len(failures)} of {len(answers)}"


def test_shapes_are_said_as_numpy_says_them():
    sim = taut.Simulator(taut.scenes.make("cube_on_plane"))
    q, v = sim.scene.q0, np.zeros(6)
    with pytest.raises(ValueError, match=r"v has shape \(\), expected \(6,\)"):
        sim.step(q, 0.0)
    with pytest.raises(ValueError, match=r"fext has shape \(3, 6\), expected \(2, 6\)"):
        sim.step(q, v, fext=np.zeros((3, 6)))
    with pytest.raises(ValueError, match=r"gravity has shape \(\), expected \(3,\)"):
        sim.scene.gravity = -9.81
    with pytest.raises(ValueError, match=r"q has shape \(\), expected \(7,\)"):
        sim.hold(1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"mu has shape \(2,\), expected \(1,\) or a number"):
        taut.Problem(np.eye(3), np.zeros(3), [0.5, 0.5])


def test_numbers_stand_for_all_entries():
    problem = taut.Problem(np.eye(6), [0, 0, -1, 0, 0, -1], 0.5)
    assert problem.mu.tolist() == [0.5, 0.5]
    sim = taut.Simulator(taut.scenes.make("go1"))
    sim.hold(sim.scene.q0, 30.0, 1.0, 20.0)
    held = sim.held
    sim.hold(sim.scene.q0, np.full(18, 30.0), np.full(18, 1.0), np.full(18, 20.0))
    for name, values in sim.held.items():
        np.testing.assert_array_equal(values, held[name])


def test_too_many_steps_are_refused_before_there_is_no_memory():
    sim = taut.Simulator(taut.scenes.make("cube_on_plane"))
    with pytest.raises(ValueError, match=r"steps.*GB"):
        sim.rollout(sim.scene.q0, np.zeros(6), steps=2**31 - 1)


@pytest.mark.parametrize("view", ["not contiguous", "with bytes swapped", "integers", "read only", "a list"])
def test_the_same_numbers_otherwise_are_the_same_step(view):
    sim = taut.Simulator(taut.scenes.make("sliding_cube"))
    v = np.array([1.0, 2.0, 0, 0, 0, 1.0])
    expected = sim.step(sim.scene.q0, v)
    sim.reset()
    step = sim.step(sim.scene.q0, dict(boundary.right_arrays(v))[view])
    assert step.v.tobytes() == expected.v.tobytes()
    assert step.q.tobytes() == expected.q.tobytes()


# --- signatures and help


def callables():
    for name in boundary.public():
        thing = taut
        for part in name.split("."):
            thing = getattr(thing, part)
        if callable(thing) and not (isinstance(thing, type) and issubclass(thing, BaseException)):
            yield name, thing


@pytest.mark.parametrize(("name", "thing"), list(callables()))
def test_every_callable_has_a_signature(name, thing):
    found = signature(thing)
    assert isinstance(found, Signature)
    if name.count(".") == 1 and name[0].isupper() and name != "Problem.load":  # a method, of the class
        assert next(iter(found.parameters)) == "self"
    text = pydoc.render_doc(thing, renderer=pydoc.plaintext)
    assert "(...)" not in text
    assert name.split(".")[-1] in text


def test_signatures_say_names_kinds_and_defaults():
    step = signature(taut.Simulator.step)
    assert list(step.parameters) == ["self", "q", "v", "tau", "fext", "control"]
    assert step.parameters["tau"].default is None
    bound = signature(taut.Simulator(taut.scenes.make("ball")).step)
    assert list(bound.parameters) == ["q", "v", "tau", "fext", "control"]
    simulator = signature(taut.Simulator)
    assert list(simulator.parameters)[:4] == ["scene", "dt", "solver", "tolerance"]
    assert simulator.parameters["dt"].default == 1e-3
    assert simulator.parameters["gjk"].kind is Parameter.KEYWORD_ONLY
    assert simulator.parameters["q" if "q" in simulator.parameters else "margin"].default > 0
    assert list(signature(taut.Problem.load).parameters) == ["path"]
    solve = signature(taut.solve)
    assert solve.parameters["solver"].default == "auto"
    assert solve.bind("problem", tolerance=1e-9).arguments["tolerance"] == 1e-9


def test_the_stub_has_the_module(request):
    stub = Path(taut._taut.__file__).with_name("_taut.pyi")
    if not stub.exists():
        stub = Path(taut.__file__).with_name("_taut.pyi")
    text = stub.read_text()
    assert "def step(self, q: ArrayLike, v: ArrayLike" in text or "def step(self, q: numpy.typing.ArrayLike" in text


# --- options of ready-made scenes


def _options():
    for scene in taut.scenes.names():
        for option, parameter in signature(taut.scenes._MAKERS[scene]).parameters.items():
            kind = str(parameter.annotation)
            if "int" in kind:
                yield from ((scene, option, value) for value in (2**40, -1, 1.5, "x", None))
            elif "float" in kind:
                yield from ((scene, option, value) for value in (np.nan, np.inf, -np.inf, "x", 1j, [1.0]))


def test_wrong_options_of_scenes_are_named():
    failures = []
    for scene, option, value in _options():
        if option == "seed" and value == 2**40:
            continue
        try:
            taut.scenes.make(scene, **{option: value})
        except (ValueError, TypeError) as error:
            if option not in str(error):
                failures.append(f"{scene}({option}={value}): {error}")
        else:
            failures.append(f"{scene}({option}={value}) was taken")
    assert failures == []
