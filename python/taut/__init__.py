"""Rigid contact without relaxation, differentiable end to end.

>>> import taut
>>> sim = taut.Simulator(taut.scenes.make("cube_on_plane"))
>>> step = sim.step(sim.scene.q0, [0.0] * 6)
>>> step.report.status
'converged'
"""

from . import collision, fclib, mechanisms, scenes
from ._taut import (
    Actuator,
    Certificate,
    CertificateSummary,
    Contact,
    Coupling,
    Loop,
    Report,
    Residuals,
    Scene,
    Simulator,
    Softening,
    Solution,
    Source,
    State,
    Step,
    StepAdjoint,
    StepJacobian,
    StepTangent,
    Trajectory,
    residuals,
    solve,
    solver_models,
    solvers,
    time_solve,
)
from .energy import mechanical_energy
from .loading import TautWarning, load
from .problem import Problem
from .recording import Recording, load_recording

__version__ = "0.1.0"

__all__ = [
    "Actuator",
    "Certificate",
    "CertificateSummary",
    "Contact",
    "Coupling",
    "Loop",
    "Problem",
    "Recording",
    "Report",
    "Residuals",
    "Scene",
    "Simulator",
    "Softening",
    "Solution",
    "Source",
    "State",
    "Step",
    "StepAdjoint",
    "StepJacobian",
    "StepTangent",
    "TautWarning",
    "Trajectory",
    "collision",
    "fclib",
    "load",
    "load_recording",
    "mechanical_energy",
    "mechanisms",
    "residuals",
    "scenes",
    "solve",
    "solver_models",
    "solvers",
    "time_solve",
]
