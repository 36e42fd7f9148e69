#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "compressed.hpp"
#include "interrupts.hpp"
#include "taut/problem/owned_problem.hpp"
#include "taut/solvers/solver.hpp"

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using taut::Block;
using taut::OwnedProblem;
using taut::SetKind;
using taut::python::ArrayLike;
using taut::python::Integer;
using taut::python::Signals;
using OptionalArray = std::optional<ArrayLike>;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

// --- making problems

// ("cone", mu), "positive" or ("positive",), ("interval", bound), ("free", rows): what `Problem.blocks` returns.
Block block_from(nb::handle given, int i, int start) {
  const std::string where = "blocks[" + std::to_string(i) + "]";
  const bool bare = nb::isinstance<nb::str>(given);
  if (!bare && (!nb::isinstance<nb::sequence>(given) || nb::len(given) == 0 || !nb::isinstance<nb::str>(given[0]))) {
    throw nb::type_error((where + " must be a kind, or a kind and its number").c_str());
  }
  const auto kind = nb::cast<std::string>(bare ? nb::object(nb::borrow(given)) : nb::object(given[0]));
  const std::size_t numbers = bare ? 0 : nb::len(given) - 1;
  const auto number = [&](const char* what) {
    double value = 0.0;
    if (numbers != 1 || !nb::try_cast(nb::object(given[1]), value))
      refuse(where + ": a " + kind + " needs its " + what);
    return value;
  };
  if (kind == "cone") return {.kind = SetKind::cone, .start = start, .size = 3, .mu = number("friction")};
  if (kind == "interval") return {.kind = SetKind::interval, .start = start, .size = 1, .bound = number("bound")};
  if (kind == "positive") {
    if (numbers != 0) refuse(where + ": a positive has no number");
    return {.kind = SetKind::positive, .start = start, .size = 1};
  }
  if (kind != "free") refuse(where + " is '" + kind + "'; kinds are cone, positive, interval and free");
  const double rows = number("number of rows");
  if (!(rows >= 1.0 && rows <= 1e6) || rows != std::floor(rows)) {
    refuse(where + ": a free block of " + std::to_string(rows) + " rows");
  }
  return {.kind = SetKind::free, .start = start, .size = static_cast<int>(rows)};
}

std::vector<Block> blocks_from(const OptionalArray& mu_like, const std::optional<nb::sequence>& given,
                               Eigen::Index rows) {
  if (mu_like.has_value() == given.has_value()) refuse("Problem: give either mu, for contacts only, or blocks");
  std::vector<Block> blocks;
  if (given) {
    int start = 0;
    for (nb::handle item : *given) {
      blocks.push_back(block_from(item, static_cast<int>(blocks.size()), start));
      start += blocks.back().size;
    }
    if (start != rows) {
      refuse("Problem: blocks have " + std::to_string(start) + " rows and g " + std::to_string(rows));
    }
    return blocks;
  }
  if (rows % 3 != 0) refuse("Problem: g has " + std::to_string(rows) + " rows, a contact has three; else give blocks");
  const VectorXd mu = mu_like->broadcast("mu", rows / 3);
  for (Eigen::Index i = 0; i < mu.size(); ++i) {
    blocks.push_back({.kind = SetKind::cone, .start = static_cast<int>(3 * i), .size = 3, .mu = mu[i]});
  }
  return blocks;
}

// A tuple of three is (data, indices, indptr), unless it is the matrix of one contact, written in tuples.
bool is_triple(const nb::object& G, Eigen::Index rows) {
  if (!nb::isinstance<nb::tuple>(G) || nb::len(G) != 3) return false;
  bool square = rows == 3;
  for (nb::handle row : G) square = square && nb::isinstance<nb::sequence>(row) && nb::len(row) == 3;
  return !square;
}

// A sparse matrix stays sparse: nothing of its full size is ever made.
void set_matrix(OwnedProblem& problem, const nb::object& G) {
  const auto rows = static_cast<int>(problem.g.size());
  if (nb::hasattr(G, "tocsc")) {
    const auto [m, n] = nb::cast<std::tuple<long long, long long>>(G.attr("shape"));
    if (m != rows || n != rows) {
      refuse("Problem: G is " + std::to_string(m) + " x " + std::to_string(n) + " but g has " + std::to_string(rows) +
             " rows");
    }
    const nb::object csc = G.attr("tocsc")();
    problem.sparse = taut::python::compressed(csc.attr("data"), csc.attr("indices"), csc.attr("indptr"), rows)
                         .block_sparse(problem.blocks);
  } else if (is_triple(G, rows)) {
    problem.sparse =
        taut::python::transposed(taut::python::compressed(G[0], G[1], G[2], rows)).block_sparse(problem.blocks);
  } else {
    problem.G = ArrayLike{G}.matrix("G", rows, rows);
  }
}

