"""A cube pushed across a floor stops after v0²/(2 μ g), whatever the direction. How close does a step of 1 ms come?"""

import math

import numpy as np

import taut

v0, mu, g, dt = 1.0, 0.4, 9.81, 1e-3
sim = taut.Simulator(taut.scenes.make("sliding_cube", mu=mu), dt=dt, tolerance=1e-10)
q0 = sim.scene.q0

# Every step takes μ g dt off the speed and then moves by the new one: a sum that has a closed form too.
brake = mu * g * dt
steps = math.floor(v0 / brake)
discrete = dt * (steps * v0 - brake * steps * (steps + 1) / 2)
print(f"continuous v0²/(2 μ g) {v0**2 / (2 * mu * g):.6f} m   discrete sum {discrete:.6f} m")

for degrees in (0, 30, 45, 77):
    angle = math.radians(degrees)
    sim.reset()  # another run: nothing remembered
    path = sim.rollout(q0, [v0 * math.cos(angle), v0 * math.sin(angle), 0, 0, 0, 0], steps=500)
    travel = path.q[-1][:2] - q0[:2]
    turned = math.degrees(math.atan2(travel[1], travel[0])) - degrees
    print(
        f"push at {degrees:2d}°: stops after {np.linalg.norm(travel):.6f} m, off its direction by {turned:+.1e}°, "
        f"last speed {np.linalg.norm(path.v[-1]):.1e} m/s"
    )
