"""A simulation that goes on while it is looked at."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import numpy as np
import pinocchio

from .._taut import Scene, Simulator, _Tape
from ..energy import mechanical_energy
from .frame import Frame
from .player import Remembering

KEPT = 3600  # frames: a minute at sixty a second
SHARE = 0.7  # of a tick that may be spent on stepping; the page needs the rest
PULL = 8.0  # rad/s: how stiff the spring of the mouse is, per kg of the body and what it carries


class LivePlayer(Remembering):
    """Steps a scene in real time, or as fast as it can if that is slower."""

    def __init__(self, scene: Scene, q: np.ndarray, v: np.ndarray, **options: Any) -> None:
        super().__init__()
        self.scene, self.options = scene, options
        self.start = (np.array(q, float), np.array(v, float))
        self.mass = sum(inertia.mass for inertia in scene.model.inertias[1:]) or 1.0
        self.data = scene.model.createData()
        self.held: tuple[np.ndarray, float, float] | None = None  # target, kp, kd
        self.force = np.zeros(3)  # N, world, on `body`
        self.body = self.bodies[0] if self.bodies else 0
        self.pulled_to: np.ndarray | None = None  # where the mouse holds it
        self.failed = False
        self.debt = 0.0  # s of simulated time that are due
        self._make()
        self.reset()

    @property
    def bodies(self) -> list[int]:
        """Joints that carry something one can push."""
        inertias = self.scene.model.inertias
        return [joint for joint in range(1, self.scene.model.njoints) if inertias[joint].mass > 0]

    def _make(self) -> None:
        self.sim = Simulator(self.scene, **self.options)
        self.pieces: list[dict[str, np.ndarray]] = []
        self.tape = _Tape(1 << 20, 1e5, self.pieces.append)  # handed over by hand
        self.sim._tape = self.tape
        self._hold()

    def reset(self) -> None:
        with self.lock:
            self.playing = self.failed = False
            self.sim.reset()
            self.frame = Frame.start(*self.start)
            self.frame.energy = self._energy(self.frame)
            self.history: deque[Frame] = deque([self.frame], maxlen=KEPT)
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

    def _go_on_from_here(self) -> None:
        if self.frame is self.history[-1]:
            return
        while self.history[-1] is not self.frame:
            self.history.pop()
        if self.frame.state is None:
            self.sim.reset()
        else:
            self.sim.restore(self.frame.state)

    def tick(self, elapsed: float) -> None:
        with self.lock:
            if not self.playing:
                self.real_time_factor = 0.0
                return
            self.debt += elapsed * self.speed
            due = int(self.debt / self.sim.dt)
            done = self._advance(due, SHARE * elapsed) if due else 0
            # What could not be done in time is let go: the run is slower than asked, not late.
            self.debt = 0.0 if done < due else self.debt - done * self.sim.dt
            self.real_time_factor = done * self.sim.dt / elapsed if elapsed else 0.0

    def _advance(self, steps: int, seconds: float = np.inf) -> int:
        """Steps from the present frame until they are done or the time is over; how many were made."""
        begun, made, t = time.perf_counter(), 0, self.frame.t
        q, v = self.frame.q, self.frame.v
        forces = self._forces(q, v)
        spent = 0.0
        while made < steps and (made == 0 or spent < seconds):
            step = self.sim.step(q, v, fext=forces)
            q, v, made = step.q, step.v, made + 1
            spent = time.perf_counter() - begun
            if step.report.status == "not_finite":
                self.failed, self.playing = True, False
                break
        self.tape.hand_over()
        piece = self.pieces.pop()
        if self.failed:  # the last state that was finite stays
            return made
        self.frame = Frame.of_piece(piece, self.sim.dt, t + made * self.sim.dt)
        self.frame.step_us = 1e6 * spent / made
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

    def pose(self, q: np.ndarray) -> None:
        """Put everything elsewhere, at rest: a new start of the history."""
        with self.lock:
            self.playing = False
            self.sim.reset()
            self.frame = Frame.start(q, np.zeros_like(self.frame.v), self.frame.t)
            self.frame.energy = self._energy(self.frame)
            self.history.clear()
            self.history.append(self.frame)

    def _forces(self, q: np.ndarray, v: np.ndarray) -> np.ndarray | None:
        """Of the sliders and the mouse, in the frame of the body, for the steps of a tick."""
        force = np.array(self.force)
        if self.pulled_to is None and not force.any():
            return None
        model, joint = self.scene.model, self.body
        pinocchio.forwardKinematics(model, self.data, np.asarray(q), np.asarray(v))
        place = self.data.oMi[joint]
        if self.pulled_to is not None:
            speed = place.rotation @ self.data.v[joint].linear
            mass = self.mass if model.nvs[joint] == 6 and len(self.bodies) > 1 else model.inertias[joint].mass
            force += mass * (PULL**2 * (self.pulled_to - place.translation) - 2 * PULL * speed)
        forces = np.zeros((model.njoints, 6))
        forces[joint, :3] = place.rotation.T @ force
        return forces
