"""Recordings and problems in .npz: members and the headers of arrays are changed, and checksums put right."""

from __future__ import annotations

import functools
import io
import zipfile
from pathlib import Path

import numpy as np

import taut

from .outcome import Outcome
from .recordings import flips, recording, use
from .scenes import Rng
from .xml_files import folder_for_files

INPUTS = 20


@functools.lru_cache(maxsize=1)
def problem() -> bytes:
    made = io.BytesIO()
    arrays = {
        "data": np.array([2.0, 2.0, 2.0, 1.0]),
        "indices": np.array([0, 1, 2, 3]),
        "indptr": np.array([0, 1, 2, 3, 4]),
        "g": np.array([0.1, 0.0, -1.0, -0.5]),
        "mu": np.array([0.5]),
        "R": np.zeros(4),
        "sizes": np.array([3, 1]),
        "bounds": np.array([0.4]),
        "kinds": np.array(["cone", "interval"]),
    }
    np.savez(made, **arrays)
    return made.getvalue()


def run(seed: list[int], outcome: Outcome) -> None:
    with folder_for_files() as folder:
        for place in range(outcome.first, INPUTS):
            rng = np.random.default_rng([*seed, place])
            is_problem = rng.uniform() < 0.5
            data = problem() if is_problem else recording("npz", bool(rng.uniform() < 0.4))
            with outcome.guard(place):
                data = hostile(rng, data)
                path = Path(folder) / "file.npz"
                path.write_bytes(data)
                try_file(path, is_problem, outcome, place)
            outcome.count("inputs")


def try_file(path: Path, is_problem: bool, outcome: Outcome, place: int) -> None:
    try:
        found = taut.Problem.load(path) if is_problem else taut.load_recording(path)
    except (ValueError, OSError) as error:
        outcome.count("refused")
        if path.name not in str(error):
            outcome.finding("the error does not name the file", str(error)[:200], place)
        return
    outcome.count("read")
    if not is_problem:
        use(found)
        return
    solution = taut.solve(found)
    if solution.report.status == "converged":
        from .judge import law_of

        worst = law_of(found, solution.impulse)
        if not worst <= 1e-5 + 1e-9 * float(np.abs(found.G).max(initial=0)) * float(np.abs(solution.impulse).max()):
            outcome.finding(f"false converged: {worst:.2e}", "a problem that was read", place)


def hostile(rng: Rng, data: bytes) -> bytes:
    if rng.uniform() < 0.3:
        return flips(rng, data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as whole:
            members = {name: whole.read(name) for name in whole.namelist()}
    except zipfile.BadZipFile:  # one that grows has no directory yet
        return flips(rng, data)
    for _ in range(int(rng.integers(1, 4))):
        names = list(members)
        if not names:
            break
        name = names[rng.integers(len(names))]
        other = names[rng.integers(len(names))]
        how = rng.integers(9)
        if how == 0:
            del members[name]
        elif how == 1:
            members[name] = members[other]
        elif how == 2:
            members[str(rng.choice(["../x.npy", "q/000007.npy", "x", "a" * 300, "metadata.npy"]))] = members[name]
        elif how == 3:
            members[name] = flips(rng, members[name])
        else:
            members[name] = _other_array(rng, members[name])
    made = io.BytesIO()
    compression = zipfile.ZIP_DEFLATED if rng.uniform() < 0.2 else zipfile.ZIP_STORED
    with zipfile.ZipFile(made, "w", compression) as whole:
        for name, content in members.items():
            whole.writestr(name, content)
    return made.getvalue()


def _other_array(rng: Rng, content: bytes) -> bytes:
    try:
        return _changed_array(rng, content)
    except Exception:  # what is spoiled already, words that are no numbers: numpy throws what it likes
        return flips(rng, content)


def _changed_array(rng: Rng, content: bytes) -> bytes:
    """Another dtype, shape or values under the same name; or a header that lies."""
    if rng.uniform() < 0.4:
        end = content.find(b"\n")
        head, rest = content[: end + 1], content[end + 1 :]
        for old, new in (
            (b"<f8", rng.choice([b">f8", b"<f4", b"<i8", b"|O8", b"<c16", b"|S0", b"<U9", b"|V8"])),
            (b"(", rng.choice([b"(99999999999,", b"(-1,", b"(0,", b"(2,2,"])),
            (b"False", b"True "),
        ):
            if rng.uniform() < 0.5:
                head = head.replace(old, bytes(new), 1)
        return head + rest
    array = np.load(io.BytesIO(content), allow_pickle=False)
    how = rng.integers(8)
    if how == 0:
        array = array[:-1] if array.ndim else array.reshape(1)
    elif how == 1:
        array = np.concatenate([array, array]) if array.ndim else np.array([array, array])
    elif how == 2:
        array = array.astype(rng.choice(["f4", "i4", "c16", "U8", "?"]))
    elif how == 3:
        array = array.reshape(-1)
    elif how == 4:
        array = array[..., None]
    elif how == 5:
        array = np.zeros((0, *array.shape[1:]), array.dtype)
    elif array.dtype.kind in "iuf" and array.size:
        array = array.copy()
        bad = [np.nan, np.inf, -1.0, 1e308, 0.0] if array.dtype.kind == "f" else [-1, 0, 2**31 - 1, 7]
        with np.errstate(all="ignore"):
            array.reshape(-1)[rng.integers(array.size)] = rng.choice(bad)
    made = io.BytesIO()
    np.save(made, array, allow_pickle=True)
    return made.getvalue()
