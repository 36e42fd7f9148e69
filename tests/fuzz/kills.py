"""kill -9 at any moment while a process records: what reads back is a beginning of what was run."""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import taut

from .children import spawn
from .outcome import Outcome
from .runs import same

OLD = 5.0  # s: what was done so long before the kill is in the file; a second is what docs say of an idle machine

CHILD = """
import sys, time
from fuzz.runs import Run
folder, kind, seed, chunks = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
log = open(f"{folder}/log", "a", buffering=1)
number = 0
while True:
    run = Run(seed + number)
    recorder = run.sim.record(f"{folder}/{number}.{kind}")
    steps = 0
    for _ in range(chunks):
        steps += len(run.go_on()) - 1
        log.write(f"{number} {steps} {time.monotonic()}\\n")
    recorder.close()
    number += 1
"""


def run(seed: list[int], outcome: Outcome) -> None:
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["npz", "mcap"]))
    start = int(rng.integers(1 << 30))
    chunks = int(rng.choice([2, 10, 100_000]))  # of a file: to be killed while it is put together, too
    with tempfile.TemporaryDirectory() as folder:
        child = spawn(CHILD, folder, kind, str(start), str(chunks))
        log = Path(folder) / "log"
        deadline = time.monotonic() + 60
        while not (log.exists() and log.stat().st_size) and time.monotonic() < deadline and child.poll() is None:
            time.sleep(0.002)
        if rng.uniform() < 0.1:
            time.sleep(OLD + 2 + rng.uniform())
        else:
            time.sleep(float(rng.uniform(0, 0.7)))
        early = child.poll()
        killed = time.monotonic()
        child.kill()
        _, told = child.communicate()
        if early is not None:
            outcome.finding(f"the process that records ended by itself, {early}", told[-300:])
            return
        outcome.count("kills")
        done = [line.split() for line in log.read_text().splitlines() if line.count(" ") == 2]
        for path in sorted(Path(folder).glob(f"*.{kind}")):
            number = int(path.stem)
            _look(path, start + number, [(int(n), float(t)) for k, n, t in done if int(k) == number], killed, outcome)


def _look(path: Path, seed: int, done: list[tuple[int, float]], killed: float, outcome: Outcome) -> None:
    old = max((steps for steps, t in done if t < killed - OLD), default=0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = taut.load_recording(path)
    except ValueError as error:
        outcome.count("killed before the first piece")
        if old or not any(words in str(error) for words in ("is empty", "cut short", "not a recording")):
            outcome.finding(f"cannot be read: {error}", f"{old} steps were old")
        return
    outcome.count("complete" if found.complete else "cut")
    outcome.count("steps read back", len(found))
    wrong = same(found, seed)
    if wrong:
        outcome.finding(wrong, f"{len(found)} steps")
    if len(found) < old:
        outcome.finding(f"{len(found)} steps read back, {old} were more than {OLD:g} s old")
