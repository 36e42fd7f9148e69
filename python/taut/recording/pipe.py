"""Pieces of a tape on their way to a file, in a thread of its own."""

from __future__ import annotations

import queue
import threading

import numpy as np

from .._taut import _Tape
from .writers import Writer

STEPS = 4096  # in a piece: some megabytes of a quadruped, little beside the memory of a machine
SECONDS = 1.0  # a step waits for no longer than this, whether others follow it or not
PIECES = 16  # that may wait for the disk; then the simulation waits


class Pipe:
    """The tape of a recording, and the thread that writes what it hands over. Knows nothing of the simulator."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.error: BaseException | None = None
        self.written = 0  # steps
        self.error_told = False  # somebody has met it
        self.ending = self.told = False  # nothing is taken any more; the thread has been told
        self.waiting: queue.Queue[dict[str, np.ndarray] | None] = queue.Queue(maxsize=PIECES)
        self.thread = threading.Thread(target=self._work, name="taut recording", daemon=True)
        self.tape = _Tape(STEPS, SECONDS, self.put)
        self.thread.start()

    def put(self, piece: dict[str, np.ndarray]) -> None:
        self.raise_error()
        # After an error, or if a step of another thread met the end, nobody would take it.
        if self.error is None and not self.ending:
            self.waiting.put(piece, block=threading.current_thread() is not self.thread)

    def raise_error(self, again: bool = False) -> None:
        """Once, to whoever comes first: the simulation can go on without its recording."""
        if self.error is None or (self.error_told and not again):
            return
        self.error_told = threading.current_thread() is not self.thread
        raise OSError(f"{self.writer.path}: could not go on recording: {self.error}") from self.error

    def flush(self) -> None:
        """Everything up to the last step is in the file when this returns."""
        self.tape.hand_over()
        self.waiting.join()
        self.raise_error(again=True)

    @property
    def ended(self) -> bool:
        return self.told and not self.thread.is_alive()

    def end(self) -> None:
        """Finish the file. Who was interrupted here may call again."""
        try:
            if not self.ending:
                self.tape.hand_over()
        finally:
            self.ending = True
            if not self.told:
                self.waiting.put(None)
                self.told = True
        if threading.current_thread() is not self.thread:  # a collector may run anywhere
            self.thread.join()
            self.raise_error()

    def _work(self) -> None:
        while True:
            try:
                piece = self.waiting.get(timeout=SECONDS)
            except queue.Empty:
                self._look()
                continue
            if piece is None:
                break
            self._write(piece)
            self.waiting.task_done()
        self._finish()
        self.waiting.task_done()

    def _look(self) -> None:
        """Steps that nothing follows would be lost if the process were killed."""
        try:
            self.tape.hand_over_if_due()
        except (OSError, queue.Full):  # the tape keeps them, and whoever records is told by the next step
            return

    def _write(self, piece: dict[str, np.ndarray]) -> None:
        # After an error pieces are dropped, so that nobody waits for ever; and one that came twice, because `put` was
        # interrupted when it had done its work.
        if self.error is None and piece["first"] == self.written:
            try:
                self.writer.write(piece)
                self.written += len(piece["status"])
            except Exception as error:
                self.error = error

    def _finish(self) -> None:
        try:
            if self.error is None:
                self.writer.finish()
        except Exception as error:
            self.error = error
        if self.error is not None:
            self.writer.abandon()
