"""[DCD]'s experiments on taut's derivatives of collision: `taut bench collision-derivatives NAME`."""

from __future__ import annotations

from ..experiment import Experiment
from . import poses, times

EXPERIMENTS: dict[str, Experiment] = {module.NAME: module for module in (poses, times)}

__all__ = ["EXPERIMENTS"]
