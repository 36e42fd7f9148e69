#include <gtest/gtest.h>

#include <filesystem>

#include "taut/io/errors.hpp"
#include "taut/io/load.hpp"
#include "temp_folder.hpp"

namespace taut {
namespace {

using test::message_of;
using test::TempFolder;

const std::string kTetrahedron = "v 0 0 0\nv 0.2 0 0\nv 0 0.2 0\nv 0 0 0.2\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";

std::string mjcf(const std::string& mesh) {
  return "<mujoco><asset><mesh name='m' file='" + mesh +
         "'/></asset><worldbody><body><freejoint/><geom type='mesh' mesh='m' mass='1'/></body></worldbody></mujoco>";
}

TEST(ReadingRights, AMeshElsewhereIsRefusedUntilItsFolderIsAllowed) {
  const TempFolder folder;
  folder.write("private/secret.obj", kTetrahedron);
  const std::string model = folder.write("model/a/robot.xml", mjcf("../../private/secret.obj"));
  const std::string parent = std::filesystem::canonical(folder.path("private")).string();
  const std::string refusal = message_of<std::invalid_argument>([&] { load(model); });
  EXPECT_NE(refusal.find(model), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("../../private/secret.obj"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("allow=['" + parent + "']"), std::string::npos) << refusal;
  EXPECT_EQ(load(model, {.allow = {parent}}).geometry.ngeoms, 1u);
  EXPECT_EQ(load(model, {.trust = true}).geometry.ngeoms, 1u);
}

TEST(ReadingRights, ALinkIsJudgedByWhereItLeads) {
  const TempFolder folder;
  const std::string secret = folder.write("private/secret.obj", kTetrahedron);
  const std::string model = folder.write("model/a/robot.xml", mjcf("mesh.obj"));
  std::filesystem::create_symlink(secret, folder.path("model/a/mesh.obj"));
  EXPECT_THROW(load(model), std::invalid_argument);
  std::filesystem::remove(folder.path("model/a/mesh.obj"));
  folder.write("model/a/inside.obj", kTetrahedron);
  std::filesystem::create_symlink("inside.obj", folder.path("model/a/mesh.obj"));
  EXPECT_EQ(load(model).geometry.ngeoms, 1u);
}

TEST(ReadingRights, NeverReachTheRootOfTheFileSystem) {
  for (const char* model : {"/robot.urdf", "/urdf/robot.urdf", "/a/robot.urdf"}) {
    EXPECT_FALSE(may_read(model, "/etc/hostname")) << model;
    EXPECT_FALSE(may_read(model, "/")) << model;
  }
  EXPECT_TRUE(may_read("/a/robot.urdf", "/a/b/mesh.obj"));
  EXPECT_TRUE(may_read("/urdf/robot.urdf", "/etc/hostname", {.allow = {"/"}}));  // the caller's word
}

TEST(ReadingRights, AFolderIsNotAllowedByTheBeginningOfItsName) {
  const TempFolder folder;
  const std::string model = folder.write("arm/robot.urdf", "");
  EXPECT_TRUE(may_read(model, folder.path("arm/mesh.obj")));
  EXPECT_FALSE(may_read(model, folder.path("armoury/mesh.obj")));
  EXPECT_TRUE(may_read(model, folder.path("armoury/mesh.obj"), {.package_dirs = {folder.path("armoury/")}}));
}

TEST(ReadingRights, ErrorsOfTheFileSystemAreNamed) {
  const TempFolder folder;
  const std::string model = folder.write("robot.xml", mjcf("mesh.obj"));
  EXPECT_NE(message_of<FileNotFound>([&] { load(model); }).find("mesh.obj"), std::string::npos);
  std::filesystem::create_directory(folder.path("mesh.obj"));
  EXPECT_NE(message_of<std::invalid_argument>([&] { load(model); }).find("folder"), std::string::npos);
  EXPECT_THROW(load(folder.path("")), std::invalid_argument);
}

TEST(Strict, MakesWarningsAnErrorThatListsThem) {
  const TempFolder folder;
  const std::string model = folder.write("robot.xml", "<mujoco><a/><sensor><clock/></sensor></mujoco>");
  const Scene scene = load(model);
  ASSERT_EQ(scene.warnings.size(), 2u);
  const std::string refusal = message_of<std::invalid_argument>([&] { load(model, {.strict = true}); });
  for (const std::string& what : scene.warnings) EXPECT_NE(refusal.find(what), std::string::npos) << refusal;
}

}  // namespace
}  // namespace taut
