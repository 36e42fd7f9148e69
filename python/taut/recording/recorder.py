"""`sim.record(path)`: what a simulator does, written to a file beside the simulation."""

from __future__ import annotations

import contextlib
import gc
import os
import weakref
from pathlib import Path
from typing import Any

from .._taut import Simulator
from . import about
from .pipe import Pipe
from .writers import open_writer, writing


class Recorder:
    """Records every `step` and `rollout` of a simulator until it is closed; a context manager.

    The file is written in a thread, in pieces of a second of work at most: a killed process leaves what it had done,
    and `taut.load_recording` reads it. An error of the disk is raised once, by a step that is made by then or by
    `close`: what was written before reads back, and the simulator goes on. A process that is forked off records
    nothing.
    """

    def __init__(self, sim: Simulator, path: str | os.PathLike[str]) -> None:
        self.sim = sim
        self.path = Path(path).resolve()  # the folder of the process may change, and a link stays a link
        if self.path in writing:
            gc.collect()  # a simulator that nobody can reach any more, as when a notebook's cell runs again
        if self.path in writing:
            raise ValueError(f"'{path}' is being recorded already: close that recorder first")
        self._pipe = Pipe(open_writer(self.path, about.describe(sim)))
        self._finalizer = weakref.finalize(self, _end, self._pipe, self.path)  # also when Python ends
        writing.add(self.path)
        sim._attach(self._pipe.tape)
        sim.__dict__.setdefault("_recorders", []).append(self)  # it lives as long as what it records
        _alive.add(self)

    @property
    def closed(self) -> bool:
        """Nothing more is recorded."""
        return not self._finalizer.alive

    def flush(self) -> None:
        """Everything up to the last step is in the file when this returns."""
        self._pipe.flush()

    def close(self) -> None:
        """Finish the file. The simulator goes on without being recorded."""
        if self.closed:
            return
        failure = None
        try:
            self._pipe.tape.hand_over()  # before anything else: within a step it may not
        except OSError as error:  # what was written is closed all the same
            failure = error
        self._leave()
        try:
            self._pipe.end()
        finally:
            if self._pipe.ended:  # else it was interrupted: once more, now or when Python ends
                self._finalizer.detach()
                writing.discard(self.path)
        if failure is not None:
            raise failure

    def _leave(self) -> None:
        self.sim._detach(self._pipe.tape)
        if self in self.sim._recorders:
            self.sim._recorders.remove(self)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self.close()
        else:
            with contextlib.suppress(OSError):  # the error that is under way says more
                self.close()

    def __repr__(self) -> str:
        return f"Recorder({str(self.path)!r}{', closed' if self.closed else ''})"


def _end(pipe: Pipe, path: Path) -> None:
    try:
        pipe.end()
    finally:
        writing.discard(path)


_alive: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _leave_to_parent() -> None:
    """The files are those of the process that was forked, and so are the threads that write them."""
    for recorder in list(_alive):
        recorder._finalizer.detach()
        recorder._leave()
        recorder._pipe.tape = None  # what a thread that is not here refers to lives for ever
    writing.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
