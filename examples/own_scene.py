"""A world in code: an incline, three boxes, and what sets the friction of a pair. tan(α) against μ: who slides?"""

import math

import coal
import numpy as np

import taut

slope, g, dt, seconds = math.radians(25.0), 9.81, 1e-3, 0.5
turn = [0.0, math.sin(slope / 2), 0.0, math.cos(slope / 2)]  # x y z w
normal = np.array([math.sin(slope), 0.0, math.cos(slope)])
down = np.array([math.cos(slope), 0.0, -math.sin(slope)])

scene = taut.Scene()
scene.add_shape("incline", coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0), quaternion=turn, friction=0.3)
for k, (name, mu) in enumerate({"wood": 0.4, "rubber": 0.9, "waxed": 0.6}.items()):
    position = 0.05 * normal + np.array([0.0, 0.5 * k, 0.0])
    scene.add_body(name, coal.Box(0.1, 0.1, 0.1), mass=1.0, position=position, quaternion=turn, friction=mu)
scene.set_pair_friction("waxed", "incline", 0.1)  # this pair alone; the rule below is for the others

for rule in ("maximum", "average", "minimum"):
    scene.friction_rule = rule
    sim = taut.Simulator(scene, dt=dt)
    path = sim.rollout(scene.q0, np.zeros(scene.model.nv), steps=round(seconds / dt))
    print(f"rule {rule}: tan(25°) = {math.tan(slope):.3f}")
    for k, name in enumerate(("wood", "rubber", "waxed")):
        mu = scene.pair_friction(name, "incline")
        acceleration = max(0.0, g * (math.sin(slope) - mu * math.cos(slope)))
        expected = acceleration * seconds * (seconds + dt) / 2  # of the discrete step, which moves by the new velocity
        travel = down @ (path.q[-1] - path.q[0])[7 * k : 7 * k + 3]
        print(f"  {name:7s} μ {mu:.3f}   slid {travel:.6f} m   expected {expected:.6f} m")
