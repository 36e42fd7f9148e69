"""A four-bar of free bodies and hinges that close loops turns for ten seconds. How far does it come apart?"""

import numpy as np

import taut
from taut.mechanisms import Sketch

# Drawn in the world: a frame, and three bars hinged about y. The last hinge closes the loop: 26 rows for 24 degrees of
# freedom, of which 23 are independent. One degree of freedom is left, and no knob was turned for it.
sketch = Sketch()
frame = sketch.box("frame", 1.0, (0.2, 0, 1), (0.4, 0.04, 0.04))
sketch.weld(frame)
crank = sketch.rod("crank", 0.3, (0, 0, 1), (0, 0, 1.2))
coupler = sketch.rod("coupler", 0.5, (0, 0, 1.2), (0.4, 0, 1.4))
rocker = sketch.rod("rocker", 0.5, (0.4, 0, 1.4), (0.4, 0, 1))
for name, one, two, at in (
    ("A", frame, crank, (0, 0, 1)),
    ("B", crank, coupler, (0, 0, 1.2)),
    ("C", coupler, rocker, (0.4, 0, 1.4)),
    ("D", rocker, frame, (0.4, 0, 1)),
):
    sketch.joint(name, "hinge", one, two, at, axis=(0, 1, 0))
mechanism = sketch.mechanism()

for coordinates in ("maximal", "reduced"):
    scene = mechanism.scene(coordinates)
    sim = taut.Simulator(scene, dt=1e-3)
    path = sim.rollout(scene.q0, np.zeros(scene.model.nv), steps=10_000)
    energy = taut.mechanical_energy(scene, path.q, path.v)
    metres, radians = scene.worst_loop_gap(path.q)
    J = scene.loop_jacobian()
    print(
        f"{coordinates}: {scene.model.nv} coordinates, {len(J)} closure rows of rank "
        f"{np.linalg.matrix_rank(J, tol=1e-9)}; open by {metres:.1e} m, {radians:.1e} rad at worst; "
        f"energy {energy[0]:.3f} J, never above {energy.max():.3f} J; "
        f"{sum(report.status == 'converged' for report in path.reports)} of {len(path)} steps certified"
    )
