"""[KL, Table II]: what the systems of the benchmark are made of, here and in the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...cli.terminal import number, table
from ...scenes.mechanisms import MECHANISMS, mechanism
from ..experiment import Advance, figure

NAME = "suite"
WHAT = "The systems: bodies, joints, degrees of freedom, constraints, rank and mass ratio."
PAPER = "[KL] Table II"

COLUMNS = ("bodies", "joints", "dofs", "actuated", "constraints", "mass_ratio")
# As the paper has them. It calls the base's weld a joint in some rows and not in others, counts the free base of BDX in
# none (constraints and bodies leave 20 degrees of freedom there), and of the figures the freedoms of all joints.
PUBLISHED = {
    "box_on_plane": (1, 0, 6, 0, 0, 1.00),
    "boxes_fixed": (2, 1, 6, 0, 6, 1000.00),
    "nunchuk": (3, 2, 12, 0, 6, 1.00),
    "fourbar_fixed": (4, 5, 1, 1, 26, 1.00),
    "fourbar_free": (4, 4, 7, 1, 20, 1.00),
    "arm7d": (8, 7, 7, 7, 41, 19.54),
    "kl_quadruped": (13, 12, 18, 12, 60, 29.07),
    "bdx": (15, 14, 14, 14, 70, 42.49),
    "lima": (21, 20, 26, 20, 100, 321.39),
    "misha": (22, 24, 23, 23, 121, 90.67),
    "walker": (31, 36, 42, 24, 180, 99.55),
    "gazelle": (38, 45, 60, 22, 214, 1012.54),
    "ironman": (54, 67, 100, 20, 304, 25544.44),
}
PUBLIC = ("box_on_plane", "boxes_fixed", "nunchuk", "fourbar_fixed", "fourbar_free", "arm7d", "kl_quadruped")


def run(quick: bool, advance: Advance) -> dict[str, Any]:
    rows = []
    for done, name in enumerate(MECHANISMS):
        advance(done, len(MECHANISMS), name)
        scene = mechanism(name).scene("maximal")
        masses = [inertia.mass for inertia in scene.model.inertias][1:]
        J = scene.loop_jacobian()
        rank = int(np.linalg.matrix_rank(J, tol=1e-9 * max(1.0, np.abs(J).max(initial=0.0)))) if J.size else 0
        rows.append(
            {
                "system": name,
                "bodies": len(masses),
                "joints": len(scene.loops),
                "dofs": scene.model.nv - rank,
                "actuated": len(scene.actuators),
                "constraints": len(J),
                "mass_ratio": max(masses) / min(masses),
                "rank": rank,
                "density": len(J) / scene.model.nv,
                "reduced_dofs": mechanism(name).scene("reduced").model.nv,
                "published": dict(zip(COLUMNS, PUBLISHED[name], strict=True)),
            }
        )
    return {"rows": rows}


def tables(results: dict[str, Any]) -> list[Any]:
    made = table(
        "The systems, and the paper's number where it is another one",
        *("<system", "bodies", "joints", "dofs", "actuated", "constraints", "rank", "density", "mass ratio", "tree"),
        caption="dofs: 6 bodies − rank of the constraints, in the drawn pose; density: constraints over 6 bodies; "
        "tree: degrees of freedom in reduced coordinates, before loops are closed; † stand-in for a system that is not "
        "public",
    )
    for row in results["rows"]:
        theirs = row["published"]

        def cell(key: str, row=row, theirs=theirs) -> str:
            ours = number(row[key]) if key == "mass_ratio" else str(row[key])
            same = np.isclose(row[key], theirs[key], rtol=1e-9)
            return ours if same else f"{ours} ({theirs[key]})"

        mark = "" if row["system"] in PUBLIC else " †"
        made.add_row(
            row["system"] + mark,
            *(cell(key) for key in COLUMNS[:5]),
            str(row["rank"]),
            f"{row['density']:.2f}",
            cell("mass_ratio"),
            str(row["reduced_dofs"]),
        )
    return [made]


def plot(results: dict[str, Any], path: Path) -> None:
    rows = results["rows"]
    with figure(path, size=(6.4, 3.6)) as (_, (ax,)):
        place = np.arange(len(rows))
        ax.bar(place - 0.2, [row["constraints"] for row in rows], 0.4, label="constraints")
        ax.bar(place + 0.2, [row["rank"] for row in rows], 0.4, label="of them independent")
        ax.set_xticks(place, [row["system"] for row in rows], rotation=50, ha="right")
        ax.set_ylabel("rows")
        ax.legend()
