"""The panel of a page: buttons, sliders, numbers and plots."""

from __future__ import annotations

import time

import numpy as np
import viser

from .._taut import solvers
from .bodies import with_mass
from .controls import DriveControls, JointControls, PushControls
from .frame import Frame
from .live import LivePlayer
from .marks import DEPTH_SHOWN, LEGEND, Marks
from .player import MINUTE, Player
from .plots import Plots
from .replay import RecordingPlayer
from .stage import Stage

SPEEDS = ("0.01", "0.05", "0.1", "0.25", "0.5", "1", "2", "5")
NOTHING = "nothing"  # to follow
SLOW = 0.2  # s between updates of what is read, not watched


def from_page(event: viser.GuiEvent) -> bool:
    """The user did it, not the program."""
    return event.client is not None


class Panel:
    """Everything the user can do with a player, and what it says."""

    def __init__(self, server: viser.ViserServer, player: Player, stage: Stage, marks: Marks, weight: float) -> None:
        self.server, self.player, self.stage, self.marks = server, player, stage, marks
        self.changed = False  # something must be drawn anew, though the frame is the same
        self.followed: int | None = None
        self._told = 0.0
        self.error: str | None = None  # why the page had to stop
        self.said = server.gui.add_markdown("")
        with server.gui.add_folder("Run"):
            self._run()
        with server.gui.add_folder("Look", expand_by_default=False):
            self._look()
        if isinstance(player, LivePlayer):
            with server.gui.add_folder("Physics", expand_by_default=False):
                self._physics(player)
            self.push = PushControls(server, player, stage, weight)
            self.joints = JointControls(server, player, weight)
            DriveControls(server, player, weight)
        self.plots = Plots(server, player)

    # --- running

    def _run(self) -> None:
        gui, player = self.server.gui, self.player
        watched = not isinstance(player, LivePlayer | RecordingPlayer)  # somebody else's loop: it goes as it goes
        go_on = "What the loop does now, or pause." if watched else "Go on from what is shown, or pause."
        self.play = gui.add_button("Play", icon=viser.Icon.PLAYER_PLAY, hint=f"{go_on} Key: P")
        step = gui.add_button(
            "Step",
            icon=viser.Icon.PLAYER_TRACK_NEXT,
            hint=f"{'The next picture that was kept' if watched else 'One time step'}. Key: N",
        )
        reset = gui.add_button(
            "Reset", icon=viser.Icon.REFRESH, hint=f"Back to {'the first picture' if watched else 'the start'}. Key: R"
        )
        if not watched:
            speed = gui.add_dropdown("speed", SPEEDS, initial_value="1", hint="Times real time.")

            @speed.on_update
            def _(_: viser.GuiEvent) -> None:
                player.speed = float(speed.value)

        low, high = player.span
        back = "what the loop did" if watched else f"{MINUTE:.0f} s of a simulation. Play goes on from there"
        self.time = gui.add_slider(
            "time",
            min=low,
            max=max(high, low + 1e-3),
            step=1e-3,
            initial_value=low,
            hint=f"s; look back, {back}.",
        )

        def play(_: object) -> None:
            player.pause() if player.playing else player.play()

        for button, key, act in (
            (self.play, "P", play),
            (step, "N", lambda _: player.step()),
            (reset, "R", lambda _: player.reset()),
        ):
            button.on_click(act)
            gui.add_command(button.label, hotkey=key).on_trigger(act)

        @self.time.on_update
        def _(event: viser.GuiEvent) -> None:
            if from_page(event):
                player.seek(float(self.time.value))

    # --- looking

    def _look(self) -> None:
        gui = self.server.gui
        model = self.player.scene.model
        colours = ", ".join(f"{mode} {colour}" for mode, colour in LEGEND.items())
        bodies = {model.names[joint]: joint for joint in with_mass(model)}
        follow = gui.add_dropdown(
            "follow", (NOTHING, *bodies), initial_value=NOTHING, hint="Keep a body in the middle."
        )
        shapes = gui.add_checkbox("collision shapes", False, hint="What touches, instead of what the file shows.")

        through = gui.add_checkbox("see through", False, hint="Bodies hide what is under and within them.")

        @follow.on_update
        def _(_: viser.GuiEvent) -> None:
            self.followed = bodies.get(follow.value)
            self.changed = True

        @shapes.on_update
        def _(_: viser.GuiEvent) -> None:
            self.stage.show_shapes(shapes.value)

        @through.on_update
        def _(_: viser.GuiEvent) -> None:
            self.stage.see_through(through.value)

        hints = {
            "points": f"Contact points: {colours}.",
            "normals": "Contact normals.",
            "forces": f"Contact forces: {colours}. Half as long as the robot is its weight.",
            "cones": "Friction cones.",
            "penetration": f"Penetrations, {DEPTH_SHOWN:.0f} times as deep.",
        }
        for kind, hint in hints.items():
            box = gui.add_checkbox(kind, self.marks.shown[kind], hint=hint)
            box.on_update(lambda event, kind=kind: self._switch(kind, event.target.value))

    def _switch(self, kind: str, on: bool) -> None:
        self.marks.shown[kind] = on
        self.changed = True

    # --- physics

    def _physics(self, player: LivePlayer) -> None:
        gui, scene = self.server.gui, player.scene
        shapes = [shape.name for shape in scene.geometry.geometryObjects]
        usual = float(np.median([scene.friction(shape) for shape in shapes])) if shapes else 0.8
        friction = gui.add_slider(
            "friction",
            min=0.0,
            max=max(2.0, float(np.ceil(usual))),
            step=0.01,
            initial_value=round(usual, 2),
            hint="μ of every shape; a pair of shapes that has its own keeps it.",
        )
        solver = gui.add_dropdown(
            "solver", tuple(solvers()), initial_value=player.sim.solver, hint="Who solves the contact problem."
        )

        @friction.on_update
        def _(event: viser.GuiEvent) -> None:
            if from_page(event):
                player.set_friction(float(friction.value))

        @solver.on_update
        def _(event: viser.GuiEvent) -> None:
            if not from_page(event):
                return
            try:
                player.set_solver(solver.value)
            except ValueError as error:
                event.client.add_notification("Another solver", str(error), auto_close_seconds=5.0)

    # --- telling

    def update(self, frame: Frame) -> None:
        """Called for every picture; what is only read is written now and then."""
        label = "Pause" if self.player.playing else "Play"
        if self.play.label != label:
            self.play.label = label
            self.play.icon = viser.Icon.PLAYER_PAUSE if self.player.playing else viser.Icon.PLAYER_PLAY
        now = time.perf_counter()
        if now - self._told < SLOW:
            return
        self._told = now
        self.tell(frame)
        self.plots.update(frame)
        if isinstance(self.player, LivePlayer):
            self.joints.update(frame)
            self.push.update()

    def tell(self, frame: Frame) -> None:
        low, high = self.player.span
        high = max(high, low + 1e-3)
        if (self.time.min, self.time.max) != (low, high):
            self.time.min, self.time.max = low, high
        shown = float(np.clip(frame.t, low, high))
        if abs(self.time.value - shown) > 5e-4:
            self.time.value = round(shown, 3)
        modes = np.bincount(frame.modes, minlength=3) if len(frame.modes) else np.zeros(3, int)
        lines = [
            f"**t** {frame.t:.3f} s &nbsp; **speed** {self.player.real_time_factor:.2f} × real time",
            f"**contacts** {len(frame.points)}: {modes[1]} sticking, {modes[2]} sliding, {modes[0]} breaking",
            f"**residual** {frame.residual:.1e} m/s &nbsp; **penetration** {1e6 * frame.penetration:.2g} µm",
        ]
        if not isinstance(self.player, RecordingPlayer):
            lines.append(f"**step** {frame.step_us:.0f} µs &nbsp; **energy** {frame.energy:.4g} J")
        if isinstance(self.player, LivePlayer) and self.player.failed:
            lines.append("**the state is not finite any more**: reset, or look back and go on from there")
        if self.error is not None:
            lines.append(f"**stopped**: {self.error}")
        text = "  \n".join(lines)
        if self.said.content != text:
            self.said.content = text
