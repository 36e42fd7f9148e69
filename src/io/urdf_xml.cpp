#include "urdf_xml.hpp"

#include <tinyxml2.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "taut/io/errors.hpp"

namespace taut::urdf {

namespace fs = std::filesystem;
using xml::Attributes;
using xml::Element;

namespace {

// The folders in which a mesh path may start: those given, the file's own, and all above it, one of which holds the
// package that the file is part of.
std::vector<fs::path> search_folders(const std::string& urdf_path, const std::vector<std::string>& package_dirs) {
  std::vector<fs::path> folders(package_dirs.begin(), package_dirs.end());
  for (fs::path folder = fs::absolute(urdf_path).lexically_normal().parent_path();; folder = folder.parent_path()) {
    folders.push_back(folder);
    if (folder == folder.parent_path()) return folders;
  }
}

fs::path find_mesh(const std::string& uri, const std::vector<fs::path>& folders) {
  std::string rest = uri;
  for (const char* scheme : {"package://", "model://", "file://"}) {
    if (uri.starts_with(scheme)) rest = uri.substr(std::string(scheme).size());
  }
  if (fs::path(rest).is_absolute()) return fs::is_regular_file(rest) ? fs::path(rest) : fs::path();
  // A package that was unpacked under another name is still found from inside it.
  const std::size_t slash = rest.find('/');
  const std::string inside = uri == rest || slash == std::string::npos ? "" : rest.substr(slash + 1);
  for (const std::string& tail : {rest, inside}) {
    for (const fs::path& folder : folders) {
      if (!tail.empty() && fs::is_regular_file(folder / tail)) return folder / tail;
    }
  }
  return {};
}

double mass_of(const Element& link) {
  for (const Element* inertial : link.all("inertial")) {
    for (const Element* mass : inertial->all("mass")) return mass->own().number("value", 0.0);
  }
  return 0.0;
}

struct JointLinks {
  std::string parent, child;
  bool fixed;
};

std::vector<JointLinks> joint_links(const Element& robot) {
  std::vector<JointLinks> joints;
  for (const Element* joint : robot.all("joint")) {
    const auto parents = joint->all("parent"), children = joint->all("child");
    if (parents.empty() || children.empty()) joint->own().fail("<parent> or <child> is missing");
    joints.push_back({parents[0]->own().required("link"), children[0]->own().required("link"),
                      joint->own().text("type") == "fixed"});
  }
  return joints;
}

}  // namespace

std::string resolve_meshes(const std::string& path, const std::vector<std::string>& package_dirs,
                           std::size_t max_bytes) {
  tinyxml2::XMLDocument document;
  xml::parse_file(path, max_bytes, document);
  const auto folders = search_folders(path, package_dirs);
  for (auto* link = document.RootElement()->FirstChildElement("link"); link; link = link->NextSiblingElement("link")) {
    for (auto* shape = link->FirstChildElement("collision"); shape; shape = shape->NextSiblingElement("collision")) {
      auto* geometry = shape->FirstChildElement("geometry");
      auto* what = geometry ? geometry->FirstChildElement() : nullptr;
      static const std::set<std::string> known{"mesh", "box", "cylinder", "sphere", "capsule"};
      if (!what || !known.contains(what->Name())) {
        const char* name = link->Attribute("name");
        throw std::invalid_argument(
            path + ": <collision> of link '" + (name ? name : "") + "' has " +
            (what ? "the unknown geometry <" + std::string(what->Name()) + ">" : "no geometry"));
      }
      auto* mesh = geometry->FirstChildElement("mesh");
      if (!mesh) continue;
      const char* uri = mesh->Attribute("filename");
      const fs::path file = uri ? find_mesh(uri, folders) : fs::path();
      if (file.empty()) {
        const char* name = link->Attribute("name");
        throw std::invalid_argument(path + ": <mesh> of link '" + (name ? name : "") + "' (line " +
                                    std::to_string(mesh->GetLineNum()) + "): filename=\"" + (uri ? uri : "") +
                                    "\" is not there");
      }
      mesh->SetAttribute("filename", file.c_str());
    }
  }
  tinyxml2::XMLPrinter printer;
  document.Print(&printer);
  return printer.CStr();
}

bool root_is_fixed(const Element& robot) {
  const std::vector<JointLinks> joints = joint_links(robot);
  std::set<std::string> children;
  for (const JointLinks& joint : joints) children.insert(joint.child);
  std::vector<std::string> welded;
  std::map<std::string, double> masses;
  for (const Element* link : robot.all("link")) {
    const std::string name = link->own().required("name");
    masses[name] = mass_of(*link);
    if (!children.contains(name)) welded.push_back(name);
  }
  if (welded.size() != 1) {
    robot.own().fail("the links form " + std::to_string(welded.size()) + " trees, one root is needed");
  }
  std::string lower = welded[0];
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  static const std::set<std::string> world_names{"world",         "world_link", "map",   "odom",
                                                 "odom_combined", "universe",   "ground"};
  if (world_names.contains(lower)) return true;
  // Many robots hang their massive trunk on a massless root by a fixed joint: the whole group counts.
  for (std::size_t i = 0; i < welded.size(); ++i) {
    if (masses[welded[i]] > 0.0) return false;
    for (const JointLinks& joint : joints) {
      if (joint.fixed && joint.parent == welded[i] &&
          std::find(welded.begin(), welded.end(), joint.child) == welded.end()) {
        welded.push_back(joint.child);
      }
    }
  }
  return true;
}

std::vector<Mimic> read_mimics(const Element& robot, Scene& scene) {
  std::map<std::string, const Element*> joints;
  for (const Element* joint : robot.all("joint")) joints.emplace(joint->own().text("name"), joint);

  std::vector<Mimic> mimics;
  std::set<std::string> done, begun;
  const auto visit = [&](const auto& self, const Element& joint) -> void {
    const std::string name = joint.own().text("name");
    const auto followed = joint.all("mimic");
    if (followed.empty() || joint.own().text("type") == "fixed" || !done.insert(name).second) return;
    const Attributes a(followed[0]->attributes, joint.where() + ": <mimic>");
    const auto leader = joints.find(a.required("joint"));
    if (leader == joints.end()) {
      return scene.warn("urdf: joint '" + name + "' mimics '" + a.text("joint") +
                        "', which is not there: it moves on its own");
    }
    begun.insert(name);
    if (begun.contains(leader->first)) a.fail("joint", "closes a circle: it follows '" + name + "' itself");
    self(self, *leader->second);
    begun.erase(name);
    for (const char* number : {"multiplier", "offset"}) {
      if (!std::isfinite(a.number(number, 0.0))) a.fail(number, "is not finite");
    }
    mimics.push_back({name, leader->first, a.number("multiplier", 1.0), a.number("offset", 0.0)});
  };
  for (const Element* joint : robot.all("joint")) visit(visit, *joint);
  return mimics;
}

std::string find_srdf(const std::string& urdf_path, const std::string& robot_name) {
  const fs::path folder = fs::absolute(urdf_path).parent_path();
  const std::string stem = fs::path(urdf_path).stem().string();
  std::vector<fs::path> same_robot;
  for (const fs::path& place : {folder, folder / ".." / "srdf"}) {
    const fs::path twin = place / (stem + ".srdf");
    if (fs::is_regular_file(twin)) return twin.lexically_normal().string();
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(place, missing)) {
      if (entry.path().extension() != ".srdf" || !entry.is_regular_file()) continue;
      tinyxml2::XMLDocument document;  // a broken file of another robot is none of our business
      try {
        xml::parse_file(entry.path().string(), limits::kBytes, document);
      } catch (const std::exception&) {
        continue;
      }
      const char* name = document.RootElement()->Attribute("name");
      if (name && name == robot_name) same_robot.push_back(entry.path());
    }
  }
  return same_robot.size() == 1 ? same_robot[0].lexically_normal().string() : "";
}

