"""Siconos' NSGS, in a process of its own: its Python module may need another interpreter, or another numpy, than ours.

TAUT_SICONOS_PYTHON names the interpreter; otherwise this one and the system's are tried (Debian and Ubuntu: the
package python3-siconos). As for the other peers, the loosest tolerance whose answer the judge certifies is the one
that is timed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .. import _taut
from . import clock

PYTHON = "TAUT_SICONOS_PYTHON"
TOLERANCES = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10)  # relative to |g|: its own criterion
MAX_ITERATIONS = 20_000
_SYSTEM = "/usr/bin/python3"
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def interpreter() -> tuple[str | None, str]:
    """(an interpreter that imports siconos.numerics, '') or (None, why there is none)."""
    chosen = os.environ.get(PYTHON)
    for python in (chosen,) if chosen else (sys.executable, _SYSTEM):
        try:
            done = subprocess.run([python, "-c", "import siconos.numerics, scipy"], capture_output=True, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return python, ""
    where = (
        f"{PYTHON} is {chosen}, which" if chosen else f"{PYTHON} is not set, and neither this Python nor the system's"
    )
    return None, f"{where} {'does not import' if chosen else 'imports'} siconos.numerics (Debian: python3-siconos)"


def nsgs(python: str, problems: list[_taut.Problem], starts: list[np.ndarray | None]) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = [{} for _ in problems]
    open_ones = list(range(len(problems)))
    for tolerance in TOLERANCES:
        if not open_ones:
            break
        made = _call(python, [problems[i] for i in open_ones], [starts[i] for i in open_ones], tolerance)
        for i, answer in zip(open_ones, made, strict=True):
            answers[i] = answer
        open_ones = [i for i in open_ones if not answers[i]["certified"] and answers[i]["says_converged"]]
    return answers


def _call(
    python: str, problems: list[_taut.Problem], starts: list[np.ndarray | None], tolerance: float
) -> list[dict[str, Any]]:
    given: dict[str, Any] = {"count": len(problems), "tolerance": tolerance, "iterations": MAX_ITERATIONS}
    for i, (problem, start) in enumerate(zip(problems, starts, strict=True)):
        given |= {f"G_{i}": problem.G, f"g_{i}": problem.g, f"mu_{i}": problem.mu}
        given[f"start_{i}"] = np.zeros(len(problem.g)) if start is None else start
    worker = Path(__file__).with_name("siconos_worker.py")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "problems.npz"), Path(folder, "answers.npz")
        np.savez(source, budget=clock.BUDGET, **given)
        done = subprocess.run(  # as text: run as a file, it would find its neighbours here before modules of their name
            [python, "-c", worker.read_text(), str(source), str(target)],
            capture_output=True,
            text=True,
            cwd=folder,
            env=os.environ | _ONE_THREAD,
            check=False,
        )
        if done.returncode != 0:
            raise ValueError(f"Siconos failed: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
        with np.load(target) as file:
            return [
                {
                    "seconds": float(file[f"seconds_{i}"]),
                    "tolerance": tolerance,
                    "says_converged": int(file[f"info_{i}"]) == 0,
                    "settings": "sparse blocks",
                    **clock.judged(problem, file[f"impulse_{i}"]),
                }
                for i, problem in enumerate(problems)
            ]
