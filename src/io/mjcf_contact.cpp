#include <algorithm>

#include "mjcf_spec.hpp"
#include "pairs.hpp"
#include "taut/math/interruption.hpp"

namespace taut::mjcf {

namespace {

using Names = std::pair<std::string, std::string>;

Names sorted(std::string a, std::string b) {
  if (b < a) std::swap(a, b);
  return {std::move(a), std::move(b)};
}

struct Shape {
  const Geom* geom;
  int body;
  std::size_t index;  // in Scene::geometry
};

std::vector<const xml::Element*> contact_elements(const Spec& spec, const std::string& tag) {
  std::vector<const xml::Element*> found;
  for (const xml::Element* section : spec.root.all("contact")) {
    for (const xml::Element* element : section->all(tag)) found.push_back(element);
  }
  return found;
}

// Pairs of bodies that <exclude> keeps apart.
std::set<std::pair<int, int>> excluded_bodies(const Spec& spec) {
  std::set<std::pair<int, int>> excluded;
  for (const xml::Element* element : contact_elements(spec, "exclude")) {
    const xml::Attributes a = element->own();
    const auto find = [&](const std::string& attribute) {
      const auto body = std::find_if(spec.bodies.begin(), spec.bodies.end(),
                                     [name = a.required(attribute)](const Body& b) { return b.name == name; });
      if (body == spec.bodies.end()) a.fail(attribute, "is not a body");
      return static_cast<int>(body - spec.bodies.begin());
    };
    excluded.insert(std::minmax(find("body1"), find("body2")));
  }
  return excluded;
}

// MuJoCo's filter: bodies that are welded together do not touch, nor do parent and child, unless the parent is the
// world.
bool may_touch(const Spec& spec, const Shape& a, const Shape& b) {
  const auto body = [&](int i) -> const Body& { return spec.bodies[static_cast<std::size_t>(i)]; };
  const auto weld_parent = [&](int weld) { return weld == 0 ? 0 : body(body(weld).parent).weld; };
  const int weld_a = body(a.body).weld, weld_b = body(b.body).weld;
  if (weld_a == weld_b) return false;
  if (spec.option.filter_parent && weld_a != 0 && weld_b != 0 &&
      (weld_a == weld_parent(weld_b) || weld_b == weld_parent(weld_a))) {
    return false;
  }
  const auto collides = [](const Geom& x, const Geom& y) { return (x.contype & y.conaffinity) != 0; };
  return collides(*a.geom, *b.geom) || collides(*b.geom, *a.geom);
}

// A contact has the dimension of the geom with the higher priority, else the larger one.
int combined_condim(const Geom& a, const Geom& b) {
  if (a.surface.priority != b.surface.priority) return (a.surface.priority > b.surface.priority ? a : b).condim;
  return std::max(a.condim, b.condim);
}

void warn_about_condim(int condim, Scene& scene) {
  if (condim > 3) scene.warn("mjcf: condim 4 and 6 (torsional and rolling friction) are treated as 3");
}

void add_explicit_pairs(const Spec& spec, const std::map<std::string, Shape>& shapes, Scene& scene) {
  for (const xml::Element* element : contact_elements(spec, "pair")) {
    const xml::Attributes a = spec.defaults.resolve(*element, "");
    const auto find = [&](const std::string& attribute) {
      const auto found = shapes.find(a.required(attribute));
      if (found == shapes.end()) a.fail(attribute, "is not a geom");
      return found->second;
    };
    const Shape first = find("geom1"), second = find("geom2");
    if (first.index == second.index) a.fail("geom2", "is geom1 again");
    scene.geometry.addCollisionPair({std::min(first.index, second.index), std::max(first.index, second.index)});
    const int condim = a.integer("condim", 3);  // a pair has its own values: those of its geoms do not count
    const Eigen::VectorXd friction = a.numbers("friction", 1, 5).value_or(Eigen::VectorXd::Ones(1));
    if (!(friction[0] >= 0.0)) a.fail("friction", "must be non-negative");
    if (friction.size() > 1 && friction[1] != friction[0]) {
      scene.warn("mjcf: anisotropic friction of a pair is not supported: its first coefficient counts");
    }
    scene.pair_friction[sorted(first.geom->name, second.geom->name)] = condim == 1 ? 0.0 : friction[0];
    warn_about_condim(condim, scene);
    warn_about_softness(a, scene);
  }
}

}  // namespace

std::set<std::string> paired_geoms(const Spec& spec) {
  std::set<std::string> names;
  for (const xml::Element* element : contact_elements(spec, "pair")) {
    names.insert(element->own().text("geom1"));
    names.insert(element->own().text("geom2"));
  }
  return names;
}

void build_pairs(const Spec& spec, Scene& scene) {
  scene.friction_rule = FrictionRule::maximum;
  if (!spec.option.contacts) return;

  std::vector<Shape> shapes;
  std::map<std::string, Shape> by_name;
  for (std::size_t b = 0; b < spec.bodies.size(); ++b) {
    for (const Geom& geom : spec.bodies[b].geoms) {
      if (!scene.geometry.existGeometryName(geom.name)) continue;
      shapes.push_back({&geom, static_cast<int>(b), scene.geometry.getGeometryId(geom.name)});
      by_name.emplace(geom.name, shapes.back());
    }
  }
  const auto excluded = excluded_bodies(spec);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (std::size_t j = i + 1; j < shapes.size(); ++j) {
      may_interrupt();
      const Shape &a = shapes[i], &b = shapes[j];
      if (!may_touch(spec, a, b) || excluded.contains(std::minmax(a.body, b.body))) continue;
      io::add_new_pair(scene.geometry, a.index, b.index);
      const int condim = combined_condim(*a.geom, *b.geom);
      warn_about_condim(condim, scene);
      if (condim == 1) scene.pair_friction[sorted(a.geom->name, b.geom->name)] = 0.0;
    }
  }
  add_explicit_pairs(spec, by_name, scene);
}

}  // namespace taut::mjcf
