"""The calls of `programs.py` as a hypothesis state machine: it draws which call comes next and with which numbers, and
makes a program that fails as short as it can."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from .outcome import Outcome
from .programs import ALLOWED, CALLS_OF, World, do


class Programs(RuleBasedStateMachine):
    """One program. What a call draws comes from a number of its own, so that leaving calls out changes no other's."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.world: World | None = None

    @initialize(number=st.integers(0, 2**16))
    def begin(self, number: int) -> None:
        self.world = World(np.random.default_rng(number), self.folder)

    @rule(call=st.sampled_from(sorted(CALLS_OF, key=lambda call: call.__name__)), number=st.integers(0, 2**16))
    def call(self, call, number: int) -> None:
        self.world.rng = np.random.default_rng(number)
        outcome = Outcome()
        do(self.world, call, outcome, 0)
        assert not outcome.findings, outcome.findings[0]["what"]

    def teardown(self) -> None:
        for recorder in self.world.recorders if self.world else ():
            try:
                recorder.close()
            except ALLOWED:
                continue
        shutil.rmtree(self.folder, ignore_errors=True)


def search(examples: int, calls: int, seed: int | None = None) -> None:
    """Raises with the shortest program found. No seed: the same examples every time."""
    chosen = settings(
        max_examples=examples,
        stateful_step_count=calls,
        deadline=None,
        suppress_health_check=list(HealthCheck),  # some of them look at the clock
        derandomize=seed is None,
        database=None,
    )
    if seed is not None:
        from hypothesis import seed as seeded

        run_state_machine_as_test(seeded(seed)(Programs), settings=chosen)
        return
    run_state_machine_as_test(Programs, settings=chosen)
