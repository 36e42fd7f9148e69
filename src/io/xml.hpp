#pragma once

#include <Eigen/Core>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "allowance.hpp"
#include "taut/io/limits.hpp"

namespace tinyxml2 {
class XMLDocument;
}

namespace taut::io {
class ReadingRights;
}

namespace taut::xml {

/// Attributes of an element, with what its default class adds. Every reader throws std::invalid_argument that names the
/// file, the element and the value.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::map<std::string, std::string> values, std::string where)
      : values_(std::move(values)), where_(std::move(where)) {}

  bool has(const std::string& name) const { return values_.contains(name); }
  std::string text(const std::string& name, const std::string& fallback = "") const;
  std::string required(const std::string& name) const;
  double number(const std::string& name, double fallback) const;  ///< finite, within limits::kLargest
  int integer(const std::string& name, int fallback) const;
  bool flag(const std::string& name, bool fallback) const;  ///< true or false
  /// The value, which must be one of `words`.
  std::string word(const std::string& name, const std::string& fallback,
                   std::initializer_list<const char*> words) const;
  /// Between `least` and `most` finite or infinite numbers; none if the attribute is absent.
  std::optional<Eigen::VectorXd> numbers(const std::string& name, int least, int most) const;
  /// The same, finite and within ± limits::kLargest.
  std::optional<Eigen::VectorXd> finite(const std::string& name, int least, int most) const;
  Eigen::Vector3d vector3(const std::string& name, const Eigen::Vector3d& fallback) const;  ///< within kFarthest

  /// Writes `other` over these values; of a group of `exclusive` names the other's one replaces all.
  void override_by(const std::map<std::string, std::string>& other, const std::set<std::string>& exclusive);

  const std::string& where() const { return where_; }
  const std::map<std::string, std::string>& values() const { return values_; }
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail(const std::string& name, const std::string& what) const;  ///< quotes the attribute's value

 private:
  std::map<std::string, std::string> values_;
  std::string where_;
};

/// An element, with the file it comes from: an MJCF may be spread over several.
struct Element {
  std::string tag;
  std::map<std::string, std::string> attributes;
  std::vector<Element> children;
  std::string file;
  int line = 0;

  std::string where() const;  ///< `robot.xml: <geom name="foot"> (line 12)`
  Attributes own() const { return {attributes, where()}; }
  std::vector<const Element*> all(const std::string& child_tag) const;
};

/// What the XML files of a model may have together.
io::Allowance allowance(std::size_t max_bytes);

/// Reads a file that the caller named, with elements `include_tag` replaced by the children of another file's root,
/// whose path is relative to the first file's folder and has to be admitted by `rights`. Throws as `io::read_file` and
/// `io::ReadingRights::read` do, and std::invalid_argument for malformed XML.
///
/// The files together have at most `max_bytes` / limits::kXmlShare; limits::kDepth and limits::kIncludes hold.
Element read(const std::string& path, const std::string& include_tag, const io::ReadingRights& rights,
             std::size_t max_bytes);

/// Reads what stands in a file of that name, within the same bounds.
Element parse(const std::string& text, const std::string& name, std::size_t max_bytes);

/// The same as the parser has it, which has a root element. Throws std::invalid_argument, naming file and line.
void parse(const std::string& text, const std::string& name, std::size_t max_bytes, tinyxml2::XMLDocument& document);

/// The beginning of a text, to be quoted.
std::string abridged(const std::string& text);

}  // namespace taut::xml
