"""Parts of the panel that act on a simulation: pushing a body, moving joints, driving actuators."""

from __future__ import annotations

import time

import numpy as np
import viser

from .._taut import Actuator
from .frame import Frame
from .live import LivePlayer
from .stage import Stage


class PushControls:
    """A force on a body: by sliders, or by dragging it with the mouse, as with a spring."""

    def __init__(self, server: viser.ViserServer, player: LivePlayer, stage: Stage, weight: float) -> None:
        self.player = player
        self.sliders: list[viser.GuiSliderHandle] = []
        names = {player.scene.model.names[joint]: joint for joint in player.bodies}
        if not names:
            return
        with server.gui.add_folder("Push", expand_by_default=False):
            server.gui.add_markdown(
                "*Ctrl (or ⌘) and drag pulls any body, by the point you take it at, while the simulation plays.*"
            )
            body = server.gui.add_dropdown("body", tuple(names), hint="The body the sliders push.")
            limit = round(3 * weight, 1) or 1.0
            hint = "N at the centre of mass, in the world's axes, for as long as it is not zero."
            self.sliders = [
                server.gui.add_slider(
                    f"force {axis}", min=-limit, max=limit, step=round(limit / 300, 4), initial_value=0.0, hint=hint
                )
                for axis in "xyz"
            ]
            release = server.gui.add_button("No force", hint="Sets the three to zero.")

        @body.on_update
        def _(_: viser.GuiEvent) -> None:
            player.body = names[body.value]

        def set_force(event: viser.GuiEvent) -> None:
            if event.client is not None:  # the user, not `update`
                player.force = np.array([slider.value for slider in self.sliders])

        for slider in self.sliders:
            slider.on_update(set_force)

        @release.on_click
        def _(_: viser.GuiEvent) -> None:
            player.force = np.zeros(3)
            for slider in self.sliders:
                slider.value = 0.0

        def drag(joint: int, phase: str, taken_at: np.ndarray, to: np.ndarray) -> None:
            away = np.array([taken_at - stage.placements[joint, :, 3], to - taken_at])
            if phase != "end" and not (np.abs(away) <= FAR * stage.size).all():
                return
            if phase == "start":
                player.take(joint, taken_at)
            player.pull_to(None if phase == "end" else to)

        stage.on_drag(drag)

    def update(self) -> None:
        """Sliders follow a force that was taken away."""
        if not self.player.force.any():
            for slider in self.sliders:
                if slider.value and not touched(slider):
                    slider.value = 0.0


FAR = 1000.0  # sizes of a scene: no mouse is farther from what it drags, nor takes it so far from where it is
RECENT = 0.5  # s: what the user has just moved is the user's


def touched(slider: viser.GuiSliderHandle) -> bool:
    """Moved a moment ago: its callback may not have read it yet."""
    return time.time() - slider.update_timestamp < RECENT


