// Coal's GJK in all its variants, and Frank-Wolfe: closed forms, each other, and every shape.
#include <gtest/gtest.h>

#include "scenes.hpp"
#include "taut/collision/detector.hpp"
#include "taut/collision/distance.hpp"
#include "taut/collision/frank_wolfe.hpp"
#include "taut/collision/gjk.hpp"
#include "taut/collision/gjk_timing.hpp"

namespace taut::testing {
namespace {

std::string label(const GjkOptions& options) {
  return std::string(name_of(options.variant)) +
         (!options.normalize   ? ""
          : *options.normalize ? ", normalized"
                               : ", not normalized") +
         (options.criterion == GjkCriterion::duality_gap ? ", duality gap" : "");
}

std::vector<GjkOptions> variants() {
  std::vector<GjkOptions> all{{.variant = GjkVariant::vanilla},
                              {.variant = GjkVariant::polyak},
                              {.variant = GjkVariant::nesterov},
                              {.variant = GjkVariant::nesterov, .normalize = true},
                              {.variant = GjkVariant::nesterov, .normalize = false}};
  const std::size_t count = all.size();
  for (std::size_t i = 0; i < count; ++i) {
    GjkOptions gap = all[i];
    gap.criterion = GjkCriterion::duality_gap;
    gap.tolerance = 1e-8;  // [GJK]'s
    all.push_back(gap);
  }
  return all;
}

// Normalized directions circle around the origin when curved shapes overlap, until the limit; Coal normalizes for flat
// ones only.
bool suits(const GjkOptions& options, const Shape& one, const Shape& two) {
  return !options.normalize.value_or(false) || std::min(one.kind, two.kind) >= Shape::Kind::box;
}

// What the criterion promises: m of |x| − |x*|, or |x|² − |x*|² in m².
double error_allowed(const GjkOptions& options, double distance) {
  if (options.criterion == GjkCriterion::lower_bound) return 2.0 * options.tolerance * (1.0 + distance) + 1e-12;
  return std::min(std::sqrt(options.tolerance), options.tolerance / std::max(distance, 1e-12)) + 1e-9;
}

struct Two {
  std::string name;
  std::shared_ptr<coal::CollisionGeometry> first, second;
  Shape one, two;
};

std::shared_ptr<coal::CollisionGeometry> random_mesh(std::mt19937& rng, int vertices, const Vector3d& radii) {
  auto points = std::make_shared<std::vector<Vector3d>>();
  for (int i = 0; i < vertices; ++i) points->push_back(radii.cwiseProduct(random_direction(rng)));
  return std::shared_ptr<coal::CollisionGeometry>(
      coal::ConvexBase::convexHull(points, static_cast<unsigned>(vertices), true, "Qt"));
}

// Every couple of bounded shapes, and meshes small and large enough for Coal's hill climbing.
std::vector<Two> couples() {
  std::mt19937 rng(17);
  std::vector<Two> all;
  const auto add = [&](const std::string& name, const std::shared_ptr<coal::CollisionGeometry>& first,
                       const std::shared_ptr<coal::CollisionGeometry>& second) {
    first->computeLocalAABB();
    second->computeLocalAABB();
    all.push_back({name, first, second, make_shape(*first, "first"), make_shape(*second, "second")});
  };
  for (const Solid& a : solids(1.0)) {
    for (const Solid& b : solids(1.3)) add(a.name + " and " + b.name, a.geometry, b.geometry);
  }
  add("meshes", random_mesh(rng, 240, {0.1, 0.2, 0.15}), random_mesh(rng, 900, {0.12, 0.05, 0.2}));
  return all;
}

Pose random_pose(std::mt19937& rng, double away) { return {random_rotation(rng), away * random_direction(rng)}; }

pinocchio::SE3 placed(const Pose& pose) { return {pose.rotation, pose.translation}; }

TEST(Gjk, TwoSpheresAreAsFarApartAsTheirCentresLessTheirRadii) {
  const coal::Sphere a(0.1), b(0.3);
  const Shape one = make_shape(a, "a"), two = make_shape(b, "b");
  const Pose there{Matrix3d::Identity(), {0.3, 0.4, 0.0}};
  for (const GjkOptions& options : variants()) {
    Gjk gjk(options);
    EXPECT_EQ(gjk.run(one, Pose{}, two, there, Vector3d::UnitX()), Gjk::Status::separated);
    EXPECT_NEAR(gjk.distance(), 0.1, error_allowed(options, 0.5));
    const auto witness = gjk.witness();
    ASSERT_TRUE(witness);
    EXPECT_TRUE(witness->normal.isApprox(Vector3d(-0.6, -0.8, 0.0), 1e-6));
    EXPECT_TRUE(witness->point_1.isApprox(Vector3d(0.06, 0.08, 0.0), 1e-6));
    EXPECT_TRUE(witness->point_2.isApprox(Vector3d(0.12, 0.16, 0.0), 1e-6));
  }
}

TEST(Gjk, OverlapOfTwoBoxesIsTheirShortestWayOut) {
  const coal::Box a(0.2, 0.2, 0.2), b(0.2, 0.2, 0.2);
  const Shape one = make_shape(a, "a"), two = make_shape(b, "b");
  const Pose there{Matrix3d::Identity(), {0.03, 0.15, 0.01}};
  for (const GjkOptions& options : variants()) {
    Gjk gjk(options);
    EXPECT_EQ(gjk.run(one, Pose{}, two, there, Vector3d(-0.03, -0.15, -0.01)), Gjk::Status::overlapping);
    const auto witness = gjk.witness();
    ASSERT_TRUE(witness);
    EXPECT_NEAR(witness->distance, -0.05, 1e-9);
    EXPECT_TRUE(witness->normal.isApprox(Vector3d(0.0, -1.0, 0.0), 1e-6));
  }
}

TEST(Gjk, EveryVariantFindsTheDistanceOfEveryCouple) {
  std::mt19937 rng(3);
  int compared = 0;
  for (const Two& couple : couples()) {
    for (int trial = 0; trial < 40; ++trial) {
      const Pose there = random_pose(rng, std::uniform_real_distribution<double>(0.0, 0.8)(rng));
      const double exact = distance(couple.one, SE3::Identity(), couple.two, placed(there)).distance;
      if (std::abs(exact) < 1e-5) continue;  // either answer is right there
      ++compared;
      for (const GjkOptions& options : variants()) {
        if (!suits(options, couple.one, couple.two)) continue;
        Gjk gjk(options);
        const Vector3d start = start_direction(GjkStart::boxes, couple.one, couple.two, there, {}, nullptr);
        const Gjk::Status status = gjk.run(couple.one, Pose{}, couple.two, there, start);
        const std::string which = couple.name + ", " + label(options) + ", trial " + std::to_string(trial);
        // GJK sees spheres and capsules without their radii: overlap may then be told by the distance alone.
        const bool touching = status == Gjk::Status::overlapping || gjk.distance() < 0.0;
        EXPECT_NE(status, Gjk::Status::iteration_limit) << which;
        EXPECT_EQ(touching, exact < 0.0) << which;
        if (exact > 0.0) {
          EXPECT_NEAR(gjk.distance(), exact, error_allowed(options, exact)) << which;
        }
      }
    }
  }
  EXPECT_GT(compared, 1500);
}

TEST(Gjk, BooleanHasTheSignOfTheDistance) {
  std::mt19937 rng(4);
  for (const Two& couple : couples()) {
    for (int trial = 0; trial < 40; ++trial) {
      const Pose there = random_pose(rng, std::uniform_real_distribution<double>(0.0, 0.5)(rng));
      const double exact = distance(couple.one, SE3::Identity(), couple.two, placed(there)).distance;
      if (std::abs(exact) < 1e-5) continue;
      for (const GjkOptions& options : variants()) {
        if (!suits(options, couple.one, couple.two)) continue;
        Gjk gjk(options);
        const Gjk::Status status = gjk.run(couple.one, Pose{}, couple.two, there, Vector3d::UnitX(), {0, 0}, 0.0);
        const bool apart = status == Gjk::Status::beyond || (status == Gjk::Status::separated && gjk.distance() > 0.0);
        EXPECT_EQ(apart, exact > 0.0) << couple.name << ", " << label(options) << ", trial " << trial;
        if (status == Gjk::Status::beyond) {
          EXPECT_LE(gjk.distance(), exact + 1e-9) << couple.name;  // a lower bound
        }
      }
    }
  }
}

TEST(Gjk, ReportsTheIterationLimitAndAnUpperBound) {
  const coal::Ellipsoid a(0.1, 0.2, 0.3), b(0.3, 0.1, 0.2);
  const Shape one = make_shape(a, "a"), two = make_shape(b, "b");
  const Pose there{Matrix3d::Identity(), {0.5, 0.4, 0.3}};
  const double exact = distance(one, SE3::Identity(), two, placed(there)).distance;
  Gjk gjk({.max_iterations = 2});
  EXPECT_EQ(gjk.run(one, Pose{}, two, there, Vector3d::UnitY()), Gjk::Status::iteration_limit);
  EXPECT_EQ(gjk.iterations(), 2);
  EXPECT_GT(gjk.distance(), exact);
}

TEST(Gjk, BadOptionsThrowAndNameTheValue) {
  const auto message = [](const GjkOptions& options) {
    try {
      Gjk gjk(options);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message({.tolerance = -1.0}).find("tolerance is -1"), std::string::npos);
  EXPECT_NE(message({.tolerance = std::nan("")}).find("tolerance"), std::string::npos);
  EXPECT_NE(message({.max_iterations = 0}).find("max_iterations is 0"), std::string::npos);
  EXPECT_NE(message({.max_epa_iterations = -3}).find("max_epa_iterations is -3"), std::string::npos);
  EXPECT_NE(message({.variant = GjkVariant::polyak, .normalize = true}).find("polyak"), std::string::npos);
  EXPECT_THROW(gjk_variant("newton"), std::invalid_argument);
  EXPECT_THROW(gjk_start("warm"), std::invalid_argument);
  EXPECT_THROW(gjk_criterion(""), std::invalid_argument);
  for (const char* name : {"vanilla", "polyak", "nesterov"}) EXPECT_STREQ(name_of(gjk_variant(name)), name);
  for (const char* name : {"none", "boxes", "previous", "turned", "transported"}) {
    EXPECT_STREQ(name_of(gjk_start(name)), name);
  }
}

TEST(FrankWolfe, FindsTheDistanceOfEllipsoids) {
  std::mt19937 rng(5);
  const coal::Ellipsoid a(0.1, 0.2, 0.3), b(0.3, 0.1, 0.2);
  const Shape one = make_shape(a, "a"), two = make_shape(b, "b");
  for (int trial = 0; trial < 100; ++trial) {
    const Pose there = random_pose(rng, std::uniform_real_distribution<double>(0.1, 1.0)(rng));
    const double exact = distance(one, SE3::Identity(), two, placed(there)).distance;
    const FrankWolfeReport found = frank_wolfe(one, Pose{}, two, there, 1e-8);
    EXPECT_TRUE(found.converged);
    if (exact > 1e-3) {
      EXPECT_NEAR(found.distance, exact, 1e-8 / exact) << trial;  // |x|² − |x*|² ≤ tolerance
    } else if (exact < -1e-3) {
      EXPECT_LE(found.distance, 1e-4) << trial;  // |x − x*|² ≤ tolerance, and x* = 0
    }
  }
  EXPECT_THROW(frank_wolfe(one, Pose{}, two, Pose{}, 0.0), std::invalid_argument);
  EXPECT_THROW(frank_wolfe(one, Pose{}, two, Pose{}, 1e-8, 0), std::invalid_argument);
}

TEST(GjkStart, BoxesIsTheLineOfTheirCentres) {
  std::mt19937 rng(7);
  const auto a = random_mesh(rng, 50, {0.1, 0.2, 0.3}), b = random_mesh(rng, 50, {0.2, 0.2, 0.2});
  const Shape one = make_shape(*a, "a"), two = make_shape(*b, "b");
  const Pose there = random_pose(rng, 2.0);
  a->computeLocalAABB();
  b->computeLocalAABB();
  const Vector3d centers = a->aabb_local.center() - there * b->aabb_local.center();
  EXPECT_TRUE(start_direction(GjkStart::boxes, one, two, there, {}, nullptr).isApprox(centers, 1e-12));
  EXPECT_TRUE(start_direction(GjkStart::previous, one, two, there, {}, nullptr).isApprox(centers, 1e-12));
}

// Exact where nothing but what each strategy assumes moves.
TEST(GjkStart, TurnedAndTransportedFollowTheSecondShape) {
  const coal::Box a(0.2, 0.2, 0.2), b(0.2, 0.2, 0.2);
  const Shape one = make_shape(a, "a"), two = make_shape(b, "b");
  const Pose before{Matrix3d::Identity(), {0.5, 0.0, 0.0}};
  const GjkGuess guess{.ray = {-0.3, 0.0, 0.0}};
  const GjkPast past{.relative = before, .point_1 = {0.1, 0.0, 0.0}, .point_2 = {-0.1, 0.0, 0.0}};
  const Matrix3d R = Eigen::AngleAxisd(0.3, Vector3d::UnitZ()).toRotationMatrix();
  const Pose turned{R, before.translation}, moved{Matrix3d::Identity(), {0.5, 0.2, 0.0}};
  EXPECT_TRUE(start_direction(GjkStart::turned, one, two, turned, guess, &past).isApprox(R * guess.ray, 1e-12));
  EXPECT_TRUE(start_direction(GjkStart::turned, one, two, moved, guess, &past).isApprox(guess.ray, 1e-12));
  EXPECT_TRUE(
      start_direction(GjkStart::transported, one, two, moved, guess, &past).isApprox(Vector3d(-0.3, -0.2, 0.0), 1e-12));
  EXPECT_TRUE(start_direction(GjkStart::previous, one, two, moved, guess, &past).isApprox(guess.ray, 1e-12));
  EXPECT_EQ(start_direction(GjkStart::none, one, two, moved, guess, &past), Vector3d::UnitX());
}

// A heap that is shaken: the deepest gap of each pair is within what a witness is held to, 1e-6 m, of the distance, and
// no pair closer than the margin is missed.
TEST(NarrowPhase, EveryVariantAndStartFindsTheGapsOfEveryCouple) {
  const double margin = 5e-3;
  for (const GjkVariant variant : {GjkVariant::vanilla, GjkVariant::polyak, GjkVariant::nesterov}) {
    for (const GjkStart start :
         {GjkStart::none, GjkStart::boxes, GjkStart::previous, GjkStart::turned, GjkStart::transported}) {
      std::mt19937 rng(9);
      int touching = 0;
      for (const Two& couple : couples()) {
        const auto geometry = Couple::make(couple.first, couple.second, 2, false);
        CollisionDetector detector(geometry, {variant, start});
        CollisionMemory memory = detector.memory();
        std::vector<Contact> contacts;
        SE3 there(random_rotation(rng), random_vector(rng, 0.1));
        const Distance first = distance(couple.one, SE3::Identity(), couple.two, there);
        there.translation() += (first.distance - 2e-3) * first.normal;  // 2 mm apart, if they did not overlap
        for (int step = 0; step < 20; ++step) {
          there = there * pinocchio::exp6(Motion(random_vector(rng, 2e-3), random_vector(rng, 2e-2)));
          detector.detect(geometry, {SE3::Identity(), SE3::Identity(), there}, std::vector<Motion>(3, Motion::Zero()),
                          1e-3, margin, memory, contacts);
          const double exact = distance(couple.one, SE3::Identity(), couple.two, there).distance;
          const std::string which = couple.name + ", " + name_of(variant) + " from " + name_of(start);
          double deepest = HUGE_VAL;
          for (const Contact& contact : contacts) deepest = std::min(deepest, contact.gap);
          if (exact < margin - 1e-6) {
            EXPECT_FALSE(contacts.empty()) << which;
            ++touching;
          }
          if (exact > margin + 1e-6) {
            EXPECT_TRUE(contacts.empty()) << which;
          }
          // Deep overlaps may be pushed out another way (docs/decisions/collision.md).
          if (!contacts.empty() && exact > -2e-3) {
            EXPECT_NEAR(deepest, exact, 1e-6) << which;
          }
        }
      }
      EXPECT_GT(touching, 300);
    }
  }
}

TEST(TimeGjk, EveryStartFindsTheSameDistanceAlongATrajectory) {
  std::mt19937 rng(8);
  const auto a = random_mesh(rng, 300, {0.1, 0.2, 0.15}), b = random_mesh(rng, 200, {0.12, 0.1, 0.2});
  a->computeLocalAABB();
  b->computeLocalAABB();
  const Shape one = make_shape(*a, "a"), two = make_shape(*b, "b");
  std::vector<Pose> path;
  std::vector<std::uint8_t> fresh;
  for (int i = 0; i < 60; ++i) {  // falls through the other, turning
    const Matrix3d R = Eigen::AngleAxisd(0.05 * i, Vector3d(1.0, 0.5, 0.2).normalized()).toRotationMatrix();
    path.push_back({R, {0.03, 0.05, 0.6 - 0.02 * i}});
    fresh.push_back(i == 30);
  }
  for (const GjkVariant variant : {GjkVariant::vanilla, GjkVariant::polyak, GjkVariant::nesterov}) {
    for (const GjkStart start :
         {GjkStart::none, GjkStart::boxes, GjkStart::previous, GjkStart::turned, GjkStart::transported}) {
      const auto found = time_gjk(one, two, path, {.variant = variant}, start, 1e9, fresh, {.samples = 1, .calls = 1});
      ASSERT_EQ(found.size(), path.size());
      for (std::size_t i = 0; i < path.size(); ++i) {
        const double exact = distance(one, SE3::Identity(), two, placed(path[i])).distance;
        EXPECT_TRUE(found[i].converged);
        EXPECT_GT(found[i].nanoseconds, 0.0);
        if (std::abs(exact) > 1e-6) {
          EXPECT_EQ(found[i].touching, exact < 0.0) << i;
          EXPECT_NEAR(found[i].distance, std::max(exact, 0.0), 1e-8) << i << " " << name_of(start);
        }
      }
    }
  }
  EXPECT_THROW(time_gjk(one, two, path, {}, GjkStart::none, 0.0, {fresh.data(), 3}), std::invalid_argument);
  EXPECT_THROW(time_gjk(one, two, path, {}, GjkStart::none, 0.0, {}, {.samples = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace taut::testing
