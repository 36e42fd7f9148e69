"""What every command needs: consoles, tables, numbers with units, errors on one line, JSON files."""

from __future__ import annotations

import functools
import json
import math
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

PIPED_WIDTH = 100  # rich takes 80 columns for a pipe, too few for the tables

GOOD, BAD = "[green]✔[/]", "[red]✘[/]"


def console(stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    piped = not stream.isatty() and "COLUMNS" not in os.environ
    return Console(stderr=stderr, width=PIPED_WIDTH if piped else None, highlight=False)


def table(title: str | None, *columns: str, caption: str | None = None) -> Table:
    """Columns whose name starts with '<' are text, aligned left; the others are numbers. Only the first may wrap."""
    left = {"title_justify": "left", "caption_justify": "left", "title_style": "bold"}
    made = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), **left)
    for i, column in enumerate(columns):
        text = column.startswith("<")
        wrap = {"overflow": "fold", "min_width": 8} if i == 0 else {"no_wrap": True}
        made.add_column(column.removeprefix("<"), justify="left" if text else "right", **wrap)
    return made


def progress() -> Progress:
    """A bar on stderr that leaves no trace: stdout keeps only results."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console(stderr=True), transient=True)


def clean_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Wrong input ends with one line on stderr and exit code 2, not with a traceback."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (ValueError, OSError) as error:
            one_line = " ".join(str(error).split())
            console(stderr=True).print(f"[bold red]error[/]: {escape(one_line)}", soft_wrap=True)
            raise typer.Exit(2) from error

    return wrapped


def note(text: str) -> None:
    console(stderr=True).print(f"[yellow]note[/]: {escape(text)}", soft_wrap=True)


def number(value: float | None, unit: str = "", digits: int = 3) -> str:
    """A few significant digits and the unit; powers of ten where fixed digits would hide the value."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        text = str(value)
    elif value == 0 or 1e-3 <= abs(value) < 1e5:
        text = f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"
    else:
        text = f"{value:.{digits - 1}e}"
    return f"{text} {unit}".rstrip()


def length(metres: float | None) -> str:
    """A length in the unit one would say it in."""
    if metres is None:
        return "–"
    for unit, size in (("m", 1.0), ("mm", 1e-3), ("µm", 1e-6), ("nm", 1e-9)):
        if abs(metres) >= size:
            return number(metres / size, unit)
    return "< 1 nm"


def machine() -> dict[str, Any]:
    """The machine a time was measured on."""
    cpu = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        cpu = models[0] if models else cpu
    return {"cpu": cpu, "cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()}


def machine_line() -> str:
    about = machine()
    return f"{about['cpu']}, {about['cores']} cores, {about['system']}, Python {about['python']}"


def require_folders(*paths: Path | None) -> None:
    """Better now than after the run."""
    for path in paths:
        if path is not None and not path.resolve().parent.is_dir():
            raise FileNotFoundError(f"no such folder: '{path.parent}', where {path.name} was to be written")


def write_json(path: Path | None, content: Any) -> None:
    if path is None:
        return
    path.write_text(_text(_plain(content)) + "\n")
    console(stderr=True).print(f"wrote {escape(str(path))}", soft_wrap=True)


def _text(value: Any, depth: int = 0) -> str:
    """JSON with a line for each entry of an object, but a row of numbers on one line."""
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(key)}: {_text(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{outer}}}"
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return "[\n" + ",\n".join(inner + _text(item, depth + 1) for item in value) + f"\n{outer}]"
    return json.dumps(value, allow_nan=False)


def _plain(value: Any) -> Any:
    """numpy to Python; JSON has neither NaN nor infinity, they become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
