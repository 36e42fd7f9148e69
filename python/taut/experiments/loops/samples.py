"""Problems of the suite, sorted into the categories of [KL, Sec. VII-C].

Every system runs in maximal coordinates without control, so that each joint is a bilateral block, and is looked at now
and then. Counts are the paper's: n_b bodies, n_j joints with n_jd rows, n_c contacts, densities d = rows / (6 n_b).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..._taut import Problem, Scene, Simulator
from ...scenes.mechanisms import MECHANISMS, mechanism

DT = 1e-3
TOLERANCE = 1e-9  # of the runs that samples are taken from
SECONDS = 3.0

CATEGORIES = {
    "independent_joints": "no contact, joints of full rank",
    "redundant_joints": "no contact, rank below rows, d_j < 1",
    "dense_joints": "no contact, rank below rows, d_j ≥ 1",
    "single_contact": "one contact",
    "sparse_contacts": "2 to 2 n_b contacts",
    "dense_contacts": "more than 2 n_b contacts",
    "dense_constraints": "contacts and joints, d_jlc > 1",
}


@dataclass(frozen=True)
class Sample:
    """A problem as met in a run: (q, v) is where its step starts."""

    system: str
    step: int
    q: np.ndarray
    v: np.ndarray
    problem: Problem
    categories: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.system}-{self.step}"


def categories(scene: Scene, q: np.ndarray, problem: Problem) -> tuple[str, ...]:
    """Those of [KL, Sec. VII-C] that a problem belongs to: contacts and joints together may be two of them."""
    bodies = scene.model.njoints - 1
    contacts = list(problem.kinds).count("cone")
    joint_rows = sum(size for kind, size in zip(problem.kinds, problem.sizes, strict=True) if kind == "free")
    found = []
    if contacts == 0 and joint_rows:
        J = scene.loop_jacobian(q)
        if np.linalg.matrix_rank(J, tol=1e-9 * np.abs(J).max()) == joint_rows:
            found.append("independent_joints")
        else:
            found.append("redundant_joints" if joint_rows < 6 * bodies else "dense_joints")
    if contacts == 1:
        found.append("single_contact")
    elif 2 <= contacts <= 2 * bodies:
        found.append("sparse_contacts")
    elif contacts > 2 * bodies:
        found.append("dense_contacts")
    if contacts and joint_rows and len(problem.g) > 6 * bodies:
        found.append("dense_constraints")
    return tuple(found)


def along(system: str, every: int) -> Iterator[Sample]:
    """A sample of each `every`-th step of a run from where the system is drawn, a little above the floor if free."""
    scene = mechanism(system).scene("maximal")
    q, v = np.array(scene.q0), np.zeros(scene.model.nv)
    if MECHANISMS[system]().floor is not None:
        for body in range(1, scene.model.njoints):
            q[scene.model.idx_qs[body] + 2] += 0.05
            v[scene.model.idx_vs[body]] = 0.3  # along x: what lands will slide
    sim = Simulator(scene, dt=DT, tolerance=TOLERANCE)
    for k in range(round(SECONDS / DT)):
        step = sim.step(q, v)
        if k % every == every - 1:
            problem = sim.problem()
            if len(problem.g):
                yield Sample(system, k, q, v, problem, categories(scene, q, problem))
        q, v = step.q, step.v


def collect(systems: list[str], each: int, every: int = 20) -> list[Sample]:
    """At most `each` samples of every category a system meets, evenly spread over its run."""
    chosen: dict[str, Sample] = {}
    for system in systems:
        met = list(along(system, every))
        for category in CATEGORIES:
            here = [sample for sample in met if category in sample.categories]
            for i in np.unique(np.linspace(0, len(here) - 1, min(each, len(here))).round().astype(int)):
                chosen.setdefault(here[i].name, here[i])
    return list(chosen.values())
