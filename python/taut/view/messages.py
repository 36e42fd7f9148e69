"""What a page may say to the program: these messages, these types, finite numbers within what a control allows.

viser believes what it is told: any of its messages, any attribute of a control, any number. The page sends no more than
is listed here; everything else is not for this server, or not from its page.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
import viser

FAR = 1e9  # no position, angle or size that a page sends is larger

Vector = tuple[float, float, float]
Name = Annotated[str, msgspec.Meta(max_length=512)]
Word = Annotated[str, msgspec.Meta(max_length=64)]
Length = Annotated[int, msgspec.Meta(ge=0, le=1 << 16)]


class Message(msgspec.Struct, tag_field="type", forbid_unknown_fields=True):
    pass


class Looks(Message, tag="ViewerCameraMessage"):
    wxyz: tuple[float, float, float, float]
    position: Vector
    fov: float
    near: float
    far: float
    image_height: Length
    image_width: Length
    look_at: Vector
    up_direction: Vector


class Value(msgspec.Struct, forbid_unknown_fields=True):
    value: bool | int | float | Name | None


class Sets(Message, tag="GuiUpdateMessage"):
    uuid: Word
    updates: Value


class Commands(Message, tag="CommandTriggerMessage"):
    uuid: Word


class Drags(Message, tag="SceneNodeDragMessage"):
    phase: Literal["start", "update", "end"]
    name: Name
    instance_index: int | None
    start_position: Vector
    start_screen_pos: tuple[float, float]
    end_position: Vector
    end_screen_pos: tuple[float, float]
    button: Literal["left", "middle", "right"]
    modifier: Word | None
    owner: Literal[""] = ""


class Draws(Message, tag="GetRenderResponseMessage"):
    payload: bytes
    render_uuid: Word


ACTS = (Sets, Commands)  # what the program's own threads answer to

_of_pages = msgspec.msgpack.Decoder(Looks | Sets | Commands | Drags)
_of_drawers = msgspec.msgpack.Decoder(Looks | Draws)


def parse(data: bytes | str, draws: bool = False) -> Message:
    """ValueError if it is not a message of a page; `draws`: of a browser that draws pictures for us."""
    if isinstance(data, str):
        raise ValueError("a text, and pages send bytes")
    try:
        return (_of_drawers if draws else _of_pages).decode(data)
    except (msgspec.MsgspecError, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from None


def packed(message: Message) -> bytes:
    """For viser, which sees what was checked and nothing else."""
    return msgspec.msgpack.encode(message)


def checked(message: Message, control: Callable[[str], Any]) -> Message | None:
    """What is left of it that makes sense; `control` finds those of the panel."""
    if isinstance(message, Sets):
        value = value_for(control(message.uuid), message.updates.value)
        return None if value is None else Sets(message.uuid, Value(value))
    fields = (getattr(message, name) for name in message.__struct_fields__)
    return message if all(map(_finite, fields)) else None


def value_for(control: Any, value: Any) -> Any:
    """The value that a control takes for this one, or None."""
    if getattr(control, "disabled", False):
        return None
    match control:
        case viser.GuiButtonHandle():
            return True
        case viser.GuiCheckboxHandle():
            return value if isinstance(value, bool) else None
        case viser.GuiDropdownHandle():
            return value if isinstance(value, str) and value in control.options else None
        case viser.GuiSliderHandle() | viser.GuiNumberHandle():
            return _within(control, value)
    return None  # the panel has no others


def _within(control: Any, value: Any) -> float | int | None:
    """Not refused beyond the ends: they may have moved while it was on its way."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    low = -FAR if control.min is None else control.min
    high = FAR if control.max is None else control.max
    return type(control.value)(min(max(value, low), high))


def _finite(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_finite, value))
    return not isinstance(value, float | int) or abs(value) <= FAR
