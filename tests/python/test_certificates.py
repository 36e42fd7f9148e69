"""What a derivative says of itself: solved by the exact law or refused, of its own step, in every way of asking."""

from __future__ import annotations

import coal
import numpy as np
import pytest

import taut


def sliding(solver: str, **options) -> tuple[taut.Simulator, np.ndarray, np.ndarray]:
    """A cube that slides: where the convex relaxation lifts it, and the exact law does not."""
    scene = taut.scenes.make("cube_on_plane", mu=0.5)
    sim = taut.Simulator(scene, solver=solver, tolerance=1e-8, **options)
    v = np.zeros(6)
    v[0] = 1.0
    return sim, scene.q0.copy(), v


def ways_of_asking(sim: taut.Simulator, q: np.ndarray, v: np.ndarray):
    one = np.ones(6)
    sim.step(q, v)
    yield "jacobian", sim.jacobian
    yield "jvp", lambda: sim.jvp(one, one)
    yield "vjp", lambda: sim.vjp(one, one)
    yield "jacobians", lambda: sim.jacobians([q], [v])
    yield "vjps", lambda: sim.vjps([q], [v], [one], [one])
    path = sim.rollout(q, v, steps=3)
    yield "adjoint", lambda: sim.adjoint(path, one, one)


def certificates(answer) -> list:
    return list(answer.certificates) if hasattr(answer, "certificates") else [answer.certificate]


def test_the_answer_of_another_model_is_refused_by_name():
    sim, q, v = sliding("ccp_admm")
    assert sim.step(q, v).report.status == "converged"  # by its own law
    for name, ask in ways_of_asking(sim, q, v):
        with pytest.raises(ValueError, match=r"'ccp_admm', a solver of the CCP model.*solver='auto'") as refused:
            ask()
        if name == "adjoint":
            assert "adjoint: step 0: " in str(refused.value)  # the one that slides


def test_the_answer_of_another_model_that_solves_the_exact_law_is_taken():
    sim, q, _ = sliding("ccp_admm")
    exact, *_ = sliding("auto")
    v = np.zeros(6)
    sim.step(q, v)
    exact.step(q, v)
    np.testing.assert_allclose(sim.jacobian().dv_dtau, exact.jacobian().dv_dtau, atol=1e-7)
    for name, ask in ways_of_asking(sim, q, v):
        for certificate in certificates(ask()):
            assert certificate.solved and certificate.residual <= 1e-8, name


def test_every_derivative_has_the_certificate_of_its_step():
    sim, q, v = sliding("auto")
    for name, ask in ways_of_asking(sim, q, v):
        found = certificates(ask())
        assert all(c.solved and np.isfinite(c.nearest) for c in found), name
    sim.reset()
    sim.step(q, v)
    of_step = [sim.jacobian(), sim.jvp(v, v), sim.vjp(v, v)]
    modes, nearest = list(of_step[0].certificate.modes), of_step[0].certificate.nearest
    assert "sliding" in modes
    q[2] += 1.0
    sim.step(q, v)  # flies: nothing to certify any more
    assert sim.vjp(v, v).certificate.modes == []
    for answer in of_step:
        assert answer.certificate.modes == modes
        assert answer.certificate.nearest == nearest


def test_a_run_says_where_it_is_to_be_trusted_least():
    scene = taut.Scene()
    scene.add_floor(friction=0.5)
    scene.add_body("ball", coal.Sphere(0.1), 1.0, [0.0, 0.0, 0.103])
    sim = taut.Simulator(scene)
    path = sim.rollout(scene.q0, np.array([0.5, 0, 0, 0, 0, 0]), steps=60)
    gradient = sim.adjoint(path, np.ones(6), np.ones(6))
    assert len(gradient.certificates) == len(path) == 60
    assert gradient.certificate.nearest == min(c.nearest for c in gradient.certificates)
    assert gradient.certificate.residual == max(report.residuals.worst for report in path.reports)
    assert gradient.certificate.solved
    assert [c.unknowns for c in gradient.certificates][:5] == [0] * 5  # still in the air
    assert gradient.certificates[-1].unknowns > 0


def test_a_step_that_was_not_solved_says_so_whoever_asks():
    scene = taut.scenes.make("heavy_on_light")
    sim = taut.Simulator(scene, solver="pgs", tolerance=1e-12, max_iterations=2)
    nv = scene.model.nv
    step = sim.step(scene.q0, np.zeros(nv))
    assert step.report.residuals.worst > 1e-12
    one = np.ones(nv)
    for answer in (sim.jacobian(), sim.jvp(one, one), sim.vjp(one, one)):
        assert not answer.certificate.solved
        assert answer.certificate.residual > 1e-12


def test_a_tangent_is_a_pair():
    sim, q, v = sliding("auto")
    sim.step(q, v)
    tangent = sim.jvp(v, v)
    dq, dv = tangent
    np.testing.assert_array_equal(dq, tangent.q)
    np.testing.assert_array_equal(dv, tangent.v)
    assert len(tangent) == 2
    np.testing.assert_array_equal(tangent[-1], dv)
    with pytest.raises(IndexError):
        tangent[2]


def test_their_classes_have_names():
    sim, q, v = sliding("auto")
    sim.step(q, v)
    assert isinstance(sim.jacobian(), taut.StepJacobian)
    assert isinstance(sim.vjp(v, v), taut.StepAdjoint)
    assert isinstance(sim.jvp(v, v), taut.StepTangent)
    assert isinstance(sim.jacobian().certificate, taut.Certificate)
    assert isinstance(sim.jacobian().certificate, taut.CertificateSummary)
