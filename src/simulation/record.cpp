#include "taut/simulation/record.hpp"

namespace taut {

Problem Record::problem() const {
  const int n = rows.rows();
  return {.G = is_sparse ? BlockMatrix(sparse) : BlockMatrix(ConstMatrixRef(G.topLeftCorner(n, n))),
          .g = g.head(n),
          .R = rows.compliance(),
          .blocks = rows.blocks()};
}

Eigen::Map<const Eigen::Matrix3Xd> Record::contact_impulses() const {
  return {impulse.data(), 3, static_cast<Eigen::Index>(contacts.size())};
}

}  // namespace taut
