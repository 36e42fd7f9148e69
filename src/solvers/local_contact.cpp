#include "taut/solvers/local_contact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "taut/math/cones.hpp"
#include "taut/math/quartic.hpp"

namespace taut {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kRounding = 1e-13;  // of the entries of G: what counts as zero after a cancellation

Vector2d quarter_turn(const Vector2d& x) { return {-x[1], x[0]}; }
Vector2d turned(const Vector2d& x, double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  return {c * x[0] - s * x[1], s * x[0] + c * x[1]};
}

// A closed contact seen in the plane c_n = 0, with x = λ_t: velocity c_t = S x + h, cone |x| + q·x ≤ p. The border of
// the cone is a conic with a focus at the origin, x = p u / (1 + q·u) for a direction u: an ellipse if |q| < 1,
// otherwise a branch where 1 + q·u > 0.
//
// The sticking point x_0 = −S⁻¹ h is kept as X / w with w = det S: where S is singular it lies at infinity, and what
// the searches ask of it needs no division. Both are zero where sticking points fill a line.
struct Plane {
  Eigen::Matrix2d S;
  Vector2d h, q, X;
  double p = 0.0, w = 0.0;

  // −adj(S) v: X for v = h.
  Vector2d against(const Vector2d& v) const {
    return {S(0, 1) * v[1] - S(1, 1) * v[0], S(0, 1) * v[0] - S(0, 0) * v[1]};
  }
  double reach(const Vector2d& u) const { return 1.0 + q.dot(u); }
  // c_t on the border, times reach(u).
  Vector2d velocity(const Vector2d& u) const { return p * (S * u) + reach(u) * h; }
  // An angle that leaves r uncertain by 1e-6 of itself: there a search hands over to Newton. RS ends at 1e-6 N s.
  double close(const Vector2d& u) const { return 1e-6 * std::min(1.0, std::abs(reach(u)) / q.norm()); }
  // Of the sign of the energy's slope along the border, whose tangent is the quarter turn of its normal u + q.
  double slope(const Vector2d& u) const { return velocity(u).dot(quarter_turn(u + q)); }
  // Does a straight line lead from x_0 to the border point without crossing the cone [RS, Sec. III-A]? The border bends
  // away where (u + q)·(x_0 − x) < 0, and (u + q)·u = 1 + q·u makes that linear in u. (Alg. 1, l. 13, prints it with
  // the other sign.) The energy has one minimum among the points in sight and it is the minimum.
  bool in_sight(const Vector2d& u) const { return reach(u) > 0.0 && (u + q).dot(X) >= w * p; }
};

Plane plane_of(const LocalContact& contact, double shift) {
  const Eigen::Matrix3d& G = contact.G;
  const Vector2d a(G(0, 2), G(1, 2)), lever = a / G(2, 2);
  Plane plane;
  plane.S = G.topLeftCorner<2, 2>() - lever * a.transpose();
  plane.h = contact.free.head<2>() - (contact.free[2] + shift) * lever;
  plane.p = -contact.mu * contact.free[2] / G(2, 2);
  plane.q = contact.mu * lever;

  const Eigen::Matrix2d& S = plane.S;
  const double rounding = kRounding * (G(0, 0) + G(1, 1)), trace = S.trace();
  if (!(trace > rounding)) plane.S.setZero();
  plane.X = plane.against(plane.h);
  plane.w = S(0, 0) * S(1, 1) - S(0, 1) * S(0, 1);
  if (!(plane.w > rounding * trace)) {
    plane.w = 0.0;
    if (!(plane.X.norm() > 10.0 * rounding * plane.h.norm())) plane.X.setZero();
  }
  return plane;
}

// On a line of sticking points, x_0 + s d with x_0 ⊥ d, the one nearest to the origin that the cone allows.
bool stick_on_line(const Plane& plane, Vector2d& x) {
  const double trace = plane.S.trace();
  x.setZero();
  if (trace > 0.0) x = plane.S * plane.h / (-trace * trace);  // the pseudo-inverse of a matrix of rank one
  const double m = x.norm(), e = plane.p - plane.q.dot(x);
  if (m <= e) return true;
  // |x| = e − k s: its smallest root where the right side is not negative.
  const Vector2d d = quarter_turn(x) / m;
  const double k = plane.q.dot(d), A = 1.0 - k * k, B = e * k, C = m * m - e * e, square = B * B - A * C;
  if (!(square >= 0.0)) return false;
  const double root = -(B + std::copysign(std::sqrt(square), B));
  double best = std::numeric_limits<double>::infinity();
  for (const double s : {root / A, C / root}) {
    if (std::isfinite(s) && e - k * s >= 0.0 && std::abs(s) < std::abs(best)) best = s;
  }
  if (!std::isfinite(best)) return false;
  x += best * d;
  return true;
}

bool stick(const Plane& plane, Vector2d& x) {
  if (plane.w > 0.0) {
    x = plane.X / plane.w;
    x += plane.against(plane.S * x + plane.h) / plane.w;  // w is a difference: refine what it has spoiled
    return plane.X.norm() + plane.q.dot(plane.X) <= plane.w * plane.p;
  }
  return plane.X.isZero(0.0) && stick_on_line(plane, x);
}

// A border point. Far along a branch 1 + q·u is known badly from u, and r with it: the two are kept apart.
struct Point {
  Vector2d u;
  double r = 0.0;
};

// Newton on the two equations of a sliding point,
//
//   r (1 + q·u) = p,   (r S u + h) · R(u + e) = 0,   R a quarter turn,
//
// with e = q (the energy is stationary along the border: RaiSim) or e = 0 (friction opposes sliding: Coulomb), for as
// long as it gains. What the searches find it carries to rounding.
void polish(const Plane& plane, const Vector2d& e, Point& point) {
  const double stiffness = plane.S.trace();
  double error = std::numeric_limits<double>::infinity();
  Point next = point;
  for (int k = 0; k < 8; ++k) {
    const Vector2d& u = next.u;
    const double r = next.r;
    const Vector2d side = quarter_turn(u), Su = plane.S * u, tangent = quarter_turn(u + e), v = r * Su + plane.h;
    const double f1 = r * plane.reach(u) - plane.p, f2 = v.dot(tangent);
    const double now = stiffness * std::abs(f1) + std::abs(f2);
    if (!(now < 0.5 * error)) return;
    point = next;
    error = now;
    const double f1_r = plane.reach(u), f1_turn = r * plane.q.dot(side);
    const double f2_r = Su.dot(tangent), f2_turn = r * (plane.S * side).dot(tangent) - v.dot(u);
    const double det = f1_r * f2_turn - f1_turn * f2_r;
    next.r = r - (f1 * f2_turn - f2 * f1_turn) / det;
    next.u = (u - (f1_r * f2 - f2_r * f1) / det * side).normalized();
    if (!(next.r > 0.0)) return;
  }
}

// Where the line from the focus to the sticking point leaves the cone: near the minimum, and in sight of it.
Vector2d first_guess(const Plane& plane) {
  const Vector2d direction = plane.X.isZero(0.0) ? Vector2d(-plane.h) : plane.X;
  return direction / direction.norm();
}

bool bisect(const Plane& plane, Vector2d& u) {
  // RS leaves the constants open: a first step a little larger than the usual error of the guess, a growth that crosses
  // the circle in ten steps, and no stride that could jump over minimum and maximum together.
  constexpr double kFirst = 0.01, kShrink = 0.5, kGrow = 2.0, kLongest = 0.5;
  u = first_guess(plane);
  if (!(plane.reach(u) > 0.0)) return false;
  const double start = plane.slope(u);
  if (start == 0.0) return true;
  double angle = start > 0.0 ? -kFirst : kFirst;
  Vector2d before = u;
  bool crossed = false;
  for (int k = 0; k < 100 && !crossed; ++k) {
    const Vector2d next = turned(u, angle);
    if (!plane.in_sight(next)) {
      angle *= kShrink;
      continue;
    }
    before = u;
    u = next;
    crossed = !(plane.slope(u) * start > 0.0);
    angle = std::clamp(kGrow * angle, -kLongest, kLongest);
  }
  if (!crossed) return false;
  for (int k = 0; k < 60 && (u - before).norm() > plane.close(u); ++k) {
    const Vector2d middle = (u + before).normalized();
    (plane.slope(middle) * start > 0.0 ? before : u) = middle;
  }
  return true;
}

// Of the sign of E(v) − E(u) for border points less than half a circle apart, v to the left of u. Subtracting two
// energies would end the search at √ε; the chord between the points is known exactly, R(u + v + ½ |u + v|² q) up to a
// positive factor, and the energy along it changes by its velocity half way.
double climb(const Plane& plane, const Vector2d& u, const Vector2d& v) {
  const double near = plane.reach(u), far = plane.reach(v);
  const Vector2d velocity = plane.p * (plane.S * (far * u + near * v)) + 2.0 * near * far * plane.h, sum = u + v;
  return velocity.dot(quarter_turn(sum + 0.5 * sum.squaredNorm() * plane.q));
}

bool golden(const Plane& plane, Vector2d& u) {
  const Vector2d guess = first_guess(plane);
  if (!(plane.reach(guess) > 0.0)) return false;
  // In sight: within `wide` of the guess, since that asks guess·u ≥ (w p − q·X)/|X|; on the branch: within `open` of q.
  constexpr double kPi = 3.14159265358979323846;
  const double X = plane.X.norm(), q = plane.q.norm();
  const double wide = X > 0.0 ? std::acos(std::clamp((plane.w * plane.p - plane.q.dot(plane.X)) / X, -1.0, 1.0)) : kPi;
  double low = -wide, high = wide;
  if (q >= 1.0) {
    const double open = std::acos(-1.0 / q);
    const double to_q = std::atan2(guess[0] * plane.q[1] - guess[1] * plane.q[0], guess.dot(plane.q));
    low = std::max(low, to_q - open);
    high = std::min(high, to_q + open);
  }
  constexpr double kRatio = 0.61803398874989484820;
  double left = high - kRatio * (high - low), right = low + kRatio * (high - low);
  Vector2d u_left = turned(guess, left), u_right = turned(guess, right);
  for (int k = 0; k < 90 && high - low > plane.close(u_left); ++k) {
    if (climb(plane, u_left, u_right) > 0.0) {
      high = right;
      right = left;
      u_right = u_left;
      left = high - kRatio * (high - low);
      u_left = turned(guess, left);
    } else {
      low = left;
      left = right;
      u_left = u_right;
      right = low + kRatio * (high - low);
      u_right = turned(guess, right);
    }
  }
  u = turned(guess, 0.5 * (low + high));
  return plane.reach(u) > 0.0;
}

// Calls `visit(point)` with every border point that solves the equations of `polish`. Without r they are
//
//   F(u) = (p S u + (1 + q·u) h) · R(u + e) = 0,
//
// a quadratic in u, hence a quartic in the tangent of the half angle: taken on the two half circles where that is at
// most one.
template <class Visit>
void sliding_points(const Plane& plane, const Vector2d& e, const Visit& visit) {
  const Eigen::Matrix2d M = plane.p * plane.S + plane.h * plane.q.transpose();  // velocity(u) = M u + h
  const double xx = M(1, 0), yy = -M(0, 1), xy = M(1, 1) - M(0, 0);
  const Vector2d linear = M.transpose() * quarter_turn(e) + Vector2d(plane.h[1], -plane.h[0]);
  const double constant = plane.h.dot(quarter_turn(e));
  for (const double side : {1.0, -1.0}) {
    const double x = side * linear[0], y = side * linear[1];
    const Quartic f{xx + x + constant, 2.0 * (xy + y), 4.0 * yy + 2.0 * (constant - xx), 2.0 * (y - xy),
                    xx - x + constant};
    const QuarticRoots roots = quartic_roots(f);
    for (const double t : roots) {
      const double scale = side / (1.0 + t * t);
      Point point{{scale * (1.0 - t * t), scale * 2.0 * t}};
      point.r = plane.p / plane.reach(point.u);
      if (!(point.r > 0.0)) continue;
      polish(plane, e, point);
      visit(point);
    }
  }
}

// The stationary point of least energy.
bool lowest(const Plane& plane, Point& best) {
  double least = std::numeric_limits<double>::infinity();
  sliding_points(plane, plane.q, [&](const Point& point) {
    const Vector2d x = point.r * point.u;
    const double energy = x.dot(0.5 * (plane.S * x) + plane.h);
    if (energy < least) {
      least = energy;
      best = point;
    }
  });
  return std::isfinite(least);
}

bool search_border(const Plane& plane, SlidingSearch search, Point& point) {
  if (search != SlidingSearch::quartic) {
    Vector2d u;
    if (search == SlidingSearch::bisection ? bisect(plane, u) : golden(plane, u)) {
      point = {u, plane.p / plane.reach(u)};
      polish(plane, plane.q, point);
      return true;
    }
  }
  return lowest(plane, point);
}

Vector3d on_border(const Point& point, double mu) { return {point.r * point.u[0], point.r * point.u[1], point.r / mu}; }

Vector3d in_plane(const LocalContact& contact, const Vector2d& x) {
  const Eigen::Matrix3d& G = contact.G;
  return {x[0], x[1], -(contact.free[2] + G(0, 2) * x[0] + G(1, 2) * x[1]) / G(2, 2)};
}

double stiffness_of(const LocalContact& contact) {
  const double trace = contact.G.trace();
  return trace > 0.0 ? trace / 3.0 : 1.0;
}

// For a contact whose law has no answer: a few steps of projected gradient on the natural map.
void descend(const LocalContact& contact, Vector3d& lambda) {
  const double rho = 1.0 / (3.0 * stiffness_of(contact));  // 1 / trace G, at most 1 / λ_max(G)
  lambda = project_onto_cone(lambda, contact.mu);
  if (!(contact.G.trace() > 0.0)) return;  // no impulse moves it
  for (int k = 0; k < 10; ++k) {
    const Vector3d c = contact.G * lambda + contact.free;
    lambda = project_onto_cone(lambda - rho * (c + de_saxce(c, contact.mu)), contact.mu);
  }
}

// The cases that need no search. True if `lambda` is settled, `held` saying whether by an answer.
bool settle(const LocalContact& contact, bool& held, Vector3d& lambda) {
  held = true;
  if (contact.free[2] >= 0.0) {
    lambda.setZero();
    return true;
  }
  if (!(contact.G(2, 2) > 0.0) || !std::isfinite(contact.free.sum())) {  // closing, and no impulse can stop it
    held = false;
    descend(contact, lambda);
    return true;
  }
  if (contact.mu == 0.0) {
    lambda = {0.0, 0.0, -contact.free[2] / contact.G(2, 2)};
    return true;
  }
  return false;
}

}  // namespace

