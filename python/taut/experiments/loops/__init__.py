"""[KL]'s benchmark of mechanisms with kinematic loops: `taut bench loops NAME`."""

from __future__ import annotations

from ..experiment import Experiment
from . import hold, solvers, suite

EXPERIMENTS: dict[str, Experiment] = {module.NAME: module for module in (suite, hold, solvers)}

__all__ = ["EXPERIMENTS"]
