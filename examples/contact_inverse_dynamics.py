"""Which joint torques keep a Go1 still, alone and with 10 kg on its back? Contact inverse dynamics [S, Sec. 4.2].

    python examples/contact_inverse_dynamics.py               # tables
    python examples/contact_inverse_dynamics.py picture.png   # and residuals by iterations, which needs matplotlib

The base has no motor: what holds it are the feet, with forces that are part of the answer. Gauss-Newton asks for
v⁺ = 0 with `sim.jacobian().dv_dtau`, and with central differences of the step. See docs/inverse_problems.md.
"""

import argparse
import time
from dataclasses import dataclass, field

import numpy as np
import pinocchio

import taut

ACTUATED = slice(6, 18)  # of tau: the first six belong to the base
DERIVATIVES = ("implicit", "differences")
REACHED = 1e-5  # |v⁺|, m/s and rad/s
G = 9.81


@dataclass
class Standing:
    """A simulator with a Go1 that stands still at q, held by no one."""

    sim: taut.Simulator
    q: np.ndarray
    load: float

    @property
    def weight(self) -> float:
        return G * sum(inertia.mass for inertia in self.sim.scene.model.inertias)

    def step(self, torque: np.ndarray) -> taut.Step:
        """A step from rest with these torques of the joints, from a cold start: a function of them alone."""
        tau = np.zeros(18)
        tau[ACTUATED] = torque
        self.sim.reset()
        return self.sim.step(self.q, np.zeros(18), tau)

    def support(self, torque: np.ndarray) -> float:
        """What the feet carry in that step, N."""
        step = self.step(torque)
        along_z = [contact.frame[2] @ impulse for contact, impulse in zip(step.contacts, step.impulses, strict=True)]
        return sum(along_z) / self.sim.dt

    def implicit(self, torque: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(v⁺, its derivative) by implicit differentiation."""
        return self.step(torque).v, self.sim.jacobian().dv_dtau[:, ACTUATED]

    def differences(self, torque: np.ndarray, h: float = 1e-4) -> tuple[np.ndarray, np.ndarray]:
        """The same by central differences, h in N m: within its modes a step is linear in torques."""
        columns = [(self.step(torque + way).v - self.step(torque - way).v) / (2 * h) for way in h * np.eye(12)]
        return self.step(torque).v, np.column_stack(columns)


def standing(load: float = 0.0, tolerance: float = 1e-10) -> Standing:
    """Held by PD until it stands, with `load` kg 10 cm above the middle of its trunk.

    A step is solved tightly: its derivative is that of the modes it was solved to, and a joint that slips more slowly
    than the tolerance may be taken for one that is stuck.
    """
    scene = taut.scenes.make("go1")
    if load > 0:
        box = pinocchio.Inertia.FromBox(load, 0.3, 0.2, 0.1)
        scene.model.inertias[1] += box.se3Action(pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, 0.1])))
    sim = taut.Simulator(scene, tolerance=tolerance)
    sim.hold(scene.q0, kp=250.0, kd=12.5)
    q = sim.rollout(scene.q0, np.zeros(18), steps=2000).q[-1]
    sim.release()
    return Standing(sim, q, load)


@dataclass
class Path:
    """|v⁺| before each step of an optimization, the torques in the end, and s an iteration."""

    residuals: list[float] = field(default_factory=list)
    torque: np.ndarray | None = None
    seconds: float = 0.0

    @property
    def iterations(self) -> int | None:
        """To REACHED, if it came there."""
        return next((k for k, residual in enumerate(self.residuals) if residual <= REACHED), None)


def solve(robot: Standing, torque: np.ndarray, derivative: str, iterations: int = 30, target: float = 1e-7) -> Path:
    """Gauss-Newton, every step taken in full.

    Its damping is for the end, where dry friction holds every joint and v⁺ does not depend on torques at all; squares
    of the singular values that count are above 1e-6.
    """
    differentiate = robot.implicit if derivative == "implicit" else robot.differences
    path, begin = Path(torque=torque), time.perf_counter()
    while True:
        r, J = differentiate(path.torque)
        path.residuals.append(float(np.linalg.norm(r)))
        path.seconds = (time.perf_counter() - begin) / len(path.residuals)
        if path.residuals[-1] <= target or len(path.residuals) > iterations:
            return path
        path.torque = path.torque - np.linalg.solve(J.T @ J + 1e-10 * np.eye(12), J.T @ r)


def guesses(count: int, spread: float = 10.0, seed: int = 0) -> list[np.ndarray]:
    """Torques nobody would begin with, N m: feet slip and leave the ground."""
    rng = np.random.default_rng(seed)
    return [spread * rng.normal(size=12) for _ in range(count)]


def experiment(robot: Standing, starts: int) -> dict[tuple[str, str], list[Path]]:
    """By start (zero or random torques) and derivative."""
    return {
        (start, derivative): [solve(robot, torque, derivative) for torque in torques]
        for start, torques in (("zero", [np.zeros(12)]), ("random", guesses(starts)))
        for derivative in DERIVATIVES
    }


def show(robot: Standing, paths: dict[tuple[str, str], list[Path]]) -> None:
    for (start, derivative), runs in paths.items():
        counts = [run.iterations for run in runs if run.iterations is not None]
        print(
            f"{robot.load:2.0f} kg  {start:8s}{derivative:13s}{len(counts):3d} of {len(runs):2d}"
            f"{f'{np.median(counts):.0f}, {max(counts)}' if counts else '–':>12s}"
            f"{np.median([run.residuals[-1] for run in runs]):10.0e}{max(run.residuals[-1] for run in runs):10.0e}"
            f"{1e3 * np.median([run.seconds for run in runs]):9.2f}"
        )


def draw(results: dict[float, dict[tuple[str, str], list[Path]]], file: str) -> None:
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(1, len(results), figsize=(9.0, 3.8), sharey=True, squeeze=False)
    looks = {"implicit": {"color": "tab:blue"}, "differences": {"color": "tab:orange", "linestyle": "--"}}
    for axes, (load, paths) in zip(grid[0], results.items(), strict=True):
        for (start, derivative), runs in paths.items():
            more = {"marker": "o"} if start == "zero" else {"linewidth": 0.8, "alpha": 0.6}
            for k, run in enumerate(runs):
                name = f"{derivative}, {start} torques" if k == 0 else None
                axes.semilogy(run.residuals, label=name, **looks[derivative], **more)
        axes.axhline(REACHED, color="black", linewidth=0.8, linestyle=":")
        axes.set(title=f"Go1 with {load:.0f} kg on its back" if load else "Go1", xlabel="iterations")
        axes.grid(alpha=0.3)
    grid[0][0].set_ylabel("|v⁺|, m/s and rad/s")
    grid[0][-1].legend(fontsize=8, framealpha=1.0)
    figure.tight_layout()
    figure.savefig(file, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", nargs="?", help="a file for the curves")
    parser.add_argument("--starts", type=int, default=20, help="random torques to begin with")
    parser.add_argument("--tolerance", type=float, default=1e-10, help="to which a step is solved, m/s")
    arguments = parser.parse_args()

    robots = [standing(load, arguments.tolerance) for load in (0.0, 10.0)]
    results = {robot.load: experiment(robot, arguments.starts) for robot in robots}
    print(f"|v⁺| from zero torques{'':4s}{''.join(f'{k:>9d}' for k in range(6))}")
    for robot in robots:
        for derivative in DERIVATIVES:
            (run,) = results[robot.load]["zero", derivative]
            values = "".join(f"{residual:9.0e}" for residual in run.residuals[:6])
            print(f"{robot.load:2.0f} kg  {derivative:20s}{values}")
    print()
    print(
        f"{'load':7s}{'start':8s}{'derivative':13s}{'reached':>8s}{'iterations':>12s}{'|v⁺|':>11s}{'worst':>9s}{'ms':>9s}"
    )
    for robot in robots:
        show(robot, results[robot.load])
    print(f"reached: |v⁺| < {REACHED:.0e} m/s, rad/s; iterations: to there, median and most; ms: an iteration")
    print()
    for robot in robots:
        torque = results[robot.load]["zero", "implicit"][0].torque
        print(
            f"{robot.load:2.0f} kg: feet carry {robot.support(torque):.4f} N, weight {robot.weight:.4f} N; "
            f"largest torque {np.abs(torque).max():.2f} N m"
        )
    if arguments.picture:
        draw(results, arguments.picture)


if __name__ == "__main__":
    main()
