#include "taut/simulation/values.hpp"

#include <coal/shape/convex.h>
#include <coal/shape/geometric_shapes.h>

#include <array>
#include <cstring>
#include <type_traits>

// What is compared in every step is worth its own code at every place.
#if defined(__GNUC__)
#define TAUT_INLINE __attribute__((always_inline))
#else
#define TAUT_INLINE
#endif

namespace taut {

namespace {

enum class Kind {
  size,
  tree,
  shape_body,
  pair,
  loop_bodies,
  coupling_joints,
  actuator_place,
  last_of_structure = actuator_place,
  inertia,
  joint_placement,
  gravity,
  armature,
  damping,
  dry_friction,
  lower_limit,
  upper_limit,
  stiffness,
  spring_reference,
  limit_restitution,
  limit_compliance,
  surface,
  friction_rule,
  shape_placement,
  shape,
  loop,
  coupling,
  actuator,
  ball_limit,
  pair_friction,
  pair_restitution,
};

constexpr std::array kSizes{
    "the number of joints",
    "the number of coordinates",
    "the number of degrees of freedom",
    "the number of shapes",
    "the number of surfaces",
    "the number of collision pairs",
    "the number of inertias",
    "the number of joint placements",
    "the number of parents",
    "the number of joint models",
    "the number of names",
    "the size of model.idx_qs",
    "the size of model.idx_vs",
    "the size of model.nqs",
    "the size of model.nvs",
    "ngeoms",
    "the number of loops",
    "the number of couplings",
    "the number of actuators",
    "the size of model.armature",
    "the size of model.damping",
    "the size of model.upperDryFrictionLimit",
    "the size of the lower limits",
    "the size of the upper limits",
    "the size of stiffness",
    "the size of spring_reference",
    "the size of the limits' restitution",
    "the size of the limits' compliance",
};

std::array<std::ptrdiff_t, kSizes.size()> sizes_of(const Scene& scene) {
  const auto& model = scene.model;
  const auto count = [](const auto& list) { return static_cast<std::ptrdiff_t>(list.size()); };
  return {model.njoints,
          model.nq,
          model.nv,
          count(scene.geometry.geometryObjects),
          count(scene.surfaces),
          count(scene.geometry.collisionPairs),
          count(model.inertias),
          count(model.jointPlacements),
          count(model.parents),
          count(model.joints),
          count(model.names),
          count(model.idx_qs),
          count(model.idx_vs),
          count(model.nqs),
          count(model.nvs),
          static_cast<std::ptrdiff_t>(scene.geometry.ngeoms),
          count(scene.loops),
          count(scene.couplings),
          count(scene.actuators),
          model.armature.size(),
          model.damping.size(),
          model.upperDryFrictionLimit.size(),
          model.lowerPositionLimit.size(),
          model.upperPositionLimit.size(),
          scene.stiffness.size(),
          scene.spring_reference.size(),
          scene.limits.restitution.size(),
          scene.limits.compliance.size()};
}

// Calls visit(kind, index of the first, values, how many, values per index): all of a scene but the sizes of shapes.
// What has the structure comes first, lists that may grow come last.
template <typename Visit>
void walk(const Scene& scene, Visit&& visit) {
  const auto& model = scene.model;
  const auto& geometry = scene.geometry;
  const auto one = [&](Kind kind, int index, const auto& value) { visit(kind, index, &value, 1, 1); };
  const auto all = [&](Kind kind, const auto& list) { visit(kind, 0, list.data(), list.size(), 1); };

  const auto sizes = sizes_of(scene);
  all(Kind::size, sizes);
  all(Kind::tree, model.parents);
  for (const auto* places : {&model.idx_qs, &model.idx_vs, &model.nqs, &model.nvs}) all(Kind::tree, *places);
  // Pairs are added at the end and taken out with a change of their number: the last one tells.
  if (!geometry.collisionPairs.empty()) one(Kind::pair, 0, geometry.collisionPairs.back());
  for (int i = 0; const auto& object : geometry.geometryObjects) {
    one(Kind::shape_body, i, object.parentJoint);
    visit(Kind::shape_placement, i, reinterpret_cast<const double*>(&object.placement), 12, 12);
    one(Kind::shape, i++, static_cast<const void*>(object.geometry.get()));
  }
  for (int i = 0; const Loop& loop : scene.loops) {
    one(Kind::loop_bodies, i++, std::array{static_cast<int>(loop.kind), loop.joint_1, loop.joint_2, 0});
  }
  for (int i = 0; const Coupling& coupling : scene.couplings) {
    one(Kind::coupling_joints, i++, std::array{coupling.joint_1, coupling.joint_2});
  }
  for (int i = 0; const Actuator& a : scene.actuators) {
    one(Kind::actuator_place, i++, std::array{static_cast<int>(a.kind), a.dof, a.loop, 0});
  }

  static_assert(sizeof(pinocchio::Inertia) == 10 * sizeof(double) && sizeof(pinocchio::SE3) == 12 * sizeof(double));
  const auto numbers = [&](Kind kind, const auto& list, std::size_t each) {
    visit(kind, 0, reinterpret_cast<const double*>(list.data()), each * list.size(), each);
  };
  numbers(Kind::inertia, model.inertias, 10);
  numbers(Kind::joint_placement, model.jointPlacements, 12);
  all(Kind::gravity, model.gravity.toVector());
  all(Kind::armature, model.armature);
  all(Kind::damping, model.damping);
  all(Kind::dry_friction, model.upperDryFrictionLimit);
  all(Kind::lower_limit, model.lowerPositionLimit);
  all(Kind::upper_limit, model.upperPositionLimit);
  all(Kind::stiffness, scene.stiffness);
  all(Kind::spring_reference, scene.spring_reference);
  all(Kind::limit_restitution, scene.limits.restitution);
  all(Kind::limit_compliance, scene.limits.compliance);
  for (int i = 0; const Surface& s : scene.surfaces) {
    const std::array surface{s.friction, s.restitution, s.compliance, static_cast<double>(s.priority)};
    visit(Kind::surface, i++, surface.data(), surface.size(), surface.size());
  }
  one(Kind::friction_rule, 0, static_cast<std::uint64_t>(scene.friction_rule));
  for (int i = 0; const Loop& loop : scene.loops) {
    visit(Kind::loop, i, reinterpret_cast<const double*>(&loop.placement_1), 12, 12);
    visit(Kind::loop, i, reinterpret_cast<const double*>(&loop.placement_2), 12, 12);
    one(Kind::loop, i++, std::array{loop.length, loop.compliance, loop.angular_compliance});
  }
  for (int i = 0; const Coupling& coupling : scene.couplings) {
    one(Kind::coupling, i, coupling.polynomial);
    one(Kind::coupling, i++, std::array{coupling.reference_1, coupling.reference_2, coupling.compliance});
  }
  for (int i = 0; const Actuator& a : scene.actuators) {
    one(Kind::actuator, i++,
        std::array{a.gear, a.kp, a.kv, a.control_range.first, a.control_range.second, a.force_range.first,
                   a.force_range.second});
  }
  for (int i = 0; const BallLimit& limit : scene.ball_limits) {
    one(Kind::ball_limit, i++, std::array{static_cast<double>(limit.joint), limit.angle});
  }
  one(Kind::ball_limit, 0, scene.ball_limits.size());
  const auto pairs = [&](Kind kind, const auto& list) {
    for (int i = 0; const auto& [names, value] : list) {
      visit(kind, i, names.first.c_str(), names.first.size() + 1, names.first.size() + 1);
      visit(kind, i, names.second.c_str(), names.second.size() + 1, names.second.size() + 1);
      one(kind, i++, value);
    }
    one(kind, 0, list.size());
  };
  // Files give hundreds, which the step reads where they stand: here only whether they still stand there.
  const auto& own = scene.pair_friction;
  one(Kind::pair_friction, 0, own.size());
  one(Kind::pair_friction, 0, own.empty() ? nullptr : &own.begin()->second);
  one(Kind::pair_friction, 0, own.empty() ? nullptr : &own.rbegin()->second);
  pairs(Kind::pair_restitution, scene.pair_restitution);
}

// Calls visit(shape, sizes, bytes) with the sizes where Coal has them.
template <typename Visit>
void walk_sizes(const Scene& scene, Visit&& visit) {
  for (int i = 0; const auto& object : scene.geometry.geometryObjects) {
    const coal::CollisionGeometry* geometry = object.geometry.get();
    const auto see = [&](const auto&... values) { (visit(i, &values, sizeof(values)), ...); };
    const auto round = [&](const auto* shape) {
      if (shape) see(shape->radius, shape->halfLength);
    };
    if (const auto* sphere = dynamic_cast<const coal::Sphere*>(geometry)) see(sphere->radius);
    if (const auto* egg = dynamic_cast<const coal::Ellipsoid*>(geometry)) see(egg->radii);
    if (const auto* box = dynamic_cast<const coal::Box*>(geometry)) see(box->halfSide);
    if (const auto* half = dynamic_cast<const coal::Halfspace*>(geometry)) see(half->n, half->d);
    if (const auto* plane = dynamic_cast<const coal::Plane*>(geometry)) see(plane->n, plane->d);
    if (const auto* mesh = dynamic_cast<const coal::ConvexBase*>(geometry)) see(mesh->points);
    round(dynamic_cast<const coal::Capsule*>(geometry));
    round(dynamic_cast<const coal::Cylinder*>(geometry));
    round(dynamic_cast<const coal::Cone*>(geometry));
    if (geometry && geometry->getObjectType() == coal::OT_HFIELD) {  // what its ball is drawn around
      see(geometry->aabb_local.min_, geometry->aabb_local.max_);
    }
    ++i;
  }
}

constexpr std::size_t kFewBytes = 128, kWord = 8;

// Zero where a few bytes are the same.
inline std::uint64_t difference_of(const std::byte* one, const void* two, std::size_t bytes) {
  const auto* other = static_cast<const std::byte*>(two);
  std::uint64_t found = 0;
  std::size_t k = 0;
  for (; k + 8 <= bytes; k += 8) {
    std::uint64_t a, b;
    std::memcpy(&a, one + k, 8), std::memcpy(&b, other + k, 8);
    found |= a ^ b;
  }
  for (; k < bytes; ++k) found |= static_cast<std::uint64_t>(one[k] ^ other[k]);
  return found;
}

std::string in_quotes(const std::string& name) { return "'" + name + "'"; }

std::string name_of(const Scene& scene, Kind kind, int index, std::size_t part) {
  const auto at = static_cast<std::size_t>(index);
  const auto of = [&](const char* what, const auto& list, const auto& name) {
    return std::string(what) + " of " + (at < list.size() ? in_quotes(name(list[at])) : std::to_string(index));
  };
  const auto joint = [&](const char* what) {
    return of(what, scene.model.names, [](const std::string& name) { return name; });
  };
  const auto shape = [&](const char* what) {
    return of(what, scene.geometry.geometryObjects, [](const auto& object) { return object.name; });
  };
  const auto named = [](const auto& object) { return object.name; };
  const auto number = [&](const char* what) { return std::string(what) + "[" + std::to_string(index) + "]"; };
  switch (kind) {
    case Kind::size:
      return kSizes[at];
    case Kind::tree:
      return "the tree of joints, or their places in q and v";
    case Kind::shape_body:
      return shape("the joint");
    case Kind::pair:
      return "the collision pairs";
    case Kind::loop_bodies:
      return of("the kind or the bodies", scene.loops, named);
    case Kind::coupling_joints:
      return of("the joints", scene.couplings, named);
    case Kind::actuator_place:
      return of("the kind or place", scene.actuators, named);
    case Kind::inertia:
      return joint("the inertia");
    case Kind::joint_placement:
      return joint("the placement of joint");
    case Kind::gravity:
      return "gravity";
    case Kind::armature:
      return number("model.armature");
    case Kind::damping:
      return number("model.damping");
    case Kind::dry_friction:
      return number("model.upperDryFrictionLimit");
    case Kind::lower_limit:
      return number("model.lowerPositionLimit");
    case Kind::upper_limit:
      return number("model.upperPositionLimit");
    case Kind::stiffness:
      return number("stiffness");
    case Kind::spring_reference:
      return number("spring_reference");
    case Kind::limit_restitution:
      return number("limit_restitution");
    case Kind::limit_compliance:
      return number("limit_compliance");
    case Kind::surface:
      return shape(std::array{"the friction", "the restitution", "the compliance", "the priority"}[part]);
    case Kind::friction_rule:
      return "the friction rule";
    case Kind::shape_placement:
      return shape("the placement of shape");
    case Kind::shape:
      return shape("the geometry");
    case Kind::loop:
      return of("the frames, length or compliance of loop", scene.loops, named);
    case Kind::coupling:
      return of("the law of coupling", scene.couplings, named);
    case Kind::actuator:
      return of("the gains or ranges", scene.actuators, named);
    case Kind::ball_limit:
      return "a ball limit";
    case Kind::pair_friction:
      return "the friction of a pair";
    case Kind::pair_restitution:
      return "the restitution of a pair";
  }
  return "a value";
}

}  // namespace

void SceneValues::copy(const Scene& scene) {
  const auto append = [](std::vector<std::byte>& to, const void* from, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(from);
    to.insert(to.end(), first, first + bytes);
  };
  values_.clear();
  walk(scene, [&](Kind, int, const auto* data, std::size_t count, std::size_t) {
    append(values_, data, count * sizeof(*data));
  });
  geometry_.clear();
  kinds_.clear();
  for (const auto& object : scene.geometry.geometryObjects) {
    geometry_.push_back(object.geometry);
    kinds_.push_back(object.geometry ? static_cast<int>(object.geometry->getNodeType()) : -1);
  }
  sized_.clear();
  sizes_.clear();
  walk_sizes(scene, [&](int shape, const void* live, std::size_t bytes) {
    for (std::size_t k = 0; k < bytes; k += kWord) {
      const void* word = static_cast<const std::byte*>(live) + k;
      sized_.push_back({shape, word, kWord, sizes_.size()});
      append(sizes_, word, kWord);
    }
  });
}

bool SceneValues::equal(const Scene& scene) const {
  const auto sizes = sizes_of(scene);
  if (std::memcmp(values_.data(), sizes.data(), sizeof(sizes)) != 0) return false;
  // Of equal sizes: all but lists that may grow, which come last, stand where they stood. Without branches.
  const std::byte* at = values_.data();
  const std::byte* const end = at + values_.size();
  std::uint64_t differs = 0;
  walk(scene, [&](Kind kind, int, const auto* data, std::size_t count, std::size_t) TAUT_INLINE {
    const std::size_t bytes = count * sizeof(*data);
    if (kind >= Kind::ball_limit && bytes > static_cast<std::size_t>(end - at)) {
      differs = 1;
      return;
    }
    differs |= bytes > kFewBytes ? std::uint64_t{std::memcmp(at, data, bytes) != 0} : difference_of(at, data, bytes);
    at += bytes;
  });
  if (differs != 0 || at != end) return false;
  // The geometries are those whose sizes are known.
  for (const Sizes& known : sized_) differs |= difference_of(sizes_.data() + known.at, known.live, kWord);
  return differs == 0;
}

SceneValues::Difference SceneValues::difference(const Scene& scene) const {
  Difference found;
  const auto differs = [&](Kind kind, int index, std::size_t part = 0) {
    if (found.first.empty()) found.first = name_of(scene, kind, index, part);
    found.structure |= kind <= Kind::last_of_structure;
    found.joint_rows |= kind == Kind::dry_friction || kind == Kind::lower_limit || kind == Kind::upper_limit ||
                        kind == Kind::ball_limit;
    found.pairs |= kind == Kind::pair_friction || kind == Kind::pair_restitution;
    found.restitution |= kind == Kind::surface || kind == Kind::limit_restitution || kind == Kind::pair_restitution;
    found.placements |= kind == Kind::shape_placement;
    found.shapes |= kind == Kind::shape;
  };
  std::size_t at = 0;
  walk(scene, [&](Kind kind, int first, const auto* data, std::size_t count, std::size_t each) {
    if (found.structure) return;  // what follows stands elsewhere
    for (std::size_t k = 0; k < count; ++k, at += sizeof(*data)) {
      if (at + sizeof(*data) <= values_.size() && std::memcmp(values_.data() + at, data + k, sizeof(*data)) == 0) {
        continue;
      }
      differs(kind, first + static_cast<int>(k / each), k % each);
    }
  });
  if (found.structure) return found;
  if (at != values_.size()) differs(Kind::pair_restitution, 0);
  const auto& objects = scene.geometry.geometryObjects;
  for (const Sizes& sizes : sized_) {
    const auto shape = static_cast<std::size_t>(sizes.shape);
    if (objects[shape].geometry != geometry_[shape]) continue;  // seen already
    if (std::memcmp(sizes_.data() + sizes.at, sizes.live, sizes.bytes) != 0) differs(Kind::shape, sizes.shape);
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const int kind = objects[i].geometry ? static_cast<int>(objects[i].geometry->getNodeType()) : -1;
    if (kind == kinds_[i]) continue;
    found.first = "the kind of shape of '" + objects[i].name + "'";
    found.structure = true;
  }
  return found;
}

std::uint64_t structure_of(const Scene& scene) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a, by words
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x100000001b3U;
    hash ^= hash >> 29;
  };
  const auto text = [&](const std::string& name) {
    for (const char letter : name) mix(static_cast<unsigned char>(letter));
    mix(0x100);
  };
  const auto number = [&](auto value) { mix(static_cast<std::uint64_t>(value)); };
  for (const auto size :
       {scene.geometry.geometryObjects.size(), scene.loops.size(), scene.couplings.size(), scene.actuators.size()}) {
    number(size);
  }
  const auto& model = scene.model;
  for (std::size_t joint = 1; joint < model.joints.size(); ++joint) {
    text(model.names[joint]);
    text(model.joints[joint].shortname());
    number(model.parents[joint]);
  }
  for (const auto& object : scene.geometry.geometryObjects) {
    text(object.name);
    number(object.parentJoint);
    number(object.geometry ? static_cast<int>(object.geometry->getNodeType()) : -1);
  }
  for (const auto& pair : scene.geometry.collisionPairs) number(pair.first), number(pair.second);
  for (const Loop& loop : scene.loops) {
    text(loop.name);
    number(loop.kind), number(loop.joint_1), number(loop.joint_2);
  }
  for (const Coupling& coupling : scene.couplings) {
    text(coupling.name);
    number(coupling.joint_1), number(coupling.joint_2);
  }
  for (const Actuator& actuator : scene.actuators) {
    text(actuator.name);
    number(actuator.kind), number(actuator.dof), number(actuator.loop);
  }
  return hash;
}

}  // namespace taut
