"""Pinocchio's own ADMM on the contact problems of our steps: the same velocities.

Forces of redundant contacts are not unique and are not compared.
"""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

import taut

SCENES = {  # options, gains, steps between dumps, dumps
    "go1": ({"height": 0.05}, (100, 4), 50, 15),
    "stack": ({"n": 3}, None, 10, 5),
    "talos": ({"height": 0.02}, (3000, 100), 50, 9),
    "anymal": ({"height": 0.05}, (500, 20), 40, 10),
    "sliding_cube": ({"mu": 0.3, "slope": 0.4}, None, 20, 5),
}


def dumped_problems(name: str) -> list[tuple[taut.Problem, np.ndarray]]:
    """Contacts only: joint limits and joint friction have other rows than cones."""
    options, gains, every, count = SCENES[name]
    scene = taut.scenes.make(name, **options)
    sim = taut.Simulator(scene, tolerance=1e-9, joint_limits=False, joint_friction=False)
    if gains:
        sim.hold(scene.q0, *(np.full(scene.model.nv, float(gain)) for gain in gains))
    q, v = scene.q0, np.zeros(scene.model.nv)
    found = []
    for k in range(every * count):
        step = sim.step(q, v)
        q, v = step.q, step.v
        if k % every == every - 1 and step.contacts:
            found.append((sim.problem(), sim.impulse))
    return found


def pinocchio_admm(problem: taut.Problem) -> np.ndarray:
    models, datas = pinocchio.StdVec_ConstraintModel(), pinocchio.StdVec_ConstraintData()
    empty = pinocchio.Model()  # the solver asks a constraint for its cone only: G and g come from us
    for mu in problem.mu:
        contact = pinocchio.PointContactConstraintModel(empty, 0)
        contact.setFriction(mu)
        models.append(pinocchio.ConstraintModel(contact))
        datas.append(models[-1].createData())
    settings = pinocchio.ADMMSolverSettings()
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 1e-9
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
    settings.max_iterations = 20_000
    settings.solve_ncp = True  # Coulomb's law, not its convex relaxation
    result = pinocchio.ADMMSolverResult()
    solved = pinocchio.ADMMConstraintSolver().solve(
        pinocchio.DelassusOperatorDense(problem.G), problem.g, models, datas, settings, result
    )
    assert solved
    return np.array(result.retrieveConstraintImpulses())


@pytest.mark.parametrize("name", SCENES)
def test_velocities_are_those_of_pinocchios_admm(name):
    problems = dumped_problems(name)
    assert len(problems) >= 3
    assert any(np.abs(impulse).max() > 0 for _, impulse in problems)
    for problem, impulse in problems:
        assert set(problem.kinds) == {"cone"}
        theirs = pinocchio_admm(problem)
        # Both are certified by the one judge before they are compared.
        assert taut.residuals(problem, impulse).worst <= 1e-9
        assert taut.residuals(problem, theirs).natural <= 1e-7
        ours_v, theirs_v = problem.G @ impulse + problem.g, problem.G @ theirs + problem.g
        np.testing.assert_allclose(ours_v, theirs_v, rtol=0, atol=1e-6)  # m/s, of up to 1 m/s; both solved to 1e-9


@pytest.mark.parametrize("solver", [name for name, model in taut.solver_models().items() if model == "NCP"])
def test_every_solver_agrees_with_pinocchio_on_a_landing_go1(solver):
    for problem, _ in dumped_problems("go1")[2:8]:
        solution = taut.solve(problem, solver=solver, tolerance=1e-8, max_iterations=50_000)
        if solver == "newton" and solution.report.status != "converged":
            continue  # it may stall far from a solution, and says so
        assert solution.report.status == "converged"
        theirs = problem.G @ pinocchio_admm(problem) + problem.g
        np.testing.assert_allclose(solution.velocity, theirs, rtol=0, atol=1e-6)
