#include "taut/simulation/values.hpp"

#include <coal/shape/convex.h>
#include <coal/shape/geometric_shapes.h>

#include <algorithm>
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

template <typename Visit>
void walk_pair_restitution(const Scene& scene, Visit&& visit) {
  constexpr Kind kind = Kind::pair_restitution;
  for (int i = 0; const auto& [names, value] : scene.pair_restitution) {
    visit(kind, i, names.first.c_str(), names.first.size() + 1, names.first.size() + 1);
    visit(kind, i, names.second.c_str(), names.second.size() + 1, names.second.size() + 1);
    visit(kind, i++, &value, 1, 1);
  }
  const std::size_t count = scene.pair_restitution.size();
  visit(kind, 0, &count, 1, 1);
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
  // Files give hundreds, which the step reads where they stand: here only whether they still stand there.
  const auto& own = scene.pair_friction;
  one(Kind::pair_friction, 0, own.size());
  one(Kind::pair_friction, 0, own.empty() ? nullptr : &own.begin()->second);
  one(Kind::pair_friction, 0, own.empty() ? nullptr : &own.rbegin()->second);
  walk_pair_restitution(scene, visit);
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

#if defined(__GNUC__)
using Wide = std::uint64_t __attribute__((vector_size(32), aligned(1), may_alias));

// Without branches on what is there.
template <typename Window>
TAUT_INLINE inline bool stand_as_copied(const Window* first, const Window* last) {
  Wide differs{};
#pragma GCC unroll 4
  for (; first != last; ++first) {
    differs |= *static_cast<const Wide*>(first->live) ^ *reinterpret_cast<const Wide*>(first->copy.data());
  }
  return (differs[0] | differs[1] | differs[2] | differs[3]) == 0;
}

#if defined(__x86_64__)
template <typename Window>
__attribute__((target("avx2"))) bool stand_as_copied_wide(const Window* first, const Window* last) {
  return stand_as_copied(first, last);
}
#endif
#else
template <typename Window>
bool stand_as_copied(const Window* first, const Window* last) {
  return std::all_of(first, last, [](const auto& window) {
    return std::memcmp(window.live, window.copy.data(), window.copy.size()) == 0;
  });
}
#endif

template <typename Window>
bool all_stand(const Window* first, const Window* last) {
#if defined(__GNUC__) && defined(__x86_64__)
  static const bool is_wide = __builtin_cpu_supports("avx2");
  if (is_wide) return stand_as_copied_wide(first, last);
#endif
  return stand_as_copied(first, last);
}

struct Bytes {
  const void* from;
  std::size_t count;
};

// Calls visit(list of bytes) for what stands in the scene itself, where it can be read whatever was edited: numbers,
// and where every list begins and ends.
template <typename Visit>
void walk_heads(const Scene& scene, Visit&& visit) {
  const auto& model = scene.model;
  const auto& geometry = scene.geometry;
  const auto heads = [&](const auto&... values) { visit(std::vector<Bytes>{{&values, sizeof(values)}...}); };
  heads(model.nq, model.nv, model.njoints, model.parents, model.joints, model.names, model.idx_qs, model.idx_vs,
        model.nqs, model.nvs, model.inertias, model.jointPlacements, model.gravity.toVector(), model.armature,
        model.damping, model.upperDryFrictionLimit, model.lowerPositionLimit, model.upperPositionLimit, geometry.ngeoms,
        geometry.geometryObjects, geometry.collisionPairs, scene.surfaces, scene.friction_rule, scene.pair_friction,
        scene.pair_restitution, scene.loops, scene.couplings, scene.actuators, scene.ball_limits, scene.stiffness,
        scene.spring_reference, scene.limits.restitution, scene.limits.compliance);
}

// The same for what stands in those lists, to be read where they begin and end as they did.
template <typename Visit>
void walk_lists(const Scene& scene, Visit&& visit) {
  const auto& model = scene.model;
  const auto all = [&](const auto&... lists) {
    (visit(std::vector<Bytes>{{lists.data(), static_cast<std::size_t>(lists.size()) * sizeof(*lists.data())}}), ...);
  };
  const auto parts = [&](const auto&... values) { visit(std::vector<Bytes>{{&values, sizeof(values)}...}); };
  all(model.parents, model.idx_qs, model.idx_vs, model.nqs, model.nvs, model.inertias, model.jointPlacements,
      model.armature, model.damping, model.upperDryFrictionLimit, model.lowerPositionLimit, model.upperPositionLimit,
      scene.surfaces, scene.stiffness, scene.spring_reference, scene.limits.restitution, scene.limits.compliance,
      scene.ball_limits, scene.couplings);
  if (!scene.geometry.collisionPairs.empty()) parts(scene.geometry.collisionPairs.back());
  for (const auto& object : scene.geometry.geometryObjects)
    parts(object.parentJoint, object.placement, object.geometry);
  for (const Loop& loop : scene.loops) {
    parts(loop.kind, loop.joint_1, loop.joint_2, loop.placement_1, loop.placement_2, loop.length, loop.compliance,
          loop.angular_compliance);
  }
  for (const Actuator& a : scene.actuators) {
    parts(a.kind, a.dof, a.loop, a.gear, a.kp, a.kv, a.control_range, a.force_range);
  }
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
  windows_.clear();
  words_.clear();
  const auto add = [&](int what, const void* from, std::size_t bytes) {
    const auto* live = static_cast<const std::byte*>(from);
    // The last of them overlaps the one before.
    const auto add_pieces = [&](auto& list, std::size_t size) {
      for (std::size_t k = 0; k < bytes; k += size) {
        const std::byte* piece = live + std::min(k, bytes - size);
        list.push_back({what, piece, {}});
        std::memcpy(&list.back().copy, piece, size);
      }
    };
    if (bytes >= sizeof(Window::copy)) {
      add_pieces(windows_, sizeof(Window::copy));
    } else if (bytes >= sizeof(Word::copy)) {
      add_pieces(words_, sizeof(Word::copy));
    }
  };
  // What stands close together is seen at once.
  const auto add_joined = [&](int what, std::vector<Bytes> parts) {
    constexpr std::ptrdiff_t kApart = 64;
    std::sort(parts.begin(), parts.end(), [](const Bytes& a, const Bytes& b) { return a.from < b.from; });
    for (std::size_t i = 0; i < parts.size();) {
      const auto* from = static_cast<const std::byte*>(parts[i].from);
      const std::byte* end = from + parts[i].count;
      for (++i; i < parts.size() && static_cast<const std::byte*>(parts[i].from) - end <= kApart; ++i) {
        end = static_cast<const std::byte*>(parts[i].from) + parts[i].count;
      }
      add(what, from, static_cast<std::size_t>(end - from));
    }
  };
  walk_heads(scene, [&](const std::vector<Bytes>& parts) { add_joined(kHead, parts); });
  walk_lists(scene, [&](const std::vector<Bytes>& parts) { add_joined(kList, parts); });
  walk_sizes(scene, add);
}

bool SceneValues::equal(const Scene& scene) const {
  if (scene.model.njoints < 2) return difference(scene).first.empty();  // lists of four bytes, no machine
  // Lists can be read where their heads are what they were.
  const auto is_head = [](const auto& piece) { return piece.what == kHead; };
  const Window* const windows = windows_.data();
  const Window* const last_window = windows + windows_.size();
  const Window* const lists = std::find_if_not(windows, last_window, is_head);
  const Word* const words = words_.data();
  const Word* const last_word = words + words_.size();
  const Word* const words_of_lists = std::find_if_not(words, last_word, is_head);
  const auto stand = [](const Word* first, const Word* last) {
    std::uint64_t differs = 0;
    for (; first != last; ++first) {
      std::uint64_t live;
      std::memcpy(&live, first->live, sizeof(live));
      differs |= live ^ first->copy;
    }
    return differs == 0;
  };
  if (!all_stand(windows, lists) || !stand(words, words_of_lists)) return false;
  if (!all_stand(lists, last_window) || !stand(words_of_lists, last_word)) return false;
  if (scene.pair_restitution.empty()) return true;
  // Which of a map's nodes are still there its head does not tell.
  std::size_t bytes = 0;
  walk_pair_restitution(
      scene, [&](Kind, int, const auto* data, std::size_t count, std::size_t) { bytes += count * sizeof(*data); });
  if (bytes > values_.size()) return false;
  const std::byte* at = values_.data() + values_.size() - bytes;
  bool same = true;
  walk_pair_restitution(scene, [&](Kind, int, const auto* data, std::size_t count, std::size_t) {
    same = same && std::memcmp(at, data, count * sizeof(*data)) == 0;
    at += count * sizeof(*data);
  });
  return same;
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
  const auto see_sizes = [&](const auto& pieces) {
    for (const auto& piece : pieces) {
      if (piece.what < 0) continue;
      const auto shape = static_cast<std::size_t>(piece.what);
      if (objects[shape].geometry != geometry_[shape]) continue;  // seen already
      if (std::memcmp(&piece.copy, piece.live, sizeof(piece.copy)) != 0) differs(Kind::shape, piece.what);
    }
  };
  see_sizes(windows_);
  see_sizes(words_);
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