OwnedProblem problem_from(const nb::object& G, const ArrayLike& g, const OptionalArray& mu, const OptionalArray& R,
                          const std::optional<nb::sequence>& blocks) {
  OwnedProblem problem;
  problem.g = g.vector("g");
  const auto rows = problem.g.size();
  problem.R = R ? R->vector("R", rows) : VectorXd(VectorXd::Zero(rows));
  problem.blocks = blocks_from(mu, blocks, rows);
  set_matrix(problem, G);
  taut::validate(problem.view());
  return problem;
}

// --- looking at them

MatrixXd dense_of(const OwnedProblem& problem) {
  if (!problem.is_sparse()) return problem.G;
  const taut::python::Compressed columns = taut::python::columns_of(problem.view());
  MatrixXd G = MatrixXd::Zero(problem.g.size(), problem.g.size());
  for (int c = 0; c < columns.lines(); ++c) {
    for (int k = columns.begin[c]; k < columns.begin[c + 1]; ++k) G(columns.indices[k], c) = columns.values[k];
  }
  return G;
}

VectorXd friction_of(const OwnedProblem& problem) {
  std::vector<double> mu;
  for (const Block& block : problem.blocks) {
    if (block.kind == SetKind::cone) mu.push_back(block.mu);
  }
  return Eigen::Map<const VectorXd>(mu.data(), static_cast<Eigen::Index>(mu.size()));
}

nb::list described(const OwnedProblem& problem) {
  nb::list blocks;
  for (const Block& block : problem.blocks) {
    const char* kind = taut::to_string(block.kind);
    switch (block.kind) {
      case SetKind::cone:
        blocks.append(nb::make_tuple(kind, block.mu));
        break;
      case SetKind::interval:
        blocks.append(nb::make_tuple(kind, block.bound));
        break;
      case SetKind::free:
        blocks.append(nb::make_tuple(kind, block.size));
        break;
      case SetKind::positive:
        blocks.append(nb::make_tuple(kind));
        break;
    }
  }
  return blocks;
}

// --- solving them

struct Solution {
  VectorXd impulse, velocity;
  taut::SolveReport report;
};

// None is the method's own choice, which C++ writes as zero: a zero that somebody gave must not mean the same.
template <class T>
T given_or_zero(const std::optional<T>& value, const char* what) {
  if (value && (!(*value > 0) || !std::isfinite(static_cast<double>(*value))))
    refuse(std::string(what) + " is " + std::to_string(*value) + ", it must be positive");
  return value.value_or(T{0});
}

taut::SolverOptions options_from(double tolerance, const std::optional<Integer>& max_iterations,
                                 std::optional<double> relaxation, const Integer& sides, std::optional<double> alpha,
                                 std::optional<double> rho) {
  return {.tolerance = tolerance,
          .max_iterations = given_or_zero(as_int(max_iterations, "max_iterations"), "max_iterations"),
          .relaxation = given_or_zero(relaxation, "relaxation"),
          .sides = sides.as_int("sides"),
          .alpha = given_or_zero(alpha, "alpha"),
          .rho = given_or_zero(rho, "rho")};
}

VectorXd start_from(const OptionalArray& warm_start, Eigen::Index rows) {
  VectorXd start = warm_start ? warm_start->vector("warm_start", rows) : VectorXd(VectorXd::Zero(rows));
  if (!start.allFinite()) refuse("warm_start is not finite");
  return start;
}

// The solver of this thread's last small problem, for one call: its workspace is worth more than such a solve. What it
// carries from one solve to the next is taken out, so that a call depends on its arguments alone.
class KeptSolver {
 public:
  KeptSolver(const std::string& name, const taut::SolverOptions& options) {
    // Taken away, for the handler of a signal may solve while we do.
    if (kept_ && kept_->name() == name && kept_->options() == options) solver_ = std::move(kept_);
    kept_.reset();
    if (!solver_) solver_.emplace(name, options);
    solver_->set_penalty(0.0);
  }
  ~KeptSolver() { kept_ = std::move(solver_); }
  KeptSolver(const KeptSolver&) = delete;
  KeptSolver& operator=(const KeptSolver&) = delete;

  taut::Solver& operator*() { return *solver_; }

 private:
  static thread_local std::optional<taut::Solver> kept_;
  std::optional<taut::Solver> solver_;
};

thread_local std::optional<taut::Solver> KeptSolver::kept_;

