"""Contact impulses in the world's axes."""

from __future__ import annotations

import numpy as np


def contact_frames(normals: np.ndarray) -> np.ndarray:
    """(n, 3, 3): frames (t1, t2, n) in columns for normals (n, 3), the ones taut uses [Duff et al. 2017]."""
    x, y, z = np.asarray(normals, float).reshape(-1, 3).T
    sign = np.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    t1 = np.stack([1.0 + sign * x * x * a, sign * b, -sign * x], axis=-1)
    t2 = np.stack([b, sign + y * y * a, -y], axis=-1)
    return np.stack([t1, t2, np.stack([x, y, z], axis=-1)], axis=-1)


def in_world(normals: np.ndarray, impulses: np.ndarray) -> np.ndarray:
    """(n, 3): impulses (t1, t2, n) of contacts turned to the world's axes."""
    return np.einsum("nij,nj->ni", contact_frames(normals), np.asarray(impulses, float).reshape(-1, 3))
