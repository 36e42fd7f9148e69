"""[GJK]'s experiments on Coal's GJK, as taut uses it: `taut bench gjk NAME`."""

from __future__ import annotations

from ..experiment import Experiment
from . import baselines, ellipsoids, meshes, step, warm_start

EXPERIMENTS: dict[str, Experiment] = {
    module.NAME: module for module in (ellipsoids, meshes, baselines, warm_start, step)
}

__all__ = ["EXPERIMENTS"]
