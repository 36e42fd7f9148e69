#include <coal/hfield.h>
#include <coal/shape/geometric_shapes.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "io/temp_folder.hpp"
#include "taut/io/errors.hpp"
#include "taut/io/load.hpp"

namespace taut {
namespace {

using Eigen::Vector3d;
using Eigen::VectorXd;

Scene load_text(const std::string& inside, const LoadOptions& options = {}) {
  const test::TempFolder folder;
  return load(folder.write("model.xml", "<mujoco>" + inside + "</mujoco>"), options);
}

std::string error_of(const std::string& inside) {
  return test::message_of<std::invalid_argument>([&] { load_text(inside); });
}

std::vector<std::string> pairs(const Scene& scene) {
  std::vector<std::string> names;
  for (const auto& pair : scene.geometry.collisionPairs) {
    names.push_back(scene.geometry.geometryObjects[pair.first].name + " " +
                    scene.geometry.geometryObjects[pair.second].name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

double friction(const Scene& scene, const std::string& a, const std::string& b) {
  return scene.friction(scene.geometry.getGeometryId(a), scene.geometry.getGeometryId(b));
}

// floor; base (b) with a welded child (w); hip (h) on the base; foot (f) on the hip.
const std::string kChain =
    "<worldbody><geom name='floor' type='plane' size='1 1 1'/>"
    "<body name='base'><freejoint/><geom name='b' size='0.1'/>"
    "<body name='welded'><geom name='w' size='0.1'/></body>"
    "<body name='hip'><joint/><geom name='h' size='0.1'/>"
    "<body name='foot'><joint/><geom name='f' size='0.1'/></body></body></body></worldbody>";

TEST(MjcfContact, FiltersWeldedBodiesAndParents) {
  EXPECT_EQ(pairs(load_text(kChain)),
            (std::vector<std::string>{"b f", "floor b", "floor f", "floor h", "floor w", "w f"}));
}

TEST(MjcfContact, ParentsTouchWhenTheFilterIsOff) {
  const auto all = pairs(load_text("<option><flag filterparent='disable'/></option>" + kChain));
  EXPECT_NE(std::find(all.begin(), all.end(), "b h"), all.end());
  EXPECT_EQ(std::find(all.begin(), all.end(), "b w"), all.end());
}

TEST(MjcfContact, ExcludeRemovesAndPairAdds) {
  const Scene scene = load_text(kChain +
                                "<contact><exclude body1='foot' body2='base'/>"
                                "<pair geom1='h' geom2='b' friction='0.3 0.3'/></contact>");
  EXPECT_EQ(pairs(scene), (std::vector<std::string>{"b h", "floor b", "floor f", "floor h", "floor w", "w f"}));
  EXPECT_EQ(friction(scene, "b", "h"), 0.3);
}

TEST(MjcfContact, MasksDecideAndShapesThatTouchNothingAreLeftOut) {
  const Scene scene = load_text(
      "<worldbody><geom name='floor' type='plane' size='1 1 1' contype='1' conaffinity='2'/><body><freejoint/>"
      "<geom name='a' size='0.1' contype='2' conaffinity='0'/><geom name='c' size='0.1' contype='4' conaffinity='4'/>"
      "<geom name='seen' size='0.1' contype='0' conaffinity='0'/></body></worldbody>");
  EXPECT_EQ(pairs(scene), std::vector<std::string>{"floor a"});
  EXPECT_FALSE(scene.geometry.existGeometryName("seen"));
}

TEST(MjcfContact, FrictionIsTheLargerUnlessPriorityDecides) {
  const Scene scene = load_text(
      "<worldbody><geom name='floor' type='plane' size='1 1 1' friction='0.5'/><body><freejoint/>"
      "<geom name='rough' size='0.1' friction='0.9 0.1'/><geom name='slick' size='0.1' friction='0.2' priority='1'/>"
      "</body></worldbody>");
  EXPECT_EQ(friction(scene, "floor", "rough"), 0.9);
  EXPECT_EQ(friction(scene, "floor", "slick"), 0.2);
}

TEST(MjcfContact, CondimOneOnBothSidesHasNoFriction) {
  const std::string text =
      "<worldbody><geom name='floor' type='plane' size='1 1 1'/>"
      "<body><freejoint/><geom name='a' size='0.1' condim='1'/></body>"
      "<body><freejoint/><geom name='b' size='0.1' condim='1'/></body></worldbody>";
  const Scene scene = load_text(text);
  EXPECT_EQ(friction(scene, "a", "b"), 0.0);
  EXPECT_EQ(friction(scene, "floor", "a"), 1.0);  // the larger condim, the floor's 3

  const Scene overridden = load_text(text, {.friction = 0.4});
  EXPECT_EQ(friction(overridden, "a", "b"), 0.0);
  EXPECT_EQ(friction(overridden, "floor", "a"), 0.4);
}

TEST(MjcfGeometry, SizesAreHalvedInMujocoAndFullInCoal) {
  const Scene scene = load_text(
      "<worldbody><geom name='p' type='plane' size='0 0 1' pos='0 0 2' zaxis='1 0 0'/>"
      "<geom type='capsule' size='0.1' fromto='0 0 0 0 0 2'/><geom type='box' size='1 2 3'/></worldbody>");
  const auto& objects = scene.geometry.geometryObjects;
  const auto& plane = dynamic_cast<const coal::Halfspace&>(*objects[0].geometry);
  EXPECT_TRUE(Vector3d(objects[0].placement.rotation() * plane.n).isApprox(Vector3d::UnitX(), 1e-14));
  EXPECT_EQ(dynamic_cast<const coal::Capsule&>(*objects[1].geometry).halfLength, 1.0);
  EXPECT_TRUE(objects[1].placement.translation().isApprox(Vector3d(0, 0, 1)));
  EXPECT_EQ(objects[1].name, "world_geom1");
  EXPECT_TRUE(dynamic_cast<const coal::Box&>(*objects[2].geometry).halfSide.isApprox(Vector3d(1, 2, 3)));
}

TEST(MjcfGeometry, HeightFieldIsStretchedAndItsFirstRowIsAtLargestY) {
  const Scene scene = load_text(
      "<asset><hfield name='h' nrow='2' ncol='3' elevation='1 2 3  4 5 9' size='1 2 0.4 0.1'/></asset>"
      "<worldbody><geom type='hfield' hfield='h'/></worldbody>");
  const auto& field = dynamic_cast<const coal::HeightField<coal::AABB>&>(*scene.geometry.geometryObjects[0].geometry);
  EXPECT_EQ(field.getXDim(), 2.0);
  EXPECT_EQ(field.getYDim(), 4.0);
  EXPECT_GT(field.getYGrid()[0], field.getYGrid()[1]);
  EXPECT_NEAR(field.getHeights()(0, 2), 0.1, 1e-15);  // 0.4 (3 − 1) / (9 − 1)
  EXPECT_NEAR(field.getHeights()(1, 2), 0.4, 1e-15);
}

TEST(MjcfGeometry, FloorIsAddedOnlyIfTheFileHasNone) {
  EXPECT_EQ(load_text(kChain, {.floor = true}).geometry.ngeoms, load_text(kChain).geometry.ngeoms);
  const Scene bare = load_text("<worldbody><body><freejoint/><geom size='0.1'/></body></worldbody>", {.floor = true});
  EXPECT_EQ(pairs(bare).size(), 1u);
}

TEST(MjcfControl, MotorsAndServosWithTheirRanges) {
  const Scene scene = load_text(
      "<compiler angle='radian'/><default><motor ctrlrange='-2 2' gear='5'/></default>"
      "<worldbody><body><joint name='i'/><joint name='j' type='slide' range='-1 3'/><geom size='0.1' mass='2'/></body>"
      "</worldbody><actuator><motor joint='i' name='m'/>"
      "<position joint='j' kp='8' dampratio='1' gear='2' inheritrange='0.5' forcerange='-1 1'/>"
      "<general joint='i' gainprm='7' biastype='affine' biasprm='0 -7 -3'/></actuator>");
  ASSERT_EQ(scene.actuators.size(), 3u);
  const Actuator &motor = scene.actuators[0], &servo = scene.actuators[1], &general = scene.actuators[2];
  EXPECT_EQ(motor.name, "m");
  EXPECT_EQ(motor.gear, 5.0);
  EXPECT_EQ(motor.control_range, std::pair(-2.0, 2.0));
  EXPECT_EQ(motor.force_range.second, HUGE_VAL);
  EXPECT_EQ(servo.kind, Actuator::Kind::position);
  EXPECT_EQ(servo.dof, 1);
  EXPECT_NEAR(servo.kv, 2.0 * std::sqrt(8.0 * 2.0 / 4.0), 1e-12);  // critical for 2 kg behind a gear of 2
  EXPECT_EQ(servo.control_range, std::pair(0.0, 2.0));
  EXPECT_EQ(servo.force_range, std::pair(-1.0, 1.0));
  EXPECT_EQ(general.kp, 7.0);
  EXPECT_EQ(general.kv, 3.0);
}

TEST(MjcfControl, KeyframesBecomePosesAndTheFirstIsWhereARunStarts) {
  const Scene scene = load_text(
      "<worldbody><body><freejoint/><geom size='0.1'/><body><joint type='ball'/><geom size='0.1'/></body>"
      "<body><joint/><geom size='0.1'/></body></body></worldbody>"
      "<keyframe><key name='z' qpos='1 2 3  0 2 0 0  1 0 0 0  0.5'/><key/></keyframe>");
  VectorXd expected(12);
  expected << 1, 2, 3, 1, 0, 0, 0, 0, 0, 0, 1, 0.5;  // w x y z to x y z w, normalized
  EXPECT_TRUE(scene.q0.isApprox(expected, 1e-15));
  EXPECT_TRUE(scene.poses.at("z").isApprox(expected, 1e-15));
  EXPECT_EQ(scene.poses.at("key1")[2], 0.0);
}

TEST(MjcfWarnings, NameWhatIsNotSupportedOnce) {
  const Scene scene = load_text(
      "<option density='1.2' timestep='0.01' integrator='RK4'/>"
      "<default><geom solref='0.02 1' margin='0.1'/></default>"
      "<worldbody><site name='s'/><body><joint name='j' solreflimit='0.1 1'/><geom size='0.1' condim='6'/>"
      "<geom size='0.1' condim='4'/></body><geom type='plane' size='1 1 1'/><replicate count='3'/></worldbody>"
      "<tendon><fixed><joint joint='j' coef='1'/></fixed></tendon><equality><flex flex='f'/></equality>"
      "<actuator><velocity joint='j'/><velocity joint='j'/></actuator><sensor><jointpos joint='j'/></sensor>");
  std::vector<std::string> warnings = scene.warnings;
  EXPECT_EQ(warnings.size(), 9u) << ::testing::PrintToString(warnings);
  for (const char* what : {"tendon elements", "equality flex elements", "option density", "velocity actuators",
                           "solref", "condim 4 and 6", "replicate elements", "sensor elements", "MuJoCo's step"}) {
    EXPECT_EQ(std::count_if(warnings.begin(), warnings.end(),
                            [&](const std::string& w) { return w.find(what) != std::string::npos; }),
              1)
        << what;
  }
}

TEST(MjcfWarnings, AreAbsentFromAPlainModel) { EXPECT_TRUE(load_text(kChain).warnings.empty()); }

TEST(MjcfErrors, AMissingMeshIsAFileThatIsNotThere) {
  const auto message =
      test::message_of<FileNotFound>([] { load_text("<asset><mesh name='m' file='gone.stl'/></asset>"); });
  for (const char* named : {"<mesh name=\"m\"> (line", "file=\"gone.stl\""}) {
    EXPECT_NE(message.find(named), std::string::npos) << message;
  }
}

TEST(MjcfErrors, NameFileElementAndValue) {
  const auto body = [](const std::string& inside) {
    return "<worldbody><body name='x'>" + inside + "</body></worldbody>";
  };
  const std::string ball = "<geom size='0.1'/>";
  const std::vector<std::pair<std::string, std::string>> cases{
      {body("<joint/><geom size='0.1' friction='-0.5'/>"), "friction=\"-0.5\""},
      {body("<joint/><geom size='-1'/>"), "size=\"-1\""},
      {body("<joint/><geom size='0.1' mass='-2'/>"), "mass=\"-2\""},
      {body("<joint/><geom size='0.1' mass='0'/>"), "'x' moves and has the mass 0"},
      {body("<joint/>"), "'x' moves and has the mass 0"},
      {body("<joint axis='0 0 0'/>" + ball), "axis=\"0 0 0\""},
      {body("<joint axis='0 0 one'/>" + ball), "'one'"},
      {body("<joint axis='0 1'/>" + ball), "2 numbers instead of 3"},
      {body("<joint type='screw'/>" + ball), "type=\"screw\""},
      {body("<joint class='nobody'/>" + ball), "'nobody'"},
      {body("<joint damping='-1'/>" + ball), "damping=\"-1\""},
      {body("<joint/><joint type='free'/>" + ball), "free joint"},
      {body("<joint/><geom type='plane' size='1 1 1'/>" + ball), "plane"},
      {body("<joint/><geom type='mesh' mesh='gone'/>"), "mesh=\"gone\""},
      {body("<joint/><geom size='0.1' quat='0 0 0 0'/>"), "quat=\"0 0 0 0\""},
      {body("<joint/><geom size='0.1' quat='1 0 0 0' euler='0 0 0'/>"), "one orientation"},
      {body("<joint/><inertial mass='1' diaginertia='1 1 5'/>"), "A + B >= C"},
      {body("<joint name='j'/><joint name='j'/>" + ball), "named 'j'"},
      {body("<joint/>" + ball) + "<actuator><motor joint='k'/></actuator>", "joint=\"k\""},
      {body("<joint/>" + ball) + "<keyframe><key qpos='1 2'/></keyframe>", "2 numbers instead of 1"},
      {body("<joint/>" + ball) + "<contact><exclude body1='x' body2='y'/></contact>", "body2=\"y\""},
      {"<compiler coordinate='global'/>", "global"},
      {"<compiler autolimits='false'/>" + body("<joint range='0 1'/>" + ball), "autolimits"},
      {"<worldbody><geom size='0.1'></worldbody>", "malformed"},
  };
  for (const auto& [text, value] : cases) {
    const std::string message = error_of(text);
    EXPECT_NE(message.find("model.xml"), std::string::npos) << text << "\n" << message;
    EXPECT_NE(message.find(value), std::string::npos) << text << "\n" << message;
  }
}

TEST(LoadErrors, MissingFilesAreNamed) {
  EXPECT_NE(test::message_of<FileNotFound>([] { load("/nowhere/robot.xml"); }).find("/nowhere/robot.xml"),
            std::string::npos);
  const test::TempFolder folder;
  const std::string path = folder.write("a.xml", "<mujoco><include file='b.xml'/></mujoco>");
  EXPECT_NE(test::message_of<FileNotFound>([&] { load(path); }).find("b.xml"), std::string::npos);
}

TEST(LoadErrors, OtherFormatsAreRefused) {
  const test::TempFolder folder;
  for (const char* text : {"<sdf/>", "", "no xml at all"}) {
    const std::string path = folder.write("model.sdf", text);
    EXPECT_NE(test::message_of<std::invalid_argument>([&] { load(path); }).find("model.sdf"), std::string::npos);
  }
}

TEST(LoadErrors, NegativeFrictionOptionIsRefused) {
  EXPECT_THROW(load_text(kChain, {.friction = -1.0}), std::invalid_argument);
}

TEST(LoadErrors, AFileThatIncludesItselfIsRefused) {
  const test::TempFolder folder;
  const std::string path = folder.write("a.xml", "<mujoco><include file='a.xml'/></mujoco>");
  EXPECT_THROW(load(path), std::invalid_argument);
}

}  // namespace
}  // namespace taut
