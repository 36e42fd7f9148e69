#include <coal/shape/convex.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "io/temp_folder.hpp"
#include "taut/io/errors.hpp"
#include "taut/io/load.hpp"

namespace taut {
namespace {

std::string link(const std::string& name, const std::string& shape, const std::string& mass = "1") {
  return "<link name='" + name + "'><inertial><mass value='" + mass +
         "'/><inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial>" +
         (shape.empty() ? "" : "<collision><geometry>" + shape + "</geometry></collision>") + "</link>";
}

std::string joint(const std::string& name, const std::string& type, const std::string& parent, const std::string& child,
                  const std::string& inside = "") {
  return "<joint name='" + name + "' type='" + type + "'><parent link='" + parent + "'/><child link='" + child +
         "'/><origin xyz='0 0 -0.5'/><axis xyz='0 1 0'/>" + inside + "</joint>";
}

const std::string kLimit =
    "<limit lower='-1' upper='2' effort='3' velocity='4'/><dynamics damping='0.5' friction='0.25'/>";

// A trunk, two links below it one after the other, and a wheel at the end; from 0.25 above the origin to 1.75 below.
std::string leg(const std::string& root = link("trunk", "<box size='0.5 0.5 0.5'/>")) {
  return "<robot name='leg'>" + root + link("thigh", "<cylinder radius='0.1' length='0.2'/>") +
         link("shin", "<sphere radius='0.1'/>") + link("wheel", "<sphere radius='0.25'/>") +
         joint("hip", "revolute", "trunk", "thigh", kLimit) + joint("knee", "revolute", "thigh", "shin", kLimit) +
         joint("axle", "continuous", "shin", "wheel") + "</robot>";
}

TEST(Urdf, JointTermsComeFromLimitsAndDynamics) {
  const test::TempFolder folder;
  const Scene scene = load(folder.write("leg.urdf", leg()), {.root = Root::fixed});
  EXPECT_EQ(scene.model.nq, 4);  // a continuous joint is a cosine and a sine
  EXPECT_EQ(scene.model.nv, 3);
  EXPECT_EQ(scene.model.damping[0], 0.5);
  EXPECT_EQ(scene.model.upperDryFrictionLimit[0], 0.25);
  EXPECT_EQ(scene.model.lowerDryFrictionLimit[0], -0.25);
  EXPECT_EQ(scene.model.lowerPositionLimit[0], -1.0);
  EXPECT_EQ(scene.model.upperEffortLimit[1], 3.0);
}

TEST(Urdf, RootIsFreeUnlessItStandsForTheWorld) {
  const test::TempFolder folder;
  EXPECT_EQ(load(folder.write("a.urdf", leg())).model.nv, 9);
  EXPECT_EQ(load(folder.write("b.urdf", leg("<link name='trunk'/>"))).model.nv, 3);
  // a massless root that holds a massive trunk by a fixed joint is a floating robot
  const std::string welded = leg("<link name='base'/>" + link("trunk", "") + joint("weld", "fixed", "base", "trunk"));
  EXPECT_EQ(load(folder.write("c.urdf", welded)).model.nv, 9);
  const std::string world = leg(link("world", "") + link("trunk", "") + joint("weld", "fixed", "world", "trunk"));
  EXPECT_EQ(load(folder.write("d.urdf", world)).model.nv, 3);
  EXPECT_EQ(load(folder.path("d.urdf"), {.root = Root::free}).model.nv, 9);
}

// The wheel follows the knee, which follows the hip; the file names them the other way round.
const std::string kFollowers =
    "<robot name='leg'>" + link("trunk", "") + link("thigh", "") + link("shin", "") + link("wheel", "") +
    joint("axle", "continuous", "shin", "wheel", "<mimic joint='knee' multiplier='2' offset='0.5'/>") +
    joint("knee", "revolute", "thigh", "shin", kLimit + "<mimic joint='hip' offset='0.25'/>") +
    joint("hip", "revolute", "trunk", "thigh", kLimit) + "</robot>";

TEST(Urdf, AMimicJointIsCoupledAndStartsWhereItsLeaderWantsIt) {
  const test::TempFolder folder;
  const std::string path = folder.write("leg.urdf", kFollowers);
  const Scene scene = load(path, {.root = Root::fixed});
  EXPECT_TRUE(scene.warnings.empty());
  ASSERT_EQ(scene.couplings.size(), 2u);
  const auto index = [&](const char* name) { return static_cast<int>(scene.model.getJointId(name)); };
  const Coupling &knee = scene.couplings[0], &axle = scene.couplings[1];
  EXPECT_EQ(knee.name, "knee");
  EXPECT_EQ(knee.joint_1, index("knee"));
  EXPECT_EQ(knee.joint_2, index("hip"));
  EXPECT_EQ(knee.polynomial, (std::array{0.25, 1.0, 0.0, 0.0, 0.0}));
  EXPECT_EQ(axle.joint_2, index("knee"));
  EXPECT_EQ(axle.polynomial, (std::array{0.5, 2.0, 0.0, 0.0, 0.0}));
  const Eigen::Vector4d expected(0.0, 0.25, std::cos(1.0), std::sin(1.0));
  EXPECT_TRUE(scene.q0.isApprox(expected, 1e-15)) << scene.q0.transpose();
}

TEST(Urdf, APoseMayLeaveMimicJointsOut) {
  const test::TempFolder folder;
  const std::string path = folder.write("leg.urdf", kFollowers);
  folder.write("leg.srdf",
               "<robot name='leg'><group_state name='home'><joint name='hip' value='0.5'/></group_state>"
               "<group_state name='odd'><joint name='hip' value='0.5'/><joint name='knee' value='1.5'/></group_state>"
               "</robot>");
  const Scene scene = load(path, {.root = Root::fixed});
  const Eigen::Vector4d home(0.5, 0.75, std::cos(2.0), std::sin(2.0)), odd(0.5, 1.5, std::cos(3.5), std::sin(3.5));
  EXPECT_TRUE(scene.q0.isApprox(home, 1e-15)) << scene.q0.transpose();
  EXPECT_TRUE(scene.poses.at("odd").isApprox(odd, 1e-15)) << scene.poses.at("odd").transpose();  // as it is given
}

TEST(Urdf, AMimicOfAFixedJointIsHeldAtItsOffset) {
  const test::TempFolder folder;
  const std::string tool = link("trunk", "") + link("tool", "") + joint("weld", "fixed", "trunk", "tool") +
                           link("finger", "") +
                           joint("grip", "revolute", "tool", "finger", kLimit + "<mimic joint='weld' offset='0.5'/>");
  const Scene scene = load(folder.write("leg.urdf", leg(tool)), {.root = Root::fixed});
  ASSERT_EQ(scene.couplings.size(), 1u);
  EXPECT_EQ(scene.couplings[0].joint_2, 0);
  EXPECT_EQ(coupling_error(scene.couplings[0], scene.model, scene.q0), 0.0);
  EXPECT_EQ(scene.q0[scene.model.idx_qs[scene.couplings[0].joint_1]], 0.5);
}

TEST(Urdf, AMimicOfNoJointIsWarnedAbout) {
  const test::TempFolder folder;
  const std::string tool = link("trunk", "") + link("tool", "") +
                           joint("wrist", "revolute", "trunk", "tool", kLimit + "<mimic joint='gone'/>");
  const Scene scene = load(folder.write("leg.urdf", leg(tool)));
  EXPECT_TRUE(scene.couplings.empty());
  ASSERT_FALSE(scene.warnings.empty());
  EXPECT_EQ(scene.warnings[0],
            "urdf: joints that follow one that is not there move on their own: 1 (wrist after gone)");
}

TEST(Urdf, NeutralIsPutDownOnTheFloor) {
  const test::TempFolder folder;
  const Scene scene = load(folder.write("leg.urdf", leg()), {.floor = true});
  EXPECT_NEAR(scene.q0[2], 1.75, 1e-12);  // three links of 0.5 and the wheel's radius
}

TEST(Urdf, NeighboursDoNotCollide) {
  const test::TempFolder folder;
  const Scene scene = load(folder.write("leg.urdf", leg()));
  ASSERT_EQ(scene.geometry.collisionPairs.size(), 3u);  // trunk-shin, trunk-wheel, thigh-wheel
  EXPECT_TRUE(scene.warnings.empty());
}

TEST(Urdf, OverlapsAreDropped) {
  const test::TempFolder folder;
  const std::string fat = leg(link("trunk", "<sphere radius='1.3'/>"));  // reaches into the shin and the wheel
  const Scene scene = load(folder.write("leg.urdf", fat));
  EXPECT_EQ(scene.geometry.collisionPairs.size(), 1u);
  ASSERT_EQ(scene.warnings.size(), 1u);
  EXPECT_NE(scene.warnings[0].find("2 pairs"), std::string::npos) << scene.warnings[0];
  folder.write("leg.srdf", "<robot name='leg'/>");
  EXPECT_EQ(load(folder.path("leg.urdf")).geometry.collisionPairs.size(), 1u);  // an SRDF that forgot them
}

const std::string kSrdf =
    "<robot name='leg'><disable_collisions link1='wheel' link2='trunk' reason='Never'/>"
    "<group_state name='crouch' group='all'><joint name='hip' value='0.1'/></group_state>"
    "<group_state name='standing' group='all'><joint name='root_joint' value='0 0 2 0 0 0 1'/>"
    "<joint name='hip' value='0.5'/><joint name='axle' value='1.0'/><joint name='absent' value='1'/></group_state>"
    "<rotor_params><joint name='knee' mass='0.01' gear_ratio='10'/></rotor_params></robot>";

TEST(Urdf, SrdfBringsPosesPairsAndRotors) {
  const test::TempFolder folder;
  const std::string path = folder.write("robots/leg_v2.urdf", leg());
  folder.write("srdf/leg.srdf", kSrdf);  // another file name: found by the robot's
  const Scene scene = load(path, {.floor = true});
  EXPECT_EQ(scene.geometry.collisionPairs.size(), 2u + 4u);  // the floor meets all four shapes
  EXPECT_EQ(scene.q0[2], 2.0);                               // above the floor: the pose is left alone
  EXPECT_EQ(scene.q0[7], 0.5);
  EXPECT_NEAR(scene.q0[9], std::cos(1.0), 1e-15);
  EXPECT_NEAR(scene.q0[10], std::sin(1.0), 1e-15);
  EXPECT_EQ(scene.poses.at("crouch")[7], 0.1);
  EXPECT_NEAR(scene.model.armature[7], 1.0, 1e-15);
}

TEST(Urdf, APoseInsideTheFloorIsLiftedOut) {
  const test::TempFolder folder;
  const std::string path = folder.write("leg.urdf", leg());
  folder.write("leg.srdf",
               "<robot name='leg'><group_state name='home'><joint name='root_joint' value='0 0 1.7 0 0 0 1'/>"
               "</group_state></robot>");
  EXPECT_NEAR(load(path, {.floor = true}).q0[2], 1.75, 1e-12);
  EXPECT_EQ(load(path).q0[2], 1.7);
}

TEST(Urdf, MeshesAreFoundSharedAndReplacedByTheirHulls) {
  const test::TempFolder folder;
  folder.write(
      "leg_description/meshes/tet.obj",
      "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0.1 0.1 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 5\nf 3 4 5\nf 4 2 5\n");
  const std::string uri = "<mesh filename='package://leg_description/meshes/tet.obj' scale='0.1 0.1 0.1'/>";
  const std::string path = folder.write("leg_description/urdf/leg.urdf", leg(link("trunk", uri) + link("tool", uri) +
                                                                             joint("weld", "fixed", "trunk", "tool")));
  const Scene scene = load(path);
  const auto& objects = scene.geometry.geometryObjects;
  const auto* hull =
      dynamic_cast<const coal::ConvexBase*>(objects[scene.geometry.getGeometryId("trunk_0")].geometry.get());
  ASSERT_NE(hull, nullptr);
  EXPECT_EQ(hull->num_points, 4u);  // the dent is filled
  EXPECT_EQ(hull, objects[scene.geometry.getGeometryId("tool_0")].geometry.get());
  ASSERT_FALSE(scene.warnings.empty());
  EXPECT_EQ(scene.warnings[0], "urdf: 2 meshes are replaced by their convex hulls");
}

TEST(Urdf, FrictionIsOverridden) {
  const test::TempFolder folder;
  const Scene scene = load(folder.write("leg.urdf", leg()), {.floor = true, .friction = 0.3});
  for (const Surface& surface : scene.surfaces) EXPECT_EQ(surface.friction, 0.3);
  EXPECT_EQ(load(folder.path("leg.urdf")).surfaces[0].friction, Surface{}.friction);
}

TEST(UrdfErrors, AMissingMeshIsAFileThatIsNotThere) {
  const test::TempFolder folder;
  const std::string path = folder.write("bad.urdf", leg(link("trunk", "<mesh filename='package://gone/a.stl'/>")));
  const std::string message = test::message_of<FileNotFound>([&] { load(path); });
  for (const char* named : {"bad.urdf", "link 'trunk'", "package://gone/a.stl"}) {
    EXPECT_NE(message.find(named), std::string::npos) << message;
  }
}

TEST(UrdfErrors, NameFileElementAndValue) {
  const test::TempFolder folder;
  const std::vector<std::pair<std::string, std::string>> cases{
      {leg(link("trunk", "", "-1")), "value=\"-1\""},
      {leg(link("trunk", "") + link("tool", "", "0") + joint("wrist", "revolute", "trunk", "tool", kLimit)),
       "\"tool\""},
      {leg(link("trunk", "") + link("other", "")), "2 trees"},
      {leg(link("trunk", "", "heavy")), "'heavy'"},
      {leg(link("trunk", "") + link("tool", "") +
           joint("wrist", "revolute", "trunk", "tool", kLimit + "<mimic joint='wrist'/>")),
       "circle"},
      {leg(link("trunk", "") + link("tool", "") +
           joint("wrist", "revolute", "trunk", "tool", kLimit + "<mimic joint='hip' multiplier='inf'/>")),
       "multiplier=\"inf\""},
      {"<robot name='empty'/>", "0 trees"},
      {"<robot name='r'><link name='a'></robot>", "malformed"},
  };
  for (const auto& [text, value] : cases) {
    const std::string path = folder.write("bad.urdf", text);
    const std::string message = test::message_of<std::invalid_argument>([&] { load(path); });
    EXPECT_NE(message.find("bad.urdf"), std::string::npos) << message;
    EXPECT_NE(message.find(value), std::string::npos) << message;
  }
}

TEST(UrdfErrors, MissingSrdfAndWrongPosesAreNamed) {
  const test::TempFolder folder;
  const std::string path = folder.write("leg.urdf", leg());
  EXPECT_THROW(load(path, {.srdf = folder.path("gone.srdf")}), FileNotFound);
  folder.write("leg.srdf",
               "<robot name='leg'><group_state name='home'><joint name='hip' value='1 2'/></group_state></robot>");
  EXPECT_NE(test::message_of<std::invalid_argument>([&] { load(path); }).find("'hip' has 2 values"), std::string::npos);
}

}  // namespace
}  // namespace taut
