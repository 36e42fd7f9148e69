"""A run in pieces, measured: each piece is one call of `rollout`, so that a bar can move in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .._taut import Report, Scene, Simulator, Trajectory

DEFAULTS = Simulator(Scene())  # its dt, solver and tolerance: defaults are written in C++ and nowhere else


@dataclass
class Run:
    sim: Simulator
    q: np.ndarray
    v: np.ndarray
    seconds: float = 0.0  # of wall time inside rollout
    contacts: list[int] = field(default_factory=list)  # of each step
    residuals: list[float] = field(default_factory=list)  # the judge's worst of each step
    uncertified: int = 0
    failed: bool = False  # the state is not finite any more: the run has ended

    @property
    def steps(self) -> int:
        return len(self.residuals)

    @property
    def time(self) -> float:
        return self.steps * self.sim.dt

    @property
    def worst(self) -> float:
        return float(np.max(self.residuals, initial=0.0))  # NaN if one is

    @property
    def real_time_factor(self) -> float:
        return self.time / self.seconds if self.seconds else 0.0

    def advance(self, steps: int) -> Trajectory:
        """Some steps more; a row of the trajectory for each step that was made, after the one where it starts."""
        start = time.perf_counter()
        piece = self.sim.rollout(self.q, self.v, steps=steps)
        self.seconds += time.perf_counter() - start
        self.contacts += piece.contacts
        for report in piece.reports:
            self._judge(report)
        self.q, self.v = piece.q[len(piece)], piece.v[len(piece)]
        return piece

    def _judge(self, report: Report) -> None:
        worst = report.residuals.worst
        self.residuals.append(worst)
        self.uncertified += not worst <= self.sim.tolerance  # NaN is not certified either, hence not ">"
        self.failed |= report.status == "not_finite"

    def go(self, steps: int, each: Callable[[Trajectory], None] | None = None, piece: int = 50) -> None:
        """`steps` steps in pieces, `each` sees every piece; ends early if the state is not finite."""
        left = steps
        while left > 0 and not self.failed:
            trajectory = self.advance(min(piece, left))
            left -= len(trajectory)
            if each:
                each(trajectory)

    def deepest_gap(self) -> float | None:
        """Smallest gap of the present state, m; negative in penetration. Takes a step, which the run does not keep."""
        return min((contact.gap for contact in self.sim.step(self.q, self.v).contacts), default=None)
