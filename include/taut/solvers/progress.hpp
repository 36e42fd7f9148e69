#pragma once

#include <cmath>

#include "taut/math/dense.hpp"
#include "taut/solvers/report.hpp"

namespace taut {

/// The best iterate of a solve so far, and whether the solve still gets anywhere.
class Progress {
 public:
  /// `start` is the judge's of `lambda`, which is copied to `best`. A solve that has not gained the share `gain` within
  /// `patience` iterations has stalled.
  Progress(double tolerance, double gain, int patience, const Residuals& start, const ConstVectorRef& lambda,
           VectorView best)
      : tolerance_(tolerance), keep_(1.0 - gain), patience_(patience), best_(best), reference_(start.worst()) {
    residuals_ = start;
    best_ = lambda;
  }

  /// Takes a judged iterate into account; true if the solve is over, with `status()` saying how.
  bool note(int iteration, const Residuals& judged, const ConstVectorRef& lambda) {
    // Equal ones too: where one block cannot be satisfied it pins the worst, and the others still improve.
    if (judged.worst() <= residuals_.worst() && std::isfinite(judged.worst())) {
      residuals_ = judged;
      best_ = lambda;
    }
    if (judged.worst() <= tolerance_) {
      status_ = Status::converged;
      return true;
    }
    if (residuals_.worst() < keep_ * reference_) {
      reference_ = residuals_.worst();
      reference_iteration_ = iteration;
    } else if (iteration - reference_iteration_ >= patience_) {
      status_ = Status::stalled;
      return true;
    }
    return false;
  }

  void stall() { status_ = Status::stalled; }

  Status status() const { return status_; }  ///< `iteration_limit` until something else is known
  const Residuals& residuals() const { return residuals_; }
  double worst() const { return residuals_.worst(); }
  const VectorView& best() const { return best_; }

 private:
  double tolerance_, keep_;
  int patience_;
  VectorView best_;
  Residuals residuals_;
  double reference_;
  int reference_iteration_ = 0;
  Status status_ = Status::iteration_limit;
};

}  // namespace taut
