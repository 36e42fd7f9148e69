#pragma once

namespace taut {

struct Scene;

/// `Scene::model` and `Scene::geometry` are live: whoever holds them can give an array another size, an index of no
/// joint, a number that is none. These two say so, std::invalid_argument naming it, before it is used.

/// What every step reads: a glance at each joint and shape. Allocates nothing.
void check_live(const Scene& scene);

/// The same, and what is read when something is made from a scene: trees, frames, pairs, rotations, joints.
void check_structure(const Scene& scene);

}  // namespace taut
