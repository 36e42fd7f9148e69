"""Siconos' NSGS on a file of problems. Run by an interpreter that has Siconos; imports nothing of taut.

    python siconos_worker.py IN.npz OUT.npz

IN: `count`, `tolerance`, `iterations`, `budget` (s), and for each problem i `G_i`, `g_i`, `mu_i`, `start_i`;
OUT: `impulse_i`, `seconds_i`, `info_i`. Contacts are (t1, t2, normal) here and (normal, t1, t2) in Siconos.
"""

import sys
import time
import warnings

import numpy as np
import scipy.sparse
import siconos.numerics as numerics


def solve(G, g, mu, start, tolerance, iterations, budget):
    n = len(mu)
    theirs = np.arange(3 * n).reshape(n, 3)[:, [2, 0, 1]].ravel()
    matrix, q = np.asfortranarray(G[theirs][:, theirs]), np.ascontiguousarray(g[theirs])
    problem = numerics.FrictionContactProblem(3, n, matrix, q, mu)
    # By blocks, the form NSGS likes best: up to seven times faster than dense on the larger problems.
    _, blocks = numerics.SBM_from_csparse(3, scipy.sparse.csc_matrix(matrix))
    blocks.thisown = False  # the matrix below frees them
    problem.M = numerics.NM_new_SBM(3 * n, 3 * n, blocks)

    options = numerics.SolverOptions(numerics.SICONOS_FRICTION_3D_NSGS)
    options.dparam[numerics.SICONOS_DPARAM_TOL] = tolerance
    options.iparam[numerics.SICONOS_IPARAM_MAX_ITER] = iterations
    times = []
    while not times or (sum(times) < budget and len(times) < 50):
        impulse, velocity = start[theirs].copy(), np.zeros(3 * n)
        begin = time.perf_counter()
        info = numerics.fc3d_nsgs(problem, impulse, velocity, options)
        times.append(time.perf_counter() - begin)
    ours = np.empty(3 * n)
    ours[theirs] = impulse
    return ours, float(np.median(times)), info


def main(source, target):
    warnings.simplefilter("ignore")  # of index types that are converted
    given, answers = np.load(source), {}
    settings = float(given["tolerance"]), int(given["iterations"]), float(given["budget"])
    for i in range(int(given["count"])):
        one = [given[f"{name}_{i}"] for name in ("G", "g", "mu", "start")]
        answers[f"impulse_{i}"], answers[f"seconds_{i}"], answers[f"info_{i}"] = solve(*one, *settings)
    np.savez(target, **answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
