#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "taut/problem/owned_problem.hpp"
#include "taut/solvers/solver.hpp"

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using taut::OwnedProblem;
using taut::python::ArrayLike;

struct Solution {
  VectorXd impulse, velocity;
  taut::SolveReport report;
};

const char* to_string(taut::SetKind kind) {
  switch (kind) {
    case taut::SetKind::free:
      return "free";
    case taut::SetKind::positive:
      return "positive";
    case taut::SetKind::interval:
      return "interval";
    case taut::SetKind::cone:
      return "cone";
  }
  return "?";
}

Solution solve(const OwnedProblem& problem, const std::string& name, double tolerance,
               std::optional<int> max_iterations, const std::optional<ArrayLike>& warm_start_like) {
  if (max_iterations && *max_iterations <= 0) {
    throw std::invalid_argument("solve: max_iterations is " + std::to_string(*max_iterations) +
                                ", it must be positive");
  }
  const auto rows = problem.g.size();
  std::optional<VectorXd> warm_start;
  if (warm_start_like) warm_start = warm_start_like->vector("warm_start", rows);
  if (warm_start && !warm_start->allFinite()) throw std::invalid_argument("solve: warm_start is not finite");
  taut::Solver solver(name, {.tolerance = tolerance, .max_iterations = max_iterations.value_or(0)});
  solver.reserve(static_cast<int>(rows));
  Solution solution{warm_start ? *warm_start : VectorXd(VectorXd::Zero(rows)), VectorXd(rows), {}};
  nb::gil_scoped_release release;
  solution.report = solver.solve(problem.view(), solution.impulse, solution.velocity);
  return solution;
}

}  // namespace

void bind_problem(nb::module_& m) {
  nb::class_<taut::Residuals>(m, "Residuals", "What the judge measured: zero for an exact solution.")
      .def_ro("primal", &taut::Residuals::primal, "Distance of the impulses to their sets, N s.")
      .def_ro("dual", &taut::Residuals::dual, "Distance of the corrected velocities to the dual sets, m/s.")
      .def_ro("complementarity", &taut::Residuals::complementarity, "Largest |<impulse, corrected velocity>|, J.")
      .def_ro("natural", &taut::Residuals::natural, "Natural map in velocity units, m/s.")
      .def_prop_ro("worst", &taut::Residuals::worst, "What a tolerance is held against: primal, dual and natural.")
      .def("__repr__", [](const taut::Residuals& r) {
        return "Residuals(primal=" + std::to_string(r.primal) + ", dual=" + std::to_string(r.dual) +
               ", complementarity=" + std::to_string(r.complementarity) + ", natural=" + std::to_string(r.natural) +
               ")";
      });

  nb::class_<taut::SolveReport>(m, "Report", "How a solve ended; `residuals` are the judge's.")
      .def_prop_ro(
          "status", [](const taut::SolveReport& r) { return taut::to_string(r.status); },
          "'converged', 'iteration_limit', 'stalled' or 'not_finite'.")
      .def_ro("iterations", &taut::SolveReport::iterations)
      .def_ro("residuals", &taut::SolveReport::residuals)
      .def("__repr__", [](const taut::SolveReport& r) {
        char text[160];
        std::snprintf(text, sizeof text, "Report(status='%s', iterations=%d, natural=%.2e)", taut::to_string(r.status),
                      r.iterations, r.residuals.natural);
        return std::string(text);
      });

  nb::class_<Solution>(m, "Solution", "Impulses of a problem, the velocities they lead to, and the report.")
      .def_ro("impulse", &Solution::impulse, "(rows,), N s")
      .def_ro("velocity", &Solution::velocity, "(rows,), m/s: (G + R) impulse + g")
      .def_ro("report", &Solution::report);

  nb::class_<OwnedProblem>(
      m, "Problem", nb::is_weak_referenceable(),
      "Find impulses with K_mu ∋ λ ⊥ c + Γ(c) ∈ K_mu*, c = (G + R) λ + g. A contact is (t1, t2, normal).")
      .def(
          "__init__",
          [](OwnedProblem* self, const ArrayLike& G_like, const ArrayLike& g_like, const ArrayLike& mu_like,
             const std::optional<ArrayLike>& R) {
            MatrixXd G = G_like.matrix("G");
            VectorXd g = g_like.vector("g");
            const VectorXd mu = mu_like.vector("mu");
            if (mu.size() * 3 != g.size()) {
              throw std::invalid_argument("Problem: mu has " + std::to_string(mu.size()) + " entries and g " +
                                          std::to_string(g.size()) + "; g needs three per contact");
            }
            OwnedProblem problem = OwnedProblem::contacts(std::move(G), std::move(g), mu);
            if (R) problem.R = R->vector("R", problem.g.size());
            taut::validate(problem.view());
            new (self) OwnedProblem(std::move(problem));
          },
          "G"_a, "g"_a, "mu"_a, "R"_a = nb::none(),
          "Contacts only: G (3n, 3n) symmetric, g (3n,), mu (n,), compliance R (3n,), zero if not given.")
      .def_ro("G", &OwnedProblem::G)
      .def_ro("g", &OwnedProblem::g)
      .def_ro("R", &OwnedProblem::R)
      .def_prop_ro(
          "mu",
          [](const OwnedProblem& p) {
            std::vector<double> mu;
            for (const auto& block : p.blocks) {
              if (block.kind == taut::SetKind::cone) mu.push_back(block.mu);
            }
            return VectorXd(Eigen::Map<const VectorXd>(mu.data(), static_cast<Eigen::Index>(mu.size())));
          },
          "Friction of the contacts, in order.")
      .def_prop_ro(
          "kinds",
          [](const OwnedProblem& p) {
            std::vector<std::string> kinds;
            for (const auto& block : p.blocks) kinds.emplace_back(to_string(block.kind));
            return kinds;
          },
          "The set of each block: 'free', 'positive', 'interval' or 'cone'.")
      .def("__len__", [](const OwnedProblem& p) { return p.blocks.size(); });

  m.def("solve", &solve, "problem"_a, "solver"_a = "auto", "tolerance"_a = taut::SolverOptions{}.tolerance,
        "max_iterations"_a = nb::none(), "warm_start"_a = nb::none(),
        "Solve a contact problem. Returns a Solution with impulse, velocity and report.");
  m.def(
      "residuals",
      [](const OwnedProblem& problem, const ArrayLike& impulse) {
        return taut::residuals(problem.view(), impulse.vector("impulse", problem.g.size()));
      },
      "problem"_a, "impulse"_a, "The judge: how far an impulse is from solving a problem.");
  m.def(
      "solvers",
      [] {
        nb::dict methods;
        for (const auto& info : taut::solvers()) {
          methods[nb::str(info.name.data(), info.name.size())] = nb::str(info.what.data(), info.what.size());
        }
        return methods;
      },
      nb::sig("def solvers() -> dict[str, str]"), "Every solver: {name: one line on what it is}.");
}
