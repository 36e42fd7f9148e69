"""One contact problem, every solver, one judge: who needs how many iterations, and do the velocities agree?"""

import time

import numpy as np

import taut

mu = 0.1
scene = taut.scenes.make("stack", n=5, mu=mu)
sim = taut.Simulator(scene)
v = np.zeros(scene.model.nv)
v[::6] = 0.3  # every cube is pushed along x; the stack slides as one
sim.step(scene.q0, v)
problem = sim.problem()
print(f"a stack of 5 cubes pushed at 0.3 m/s: {len(problem)} contacts, {problem.g.size} rows, cold start")

# Friction brakes all cubes alike, by μ g dt, and with this μ the stack does not tip.
expected = 0.3 - mu * 9.81 * sim.dt
tolerance = 1e-10
print(f"speed of the lowest contacts after the step, expected: {expected:.9f} m/s")
print(f"{'solver':18s}{'status':17s}{'iterations':>10s}{'natural m/s':>13s}{'speed m/s':>14s}{'ms':>8s}")
for name in taut.solvers():
    start = time.perf_counter()
    solution = taut.solve(problem, solver=name, tolerance=tolerance)
    ms = 1e3 * (time.perf_counter() - start)
    judged = taut.residuals(problem, solution.impulse)  # the judge, asked again from outside
    speed = np.linalg.norm(solution.velocity.reshape(-1, 3)[:, :2], axis=1).max()  # the others do not slip
    report = solution.report
    print(f"{name:18s}{report.status:17s}{report.iterations:10d}{judged.natural:13.1e}{speed:14.9f}{ms:8.2f}")
