"""Recordings as messages: ROS 2 definitions with CDR, which streaming tools know, as numpy types.

A message that has the same layout in every step is a row of a structured array, so that thousands are written and read
at once; contacts have a layout for each number of them. Layouts need no padding but what is named here: CDR aligns
numbers to their size, counted from the end of its four bytes of encapsulation. [OMG CDR, 15.3; MCAP, Message]
"""

from __future__ import annotations

import math

import numpy as np

STATE, REPORT, CONTACTS, RESTART = 1, 2, 3, 4  # channels, and the schemas of the same number

TOPICS = {STATE: "/state", REPORT: "/report", CONTACTS: "/contacts", RESTART: "/restart"}
NAMES = {
    STATE: "taut_msgs/msg/State",
    REPORT: "taut_msgs/msg/Report",
    CONTACTS: "taut_msgs/msg/Contacts",
    RESTART: "taut_msgs/msg/State",
}

_STATE = "# A configuration and a velocity, as Pinocchio has them.\nfloat64[] q\nfloat64[] v\n"
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
# Point and normal (to the first body of the pair) in the world, impulse on that body as (t1, t2, n), N s, gap in m.
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
DEFINITIONS = {STATE: _STATE, REPORT: _REPORT, CONTACTS: _CONTACTS, RESTART: _STATE}

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


def state_type(nq: int, nv: int) -> np.dtype:
    q = [("q_size", "<u4"), ("q_pad", "<u4"), ("q", "<f8", (nq,))]
    v = [("v_size", "<u4"), ("v_pad", "<u4"), ("v", "<f8", (nv,))]
    return np.dtype([*HEAD, *q, *v])


def contacts_type(count: int) -> np.dtype:
    """Of a message with so many contacts."""
    size = [("size", "<u4")]
    return np.dtype([*HEAD, *size, ("pad", "<u4"), ("rows", CONTACT_TYPE, (count,))] if count else [*HEAD, *size])


class Messages:
    """Records of MCAP for messages of one layout, as rows of bytes: copying whole rows is what numpy does fastest."""

    def __init__(self, dtype: np.dtype, channel: int, sequence: np.ndarray, time: np.ndarray) -> None:
        """Everything but the fields of the message. time in ns."""
        self.dtype, self.channel, self.time = dtype, channel, time
        row = np.zeros((), dtype)
        row["op"], row["length"], row["channel"], row["cdr"] = 5, dtype.itemsize - 9, channel, CDR_LITTLE
        self.rows = np.empty((len(sequence), dtype.itemsize), np.uint8)
        self.rows[:] = np.frombuffer(row.tobytes(), np.uint8)
        self["sequence"], self["log_time"], self["publish_time"] = sequence, time, time

    def __setitem__(self, field: str, values: np.ndarray | int) -> None:
        kind, at = self.dtype.fields[field][:2]
        if np.ndim(values) == 0:
            values = np.full(len(self.rows), values)
        self.rows[:, at : at + kind.itemsize] = as_bytes(values, kind.base)


def as_bytes(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Each row of an array as a row of bytes."""
    packed = np.ascontiguousarray(values, dtype)
    return packed.reshape(-1).view(np.uint8).reshape(len(values), dtype.itemsize * math.prod(packed.shape[1:]))


def fill_contacts(made: Messages, count: int, piece: dict[str, np.ndarray], rows: np.ndarray | slice) -> None:
    """The contacts of messages with `count` of them each: those rows of the piece, in order."""
    at = made.dtype.fields["rows"][1]
    space = made.rows[:, at:].reshape(len(made.rows), count, CONTACT_TYPE.itemsize)
    for name, (kind, offset, *_) in CONTACT_TYPE.fields.items():
        values = as_bytes(piece[name][rows], kind.base)
        space[:, :, offset : offset + kind.itemsize] = values.reshape(len(made.rows), count, kind.itemsize)
