#include "dropped.hpp"

#include <algorithm>

namespace taut::io {

namespace {

constexpr std::size_t kNamed = 4;

}  // namespace

void Dropped::add(const std::string& kind, const std::string& name) {
  auto found = std::ranges::find(kinds_, kind, &Kind::text);
  if (found == kinds_.end()) found = kinds_.insert(kinds_.end(), Kind{.text = kind, .count = 0, .names = {}});
  ++found->count;
  if (std::ranges::find(found->names, name) == found->names.end()) found->names.push_back(name);
}

void Dropped::warn(Scene& scene) const {
  for (const Kind& kind : kinds_) {
    std::string text = kind.text + ": " + std::to_string(kind.count) + " (";
    for (std::size_t i = 0; i < std::min(kNamed, kind.names.size()); ++i) text += (i ? ", " : "") + kind.names[i];
    scene.warn(text + (kind.names.size() > kNamed ? ", ...)" : ")"));
  }
}

std::string label(const xml::Element& element) {
  const auto name = element.attributes.find("name");
  return name == element.attributes.end() || name->second.empty() ? "line " + std::to_string(element.line)
                                                                  : name->second;
}

void add_unknown_attributes(const std::string& format, const xml::Element& element, const std::string& owner,
                            const std::set<std::string>& known, Dropped& dropped) {
  for (const auto& [name, _] : element.attributes) {
    if (known.contains(name) || name.starts_with("xmlns")) continue;
    dropped.add(format + ": unknown attributes of <" + element.tag + "> are not read", name + " of " + owner);
  }
}

}  // namespace taut::io
