"""`taut bench contact`: the papers' experiments on contact models and solvers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import experiments
from .bench_experiments import conduct
from .terminal import clean_errors

Names = Annotated[
    list[str] | None, typer.Argument(metavar="NAME...", help="Experiments, or all; without a name, list them.")
]
Quick = Annotated[bool, typer.Option("--quick", help="Seconds instead of minutes: fewer steps, coarser sweeps.")]
Json = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the numbers to this file, too.")]
Results = Annotated[
    Path, typer.Option(metavar="DIR", help="Numbers and figures go to a folder of the machine's name in here.")
]


@clean_errors
def contact(
    names: Names = None, quick: Quick = False, json: Json = None, results: Results = Path("benchmarks/results")
) -> None:
    """Repeat an experiment of a paper with every solver taut has.

    Writes NAME.json and NAME.png beside the tables it prints.

    Examples:

        taut bench contact
        taut bench contact isotropy --quick
        taut bench contact all
    """
    conduct("contact", experiments.EXPERIMENTS, names, quick, json, results)
