"""`taut bench loops`: [KL]'s benchmark of mechanisms with kinematic loops."""

from __future__ import annotations

from pathlib import Path

from .. import experiments
from .bench_contact import Json, Names, Quick, Results
from .bench_experiments import conduct
from .terminal import clean_errors


@clean_errors
def loops(
    names: Names = None, quick: Quick = False, json: Json = None, results: Results = Path("benchmarks/results")
) -> None:
    """Thirteen mechanisms with loops: what they are, whether they hold, and every solver on them.

    Writes loops_NAME.json and loops_NAME.png beside the tables it prints.

    Examples:

        taut bench loops
        taut bench loops hold --quick
        taut bench loops all
    """
    conduct("loops", experiments.LOOPS, names, quick, json, results, prefix="loops_")
