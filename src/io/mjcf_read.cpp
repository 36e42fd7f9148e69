#include <algorithm>
#include <cmath>
#include <filesystem>

#include "mjcf_spec.hpp"
#include "reading_rights.hpp"

namespace taut::mjcf {

using Eigen::Vector3d;
using xml::Attributes;
using xml::Element;

namespace {

void read_compiler(const Element& root, Compiler& compiler, Scene& scene) {
  std::string asset_folder;
  for (const Element* section : root.all("compiler")) {
    const Attributes a = section->own();
    compiler.degrees = a.word("angle", compiler.degrees ? "degree" : "radian", {"degree", "radian"}) == "degree";
    if (a.text("coordinate", "local") != "local") a.fail("coordinate", "is not supported, only local coordinates are");
    compiler.euler_sequence = a.text("eulerseq", compiler.euler_sequence);
    if (compiler.euler_sequence.size() != 3 ||
        compiler.euler_sequence.find_first_not_of("xyzXYZ") != std::string::npos) {
      a.fail("eulerseq", "is not three of x, y, z, X, Y, Z");
    }
    compiler.autolimits = a.flag("autolimits", compiler.autolimits);
    compiler.inertia_from_geom = a.word("inertiafromgeom", compiler.inertia_from_geom, {"true", "false", "auto"});
    if (const auto groups = a.finite("inertiagrouprange", 2, 2)) {
      const auto bounded = [](double group) { return static_cast<int>(std::clamp(group, -1e9, 1e9)); };
      compiler.inertia_groups = {bounded((*groups)[0]), bounded((*groups)[1])};
    }
    compiler.bound_mass = a.number("boundmass", compiler.bound_mass);
    compiler.bound_inertia = a.number("boundinertia", compiler.bound_inertia);
    compiler.balance_inertia = a.flag("balanceinertia", compiler.balance_inertia);
    compiler.total_mass = a.number("settotalmass", compiler.total_mass);
    compiler.strip_path = a.flag("strippath", compiler.strip_path);
    asset_folder = a.text("assetdir", asset_folder);
    compiler.mesh_folder = a.text("meshdir", compiler.mesh_folder);
    if (a.flag("fitaabb", false)) scene.warn("mjcf: compiler fitaabb is not supported");
    if (a.flag("alignfree", false)) scene.warn("mjcf: compiler alignfree is not supported");
  }
  if (compiler.mesh_folder.empty()) compiler.mesh_folder = asset_folder;
}

void read_option(const Element& root, Option& option, Scene& scene) {
  for (const Element* section : root.all("option")) {
    const Attributes a = section->own();
    option.gravity = a.vector3("gravity", option.gravity);
    if (!a.vector3("wind", Vector3d::Zero()).isZero()) scene.warn("mjcf: option wind is not supported");
    if (a.number("density", 0.0) != 0.0)
      scene.warn("mjcf: option density is not supported: bodies move without a fluid");
    if (a.number("viscosity", 0.0) != 0.0) {
      scene.warn("mjcf: option viscosity is not supported: bodies move without a fluid");
    }
    for (const Element* flags : section->all("flag")) {
      const Attributes f = flags->own();
      const auto enabled = [&](const char* name) { return f.word(name, "enable", {"enable", "disable"}) == "enable"; };
      if (!enabled("gravity")) option.gravity.setZero();
      option.contacts = enabled("contact") && enabled("constraint");
      option.limits = enabled("limit") && enabled("constraint");
      option.dry_friction = enabled("frictionloss") && enabled("constraint");
      option.springs = enabled("spring") && enabled("passive");
      option.damping = enabled("damper") && enabled("passive");
      option.equalities = enabled("equality") && enabled("constraint");
      option.filter_parent = enabled("filterparent");
      if (!enabled("actuation")) scene.warn("mjcf: option flag actuation=disable is not supported");
    }
  }
}

class TreeReader {
 public:
  TreeReader(Spec& spec, Scene& scene) : spec_(spec), scene_(scene) {}

  void read_world() {
    spec_.bodies.emplace_back().name = "world";
    for (const Element* section : spec_.root.all("worldbody")) {
      read_children(*section, 0, section->own().text("childclass"), SE3::Identity());
    }
  }

 private:
  // Children of a body, or of a <frame> inside it: `frame` places them in the body.
  void read_children(const Element& element, std::size_t body, const std::string& child_class, const SE3& frame) {
    for (const Element& child : element.children) {
      const auto attributes = [&] { return spec_.defaults.resolve(child, child_class); };
      if (body == 0 && (child.tag == "joint" || child.tag == "freejoint" || child.tag == "inertial")) {
        child.own().fail("<" + child.tag + "> is for bodies; the world does not move");
      }
      if (child.tag == "geom") {
        spec_.bodies[body].geoms.push_back(read_geom(attributes(), frame, spec_, scene_));
      } else if (child.tag == "joint") {
        spec_.bodies[body].joints.push_back(read_joint(attributes(), frame, spec_.compiler, spec_.option, scene_));
      } else if (child.tag == "freejoint") {
        spec_.bodies[body].joints.push_back(read_free_joint(child.own(), scene_));
      } else if (child.tag == "inertial") {
        spec_.bodies[body].inertial = read_inertial(child.own(), spec_.compiler);
      } else if (child.tag == "frame") {
        read_children(child, body, child.own().text("childclass", child_class),
                      frame * read_placement(child.own(), spec_.compiler));
      } else if (child.tag == "body") {
        read_body(child, body, child_class, frame);
      } else if (child.tag == "site") {
        read_named_site(attributes(), body, frame);
      }
    }
  }

