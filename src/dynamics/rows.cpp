#include "taut/dynamics/rows.hpp"

namespace taut {

void Rows::clear() {
  rows_ = 0;
  blocks_.clear();
  first_arm_.assign(1, 0);
  arms_.clear();
  jacobian_.clear();
  half_.clear();
  bias_.clear();
  compliance_.clear();
}

void Rows::reserve(int rows, int coefficients) {
  blocks_.reserve(rows);
  first_arm_.reserve(rows + 1);
  arms_.reserve(2 * rows);
  jacobian_.reserve(coefficients);
  half_.reserve(coefficients);
  bias_.reserve(rows);
  compliance_.reserve(rows);
}

void Rows::add_block(Block block) {
  block.start = rows_;
  rows_ += block.size;
  blocks_.push_back(block);
  first_arm_.push_back(first_arm_.back());
  bias_.resize(rows_, 0.0);
  compliance_.resize(rows_, 0.0);
}

Rows::Map Rows::add_arm(int joint, int depth) {
  const int block = static_cast<int>(blocks_.size()) - 1;
  const Arm arm{joint, block, depth, static_cast<int>(jacobian_.size())};
  arms_.push_back(arm);
  ++first_arm_.back();
  jacobian_.resize(jacobian_.size() + static_cast<std::size_t>(blocks_[block].size) * depth);
  half_.resize(jacobian_.size());
  return {jacobian_.data() + arm.offset, blocks_[block].size, depth};
}

Eigen::Ref<Eigen::VectorXd> Rows::last_bias() {
  const Block& block = blocks_.back();
  return bias().segment(block.start, block.size);
}

Eigen::Ref<Eigen::VectorXd> Rows::last_compliance() {
  const Block& block = blocks_.back();
  return compliance().segment(block.start, block.size);
}

}  // namespace taut
