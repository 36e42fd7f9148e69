"""Ready-made worlds: objects, stacks, robots and mechanisms.

>>> import taut
>>> scene = taut.scenes.make("stack", n=3)
>>> scene.model.nv
18
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Any

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
    for option, value in options.items():
        _check(option, str(allowed[option].annotation), value)
    return maker(**options)


def _check(option: str, kind: str, value: Any) -> None:
    """Numbers are numbers, and finite; their sign and size are the maker's to judge."""
    if value is None and "None" in kind:
        return
    if "int" in kind and not isinstance(value, Integral):
        raise TypeError(f"{option} is {value!r}, expected a whole number")
    if "float" in kind:
        if not isinstance(value, Real):
            raise TypeError(f"{option} is {value!r}, expected a number")
        if not math.isfinite(value):
            raise ValueError(f"{option} is {value}, it must be finite")


def path(name: str) -> Path:
    """The file behind a robot's scene."""
    if name not in robots.FILES:
        raise ValueError(f"scene '{name}' is not read from a file; these are: {', '.join(robots.FILES)}")
    return robots.file_of(name)


__all__ = ["describe", "make", "names", "path"]
