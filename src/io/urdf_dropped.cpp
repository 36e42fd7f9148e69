#include "urdf_dropped.hpp"

#include <map>

#include "dropped.hpp"

namespace taut::urdf {

using io::Dropped;
using io::label;
using xml::Element;

namespace {

using Names = std::set<std::string>;

// Attributes and children that are read, and those that change nothing: looks, calibration of encoders.
struct Known {
  Names attributes, children;
};

const std::map<std::string, Known>& known() {
  static const std::map<std::string, Known> elements{
      {"robot", {{"name", "version"}, {"link", "joint", "material"}}},
      {"link", {{"name"}, {"inertial", "collision", "visual"}}},
      {"inertial", {{}, {"origin", "mass", "inertia"}}},
      {"origin", {{"xyz", "rpy"}, {}}},
      {"mass", {{"value"}, {}}},
      {"inertia", {{"ixx", "ixy", "ixz", "iyy", "iyz", "izz"}, {}}},
      {"collision", {{"name"}, {"origin", "geometry", "material", "verbose"}}},
      {"geometry", {{"name"}, {"box", "cylinder", "sphere", "capsule", "mesh"}}},
      {"box", {{"size"}, {}}},
      {"cylinder", {{"radius", "length"}, {}}},
      {"capsule", {{"radius", "length"}, {}}},
      {"sphere", {{"radius"}, {}}},
      {"mesh", {{"filename", "scale"}, {}}},
      {"joint", {{"name", "type"}, {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "calibration"}}},
      {"parent", {{"link"}, {}}},
      {"child", {{"link"}, {}}},
      {"axis", {{"xyz"}, {}}},
      {"limit", {{"lower", "upper", "effort", "velocity"}, {}}},
      {"dynamics", {{"damping", "friction"}, {}}},
      {"mimic", {{"joint", "multiplier", "offset"}, {}}},
  };
  return elements;
}

// Gazebo's own: what is asked of its simulation, apart from how things look there and which links stay apart.
void gazebo(const Element& element, Dropped& dropped) {
  static const Names without_effect{"material", "visual", "preserveFixedJoint", "disableFixedJointLumping"};
  const auto reference = element.attributes.find("reference");
  for (const Element& child : element.children) {
    if (without_effect.contains(child.tag)) continue;
    if (child.tag == "plugin" || child.tag == "sensor") {
      dropped.add(std::string("urdf: gazebo ") + child.tag + "s are not supported", label(child));
    } else {
      dropped.add("urdf: gazebo properties are not read",
                  child.tag + (reference == element.attributes.end() ? "" : " of " + reference->second));
    }
  }
}

void walk(const Element& element, const std::string& owner, Dropped& dropped) {
  const auto rule = known().find(element.tag);
  if (rule == known().end()) return;  // materials, what is looked at
  io::add_unknown_attributes("urdf", element, owner, rule->second.attributes, dropped);
  for (const Element& child : element.children) {
    const bool top = element.tag == "robot";
    const std::string name = top ? label(child) : owner;
    if (rule->second.children.contains(child.tag)) {
      if (child.tag != "visual") walk(child, name, dropped);
    } else if (top && child.tag == "gazebo") {
      gazebo(child, dropped);
    } else {
      dropped.add(top ? "urdf: " + child.tag + " elements are not supported"
                      : "urdf: " + child.tag + " elements in <" + element.tag + "> are not supported",
                  name);
    }
  }
}

double mass_of(const Element& link) {
  for (const Element* inertial : link.all("inertial")) {
    for (const Element* mass : inertial->all("mass")) return mass->own().number("value", 0.0);
  }
  return 0.0;
}

// A link counts as touched if anything that is fixed to it, in whatever order, has a shape. A robot without any shape
// is one that nothing is meant to touch.
void links_without_shapes(const Element& robot, Dropped& dropped) {
  std::map<std::string, std::string> fixed_to;
  for (const Element* joint : robot.all("joint")) {
    const auto parents = joint->all("parent"), children = joint->all("child");
    if (joint->own().text("type") != "fixed" || parents.empty() || children.empty()) continue;
    fixed_to[children[0]->own().text("link")] = parents[0]->own().text("link");
  }
  const auto body_of = [&](std::string link) {
    for (std::size_t steps = 0; steps <= fixed_to.size() && fixed_to.contains(link); ++steps) link = fixed_to.at(link);
    return link;
  };
  Names touched;
  for (const Element* link : robot.all("link")) {
    if (!link->all("collision").empty()) touched.insert(body_of(link->own().text("name")));
  }
  if (touched.empty()) return;
  for (const Element* link : robot.all("link")) {
    if (mass_of(*link) > 0.0 && !touched.contains(body_of(link->own().text("name")))) {
      dropped.add("urdf: links with mass, on bodies without a collision shape, touch nothing", label(*link));
    }
  }
}

}  // namespace

void warn_about_dropped(const Element& robot, Scene& scene) {
  Dropped dropped;
  walk(robot, label(robot), dropped);
  links_without_shapes(robot, dropped);
  dropped.warn(scene);
}

}  // namespace taut::urdf
