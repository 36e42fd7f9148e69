"""Recordings as messages: ROS 2 definitions with CDR, which streaming tools know, as numpy types.

A message that has the same layout in every step is a row of a structured array, so that thousands are written and read
at once; contacts have a layout for each number of them. Layouts need no padding but what is named here: CDR aligns
numbers to their size, counted from the end of its four bytes of encapsulation. [OMG CDR, 15.3; MCAP, Message]
"""

from __future__ import annotations

import numpy as np

STATE, REPORT, CONTACTS, RESTART, INPUT = 1, 2, 3, 4, 5  # channels, and the schemas of the same number

TOPICS = {STATE: "/state", REPORT: "/report", CONTACTS: "/contacts", RESTART: "/restart", INPUT: "/input"}
NAMES = {
    STATE: "taut_msgs/msg/State",
    REPORT: "taut_msgs/msg/Report",
    CONTACTS: "taut_msgs/msg/Contacts",
    RESTART: "taut_msgs/msg/State",
    INPUT: "taut_msgs/msg/Input",
}

_STATE = "# A configuration and a velocity, as Pinocchio has them.\nfloat64[] q\nfloat64[] v\n"
_INPUT = "# Torques and controls a step was given.\nfloat64[] tau\nfloat64[] control\n"
_REPORT = """# How a step was solved. status: 0 converged, 1 iteration limit, 2 stalled, 3 not finite.
int32 status
int32 iterations
float64 primal
float64 dual
float64 complementarity
float64 natural
float64 model_residual
"""
_CONTACTS = f"""# The contacts of a step.
taut_msgs/Contact[] contacts
{"=" * 80}
MSG: taut_msgs/Contact
# Point and normal in the world, impulse as (t1, t2, n), N s, gap in m. The normal points to the body the impulse acts
# on: that of the pair's first shape, or of the second, if the first one belongs to the world.
# mode: 0 breaking, 1 sticking, 2 sliding.
float64[3] point
float64[3] normal
float64[3] impulse
float64 gap
float64 mu
int32 pair
int16 slot
int16 mode
"""
DEFINITIONS = {STATE: _STATE, REPORT: _REPORT, CONTACTS: _CONTACTS, RESTART: _STATE, INPUT: _INPUT}

# A record of MCAP that holds a message, up to its content, and the encapsulation: little endian.
HEAD = [
    ("op", "u1"),
    ("length", "<u8"),
    ("channel", "<u2"),
    ("sequence", "<u4"),
    ("log_time", "<u8"),
    ("publish_time", "<u8"),
    ("cdr", "<u4"),
]
MESSAGE = 0x05  # the kind of such a record
CDR_LITTLE = 0x00000100  # 00 01 00 00 as bytes
REPORT_TYPE = np.dtype([*HEAD, ("status", "<i4"), ("iterations", "<i4"), ("residuals", "<f8", 4), ("model", "<f8")])
CONTACT_TYPE = np.dtype(
    [
        ("points", "<f8", 3),
        ("normals", "<f8", 3),
        ("impulses", "<f8", 3),
        ("gaps", "<f8"),
        ("mu", "<f8"),
        ("pairs", "<i4"),
        ("slots", "<i2"),
        ("modes", "<i2"),
    ]
)


def arrays_type(**sizes: int) -> np.dtype:
    """Of a message with arrays of these names and sizes: each begins with its size, four bytes."""
    fields, at = list(HEAD), 0
    for name, size in sizes.items():
        fields.append((f"{name}_size", "<u4"))
        at += 4
        if size and at % 8:
            fields.append((f"{name}_pad", "<u4"))
            at += 4
        fields.append((name, "<f8", (size,)))
        at += 8 * size
    return np.dtype(fields)


def contacts_type(count: int) -> np.dtype:
    """Of a message with so many contacts."""
    size = [("size", "<u4")]
    return np.dtype([*HEAD, *size, ("pad", "<u4"), ("rows", CONTACT_TYPE, (count,))] if count else [*HEAD, *size])


class Arena:
    """Memory for the messages of a piece, which those of the next piece take again: fresh memory costs more than what
    is written into it."""

    def __init__(self) -> None:
        self.space = np.empty(0, np.uint8)
        self.used = 0

    def clear(self) -> None:
        if self.used > len(self.space):
            self.space = np.empty(self.used + self.used // 8, np.uint8)
        self.used = 0

    def rows(self, count: int, width: int) -> np.ndarray:
        begin, self.used = self.used, self.used + count * width
        if self.used > len(self.space):
            return np.empty((count, width), np.uint8)
        return self.space[begin : self.used].reshape(count, width)


class Messages:
    """Records of MCAP for messages of one layout, as rows of a structured array."""

    def __init__(
        self, arena: Arena, dtype: np.dtype, channel: int, sequence: np.ndarray, time: np.ndarray, **same: int
    ) -> None:
        """Everything but the fields that differ from message to message; `same` are those that do not. time in ns."""
        self.dtype, self.channel, self.time = dtype, channel, time
        row = np.zeros((), dtype)
        same |= {"op": MESSAGE, "length": dtype.itemsize - 9, "channel": channel, "cdr": CDR_LITTLE}
        for field, value in same.items():
            row[field] = value
        self.rows = arena.rows(len(sequence), dtype.itemsize)
        self.rows[:] = np.frombuffer(row.tobytes(), np.uint8)
        self["sequence"], self["log_time"], self["publish_time"] = sequence, time, time

    def __setitem__(self, field: str, values: np.ndarray) -> None:
        self.rows.view(self.dtype)[:, 0][field] = values


def fill_contacts(made: Messages, count: int, piece: dict[str, np.ndarray], rows: np.ndarray | slice) -> None:
    """The contacts of messages with `count` of them each: those rows of the piece, in order."""
    space = made.rows.view(made.dtype)[:, 0]["rows"]
    for name in CONTACT_TYPE.names:
        values = piece[name][rows]
        space[name] = values.reshape(len(made.rows), count, *values.shape[1:])
