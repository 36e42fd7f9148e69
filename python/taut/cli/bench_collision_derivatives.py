"""`taut bench collision-derivatives`: [DCD]'s comparison of estimators of the derivatives of collision."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import typer

from .. import experiments
from .bench_contact import Json, Quick, Results
from .bench_experiments import ALL, conduct
from .terminal import clean_errors

Names = Annotated[list[str] | None, typer.Argument(metavar="NAME...", help="poses, times; without a name, both.")]
Problems = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Contact poses to look for: 10000, or 40 with --quick.", show_default=False),
]


@clean_errors
def collision_derivatives(
    names: Names = None,
    problems: Problems = None,
    quick: Quick = False,
    json: Json = None,
    results: Results = Path("benchmarks/results"),
) -> None:
    """What derivatives of collision are good for, and what they cost.

    poses: contact poses of rough meshes, by Gauss-Newton with each estimator; costs at the end by percentile.

    times: microseconds of each estimator beside those of the collision, and of exact derivatives of simple pairs.

    Writes collision_derivatives_NAME.json and .png beside the tables it prints. All poses take some five minutes.

    Examples:

        taut bench collision-derivatives
        taut bench collision-derivatives poses --problems 500
        taut bench collision-derivatives --quick
    """
    chosen = dict(experiments.COLLISION_DERIVATIVES)
    if problems is not None:
        poses = vars(chosen["poses"])
        chosen["poses"] = SimpleNamespace(**{**poses, "run": partial(poses["run"], count=problems)})
    conduct("collision-derivatives", chosen, names or [ALL], quick, json, results, prefix="collision_derivatives_")