bool solve_raisim_contact(const LocalContact& contact, SlidingSearch search, double shift, Vector3d& lambda) {
  bool held = false;
  if (settle(contact, held, lambda)) return held;
  const Plane plane = plane_of(contact, shift);
  if (Vector2d x; stick(plane, x)) {
    lambda = in_plane(contact, x);
    return true;
  }
  Point point;
  if (search_border(plane, search, point)) {
    const Vector3d answer = on_border(point, contact.mu);
    if (std::isfinite(answer.sum())) {
      lambda = answer;
      return true;
    }
  }
  descend(contact, lambda);
  return false;
}

bool solve_exact_contact(const LocalContact& contact, Vector3d& lambda) {
  bool held = false;
  if (settle(contact, held, lambda)) return held;
  const Plane plane = plane_of(contact, 0.0);
  const double share = 1e-12 + 1e-14 * contact.mu;  // Γ multiplies the rounding of c_t by μ
  const double stiffness = stiffness_of(contact), free = contact.free.lpNorm<Eigen::Infinity>();
  const auto certified = [&](const Vector3d& answer) {
    return natural_map(contact, answer) <= share * (stiffness * answer.lpNorm<Eigen::Infinity>() + free);
  };
  if (Vector2d x; stick(plane, x)) {
    const Vector3d answer = in_plane(contact, x);
    if (certified(answer)) {
      lambda = answer;
      return true;
    }
  }
  // In a warm sweep the contact slides almost as it did: Newton from there, before all roots are asked for.
  if (Point point{lambda.head<2>(), lambda.head<2>().norm()}; point.r > 0.0) {
    point.u /= point.r;
    polish(plane, Vector2d::Zero(), point);
    const Vector3d answer = on_border(point, contact.mu);
    if ((answer - lambda).norm() < 0.1 * lambda.norm() && certified(answer)) {
      lambda = answer;
      return true;
    }
  }
  double nearest = std::numeric_limits<double>::infinity();
  Vector3d best = lambda;
  sliding_points(plane, Vector2d::Zero(), [&](const Point& point) {
    const Vector3d answer = on_border(point, contact.mu);
    const double distance = (answer - lambda).squaredNorm();
    if (distance < nearest && certified(answer)) {
      nearest = distance;
      best = answer;
    }
  });
  if (!std::isfinite(nearest)) {
    descend(contact, lambda);
    return false;
  }
  lambda = best;
  return true;
}

double natural_map(const LocalContact& contact, const Vector3d& lambda) {
  const double stiffness = stiffness_of(contact);
  const Vector3d c = contact.G * lambda + contact.free;
  const Vector3d target = lambda - (c + de_saxce(c, contact.mu)) / stiffness;
  return stiffness * (lambda - project_onto_cone(target, contact.mu)).lpNorm<Eigen::Infinity>();
}

}  // namespace taut