  void read_named_site(const Attributes& a, std::size_t body, const SE3& frame) {
    const SE3 placement = read_site(a, frame, spec_.compiler);
    const std::string name = a.text("name");
    if (!name.empty() && !spec_.sites.emplace(name, Site{body, placement}).second) {
      a.fail("name", "is the name of another site");
    }
  }

  void read_body(const Element& element, std::size_t parent, const std::string& child_class, const SE3& frame) {
    const Attributes a = element.own();
    const std::size_t index = spec_.bodies.size();
    if (index > static_cast<std::size_t>(limits::kBodies)) {
      a.fail("the file has more than " + std::to_string(limits::kBodies) + " bodies");
    }
    Body& body = spec_.bodies.emplace_back();  // valid until the first child is added
    body.name = a.text("name");
    body.parent = static_cast<int>(parent);
    body.placement = frame * read_placement(a, spec_.compiler);
    body.where = element.where();
    if (a.flag("mocap", false)) scene_.warn("mjcf: mocap bodies are not supported: they stay where they are");
    if (a.number("gravcomp", 0.0) != 0.0) scene_.warn("mjcf: body gravcomp is not supported");
    read_children(element, index, a.text("childclass", child_class), SE3::Identity());
  }

  Spec& spec_;
  Scene& scene_;
};

// What moves with what, and what may not move or be moved that way.
void weld_bodies(Spec& spec) {
  for (std::size_t i = 1; i < spec.bodies.size(); ++i) {
    Body& body = spec.bodies[i];
    body.weld = body.joints.empty() ? spec.bodies[static_cast<std::size_t>(body.parent)].weld : static_cast<int>(i);
    for (const Joint& joint : body.joints) {
      if (joint.kind == Joint::Kind::free && (body.parent != 0 || body.joints.size() > 1)) {
        throw std::invalid_argument(body.where + ": a free joint must be alone, on a child of the world");
      }
    }
    for (const Geom& geom : body.geoms) {
      if (body.weld != 0 && (geom.kind == Geom::Kind::plane || geom.kind == Geom::Kind::height_field)) {
        throw std::invalid_argument(geom.where + ": a plane or hfield cannot be on a moving body");
      }
    }
  }
}

// Names what has none and refuses a name given twice.
template <class Items>
void name_all(std::vector<Items*> items, const std::vector<std::string>& fallbacks, const std::string& what,
              const std::string& file) {
  std::set<std::string> taken;
  for (const Items* item : items) {
    if (!item->name.empty() && !taken.insert(item->name).second) {
      throw std::invalid_argument(file + ": two " + what + "s are named '" + item->name + "'");
    }
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i]->name.empty()) continue;
    items[i]->name = fallbacks[i];
    while (!taken.insert(items[i]->name).second) items[i]->name += "_";
  }
}

void name_everything(Spec& spec) {
  const std::string& file = spec.root.file;
  std::vector<Body*> bodies;
  std::vector<std::string> body_names;
  for (std::size_t i = 0; i < spec.bodies.size(); ++i) {
    bodies.push_back(&spec.bodies[i]);
    body_names.push_back("body" + std::to_string(i));
  }
  name_all(bodies, body_names, "body", file);

  std::vector<Joint*> joints;
  std::vector<Geom*> geoms;
  std::vector<std::string> joint_names, geom_names;
  for (Body& body : spec.bodies) {
    for (std::size_t k = 0; k < body.joints.size(); ++k) {
      joints.push_back(&body.joints[k]);
      joint_names.push_back(body.name + "_joint" + (body.joints.size() > 1 ? std::to_string(k) : ""));
    }
    for (std::size_t k = 0; k < body.geoms.size(); ++k) {
      geoms.push_back(&body.geoms[k]);
      geom_names.push_back(body.name + "_geom" + std::to_string(k));
    }
  }
  name_all(joints, joint_names, "joint", file);
  name_all(geoms, geom_names, "geom", file);
}

}  // namespace

const Joint* find_joint(const Spec& spec, const std::string& name) {
  for (const Body& body : spec.bodies) {
    for (const Joint& joint : body.joints) {
      if (joint.name == name) return &joint;
    }
  }
  return nullptr;
}

Spec read_spec(const std::string& path, const LoadOptions& options, Scene& scene) {
  Spec spec;
  const io::ReadingRights rights(path, options);
  spec.root = xml::read(path, "include", rights, options.max_bytes);
  if (spec.root.tag != "mujoco") spec.root.own().fail("the root element of an MJCF file is <mujoco>");
  read_compiler(spec.root, spec.compiler, scene);
  read_option(spec.root, spec.option, scene);
  spec.defaults.read(spec.root);
  spec.assets = read_assets(spec, rights, options.max_bytes, scene);
  TreeReader(spec, scene).read_world();
  weld_bodies(spec);
  name_everything(spec);
  return spec;
}

}  // namespace taut::mjcf
