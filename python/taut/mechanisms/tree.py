"""Which joints of a mechanism become coordinates, and which close loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .description import Joint, Mechanism

# The first to become coordinates are those that MJCF cannot write as closures; a point closes with the fewest rows.
_ORDER = {"slider": 0, "cylindrical": 0, "universal": 0, "weld": 1, "hinge": 2, "point": 3}


@dataclass(frozen=True)
class Branch:
    """A body and how it hangs on its parent."""

    body: str
    parent: str | None  # None: the world
    joint: Joint | None  # None: the body is free


@dataclass(frozen=True)
class Tree:
    """A spanning tree: parents come before children."""

    branches: tuple[Branch, ...]
    closures: tuple[Joint, ...]


def spanning_tree(mechanism: Mechanism) -> Tree:
    """Kruskal's, so that of every loop the joint last in order is the closure; driven joints come before passive ones.

    A part that no joint holds to the world is rooted at its first body, which is free.
    """
    part: dict[str | None, str | None] = {name: name for name in (None, *(body.name for body in mechanism.bodies))}

    def root(name: str | None) -> str | None:
        while part[name] != name:
            name = part[name]
        return name

    kept: set[str] = set()
    for joint in sorted(mechanism.joints, key=lambda joint: (_ORDER[joint.kind], joint.servo is None)):
        one, two = root(joint.body_1), root(joint.body_2)
        if one != two:
            part[two] = one
            kept.add(joint.name)

    branches: list[Branch] = []
    placed: set[str | None] = {None}

    def grow(parent: str | None) -> None:
        for joint in mechanism.joints:
            ends = (joint.body_1, joint.body_2)
            if joint.name in kept and parent in ends:
                child = ends[1] if ends[0] == parent else ends[0]
                if child not in placed:
                    placed.add(child)
                    branches.append(Branch(child, parent, joint))
                    grow(child)

    grow(None)
    for body in mechanism.bodies:
        if body.name not in placed:
            placed.add(body.name)
            branches.append(Branch(body.name, None, None))
            grow(body.name)
    closures = tuple(joint for joint in mechanism.joints if joint.name not in kept)
    return Tree(tuple(branches), closures)
