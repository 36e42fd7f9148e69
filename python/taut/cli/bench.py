"""`taut bench`: the benchmarks, and their list."""

from __future__ import annotations

import typer

from . import (
    bench_collision_derivatives,
    bench_contact,
    bench_gjk,
    bench_gradients,
    bench_loops,
    bench_recording,
    bench_step,
    bench_viewer,
)
from .terminal import console, table

BENCHMARKS = {
    "step": "taut and MuJoCo 4 in one process on the same files: µs a step, contacts, residuals",
    "gradients": "the Jacobian and the adjoint of a step beside the step and beside MuJoCo's differences",
    "contact": "the experiments of the papers: contact models and solvers beside each other",
    "loops": "mechanisms with kinematic loops: whether they hold, and every solver on them",
    "collision-derivatives": "estimators of the derivatives of collision: contact poses, and µs beside the collision",
    "gjk": "GJK's variants and warm starts: iterations, µs, and what they save in a step",
    "recording": "a run that is recorded beside one that is not, and whether it reads back equal",
    "viewer": "what a page that watches a loop costs it",
}

app = typer.Typer(help="Measure taut; without a name, list what can be measured.", rich_markup_mode="markdown")
app.command("step")(bench_step.step)
app.command("gradients")(bench_gradients.gradients)
app.command("contact")(bench_contact.contact)
app.command("loops")(bench_loops.loops)
app.command("gjk")(bench_gjk.gjk)
app.command("recording")(bench_recording.recording)
app.command("viewer")(bench_viewer.viewer)
app.command("collision-derivatives")(bench_collision_derivatives.collision_derivatives)


@app.callback(invoke_without_command=True)
def listing(context: typer.Context) -> None:
    """Measure taut; without a name, list what can be measured."""
    if context.invoked_subcommand is not None:
        return
    made = table("Benchmarks", "<name", "<what it measures")
    for name, what in BENCHMARKS.items():
        made.add_row(name, what)
    console().print(made)
    console().print(" taut bench NAME --help tells more.")
