"""Which friction and which mass has a box that was seen sliding? Identification with the adjoint of a run.

    python examples/identify.py               # a table
    python examples/identify.py picture.png   # and the path, seen and found, which needs matplotlib

A box is pushed over a floor with a force that changes; its poses are recorded, with noise. From a wrong friction and a
wrong mass, BFGS follows the gradient of the mean squared distance of the runs: `sim.rollout`, then `sim.adjoint`, which
gives it for all parameters at once. See docs/inverse_problems.md.
"""

import argparse
import time
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio

import taut

NAMES = ["friction:box", "mass:box"]
TRUE = np.array([0.35, 1.3])
GUESS = np.array([0.15, 2.5])
STEPS = 800  # of 1 ms


def scene_of(values: np.ndarray) -> taut.Scene:
    scene = taut.Scene()
    scene.add_floor(friction=0.0)  # of two frictions the larger counts
    scene.add_body("box", coal.Box(0.3, 0.2, 0.1), 1.0, [0.0, 0.0, 0.05])
    for name, value in zip(NAMES, values, strict=True):
        scene.set_parameter(name, value)
    return scene


def pushes() -> np.ndarray:
    """(STEPS, 6): a force in the frame of the box, off its centre, that grows and falls."""
    t = np.arange(STEPS) * 1e-3
    force = np.zeros((STEPS, 6))
    force[:, 0] = 7.0 + 4.0 * np.sin(9.0 * t)
    force[:, 5] = 0.06 * np.cos(5.0 * t)  # and turns it
    return force


def run(values: np.ndarray) -> tuple[taut.Simulator, taut.Trajectory]:
    sim = taut.Simulator(scene_of(values), tolerance=1e-10)
    return sim, sim.rollout(sim.scene.q0, np.zeros(6), pushes())


def recorded(noise: float, seed: int) -> np.ndarray:
    """Poses of a run with the true values, each off by `noise` (m, rad)."""
    sim, path = run(TRUE)
    rng = np.random.default_rng(seed)
    return np.array([pinocchio.integrate(sim.scene.model, q, noise * rng.normal(size=6)) for q in path.q])


@dataclass
class Fit:
    """Half the mean squared distance of a run to the recording, and its gradient by the parameters' logarithms.

    Logarithms: a friction and a mass stay positive, and a step means the same for both.
    """

    seen: np.ndarray
    runs: int = 0

    def __call__(self, logs: np.ndarray) -> tuple[float, np.ndarray]:
        self.runs += 1
        values = np.exp(logs)
        sim, path = run(values)
        model = sim.scene.model
        away = np.array([pinocchio.difference(model, seen, q) for seen, q in zip(self.seen, path.q, strict=True)])
        q_bar = np.array(
            [
                pinocchio.dDifference(model, seen, q, pinocchio.ARG1).T @ error / len(away)
                for seen, q, error in zip(self.seen, path.q, away, strict=True)
            ]
        )
        bars = sim.adjoint(path, q_bar, np.zeros_like(q_bar), theta=NAMES)
        gradient = np.array([bars.theta[name][0] for name in NAMES])
        return 0.5 * np.mean(np.sum(away**2, axis=1)), gradient * values

    def differences(self, logs: np.ndarray, h: float = 1e-5) -> np.ndarray:
        """The gradient by central differences, to compare."""
        return np.array([(self(logs + way)[0] - self(logs - way)[0]) / (2 * h) for way in h * np.eye(len(logs))])


@dataclass
class Found:
    values: np.ndarray  # (iterations + 1, 2)
    costs: np.ndarray
    gradients: np.ndarray  # their norms
    runs: int
    seconds: float


def identify(seen: np.ndarray, guess: np.ndarray = GUESS, iterations: int = 30) -> Found:
    """BFGS with a backtracking line search."""
    fit = Fit(seen)
    start = time.perf_counter()
    x = np.log(guess)
    cost, gradient = fit(x)
    inverse = np.eye(len(x)) * 0.1 / np.linalg.norm(gradient)
    path = [(x, cost, gradient)]
    for _ in range(iterations):
        if np.linalg.norm(gradient) < 1e-8:
            break
        way = -inverse @ gradient
        way *= min(1.0, 0.7 / np.abs(way).max())  # at most a factor of two at once
        length = 1.0
        while True:
            new_cost, new_gradient = fit(x + length * way)
            if new_cost <= cost + 1e-4 * length * gradient @ way or length < 1e-6:
                break
            length /= 2
        moved, turned = length * way, new_gradient - gradient
        if moved @ turned > 0:
            share = np.eye(len(x)) - np.outer(moved, turned) / (moved @ turned)
            inverse = share @ inverse @ share.T + np.outer(moved, moved) / (moved @ turned)
        x, cost, gradient = x + moved, new_cost, new_gradient
        path.append((x, cost, gradient))
    values, costs, gradients = zip(*path, strict=True)
    return Found(
        np.exp(np.array(values)),
        np.array(costs),
        np.linalg.norm(gradients, axis=1),
        fit.runs,
        time.perf_counter() - start,
    )


def draw(file: str, seen: np.ndarray, found: Found) -> None:
    import matplotlib.pyplot as plt

    figure, (way, convergence) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    t = np.arange(STEPS + 1) * 1e-3
    way.plot(t[::20], seen[::20, 0], "k.", label="recorded")
    way.plot(t, run(GUESS)[1].q[:, 0], label=f"guess: μ = {GUESS[0]:g}, {GUESS[1]:g} kg")
    way.plot(t, run(found.values[-1])[1].q[:, 0], label="found: μ = {:.3f}, {:.3f} kg".format(*found.values[-1]))
    way.set(xlabel="time, s", ylabel="x of the box, m")
    way.legend()
    for k, label in enumerate(("friction", "mass")):
        convergence.semilogy(np.abs(found.values[:, k] / TRUE[k] - 1), "o-", label=label)
    convergence.set(xlabel="iteration", ylabel="relative error")
    convergence.legend()
    figure.savefig(file, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", nargs="?", help="write a picture to this file")
    parser.add_argument("--noise", type=float, default=1e-3, help="of the recorded poses, m and rad")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    seen = recorded(arguments.noise, arguments.seed)
    found = identify(seen)
    print("iteration      cost  gradient  friction  mass, kg")
    for k, (values, cost, gradient) in enumerate(zip(found.values, found.costs, found.gradients, strict=True)):
        print(f"{k:9d}  {cost:8.2e}  {gradient:8.1e}  {values[0]:8.5f}  {values[1]:8.5f}")
    print(f"    truth                      {TRUE[0]:8.5f}  {TRUE[1]:8.5f}")
    fit = Fit(seen)
    x = np.log(GUESS)
    error = np.abs(fit(x)[1] - fit.differences(x)).max() / np.abs(fit(x)[1]).max()
    print(f"{found.runs} runs of {STEPS} steps with adjoints in {found.seconds:.2f} s")
    print(f"gradient at the guess against differences of runs: {error:.0e} relative")
    if arguments.picture:
        draw(arguments.picture, seen, found)


if __name__ == "__main__":
    main()
