"""Ready-made worlds: objects, stacks, robots and mechanisms.

>>> import taut
>>> scene = taut.scenes.make("stack", n=3)
>>> scene.model.nv
18
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

from .._taut import Scene
from . import mechanisms, objects, robots

_MAKERS: dict[str, Callable[..., Scene]] = {**objects.MAKERS, **robots.MAKERS, **mechanisms.MAKERS}


def names() -> list[str]:
    """Every name `make` knows."""
    return list(_MAKERS)


def describe() -> dict[str, str]:
    """{name: one line on what it is}."""
    return {name: (inspect.getdoc(maker) or "").splitlines()[0] for name, maker in _MAKERS.items()}


def make(name: str, **options) -> Scene:
    """The scene called `name`; its options are those of the function in taut.scenes.objects, .robots or
    .mechanisms."""
    try:
        maker = _MAKERS[name]
    except KeyError:
        raise ValueError(f"no scene is named '{name}'; there are {', '.join(_MAKERS)}") from None
    allowed = inspect.signature(maker).parameters
    unknown = [option for option in options if option not in allowed]
    if unknown:
        raise ValueError(f"scene '{name}' has no option '{unknown[0]}'; it has {', '.join(allowed) or 'none'}")
    return maker(**options)


def path(name: str) -> Path:
    """The file behind a robot's scene."""
    if name not in robots.FILES:
        raise ValueError(f"scene '{name}' is not read from a file; these are: {', '.join(robots.FILES)}")
    return robots.file_of(name)


__all__ = ["describe", "make", "names", "path"]
