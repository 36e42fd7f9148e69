#include <gtest/gtest.h>
#include <pinocchio/algorithm/frames.hpp>

#include <cmath>

#include "io/temp_folder.hpp"
#include "taut/io/load.hpp"

namespace taut {
namespace {

using Eigen::Vector3d;
using Eigen::VectorXd;
using pinocchio::SE3;

constexpr double kPi = 3.14159265358979323846;

Scene load_text(const std::string& inside) {
  const test::TempFolder folder;
  return load(folder.write("model.xml", "<mujoco>" + inside + "</mujoco>"));
}

SE3 body_placement(const Scene& scene, const std::string& body, const VectorXd& q) {
  pinocchio::Data data(scene.model);
  pinocchio::framesForwardKinematics(scene.model, data, Eigen::Ref<const VectorXd>(q));
  return data.oMf[scene.model.getFrameId(body)];
}

pinocchio::Inertia inertia_of(const std::string& geom) {
  return load_text("<worldbody><body><freejoint/>" + geom + "</body></worldbody>").model.inertias[1];
}

Vector3d diagonal(const pinocchio::Inertia& inertia) { return inertia.inertia().matrix().diagonal(); }

// Closed forms for a solid of 1000 kg/m³, MuJoCo's default density.
TEST(MjcfInertia, OfASphere) {
  const auto I = inertia_of("<geom size='0.2'/>");
  EXPECT_NEAR(I.mass(), 1000.0 * 4.0 / 3.0 * kPi * 0.008, 1e-12);
  EXPECT_TRUE(diagonal(I).isApprox(Vector3d::Constant(0.4 * I.mass() * 0.04), 1e-13));
}

TEST(MjcfInertia, OfABoxWithAMass) {
  const auto I = inertia_of("<geom type='box' size='0.1 0.2 0.3' mass='3' pos='1 0 0'/>");
  EXPECT_NEAR(I.mass(), 3.0, 1e-15);
  EXPECT_TRUE(I.lever().isApprox(Vector3d(1, 0, 0), 1e-15));
  EXPECT_TRUE(diagonal(I).isApprox(Vector3d(0.13, 0.10, 0.05), 1e-13));  // m (b² + c²) / 3
}

TEST(MjcfInertia, OfAnEllipsoid) {
  const auto I = inertia_of("<geom type='ellipsoid' size='0.1 0.2 0.3' mass='5'/>");
  EXPECT_TRUE(diagonal(I).isApprox(Vector3d(0.13, 0.10, 0.05), 1e-13));  // m (b² + c²) / 5
}

TEST(MjcfInertia, OfACylinder) {
  const auto I = inertia_of("<geom type='cylinder' size='0.2 0.3' mass='12'/>");
  const double across = 12.0 * (3 * 0.04 + 0.36) / 12.0;
  EXPECT_TRUE(diagonal(I).isApprox(Vector3d(across, across, 12.0 * 0.02), 1e-13));
}

TEST(MjcfInertia, OfACapsuleIsThatOfItsTubeAndTwoHalfBalls) {
  const double r = 0.1, h = 0.6;
  const double tube = 1000 * kPi * r * r * h, half_ball = 1000 * 2.0 / 3.0 * kPi * r * r * r;
  const double shift = h / 2 + 3.0 * r / 8.0;  // of the centre of a half ball
  const double across =
      tube * (3 * r * r + h * h) / 12 + 2 * half_ball * (0.4 * r * r - std::pow(3.0 * r / 8.0, 2) + shift * shift);
  const auto I = inertia_of("<geom type='capsule' size='0.1 0.3'/>");
  EXPECT_NEAR(I.mass(), tube + 2 * half_ball, 1e-12);
  EXPECT_NEAR(diagonal(I)[0], across, 1e-12);
  EXPECT_NEAR(diagonal(I)[2], (tube / 2 + 2 * half_ball * 0.4) * r * r, 1e-12);
}

TEST(MjcfInertia, OfATetrahedralMesh) {  // vertices 0, e_x, e_y, e_z: volume 1/6, centre at 1/4
  const Scene scene = load_text(
      "<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 2 1 0 1 3 0 3 2 1 2 3'/></asset>"
      "<worldbody><body><freejoint/><geom type='mesh' mesh='m' density='6'/></body></worldbody>");
  const auto& I = scene.model.inertias[1];
  EXPECT_NEAR(I.mass(), 1.0, 1e-13);
  EXPECT_TRUE(I.lever().isApprox(Vector3d::Constant(0.25), 1e-13));
  EXPECT_NEAR(diagonal(I)[0], 2.0 * (1.0 / 10.0 - 1.0 / 16.0), 1e-13);  // ∫ x² = m / 10
  EXPECT_EQ(scene.warnings, std::vector<std::string>{"mjcf: 1 meshes are replaced by their convex hulls"});
}

TEST(MjcfInertia, OfAWeldedBodyGoesToItsParent) {
  const Scene scene = load_text(
      "<worldbody><body name='a'><joint name='j'/><geom size='0.1' mass='1'/>"
      "<body name='b' pos='2 0 0'><geom size='0.1' mass='3'/></body></body></worldbody>");
  ASSERT_EQ(scene.model.njoints, 2);
  EXPECT_NEAR(scene.model.inertias[1].mass(), 4.0, 1e-14);
  EXPECT_TRUE(scene.model.inertias[1].lever().isApprox(Vector3d(1.5, 0, 0), 1e-14));
  EXPECT_TRUE(scene.model.existBodyName("b"));
}

TEST(MjcfInertia, IsScaledToTheTotalMassAndBounded) {
  const Scene scene = load_text(
      "<compiler settotalmass='10' boundmass='1'/><worldbody><body><joint/><geom size='0.1' mass='0.5'/></body>"
      "<body><joint/><geom size='0.1' mass='3'/></body></worldbody>");
  EXPECT_NEAR(scene.model.inertias[1].mass(), 2.5, 1e-14);
  EXPECT_NEAR(scene.model.inertias[2].mass(), 7.5, 1e-14);
}

TEST(MjcfInertia, GivenInFullIsKept) {
  const Scene scene = load_text(
      "<worldbody><body><inertial mass='2' pos='0 0 1' fullinertia='1 2 2.5 0.1 0.2 0.3'/><joint/></body></worldbody>");
  Eigen::Matrix3d expected;
  expected << 1, 0.1, 0.2, 0.1, 2, 0.3, 0.2, 0.3, 2.5;
  EXPECT_TRUE(scene.model.inertias[1].inertia().matrix().isApprox(expected, 1e-13));
}

TEST(MjcfModel, SeveralJointsOfABodyActInTheirOrderAboutTheirAnchors) {
  const Scene scene = load_text(
      "<compiler angle='radian'/><worldbody><body name='b' pos='0 0 1'><joint type='slide' axis='1 0 0'/>"
      "<joint axis='0 0 1' pos='1 0 0'/><joint axis='0 -1 0'/><geom size='0.1'/></body></worldbody>");
  ASSERT_EQ(scene.model.nv, 3);
  EXPECT_EQ(scene.model.names[3], "b_joint2");
  // slides to x = 0.5, then turns by 90° about the vertical through (1, 0, 0) of the slid body
  const SE3 oMb = body_placement(scene, "b", Vector3d(0.5, kPi / 2, 0.0));
  EXPECT_TRUE(oMb.translation().isApprox(Vector3d(1.5, -1.0, 1.0), 1e-14));
  EXPECT_TRUE(oMb.rotation().col(0).isApprox(Vector3d::UnitY(), 1e-14));
}

TEST(MjcfModel, IsDrawnAtItsReference) {
  const Scene scene = load_text(
      "<worldbody><body name='b' pos='0 0 1'><joint type='slide' axis='0 0 1' ref='1'/><joint ref='90' range='0 180'/>"
      "<geom size='0.1'/></body></worldbody>");
  EXPECT_TRUE(scene.q0.isApprox(Eigen::Vector2d(1.0, kPi / 2), 1e-15));
  EXPECT_TRUE(
      body_placement(scene, "b", scene.q0).isApprox(SE3(Eigen::Matrix3d::Identity(), Vector3d(0, 0, 1)), 1e-14));
  EXPECT_TRUE(body_placement(scene, "b", Eigen::Vector2d::Zero()).translation().isZero(1e-14));
}

TEST(MjcfModel, LimitsAndJointTermsFollowTheFlags) {
  const Scene scene = load_text(
      "<worldbody><body><joint range='-90 45' damping='1' armature='2' frictionloss='3' stiffness='4' springref='90'/>"
      "<joint type='slide' range='-1 2' limited='false'/><joint type='slide' range='1 -1'/><geom size='0.1'/></body>"
      "</worldbody>");
  EXPECT_NEAR(scene.model.lowerPositionLimit[0], -kPi / 2, 1e-15);
  EXPECT_NEAR(scene.model.upperPositionLimit[0], kPi / 4, 1e-15);
  EXPECT_EQ(scene.model.upperPositionLimit[1], HUGE_VAL);
  EXPECT_EQ(scene.model.lowerPositionLimit[2], -HUGE_VAL);
  EXPECT_EQ(scene.model.damping[0], 1.0);
  EXPECT_EQ(scene.model.armature[0], 2.0);
  EXPECT_EQ(scene.model.upperDryFrictionLimit[0], 3.0);
  EXPECT_EQ(scene.model.lowerDryFrictionLimit[0], -3.0);
  EXPECT_EQ(scene.stiffness[0], 4.0);
  EXPECT_NEAR(scene.spring_reference[0], kPi / 2, 1e-15);
}

TEST(MjcfModel, OrientationsAgree) {  // one rotation, 90° about x, written in every way
  const Eigen::Matrix3d expected = Eigen::AngleAxisd(kPi / 2, Vector3d::UnitX()).toRotationMatrix();
  for (const char* text :
       {"quat='1 1 0 0'", "axisangle='2 0 0 90'", "euler='90 0 0'", "xyaxes='1 0 0 1 0 5'", "zaxis='0 -2 0'"}) {
    const Scene scene = load_text("<worldbody><body name='b' " + std::string(text) + "/></worldbody>");
    EXPECT_TRUE(body_placement(scene, "b", scene.q0).rotation().isApprox(expected, 1e-14)) << text;
  }
}

TEST(MjcfModel, EulerSequencesTurnAboutMovingOrFixedAxes) {
  const auto rotation = [](const std::string& sequence) {
    const Scene scene = load_text("<compiler angle='radian' eulerseq='" + sequence +
                                  "'/><worldbody><body name='b' euler='0.1 0.2 0.3'/></worldbody>");
    return body_placement(scene, "b", scene.q0).rotation();
  };
  const Eigen::AngleAxisd x(0.1, Vector3d::UnitX()), y(0.2, Vector3d::UnitY()), z(0.3, Vector3d::UnitZ());
  EXPECT_TRUE(rotation("xyz").isApprox((x * y * z).toRotationMatrix(), 1e-14));
  EXPECT_TRUE(rotation("XYZ").isApprox((z * y * x).toRotationMatrix(), 1e-14));
}

TEST(MjcfModel, FramesPlaceWhatTheyHoldAndPassOnTheirClass) {
  const Scene scene = load_text(
      "<default><default class='heavy'><geom mass='7'/></default></default>"
      "<worldbody><frame pos='1 0 0' childclass='heavy'><frame euler='0 0 90'><body name='b' pos='1 0 0'><freejoint/>"
      "<geom size='0.1'/></body></frame></frame></worldbody>");
  EXPECT_TRUE(scene.q0.head<3>().isApprox(Vector3d(1, 1, 0), 1e-14));
  EXPECT_EQ(scene.model.inertias[1].mass(), 7.0);
}

TEST(MjcfDefaults, OwnAttributeThenClassThenChildClassThenMain) {
  const Scene scene = load_text(
      "<default><joint damping='1' armature='1'/><default class='a'><joint damping='2'/>"
      "<default class='b'><joint damping='3'/></default></default></default>"
      "<worldbody><body><joint/><geom size='0.1'/></body>"
      "<body childclass='a'><joint/><geom size='0.1'/><body><joint class='b'/><geom size='0.1'/>"
      "<body><joint class='b' damping='4'/><geom size='0.1'/><body childclass='main'><joint/><geom size='0.1'/></body>"
      "</body></body></body></worldbody>");
  VectorXd expected(5);
  expected << 1, 2, 3, 4, 1;
  EXPECT_TRUE(scene.model.damping.isApprox(expected));
  EXPECT_TRUE(scene.model.armature.isApprox(VectorXd::Ones(5)));
}

TEST(MjcfDefaults, AnOrientationReplacesTheInheritedOneWhateverItsForm) {
  const Scene scene = load_text(
      "<default><geom euler='90 0 0' type='box' size='0.1 0.2 0.3'/></default>"
      "<worldbody><body><freejoint/><geom name='a'/><geom name='b' quat='1 0 0 0'/></body></worldbody>");
  EXPECT_FALSE(scene.geometry.geometryObjects[0].placement.rotation().isIdentity(1e-3));
  EXPECT_TRUE(scene.geometry.geometryObjects[1].placement.rotation().isIdentity(1e-14));
}

TEST(MjcfModel, IncludedFilesAreReadInPlace) {
  const test::TempFolder folder;
  folder.write("parts/leg.xml", "<mujocoinclude><body name='leg'><joint/><geom size='0.1'/></body></mujocoinclude>");
  const std::string path =
      folder.write("model.xml", "<mujoco><worldbody><include file='parts/leg.xml'/></worldbody></mujoco>");
  EXPECT_TRUE(load(path).model.existBodyName("leg"));
}

}  // namespace
}  // namespace taut
