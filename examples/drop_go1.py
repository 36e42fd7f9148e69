"""A Go1 dropped from half a metre with its joints held by PD lands at √(2 h / g) and ends standing on its feet."""

import math

import numpy as np

import taut

height, dt, g = 0.5, 1e-3, 9.81
scene = taut.scenes.make("go1")
stand = np.array(scene.q0)
sim = taut.Simulator(scene, dt=dt)
nv = scene.model.nv
sim.hold(stand, kp=np.full(nv, 250.0), kd=np.full(nv, 12.5))  # N m/rad, N m s/rad: implicit, so stable at any step

q, v = np.array(stand), np.zeros(nv)
q[2] += height
landing, worst, wrong = math.nan, 0.0, 0
for k in range(3000):
    step = sim.step(q, v)
    q, v = step.q, step.v
    worst = max(worst, step.report.residuals.worst)
    wrong += step.report.status != "converged"
    if step.contacts and math.isnan(landing):
        landing = k * dt

mass = sum(inertia.mass for inertia in scene.model.inertias)
support = sum(n for *_, n in (c.frame @ i for c, i in zip(step.contacts, step.impulses, strict=True))) / dt
feet = {c.pair for c in step.contacts}
print(f"first contact      {landing:.3f} s       expected {math.sqrt(2 * height / g):.3f} s")
print(f"feet on the floor  {len(feet)}             expected 4")
print(f"base height        {q[2]:.4f} m      held pose {stand[2]:.4f} m, less what the PD gives way")
print(f"support            {support:.4f} N    weight {mass * g:.4f} N")
print(f"speed              {np.abs(v).max():.1e}       expected 0")
print(f"judge, all steps   {worst:.1e} m/s   tolerance {sim.tolerance:.0e} m/s, {wrong} steps not converged")
