"""A scene in a page: bodies as frames with their meshes, floors, light."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio
import viser

from .._taut import Scene
from .bodies import Bodies, apply, extent, roots
from .visuals import Visual, floors, visuals, wxyz_of

BODIES, SHAPES = "/world/bodies", "/world/shapes"
SEE_THROUGH = 0.35  # opacity
UNSEEN = 1e-6  # a body that has moved or turned by less, in m and rad, is left where it was drawn


class Stage:
    """The bodies of a scene. `place` moves them; to follow one the whole world is moved, so that the camera stays the
    user's."""

    def __init__(self, server: viser.ViserServer, scene: Scene, saved: bool = False) -> None:
        """saved: the page goes into a file."""
        self.server, self.model = server, scene.model
        self.where = Bodies(scene)
        self.world = server.scene.add_frame("/world", show_axes=False)
        self.offset = np.zeros(3)
        self.looked_at = np.zeros(3)  # by the camera, to begin with
        self.meshes: list[tuple[int, viser.MeshHandle]] = []  # with their joints
        self.opacities: list[float | None] = []  # of the meshes
        shown = visuals(scene)
        self.bodies = self._group(BODIES, shown)
        self.shapes = self._group(SHAPES, visuals(scene, collision=True), visible=False)
        self.placements = np.zeros((self.model.njoints, 3, 4))  # of the bodies, as last placed
        self.drawn = np.full_like(self.placements, np.nan)  # where each body was drawn
        self._floors(scene)
        server.scene.configure_default_lights(cast_shadow=True)
        if not saved:
            # A light from everywhere instead of a map of a warehouse, which may come after a picture was taken. A page
            # that is saved begins with that map whenever it plays again, and would flicker.
            server.scene.configure_environment_map(None)
            server.scene.add_light_hemisphere("/sky", ground_color=(190, 190, 200), intensity=1.4)
        self.place(scene.q0)
        self._measure(shown)

    def _group(self, root: str, shown: list[Visual], visible: bool = True) -> dict[int, viser.FrameHandle]:
        self.server.scene.add_frame(root, show_axes=False, visible=visible)
        frames = {
            joint: self.server.scene.add_frame(f"{root}/{joint}", show_axes=False)
            for joint in sorted({visual.joint for visual in shown})
        }
        for visual in shown:
            mesh = self.server.scene.add_mesh_simple(
                f"{root}/{visual.joint}/{visual.name}",
                *visual.mesh,
                color=visual.colour,
                opacity=visual.opacity if visual.opacity < 1 else None,
                flat_shading=len(visual.mesh[1]) < 500,
                side="double",
                position=visual.position,
                wxyz=visual.wxyz,
            )
            self.meshes.append((visual.joint, mesh))
            self.opacities.append(mesh.opacity)
        return frames

    def _floors(self, scene: Scene) -> None:
        found = floors(scene)
        self.stands = any(abs(floor.offset) < 1e-9 and floor.normal[2] > 0.99 for floor in found)
        for number, floor in enumerate(found):
            rotation = pinocchio.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), floor.normal).toRotationMatrix()
            self.server.scene.add_grid(
                f"/world/floor_{number}",
                infinite_grid=True,
                cell_size=0.1,
                section_size=1.0,
                cell_color=(214, 216, 220),
                section_color=(180, 184, 190),
                fade_distance=30.0,
                shadow_opacity=0.35,
                plane_color=(236, 238, 240),
                plane_opacity=1.0,
                position=floor.offset * floor.normal,
                wxyz=wxyz_of(rotation),
            )

    def _measure(self, shown: list[Visual]) -> None:
        """How large the bodies are together at the start, m, and the largest thing that hangs together."""
        tree = roots(self.model)
        points: dict[int, list[np.ndarray]] = {}
        for visual in shown:
            if visual.joint:
                w, x, y, z = visual.wxyz
                turn = pinocchio.Quaternion(w, x, y, z).toRotationMatrix()
                inside = visual.mesh[0] @ turn.T + visual.position
                points.setdefault(int(tree[visual.joint]), []).append(apply(self.placements[visual.joint], inside))
        self.box = extent(part for parts in points.values() for part in parts)
        if not self.box.any():
            self.box = np.ones(3)
        # What arrows are measured by.
        self.size = max((float(extent(parts).max()) for parts in points.values()), default=1.0) or 1.0

    def place(self, q: np.ndarray) -> None:
        placements = self.placements = self.where.placements(q)
        # One look at all bodies: the page looks at each by itself, which takes a hundred times as long.
        moved = ~(np.abs(placements - self.drawn) < UNSEEN).all(axis=(1, 2))
        self.drawn[moved] = placements[moved]
        with self.server.atomic():
            for joint in np.flatnonzero(moved):
                for frames in (self.bodies, self.shapes):
                    if joint in frames:
                        frames[joint].position = placements[joint][:, 3]
                        frames[joint].wxyz = wxyz_of(placements[joint][:, :3])

    def on_drag(self, callback: Callable[[int, str, np.ndarray, np.ndarray], None]) -> None:
        """Called with (joint, "start" | "update" | "end", where it was taken, where the mouse is), m in the world, when
        somebody drags a body that moves with Ctrl or ⌘ held; without, the camera turns."""
        for joint, mesh in self.meshes:
            if joint == 0:
                continue

            # Asynchronous: others run on any thread, in any order.
            async def dragged(event: viser.SceneNodeDragEvent, joint: int = joint) -> None:
                taken_at, to = np.array(event.start_position), np.array(event.end_position)
                callback(joint, event.phase, taken_at + self.offset, to + self.offset)

            mesh.on_drag("left", modifier="cmd/ctrl")(dragged)

    def show_shapes(self, shapes: bool) -> None:
        """The shapes that collide, or what the file has to look at."""
        for root, visible in ((BODIES, not shapes), (SHAPES, shapes)):
            handle = self.server.scene.get_handle_by_name(root)
            assert handle is not None
            handle.visible = visible

    def see_through(self, on: bool) -> None:
        """Bodies hide what they stand on: forces, and each other."""
        for (_, mesh), opacity in zip(self.meshes, self.opacities, strict=True):
            mesh.opacity = SEE_THROUGH * (opacity or 1.0) if on else opacity

    def follow(self, joint: int | None) -> None:
        """Keep a body in the middle, as last placed; None: the world stands still. A floor keeps its height."""
        middle = self.looked_at if joint is None else self.placements[joint, :, 3]
        target = (middle - self.looked_at) * (1, 1, 0 if self.stands else 1)
        if np.any(target != self.offset):
            self.offset = target
            self.world.position = -target

    def look_from_front(self, *way: np.ndarray) -> None:
        """A camera that sees everything as last placed, and at the configurations on the way; not all the way of what
        goes astray."""
        middles = [self._middle(self.placements)]
        middles += [self._middle(self.where.placements(q)) for q in way if np.isfinite(q).all()]
        far = 10 * float(self.box.max())
        middles = np.clip(middles, middles[0] - far, middles[0] + far)
        middle = np.mean(middles, axis=0)
        reach = 0.95 * float(np.linalg.norm(self.box)) + 0.6 * float(np.ptp(middles, axis=0).max())
        if self.stands:  # what falls is seen where it lands
            middle[2] = min(middle[2], 0.5 * self.box[2])
        self.looked_at = middle
        camera = self.server.initial_camera
        camera.look_at = middle
        camera.position = middle + reach * np.array([1.15, -1.3, 0.65])
        camera.fov = np.deg2rad(45)
        camera.near, camera.far = 1e-3 * self.size, max(1000.0, 50 * reach)

    def look_from(self, azimuth: float | None, elevation: float | None, distance: float) -> None:
        """The same from elsewhere, in degrees, from the x axis and above the floor; `distance` times as far."""
        camera = self.server.initial_camera
        away = camera.position - self.looked_at
        length = float(np.linalg.norm(away))
        around = np.arctan2(away[1], away[0]) if azimuth is None else np.deg2rad(azimuth)
        above = np.arcsin(away[2] / length) if elevation is None else np.deg2rad(elevation)
        towards = np.array([np.cos(above) * np.cos(around), np.cos(above) * np.sin(around), np.sin(above)])
        camera.position = self.looked_at + distance * length * towards

    def _middle(self, placements: np.ndarray) -> np.ndarray:
        joints = [joint for joint in self.bodies if joint]
        return placements[joints, :, 3].mean(axis=0) if joints else np.zeros(3)
