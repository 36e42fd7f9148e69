#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "taut/io/load.hpp"
#include "xml.hpp"

/// An MJCF file as data, after defaults and frames are resolved and before it becomes a Pinocchio model. Angles are in
/// radians and placements are relative to the body.
namespace taut::mjcf {

using pinocchio::Inertia;
using pinocchio::SE3;

struct Compiler {
  bool degrees = true;
  std::string euler_sequence = "xyz";  ///< lower case: about moving axes, upper case: about fixed ones
  bool autolimits = true;
  std::string inertia_from_geom = "auto";
  std::pair<int, int> inertia_groups{0, 5};
  double bound_mass = 0.0, bound_inertia = 0.0;
  bool balance_inertia = false;
  double total_mass = -1.0;  ///< positive: the masses are scaled to it
  std::string mesh_folder;
  bool strip_path = false;

  double angle(double value) const { return degrees ? value * (EIGEN_PI / 180.0) : value; }
};

struct Option {
  Eigen::Vector3d gravity{0.0, 0.0, -9.81};
  bool contacts = true, limits = true, dry_friction = true, springs = true, damping = true, filter_parent = true;
  bool equalities = true;
};

/// The tree of default classes, flattened: each class holds what it inherits.
class Defaults {
 public:
  void read(const xml::Element& root);

  /// An element's own attributes over those of its class: the one it names, else `child_class`, else the top one.
  /// `tag` is what the defaults call the element, if that is not its own tag.
  xml::Attributes resolve(const xml::Element& element, const std::string& child_class,
                          const std::string& tag = "") const;

 private:
  using Values = std::map<std::string, std::string>;  // by attribute
  using Class = std::map<std::string, Values>;        // by element
  void read_class(const xml::Element& element, const std::string& name, const Class& parent);

  std::map<std::string, Class> classes_;
  std::string top_ = "main";
};

/// A mesh asset: its triangles for the inertia, its hull for contacts.
struct Mesh {
  std::vector<Eigen::Vector3d> vertices;
  std::vector<Eigen::Vector3i> faces;
  std::shared_ptr<coal::ConvexBase> hull;  ///< none until something needs it
  bool is_plate = false;                   ///< the mesh is flat, its hull a thin plate
  std::string inertia = "legacy";          ///< convex, exact, legacy: which volume counts as mass
};

struct Assets {
  std::map<std::string, Mesh> meshes;
  std::map<std::string, std::shared_ptr<coal::CollisionGeometry>> height_fields;
  std::map<std::string, Eigen::Vector4d> materials;  ///< colour and opacity
};

struct Joint {
  enum class Kind { free, ball, hinge, slide };
  std::string name;
  Kind kind = Kind::hinge;
  Eigen::Vector3d anchor = Eigen::Vector3d::Zero();
  Eigen::Vector3d axis = Eigen::Vector3d::UnitZ();
  double reference = 0.0;  ///< value of q in the configuration drawn in the file
  double stiffness = 0.0, spring_reference = 0.0, damping = 0.0, armature = 0.0, dry_friction = 0.0;
  std::optional<std::pair<double, double>> range, effort;
  pinocchio::JointIndex index = 0;  ///< in the Pinocchio model
};

struct Geom {
  enum class Kind { plane, height_field, sphere, capsule, ellipsoid, cylinder, box, mesh };
  std::string name;
  Kind kind = Kind::sphere;
  Eigen::Vector3d size = Eigen::Vector3d::Zero();  ///< radii and half lengths, as MuJoCo has them
  SE3 placement = SE3::Identity();
  std::string asset;
  std::optional<double> mass;
  double density = 1000.0;
  int group = 0, contype = 1, conaffinity = 1, condim = 3;
  Surface surface{.friction = 1.0};
  std::optional<Eigen::Vector4d> colour;  ///< its own, else that of its material; none if neither says
  std::string where;
};

struct Body {
  std::string name;
  int parent = -1;
  int weld = 0;  ///< the body that moves it: itself if it has joints, 0 if nothing does
  SE3 placement = SE3::Identity();
  std::vector<Joint> joints;
  std::vector<Geom> geoms;
  std::optional<Inertia> inertial;
  Inertia inertia = Inertia::Zero();
  std::string where;
  pinocchio::JointIndex joint_index = 0;  ///< the Pinocchio joint that carries it
  SE3 in_joint = SE3::Identity();         ///< its placement there
  pinocchio::FrameIndex frame_index = 0;
};

/// A named frame on a body.
struct Site {
  std::size_t body;
  SE3 placement;
};

struct Spec {
  xml::Element root;
  Compiler compiler;
  Option option;
  Defaults defaults;
  Assets assets;
  std::vector<Body> bodies;  ///< depth first, as MuJoCo numbers them; 0 is the world
  std::map<std::string, Site> sites;
};

/// The joint of that name, or null.
const Joint* find_joint(const Spec& spec, const std::string& name);

// mjcf_read.cpp: from XML to data
Spec read_spec(const std::string& path, const LoadOptions& options, Scene& scene);

// mjcf_elements.cpp: one element each, its defaults resolved; `frame` is that of the <frame> around it
Joint read_joint(const xml::Attributes& attributes, const SE3& frame, const Compiler& compiler, const Option& option,
                 Scene& scene);
Joint read_free_joint(const xml::Attributes& attributes, Scene& scene);
Geom read_geom(const xml::Attributes& attributes, const SE3& frame, const Spec& spec, Scene& scene);
SE3 read_site(const xml::Attributes& attributes, const SE3& frame, const Compiler& compiler);
Inertia read_inertial(const xml::Attributes& attributes, const Compiler& compiler);
/// MuJoCo's three-valued `limited` flags: what is given, else true when there is a proper range.
std::optional<std::pair<double, double>> read_range(const xml::Attributes& attributes, const std::string& range_name,
                                                    const std::string& flag_name, const Compiler& compiler);
void warn_about_softness(const xml::Attributes& attributes, Scene& scene);

// mjcf_frames.cpp
SE3 read_placement(const xml::Attributes& attributes, const Compiler& compiler);
Eigen::Matrix3d read_orientation(const xml::Attributes& attributes, const Compiler& compiler);
/// The smallest rotation that takes the z axis to `direction`.
Eigen::Matrix3d rotation_from_z(const Eigen::Vector3d& direction);
extern const std::set<std::string> kOrientations;  ///< attributes of which an element may have one

// mjcf_assets.cpp
Assets read_assets(const Spec& spec, const io::ReadingRights& rights, std::size_t max_bytes, Scene& scene);
std::shared_ptr<coal::CollisionGeometry> make_shape(const Geom& geom, Assets& assets);

// mjcf_inertia.cpp
/// Mass and inertia of a geom, in the body's frame.
Inertia geom_inertia(const Geom& geom, const Assets& assets);
/// Fills `Body::inertia` of all bodies by the compiler's rules.
void set_inertias(Spec& spec);

// mjcf_build.cpp
void build_model(Spec& spec, Scene& scene);
void build_geometry(Spec& spec, Scene& scene);

// mjcf_contact.cpp
void build_pairs(const Spec& spec, Scene& scene);
/// Geoms named by <contact><pair>: they may touch whatever their masks say.
std::set<std::string> paired_geoms(const Spec& spec);

// mjcf_equality.cpp
/// Loops and couplings of <equality>. The model must be built.
void read_equalities(const Spec& spec, Scene& scene);

// mjcf_control.cpp
void read_actuators(const Spec& spec, Scene& scene);
void read_keyframes(const Spec& spec, Scene& scene);

}  // namespace taut::mjcf
