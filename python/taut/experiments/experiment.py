"""What every experiment is made of: which solvers take part, how they look in a figure, where results go."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from rich.table import Table

from .. import _taut
from .._taut import Scene, Simulator, Step

Advance = Callable[[int, int, str], None]  # (done, total, what is being done)

MODELS = ("NCP", "CCP", "RaiSim", "LCP")


class Experiment(Protocol):
    """A module of this package: a name for the shell, one line, the figure of the paper, and three functions."""

    NAME: str
    WHAT: str
    PAPER: str

    @staticmethod
    def run(quick: bool, advance: Advance) -> dict[str, Any]:
        """Everything measured, in lists, dictionaries and numbers. A quick run takes a second or two."""

    @staticmethod
    def tables(results: dict[str, Any]) -> list[Table]:
        """The numbers a page cites."""

    @staticmethod
    def plot(results: dict[str, Any], path: Path) -> None:
        """One figure, from the results alone."""


def available(*names: str) -> list[str]:
    """Those of `names` that this taut has, in this order; without names, all of them."""
    known = _taut.solvers()
    return [name for name in names or known if name in known]


def model_of(solver: str) -> str:
    """NCP, CCP, RaiSim or LCP: the contact model a solver solves."""
    return _taut.solver_models()[solver]


def label(solver: str) -> str:
    """As [CB] writes them, the model before the method: NCP/pgs, CCP/admm, RaiSim."""
    model = model_of(solver)
    method = re.sub(rf"^{model.lower()}_?", "", solver)
    return f"{model}/{method}" if method else model


def mean_and_worst(values: Any) -> dict[str, float]:
    return {"mean": float(np.mean(values)), "worst": float(np.max(values))}


def simulator(scene: Scene, solver: str, **options: Any) -> Simulator:
    """A simulator whose options that are None keep their defaults."""
    return Simulator(scene, solver=solver, **{key: value for key, value in options.items() if value is not None})


def steps(
    sim: Simulator, q: np.ndarray, v: np.ndarray, count: int, force: Callable[[float], Any] | None = None
) -> Iterator[Step]:
    """`count` steps; `force(t)` is (force, moment) on each joint in its own frame, (njoints, 6)."""
    for k in range(count):
        made = sim.step(q, v, fext=None if force is None else force(k * sim.dt))
        q, v = made.q, made.v
        yield made


def push(scene: Scene, joint: int, force: Any) -> np.ndarray:
    """A force along the axes of one joint, at its origin; what `force` of `steps` returns."""
    wrench = np.zeros((scene.model.njoints, 6))
    wrench[joint, :3] = force
    return wrench


# A colour for each model, a dash for each solver of it: the model is what most figures are about.
_HUES = {"NCP": "Blues", "CCP": "Oranges", "RaiSim": "Greens", "LCP": "Purples"}
_DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 3)), (0, (3, 1, 1, 1)))


def look(solver: str, among: list[str]) -> dict[str, Any]:
    """Colour, dash and label of a line of `solver` in a figure that shows `among`."""
    import matplotlib

    model = model_of(solver)
    siblings = [name for name in among if model_of(name) == model]
    place = siblings.index(solver)
    shade = 0.9 - 0.5 * place / max(len(siblings) - 1, 1)
    colour = matplotlib.colormaps[_HUES[model]](shade)
    return {"color": colour, "linestyle": _DASHES[place % len(_DASHES)], "label": label(solver)}


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib

        if "matplotlib.pyplot" not in sys.modules:
            matplotlib.use("Agg")  # no window, no display needed; a notebook that plots already keeps its own
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise OSError("figures need matplotlib: pip install 'taut[plot]'") from error
    return plt


@contextlib.contextmanager
def figure(path: Path, rows: int = 1, columns: int = 1, size: tuple[float, float] | None = None, **grid: Any):
    """(figure, axes as a flat list), written to `path` at the end."""
    plt = pyplot()
    style = {
        "font.size": 9,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.fontsize": 7.5,
        "legend.frameon": False,
        "lines.linewidth": 1.4,
    }
    with plt.rc_context(style):
        made, axes = plt.subplots(
            rows, columns, figsize=size or (5.2 * columns, 3.6 * rows), layout="constrained", squeeze=False, **grid
        )
        try:
            yield made, list(axes.flat)
            made.savefig(path, dpi=130)
        finally:
            plt.close(made)


def legend(made: Any, *axes: Any) -> None:
    """One legend for all panels, outside of them: sixteen solvers hide a curve wherever they are put."""
    found = {}
    for one in axes:
        for handle, text in zip(*one.get_legend_handles_labels(), strict=True):
            found.setdefault(text, handle)
    made.legend(found.values(), found.keys(), loc="outside right upper", handlelength=3.0)
