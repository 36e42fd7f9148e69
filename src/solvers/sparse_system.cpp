#include "taut/solvers/sparse_system.hpp"

namespace taut {

bool SparseSystem::order(const Problem& problem, Of blocks) {
  block_of_.resize(static_cast<std::size_t>(problem.rows()));
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    for (int r = 0; r < block.size; ++r) block_of_[static_cast<std::size_t>(block.start + r)] = i;
  }
  const auto counts = [&](int i) { return blocks == Of::all || problem.blocks[i].kind == SetKind::free; };
  begin_.assign(1, 0);
  neighbours_.clear();
  for (int j = 0; j < problem.size(); ++j) {
    // A block that is left out has no neighbours and comes somewhere at the beginning.
    for_each_touched(problem, j, [&](int i, const double*) {
      if (counts(i) && counts(j)) neighbours_.push_back(i);
    });
    begin_.push_back(static_cast<int>(neighbours_.size()));
  }
  return ordering_.run(begin_, neighbours_, limit);
}

}  // namespace taut
