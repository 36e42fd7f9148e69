#include <gtest/gtest.h>
#include <pinocchio/algorithm/kinematics.hpp>

#include <algorithm>
#include <cmath>

#include "io/temp_folder.hpp"
#include "taut/io/load.hpp"

namespace taut {
namespace {

using Eigen::Vector3d;
using Eigen::VectorXd;

Scene load_text(const std::string& inside) {
  const test::TempFolder folder;
  return load(folder.write("model.xml", "<mujoco><compiler angle='radian'/>" + inside + "</mujoco>"));
}

VectorXd phi(const Scene& scene, const VectorXd& q, std::size_t loop = 0) {
  pinocchio::Data data(scene.model);
  pinocchio::forwardKinematics(scene.model, data, Eigen::Ref<const VectorXd>(q));
  const Loop& l = scene.loops.at(loop);
  return loop_error(l, data.oMi[static_cast<std::size_t>(l.joint_1)], data.oMi[static_cast<std::size_t>(l.joint_2)]);
}

VectorXd phi(const Scene& scene) { return phi(scene, scene.q0); }

VectorXd vector(std::initializer_list<double> values) {
  return Eigen::Map<const VectorXd>(values.begin(), static_cast<Eigen::Index>(values.size()));
}

// Two bodies that turn about z: `a` at the origin, drawn turned by a quarter; `b` at x = 2, about its pin at x = 3.
std::string two_hinges(const std::string& equality, const std::string& ref = "0") {
  return "<worldbody><body name='a' euler='0 0 1.5707963267948966'><joint name='i' ref='" + ref +
         "'/><geom size='0.1'/></body>"
         "<body name='b' pos='2 0 0'><joint name='j' pos='1 0 0'/><geom size='0.1'/></body></worldbody><equality>" +
         equality + "</equality>";
}

TEST(MjcfConnect, HoldsTheSecondBodyWhereTheFileDrawsTheAnchor) {
  const Scene scene = load_text(two_hinges("<connect name='pin' body1='a' body2='b' anchor='1 0 0.5'/>"));
  ASSERT_EQ(scene.loops.size(), 1u);
  EXPECT_EQ(scene.loops[0].name, "pin");
  EXPECT_EQ(scene.loops[0].kind, Loop::Kind::point);
  EXPECT_TRUE(scene.warnings.empty());
  // drawn at (0, 1, 0.5): (−3, 1, 0.5) from the pin of b, which is where its joint is
  EXPECT_TRUE(scene.loops[0].placement_2.translation().isApprox(Vector3d(-3, 1, 0.5), 1e-15));
  EXPECT_LT(phi(scene).norm(), 1e-15);
  // b turned by half about (3, 0): its point goes from (0, 1) to (6, −1), 6 along x and −2 along y, and a's x is y
  EXPECT_TRUE(phi(scene, vector({0.0, EIGEN_PI})).isApprox(Vector3d(-2, -6, 0), 1e-14));
}

TEST(MjcfConnect, TheReferenceIsWhereTheFileDrawsTheJoint) {
  const std::string pin = "<connect body1='a' body2='b' anchor='1 0 0.5'/>";
  const Scene plain = load_text(two_hinges(pin)), shifted = load_text(two_hinges(pin, "0.75"));
  EXPECT_LT(phi(shifted).norm(), 1e-15);
  EXPECT_TRUE(phi(shifted, vector({1.25, 0.3})).isApprox(phi(plain, vector({0.5, 0.3})), 1e-14));
}

TEST(MjcfConnect, AKeyframeDoesNotMoveTheAnchor) {
  const Scene scene = load_text(two_hinges("<connect body1='a' body2='b' anchor='1 0 0.5'/>") +
                                "<keyframe><key qpos='0 3.141592653589793'/></keyframe>");
  EXPECT_TRUE(phi(scene).isApprox(Vector3d(-2, -6, 0), 1e-14));
}

TEST(MjcfConnect, TheSecondBodyIsTheWorldUnlessGiven) {
  const Scene scene = load_text(two_hinges("<connect body1='b' anchor='-1 0 0'/>"));
  EXPECT_EQ(scene.loops[0].joint_2, 0);
  EXPECT_EQ(scene.loops[0].name, "b_world");
  EXPECT_TRUE(scene.loops[0].placement_2.translation().isApprox(Vector3d(1, 0, 0), 1e-15));
}

// A free body at z = 1; a child of it that nothing moves; one on a hinge, with sites; a site in the world.
std::string with_sites(const std::string& equality) {
  return "<default><site euler='0 0 1.5707963267948966'/></default><worldbody><site name='w' pos='0 0 3'/>"
         "<body name='base' pos='0 0 1'><freejoint/><geom size='0.1'/>"
         "<body name='welded' pos='1 0 0'><geom size='0.1'/><site name='s' pos='0 1 0' quat='1 0 0 0'/></body>"
         "<body name='arm' pos='0 0 2'><joint/><geom size='0.1'/>"
         "<frame pos='0 4 0' euler='0 0 1.5707963267948966'><site name='t' pos='1 0 0'/>"
         "<site name='bar' type='capsule' size='0.1' fromto='0 0 0 2 0 0'/></frame></body></body></worldbody>"
         "<equality>" +
         equality + "</equality>";
}

TEST(MjcfSites, AreFramesOfWhatMovesTheirBody) {
  const Scene scene = load_text(with_sites("<weld site1='s' site2='t'/><weld site1='w' site2='s'/>"));
  ASSERT_EQ(scene.loops.size(), 2u);
  const Loop &loop = scene.loops[0], &held = scene.loops[1];
  EXPECT_EQ(loop.name, "s_t");
  EXPECT_EQ(loop.kind, Loop::Kind::weld);
  EXPECT_EQ(loop.joint_1, 1);
  EXPECT_EQ(loop.joint_2, 2);
  EXPECT_TRUE(loop.placement_1.translation().isApprox(Vector3d(1, 1, 0), 1e-15));
  EXPECT_TRUE(loop.placement_1.rotation().isIdentity(1e-15));
  // a quarter by the frame and one by the default class
  EXPECT_TRUE(loop.placement_2.translation().isApprox(Vector3d(0, 5, 0), 1e-15));
  EXPECT_TRUE(loop.placement_2.rotation().isApprox(Vector3d(-1, -1, 1).asDiagonal().toDenseMatrix(), 1e-15));
  EXPECT_EQ(held.joint_1, 0);
  EXPECT_TRUE(held.placement_1.translation().isApprox(Vector3d(0, 0, 3), 1e-15));
}

TEST(MjcfSites, HoldTogetherWhatTheFileDrawsApart) {
  const Scene scene = load_text(with_sites("<connect site1='s' site2='bar'/>"));
  EXPECT_TRUE(phi(scene).isApprox(Vector3d(-1, 4, 2), 1e-15));  // from (1, 1, 1) to the middle of the bar, (0, 5, 3)
}

TEST(MjcfWeld, HoldsTheDrawnPoseUnlessOneIsGiven) {
  for (const char* extra : {"", "relpose='9 9 9 0 0 0 0'", "anchor='5 6 7' torquescale='3'"}) {
    const Scene scene = load_text(two_hinges("<weld body1='a' body2='b' " + std::string(extra) + "/>"));
    ASSERT_EQ(scene.loops.size(), 1u);
    EXPECT_EQ(scene.loops[0].kind, Loop::Kind::weld);
    EXPECT_LT(phi(scene).norm(), 1e-14) << extra;
    EXPECT_NEAR(phi(scene, vector({0.0, 0.4}))[5], 0.4, 1e-15) << extra;  // about z, whatever the anchor
  }
}

TEST(MjcfWeld, TheAnchorIsInTheSecondBodyAndThePoseSaysWhereTheFirstHasIt) {
  const Scene scene =
      load_text(two_hinges("<weld body1='a' body2='b' anchor='0.5 0 0' relpose='1 2 3  1.4142135623730951 0 0 "
                           "1.4142135623730951'/>"));  // a quarter about z, not normalized
  // a's frame: origin (−2, 1, 3) and turned by a half; b's: (2.5, 0, 0), not turned
  EXPECT_TRUE(phi(scene).head<3>().isApprox(Vector3d(-4.5, 1, -3), 1e-14));
  EXPECT_NEAR(phi(scene).tail<3>().norm(), EIGEN_PI,
              1e-7);  // at half a turn log is only accurate to a root of rounding
  EXPECT_NEAR(phi(scene, vector({-EIGEN_PI, 0.25}))[5], 0.25, 1e-14);
}

TEST(MjcfJointEquality, CouplesDeviationsFromTheDrawnConfiguration) {
  const Scene scene = load_text(two_hinges("<joint joint1='j' joint2='i' polycoef='0.1 2 3'/>", "0.75"));
  ASSERT_EQ(scene.couplings.size(), 1u);
  const Coupling& coupling = scene.couplings[0];
  EXPECT_EQ(coupling.name, "j_i");
  EXPECT_EQ(coupling.polynomial, (std::array{0.1, 2.0, 3.0, 0.0, 0.0}));
  const VectorXd q = vector({0.95, 0.4});
  EXPECT_NEAR(coupling_error(coupling, scene.model, q), 0.4 - (0.1 + 2 * 0.2 + 3 * 0.04), 1e-15);
}

TEST(MjcfJointEquality, WithoutASecondJointHoldsTheFirst) {
  const Scene scene = load_text(two_hinges("<joint joint1='i' polycoef='0.1'/>", "0.75"));
  EXPECT_EQ(scene.couplings[0].joint_2, 0);
  EXPECT_NEAR(coupling_error(scene.couplings[0], scene.model, vector({0.95, 7.0})), 0.1, 1e-15);
}

TEST(MjcfEquality, DefaultsAreThoseOfEqualityAndNotOfJoints) {
  const std::string defaults =
      "<default><joint damping='3'/><equality active='false'/>"
      "<default class='on'><equality active='true'/></default></default>";
  const Scene scene = load_text(
      defaults + two_hinges("<joint joint1='i'/><joint joint1='j' class='on'/><connect body1='b' anchor='0 0 0' "
                            "active='true'/><weld body1='a'/>"));
  ASSERT_EQ(scene.couplings.size(), 1u);
  EXPECT_EQ(scene.couplings[0].name, "j");
  ASSERT_EQ(scene.loops.size(), 1u);
  EXPECT_EQ(scene.warnings, std::vector<std::string>{"mjcf: equalities that are not active are left out"});
}

TEST(MjcfEquality, FlagsTurnItOff) {
  const std::string equality = two_hinges("<connect body1='a' anchor='0 0 0'/><joint joint1='i'/>");
  for (const char* flag : {"equality", "constraint"}) {
    const Scene scene = load_text("<option><flag " + std::string(flag) + "='disable'/></option>" + equality);
    EXPECT_TRUE(scene.loops.empty() && scene.couplings.empty()) << flag;
  }
}

TEST(MjcfEquality, NamesThatAreMadeUpKeepOutOfTheWayOfGivenOnes) {
  const Scene scene = load_text(two_hinges(
      "<connect body1='a' anchor='1 0 0'/><connect body1='a' anchor='1 0 1'/><connect name='a_world' body1='b' "
      "anchor='0 0 0'/>"));
  ASSERT_EQ(scene.loops.size(), 3u);
  EXPECT_EQ(scene.loops[0].name, "a_world_");
  EXPECT_EQ(scene.loops[1].name, "a_world__");
  EXPECT_EQ(scene.loops[2].name, "a_world");
}

TEST(MjcfEquality, WarnsOnceAboutWhatItDoesNotDo) {
  const Scene scene = load_text(
      with_sites("<tendon tendon1='x'/><tendon tendon1='y'/><flex flex='z'/><weld body1='base' body2='welded'/>"
                 "<weld body1='base' body2='arm' solref='0.02 1' solimp='0.9 0.95 0.001'/>"));
  EXPECT_EQ(scene.loops.size(), 1u);
  ASSERT_EQ(scene.warnings.size(), 4u) << ::testing::PrintToString(scene.warnings);
  EXPECT_EQ(scene.warnings[0], "mjcf: equality tendon elements are not supported");
  EXPECT_EQ(scene.warnings[1], "mjcf: equality flex elements are not supported");
  EXPECT_NE(scene.warnings[2].find("'base' and 'welded'"), std::string::npos);
  EXPECT_NE(scene.warnings[3].find("solref"), std::string::npos);
}

TEST(MjcfEqualityErrors, NameFileElementAndValue) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"<connect body1='x' body2='b' anchor='0 0 0'/>", "body1=\"x\""},
      {"<connect body1='a' body2='x' anchor='0 0 0'/>", "body2=\"x\""},
      {"<connect body1='a' body2='b'/>", "'anchor' is missing"},
      {"<connect body2='b' anchor='0 0 0'/>", "'body1' is missing"},
      {"<connect body1='a' body2='b' anchor='0 0'/>", "2 numbers instead of 3"},
      {"<connect body1='a' body2='b' anchor='0 0 inf'/>", "anchor=\"0 0 inf\""},
      {"<connect body1='a' body2='a' anchor='0 0 0'/>", "'a' to itself"},
      {"<connect site1='s'/>", "site1=\"s\""},
      {"<weld body1='a' body2='b' relpose='0 0 0 1'/>", "4 numbers instead of 7"},
      {"<weld body1='a' body2='b' relpose='0 0 0 inf 0 0 0'/>", "relpose=\"0 0 0 inf 0 0 0\""},
      {"<weld body1='a' site2='s'/>", "body1=\"a\""},
      {"<weld body1='a' active='maybe'/>", "active=\"maybe\""},
      {"<weld body1='a' class='nobody'/>", "'nobody'"},
      {"<weld name='n' body1='a'/><joint name='n' joint1='i'/>", "name=\"n\""},
      {"<joint joint2='j'/>", "'joint1' is missing"},
      {"<joint joint1='x'/>", "joint1=\"x\""},
      {"<joint joint1='i' joint2='i'/>", "joint2=\"i\""},
      {"<joint joint1='i' polycoef='1 2 3 4 5 6'/>", "6 numbers instead of 1 to 5"},
      {"<joint joint1='i' polycoef='inf'/>", "polycoef=\"inf\""},
  };
  for (const auto& [equality, value] : cases) {
    const std::string message = test::message_of<std::invalid_argument>([&] { load_text(two_hinges(equality)); });
    EXPECT_NE(message.find("model.xml"), std::string::npos) << equality << "\n" << message;
    EXPECT_NE(message.find(value), std::string::npos) << equality << "\n" << message;
  }
}

