#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <set>

#include "mjcf_spec.hpp"

namespace taut::mjcf {

using Eigen::Vector3d;
using xml::Attributes;
using xml::Element;

namespace {

// A frame on a body, as an equality names it.
struct Place {
  const Body* body;
  SE3 in_body;
  std::string name;  // of the body or site
};

Place find_site(const Spec& spec, const Attributes& a, const std::string& attribute) {
  const auto found = spec.sites.find(a.required(attribute));
  if (found == spec.sites.end()) a.fail(attribute, "is not a site");
  return {&spec.bodies[found->second.body], found->second.placement, found->first};
}

// The frame of a body; an attribute that is left out is the world.
Place find_body(const Spec& spec, const Attributes& a, const std::string& attribute) {
  if (!a.has(attribute)) return {&spec.bodies.front(), SE3::Identity(), spec.bodies.front().name};
  const auto found = std::find_if(spec.bodies.begin(), spec.bodies.end(),
                                  [name = a.text(attribute)](const Body& body) { return body.name == name; });
  if (found == spec.bodies.end()) a.fail(attribute, "is not a body");
  return {&*found, SE3::Identity(), found->name};
}

// Where the file draws a body: every joint stands at its `ref` there, so the placements alone tell.
SE3 drawn(const Spec& spec, const Body& body) {
  SE3 placement = body.placement;
  for (int i = body.parent; i >= 0; i = spec.bodies[static_cast<std::size_t>(i)].parent) {
    placement = spec.bodies[static_cast<std::size_t>(i)].placement * placement;
  }
  return placement;
}

// A frame of one body as another has it in the drawn configuration.
SE3 seen_from(const Spec& spec, const Body& viewer, const Place& place) {
  return drawn(spec, viewer).actInv(drawn(spec, *place.body) * place.in_body);
}

// Either two sites, whose frames are held together, or bodies: false if the element names those.
bool read_sites(const Spec& spec, const Attributes& a, Place& first, Place& second) {
  if (!a.has("site1") && !a.has("site2")) return false;
  for (const char* name : {"body1", "body2", "anchor", "relpose"}) {
    if (a.has(name)) a.fail(name, "is given beside a site: an equality is between bodies or between sites");
  }
  first = find_site(spec, a, "site1");
  second = find_site(spec, a, "site2");
  return true;
}

void read_bodies(const Spec& spec, const Attributes& a, Place& first, Place& second) {
  a.required("body1");
  first = find_body(spec, a, "body1");
  second = find_body(spec, a, "body2");
}

// A point of the first body, and the point of the second that lies on it in the drawn configuration.
void read_connect(const Spec& spec, const Attributes& a, Place& first, Place& second) {
  if (read_sites(spec, a, first, second)) return;
  read_bodies(spec, a, first, second);
  a.required("anchor");
  first.in_body.translation() = a.vector3("anchor", Vector3d::Zero());
  second.in_body = seen_from(spec, *second.body, first);
}

// A point of the second body with the body's axes, and the frame of the first that is held to it: the one given by
// `relpose`, or the one that lies there in the drawn configuration.
void read_weld(const Spec& spec, const Attributes& a, Place& first, Place& second) {
  if (read_sites(spec, a, first, second)) return;
  read_bodies(spec, a, first, second);
  second.in_body.translation() = a.vector3("anchor", Vector3d::Zero());
  const auto pose = a.finite("relpose", 7, 7);
  if (!pose || pose->tail<4>().isZero(0.0)) {
    first.in_body = seen_from(spec, *first.body, second);
    return;
  }
  const Eigen::Quaterniond rotation((*pose)[3], (*pose)[4], (*pose)[5], (*pose)[6]);
  if (!pose->allFinite() || !(rotation.norm() > 1e-14)) a.fail("relpose", "is not a pose");
  first.in_body = SE3(rotation.normalized().toRotationMatrix(), pose->head<3>());
}

int joint_of(const Spec& spec, const Attributes& a, const std::string& attribute, double& reference) {
  const Joint* joint = find_joint(spec, a.text(attribute));
  if (!joint) a.fail(attribute, "is not a joint");
  if (joint->kind != Joint::Kind::hinge && joint->kind != Joint::Kind::slide) {
    a.fail(attribute, "is neither a hinge nor a slide");
  }
  reference = joint->reference;
  return static_cast<int>(joint->index);
}

Coupling read_coupling(const Spec& spec, const Attributes& a) {
  Coupling coupling;
  const std::string first = a.required("joint1"), second = a.text("joint2");
  if (first == second) a.fail("joint2", "is joint1 again");
  coupling.joint_1 = joint_of(spec, a, "joint1", coupling.reference_1);
  if (a.has("joint2")) coupling.joint_2 = joint_of(spec, a, "joint2", coupling.reference_2);
  if (const auto given = a.finite("polycoef", 1, 5)) {  // what is not given keeps its default
    if (!given->allFinite()) a.fail("polycoef", "is not finite");
    std::copy(given->begin(), given->end(), coupling.polynomial.begin());
  }
  coupling.name = second.empty() ? first : first + "_" + second;
  return coupling;
}

// Given names are unique, and those that are made up, from what is held, keep out of their way.
class Names {
 public:
  explicit Names(const std::vector<const Element*>& elements) {
    for (const Element* element : elements) {
      const std::string name = element->own().text("name");
      if (!name.empty() && !taken_.insert(name).second) element->own().fail("name", "is given to two equalities");
    }
  }
  std::string name(const Attributes& a, std::string fallback) {
    if (!a.text("name").empty()) return a.text("name");
    while (!taken_.insert(fallback).second) fallback += "_";
    return fallback;
  }

