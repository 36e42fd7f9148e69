"""What `taut bench contact`, `loops` and `gjk` share: experiments with a table, a figure and a file of numbers."""

from __future__ import annotations

import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from .. import __version__
from ..experiments.experiment import pyplot
from .terminal import console, machine, machine_line, progress, require_folders, table, write_json

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment

ALL = "all"
PACKAGES = ("pin", "coal", "numpy", "mujoco", "matplotlib", "example-robot-data", "proxsuite")


def conduct(
    bench: str,
    experiments: dict[str, Experiment],
    names: list[str] | None,
    quick: bool,
    json: Path | None,
    results: Path,
    prefix: str = "",
) -> None:
    """Runs the named experiments, or lists them all; files are called after them, with the prefix."""
    if not names:
        console().print(_listing(experiments))
        console().print(f" taut bench {bench} NAME runs one, taut bench {bench} all runs them all.")
        return
    chosen = list(experiments) if names == [ALL] else names
    for name in chosen:
        if name not in experiments:
            raise ValueError(f"no experiment is named '{name}'; there are {', '.join(experiments)}, {ALL}")
    require_folders(json)
    pyplot()  # missing, it is missed now and not after the run
    folder = results / machine_slug()
    folder.mkdir(parents=True, exist_ok=True)

    console().print(f"[bold]{escape(machine_line())}[/]\ntaut {__version__}{', quick' if quick else ''}")
    written = {name: _conduct(experiments[name], quick, folder / f"{prefix}{name}.json") for name in chosen}
    write_json(json, next(iter(written.values())) if len(written) == 1 else written)


def _listing(experiments: dict[str, Experiment]):
    made = table("Experiments", "<what it shows", "<name", "<paper")
    for name, experiment in experiments.items():
        made.add_row(experiment.WHAT, name, escape(experiment.PAPER))
    return made


def _conduct(experiment: Experiment, quick: bool, file: Path) -> dict[str, Any]:
    name = experiment.NAME
    out = console()
    out.print(f"\n[bold]{name}[/]: {escape(experiment.WHAT)} {escape(experiment.PAPER)}", soft_wrap=True)
    with progress() as bar:
        task = bar.add_task(name, total=1)

        def advance(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{name}: {escape(what)}")

        results = experiment.run(quick, advance)
    content = {**about(experiment, quick), "results": results}
    for made in experiment.tables(results):
        out.print(made)
    write_json(file, content)
    picture = file.with_suffix(".png")
    experiment.plot(results, picture)
    console(stderr=True).print(f"wrote {escape(str(picture))}", soft_wrap=True)
    return content


def about(experiment: Experiment, quick: bool) -> dict[str, Any]:
    """What a reader of the file must know to repeat it."""
    versions = {"taut": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "experiment": experiment.NAME,
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
