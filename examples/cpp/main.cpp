// A ball falls on a floor: its height beside the closed form of the discrete step, and where it comes to rest.
#include <coal/shape/geometric_shapes.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "taut/simulation/simulator.hpp"

int main() {
  const double radius = 0.1, height = 0.5, mass = 1.0, dt = 1e-3, g = 9.81;

  auto scene = std::make_shared<taut::Scene>();
  taut::add_floor(*scene, 0.0, {.friction = 0.8});
  const pinocchio::SE3 start(Eigen::Matrix3d::Identity(), Eigen::Vector3d(0.0, 0.0, height + radius));
  const auto ball = taut::add_free_body(*scene, "ball", pinocchio::Inertia::FromSphere(mass, radius), start);
  taut::add_shape(*scene, ball, "ball", std::make_shared<coal::Sphere>(radius), pinocchio::SE3::Identity());

  taut::Simulator simulator(scene, {.dt = dt});
  Eigen::VectorXd q = scene->q0, v = Eigen::VectorXd::Zero(scene->model.nv);
  double worst = 0.0;
  for (int k = 1; k <= 1000; ++k) {
    const taut::Record& step = simulator.step(q, v);
    q = step.q_next;
    v = step.v_next;
    worst = std::max(worst, step.report.residuals.worst());
    if (k % 100 == 0 && k <= 300) {  // the velocity first, then the position: k (k + 1) / 2 instead of k² / 2
      const double expected = height - g * dt * dt * k * (k + 1) / 2.0;
      std::printf("t %.1f s   gap %.9f m   expected %.9f m\n", k * dt, q[2] - radius, expected);
    }
  }
  std::printf("t 1.0 s   gap %.1e m, speed %.1e m/s   expected 0 and 0; worst residual %.1e m/s\n", q[2] - radius,
              v.norm(), worst);
  return 0;
}
