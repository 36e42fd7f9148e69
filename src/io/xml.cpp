#include "xml.hpp"

#include <tinyxml2.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "reading_rights.hpp"

namespace taut::xml {

namespace fs = std::filesystem;

namespace {

constexpr const char* kBlank = " \t\r\n";

// A double as MuJoCo's and URDF's files write it: independent of the locale, and with a sign that may be a plus.
std::optional<double> parse_number(std::string word) {
  if (!word.empty() && word.front() == '+') word.erase(0, 1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || std::isnan(value)) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = text.find_first_not_of(kBlank); begin != std::string::npos;) {
    const std::size_t end = text.find_first_of(kBlank, begin);
    words.push_back(text.substr(begin, end - begin));
    begin = end == std::string::npos ? end : text.find_first_not_of(kBlank, end);
  }
  return words;
}

class Reader {
 public:
  Reader() = default;
  Reader(std::string include_tag, const io::ReadingRights& rights)
      : include_tag_(std::move(include_tag)), rights_(&rights) {}

  Element read(const std::string& path) {
    folder_ = fs::path(path).parent_path();
    seen_.insert(fs::weakly_canonical(path).string());
    return parse(io::read_file(path), path);
  }

  Element parse(const std::string& text, const std::string& name) {
    tinyxml2::XMLDocument document;
    xml::parse(text, name, document);
    return convert(*document.RootElement(), name);
  }

 private:
  Element convert(const tinyxml2::XMLElement& node, const std::string& file) {
    Element element{.tag = node.Name(), .attributes = {}, .children = {}, .file = file, .line = node.GetLineNum()};
    for (const auto* a = node.FirstAttribute(); a; a = a->Next()) element.attributes[a->Name()] = a->Value();
    for (const auto* child = node.FirstChildElement(); child; child = child->NextSiblingElement()) {
      Element converted = convert(*child, file);
      if (include_tag_.empty() || converted.tag != include_tag_) {
        element.children.push_back(std::move(converted));
        continue;
      }
      Element root = include(converted);
      for (Element& grandchild : root.children) element.children.push_back(std::move(grandchild));
    }
    return element;
  }

  Element include(const Element& element) {
    const fs::path path = folder_ / element.own().required("file");  // an absolute one stands for itself
    const std::string text = rights_->read(path, element.where());
    // As in MuJoCo a file is included once, which also keeps it from including itself.
    if (!seen_.insert(fs::weakly_canonical(path).string()).second) {
      throw std::invalid_argument(path.string() + ": file is included twice");
    }
    return parse(text, path.string());
  }

  std::string include_tag_;
  const io::ReadingRights* rights_ = nullptr;
  fs::path folder_;  // of the first file
  std::set<std::string> seen_;
};

}  // namespace

void Attributes::fail(const std::string& what) const { throw std::invalid_argument(where_ + ": " + what); }

void Attributes::fail(const std::string& name, const std::string& what) const {
  std::string value = text(name);
  if (value.size() > 80) value = value.substr(0, 77) + "...";
  fail(name + "=\"" + value + "\" " + what);
}

std::string Attributes::text(const std::string& name, const std::string& fallback) const {
  const auto found = values_.find(name);
  return found == values_.end() ? fallback : found->second;
}

std::string Attributes::required(const std::string& name) const {
  if (!has(name)) fail("attribute '" + name + "' is missing");
  return text(name);
}

std::optional<Eigen::VectorXd> Attributes::numbers(const std::string& name, int least, int most) const {
  if (!has(name)) return std::nullopt;
  const std::vector<std::string> words = split(text(name));
  if (static_cast<int>(words.size()) < least || static_cast<int>(words.size()) > most) {
    const std::string wanted =
        least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
    fail(name, "has " + std::to_string(words.size()) + " numbers instead of " + wanted);
  }
  Eigen::VectorXd values(static_cast<Eigen::Index>(words.size()));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = parse_number(words[i]);
    if (!value) fail(name, "is not made of numbers: '" + words[i] + "'");
    values[static_cast<Eigen::Index>(i)] = *value;
  }
  return values;
}

double Attributes::number(const std::string& name, double fallback) const {
  const auto values = numbers(name, 1, 1);
  return values ? (*values)[0] : fallback;
}

int Attributes::integer(const std::string& name, int fallback) const {
  const double value = number(name, fallback);
  if (value != std::floor(value) || std::abs(value) > 2147483647.0) fail(name, "is not an integer");
  return static_cast<int>(value);
}

std::string Attributes::word(const std::string& name, const std::string& fallback,
                             std::initializer_list<const char*> words) const {
  const std::string value = text(name, fallback);
  std::string wanted;
  for (const char* candidate : words) {
    if (value == candidate) return value;
    wanted += (wanted.empty() ? "" : ", ") + std::string(candidate);
  }
  fail(name, "is not one of: " + wanted);
}

bool Attributes::flag(const std::string& name, bool fallback) const {
  return word(name, fallback ? "true" : "false", {"true", "false"}) == "true";
}

Eigen::Vector3d Attributes::vector3(const std::string& name, const Eigen::Vector3d& fallback) const {
  const auto values = numbers(name, 3, 3);
  if (values && !values->allFinite()) fail(name, "is not finite");
  return values ? Eigen::Vector3d(*values) : fallback;
}

void Attributes::override_by(const std::map<std::string, std::string>& other, const std::set<std::string>& exclusive) {
  for (const auto& [name, _] : other) {
    if (exclusive.contains(name)) {
      for (const auto& rival : exclusive) values_.erase(rival);
      break;
    }
  }
  for (const auto& [name, value] : other) values_[name] = value;
}

std::string Element::where() const {
  const auto name = attributes.find("name");
  const std::string label = name == attributes.end() ? "" : " name=\"" + name->second + "\"";
  return file + ": <" + tag + label + "> (line " + std::to_string(line) + ")";
}

std::vector<const Element*> Element::all(const std::string& child_tag) const {
  std::vector<const Element*> found;
  for (const Element& child : children) {
    if (child.tag == child_tag) found.push_back(&child);
  }
  return found;
}

Element read(const std::string& path) { return Reader().read(path); }

Element read(const std::string& path, const std::string& include_tag, const io::ReadingRights& rights) {
  return Reader(include_tag, rights).read(path);
}

Element parse(const std::string& text, const std::string& name) { return Reader().parse(text, name); }

void parse(const std::string& text, const std::string& name, tinyxml2::XMLDocument& document) {
  const tinyxml2::XMLError error = document.Parse(text.data(), text.size());
  if (error != tinyxml2::XML_SUCCESS) {
    const int line = document.ErrorLineNum();
    throw std::invalid_argument(name + ": malformed XML" + (line > 0 ? " in line " + std::to_string(line) : "") + ": " +
                                document.ErrorName());
  }
  if (!document.RootElement()) throw std::invalid_argument(name + ": malformed XML: no root element");
}

}  // namespace taut::xml
