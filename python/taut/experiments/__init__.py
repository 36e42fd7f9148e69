"""The experiments of the papers, on taut's own simulator: `taut bench contact NAME`, `… loops NAME`, `… gjk NAME`.

>>> from taut import experiments
>>> "isotropy" in experiments.EXPERIMENTS
True
"""

from __future__ import annotations

from . import (
    compliance,
    convergence,
    dragged,
    energy,
    heavy_on_light,
    internal_forces,
    isotropy,
    locomotion,
    peers,
    piles,
    profiles,
    raisim_local,
    raisim_tasks,
    time_step,
    timings,
)
from .collision_derivatives import EXPERIMENTS as COLLISION_DERIVATIVES
from .experiment import Experiment
from .gjk import EXPERIMENTS as GJK
from .loops import EXPERIMENTS as LOOPS

# In the order of the papers, which is the order they are listed and run in.
EXPERIMENTS: dict[str, Experiment] = {
    module.NAME: module
    for module in (
        isotropy,
        energy,
        dragged,
        internal_forces,
        heavy_on_light,
        compliance,
        time_step,
        convergence,
        timings,
        locomotion,
        raisim_local,
        raisim_tasks,
        profiles,
        peers,
        piles,
    )
}

__all__ = ["COLLISION_DERIVATIVES", "EXPERIMENTS", "GJK", "LOOPS", "Experiment"]
