#include "taut/solvers/newton.hpp"

#include <gtest/gtest.h>

#include "problems.hpp"

namespace taut::testing {
namespace {

NewtonWorkspace workspace_for(const OwnedProblem& problem) {
  NewtonWorkspace workspace;
  workspace.reserve(static_cast<int>(problem.g.size()));
  return workspace;
}

TEST(IdentifyModes, TellsStickSlipAndBreakApartAtASolution) {
  // Three point masses side by side: slow, fast and leaving.
  OwnedProblem p{MatrixXd::Identity(9, 9), VectorXd(9), VectorXd::Zero(9), {}};
  p.g << 0.01, 0.0, -0.1, 1.0, 0.0, -0.1, 0.0, 0.0, 0.1;
  for (int i = 0; i < 3; ++i) p.blocks.push_back({SetKind::cone, 3 * i, 3, 0.5});
  const Solution s = solve("pgs", p, 1e-12);
  NewtonWorkspace workspace = workspace_for(p);
  identify_modes(p.view(), s.lambda, s.velocity, workspace);
  EXPECT_EQ(workspace.blocks[0].mode, Mode::closed);
  EXPECT_EQ(workspace.blocks[1].mode, Mode::sliding);
  EXPECT_EQ(workspace.blocks[2].mode, Mode::open);
  EXPECT_EQ(workspace.unknowns, 3 + 2);
}

TEST(Newton, SolvesInOneStepWhenTheModesAreRightAndStick) {  // the equations are linear then
  std::mt19937 rng(41);
  const MatrixXd G = random_spd(6, rng);
  VectorXd lambda(6), velocity(6);
  lambda << 0.1, 0.0, 1.0, 0.0, -0.1, 2.0;
  const OwnedProblem p{G, -G * lambda, VectorXd::Zero(6), {{SetKind::cone, 0, 3, 0.8}, {SetKind::cone, 3, 3, 0.8}}};
  lambda *= 0.999;  // a step earlier
  NewtonWorkspace workspace = workspace_for(p);
  const SolveReport report = Newton({.tolerance = 1e-8, .damping = 1e-12}).solve(p.view(), workspace, lambda, velocity);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.iterations, 1);
}

TEST(Linearize, GivesTheDerivativeOfASlidingContact) {
  std::mt19937 rng(6);
  const double mu = 0.3, h = 1e-6;
  const Matrix3d G = random_spd(3, rng);
  const Vector3d direction(0.6, 0.8, 0.0), at = 0.7 * (Vector3d::UnitZ() - mu * direction);
  const OwnedProblem p = one_contact(G, 0.25 * direction - G * at, mu);  // slides at 0.25 m/s, well inside its mode
  const Solution s = solve("pgs", p, 1e-14);
  NewtonWorkspace workspace = workspace_for(p);
  ASSERT_TRUE(linearize(p.view(), s.lambda, s.velocity, 0.0, workspace));
  ASSERT_EQ(workspace.unknowns, 2);
  const auto& lin = workspace.blocks[0];
  const Vector3d along(mu * lin.d[0], mu * lin.d[1], 1.0), across(-lin.d[1], lin.d[0], 0.0);

  for (int k = 0; k < 3; ++k) {
    const Vector3d dg = Vector3d::Unit(k);
    Eigen::Vector2d u(-dg[2], -lin.turn * across.dot(dg));
    lu_solve(workspace.reduced(), workspace.pivots, u.data());
    OwnedProblem plus = p, minus = p;
    plus.g += h * dg;
    minus.g -= h * dg;
    const VectorXd difference = (solve("pgs", plus, 1e-14).lambda - solve("pgs", minus, 1e-14).lambda) / (2.0 * h);
    // The solver's 1e-14 over h is 1e-8; truncation is smaller.
    EXPECT_LT((along * u[0] + across * u[1] - difference).norm(), 1e-6) << k;
  }
}

}  // namespace
}  // namespace taut::testing
