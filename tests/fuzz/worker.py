"""A process that runs cases as it is told, one line of JSON each, and may die of them."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import json
import os
import resource
import struct
import sys
import time
import warnings

from .kinds import runner, seed_of
from .outcome import Outcome


def resident() -> int:
    """kB, after what is free was given back."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


def run_case(kind: str, master: int, case: int, first: int = 0, at=lambda place: None) -> Outcome:
    outcome = Outcome(at=at, first=first)
    with warnings.catch_warnings(), outcome.guard(first):
        warnings.simplefilter("ignore")
        runner(kind)(seed_of(kind, master, case), outcome)
    return outcome


def main(memory: int, place_file: str) -> None:
    faulthandler.enable()
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory << 20, memory << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    place = os.open(place_file, os.O_RDWR | os.O_CREAT)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer

    def at(position: int) -> None:
        os.pwrite(place, struct.pack("<q", position), 0)

    last = 0.0
    for cases, line in enumerate(sys.stdin, 1):
        job = json.loads(line)
        begun = time.monotonic()
        outcome = run_case(job["kind"], job["master"], job["case"], job.get("first", 0), at)
        answer = {
            **job,
            "seconds": round(time.monotonic() - begun, 3),
            "counts": dict(outcome.counts),
            "findings": outcome.findings,
        }
        if cases % 10 == 0 or begun - last > 5:
            last = begun
            answer["resident"] = resident()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
