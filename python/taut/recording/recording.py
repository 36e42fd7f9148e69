"""A run read back."""

from __future__ import annotations

import contextlib
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from .._taut import Scene
from . import about
from .columns import COLUMNS, STATUSES, check, sizes_of
from .errors import damage_named
from .forces import in_world
from .rights import Rights


class Recording:
    """A run: states, contacts, impulses and reports of every step.

    t, q, v            row 0 is the start, row k the state after step k: (steps + 1, ...)
    tau, control       what `step` or `rollout` was given, a row for each step; no rows if it never was
    status             of each step, a code of `taut.recording.STATUSES`
    iterations, residuals, model_residuals   of each step; residuals are (primal, dual, complementarity, natural)
    contacts           how many each step has; the rows below are those of all steps, one after the other:
    points, normals    world coordinates; the normal points to the first body of `bodies`
    impulses           on that body, (t1, t2, n) in the contact's frame, N s
    gaps, mu, pairs, slots
    modes              a code of `taut.recording.MODES`: breaking, sticking or sliding
    restarts           steps (and `restart_q`, `restart_v`) that began elsewhere than the one before ended
    """

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    control: np.ndarray
    status: np.ndarray
    iterations: np.ndarray
    residuals: np.ndarray
    model_residuals: np.ndarray
    contacts: np.ndarray
    points: np.ndarray
    normals: np.ndarray
    impulses: np.ndarray
    gaps: np.ndarray
    mu: np.ndarray
    pairs: np.ndarray
    slots: np.ndarray
    modes: np.ndarray
    restarts: np.ndarray
    restart_q: np.ndarray
    restart_v: np.ndarray

    def __init__(
        self,
        metadata: dict[str, Any],
        columns: dict[str, np.ndarray],
        complete: bool = True,
        name: str = "recording",
        rights: Rights | None = None,
    ) -> None:
        check(columns, sizes_of(metadata), name)
        self.metadata, self.complete, self.name = metadata, complete, name
        self._rights = rights or Rights(name)
        for column in COLUMNS:
            setattr(self, column, columns[column])

    def __len__(self) -> int:
        """How many steps."""
        return len(self.status)

    def __repr__(self) -> str:
        unfinished = "" if self.complete else ", not finished"
        return f"Recording({self.name}: {len(self)} steps of {self.dt:g} s, {len(self.modes)} contacts{unfinished})"

    def _repr_html_(self) -> str:
        from ..notebook import of_recording

        return of_recording(self)

    @property
    def dt(self) -> float:
        """Time step, s."""
        return self.metadata["options"]["dt"]

    @property
    def t(self) -> np.ndarray:
        """Of the states, s."""
        return self.dt * np.arange(len(self.q))

    @property
    def worst_residuals(self) -> np.ndarray:
        """What the tolerance is held against, of each step."""
        return self.residuals[:, [0, 1, 3]].max(axis=1)

    @property
    def statuses(self) -> list[str]:
        """The status of each step in words."""
        return [STATUSES[code] for code in self.status]

    @cached_property
    def _ends(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.contacts, dtype=np.int64)])

    def of_step(self, k: int) -> slice:
        """Rows of points, impulses, ... that belong to step k, the one that leads to row k + 1 of the states."""
        if not 0 <= k < len(self):
            raise IndexError(f"step {k} of {len(self)}")
        return slice(int(self._ends[k]), int(self._ends[k + 1]))

    @cached_property
    def forces(self) -> np.ndarray:
        """On the first of `bodies`, world, N: a row for each contact."""
        return in_world(self.normals, self.impulses) / self.dt

    @cached_property
    def bodies(self) -> np.ndarray:
        """The joints of the two bodies of each contact, 0 for the world: that of the pair's first shape first, unless
        that one belongs to the world."""
        return np.array(self.metadata["pair_bodies"], int).reshape(-1, 2)[self.pairs]

    @cached_property
    def steps_of_contacts(self) -> np.ndarray:
        """The step of each contact row."""
        return np.repeat(np.arange(len(self)), self.contacts)

    @cached_property
    def model(self) -> pinocchio.Model:
        """The model that was simulated."""
        return self.scene.model

    @cached_property
    def scene(self) -> Scene:
        """Its bodies, shapes, surfaces and springs, as they were when the recording began, to look at; actuators and
        loops are not recorded."""
        with damage_named(Path(self.name)):
            scene = about.restore_scene(self.metadata)
        scene.sources = self._rights.confine(scene.sources)
        return scene

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it all to an .npz or .mcap file; a recording that was not finished gets a finished file this way."""
        from .writers import open_writer, writing

        path = Path(path).resolve()
        if path in writing:
            raise ValueError(f"'{path}' is being recorded now")
        beside = path.with_name(f"{path.stem}.saving{path.suffix}")  # `path` may be what this was read from
        try:
            with open_writer(beside, self.metadata) as writer:
                for first in range(0, len(self), 4096):
                    writer.write(self._piece(first, min(first + 4096, len(self))))
            os.replace(beside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise

    def _piece(self, first: int, last: int) -> dict[str, np.ndarray]:
        """Steps [first, last) as a tape would have handed them over."""
        rows = {"state": slice(first + 1, last + 1), "step": slice(first, last), "input": slice(first, last)}
        rows["contact"] = slice(int(self._ends[first]), int(self._ends[last]))
        begun = np.searchsorted(self.restarts, [first, last])
        rows["restart"] = slice(*begun)
        piece = {name: np.ascontiguousarray(getattr(self, name)[rows[column.per]]) for name, column in COLUMNS.items()}
        if first == 0:
            piece["restarts"] = np.concatenate([np.zeros(1, "<i8"), piece["restarts"]])
            for state in ("q", "v"):
                piece[f"restart_{state}"] = np.concatenate([getattr(self, state)[:1], piece[f"restart_{state}"]])
        return piece
