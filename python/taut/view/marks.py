"""Contacts in a page: points, normals, forces coloured by mode, cones, penetrations; and what pushes and pulls."""

from __future__ import annotations

import numpy as np
import trimesh
import viser

from ..recording import MODES
from ..recording.forces import contact_frames
from .frame import Frame
from .visuals import wxyz_of

COLOURS = np.array([[150, 150, 150], [46, 160, 67], [226, 88, 34]], np.uint8)  # breaking, sticking, sliding
LEGEND = dict(zip(MODES, ("grey", "green", "orange"), strict=True))
DEPTH_SHOWN = 1000.0  # penetrations are drawn this much longer
TOO_SHORT = 2e-3  # of the size: forces whose arrows would be shorter are not drawn
PUSH = (59, 110, 168)  # the colour of what the user does
UNSEEN = 1e-4  # of the size: marks that have moved by less are left where they were drawn

_CONE = trimesh.creation.cone(radius=1.0, height=1.0, sections=32)
_CONE.apply_transform([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 1], [0, 0, 0, 1]])  # its tip at the contact
_CONE.invert()


class Marks:
    """What a frame's contacts look like; each kind can be switched off."""

    def __init__(self, server: viser.ViserServer, size: float, weight: float) -> None:
        """size in m and weight in N of what is looked at: they make the length of arrows."""
        self.scene, self.size, self.weight = server.scene, size, max(weight, 1e-9)
        self.shown = {"points": True, "normals": False, "forces": True, "cones": False, "penetration": False}
        self.shown |= {"pushes": True, "pulls": True}
        self.drawn: dict[str, tuple[np.ndarray, ...]] = {}  # what each kind was last made of

    def show(self, frame: Frame) -> None:
        n = len(frame.points)
        colours = COLOURS[frame.modes] if n else np.empty((0, 3), np.uint8)
        self._points(frame, colours)
        self._lines("normals", frame.points, 0.2 * self.size * frame.normals, colours, 0.008)
        depth = DEPTH_SHOWN * np.maximum(0.0, -frame.gaps)[:, None] * frame.normals
        self._lines("penetration", frame.points, depth, np.full((n, 3), [200, 0, 0], np.uint8), 0.012)
        self._forces(frame, colours)
        self._cones(frame, colours)

    def _hidden(self, kind: str, count: int) -> bool:
        """Nothing to draw: a frame that cannot be seen takes the place of what was drawn. A page that plays again from
        its start is told so there; of what was merely removed later, or not made yet, it would keep the last."""
        if self.shown[kind] and count:
            return False
        self.drawn.pop(kind, None)
        if not isinstance(self.scene.get_handle_by_name(f"/world/{kind}"), viser.FrameHandle):
            self.scene.add_frame(f"/world/{kind}", show_axes=False, visible=False)
        return True

    def _stands(self, kind: str, *made_of: np.ndarray) -> bool:
        """It is drawn already, as far as one can see: to draw it anew is what costs a page most."""
        before = self.drawn.get(kind)
        if before is not None and all(
            len(new) == len(old) and np.allclose(new, old, rtol=0.0, atol=UNSEEN * self.size)
            for new, old in zip(made_of, before, strict=True)
        ):
            return True
        self.drawn[kind] = made_of
        return False

    def _points(self, frame: Frame, colours: np.ndarray) -> None:
        if not (self._hidden("points", len(frame.points)) or self._stands("points", frame.points, colours)):
            self.scene.add_point_cloud(
                "/world/points", frame.points, colours, point_size=0.02 * self.size, point_shape="circle"
            )

    def _lines(self, kind: str, starts: np.ndarray, along: np.ndarray, colours: np.ndarray, width: float) -> None:
        long = np.linalg.norm(along, axis=1) > 1e-6 * self.size if len(starts) else np.empty(0, bool)
        if self._hidden(kind, int(long.sum())):
            return
        ends = np.stack([starts[long], starts[long] + along[long]], axis=1)
        if not self._stands(kind, ends, colours[long]):
            both = np.repeat(colours[long][:, None], 2, axis=1)
            self.scene.add_line_segments(f"/world/{kind}", ends, both, thickness=width * self.size)

    def _forces(self, frame: Frame, colours: np.ndarray) -> None:
        # An impact is a hundred times the weight: arrows grow with small forces, and end at the size.
        strength = np.linalg.norm(frame.forces, axis=1, keepdims=True) / self.weight
        self._arrows("forces", frame.points, self.size * frame.forces / self.weight / (1 + strength), colours)

    def _arrows(self, kind: str, starts: np.ndarray, along: np.ndarray, colours: np.ndarray) -> None:
        long = np.linalg.norm(along, axis=1) > TOO_SHORT * self.size if len(along) else np.empty(0, bool)
        if self._hidden(kind, int(long.sum())):
            return
        ends = np.stack([starts[long], starts[long] + along[long]], axis=1)
        if not self._stands(kind, ends, colours[long]):
            thin = 0.012 * self.size
            self.scene.add_arrows(
                f"/world/{kind}", ends, colours[long], shaft_radius=thin, head_radius=2.2 * thin, head_length=5 * thin
            )

    def show_user(self, pushes: np.ndarray, pulls: np.ndarray) -> None:
        """What the user does: forces, (n, 2, 3) of points and N, and springs, (n, 2, 3) from where to where."""
        forces = pushes[:, 1]
        strength = np.linalg.norm(forces, axis=1, keepdims=True) / self.weight
        blue = np.full((max(len(pushes), len(pulls)), 3), PUSH, np.uint8)
        self._arrows("pushes", pushes[:, 0], self.size * forces / self.weight / (1 + strength), blue[: len(pushes)])
        self._lines("pulls", pulls[:, 0], pulls[:, 1] - pulls[:, 0], blue[: len(pulls)], 0.008)

    def _cones(self, frame: Frame, colours: np.ndarray) -> None:
        if self._hidden("cones", len(frame.points)):
            return
        height = 0.12 * self.size
        if self._stands("cones", frame.points, height * frame.normals, height * frame.mu, colours):
            return
        turns = np.array([wxyz_of(turn) for turn in contact_frames(frame.normals)])
        scales = height * np.stack([frame.mu, frame.mu, np.ones_like(frame.mu)], axis=-1)
        self.scene.add_batched_meshes_simple(
            "/world/cones",
            np.asarray(_CONE.vertices, np.float32),
            np.asarray(_CONE.faces, np.uint32),
            turns,
            np.array(frame.points),
            batched_scales=np.maximum(scales, 1e-6),
            batched_colors=colours,
            opacity=0.35,
            flat_shading=True,
            side="double",
            cast_shadow=False,
            lod="off",
        )
