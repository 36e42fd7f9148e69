#include "floor.hpp"
#include "mjcf_dropped.hpp"
#include "mjcf_spec.hpp"
#include "source.hpp"
#include "taut/io/load.hpp"

namespace taut {

Scene load_mjcf(const std::string& path, const LoadOptions& options) {
  Scene scene;
  mjcf::Spec spec = mjcf::read_spec(path, options, scene);
  mjcf::warn_about_dropped(spec.root, scene);
  mjcf::set_inertias(spec);
  mjcf::build_model(spec, scene);
  mjcf::build_geometry(spec, scene);
  mjcf::build_pairs(spec, scene);
  mjcf::read_equalities(spec, scene);
  mjcf::read_actuators(spec, scene);
  mjcf::read_keyframes(spec, scene);

  io::override_friction(scene, options.friction);
  if (options.floor.value_or(false)) io::add_floor_once(scene, options.friction);
  io::finish(path, options, scene);
  return scene;
}

}  // namespace taut
