"""Faults put in: a disk that is full, memory that is not there, files that are lost. The process says so and lives."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np

import taut

from .children import spawn
from .outcome import Outcome
from .runs import same

RECORD = """
import resource, sys, time
from fuzz.runs import Run
import taut
path, seed, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
run = Run(seed)
said = ""
recorder = None
try:
    recorder = run.sim.record(path)
    for _ in range(400):
        run.go_on()
        time.sleep(0.002)
except (OSError, ValueError) as error:
    said = str(error)
try:
    if recorder is not None:
        recorder.close()
except (OSError, ValueError) as error:
    said = said or str(error)
print("said:", said)
again = Run(seed)  # the simulator goes on
again.go_on()
run.sim.step(run.q, run.v)
print("done")
"""

MEMORY = """
import resource, sys
import numpy as np
import taut
from fuzz import programs, outcome
import coal, pinocchio, scipy.spatial, h5py
from pathlib import Path
import tempfile
more, seed = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)
w = programs.World(rng, Path(tempfile.mkdtemp()))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))
sim = taut.Simulator(taut.scenes.make("cube_on_plane"))
calls = [
    lambda: taut.scenes.make("pile", n=int(rng.integers(1, 200))),
    lambda: taut.Simulator(taut.scenes.make("stack", n=int(rng.integers(1, 60)))).step,
    lambda: sim.rollout(sim.scene.q0, np.zeros(6), steps=int(10 ** rng.uniform(1, 5.5))),
    lambda: sim.jacobians(np.tile(sim.scene.q0, (1000, 1)), np.zeros((1000, 6)), threads=1),
    lambda: taut.solve(taut.Problem(np.eye(n := 3 * int(rng.integers(1, 700))), -np.ones(n), np.ones(n // 3))),
    lambda: taut.scenes.make("h1"),
]
limits = 0
for _ in range(12):
    try:
        calls[rng.integers(len(calls))]()
    except MemoryError:
        limits += 1
    except (ValueError, OSError):
        pass
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)) if False else None
del calls
print("limits:", limits)
print("done")
"""

LOST = """
import os, shutil, sys
from fuzz.runs import Run
import taut
path, seed, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
run = Run(seed)
said = ""
recorder = run.sim.record(path)
run.go_on()
recorder.flush()
try:
    if how == "removed":
        os.unlink(path)
    elif how == "replaced":
        open(path + ".x", "w").write("else")
        os.replace(path + ".x", path)
    elif how == "folder":
        shutil.rmtree(os.path.dirname(path))
    elif how == "again":
        recorder.close()
        found = taut.load_recording(path)
        other = Run(seed + 1)
        with other.sim.record(path):  # over the file whose arrays are still looked at
            other.go_on()
        found.q.sum()
    run.go_on()
    recorder.close()
except (OSError, ValueError) as error:
    said = str(error)
run.sim.step(run.q, run.v)
print("said:", said)
print("done")
"""


def run(seed: list[int], outcome: Outcome) -> None:
    rng = np.random.default_rng(seed)
    start = int(rng.integers(1 << 30))
    kind = str(rng.choice(["npz", "mcap"]))
    how = int(rng.integers(4))
    outcome.count("inputs")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deep" / f"run.{kind}"
        path.parent.mkdir()
        if how == 0:
            limit = int(10 ** rng.uniform(2, 7.5))
            said = _child(outcome, "file size", RECORD, str(path), str(start), str(limit))
            _read_back(path, start, said, outcome)
        elif how == 1:
            if os.geteuid() or not shutil.which("unshare") or not _may_mount():
                outcome.count("no root: no full disk")
                return
            size = int(10 ** rng.uniform(4, 7.5))
            kept = Path(folder) / f"kept.{kind}"
            # The file system goes with its namespace: what is on it is copied out by the shell that made it.
            shell = f'mount -t tmpfs -o size={size} none {path.parent}; "$@"; cp {path} {kept}'
            before = ["unshare", "-m", "sh", "-c", shell, "sh"]
            said = _child(outcome, "full disk", RECORD, str(path), str(start), "0", before=before)
            _read_back(kept, start, said, outcome)
        elif how == 2:
            more = int(10 ** rng.uniform(5.5, 8.3))
            _child(outcome, "no memory", MEMORY, str(more), str(start))
        else:
            way = str(rng.choice(["removed", "replaced", "folder", "again"]))
            said = _child(outcome, f"file {way}", LOST, str(path), str(start), way)
            if said == "" and way != "again":
                outcome.finding(f"nobody is told that the file is {way}", kind)


def _may_mount() -> bool:
    return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


def _child(outcome: Outcome, name: str, code: str, *arguments: str, before: list[str] | None = None) -> str | None:
    """What it said; None if it ended badly."""
    child = spawn(code, *arguments, before=before)
    try:
        out, told = child.communicate(timeout=150)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        outcome.finding(f"{name}: hangs", " ".join(arguments))
        return None
    outcome.count(name)
    if "done" not in out:
        last = [line for line in told.splitlines() if line.strip()][-3:]
        if name == "no memory" and "MemoryError" in told and child.returncode == 1:
            outcome.count("no memory: MemoryError")
            return None
        outcome.finding(f"{name}: ends with {child.returncode}: {' / '.join(last)[:400]}", " ".join(arguments))
        return None
    return next((line[5:].strip() for line in out.splitlines() if line.startswith("said:")), "")


def _read_back(path: Path, seed: int, said: str | None, outcome: Outcome) -> None:
    if said is None:
        return
    if said:
        outcome.count("told of the fault")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = taut.load_recording(path)
    except (ValueError, OSError) as error:
        if said == "":
            outcome.finding(f"a recording without an error cannot be read: {error}")
        elif path.exists() and path.stat().st_size > 10_000_000:  # two pieces at least
            outcome.finding(f"what was written before the fault cannot be read: {error}", said)
        outcome.count("nothing to read back")
        return
    outcome.count("steps read back", len(found))
    wrong = same(found, seed)
    if wrong:
        outcome.finding(f"after a fault {wrong}", said)
