"""Simulators and recordings in notebooks."""

from __future__ import annotations

import html

import numpy as np

from ._taut import Simulator
from .recording import Recording

HEIGHT = 420  # pixels
PICTURES = 300  # at most: a notebook keeps all of them


def of_simulator(sim: Simulator) -> str:
    """Where it is, to be looked at from all sides; a line of text without viser."""
    state = sim.state()
    scene = sim.scene
    line = f"Simulator: {scene.model.nv} dof, solver {sim.solver}, dt {sim.dt:g} s"
    try:
        from .view.frame import Frame
        from .view.set import Set
    except ImportError:
        return f"<p>{html.escape(line)}; <code>pip install 'taut[view]'</code> to see it</p>"
    with Set(scene, saved=True) as stage_set:
        serializer = stage_set.server.get_scene_serializer()
        stage_set.show(Frame.start(state.q, state.v))
        stage_set.stage.look_from_front()
        return framed(serializer.as_html(), line)


def of_recording(recording: Recording) -> str:
    """A page that plays it; a line of text without viser."""
    line = f"{recording.name}: {len(recording)} steps of {recording.dt:g} s, {len(recording.modes)} contacts"
    try:
        from .view import export
    except ImportError:
        return f"<p>{html.escape(line)}; <code>pip install 'taut[view]'</code> to see it</p>"
    if not len(recording):
        return f"<p>{html.escape(line)}</p>"
    fps = min(30.0, PICTURES / max(recording.t[-1], recording.dt))
    rows = export.rows_at(recording, fps)
    return framed(export.page(recording, np.asarray(rows), fps), line)


def framed(page: str, line: str) -> str:
    look = f'width="100%" height="{HEIGHT}" style="border:1px solid #ddd;display:block"'
    return (
        f'<div><iframe srcdoc="{html.escape(page, quote=True)}" {look}></iframe>'
        f"<small>{html.escape(line)}</small></div>"
    )
