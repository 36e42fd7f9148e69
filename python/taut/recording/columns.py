"""What is recorded: columns with a row for each step, each contact of a step, or each restart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import ForeignFile

MODES = ("breaking", "sticking", "sliding")  # of a contact, in the order of their codes
STATUSES = ("converged", "iteration_limit", "stalled", "not_finite")  # of a step, likewise
RESIDUALS = ("primal", "dual", "complementarity", "natural")  # of a step, in the order of their columns

Sizes = dict[str, int]  # nq, nv, nu: coordinates, degrees of freedom and actuators of a model


@dataclass(frozen=True)
class Column:
    # "state" (a row more than steps, the start is row 0), "step", "input" (likewise, or none at all if nothing was
    # given in any step), "contact" or "restart"
    per: str
    dtype: str
    width: int | str = 1  # of a row: a number, or one of the sizes of a model: "nq", "nv", "nu"

    def shape(self, rows: int, sizes: Sizes) -> tuple[int, ...]:
        return (rows, sizes[self.width]) if isinstance(self.width, str) else (rows, self.width)[: min(self.width, 2)]


COLUMNS = {
    "q": Column("state", "<f8", "nq"),
    "v": Column("state", "<f8", "nv"),
    "tau": Column("input", "<f8", "nv"),
    "control": Column("input", "<f8", "nu"),
    "status": Column("step", "|i1"),
    "iterations": Column("step", "<i4"),
    "residuals": Column("step", "<f8", 4),
    "model_residuals": Column("step", "<f8"),
    "contacts": Column("step", "<i4"),
    "points": Column("contact", "<f8", 3),
    "normals": Column("contact", "<f8", 3),
    "impulses": Column("contact", "<f8", 3),
    "gaps": Column("contact", "<f8"),
    "mu": Column("contact", "<f8"),
    "pairs": Column("contact", "<i4"),
    "slots": Column("contact", "|i1"),
    "modes": Column("contact", "|i1"),
    "restarts": Column("restart", "<i8"),
    "restart_q": Column("restart", "<f8", "nq"),
    "restart_v": Column("restart", "<f8", "nv"),
}


INPUTS = tuple(name for name, kind in COLUMNS.items() if kind.per == "input")


def sizes_of(metadata: dict[str, Any]) -> Sizes:
    return {name: metadata[name] for name in ("nq", "nv", "nu")}


def rows_of(columns: dict[str, np.ndarray]) -> dict[str, int]:
    """How many rows each kind of column has, inputs if there are any."""
    steps = len(columns["status"])
    return {
        "state": steps + 1 if len(columns["q"]) else 0,
        "step": steps,
        "input": steps,
        "contact": int(columns["contacts"].sum(dtype=np.int64)),
        "restart": len(columns["restarts"]),
    }


def check(columns: dict[str, np.ndarray], sizes: Sizes, name: str) -> None:
    """Throws ValueError, naming the file, unless every column is there and they fit together."""
    missing = [column for column in COLUMNS if column not in columns]
    if missing:
        raise ForeignFile(f"{name} is not a recording of taut: it has no '{missing[0]}'")
    rows = rows_of(columns)
    for column, kind in COLUMNS.items():
        found = columns[column]
        expected = kind.shape(0 if kind.per == "input" and len(found) == 0 else rows[kind.per], sizes)
        if found.shape != expected or found.dtype != np.dtype(kind.dtype):
            raise ValueError(
                f"{name} is damaged: '{column}' is {found.dtype} {found.shape}, expected {kind.dtype} {expected}"
            )


def joined(pieces: list[dict[str, np.ndarray]], sizes: Sizes) -> dict[str, np.ndarray]:
    """Pieces as the tape hands them over, made one: the first restart becomes the start, row 0 of the states."""
    empty = {name: np.empty(kind.shape(0, sizes), kind.dtype) for name, kind in COLUMNS.items()}
    made = {name: np.concatenate([empty[name], *_parts(name, pieces, sizes)]) for name in COLUMNS}
    if len(made["restarts"]):
        for state in ("q", "v"):
            made[state] = np.concatenate([made[f"restart_{state}"][:1], made[state]])
        for name in ("restarts", "restart_q", "restart_v"):
            made[name] = made[name][1:]
    return made


def _parts(name: str, pieces: list[dict[str, np.ndarray]], sizes: Sizes) -> list[np.ndarray]:
    """A column of each piece; pieces that were given nothing were given zeros, if others were given something."""
    if name not in INPUTS:
        return [piece[name] for piece in pieces]
    if not any(len(piece[name]) for piece in pieces):
        return []
    kind = COLUMNS[name]
    none = (np.zeros(kind.shape(len(piece["status"]), sizes), kind.dtype) for piece in pieces)
    return [piece[name] if len(piece[name]) else zeros for piece, zeros in zip(pieces, none, strict=True)]
