"""Mechanisms with kinematic loops: drawn once, simulated in maximal or in reduced coordinates, or written as MJCF.

>>> from taut.mechanisms import Sketch
>>> sketch = Sketch()
>>> ground = sketch.box("ground", 1.0, (0, 0, 1), (0.2, 0.04, 0.04))
>>> sketch.weld(ground)
>>> swing = sketch.rod("swing", 1.0, (0, 0, 1), (0.3, 0, 1))
>>> sketch.joint("pivot", "hinge", ground, swing, (0, 0, 1), (0, 1, 0))
>>> mechanism = sketch.mechanism()
>>> [mechanism.scene(coordinates).model.nv for coordinates in ("maximal", "reduced")]
[12, 1]
"""

from .description import Body, Joint, Mechanism
from .sketch import Sketch

__all__ = ["Body", "Joint", "Mechanism", "Sketch"]
