// What Pinocchio's reader of URDF takes for granted, or refuses without a name.

#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "urdf_xml.hpp"

namespace taut::urdf {

using Eigen::Vector3d;
using xml::Attributes;
using xml::Element;

namespace {

void check_origin(const Element& element) {
  for (const Element* origin : element.all("origin")) {
    origin->own().vector3("xyz", Vector3d::Zero());
    origin->own().vector3("rpy", Vector3d::Zero());
  }
}

void check_positive(const Attributes& a, const std::string& name) {
  a.required(name);
  const double value = a.number(name, 0.0);
  if (!(value > 0.0) || value > limits::kFarthest) a.fail(name, "must be positive, 1e9 at most");
}

void check_shape(const Element& shape, const Element& link) {
  const Attributes a(shape.attributes, link.where() + ": <" + shape.tag + ">");
  if (shape.tag == "box") {
    a.required("size");
    if (!(a.vector3("size", Vector3d::Zero()).minCoeff() > 0.0)) a.fail("size", "must be positive");
  } else if (shape.tag == "sphere") {
    check_positive(a, "radius");
  } else if (shape.tag == "cylinder" || shape.tag == "capsule") {
    check_positive(a, "radius");
    check_positive(a, "length");
  } else if (shape.tag == "mesh") {
    const Vector3d scale = a.vector3("scale", Vector3d::Ones());
    if (!(scale.cwiseAbs().minCoeff() > 0.0)) a.fail("scale", "is zero");
  }
}

void check_inertia(const Element& link, bool is_moved) {
  for (const Element* inertial : link.all("inertial")) {
    check_origin(*inertial);
    for (const Element* mass : inertial->all("mass")) {
      const Attributes a(mass->attributes, link.where() + ": <mass>");
      const double value = a.number("value", 0.0);
      if (!(value >= 0.0)) a.fail("value", "is negative");
      if (value == 0.0 && is_moved) a.fail("value", "is zero, but a joint moves the link");
    }
    for (const Element* inertia : inertial->all("inertia")) {
      const Attributes a(inertia->attributes, link.where() + ": <inertia>");
      // Of many robots single links have a negative principal moment, which the links welded to them make up for.
      for (const char* name : {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"}) a.number(name, 0.0);
    }
  }
}

void check_joint(const Element& joint) {
  const Attributes a = joint.own();
  a.required("name");
  a.required("type");
  const std::string type = a.word("type", "", {"revolute", "continuous", "prismatic", "fixed", "floating", "planar"});
  check_origin(joint);
  for (const Element* axis : joint.all("axis")) {
    const Attributes values(axis->attributes, joint.where() + ": <axis>");
    const Vector3d direction = values.vector3("xyz", Vector3d::UnitX());
    if (type != "fixed" && type != "floating" && !(direction.norm() > 1e-14)) values.fail("xyz", "has no direction");
  }
  const auto limits = joint.all("limit");
  if (limits.empty() && (type == "revolute" || type == "prismatic")) a.fail("<limit> is missing");
  for (const Element* limit : limits) {
    const Attributes values(limit->attributes, joint.where() + ": <limit>");
    for (const char* name : {"lower", "upper", "effort", "velocity"}) values.numbers(name, 1, 1);
  }
  for (const Element* dynamics : joint.all("dynamics")) {
    const Attributes values(dynamics->attributes, joint.where() + ": <dynamics>");
    for (const char* name : {"damping", "friction"}) {
      if (values.number(name, 0.0) < 0.0) values.fail(name, "is negative");
    }
  }
}

// The links are one tree, of bounded depth: readers recurse along it.
void check_tree(const Element& robot, const std::map<std::string, std::vector<std::string>>& children,
                const std::vector<std::string>& roots, std::size_t links) {
  if (roots.size() != 1) {
    robot.own().fail("the links form " + std::to_string(roots.size()) + " trees, one root is needed");
  }
  std::size_t reached = 0;
  int depth = 0;
  for (std::vector<std::string> level = roots; !level.empty(); ++depth) {
    if (depth > limits::kChain) {
      robot.own().fail("more than " + std::to_string(limits::kChain) + " links hang one on the other");
    }
    std::vector<std::string> next;
    for (const std::string& link : level) {
      ++reached;
      if (const auto found = children.find(link); found != children.end()) {
        next.insert(next.end(), found->second.begin(), found->second.end());
      }
    }
    level = std::move(next);
  }
  if (reached != links) {
    robot.own().fail(std::to_string(links - reached) + " links hang on each other in a circle");
  }
}

}  // namespace

void check_links(const Element& robot) {
  std::set<std::string> names, moved, links;
  for (const Element* link : robot.all("link")) {
    if (!links.insert(link->own().required("name")).second) link->own().fail("name", "is given to two links");
  }
  if (links.size() > static_cast<std::size_t>(limits::kBodies)) {
    robot.own().fail("has " + std::to_string(links.size()) + " links; " + std::to_string(limits::kBodies) +
                     " are the most");
  }
  std::map<std::string, std::vector<std::string>> children;
  std::map<std::string, std::string> parents;
  int dofs = 6;
  for (const Element* joint : robot.all("joint")) {
    check_joint(*joint);
    if (!names.insert(joint->own().text("name")).second) joint->own().fail("name", "is given to two joints");
    const auto parent_of = joint->all("parent"), child_of = joint->all("child");
    if (parent_of.empty() || child_of.empty()) joint->own().fail("<parent> or <child> is missing");
    const std::string parent = parent_of[0]->own().required("link"), child = child_of[0]->own().required("link");
    for (const std::string& name : {parent, child}) {
      if (!links.contains(name)) {
        robot.own().fail("a joint names the link '" + xml::abridged(name) + "', which is not there");
      }
    }
    if (!parents.emplace(child, parent).second) {
      joint->own().fail("is the second joint with the child '" + xml::abridged(child) + "'");
    }
    children[parent].push_back(child);
    const std::string type = joint->own().text("type");
    if (type != "fixed") moved.insert(child);
    dofs += type == "floating" ? 6 : type == "planar" ? 3 : type == "fixed" ? 0 : 1;
  }
  if (dofs > limits::kDofs) {
    robot.own().fail("has more than " + std::to_string(limits::kDofs) + " degrees of freedom");
  }
  std::vector<std::string> roots;
  for (const Element* link : robot.all("link")) {
    if (!parents.contains(link->own().text("name"))) roots.push_back(link->own().text("name"));
  }
  check_tree(robot, children, roots, links.size());
  int shapes = 0;
  for (const Element* link : robot.all("link")) {
    check_inertia(*link, moved.contains(link->own().text("name")));
    for (const Element* collision : link->all("collision")) {
      if (++shapes > limits::kShapes) {
        link->own().fail("the robot has more than " + std::to_string(limits::kShapes) + " shapes that collide");
      }
      check_origin(*collision);
      for (const Element* geometry : collision->all("geometry")) {
        for (const Element& shape : geometry->children) check_shape(shape, *link);
      }
    }
  }
}

}  // namespace taut::urdf
