#include <pinocchio/algorithm/crba.hpp>

#include <Eigen/Cholesky>
#include <cmath>

#include "mjcf_spec.hpp"

namespace taut::mjcf {

using Eigen::VectorXd;
using xml::Attributes;
using xml::Element;

namespace {

// What a force on one dof has to move, 1 / (M⁻¹)_kk, in the configuration drawn in the file: the mass that `dampratio`
// refers to.
VectorXd effective_inertia(const Scene& scene) {
  pinocchio::Data data(scene.model);
  const Eigen::Ref<const VectorXd> q = scene.q0;
  pinocchio::crba(scene.model, data, q, pinocchio::Convention::WORLD);
  const Eigen::MatrixXd M = data.M.selfadjointView<Eigen::Upper>();
  return M.llt().solve(Eigen::MatrixXd::Identity(M.rows(), M.cols())).diagonal().cwiseInverse();
}

// force = kp (control − gear q) − kv gear v.  False if the element asks for another law.
bool read_law(const Element& element, const Attributes& a, Actuator& actuator, double& damping_ratio, Scene& scene) {
  if (element.tag == "motor") return true;
  if (element.tag == "position") {
    actuator.kind = Actuator::Kind::position;
    actuator.kp = a.number("kp", 1.0);
    actuator.kv = a.number("kv", 0.0);
    damping_ratio = a.number("dampratio", 0.0);
    if (a.number("timeconst", 0.0) != 0.0) scene.warn("mjcf: actuator timeconst is not supported");
    return true;
  }
  // <general> in the form that <motor> and <position> are short for.
  const VectorXd one = VectorXd::Ones(1), zero = VectorXd::Zero(1);
  const VectorXd gain = a.finite("gainprm", 1, 10).value_or(one), bias = a.finite("biasprm", 1, 10).value_or(zero);
  const auto bias_at = [&](int i) { return i < bias.size() ? bias[i] : 0.0; };
  if (element.tag != "general" || a.text("dyntype", "none") != "none" || a.text("gaintype", "fixed") != "fixed") {
    return false;
  }
  const std::string bias_type = a.text("biastype", "none");
  if (bias_type == "none") return gain[0] == 1.0;
  if (bias_type != "affine" || bias_at(0) != 0.0 || bias_at(1) != -gain[0] || bias_at(2) > 0.0) return false;
  actuator.kind = Actuator::Kind::position;
  actuator.kp = gain[0];
  actuator.kv = -bias_at(2);
  return true;
}

void read_actuator(const Element& element, std::size_t number, const Spec& spec, const VectorXd& inertia,
                   Scene& scene) {
  const Attributes a = spec.defaults.resolve(element, "");
  Actuator actuator;
  actuator.name = a.text("name", "actuator" + std::to_string(number));
  double damping_ratio = 0.0;
  if (!read_law(element, a, actuator, damping_ratio, scene)) {
    if (element.tag != "general") return;  // named by `warn_about_dropped`
    return scene.warn("mjcf: general actuators are not supported unless they are motors or position servos");
  }
  const std::string target = a.text("joint", a.text("jointinparent"));
  if (target.empty()) return scene.warn("mjcf: actuators are supported on joints only");
  const Joint* joint = find_joint(spec, target);
  if (!joint) a.fail(a.has("joint") ? "joint" : "jointinparent", "is not a joint");
  if (joint->kind == Joint::Kind::free || joint->kind == Joint::Kind::ball) {
    return scene.warn("mjcf: actuators on free and ball joints are not supported");
  }
  actuator.dof = scene.model.idx_vs[joint->index];
  if (const auto gear = a.finite("gear", 1, 6)) actuator.gear = (*gear)[0];
  if (!(actuator.kp >= 0.0)) a.fail("kp", "must be non-negative");
  if (!(actuator.kv >= 0.0)) a.fail("kv", "must be non-negative");
  if (damping_ratio > 0.0 && actuator.gear != 0.0) {  // of the joint seen through the gear
    actuator.kv = 2.0 * damping_ratio * std::sqrt(actuator.kp * inertia[actuator.dof]) / std::abs(actuator.gear);
  }
  if (const auto range = read_range(a, "ctrlrange", "ctrllimited", spec.compiler)) actuator.control_range = *range;
  if (const auto range = read_range(a, "forcerange", "forcelimited", spec.compiler)) actuator.force_range = *range;
  if (const double share = a.number("inheritrange", 0.0); share > 0.0 && element.tag == "position") {
    if (!joint->range) a.fail("inheritrange", "needs a joint with a range, and '" + target + "' has none");
    const double middle = 0.5 * (joint->range->first + joint->range->second);
    const double half = 0.5 * share * (joint->range->second - joint->range->first);
    actuator.control_range = {middle - half, middle + half};
  }
  scene.actuators.push_back(std::move(actuator));
}

VectorXd read_qpos(const Attributes& a, const Spec& spec, const Scene& scene, const VectorXd& drawn) {
  if (!a.has("qpos")) return drawn;
  VectorXd q = *a.finite("qpos", scene.model.nq, scene.model.nq);
  for (const Body& body : spec.bodies) {
    for (const Joint& joint : body.joints) {
      if (joint.kind != Joint::Kind::free && joint.kind != Joint::Kind::ball) continue;
      auto quaternion = q.segment<4>(scene.model.idx_qs[joint.index] + (joint.kind == Joint::Kind::free ? 3 : 0));
      quaternion = Eigen::Vector4d(quaternion[1], quaternion[2], quaternion[3], quaternion[0]);  // w x y z to x y z w
      if (!(quaternion.norm() > 1e-14)) a.fail("qpos", "has a zero quaternion for joint '" + joint.name + "'");
      quaternion.normalize();
    }
  }
  if (!q.allFinite()) a.fail("qpos", "is not finite");
  return q;
}

}  // namespace

void read_actuators(const Spec& spec, Scene& scene) {
  const std::vector<const Element*> sections = spec.root.all("actuator");
  if (sections.empty()) return;
  const VectorXd inertia = effective_inertia(scene);
  std::size_t number = 0;
  for (const Element* section : sections) {
    for (const Element& element : section->children) read_actuator(element, number++, spec, inertia, scene);
  }
}

void read_keyframes(const Spec& spec, Scene& scene) {
  const VectorXd drawn = scene.q0;
  std::size_t number = 0;
  for (const Element* section : spec.root.all("keyframe")) {
    for (const Element* key : section->all("key")) {
      const VectorXd q = read_qpos(key->own(), spec, scene, drawn);
      if (number == 0) scene.q0 = q;
      scene.poses[key->own().text("name", "key" + std::to_string(number))] = q;
      ++number;
    }
  }
}

}  // namespace taut::mjcf
