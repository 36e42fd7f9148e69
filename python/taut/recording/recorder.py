"""`sim.record(path)`: what a simulator does, written to a file beside the simulation."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from .._taut import Simulator, _Tape
from . import about
from .writers import Writer, open_writer

STEPS = 4096  # in a piece: some megabytes of a quadruped, little beside the memory of a machine
SECONDS = 1.0  # a killed process loses no more than this
PIECES = 16  # that may wait for the disk; then the simulation waits

_written: set[Path] = set()  # files that are being recorded now


class _Pipe:
    """Takes pieces of a tape, and writes them in a thread of its own. Knows nothing of the simulator."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.error: BaseException | None = None
        self.written = 0  # steps
        self.waiting: queue.Queue[dict[str, np.ndarray] | None] = queue.Queue(maxsize=PIECES)
        self.thread = threading.Thread(target=self._work, name="taut recording", daemon=True)
        self.thread.start()

    def put(self, piece: dict[str, np.ndarray]) -> None:
        self.raise_error()
        self.waiting.put(piece)

    def raise_error(self) -> None:
        if self.error is not None:
            raise OSError(f"{self.writer.path}: could not go on recording: {self.error}") from self.error

    def finish(self) -> None:
        self.waiting.put(None)
        self.thread.join()
        if self.error is None:
            self.writer.finish()
        else:
            self.writer.abandon()
        self.raise_error()

    def _work(self) -> None:
        while (piece := self.waiting.get()) is not None:
            # After an error pieces are dropped, so that nobody waits for ever; and one that came twice, because `put`
            # was interrupted when it had done its work.
            if self.error is None and piece["first"] == self.written:
                try:
                    self.writer.write(piece)
                    self.written += len(piece["status"])
                except Exception as error:
                    self.error = error
            self.waiting.task_done()
        self.waiting.task_done()


def _finish(tape: _Tape, pipe: _Pipe, file: Path) -> None:
    try:
        tape.hand_over()
    finally:
        _written.discard(file)
        pipe.finish()


class Recorder:
    """Records every `step` and `rollout` of a simulator until it is closed; a context manager.

    The file is written in a thread, in pieces of a second of work at most: a killed process leaves what it had done,
    and `taut.load_recording` reads it. Errors of the disk are raised by the next step, or by `close`.
    """

    def __init__(self, sim: Simulator, path: str | os.PathLike[str]) -> None:
        self.sim, self.path = sim, Path(path).absolute()  # the folder of the process may change
        file = self.path.resolve()
        if file in _written:
            raise ValueError(f"'{path}' is being recorded already: close that recorder first")
        self._pipe = _Pipe(open_writer(self.path, about.describe(sim)))
        self._tape = _Tape(STEPS, SECONDS, self._pipe.put)
        self._finalizer = weakref.finalize(self, _finish, self._tape, self._pipe, file)  # also when Python ends
        _written.add(file)
        sim._attach(self._tape)
        sim.__dict__.setdefault("_recorders", []).append(self)  # it lives as long as what it records

    @property
    def closed(self) -> bool:
        """Nothing more is recorded."""
        return not self._finalizer.alive

    def flush(self) -> None:
        """Everything up to the last step is in the file when this returns."""
        self._tape.hand_over()
        self._pipe.waiting.join()
        self._pipe.raise_error()

    def close(self) -> None:
        """Finish the file. The simulator goes on without being recorded."""
        if self.closed:
            return
        self.sim._detach(self._tape)
        self.sim._recorders.remove(self)
        self._finalizer()

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
