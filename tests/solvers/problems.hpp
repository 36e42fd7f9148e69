#pragma once

#include <Eigen/Core>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "taut/problem/owned_problem.hpp"
#include "taut/solvers/solver.hpp"

namespace taut::testing {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

/// The methods that solve the exact law.
inline constexpr const char* kMethods[] = {"auto",    "pgs",     "nbgs",     "staggered", "admm",
                                           "admm_la", "admm_fp", "proximal", "newton"};

/// Every method of every model.
inline std::vector<std::string> all_methods() {
  std::vector<std::string> names;
  for (const SolverInfo& info : solvers()) names.emplace_back(info.name);
  return names;
}

struct Solution {
  VectorXd lambda, velocity;
  SolveReport report;
};

inline Solution solve(const std::string& method, const OwnedProblem& problem, double tolerance) {
  Solution s{VectorXd::Zero(problem.g.size()), VectorXd::Zero(problem.g.size()), {}};
  s.report = Solver(method, {.tolerance = tolerance}).solve(problem.view(), s.lambda, s.velocity);
  return s;
}

/// Contacts of friction μ seen by the rows of J, with inverse masses and a velocity before contact.
inline OwnedProblem contacts(const MatrixXd& J, const VectorXd& inverse_mass, const VectorXd& v, double mu) {
  const int rows = static_cast<int>(J.rows());
  OwnedProblem p{J * inverse_mass.asDiagonal() * J.transpose(), J * v, VectorXd::Zero(rows), {}};
  p.G = (0.5 * (p.G + p.G.transpose())).eval();
  for (int i = 0; i < rows / 3; ++i) p.blocks.push_back({SetKind::cone, 3 * i, 3, mu});
  return p;
}

inline OwnedProblem one_contact(const Matrix3d& G, const Vector3d& g, double mu) {
  return {G, g, VectorXd::Zero(3), {{SetKind::cone, 0, 3, mu}}};
}

inline MatrixXd random_matrix(int rows, int cols, std::mt19937& rng) {
  std::normal_distribution<double> normal;
  return MatrixXd::NullaryExpr(rows, cols, [&] { return normal(rng); });
}

/// Velocity of the point r of a rigid body from its (linear, angular) velocity.
inline Eigen::Matrix<double, 3, 6> point_jacobian(const Vector3d& r) {
  Eigen::Matrix<double, 3, 6> J;
  J << 1, 0, 0, 0, r[2], -r[1],  //
      0, 1, 0, -r[2], 0, r[0],   //
      0, 0, 1, r[1], -r[0], 0;
  return J;
}

/// Cubes of 20 cm stacked on a plane, each touching the one below with four corners: 12 rows against 6 freedoms, hence
/// redundant. The mass grows by `ratio` from one cube to the next above.
inline OwnedProblem stack(int cubes, double ratio, double mu, double jitter, std::mt19937& rng) {
  MatrixXd J = MatrixXd::Zero(12 * cubes, 6 * cubes);
  VectorXd inverse_mass(6 * cubes), v = jitter * random_matrix(6 * cubes, 1, rng);
  double mass = 1.0;
  for (int k = 0; k < cubes; ++k, mass *= ratio) {
    inverse_mass.segment<3>(6 * k).setConstant(1.0 / mass);
    inverse_mass.segment<3>(6 * k + 3).setConstant(150.0 / mass);
    v[6 * k + 2] -= 9.81e-3;
    for (int corner = 0; corner < 4; ++corner) {
      const double x = corner & 1 ? 0.1 : -0.1, y = corner & 2 ? 0.1 : -0.1;
      J.block<3, 6>(12 * k + 3 * corner, 6 * k) = point_jacobian({x, y, -0.1});
      if (k > 0) J.block<3, 6>(12 * k + 3 * corner, 6 * (k - 1)) = -point_jacobian({x, y, 0.1});
    }
  }
  return contacts(J, inverse_mass, v, mu);
}

/// Point feet on legs: full rank, coupled through the trunk.
inline OwnedProblem quadruped(double mu, std::mt19937& rng) {
  MatrixXd J = MatrixXd::Zero(12, 18);
  for (int i = 0; i < 4; ++i) {
    J.block<3, 6>(3 * i, 0) = point_jacobian({i & 1 ? 0.2 : -0.2, i & 2 ? 0.15 : -0.15, -0.3});
    J.block<3, 3>(3 * i, 6 + 3 * i) = 0.3 * Matrix3d::Identity() + 0.05 * random_matrix(3, 3, rng);
  }
  VectorXd inverse_mass(18);
  inverse_mass << VectorXd::Constant(3, 1.0 / 12.0), VectorXd::Constant(3, 1.0 / 0.3),
      VectorXd::Constant(12, 1.0 / 0.03);
  VectorXd v = 0.05 * random_matrix(18, 1, rng);
  v[2] -= 0.1;
  return contacts(J, inverse_mass, v, mu);
}

/// A symmetric, well-conditioned matrix of contact scale.
inline MatrixXd random_spd(int n, std::mt19937& rng) {
  const MatrixXd B = random_matrix(n, 2 * n, rng);
  return B * B.transpose() / n;
}

}  // namespace taut::testing
