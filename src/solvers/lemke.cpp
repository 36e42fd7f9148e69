#include "taut/solvers/lemke.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "taut/math/interruption.hpp"

namespace taut {
namespace {

constexpr double kSmallestPivot = 1e-7;  // below it a coefficient counts as zero: rounding errors grow with 1/pivot
constexpr double kTie = 1e-9;            // ratios closer than this count as equal

}  // namespace

void Lemke::reserve(int unknowns) {
  const auto n = static_cast<std::size_t>(unknowns);
  if (place_.size() > 2 * n) return;
  data_.resize(n * (n + 1));
  coefficients_.resize(n * (n + 1));
  value_.resize(n);
  basic_.resize(n);
  nonbasic_.resize(n + 1);
  place_.resize(2 * n + 1);
  candidates_.resize(n);
  stays_.resize(n);
}

void Lemke::resize(int unknowns) {
  reserve(unknowns);
  unknowns_ = unknowns;
}

double Lemke::z(int i) const {
  const int row = place_[unknowns_ + i];
  return row >= 0 ? std::max(0.0, value_[row]) : 0.0;
}

void Lemke::start() {
  const int n = unknowns_;
  std::copy_n(data_.data(), static_cast<std::ptrdiff_t>(n) * n, coefficients_.data());
  std::fill_n(coefficients(n), n, 1.0);
  std::copy_n(column(n), n, value_.data());
  for (int i = 0; i < n; ++i) {
    basic_[i] = i;
    nonbasic_[i] = n + i;
    place_[i] = i;
    place_[n + i] = -1 - i;
  }
  nonbasic_[n] = artificial();
  place_[artificial()] = -1 - n;
}

// Solves the row for the column's variable and puts it into the other rows.
void Lemke::exchange(int row, int col) {
  const int n = unknowns_;
  may_interrupt(n);
  double* entering = coefficients(col);
  const double inverse = 1.0 / entering[row];
  const auto eliminate = [&](double* other) {
    const double share = -other[row] * inverse;
    if (share == 0.0) return;
    for (int i = 0; i < n; ++i) other[i] += share * entering[i];
    other[row] = share;
  };
  for (int j = 0; j <= n; ++j) {
    if (j != col) eliminate(coefficients(j));
  }
  eliminate(value_.data());
  for (int i = 0; i < n; ++i) entering[i] *= inverse;
  entering[row] = inverse;

  std::swap(basic_[row], nonbasic_[col]);
  place_[basic_[row]] = row;
  place_[nonbasic_[col]] = -1 - col;
}

void Lemke::refresh() {
  const int n = unknowns_;
  int missing = 0;
  for (int variable = n; variable <= artificial(); ++variable) {
    if (place_[variable] >= 0) candidates_[missing++] = variable;
  }
  for (int i = 0; i < n; ++i) stays_[i] = place_[i] >= 0;
  start();
  while (missing > 0) {
    int row = -1, next = 0;
    double largest = 0.0;
    for (int k = 0; k < missing; ++k) {
      const double* entering = coefficients(-1 - place_[candidates_[k]]);
      for (int i = 0; i < n; ++i) {
        if (std::abs(entering[i]) > largest && basic_[i] < n && !stays_[basic_[i]]) {
          largest = std::abs(entering[i]);
          row = i;
          next = k;
        }
      }
    }
    if (row < 0) return;  // not a basis but for rounding; what is missing stays zero
    exchange(row, -1 - place_[candidates_[next]]);
    candidates_[next] = candidates_[--missing];
  }
}

// q_j is thought to be larger by εʲ. What this adds to the value of a row, as the coefficient of εʲ.
double Lemke::tie_breaker(int row, int perturbed) const {
  const int at = place_[perturbed];
  if (at >= 0) return at == row ? 1.0 : 0.0;
  return -coefficients_[static_cast<std::size_t>(-1 - at) * unknowns_ + row];
}

// The first row to reach zero as the column's variable grows, or −1 if none does.
int Lemke::leaving_row(int col) {
  const double* entering = coefficients(col);
  const auto keep_smallest = [&](int count, const auto& ratio) {
    double least = std::numeric_limits<double>::infinity();
    for (int k = 0; k < count; ++k) least = std::min(least, ratio(candidates_[k]));
    int kept = 0;
    for (int k = 0; k < count; ++k) {
      if (ratio(candidates_[k]) <= least + kTie) candidates_[kept++] = candidates_[k];
    }
    return kept;
  };
  int count = 0;
  for (int i = 0; i < unknowns_; ++i) {
    if (entering[i] < -kSmallestPivot) candidates_[count++] = i;
  }
  count = keep_smallest(count, [&](int i) { return std::max(0.0, value_[i]) / -entering[i]; });
  for (int k = 0; k < count; ++k) {
    if (basic_[candidates_[k]] == artificial()) return candidates_[k];
  }
  for (int j = 0; j < unknowns_ && count > 1; ++j) {
    count = keep_smallest(count, [&](int i) { return tie_breaker(i, j) / -entering[i]; });
  }
  return count > 0 ? candidates_[0] : -1;
}

Lemke::End Lemke::run(int max_pivots, int cadence) {
  start();
  pivots_ = 0;
  int row = -1;
  for (int i = 0; i < unknowns_; ++i) {
    if (value_[i] < 0.0 && (row < 0 || value_[i] <= value_[row])) row = i;  // the last of equals: its ε is the smallest
  }
  if (row < 0) return End::solution;
  int col = unknowns_;
  while (pivots_ < max_pivots) {
    const int left = basic_[row];
    exchange(row, col);
    ++pivots_;
    if (left == artificial()) return End::solution;
    if (cadence > 0 && pivots_ % cadence == 0) refresh();
    // Negative where a refresh met what is no basis: the variable is still in.
    col = -1 - place_[complement(left)];
    row = col >= 0 ? leaving_row(col) : -1;
    if (row < 0) return End::ray;
  }
  return End::limit;
}

}  // namespace taut
