"""Plots of recordings, solvers and gradients (extra `plot`: matplotlib). Each returns a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._taut import Problem, solve
from .gradients import BLOCKS, Comparison
from .recording import MODES, Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = dict(zip(MODES, ("#969696", "#2ea043", "#e25822"), strict=True))
NEVER = 1e-15  # a tolerance no solver reaches, so that the number of iterations decides


def _figure(rows: int = 1, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """Without pyplot: no window, no state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, height * rows), layout="constrained")
    return figure, [figure.add_subplot(rows, 1, row + 1) for row in range(rows)]


def trajectories(recording: Recording, joints: Sequence[str] | None = None) -> Figure:
    """Coordinates and velocities of joints over time: of those named, otherwise of all with one degree of freedom; of a
    free body its position, and its linear velocity in its own axes."""
    model = recording.model
    names = list(model.names)
    unknown = [name for name in joints or () if name not in names[1:]]
    if unknown:
        raise ValueError(f"no joint is called '{unknown[0]}'; there are {', '.join(names[1:])}")
    chosen = [names.index(name) for name in joints] if joints else _usual_joints(model)
    figure, (above, below) = _figure(2)
    for joint in chosen:
        v = recording.v[:, model.idx_vs[joint] :]
        for k, (part, values) in enumerate(_coordinates(model, joint, recording.q).items()):
            above.plot(recording.t, values, lw=1, label=names[joint] + part)
            below.plot(recording.t, v[:, k], lw=1)
    above.set(ylabel="q, m or rad")
    below.set(xlabel="t, s", ylabel="v, m/s or rad/s")
    above.legend(fontsize=6, ncols=2)
    return figure


def _coordinates(model, joint: int, q: np.ndarray) -> dict[str, np.ndarray]:
    """Of a joint, by what is added to its name: angles of joints that turn without end, positions of free bodies, and
    the vector parts of the quaternions of balls."""
    q = q[:, model.idx_qs[joint] :][:, : model.nqs[joint]]
    size = (model.nqs[joint], model.nvs[joint])
    if size == (1, 1):
        return {"": q[:, 0]}
    if size == (2, 1):
        return {"": np.unwrap(np.arctan2(q[:, 1], q[:, 0]))}
    if size == (4, 3) and "Planar" in model.joints[joint].shortname():
        return {" x": q[:, 0], " y": q[:, 1], " angle": np.unwrap(np.arctan2(q[:, 3], q[:, 2]))}
    return {part: q[:, k] for k, part in enumerate((" x", " y", " z")) if k < min(size)}


def _usual_joints(model) -> list[int]:
    single = [joint for joint in range(1, model.njoints) if model.nvs[joint] == 1]
    return single or list(range(1, model.njoints))


def modes(recording: Recording) -> Figure:
    """A line for each pair of shapes that ever touched, coloured by what its contacts do: one that slides counts as
    sliding, one that only breaks as breaking."""
    pairs = np.unique(recording.pairs)
    figure, (axes,) = _figure(1, max(1.5, 0.6 + 0.22 * len(pairs)))
    steps = recording.steps_of_contacts
    for row, pair in enumerate(pairs):
        rows = recording.pairs == pair
        strongest = np.full(len(recording), -1)
        np.maximum.at(strongest, steps[rows], recording.modes[rows])
        for code, mode in enumerate(MODES):
            begins, widths = _spans(strongest == code, recording.dt)
            axes.broken_barh(list(zip(begins, widths, strict=True)), (row - 0.4, 0.8), color=COLOURS[mode])
    axes.set(xlabel="t, s", yticks=range(len(pairs)), xlim=(0, recording.t[-1] if len(recording) else 1))
    axes.set_yticklabels([_pair_name(recording, pair) for pair in pairs], fontsize=6)
    for mode, colour in COLOURS.items():
        axes.plot([], [], color=colour, lw=5, label=mode)
    axes.legend(fontsize=7, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
    return figure


def _spans(on: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Where runs of True begin and how long they are, s."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(int), [0]])))
    return dt * edges[::2], dt * (edges[1::2] - edges[::2])


def _pair_name(recording: Recording, pair: int) -> str:
    first, second = recording.metadata["collision_pairs"][pair]
    shapes = recording.metadata["shapes"]
    return f"{shapes[first]}, {shapes[second]}"


def forces(recording: Recording, step: int = -1) -> Figure:
    """The contact forces of a step beside their cones: tangential over normal, a line for what friction allows; and the
    sum of the normal forces over time."""
    if not len(recording):
        raise ValueError(f"{recording.name} has no steps")
    step = range(len(recording))[step]
    rows = recording.of_step(step)
    figure, (cone, course) = _figure(2)
    normal = recording.impulses[rows, 2] / recording.dt
    tangent = np.linalg.norm(recording.impulses[rows, :2], axis=1) / recording.dt
    colours = [COLOURS[MODES[mode]] for mode in recording.modes[rows]]
    cone.scatter(normal, tangent, c=colours, s=25, zorder=3)
    reach = max(float(normal.max(initial=0.0)), 1e-12) * 1.1
    for mu in np.unique(recording.mu[rows]):
        cone.fill_between([0, reach], [0, mu * reach], color="#3b6ea8", alpha=0.12, lw=0)
        cone.plot([0, reach], [0, mu * reach], color="#3b6ea8", lw=1, label=f"μ = {mu:g}")
    cone.set(xlabel="normal force, N", ylabel="tangential force, N", title=f"t = {(step + 1) * recording.dt:.3f} s")
    if len(normal):
        cone.legend(fontsize=7)
    total = np.bincount(recording.steps_of_contacts, recording.impulses[:, 2], len(recording)) / recording.dt
    course.plot(recording.t[1:], total, lw=1)
    course.set(xlabel="t, s", ylabel="sum of normal forces, N")
    return figure


def convergence(
    problem: Problem, solvers: Sequence[str] = ("auto", "pgs", "admm", "newton"), iterations: int = 1000
) -> Figure:
    """The judge's residual after so many iterations of each solver on one problem."""
    if iterations < 1:
        raise ValueError(f"iterations is {iterations}, it must be positive")
    counts = np.unique(np.round(np.geomspace(1, iterations, 30)).astype(int))
    figure, (axes,) = _figure(1, 3.5)
    for solver in solvers:
        answers = [solve(problem, solver, NEVER, max_iterations=int(count)) for count in counts]
        left = [max(answer.report.residuals.worst, 1e-17) for answer in answers]
        axes.loglog(counts, left, marker=".", ms=4, lw=1, label=solver)
    axes.set(xlabel="iterations", ylabel="residual, m/s")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    return figure


def gradient_errors(found: Comparison) -> Figure:
    """A histogram of what `taut.gradients.compare` found, block by block: relative errors in decades."""
    figure, (axes,) = _figure(1, 3.5)
    errors = {block: np.array([entry[block] for entry in found.errors]) for block in BLOCKS}
    decades = np.arange(-16, 1)
    for block, values in errors.items():
        finite = np.isfinite(values)
        # What is beyond the first and the last decade counts there.
        counts, _ = np.histogram(np.log10(np.clip(values[finite], 1e-16, 1.0)), np.append(decades, 1))
        lost = f", {np.sum(~finite)} not finite" if not finite.all() else ""
        axes.step(decades + 0.5, counts, where="mid", lw=1.2, label=block + lost)
    axes.set(xlabel="log10 of the relative error", ylabel=f"states of {len(found.errors)}")
    axes.legend(fontsize=7)
    return figure
