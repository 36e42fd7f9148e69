#pragma once

#include "taut/problem/problem.hpp"

namespace taut {

/// Up to this many rows a sparse problem is factored like a dense one; above it no dense matrix is built.
inline constexpr int kFactoredRows = 1'200;

/// Whether a method that solves linear systems factors those of this problem, or iterates.
inline bool factors(const Problem& problem) { return !problem.G.is_sparse() || problem.rows() <= kFactoredRows; }

}  // namespace taut
