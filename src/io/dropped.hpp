#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "taut/simulation/scene.hpp"
#include "xml.hpp"

namespace taut::io {

/// Collects what a reader does not read, and warns about each kind once: how many there are and what the first are
/// called. Kinds come in the order in which the file has them.
class Dropped {
 public:
  /// `kind` is the warning as far as it goes: "mjcf: sensor elements are not supported".
  void add(const std::string& kind, const std::string& name);
  void warn(Scene& scene) const;

 private:
  struct Kind {
    std::string text;
    int count = 0;
    std::vector<std::string> names;  // each once
  };
  std::vector<Kind> kinds_;
};

/// What an element is called in a warning: its name, or its line.
std::string label(const xml::Element& element);

/// Adds the attributes of an element that are not among `known` to the unknown ones of its tag. `owner` is what the
/// element, or what it is part of, is called.
void add_unknown_attributes(const std::string& format, const xml::Element& element, const std::string& owner,
                            const std::set<std::string>& known, Dropped& dropped);

}  // namespace taut::io
