"""The shell command `taut`."""

from __future__ import annotations

import typer

from . import bench, check_gradient, demo, export, info, simulate, solve, view

app = typer.Typer(
    name="taut",
    help="Rigid contact without relaxation: simulate robots and objects, solve contact problems, measure both.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_show_locals=False,
)
app.command()(demo.demo)
app.command()(simulate.simulate)
app.command()(view.view)
app.command()(export.export)
app.command()(info.info)
app.command()(solve.solve)
app.command()(check_gradient.check_gradient)
app.add_typer(bench.app, name="bench")


def _version(asked: bool) -> None:
    if asked:
        from .. import __version__

        typer.echo(f"taut {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print it and leave."),
) -> None:
    pass


__all__ = ["app"]
