#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reading_rights.hpp"
#include "taut/io/load.hpp"
#include "xml.hpp"

/// What Pinocchio's readers of URDF and SRDF leave to us: where the meshes are, what holds the root, and checks that
/// name the element.
namespace taut::urdf {

/// The text of a file with the mesh paths of its `shapes` ("collision" or "visual") made absolute. Throws FileNotFound
/// for a mesh that is nowhere, std::invalid_argument for one that may not be read.
std::string resolve_meshes(const std::string& text, const std::string& path, const char* shapes,
                           const std::vector<std::string>& package_dirs, io::ReadingRights& rights,
                           std::size_t max_bytes);

/// Throws std::invalid_argument for links that are not one tree or too many, for joints to links that are not there,
/// for numbers that are none, not finite or out of range, and for masses that are negative, or zero on a link that a
/// joint moves.
void check_links(const xml::Element& robot);

/// True if the root link stands for the world, see `Root::automatic`.
bool root_is_fixed(const xml::Element& robot);

/// A joint that follows another: q = multiplier · q_leader + offset.
struct Mimic {
  std::string joint, leader;
  double multiplier = 1.0, offset = 0.0;
};

/// The <mimic> elements of joints that move, every leader before those that follow it. A leader that is not there, as
/// in files put together from parts, is warned about and followed by nobody. Throws std::invalid_argument for joints
/// that follow each other in a circle.
std::vector<Mimic> read_mimics(const xml::Element& robot, Scene& scene);

struct Srdf {
  std::string path;
  std::string virtual_joint;                               ///< its type, or empty
  std::set<std::pair<std::string, std::string>> disabled;  ///< links, sorted
  std::vector<std::pair<std::string, std::map<std::string, std::vector<double>>>>
      poses;                                      ///< by joint, in the file's order
  std::map<std::string, double> rotor_armatures;  ///< by joint
};

/// The file that belongs to a URDF: the one of the same name beside it or in ../srdf, else the only one there whose
/// robot has the same name. Empty if there is none, or none that may be read.
std::string find_srdf(const std::string& urdf_path, const std::string& robot_name, const io::ReadingRights& rights,
                      std::size_t max_bytes, Scene& scene);

Srdf read_srdf(const std::string& text, const std::string& path, std::size_t max_bytes);

}  // namespace taut::urdf
