#include <coal/hfield.h>
#include <coal/shape/convex.h>
#include <coal/shape/geometric_shapes.h>

#include <Eigen/Geometry>
#include <filesystem>

#include "hull.hpp"
#include "mesh_file.hpp"
#include "mjcf_spec.hpp"
#include "taut/math/interruption.hpp"

namespace taut::mjcf {

namespace fs = std::filesystem;
using Eigen::Vector3d;
using Eigen::Vector3i;
using xml::Attributes;

namespace {

fs::path mesh_path(const Attributes& a, const Spec& spec) {
  fs::path file = a.required("file");
  if (spec.compiler.strip_path) file = file.filename();
  if (file.is_absolute()) return file;
  const fs::path folder = spec.compiler.mesh_folder;
  return folder.is_absolute() ? folder / file : fs::path(spec.root.file).parent_path() / folder / file;
}

void load_triangles(const Attributes& a, const fs::path& path, io::MeshReader& reader, Mesh& mesh) {
  io::Triangles read = reader.read(path.string(), a.where() + ": file=\"" + xml::abridged(a.text("file")) + "\"");
  mesh.vertices = std::move(read.vertices);
  mesh.faces = std::move(read.faces);
}

void read_vertices(const Attributes& a, Mesh& mesh) {
  const Eigen::VectorXd vertices = *a.finite("vertex", 12, 1 << 26);
  if (vertices.size() % 3 != 0) a.fail("attribute 'vertex' has " + std::to_string(vertices.size()) + " numbers");
  for (Eigen::Index i = 0; i < vertices.size(); i += 3) mesh.vertices.push_back(vertices.segment<3>(i));
  const auto faces = a.finite("face", 3, 1 << 26);
  if (!faces) return;
  if (faces->size() % 3 != 0) a.fail("attribute 'face' has " + std::to_string(faces->size()) + " numbers");
  for (Eigen::Index i = 0; i < faces->size(); i += 3) {
    const Vector3d face = faces->segment<3>(i);
    if (face.minCoeff() < 0.0 || face.maxCoeff() >= static_cast<double>(mesh.vertices.size()) ||
        face.array().floor().matrix() != face) {
      a.fail("face " + std::to_string(i / 3) + " has a vertex that does not exist");
    }
    mesh.faces.push_back(face.cast<int>());
  }
}

// The hull of a mesh is made when something collides with it: what is only seen may be anything.
void make_hull(Mesh& mesh, const std::string& where) {
  if (mesh.hull) return;
  try {
    const io::Hull hull = io::convex_hull(mesh.vertices);
    mesh.hull = hull.shape;
    mesh.is_plate = hull.plate;
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(where + ": the mesh has no convex hull: " + error.what());
  }
}

Mesh read_mesh(const Attributes& a, const Spec& spec, io::MeshReader& reader, Scene& scene) {
  Mesh mesh;
  mesh.inertia = a.word("inertia", mesh.inertia, {"convex", "exact", "legacy", "shell"});
  if (mesh.inertia == "shell") scene.warn("mjcf: mesh inertia=shell is not supported: the mesh counts as solid");
  if (a.has("vertex"))
    read_vertices(a, mesh);
  else
    load_triangles(a, mesh_path(a, spec), reader, mesh);

  // MuJoCo subtracts refpos, undoes refquat, then scales.
  const Vector3d scale = a.vector3("scale", Vector3d::Ones()), origin = a.vector3("refpos", Vector3d::Zero());
  const Eigen::Vector4d wxyz = a.finite("refquat", 4, 4).value_or(Eigen::Vector4d(1.0, 0.0, 0.0, 0.0));
  if (!(wxyz.norm() > 1e-14)) a.fail("refquat", "is not a rotation");
  const Eigen::Quaterniond turn = Eigen::Quaterniond(wxyz[0], wxyz[1], wxyz[2], wxyz[3]).normalized().conjugate();
  for (Vector3d& v : mesh.vertices) v = scale.cwiseProduct(turn * (v - origin));
  if (scale.prod() < 0.0) {  // mirrored: keep the faces outward
    for (Vector3i& face : mesh.faces) std::swap(face[1], face[2]);
  }
  if (mesh.vertices.size() < 4)
    a.fail("a mesh has at least 4 vertices, this one " + std::to_string(mesh.vertices.size()));

  for (const Vector3d& v : mesh.vertices) {
    if (!v.allFinite() || v.cwiseAbs().maxCoeff() > limits::kFarthest) {
      a.fail("a vertex is not finite or farther than 1e9 m from the origin");
    }
  }
  if (mesh.faces.empty() || mesh.inertia == "convex") {
    make_hull(mesh, a.where());
    const auto& hull = dynamic_cast<const coal::Convex<coal::Triangle>&>(*mesh.hull);
    mesh.vertices.assign(hull.points->begin(), hull.points->end());
    mesh.faces.clear();
    for (unsigned int i = 0; i < hull.num_polygons; ++i) {
      const auto& triangle = (*hull.polygons)[i];
      mesh.faces.emplace_back(static_cast<int>(triangle[0]), static_cast<int>(triangle[1]),
                              static_cast<int>(triangle[2]));
    }
  }
  return mesh;
}

// An hfield without elevation data stays empty, and so does every geom that uses it.
std::shared_ptr<coal::CollisionGeometry> read_height_field(const Attributes& a, Scene& scene) {
  if (!a.has("elevation")) {
    scene.warn("mjcf: hfield files are not supported, only the elevation attribute is");
    return nullptr;
  }
  const int rows = a.integer("nrow", 0), columns = a.integer("ncol", 0);
  if (rows < 2 || columns < 2) a.fail("nrow and ncol must be at least 2 to be given with 'elevation'");
  if (rows > limits::kHeights / columns) {
    a.fail("nrow=\"" + std::to_string(rows) + "\" times ncol=\"" + std::to_string(columns) + "\" is more than " +
           std::to_string(limits::kHeights) + " elevations");
  }
  const Eigen::VectorXd elevation = *a.finite("elevation", rows * columns, rows * columns);
  a.required("size");
  const Eigen::Vector4d size = *a.finite("size", 4, 4);
  if (!(size.minCoeff() > 0.0) || size.maxCoeff() > limits::kFarthest) a.fail("size", "must be positive, 1e9 at most");
  // MuJoCo stretches the data to 0 .. 1. Its first row is at the largest y, which is Coal's order too.
  const double low = elevation.minCoeff(), range = elevation.maxCoeff() - low;
  const Eigen::MatrixXd heights = size[2] *
                                  (elevation.array() - low).matrix().reshaped<Eigen::RowMajor>(rows, columns) /
                                  (range > 0.0 ? range : 1.0);
  return std::make_shared<coal::HeightField<coal::AABB>>(2.0 * size[0], 2.0 * size[1], heights, -size[3]);
}

}  // namespace

Assets read_assets(const Spec& spec, const io::ReadingRights& rights, std::size_t max_bytes, Scene& scene) {
  Assets assets;
  io::MeshReader reader(rights, max_bytes);
  for (const xml::Element* section : spec.root.all("asset")) {
    for (const xml::Element& asset : section->children) {
      if (asset.tag == "material") {
        const Attributes a = spec.defaults.resolve(asset, "");
        assets.materials[a.text("name")] = a.finite("rgba", 4, 4).value_or(Eigen::Vector4d::Ones());
      }
      if (asset.tag != "mesh" && asset.tag != "hfield") continue;
      may_interrupt(1000);
      const Attributes a = spec.defaults.resolve(asset, "");
      const std::string name = a.text("name", fs::path(a.text("file")).stem().string());
      if (asset.tag == "mesh") {
        if (!assets.meshes.emplace(name, read_mesh(a, spec, reader, scene)).second)
          a.fail("two meshes are named '" + name + "'");
      } else {
        assets.height_fields[name] = read_height_field(a, scene);
      }
    }
  }
  return assets;
}

std::shared_ptr<coal::CollisionGeometry> make_shape(const Geom& geom, Assets& assets) {
  const Vector3d& size = geom.size;
  switch (geom.kind) {
    case Geom::Kind::plane:
      return std::make_shared<coal::Halfspace>(Vector3d::UnitZ(), 0.0);
    case Geom::Kind::height_field:
      return assets.height_fields.at(geom.asset);
    case Geom::Kind::sphere:
      return std::make_shared<coal::Sphere>(size[0]);
    case Geom::Kind::capsule:
      return std::make_shared<coal::Capsule>(size[0], 2.0 * size[1]);
    case Geom::Kind::ellipsoid:
      return std::make_shared<coal::Ellipsoid>(size[0], size[1], size[2]);
    case Geom::Kind::cylinder:
      return std::make_shared<coal::Cylinder>(size[0], 2.0 * size[1]);
    case Geom::Kind::box:
      return std::make_shared<coal::Box>(2.0 * size[0], 2.0 * size[1], 2.0 * size[2]);
    case Geom::Kind::mesh:
      make_hull(assets.meshes.at(geom.asset), geom.where);
      return assets.meshes.at(geom.asset).hull;
  }
  return nullptr;
}

}  // namespace taut::mjcf