 private:
  std::set<std::string> taken_;
};

void add_closure(const Spec& spec, const Attributes& a, Loop::Kind kind, Names& names, Scene& scene) {
  Place first, second;
  if (kind == Loop::Kind::point) {
    read_connect(spec, a, first, second);
  } else {
    read_weld(spec, a, first, second);
  }
  if (first.name == second.name) a.fail("it holds '" + first.name + "' to itself");
  if (first.body->joint_index == second.body->joint_index) {
    return scene.warn("mjcf: an equality between '" + first.body->name + "' and '" + second.body->name +
                      "' is left out: the two move as one anyway");
  }
  add_loop(scene, {.name = names.name(a, first.name + "_" + second.name),
                   .kind = kind,
                   .joint_1 = static_cast<int>(first.body->joint_index),
                   .joint_2 = static_cast<int>(second.body->joint_index),
                   .placement_1 = first.body->in_joint * first.in_body,
                   .placement_2 = second.body->in_joint * second.in_body});
}

}  // namespace

void read_equalities(const Spec& spec, Scene& scene) {
  if (!spec.option.equalities) return;
  std::vector<const Element*> elements;
  for (const Element* section : spec.root.all("equality")) {
    for (const Element& element : section->children) elements.push_back(&element);
  }
  Names names(elements);
  for (const Element* element : elements) {
    // All equalities share one set of defaults, and <joint> there is the joint of a body.
    const Attributes a = spec.defaults.resolve(*element, "", "equality");
    const std::string& tag = element->tag;
    if (tag != "connect" && tag != "weld" && tag != "joint") {
      scene.warn("mjcf: equality " + tag + " elements are not supported");
      continue;
    }
    warn_about_softness(a, scene);
    if (!a.flag("active", true)) {
      scene.warn("mjcf: equalities that are not active are left out");
      continue;
    }
    if (tag == "joint") {
      Coupling coupling = read_coupling(spec, a);
      coupling.name = names.name(a, coupling.name);
      add_coupling(scene, std::move(coupling));
    } else {
      add_closure(spec, a, tag == "connect" ? Loop::Kind::point : Loop::Kind::weld, names, scene);
    }
  }
}

}  // namespace taut::mjcf
