"""A stage without a panel, for pages that are saved and for pictures."""

from __future__ import annotations

from .._taut import Scene
from .bodies import typical_weight
from .frame import Frame
from .guard import RANDOM
from .marks import Marks
from .server import close_server, open_server
from .stage import Stage


class Set:
    """A scene and its contacts in a server that nobody is told of; a context manager."""

    def __init__(
        self, scene: Scene, shown: dict[str, bool] | None = None, follow: bool = False, saved: bool = False
    ) -> None:
        """shown: kinds of marks to switch on or off, as in `Marks.shown`. saved: the page goes into a file."""
        self.server = open_server(token=RANDOM, draws=True)
        self.stage = Stage(self.server, scene, saved)
        self.marks = Marks(self.server, self.stage.size, typical_weight(scene))
        self.marks.shown.update(shown or {})
        self.followed = 1 if follow and scene.model.njoints > 1 else None

    def show(self, frame: Frame) -> None:
        with self.server.atomic():
            self.stage.place(frame.q)
            self.stage.follow(self.followed)
            self.marks.show(frame)

    def __enter__(self) -> Set:
        return self

    def __exit__(self, *error: object) -> None:
        close_server(self.server)