Srdf read_srdf(const std::string& path, std::size_t max_bytes) {
  Srdf srdf;
  srdf.path = path;
  const Element root = xml::read(path, "", max_bytes);
  if (root.tag != "robot") root.own().fail("the root element of an SRDF file is <robot>");
  for (const Element* joint : root.all("virtual_joint")) srdf.virtual_joint = joint->own().text("type");
  for (const Element* pair : root.all("disable_collisions")) {
    srdf.disabled.insert(std::minmax(pair->own().required("link1"), pair->own().required("link2")));
  }
  for (const Element* state : root.all("group_state")) {
    std::map<std::string, std::vector<double>> joints;
    for (const Element* joint : state->all("joint")) {
      const Eigen::VectorXd values = joint->own().finite("value", 1, 64).value_or(Eigen::VectorXd());
      joints[joint->own().required("name")].assign(values.data(), values.data() + values.size());
    }
    srdf.poses.emplace_back(state->own().required("name"), std::move(joints));
  }
  for (const Element* rotors : root.all("rotor_params")) {
    for (const Element* joint : rotors->all("joint")) {
      const double inertia = joint->own().number("mass", 0.0), ratio = joint->own().number("gear_ratio", 1.0);
      srdf.rotor_armatures[joint->own().required("name")] = inertia * ratio * ratio;
    }
  }
  return srdf;
}

}  // namespace taut::urdf
