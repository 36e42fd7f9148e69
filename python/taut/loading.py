"""Reading robots and worlds from files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence

from ._taut import Scene, _load, _scene_of


class TautWarning(UserWarning):
    """A file asks for something taut does not do."""


def load(
    path: str | os.PathLike[str],
    floor: bool | None = None,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    friction: float | None = None,
    *,
    root: str = "auto",
    srdf: str | os.PathLike[str] = "",
    allow: Sequence[str | os.PathLike[str]] = (),
    trust: bool = False,
    strict: bool = False,
    max_bytes: int | None = None,
) -> Scene:
    """Read a URDF or MJCF file.

    floor         True adds a ground plane at z = 0 unless the file has one.
    package_dirs  where `package://` meshes are looked for, besides the folders above the file.
    friction      replaces every coefficient of the file.
    root          URDF: 'free', 'fixed', or 'auto': fixed if the root link is called world or has no mass.
    srdf          URDF: disabled pairs and named poses; looked for beside the file and in ../srdf if not given.
    allow         folders that includes and meshes may lie in, besides the file's own, its package's and package_dirs.
    trust         True: they may lie anywhere (docs/files.md).
    strict        True: what would be warned about is an error.
    max_bytes     the most the meshes may have together, 256 MiB if not given; the bounds on XML follow from it
                  (docs/decisions/files.md).

    What the file asks for and taut does not do is warned about by name, once, and listed in `scene.warnings`. Where the
    scene was read from stays in `scene.source`.
    """
    scene = read(
        path,
        floor,
        package_dirs,
        friction,
        root=root,
        srdf=srdf,
        allow=allow,
        trust=trust,
        strict=strict,
        max_bytes=max_bytes,
    )
    for what in scene.warnings:
        warnings.warn(f"{os.path.basename(os.fspath(path))}: {what}", TautWarning, stacklevel=2)
    return scene


def read(
    path: str | os.PathLike[str],
    floor: bool | None = None,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    friction: float | None = None,
    *,
    root: str = "auto",
    srdf: str | os.PathLike[str] = "",
    allow: Sequence[str | os.PathLike[str]] = (),
    trust: bool = False,
    strict: bool = False,
    max_bytes: int | None = None,
) -> Scene:
    """`load` that warns about nothing: of files whose gaps are known, or are told in another way."""
    folders = folders_of("package_dirs", package_dirs), folders_of("allow", allow)
    return _load(
        os.fspath(path),
        floor,
        folders[0],
        friction,
        root,
        os.fspath(srdf),
        allow=folders[1],
        trust=trust,
        strict=strict,
        max_bytes=max_bytes,
    )


def folders_of(name: str, folders: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Paths as text. One that is not in a list would be taken for the list of its letters."""
    if isinstance(folders, str | bytes | os.PathLike):
        raise ValueError(f"{name} is {folders!r}, it must be a list of folders: {name}=[{os.fspath(folders)!r}]")
    return [os.fspath(folder) for folder in folders]


def from_pinocchio(model, geometry, friction: float = 0.8) -> Scene:
    """A scene from a pinocchio.Model and GeometryModel, which are copied."""
    return _scene_of(model, geometry, friction)