Solution solve(const OwnedProblem& problem, const std::string& name, double tolerance,
               const std::optional<Integer>& max_iterations, const OptionalArray& warm_start,
               std::optional<double> relaxation, const Integer& sides, std::optional<double> alpha,
               std::optional<double> rho) {
  const auto rows = problem.g.size();
  const taut::SolverOptions options = options_from(tolerance, max_iterations, relaxation, sides, alpha, rho);
  Solution solution{start_from(warm_start, rows), VectorXd(rows), {}};
  const auto run = [&](taut::Solver& solver, int room) {
    nb::gil_scoped_release release;
    Signals signals;
    solver.reserve(room);
    solution.report = solver.solve(problem.view(), solution.impulse, solution.velocity);
  };
  constexpr int kKeptRows = 100;
  if (rows <= kKeptRows) {
    KeptSolver solver(name, options);
    run(*solver, kKeptRows);
  } else {
    taut::Solver solver(name, options);
    run(solver, static_cast<int>(rows));
  }
  return solution;
}

VectorXd time_solve(const OwnedProblem& problem, const std::string& name, double tolerance,
                    const std::optional<Integer>& max_iterations, const OptionalArray& warm_start,
                    const Integer& repeats_given, std::optional<double> relaxation, const Integer& sides,
                    std::optional<double> alpha, std::optional<double> rho) {
  using Clock = std::chrono::steady_clock;
  constexpr int kUntimed = 2;  // the first grows the workspace, the second warms the caches
  const auto repeats = static_cast<int>(repeats_given.within("repeats", 1, 100'000'000));
  const auto rows = problem.g.size();
  taut::Solver solver(name, options_from(tolerance, max_iterations, relaxation, sides, alpha, rho));
  const VectorXd start = start_from(warm_start, rows);
  VectorXd impulse(rows), velocity(rows), seconds(repeats);
  nb::gil_scoped_release release;
  Signals signals;
  solver.reserve(static_cast<int>(rows));
  const taut::Problem view = problem.view();
  const double penalty = solver.penalty();
  for (int k = -kUntimed; k < repeats; ++k) {
    impulse = start;
    solver.set_penalty(penalty);  // every solve is the same solve
    const auto before = Clock::now();
    solver.solve(view, impulse, velocity);
    const auto after = Clock::now();
    if (k >= 0) seconds[k] = std::chrono::duration<double>(after - before).count();
  }
  return seconds;
}

