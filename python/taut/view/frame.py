"""One instant of a run: what is drawn, and what plots need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..recording import Recording
from ..recording.forces import in_world


@dataclass
class Frame:
    t: float
    q: np.ndarray
    v: np.ndarray
    points: np.ndarray  # of the contacts, (n, 3)
    normals: np.ndarray
    forces: np.ndarray  # on the first bodies, world, N
    gaps: np.ndarray
    mu: np.ndarray
    modes: np.ndarray
    pairs: np.ndarray
    residual: float = 0.0  # the judge's worst
    energy: float = 0.0
    step_us: float = 0.0
    state: Any = None  # with which a simulator can go on from here

    @classmethod
    def start(cls, q: np.ndarray, v: np.ndarray, t: float = 0.0) -> Frame:
        """Before any step: nothing is known of contacts."""
        none, rows = np.empty(0), np.empty((0, 3))
        return cls(t, np.array(q), np.array(v), rows, rows, rows, none, none, none.astype(int), none.astype(int))

    @classmethod
    def of_piece(cls, piece: dict[str, np.ndarray], dt: float, t: float) -> Frame:
        """The last step a tape has handed over, copied: a minute of frames must not keep all the steps between."""
        rows = slice(len(piece["modes"]) - int(piece["contacts"][-1]), None)
        points, normals, gaps, mu, modes, pairs = (
            np.array(piece[name][rows]) for name in ("points", "normals", "gaps", "mu", "modes", "pairs")
        )
        primal, dual, _, natural = piece["residuals"].max(axis=0)
        return cls(
            t,
            np.array(piece["q"][-1]),
            np.array(piece["v"][-1]),
            points,
            normals,
            in_world(normals, piece["impulses"][rows]) / dt,
            gaps,
            mu,
            modes,
            pairs,
            residual=float(max(primal, dual, natural)),
        )

    @classmethod
    def of_recording(cls, recording: Recording, row: int) -> Frame:
        """Row of the states; what the step to it met."""
        t = row * recording.dt
        if row == 0:
            return cls.start(recording.q[0], recording.v[0], t)
        rows = recording.of_step(row - 1)
        normals = recording.normals[rows]
        return cls(
            t,
            recording.q[row],
            recording.v[row],
            recording.points[rows],
            normals,
            in_world(normals, recording.impulses[rows]) / recording.dt,
            recording.gaps[rows],
            recording.mu[rows],
            recording.modes[rows],
            recording.pairs[rows],
            residual=float(recording.residuals[row - 1, [0, 1, 3]].max()),
        )

    @property
    def penetration(self) -> float:
        """How deep the deepest contact is, m; 0 if none is."""
        return max(0.0, -float(self.gaps.min())) if len(self.gaps) else 0.0
