#include "taut/solvers/sparse_system.hpp"

namespace taut {

bool SparseSystem::order(const Problem& problem) {
  block_of_.resize(static_cast<std::size_t>(problem.rows()));
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    for (int r = 0; r < block.size; ++r) block_of_[static_cast<std::size_t>(block.start + r)] = i;
  }
  begin_.assign(1, 0);
  neighbours_.clear();
  for (int j = 0; j < problem.size(); ++j) {
    for_each_touched(problem, j, [&](int i, const double*) { neighbours_.push_back(i); });
    begin_.push_back(static_cast<int>(neighbours_.size()));
  }
  return ordering_.run(begin_, neighbours_, limit);
}

}  // namespace taut