class JointControls:
    """A slider for each joint with one coordinate: where PD holds it, or, if nothing holds, its pose."""

    def __init__(self, server: viser.ViserServer, player: LivePlayer, weight: float) -> None:
        self.player, model = player, player.scene.model
        self.joints = [joint for joint in range(1, model.njoints) if model.nqs[joint] == model.nvs[joint] == 1]
        if not self.joints:
            return
        self.sliders: dict[int, viser.GuiSliderHandle] = {}  # by joint
        q = player.frame.q if player.held is None else player.held[0]
        kp, kd = (2.0 * weight, 0.1 * weight) if player.held is None else player.held[1:]
        with server.gui.add_folder("Joints", expand_by_default=False):
            self.hold = server.gui.add_checkbox(
                "hold", player.held is not None, hint="By PD, where the sliders are. Off: sliders move a paused robot."
            )
            self.kp = server.gui.add_number("kp", round(float(kp), 3), min=0.0, hint="N m/rad or N/m")
            self.kd = server.gui.add_number("kd", round(float(kd), 3), min=0.0, hint="N m s/rad or N s/m")
            for joint in self.joints:
                low, high = self._range(joint, q)
                self.sliders[joint] = server.gui.add_slider(
                    model.names[joint],
                    min=low,
                    max=high,
                    step=1e-3,
                    initial_value=round(float(np.clip(q[model.idx_qs[joint]], low, high)), 3),
                    hint="rad or m",
                )
        self.hold.on_update(self._switch)
        self.kp.on_update(self._gains)
        self.kd.on_update(self._gains)
        for joint, slider in self.sliders.items():
            slider.on_update(lambda event, joint=joint: self._move(event, joint, float(event.target.value)))

    def _range(self, joint: int, q: np.ndarray) -> tuple[float, float]:
        """Of its stops; without stops, half a turn to both sides, and where it is."""
        model = self.player.scene.model
        at = model.idx_qs[joint]
        low, high = model.lowerPositionLimit[at], model.upperPositionLimit[at]
        low, high = (low if abs(low) < 100 else min(-np.pi, q[at])), (high if abs(high) < 100 else max(np.pi, q[at]))
        return round(float(low), 3), round(float(max(high, low + 1e-2)), 3)

    def _switch(self, event: viser.GuiEvent) -> None:
        """Held where it is: nothing jumps."""
        if event.client is not None:
            self._hold(self.player.frame.q if self.hold.value else None)

    def _gains(self, event: viser.GuiEvent) -> None:
        if event.client is not None and self.player.held is not None:
            self._hold(self.player.held[0])

    def _hold(self, target: np.ndarray | None) -> None:
        self.player.hold(target, float(self.kp.value), float(self.kd.value))

    def _move(self, event: viser.GuiEvent, joint: int, value: float) -> None:
        """This joint and no other."""
        if event.client is None:
            return
        held, at = self.player.held, self.player.scene.model.idx_qs[joint]
        q = np.array(self.player.frame.q if held is None else held[0])
        q[at] = value
        if held is not None:
            self._hold(q)
        elif not self.player.playing:
            try:
                self.player.pose(q, joint)
            except ValueError as error:
                event.client.add_notification("It cannot go there", str(error), auto_close_seconds=5.0)

    def update(self, frame: Frame) -> None:
        """Sliders follow joints that nothing holds, and targets that are held."""
        if not self.joints:
            return
        held = self.player.held
        q = frame.q if held is None else held[0]
        for joint, slider in self.sliders.items():
            low, high = self._range(joint, q)
            if low < slider.min or high > slider.max:
                slider.min, slider.max = min(low, slider.min), max(high, slider.max)
            value = round(float(np.clip(q[self.player.scene.model.idx_qs[joint]], slider.min, slider.max)), 3)
            if abs(slider.value - value) > 1e-3 and not touched(slider):
                slider.value = value


class DriveControls:
    """A slider for each actuator of the scene."""

    def __init__(self, server: viser.ViserServer, player: LivePlayer, weight: float) -> None:
        actuators = player.scene.actuators
        if not actuators:
            return
        with server.gui.add_folder("Actuators", expand_by_default=False):
            drive = server.gui.add_checkbox("drive", player.control is not None, hint="Else they are off.")
            sliders = []
            for actuator in actuators:
                low, high = control_range(actuator, weight)
                sliders.append(
                    server.gui.add_slider(
                        actuator.name,
                        min=low,
                        max=high,
                        step=max(round((high - low) / 1000, 6), 1e-6),
                        initial_value=float(np.clip(initial_control(actuator, player), low, high)),
                        hint="a position, rad or m" if actuator.kind == "position" else "a force of its motor",
                    )
                )
            rest = server.gui.add_button("At rest", hint="Sets all to what they were to begin with.")

        def apply(_: object) -> None:
            player.control = np.array([slider.value for slider in sliders]) if drive.value else None

        for handle in (drive, *sliders):
            handle.on_update(apply)

        @rest.on_click
        def _(_: viser.GuiEvent) -> None:
            for slider, actuator in zip(sliders, actuators, strict=True):
                slider.value = float(np.clip(initial_control(actuator, player), slider.min, slider.max))
            apply(None)


def control_range(actuator: Actuator, weight: float) -> tuple[float, float]:
    """Of the file, or what makes sense: half a turn, or the weight of the robot at a decimetre."""
    low, high = actuator.control_range
    if np.isfinite([low, high]).all() and high > low:
        return float(low), float(high)
    reach = np.pi if actuator.kind == "position" else max(round(0.1 * weight, 3), 1e-3)
    return -reach, reach


def initial_control(actuator: Actuator, player: LivePlayer) -> float:
    """No force; a servo stays where its joint starts."""
    model = player.scene.model
    if actuator.kind != "position" or actuator.loop >= 0:
        return 0.0
    joint = next(j for j in range(1, model.njoints) if model.idx_vs[j] <= actuator.dof < model.idx_vs[j] + model.nvs[j])
    return actuator.gear * float(player.start[0][model.idx_qs[joint]]) if model.nqs[joint] == 1 else 0.0