template <class Value>
nb::dict by_solver(Value&& value) {
  nb::dict methods;
  for (const auto& info : taut::solvers()) methods[nb::str(info.name.data(), info.name.size())] = value(info);
  return methods;
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
        char text[160];
        std::snprintf(text, sizeof text, "Residuals(primal=%.2e, dual=%.2e, complementarity=%.2e, natural=%.2e)",
                      r.primal, r.dual, r.complementarity, r.natural);
        return std::string(text);
      });

  nb::class_<taut::SolveReport>(m, "Report", "How a solve ended; `residuals` are the judge's.")
      .def_prop_ro(
          "status", [](const taut::SolveReport& r) { return taut::to_string(r.status); },
          "'converged', 'iteration_limit', 'stalled' or 'not_finite'.")
      .def_ro("iterations", &taut::SolveReport::iterations)
      .def_ro("residuals", &taut::SolveReport::residuals, "Of the exact law, whatever law the solver's model has.")
      .def_ro("model_residual", &taut::SolveReport::model_residual,
              "The worst residual of the solver's own model, the one its tolerance is held against.")
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

  nb::class_<OwnedProblem> problem(
      m, "Problem", nb::is_weak_referenceable(),
      "Find impulses with K_mu ∋ λ ⊥ c + Γ(c) ∈ K_mu*, c = (G + R) λ + g. A contact is (t1, t2, normal).");
  problem
      .def(
          "__init__",
          [](OwnedProblem* self, const nb::object& G, const ArrayLike& g, const OptionalArray& mu,
             const OptionalArray& R,
             const std::optional<nb::sequence>& blocks) { new (self) OwnedProblem(problem_from(G, g, mu, R, blocks)); },
          "G"_a, "g"_a, "mu"_a = nb::none(), "R"_a = nb::none(), nb::kw_only(), "blocks"_a = nb::none(),
          "G (rows, rows), symmetric: an array, a scipy.sparse matrix or its (data, indices, indptr) by rows; the last "
          "two are kept sparse. g (rows,). mu (n,) if all are contacts, of three rows each; otherwise blocks in row "
          "order: ('cone', mu), ('positive',), ('interval', bound), ('free', rows). R (rows,): compliance, zero if "
          "not given.")
      .def_prop_ro("G", &dense_of, "(rows, rows), a copy; made on request if the problem is sparse.")
      .def(
          "csr",
          [](const OwnedProblem& p) {
            return taut::python::arrays_of(taut::python::transposed(taut::python::columns_of(p.view())));
          },
          "(data, indices, indptr) of G, as scipy.sparse.csr_array takes them.")
      .def_prop_ro("sparse", &OwnedProblem::is_sparse, "Whether only the blocks of G that are not zero are stored.")
      .def_prop_ro(
          "g", [](const OwnedProblem& p) { return p.g; }, "(rows,), a copy.")
      .def_prop_ro(
          "R", [](const OwnedProblem& p) { return p.R; }, "(rows,), a copy.")
      .def_prop_ro("mu", &friction_of, "Friction of the contacts, in order.")
      .def_prop_ro(
          "kinds",
          [](const OwnedProblem& p) {
            std::vector<std::string> kinds;
            for (const Block& block : p.blocks) kinds.emplace_back(taut::to_string(block.kind));
            return kinds;
          },
          "The set of each block: 'free', 'positive', 'interval' or 'cone'.")
      .def_prop_ro(
          "sizes",
          [](const OwnedProblem& p) {
            std::vector<int> sizes;
            for (const Block& block : p.blocks) sizes.push_back(block.size);
            return sizes;
          },
          "The number of rows of each block.")
      .def_prop_ro("blocks", &described, nb::sig("def blocks(self) -> list[tuple]"),
                   "Kind and number of each block, as the constructor takes them.")
      .def(
          "save",
          [](nb::handle_t<OwnedProblem> self, const std::filesystem::path& path) {
            nb::module_::import_("taut.problem").attr("save")(self, path);
          },
          "path"_a, "Write a file that `load` reads: .npz, or .hdf5 or .h5 for FCLIB's format.")
      .def("__len__", [](const OwnedProblem& p) { return p.blocks.size(); })
      .def("__repr__", [](const OwnedProblem& p) {
        return "Problem(" + std::to_string(p.blocks.size()) + " blocks, " + std::to_string(p.g.size()) + " rows, " +
               (p.is_sparse() ? "sparse" : "dense") + ")";
      });
  problem.attr("load") =
      nb::steal(PyClassMethod_New(nb::cpp_function(
                                      [](nb::handle cls, const std::filesystem::path& path) {
                                        return nb::module_::import_("taut.problem").attr("load")(cls, path);
                                      },
                                      nb::name("load"), nb::scope(problem), "cls"_a, "path"_a,
                                      nb::sig("def load(cls, path: str | os.PathLike) -> Problem"),
                                      "Read a problem: .npz, or .hdf5 or .h5 for FCLIB's format.")
                                      .ptr()));

  m.def(
      "_vector", [](const ArrayLike& x, const std::string& what, int size) { return x.vector(what.c_str(), size); },
      "x"_a.none(), "what"_a, "size"_a, "Numbers as every entry point takes them.");
  const taut::SolverOptions defaults;
  m.def("solve", &solve, "problem"_a, "solver"_a = "auto", "tolerance"_a = defaults.tolerance,
        "max_iterations"_a = nb::none(), "warm_start"_a = nb::none(), "relaxation"_a = nb::none(),
        "sides"_a = defaults.sides, "alpha"_a = nb::none(), "rho"_a = nb::none(),
        "Solve a contact problem. Returns a Solution with impulse, velocity and report. None is the solver's own "
        "choice; what a solver has no use for it ignores.");
  m.def("time_solve", &time_solve, "problem"_a, "solver"_a = "auto", "tolerance"_a = defaults.tolerance,
        "max_iterations"_a = nb::none(), "warm_start"_a = nb::none(), "repeats"_a = 100, "relaxation"_a = nb::none(),
        "sides"_a = defaults.sides, "alpha"_a = nb::none(), "rho"_a = nb::none(),
        "Seconds of each of `repeats` equal solves, (repeats,): the clock stands around the solver alone, whose "
        "workspace two untimed solves have warmed. Options as of `solve`.");
  m.def(
      "residuals",
      [](const OwnedProblem& p, const ArrayLike& impulse) {
        return taut::residuals(p.view(), impulse.vector("impulse", p.g.size()));
      },
      "problem"_a, "impulse"_a, "The judge: how far an impulse is from solving a problem.");
  m.def(
      "solvers", [] { return by_solver([](const auto& info) { return nb::str(info.what.data(), info.what.size()); }); },
      nb::sig("def solvers() -> dict[str, str]"), "Every solver: {name: one line on what it is}.");
  m.def(
      "solver_models", [] { return by_solver([](const auto& info) { return nb::str(taut::to_string(info.model)); }); },
      nb::sig("def solver_models() -> dict[str, str]"),
      "The contact law of every solver: {name: 'NCP', 'CCP', 'LCP' or 'RaiSim'}. Only NCP is the exact one.");
}
