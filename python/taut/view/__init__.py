"""A page in the browser that shows a scene, its contacts and its forces (extra `view`: viser)."""

from __future__ import annotations

try:
    import viser as _viser  # noqa: F401
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise ImportError("the viewer needs viser: pip install 'taut[view]'") from error

from . import export
from .live import LivePlayer
from .page import Page
from .replay import RecordingPlayer
from .watch import Watch

__all__ = ["LivePlayer", "Page", "RecordingPlayer", "Watch", "export"]
