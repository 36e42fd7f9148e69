"""Contact problems to try solvers on: files of other simulators, and steps of taut's own.

A problem of a run comes with the impulses of the step before it, matched contact by contact: the warm start a
simulator would give.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import coal
import numpy as np

from .. import scenes
from .._taut import Problem, Scene, Simulator, Step
from .experiment import push

FOLDER = "TAUT_PROBLEMS"  # an environment variable: a folder of .npz files to take besides those of the repository
PACKAGED = Path(__file__).parents[3] / "tests" / "data" / "problems"

DT = 1e-3
TOLERANCE = 1e-9  # of the runs problems are taken from: a warm start is then as good as it gets


@dataclass(frozen=True)
class Sample:
    """A problem and where it was met. `before`: impulses of the step before, or None if there was none."""

    group: str
    name: str
    problem: Problem
    before: np.ndarray | None = None

    @property
    def contacts(self) -> int:
        return len(self.problem.mu)


def extra_folder() -> Path | None:
    """What TAUT_PROBLEMS names, if it is set."""
    folder = os.environ.get(FOLDER)
    if folder and not Path(folder).is_dir():
        raise FileNotFoundError(f"{FOLDER} is '{folder}', which is no folder")
    return Path(folder) if folder else None


def files() -> list[Path]:
    """Every problem file: those of the repository, and those of the folder that TAUT_PROBLEMS names."""
    found = {path.name: path for path in PACKAGED.glob("*.npz")}
    folder = extra_folder()
    if folder:
        found = {path.name: path for path in folder.glob("*.npz")} | found
    return [found[name] for name in sorted(found)]


def from_files() -> list[Sample]:
    return [Sample("files", path.stem, Problem.load(path)) for path in files()]


@dataclass(frozen=True)
class Trial:
    """A robot or objects: dropped with a sideways velocity, then pushed round in a circle, joints held by (kp, kd)."""

    scene: str
    height: float | None
    speed: float  # m/s, of the base and of every free body
    push: float  # on the base, in parts of the whole weight; it turns once in PUSH_PERIOD
    gains: tuple[float, float] | None
    seconds: float


TRIALS = {
    "go1": Trial("go1", 0.05, 0.5, 0.8, (100.0, 4.0), 0.8),
    "solo12": Trial("solo12", 0.05, 0.5, 0.8, (20.0, 0.5), 0.8),
    "talos": Trial("talos", 0.03, 0.3, 0.2, (3000.0, 100.0), 0.8),
    "allegro": Trial("allegro", None, 0.0, 0.0, (3.0, 0.1), 0.8),
    "pile": Trial("pile", None, 0.0, 0.0, None, 1.2),
    "anymal": Trial("anymal", 0.05, 0.5, 0.5, (500.0, 20.0), 0.8),
    "cube": Trial("cube_on_plane", None, 1.0, 0.0, None, 0.3),
    "heavy_on_light": Trial("heavy_on_light", None, 0.2, 0.0, None, 0.2),
}
PUSH_PERIOD = 0.4  # s
PILE = 50  # bodies


def scene_of(trial: Trial) -> Scene:
    if trial.scene == "allegro":
        return hand_and_ball()
    if trial.scene == "pile":
        return scenes.make("pile", n=PILE)
    return scenes.make(trial.scene, **({} if trial.height is None else {"height": trial.height}))


def hand_and_ball(radius: float = 0.045, mass: float = 0.1, mu: float = 0.8) -> Scene:
    """The Allegro hand, palm up and open, and a ball just above the palm."""
    scene = Scene()
    half = math.sqrt(0.5)
    hand = scenes.make("allegro", friction=mu)
    scene.add_robot(hand, quaternion=[0.0, -half, 0.0, half])  # the palm looks along x of the file: turned up
    scene.add_body("ball", coal.Sphere(radius), mass, [0.0, 0.02, 0.03 + radius], friction=mu)
    scene.q0 = _fingers(scene, curl=0.5, thumb=0.0)
    return scene


def _fingers(scene: Scene, curl: float, thumb: float) -> np.ndarray:
    """Joints 0, 4, 8 spread the fingers, 12 turns the thumb against them, the others bend."""
    q = np.array(scene.q0)
    for name, place in zip(scene.model.names, scene.model.idx_qs, strict=True):
        if name.startswith("joint_"):
            number = int(float(name.removeprefix("joint_")))
            q[place] = 1.3 if number == 12 else thumb if number > 12 else curl if number % 4 else 0.0
    return q


def _held(trial: Trial, scene: Scene) -> np.ndarray:
    """Where the joints are pulled: the fingers around the ball, legs to where they start."""
    return _fingers(scene, curl=1.3, thumb=1.0) if trial.scene == "allegro" else scene.q0


def along(trial: Trial, every: int = 1) -> Iterator[tuple[int, Simulator, Step, np.ndarray | None]]:
    """(number, simulator, step, warm start) of each `every`-th step of a trial that has contacts.

    Contacts only: peers know other constraints by other rows than ours, or not at all.
    """
    scene = scene_of(trial)
    sim = Simulator(scene, dt=DT, tolerance=TOLERANCE, joint_limits=False, joint_friction=False)
    if trial.gains:
        sim.hold(_held(trial, scene), *(np.full(scene.model.nv, gain) for gain in trial.gains))
    q, v = np.array(scene.q0), np.zeros(scene.model.nv)
    for joint in range(1, scene.model.njoints):
        if scene.model.nvs[joint] == 6:
            v[scene.model.idx_vs[joint]] = trial.speed
    weight = np.linalg.norm(scene.gravity) * sum(inertia.mass for inertia in scene.model.inertias)
    before: dict[tuple[int, int], np.ndarray] = {}
    for k in range(round(trial.seconds / DT)):
        angle = 2 * math.pi * k * DT / PUSH_PERIOD
        force = trial.push * weight * np.array([math.cos(angle), math.sin(angle), 0.0])
        step = sim.step(q, v, fext=push(scene, 1, force) if trial.push else None)
        q, v = step.q, step.v
        if step.report.status == "not_finite":
            raise ValueError(f"the run of {trial.scene} broke off at step {k}")
        if step.contacts and k % every == every - 1:
            guess = [before.get(contact.identity, np.zeros(3)) for contact in step.contacts]
            yield k, sim, step, np.concatenate(guess) if before else None
        before = {c.identity: impulse for c, impulse in zip(step.contacts, step.impulses, strict=True)}


def collect(group: str, count: int = 20) -> list[Sample]:
    """About `count` problems, evenly spread over the steps of TRIALS[group] that have contacts."""
    trial = TRIALS[group]
    touching = [
        Sample(group, f"{group}-{k}", sim.problem(), before)
        for k, sim, _, before in along(trial, every=max(1, round(trial.seconds / DT / (3 * count))))
    ]
    chosen = np.unique(np.linspace(0, len(touching) - 1, min(count, len(touching))).round().astype(int))
    return [touching[i] for i in chosen]
