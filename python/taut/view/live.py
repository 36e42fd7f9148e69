"""A simulation that goes on while it is looked at."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._taut import Scene, Simulator, _Tape
from ..energy import mechanical_energy
from .bodies import Bodies, apply, apply_inverse, tree_masses, with_mass
from .frame import Frame
from .player import NOBODY, Pace, Remembering

SHARE = 0.7  # of a tick that may be spent on stepping; the page needs the rest
BATCH = 100  # steps at most between looks at the clock
LOOK = 5e-3  # s that such a batch should take: who pauses waits for no longer
PULL = 8.0  # rad/s: how fast the spring of the mouse would bring what hangs together to it


@dataclass(frozen=True)
class Grip:
    """A point of a body that the mouse has taken."""

    joint: int
    point: np.ndarray  # in the joint's frame
    stiffness: float  # N/m
    damping: float  # N s/m


class LivePlayer(Remembering):
    """Steps a scene in real time, or as fast as it can if that is slower."""

    def __init__(self, scene: Scene, q: np.ndarray, v: np.ndarray, **options: Any) -> None:
        super().__init__()
        self.scene, self.options = scene, options
        self.start = (np.array(q, float), np.array(v, float))
        self.mass = sum(inertia.mass for inertia in scene.model.inertias[1:]) or 1.0
        self.where = Bodies(scene)
        self.held: tuple[np.ndarray, float, float] | None = None  # target, kp, kd
        self.control: np.ndarray | None = None  # of the actuators; None: off
        self.force = np.zeros(3)  # N, world, on `body`
        self.body = self.bodies[0] if self.bodies else 0
        self.grip: Grip | None = None
        self.pulled_to: np.ndarray | None = None  # where the mouse is, m in the world
        self.failed = False  # the last step led to a state that is not finite
        self.astray = False  # the simulator is not where the frame is
        self.debt = 0.0  # s of simulated time that are due
        self.ticked = 0.0  # s on the wall
        self.pace = Pace()
        self._make()
        self.reset()

    @property
    def bodies(self) -> list[int]:
        """Joints that carry something one can push."""
        return with_mass(self.scene.model)

    def _make(self) -> None:
        self.sim = Simulator(self.scene, **self.options)
        self.pieces: list[dict[str, np.ndarray]] = []
        self.tape = _Tape(1 << 20, 1e5, self.pieces.append)  # handed over by hand
        self.sim._attach(self.tape)
        self._hold()

    def reset(self) -> None:
        with self.lock:
            self._begin(*self.start, 0.0)
            self.force = np.zeros(3)
            self.pull_to(None)

    def _begin(self, q: np.ndarray, v: np.ndarray, t: float) -> None:
        """A new history."""
        self.playing = self.failed = self.astray = False
        self.sim.reset()
        self.frame = Frame.start(q, v, t)
        self.frame.energy = self._energy(self.frame)
        self.history = deque([self.frame])
        self.debt = 0.0

    def play(self) -> None:
        """From the frame that is shown: what came after it is forgotten."""
        with self.lock:
            if self.failed:
                return
            self._go_on_from_here()
            self.playing = True

    def step(self) -> None:
        with self.lock:
            self.playing = False
            if not self.failed:
                self._go_on_from_here()
                self._advance(1)

    def seek(self, t: float) -> None:
        with self.lock:
            super().seek(t)
            self.failed = False
            self.astray = True

    def _go_on_from_here(self) -> None:
        if self.frame is self.history[-1] and not self.astray:
            return
        self.astray = False
        while self.history[-1] is not self.frame:
            self.history.pop()
        if self.frame.state is None:
            self.sim.reset()
        else:
            self.sim.restore(self.frame.state)

    def tick(self, elapsed: float) -> None:
        with self.lock:
            self.ticked += elapsed
            if not self.playing:
                self.real_time_factor, self.pace = 0.0, Pace()
                return
            self.debt += elapsed * self.speed
            due = int(self.debt / self.sim.dt)
            done = self._advance(due, SHARE * elapsed) if due else 0
            # What could not be done in time is let go: the run is slower than asked, not late.
            self.debt = 0.0 if done < due else self.debt - done * self.sim.dt
            self.real_time_factor = self.pace.note(self.ticked, self.frame.t)

    def _advance(self, steps: int, seconds: float = np.inf) -> int:
        """Steps from the present frame until they are done or the time is over; how many were made."""
        begun, made, t = time.perf_counter(), 0, self.frame.t
        q, v = self.frame.q, self.frame.v
        spent = 0.0
        batch = int(np.clip(1e6 * LOOK / max(self.frame.step_us, 1.0), 1, BATCH)) if self.frame.step_us else 1
        while made < steps and (made == 0 or spent < seconds):
            forces = self._forces(q, v)
            if forces is None:  # without Python in between, and without its lock, which the page needs
                run = self.sim.rollout(q, v, steps=min(batch, steps - made), control=self.control)
                q, v, done, report = run.q[len(run)], run.v[len(run)], len(run), run.reports[-1]
            else:
                step = self.sim.step(q, v, fext=forces, control=self.control)
                q, v, done, report = step.q, step.v, 1, step.report
            made += done
            spent = time.perf_counter() - begun
            if report.status == "not_finite":
                self.failed, self.playing = True, False
                break
        self.tape.hand_over()
        piece = self.pieces.pop()
        if self.failed:  # the last state that was finite stays
            return made
        self.frame = Frame.of_piece(piece, self.sim.dt, t + made * self.sim.dt)
        self.frame.step_us = 1e6 * piece["seconds"] / made
        self.frame.energy = self._energy(self.frame)
        self.frame.state = self.sim.state()
        self.remember(self.frame)
        return made

    def _energy(self, frame: Frame) -> float:
        return float(mechanical_energy(self.scene, frame.q, frame.v))

    # --- what the user changes

    def set_friction(self, mu: float) -> None:
        """Of every shape."""
        with self.lock:
            for shape in self.scene.geometry.geometryObjects:
                self.scene.set_friction(shape.name, mu)

    def set_solver(self, name: str) -> None:
        """Another method from here on."""
        with self.lock:
            self.options["solver"] = name
            self._make()

    def hold(self, target: np.ndarray | None, kp: float = 0.0, kd: float = 0.0) -> None:
        """Hold the joints at a configuration by PD; None lets go."""
        with self.lock:
            self.held = None if target is None else (np.array(target, float), kp, kd)
            self._hold()

    def _hold(self) -> None:
        if self.held is None:
            self.sim.release()
        else:
            self.sim.hold(*self.held)

    def pose(self, q: np.ndarray, joint: int | None = None) -> None:
        """Put everything elsewhere, at rest: a new start of the history. Where there are loops they are closed, by all
        joints but that one. Throws ValueError if they cannot be."""
        with self.lock:
            if joint is not None and (self.scene.loops or self.scene.couplings):
                q = self.scene.assemble(q, fixed=[joint])
            self._begin(q, np.zeros_like(self.frame.v), self.frame.t)

    # The mouse is heard on the thread that talks to browsers, which must not wait for a step: no lock, hence bodies of
    # its own and whole values that `_forces` reads once.

    def take(self, joint: int, point: np.ndarray) -> None:
        """Take hold of a body at a point (m, world), to `pull_to` somewhere."""
        q, bodies = np.asarray(self.frame.q), Bodies(self.scene)
        local = apply_inverse(bodies.placements(q)[joint], np.asarray(point, float))
        # As stiff as all that hangs together asks for, as damped as what is felt at the point, which is light at the
        # end of a leg: the damping of the former would be too much for a step.
        stiffness = PULL**2 * float(tree_masses(self.scene.model)[joint])
        mobility = bodies.mobility(q, joint, local)
        self.grip = Grip(joint, local, stiffness, 2 * np.sqrt(stiffness / mobility) if mobility > 0 else 0.0)

    def pull_to(self, point: np.ndarray | None) -> None:
        """Where the mouse is now, m in the world; None lets go."""
        self.pulled_to = point
        if point is None:
            self.grip = None

    @property
    def pushes(self) -> np.ndarray:
        if not self.force.any():
            return NOBODY
        inertia = self.scene.model.inertias[self.body]
        return np.array([[apply(self.where.placements(self.frame.q)[self.body], inertia.lever), self.force]])

    @property
    def pulls(self) -> np.ndarray:
        grip, target = self.grip, self.pulled_to
        if grip is None or target is None:
            return NOBODY
        return np.array([[apply(self.where.placements(self.frame.q)[grip.joint], grip.point), target]])

    def _forces(self, q: np.ndarray, v: np.ndarray) -> np.ndarray | None:
        """Of the sliders, at the body's centre of mass, and of the mouse, in the frames of the bodies."""
        grip, target = self.grip, self.pulled_to
        if grip is None and not self.force.any():
            return None
        model = self.scene.model
        placements = self.where.placements(q)
        forces = np.zeros((model.njoints, 6))
        push = placements[self.body, :, :3].T @ self.force
        forces[self.body] += np.concatenate([push, np.cross(model.inertias[self.body].lever, push)])
        if grip is not None and target is not None:
            motion = self.where.velocities(q, v)[grip.joint]
            speed = motion[:3] + np.cross(motion[3:], grip.point)
            stretch = apply_inverse(placements[grip.joint], target) - grip.point
            force = grip.stiffness * stretch - grip.damping * speed
            forces[grip.joint] += np.concatenate([force, np.cross(grip.point, force)])
        return forces
