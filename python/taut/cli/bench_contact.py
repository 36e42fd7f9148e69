"""`taut bench contact`: the experiments of the papers, each with a table, a figure and a file of numbers."""

from __future__ import annotations

import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from .. import __version__, experiments
from ..experiments.experiment import pyplot
from .terminal import clean_errors, console, machine, machine_line, progress, require_folders, table, write_json

ALL = "all"
PACKAGES = ("pin", "coal", "numpy", "mujoco", "matplotlib", "example-robot-data")


@clean_errors
def contact(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME...", help="Experiments, or all; without a name, list them.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Seconds instead of minutes: fewer steps, coarser sweeps.")
    ] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the numbers to this file, too.")] = None,
    results: Annotated[
        Path, typer.Option(metavar="DIR", help="NAME.json and NAME.png go to a folder of the machine's name in here.")
    ] = Path("benchmarks/results"),
) -> None:
    """Repeat an experiment of a paper with every solver taut has.

    Writes NAME.json and NAME.png beside the tables it prints.

    Examples:

        taut bench contact
        taut bench contact isotropy --quick
        taut bench contact all
    """
    if not names:
        console().print(_listing())
        console().print(" taut bench contact NAME runs one, taut bench contact all runs them all.")
        return
    chosen = list(experiments.EXPERIMENTS) if names == [ALL] else names
    for name in chosen:
        if name not in experiments.EXPERIMENTS:
            raise ValueError(f"no experiment is named '{name}'; there are {', '.join(experiments.EXPERIMENTS)}, {ALL}")
    require_folders(json)
    pyplot()  # missing, it is missed now and not after the run
    folder = results / machine_slug()
    folder.mkdir(parents=True, exist_ok=True)

    out = console()
    out.print(f"[bold]{escape(machine_line())}[/]\ntaut {__version__}{', quick' if quick else ''}")
    written = {}
    for name in chosen:
        written[name] = _conduct(name, quick, folder)
    write_json(json, next(iter(written.values())) if len(written) == 1 else written)


def _listing():
    made = table("Experiments", "<what it shows", "<name", "<paper")
    for name, experiment in experiments.EXPERIMENTS.items():
        made.add_row(experiment.WHAT, name, escape(experiment.PAPER))
    return made


def _conduct(name: str, quick: bool, folder: Path) -> dict[str, Any]:
    experiment = experiments.EXPERIMENTS[name]
    out = console()
    out.print(f"\n[bold]{name}[/]: {escape(experiment.WHAT)} {escape(experiment.PAPER)}", soft_wrap=True)
    with progress() as bar:
        task = bar.add_task(name, total=1)

        def advance(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{name}: {escape(what)}")

        results = experiment.run(quick, advance)
    content = {**about(name, quick), "results": results}
    for made in experiment.tables(results):
        out.print(made)
    write_json(folder / f"{name}.json", content)
    picture = folder / f"{name}.png"
    experiment.plot(results, picture)
    console(stderr=True).print(f"wrote {escape(str(picture))}", soft_wrap=True)
    return content


def about(name: str, quick: bool) -> dict[str, Any]:
    """What a reader of the file must know to repeat it."""
    experiment = experiments.EXPERIMENTS[name]
    versions = {"taut": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "experiment": name,
        "what": experiment.WHAT,
        "paper": experiment.PAPER,
        "quick": quick,
        "command": " ".join(["taut", *sys.argv[1:]]),
        "machine": machine(),
        "versions": versions,
    }


def machine_slug() -> str:
    """A folder name for this machine: its processor and the number of its cores."""
    cpu = re.sub(r"\((R|TM)\)|\bCPU\b|@.*", " ", machine()["cpu"])
    words = re.findall(r"[a-z0-9.]+", cpu.lower())
    return "-".join([*words, f"{machine()['cores']}cores"])
