"""Parts of the panel that act on a simulation: pushing a body, moving joints."""

from __future__ import annotations

import numpy as np
import viser

from .frame import Frame
from .live import LivePlayer
from .stage import Stage


class PushControls:
    """A force on a body: by sliders, or by dragging it with the mouse, as with a spring."""

    def __init__(self, server: viser.ViserServer, player: LivePlayer, stage: Stage, weight: float) -> None:
        names = {player.scene.model.names[joint]: joint for joint in player.bodies}
        if not names:
            return
        with server.gui.add_folder("Push", expand_by_default=False):
            server.gui.add_markdown("*Ctrl (or ⌘) and drag pulls any body, by the point you take it at.*")
            body = server.gui.add_dropdown("body", tuple(names), hint="The body the sliders push.")
            limit = round(3 * weight, 1) or 1.0
            hint = "N, in the world's axes, for as long as it is not zero."
            sliders = [
                server.gui.add_slider(
                    f"force {axis}", min=-limit, max=limit, step=round(limit / 300, 4), initial_value=0.0, hint=hint
                )
                for axis in "xyz"
            ]
            release = server.gui.add_button("No force", hint="Sets the three to zero.")

        @body.on_update
        def _(_: viser.GuiEvent) -> None:
            player.body = names[body.value]

        def set_force(_: object) -> None:
            player.force = np.array([slider.value for slider in sliders])

        for slider in sliders:
            slider.on_update(set_force)

        @release.on_click
        def _(_: viser.GuiEvent) -> None:
            for slider in sliders:
                slider.value = 0.0
            player.force = np.zeros(3)

        def drag(joint: int, phase: str, taken_at: np.ndarray, to: np.ndarray) -> None:
            if phase == "start":
                player.take(joint, taken_at)
            player.pull_to(None if phase == "end" else to)

        stage.on_drag(drag)


class JointControls:
    """A slider for each joint with one coordinate: where PD holds it, or, if nothing holds, its pose."""

    def __init__(self, server: viser.ViserServer, player: LivePlayer, weight: float) -> None:
        self.player, model = player, player.scene.model
        self.joints = [joint for joint in range(1, model.njoints) if model.nqs[joint] == model.nvs[joint] == 1]
        if not self.joints:
            return
        self.kp = player.held[1] if player.held else 2.0 * weight
        self.sliders: dict[int, viser.GuiSliderHandle] = {}
        with server.gui.add_folder("Joints", expand_by_default=False):
            self.hold = server.gui.add_checkbox(
                "hold", player.held is not None, hint="By PD, where the sliders are. Off: sliders move a paused robot."
            )
            self.stiff = server.gui.add_number(
                "kp", round(self.kp, 3), min=0.0, hint="N m/rad or N/m; damping is a twentieth of it."
            )
            for joint in self.joints:
                at = model.idx_qs[joint]
                low, high = model.lowerPositionLimit[at], model.upperPositionLimit[at]
                low, high = (low if abs(low) < 100 else -np.pi), (high if abs(high) < 100 else np.pi)
                value = float(np.clip(player.start[0][at], low, high))
                self.sliders[at] = server.gui.add_slider(
                    model.names[joint],
                    min=round(float(low), 3),
                    max=round(max(float(high), float(low) + 1e-2), 3),
                    step=1e-3,
                    initial_value=round(value, 3),
                    hint="rad or m",
                )
        self.hold.on_update(self._apply)
        self.stiff.on_update(self._apply)
        for slider in self.sliders.values():
            slider.on_update(self._apply)

    def _apply(self, event: viser.GuiEvent) -> None:
        if event.client is None:
            return
        target = np.array(self.player.frame.q)
        if self.hold.value:
            for at, slider in self.sliders.items():
                target[at] = slider.value
            kp = float(self.stiff.value)
            self.player.hold(target, kp, kp / 20)
            return
        self.player.hold(None)
        for at, slider in self.sliders.items():
            if event.target is slider and not self.player.playing:
                target[at] = slider.value
                self.player.pose(target)

    def update(self, frame: Frame) -> None:
        """Sliders follow joints that nothing holds."""
        if not self.joints or self.hold.value:
            return
        for at, slider in self.sliders.items():
            value = round(float(np.clip(frame.q[at], slider.min, slider.max)), 3)
            if abs(slider.value - value) > 1e-3:
                slider.value = value
