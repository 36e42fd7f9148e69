#pragma once

#include <pinocchio/geometry.hpp>
#include <pinocchio/spatial.hpp>

#include <coal/collision_data.h>
#include <coal/narrowphase/narrowphase.h>

#include <memory>
#include <span>
#include <vector>

#include "taut/collision/contact.hpp"
#include "taut/collision/contact_derivatives.hpp"
#include "taut/collision/gjk.hpp"
#include "taut/collision/patch.hpp"

namespace taut {

/// What collision remembers from one step to the next: part of a simulator's state.
struct CollisionMemory {
  /// A contact of the last step, to recognize it in the next.
  struct Touch {
    int order;
    int slot;
    Eigen::Vector3d local;  ///< position in the frame of the pair's leading shape
  };
  std::vector<Touch> touches;     ///< sorted by order
  std::vector<GjkGuess> guesses;  ///< where GJK left each pair, by order; the leading shape is the first
  std::vector<GjkPast> pasts;     ///< the same, if the start needs it; else empty
};

/// Which GJK a detector runs, and from where: those that win in `taut bench gjk step`.
struct NarrowPhase {
  GjkVariant variant = GjkVariant::polyak;
  GjkStart start = GjkStart::previous;
};

/// Contacts of a configuration: a cull that never misses a pair, Coal's GJK and EPA, patches of up to four points.
///
/// Built from a geometry model whose pairs and shapes then stay as they are; where shapes stand on their joints is read
/// at every call, and `surround` is told if it changed. One per thread.
class CollisionDetector {
 public:
  /// Throws std::invalid_argument naming the shape if one is degenerate or of a kind taut does not collide.
  explicit CollisionDetector(const pinocchio::GeometryModel& geometry, NarrowPhase narrow_phase = {});

  /// Finds every contact with a gap below `margin` plus a bound on what the two bodies travel in `dt`, in the order
  ///  of the pairs, and gives it its identity. `oMi` and `velocity` (local) are those of the joints.
  void detect(const pinocchio::GeometryModel& geometry, const std::vector<pinocchio::SE3>& oMi,
              std::span<const pinocchio::Motion> velocity, double dt, double margin, CollisionMemory& memory,
              std::vector<Contact>& contacts);

  /// Makes `memory` what the last `detect`, be it whole or not, has found.
  void undo(CollisionMemory& memory);

  /// How a contact of the last `detect` moves with its bodies.
  ContactDerivatives derivatives(const Contact& contact, const CollisionDerivativeOptions& options) const;
  /// The same with the sizes of its shapes.
  ContactSizeDerivatives size_derivatives(const Contact& contact) const;

  /// Draws the balls around all shapes of a joint, by which pairs are ruled out: once more if shapes were moved on it.
  void surround(const pinocchio::GeometryModel& geometry);

  /// A fresh memory: nothing touched before.
  CollisionMemory memory() const;

  /// Pairs that reached the narrow phase in the last call, for benchmarks.
  int narrow_phase_calls() const { return narrow_phase_calls_; }

 private:
  struct Ball {
    Eigen::Vector3d center;
    double radius;  ///< without travel
    double travel;  ///< bound on the way any of its points moves in dt
  };
  /// A ball around all bounded shapes of a joint, in its frame.
  struct Hull {
    Eigen::Vector3d center = Eigen::Vector3d::Zero();
    double radius = 0.0;
  };
  struct Pair {
    int index;               ///< in the geometry model
    int leading, other;      ///< shapes in the order collision runs; the same whichever comes first in the model
    int joint_1, joint_2;    ///< bodies of the contact; the world is never first
    bool normal_to_leading;  ///< whether n points to the leading shape's body
    enum class Method : std::uint8_t { half_space, convex, height_field } method;
  };

  /// The pairs of two bodies, or of a body and a half-space: ruled out together if the bodies are far apart.
  struct Group {
    int joint_1, joint_2;  ///< with a half-space joint_2 is the one it stands on
    int half_space;        ///< its shape, or −1
    int first, last;       ///< pairs
  };

  static bool apart(const Ball& a, const Ball& b, double margin) {
    const double reach = a.radius + b.radius + margin + a.travel + b.travel;
    return (a.center - b.center).squaredNorm() > reach * reach;
  }
  void build_groups();
  bool culled(const Group& group, double margin) const;
  void sweep(double margin);
  void place(const pinocchio::GeometryModel& geometry, const std::vector<pinocchio::SE3>& oMi,
             std::span<const pinocchio::Motion> velocity, double dt);
  bool culled(const Pair& pair, const GjkGuess& guess, double margin) const;
  void collide(const Pair& pair, double margin, GjkGuess& guess, GjkPast* past);
  struct Witness {
    bool found = false;
    Eigen::Vector3d normal = Eigen::Vector3d::UnitZ();  ///< to the leading shape
    Eigen::Vector3d point = Eigen::Vector3d::Zero();
    double distance = 0.0;
  };
  static bool closed_form(const Shape& first, const Shape& second);
  Witness run_closed_form(const Pair& pair, double margin);
  void ask_from_apart(const Pair& pair, double margin, double& best, Witness& witness);
  Witness run_gjk(Gjk& gjk, const Pair& pair, const Eigen::Vector3d& shift, double margin, GjkGuess& guess);
  Witness run_from_start(const Pair& pair, double margin, GjkGuess& guess, GjkPast* past);
  void collide_convex(const Pair& pair, double margin, GjkGuess& guess, GjkPast* past);
  void emit(int order, const Pair& pair, std::span<const CollisionMemory::Touch> before,
            std::vector<CollisionMemory::Touch>& now, std::vector<Contact>& contacts);

  struct Origin;
  const Origin& origin_of(const Contact& contact) const;

  std::vector<std::shared_ptr<const coal::CollisionGeometry>> geometries_;  ///< what `shapes_` point to
  std::vector<Shape> shapes_;
  std::vector<Pose> poses_;
  std::vector<Ball> balls_;
  std::vector<Pair> pairs_;
  std::vector<Group> groups_;
  /// A body on the axis of the sweep.
  struct Extent {
    double low, high;
    int joint;
  };
  std::vector<Extent> swept_;     ///< the bodies of many couples; empty if the couples are few
  std::vector<int> kept_;         ///< groups that are no couple of two bodies: always candidates
  std::vector<int> first_group_;  ///< of each joint: its couples with the bodies after it
  std::vector<int> candidates_;   ///< groups that may touch, in order
  std::vector<Hull> hulls_;       ///< one per joint
  std::vector<Ball> body_balls_;  ///< the hulls, placed
  std::vector<CollisionMemory::Touch> touches_;
  bool touches_given_ = false;  ///< `touches_` are those of before
  /// Where GJK had left the pairs that `detect` has asked it about.
  struct Asked {
    int order;
    GjkGuess guess;
  };
  std::vector<Asked> asked_;
  std::vector<GjkPast> asked_pasts_;  ///< of the same, if there are any
  Patch patch_;
  /// What places each contact of the last call, in their order.
  struct Origin {
    int order, slot;
    bool second_is_reference;
    Patch::Point point;
    Patch alone() const;  ///< a patch of this point
  };
  std::vector<Origin> origins_;
  NarrowPhase narrow_phase_;
  Gjk gjk_;      ///< of the chosen variant
  Gjk vanilla_;  ///< for second questions: its last direction is known
  coal::GJKSolver solver_;
  coal::CollisionRequest request_;
  coal::CollisionResult result_;
  int narrow_phase_calls_ = 0;
};

}  // namespace taut
