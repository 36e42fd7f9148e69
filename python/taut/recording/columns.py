"""What is recorded: columns with a row for each step, each contact of a step, or each restart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MODES = ("breaking", "sticking", "sliding")  # of a contact, in the order of their codes
STATUSES = ("converged", "iteration_limit", "stalled", "not_finite")  # of a step, likewise
RESIDUALS = ("primal", "dual", "complementarity", "natural")  # of a step, in the order of their columns


@dataclass(frozen=True)
class Column:
    per: str  # "state" (a row more than steps, the start is row 0), "step", "contact" or "restart"
    dtype: str
    width: int | str = 1  # of a row: a number, "nq" or "nv"

    def shape(self, rows: int, nq: int, nv: int) -> tuple[int, ...]:
        width = {"nq": nq, "nv": nv}.get(self.width, self.width)
        return (rows,) if width == 1 and isinstance(self.width, int) else (rows, width)


COLUMNS = {
    "q": Column("state", "<f8", "nq"),
    "v": Column("state", "<f8", "nv"),
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


def rows_of(columns: dict[str, np.ndarray]) -> dict[str, int]:
    """How many rows each kind of column has."""
    steps = len(columns["status"])
    return {
        "state": steps + 1 if len(columns["q"]) else 0,
        "step": steps,
        "contact": int(columns["contacts"].sum(dtype=np.int64)),
        "restart": len(columns["restarts"]),
    }


def check(columns: dict[str, np.ndarray], nq: int, nv: int, name: str) -> None:
    """Throws ValueError, naming the file, unless every column is there and they fit together."""
    missing = [column for column in COLUMNS if column not in columns]
    if missing:
        raise ValueError(f"{name} is not a recording of taut: it has no '{missing[0]}'")
    rows = rows_of(columns)
    for column, kind in COLUMNS.items():
        found, expected = columns[column], kind.shape(rows[kind.per], nq, nv)
        if found.shape != expected or found.dtype != np.dtype(kind.dtype):
            raise ValueError(
                f"{name} is damaged: '{column}' is {found.dtype} {found.shape}, expected {kind.dtype} {expected}"
            )


def joined(pieces: list[dict[str, np.ndarray]], nq: int, nv: int) -> dict[str, np.ndarray]:
    """Pieces as the tape hands them over, made one: the first restart becomes the start, row 0 of the states."""
    empty = {name: np.empty(kind.shape(0, nq, nv), kind.dtype) for name, kind in COLUMNS.items()}
    made = {name: np.concatenate([empty[name], *(piece[name] for piece in pieces)]) for name in COLUMNS}
    if len(made["restarts"]):
        for state in ("q", "v"):
            made[state] = np.concatenate([made[f"restart_{state}"][:1], made[state]])
        for name in ("restarts", "restart_q", "restart_v"):
            made[name] = made[name][1:]
    return made
