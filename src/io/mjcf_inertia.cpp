#include <Eigen/Eigenvalues>
#include <cmath>

#include "mjcf_spec.hpp"

namespace taut::mjcf {

using Eigen::Matrix3d;
using Eigen::Vector3d;

namespace {

/// A solid of density one: volume, centre, and inertia about the centre in the axes of the geom.
struct Solid {
  double volume = 0.0;
  Vector3d center = Vector3d::Zero();
  Matrix3d inertia = Matrix3d::Zero();
};

Solid solid(double volume, const Vector3d& inertia_per_volume) {
  return {volume, Vector3d::Zero(), Matrix3d((volume * inertia_per_volume).asDiagonal())};
}

Solid capsule(double r, double h) {  // h: between the centres of the two half balls
  const double ball = 4.0 / 3.0 * EIGEN_PI * r * r * r, tube = EIGEN_PI * r * r * h;
  const double across = tube * (3.0 * r * r + h * h) / 12.0 + ball * (0.4 * r * r + h * (3.0 * r + 2.0 * h) / 8.0);
  const double along = tube * r * r / 2.0 + ball * 0.4 * r * r;
  return {ball + tube, Vector3d::Zero(), Matrix3d(Vector3d(across, across, along).asDiagonal())};
}

// The sum of the tetrahedra between the faces and `apex`. MuJoCo's "legacy" inertia counts the ones that are seen from
// behind as positive too, which overestimates what is not convex.
Solid tetrahedra(const Mesh& mesh, const Vector3d& apex) {
  Solid sum;
  Matrix3d second = Matrix3d::Zero();  // ∫ x xᵀ about the apex
  for (const Eigen::Vector3i& face : mesh.faces) {
    Matrix3d edges;
    for (int k = 0; k < 3; ++k) edges.col(k) = mesh.vertices[static_cast<std::size_t>(face[k])] - apex;
    double volume = edges.determinant() / 6.0;
    if (mesh.inertia == "legacy") volume = std::abs(volume);
    const Vector3d total = edges.rowwise().sum();
    sum.volume += volume;
    sum.center += volume * (apex + total / 4.0);
    second += volume / 20.0 * (edges * edges.transpose() + total * total.transpose());
  }
  if (std::abs(sum.volume) > 0.0) sum.center /= sum.volume;
  const Vector3d shift = sum.center - apex;
  second -= sum.volume * shift * shift.transpose();
  sum.inertia = second.trace() * Matrix3d::Identity() - second;
  return sum;
}

// MuJoCo starts from the centre of the surface, then sums again from the centre of mass it found.
Solid mesh_solid(const Mesh& mesh) {
  Vector3d center = Vector3d::Zero();
  double area = 0.0;
  for (const Eigen::Vector3i& face : mesh.faces) {
    const auto vertex = [&](int k) -> const Vector3d& { return mesh.vertices[static_cast<std::size_t>(face[k])]; };
    const double a = 0.5 * (vertex(1) - vertex(0)).cross(vertex(2) - vertex(0)).norm();
    center += a * (vertex(0) + vertex(1) + vertex(2)) / 3.0;
    area += a;
  }
  if (area > 0.0) center /= area;
  Solid first = tetrahedra(mesh, center);
  Solid second = tetrahedra(mesh, first.center);
  second.center = first.center;
  return second;
}

Solid solid_of(const Geom& geom, const Assets& assets) {
  const Vector3d &s = geom.size, s2 = s.cwiseAbs2();
  switch (geom.kind) {
    case Geom::Kind::plane:
    case Geom::Kind::height_field:
      return {};
    case Geom::Kind::sphere:
      return solid(4.0 / 3.0 * EIGEN_PI * s2[0] * s[0], Vector3d::Constant(0.4 * s2[0]));
    case Geom::Kind::capsule:
      return capsule(s[0], 2.0 * s[1]);
    case Geom::Kind::ellipsoid:
      return solid(4.0 / 3.0 * EIGEN_PI * s.prod(), Vector3d(s2[1] + s2[2], s2[0] + s2[2], s2[0] + s2[1]) / 5.0);
    case Geom::Kind::cylinder: {
      const double across = s2[0] / 4.0 + s2[1] / 3.0;
      return solid(2.0 * EIGEN_PI * s2[0] * s[1], {across, across, s2[0] / 2.0});
    }
    case Geom::Kind::box:
      return solid(8.0 * s.prod(), Vector3d(s2[1] + s2[2], s2[0] + s2[2], s2[0] + s2[1]) / 3.0);
    case Geom::Kind::mesh:
      return mesh_solid(assets.meshes.at(geom.asset));
  }
  return {};
}

// Lower bounds and repairs act on the principal moments.
Inertia bounded(const Inertia& inertia, const Body& body, const Compiler& compiler) {
  const Eigen::SelfAdjointEigenSolver<Matrix3d> principal(inertia.inertia().matrix());
  Vector3d moments = principal.eigenvalues();
  const double mass = std::max(inertia.mass(), compiler.bound_mass);
  moments = moments.cwiseMax(compiler.bound_inertia);
  const double slack = 1e-6 * moments.cwiseAbs().maxCoeff();  // files round their inertias
  if (moments[0] < -slack) {
    throw std::invalid_argument(body.where + ": the inertia of body '" + body.name + "' has the principal moment " +
                                std::to_string(moments[0]) + ", which is negative");
  }
  if (moments[0] + moments[1] < moments[2] - slack) {
    if (!compiler.balance_inertia) {
      throw std::invalid_argument(body.where + ": the principal moments of body '" + body.name + "', " +
                                  std::to_string(moments[0]) + " " + std::to_string(moments[1]) + " " +
                                  std::to_string(moments[2]) +
                                  ", violate A + B >= C; balanceinertia of the compiler would repair them");
    }
    moments.setConstant(moments.mean());
  }
  const Matrix3d R = principal.eigenvectors();
  return {mass, inertia.lever(), R * moments.asDiagonal() * R.transpose()};
}

}  // namespace

Inertia geom_inertia(const Geom& geom, const Assets& assets) {
  const Solid s = solid_of(geom, assets);
  if (!(s.volume > 1e-15)) return Inertia::Zero();
  const double mass = geom.mass ? *geom.mass : geom.density * s.volume;
  const Inertia local(mass, s.center, Matrix3d(mass / s.volume * s.inertia));
  return geom.placement.act(local);
}

void set_inertias(Spec& spec) {
  const Compiler& compiler = spec.compiler;
  double total = 0.0;
  for (std::size_t i = 1; i < spec.bodies.size(); ++i) {
    Body& body = spec.bodies[i];
    body.inertia = body.inertial.value_or(Inertia::Zero());
    const bool from_geoms =
        compiler.inertia_from_geom == "true" || (compiler.inertia_from_geom == "auto" && !body.inertial);
    bool any = false;
    Inertia sum = Inertia::Zero();
    for (const Geom& geom : body.geoms) {
      if (geom.group < compiler.inertia_groups.first || geom.group > compiler.inertia_groups.second) continue;
      any = true;
      const Inertia added = geom_inertia(geom, spec.assets);
      if (added.mass() > 0.0) sum = sum.mass() > 0.0 ? Inertia(sum + added) : added;
    }
    if (from_geoms && any) body.inertia = sum;
    body.inertia = bounded(body.inertia, body, compiler);
    total += body.inertia.mass();
  }
  if (compiler.total_mass > 0.0 && total > 0.0) {
    const double scale = compiler.total_mass / total;
    for (Body& body : spec.bodies) {
      body.inertia =
          Inertia(scale * body.inertia.mass(), body.inertia.lever(), Matrix3d(scale * body.inertia.inertia().matrix()));
    }
  }
}

}  // namespace taut::mjcf
