"""How was the cube thrown? Its initial velocity, or the impulse that struck it, from its last pose [S, Sec. 4.2].

    python examples/inverse_cube.py                # a table
    python examples/inverse_cube.py picture.png    # and costs against iterations and time, which needs matplotlib

Gradient descent and Gauss-Newton, with the derivative of the whole run by the chain of `sim.jacobian()` and by central
differences of runs, each from the same random guesses. See docs/inverse_problems.md.
"""

import argparse
import time
from dataclasses import dataclass, field

import coal
import numpy as np
import pinocchio

import taut

SIDE, MASS, MU = 0.2, 1.0, 0.4
GYRATION = SIDE / np.sqrt(6)  # m: ω times this is a speed with the same kinetic energy, whatever its direction
DERIVATIVES = ("implicit", "differences")
METHODS = ("gradient descent", "Gauss-Newton")
REACHED = 1e-4  # norm of the residual, m and rad


@dataclass
class Problem:
    """Find x, an initial velocity or an impulse in the first step, such that a run ends where that of `truth` ends.

    x has the same unit six times: of a velocity (v, GYRATION ω) in m/s, of an impulse (p, L / GYRATION) in N s. Its
    entries then weigh the same, which a gradient and a step of least norm depend on.
    """

    name: str
    q0: np.ndarray
    truth: np.ndarray
    seconds: float
    impulsive: bool
    dt: float = 0.01
    tolerance: float = 1e-6  # to which a step is solved, m/s
    h: float = 1e-6  # of the differences
    sim: taut.Simulator = field(init=False)
    target: np.ndarray = field(init=False)

    def __post_init__(self):
        scene = taut.Scene()
        scene.add_floor(friction=MU)
        scene.add_body("cube", coal.Box(SIDE, SIDE, SIDE), MASS, friction=MU)
        self.sim = taut.Simulator(scene, dt=self.dt, tolerance=self.tolerance)
        self.target = self.end(self.truth)

    @property
    def steps(self) -> int:
        return round(self.seconds / self.dt)

    @property
    def scale(self) -> np.ndarray:
        """Of each entry of x: what makes it a velocity, or a force in the first step."""
        return np.repeat([1.0, GYRATION], 3) / self.dt if self.impulsive else np.repeat([1.0, 1 / GYRATION], 3)

    def first_step(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(v, tau) the run starts with."""
        return (np.zeros(6), self.scale * x) if self.impulsive else (self.scale * x, np.zeros(6))

    def end(self, x: np.ndarray) -> np.ndarray:
        self.sim.reset()  # nothing remembered: the run is a function of x alone
        v, tau = self.first_step(x)
        return self.sim.rollout(self.q0, v, np.vstack([tau, np.zeros((self.steps - 1, 6))])).q[-1]

    def residual(self, x: np.ndarray) -> np.ndarray:
        """From the target to the end of the run, in the tangent space of the target: m, then rad."""
        return pinocchio.difference(self.sim.scene.model, self.target, self.end(x))

    def implicit(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(residual, its Jacobian) by the chain of the steps' derivatives."""
        model = self.sim.scene.model
        self.sim.reset()
        q, (v, tau) = self.q0, self.first_step(x)
        dq, dv, dtau = np.zeros((6, 6)), self.scale * np.eye(6), np.zeros((6, 6))
        if self.impulsive:
            dv, dtau = dtau, dv
        for _ in range(self.steps):
            done = self.sim.step(q, v, tau)
            J = self.sim.jacobian()
            dq, dv = (
                J.dq_dq @ dq + J.dq_dv @ dv + J.dq_dtau @ dtau,
                J.dv_dq @ dq + J.dv_dv @ dv + J.dv_dtau @ dtau,
            )
            q, v, tau, dtau = done.q, done.v, np.zeros(6), np.zeros((6, 6))
        turn = pinocchio.dDifference(model, self.target, q, pinocchio.ARG1)
        return pinocchio.difference(model, self.target, q), turn @ dq

    def differences(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same by central differences of whole runs."""
        columns = [(self.residual(x + way) - self.residual(x - way)) / (2 * self.h) for way in self.h * np.eye(6)]
        return self.residual(x), np.column_stack(columns)


def thrown(seconds: float = 0.32, **options) -> Problem:
    """From 0.3 m; it lands on a corner, which sticks, slips off, and slides and turns on an edge in the end."""
    truth = np.array([1.0, 0.2, 0.0, 2.0 * GYRATION, 3.0 * GYRATION, -1.0 * GYRATION])
    return Problem("velocity", np.array([0, 0, 0.3, 0, 0, 0, 1.0]), truth, seconds, impulsive=False, **options)


def struck(seconds: float = 0.3, **options) -> Problem:
    """At rest on the floor; it is struck from the side, slides, tips a little and slides on."""
    truth = np.array([1.5, 0.3, -0.2, 0.0, 0.03 / GYRATION, 0.0])
    return Problem("impulse", np.array([0, 0, SIDE / 2, 0, 0, 0, 1.0]), truth, seconds, impulsive=True, **options)


@dataclass
class Path:
    """What an optimization saw: costs ½ |r|², after how many seconds, and where it ended."""

    costs: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    x: np.ndarray | None = None

    @property
    def iterations(self) -> int | None:
        """To REACHED, if it came there."""
        return next((k for k, cost in enumerate(self.costs) if np.sqrt(2 * cost) <= REACHED), None)


def descend(problem: Problem, x: np.ndarray, method: str, derivative: str, iterations: int = 100) -> Path:
    """Armijo's line search along the gradient or Gauss-Newton's step, until |r| is 1e-8 or the cost hardly falls.

    An edge stays on the floor whatever the guess, so that the Jacobian loses rank: singular values below 1e-3 of the
    largest are left out of Gauss-Newton's step, which would be huge along them.
    """
    differentiate = problem.implicit if derivative == "implicit" else problem.differences
    path, begin, size = Path(), time.perf_counter(), 1.0
    while True:
        r, J = differentiate(x)
        cost, gradient = r @ r / 2, J.T @ r
        path.costs.append(cost)
        path.seconds.append(time.perf_counter() - begin)
        path.x = x
        stalled = len(path.costs) > 1 and cost > 0.999 * path.costs[-2]
        if cost <= 0.5e-16 or stalled or len(path.costs) > iterations:
            return path
        if method == "Gauss-Newton":
            step, size = -np.linalg.lstsq(J, r, rcond=1e-3)[0], 1.0
        else:
            step, size = -gradient, 4 * size
        for _ in range(25):
            tried = problem.residual(x + size * step)
            if tried @ tried / 2 <= cost + 1e-4 * size * (gradient @ step):
                break
            size /= 2
        else:
            return path
        x = x + size * step


def guesses(problem: Problem, count: int, spread: float, seed: int = 1) -> list[np.ndarray]:
    """The truth, off by about `spread` (m/s or N s) in each entry; 0.05 m/s of ω is 0.6 rad/s."""
    rng = np.random.default_rng(seed)
    return [problem.truth + spread * rng.normal(size=6) for _ in range(count)]


def experiment(problem: Problem, starts: int, spread: float) -> dict[tuple[str, str], list[Path]]:
    return {
        (method, derivative): [descend(problem, x, method, derivative) for x in guesses(problem, starts, spread)]
        for method in METHODS
        for derivative in DERIVATIVES
    }


def show(problem: Problem, paths: dict[tuple[str, str], list[Path]]) -> None:
    for (method, derivative), runs in paths.items():
        counts = [run.iterations for run in runs if run.iterations is not None]
        print(
            f"{problem.name:10s}{method:18s}{derivative:13s}{len(counts):4d} of {len(runs)}"
            f"{f'{np.median(counts):.0f}' if counts else '–':>12s}{np.median([run.costs[-1] for run in runs]):14.0e}"
            f"{1e3 * np.median([run.seconds[-1] for run in runs]):9.0f}"
        )


def draw(results: dict[str, dict[tuple[str, str], list[Path]]], file: str) -> None:
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(len(results), 2, figsize=(9.0, 6.2), sharey="row", squeeze=False)
    colours = dict(zip(METHODS, ("tab:orange", "tab:blue"), strict=True))
    for row, (name, paths) in zip(grid, results.items(), strict=True):
        for (method, derivative), runs in paths.items():
            look = {"color": colours[method], "linestyle": "-" if derivative == "implicit" else "--"}
            longest = max(len(run.costs) for run in runs)
            costs = [run.costs + [run.costs[-1]] * (longest - len(run.costs)) for run in runs]
            row[0].semilogy(np.median(costs, axis=0), label=f"{method}, {derivative}", **look)
            times = np.geomspace(2e-3, max(run.seconds[-1] for run in runs), 200)
            at = [np.interp(times, run.seconds, np.log10(run.costs)) for run in runs]
            row[1].loglog(times, 10 ** np.median(at, axis=0), **look)
        row[0].set(ylabel=f"{name}: cost ½ |r|²", xlabel="iterations", xlim=(0, 40))
        row[1].set(xlabel="time, s")
        for axes in row:
            axes.grid(alpha=0.3)
    figure.suptitle("A cube's initial velocity and impulse from its last pose: medians over the guesses", fontsize=11)
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="lower center", ncols=4, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(file, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", nargs="?", help="a file for the curves")
    parser.add_argument("--starts", type=int, default=20, help="guesses for each problem")
    parser.add_argument("--spread", type=float, default=0.05, help="how far off guesses are, m/s and N s")
    parser.add_argument("--seconds", type=float, default=0.32, help="after which the thrown cube is looked at")
    parser.add_argument("--dt", type=float, default=0.01, help="s")
    arguments = parser.parse_args()

    print(f"{'unknown':10s}{'method':18s}{'derivative':13s}{'reached':>10s}{'iterations':>12s}{'cost':>14s}{'ms':>9s}")
    results = {}
    for problem in (thrown(arguments.seconds, dt=arguments.dt), struck(dt=arguments.dt)):
        results[problem.name] = experiment(problem, arguments.starts, arguments.spread)
        show(problem, results[problem.name])
    print(f"reached: |r| < {REACHED:.0e} (m, rad); iterations: to there, median of those; cost, ms: medians at the end")
    if arguments.picture:
        draw(results, arguments.picture)


if __name__ == "__main__":
    main()
