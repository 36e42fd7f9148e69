"""Random scenes, stepped: every step is looked at for what is not finite, every certified one is judged."""

from __future__ import annotations

from collections import Counter

import numpy as np

import taut

from . import scenes
from .judge import Judge
from .outcome import Outcome

STEPS = 60  # of a scene
LARGE = 40  # degrees of freedom: fewer steps of these, for the judge's matrices are dense


def run(seed: list[int], outcome: Outcome, steps: int = STEPS) -> None:
    rng = np.random.default_rng(seed)
    kind, scene = scenes.random_scene(rng)
    if scene.model.nv == 0:
        outcome.count("steps", 0)
        return
    options = scenes.options(rng, scene)
    try:
        sim = taut.Simulator(scene, **options)
    except ValueError as error:
        outcome.count(f"refused: {str(error).split(':')[0]}")
        return
    nv = scene.model.nv
    if nv > LARGE:
        steps //= 6
    # Forces by what they move: a body of a milligram is not asked to carry what one of a ton is.
    inertia = scenes.joint_inertia(scene)
    masses = 9.81 * np.array([[i.mass] for i in scene.model.inertias])
    if rng.uniform() < 0.3:
        sim.hold(scene.q0, inertia * scenes.log_uniform(rng, 0, 6), inertia * scenes.log_uniform(rng, -1, 3))
    judge = Judge(sim)
    judge.m.held = sim.held
    q, v = scenes.start(rng, scene, sim.dt)
    pushes = rng.uniform() < 0.4
    pulls = rng.uniform() < 0.15
    drives = bool(scene.actuators) and rng.uniform() < 0.7
    tau = fext = control = None
    seen: Counter = Counter()
    with np.errstate(all="ignore"):
        for k in range(steps):
            if pushes and k % 10 == 0:
                tau = inertia * scenes.log_uniform(rng, -1, 3) * rng.normal(size=nv) * (rng.uniform(size=nv) < 0.5)
            if pulls and k % 10 == 0:
                fext = masses * rng.normal(size=(scene.model.njoints, 6)) * (rng.uniform() < 0.5)
            if drives and k % 10 == 0:
                control = rng.normal(size=len(scene.actuators)) * scenes.log_uniform(rng, -1, 1)
            outcome.at(k)
            step = sim.step(q, v, tau, fext=fext, control=control)
            seen["steps"] += 1
            status = step.report.status
            if status == "not_finite":
                seen[f"not certified: not_finite, {kind}"] += 1
            elif status != "converged":
                seen[f"not certified: {status}, {kind}"] += 1
            verdict = judge.step(q, v, step, tau, fext, control)
            seen.update(verdict.seen)
            for what in verdict.wrong:
                outcome.finding(what, f"scene {kind}, step {k}, solver {sim.solver}, dt {sim.dt:.2e}")
            if verdict.wrong or not np.isfinite(step.v).all() or np.abs(step.v).max(initial=0) > 1e6:
                if not verdict.wrong:
                    seen["runs ended early"] += 1
                break
            q, v = step.q, step.v
    outcome.add(seen)
