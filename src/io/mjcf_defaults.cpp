#include <set>

#include "mjcf_spec.hpp"

namespace taut::mjcf {

namespace {

// All actuators share one set of defaults in MuJoCo: a range given for <motor> also holds for <position>.
std::string key_of(const std::string& tag) {
  static const std::set<std::string> actuators{"general", "motor",  "position", "velocity", "intvelocity",
                                               "damper",  "muscle", "cylinder", "adhesion", "dcmotor"};
  return actuators.contains(tag) ? "actuator" : tag;
}

}  // namespace

void Defaults::read(const xml::Element& root) {
  classes_.try_emplace(top_);
  for (const xml::Element* section : root.all("default")) {
    const std::string name = section->own().text("class", top_);
    if (classes_.size() == 1 && name != top_) {
      classes_.emplace(name, std::move(classes_.at(top_)));
      classes_.erase(top_);
      top_ = name;
    }
    if (name != top_) section->own().fail("class", "is not the top default class '" + top_ + "'");
    read_class(*section, name, classes_.at(top_));
  }
}

void Defaults::read_class(const xml::Element& element, const std::string& name, const Class& parent) {
  Class values = parent;
  for (const xml::Element& child : element.children) {
    if (child.tag == "default") continue;
    xml::Attributes merged(values[key_of(child.tag)], child.where());
    merged.override_by(child.attributes, kOrientations);
    values[key_of(child.tag)] = merged.values();
  }
  classes_[name] = values;
  for (const xml::Element* child : element.all("default")) {
    const std::string child_name = child->own().required("class");
    if (classes_.contains(child_name)) child->own().fail("class", "is defined twice");
    read_class(*child, child_name, values);
  }
}

xml::Attributes Defaults::resolve(const xml::Element& element, const std::string& child_class,
                                  const std::string& tag) const {
  const std::string name = element.own().text("class", child_class.empty() ? top_ : child_class);
  const auto found = classes_.find(name);
  if (found == classes_.end()) element.own().fail("unknown default class '" + name + "'");
  const auto values = found->second.find(key_of(tag.empty() ? element.tag : tag));
  xml::Attributes merged(values == found->second.end() ? Values{} : values->second, element.where());
  merged.override_by(element.attributes, kOrientations);
  return merged;
}

}  // namespace taut::mjcf
