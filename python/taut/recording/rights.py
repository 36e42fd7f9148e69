"""Which model files a recording may have read for it: it may come from a stranger, and names them by their paths."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path

from .._taut import Source, _may_read
from ..loading import TautWarning


def _installed() -> list[str]:
    """Folders of ready-made scenes: what stands there is no secret of this machine."""
    from ..scenes import robots

    found = [robots._robot_data(), robots._gymnasium_assets(), Path(robots.__file__).parent / "data"]
    return [str(folder) for folder in found if folder is not None]


@dataclass(frozen=True)
class Rights:
    """Of one file; what it says of its own rights counts for nothing."""

    file: str
    allow: list[str] = field(default_factory=list)
    trust: bool = False

    def admits(self, path: str) -> bool:
        return _may_read(self.file, path, [*self.allow, *_installed()], self.trust)

    def confine(self, sources: list[Source]) -> list[Source]:
        """Those that may be read, with a warning about the others."""
        kept = []
        for source in sources:
            if not self.admits(source.path):
                warnings.warn(
                    f"{Path(self.file).name}: '{source.path}' is outside of the folders that a recording may read, and"
                    f" is not shown; if it is meant to be, say allow=['{Path(source.path).parent}'], or trust=True",
                    TautWarning,
                    stacklevel=4,
                )
                continue
            folders = [folder for folder in source.package_dirs if self.admits(folder)]
            place = (source.prefix, source.joints_before, source.position, source.quaternion)
            kept.append(Source(source.path, folders, *place, self.allow, self.trust))
        return kept
