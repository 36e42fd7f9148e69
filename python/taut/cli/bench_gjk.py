"""`taut bench gjk`: [GJK]'s comparison of GJK's variants and warm starts."""

from __future__ import annotations

from pathlib import Path

from .. import experiments
from .bench_contact import Json, Names, Quick, Results
from .bench_experiments import conduct
from .terminal import clean_errors


@clean_errors
def gjk(
    names: Names = None, quick: Quick = False, json: Json = None, results: Results = Path("benchmarks/results")
) -> None:
    """Vanilla, Polyak's and Nesterov's GJK, where it starts, and what that saves in a step.

    Writes gjk_NAME.json and gjk_NAME.png beside the tables it prints.

    Examples:

        taut bench gjk
        taut bench gjk meshes --quick
        taut bench gjk all
    """
    conduct("gjk", experiments.GJK, names, quick, json, results, prefix="gjk_")