TEST(MjcfEqualityErrors, SitesHaveOneNameAndJointsOneCoordinate) {
  const auto message = [](const std::string& text) {
    return test::message_of<std::invalid_argument>([&] { load_text(text); });
  };
  EXPECT_NE(message("<worldbody><site name='s'/><site name='s'/></worldbody>").find("name=\"s\""), std::string::npos);
  EXPECT_NE(message("<worldbody><site fromto='0 0 0 1 0 0'/></worldbody>").find("fromto"), std::string::npos);
  EXPECT_NE(message("<worldbody><body><joint name='k' type='ball'/><geom size='0.1'/></body></worldbody>"
                    "<equality><joint joint1='k'/></equality>")
                .find("joint1=\"k\""),
            std::string::npos);
}

std::string ball(const std::string& attributes, const std::string& before = "") {
  return before + "<worldbody><body><joint type='ball' " + attributes + "/><geom size='0.1'/></body></worldbody>";
}

TEST(MjcfBallJoint, ARangeIsALargestAngle) {
  const Scene scene = load_text(ball("range='0 0.5'"));
  ASSERT_EQ(scene.ball_limits.size(), 1u);
  EXPECT_EQ(scene.ball_limits[0].joint, 1);
  EXPECT_EQ(scene.ball_limits[0].angle, 0.5);
  EXPECT_TRUE(scene.warnings.empty());
  EXPECT_TRUE((scene.model.upperPositionLimit.array() > 1e300).all());  // its quaternion is not limited
  const Scene degrees = load_text(ball("range='0 90'", "<compiler angle='degree'/>"));
  EXPECT_NEAR(degrees.ball_limits.at(0).angle, 0.5 * EIGEN_PI, 1e-15);
  EXPECT_TRUE(load_text(ball("range='0 4'")).ball_limits.empty());  // no rotation is that large
  EXPECT_TRUE(load_text(ball("range='0 1' limited='false'")).ball_limits.empty());
  EXPECT_TRUE(load_text(ball("range='0 1'", "<option><flag limit='disable'/></option>")).ball_limits.empty());
}

TEST(MjcfBallJoint, DampingAndDryFrictionAreOnAllThreeDofs) {
  const Scene scene = load_text(ball("damping='0.2' frictionloss='0.3' armature='0.4'"));
  EXPECT_EQ(scene.model.damping, Vector3d::Constant(0.2));
  EXPECT_EQ(scene.model.upperDryFrictionLimit, Vector3d::Constant(0.3));
  EXPECT_EQ(scene.model.lowerDryFrictionLimit, Vector3d::Constant(-0.3));
  EXPECT_EQ(scene.model.armature, Vector3d::Constant(0.4));
}

TEST(MjcfBallJoint, ARangeThatDoesNotStartAtZeroIsRefused) {
  const auto message = test::message_of<std::invalid_argument>([] { load_text(ball("range='-1 1'")); });
  EXPECT_NE(message.find("range=\"-1 1\""), std::string::npos) << message;
}

}  // namespace
}  // namespace taut
