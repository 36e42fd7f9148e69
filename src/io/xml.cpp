#include "xml.hpp"

#include <tinyxml2.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "reading_rights.hpp"
#include "taut/math/interruption.hpp"

namespace taut::xml {

namespace fs = std::filesystem;

namespace {

constexpr const char* kBlank = " \t\r\n";

// A double as MuJoCo's and URDF's files write it: independent of the locale, and with a sign that may be a plus.
std::optional<double> parse_number(std::string_view word) {
  if (!word.empty() && word.front() == '+') word.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || std::isnan(value)) return std::nullopt;
  return value;
}

// Calls `with` for every word.
template <class Call>
void for_each_word(std::string_view text, const Call& with) {
  for (std::size_t begin = text.find_first_not_of(kBlank); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, begin), text.size());
    with(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlank, end);
  }
}

// What Python's strings, and so names and errors, can hold. [RFC 3629]
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const int more = first < 0x80 ? 0 : first < 0xC2 ? -1 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : first < 0xF5 ? 3 : -1;
    if (more < 0 || i + static_cast<std::size_t>(more) >= text.size()) return false;
    for (int k = 1; k <= more; ++k) {
      if ((static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]) & 0xC0) != 0x80) return false;
    }
    const auto second = more > 0 ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
        (first == 0xF4 && second > 0x8F)) {
      return false;  // longer than needed, half of a pair, beyond the last letter
    }
    i += static_cast<std::size_t>(more) + 1;
  }
  return true;
}

// What the parser would take memory for, counted before it does.
void check_size(const std::string& name, const std::string& text, std::size_t max_bytes) {
  std::size_t elements = 0, attributes = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    elements += text[i] == '<' && i + 1 < text.size() && text[i + 1] != '/';
    attributes += text[i] == '=';
  }
  const auto check = [&](const char* what, std::size_t count, std::size_t most) {
    if (count > most) {
      throw std::invalid_argument(name + ": has " + std::to_string(count) + " " + what + ", a model may have " +
                                  std::to_string(most) + " (max_bytes of load raises that)");
    }
  };
  check("elements", elements, limits::elements(max_bytes));
  check("attributes", attributes, limits::attributes(max_bytes));
}

class Reader {
 public:
  explicit Reader(std::size_t max_bytes) : max_bytes_(max_bytes), allowance_(allowance(max_bytes)) {}
  Reader(std::string include_tag, const io::ReadingRights& rights, std::size_t max_bytes)
      : include_tag_(std::move(include_tag)),
        rights_(&rights),
        max_bytes_(max_bytes),
        allowance_(allowance(max_bytes)) {}

  Element read(const std::string& path) {
    folder_ = fs::path(path).parent_path();
    seen_.insert(fs::weakly_canonical(path).string());
    return parse(io::read_file(path, allowance_), path);
  }

  Element parse(const std::string& text, const std::string& name) {
    tinyxml2::XMLDocument document;
    xml::parse(text, name, max_bytes_, document);
    return convert(*document.RootElement(), name);
  }

 private:
  Element convert(const tinyxml2::XMLElement& node, const std::string& file) {
    Element element{.tag = node.Name(), .attributes = {}, .children = {}, .file = file, .line = node.GetLineNum()};
    if (!is_utf8(element.tag)) {
      throw std::invalid_argument(file + ": an element in line " + std::to_string(element.line) + " is not UTF-8");
    }
    const Nesting inside(depth_);
    if (depth_ > limits::kDepth) {
      throw std::invalid_argument(element.where() + ": is nested deeper than " + std::to_string(limits::kDepth) +
                                  " elements");
    }
    if (++elements_ > limits::elements(max_bytes_)) {
      throw std::invalid_argument(element.where() + ": with the files included there are more than " +
                                  std::to_string(limits::elements(max_bytes_)) +
                                  " elements (max_bytes of load raises that)");
    }
    for (const auto* a = node.FirstAttribute(); a; a = a->Next()) {
      if (!is_utf8(a->Name()) || !is_utf8(a->Value())) {  // in comments other encodings do no harm
        throw std::invalid_argument(file + ": an attribute in line " + std::to_string(element.line) + " is not UTF-8");
      }
      element.attributes[a->Name()] = a->Value();
    }
    for (const auto* child = node.FirstChildElement(); child; child = child->NextSiblingElement()) {
      may_interrupt(10);
      Element converted = convert(*child, file);
      if (include_tag_.empty() || converted.tag != include_tag_) {
        element.children.push_back(std::move(converted));
        continue;
      }
      const Nesting within(includes_);
      if (includes_ > limits::kIncludes) {
        converted.own().fail("file", "is included through more than " + std::to_string(limits::kIncludes) + " files");
      }
      Element root = include(converted);
      for (Element& grandchild : root.children) element.children.push_back(std::move(grandchild));
    }
    return element;
  }

  // One level deeper while it lives.
  struct Nesting {
    explicit Nesting(int& level) : level_(level) { ++level_; }
    ~Nesting() { --level_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    int& level_;
  };

  Element include(const Element& element) {
    const fs::path path = folder_ / element.own().required("file");  // an absolute one stands for itself
    const std::string text = rights_->read(path, element.where(), allowance_);
    // As in MuJoCo a file is included once, which also keeps it from including itself.
    if (!seen_.insert(fs::weakly_canonical(path).string()).second) {
      throw std::invalid_argument(path.string() + ": file is included twice");
    }
    return parse(text, path.string());
  }

  std::string include_tag_;
  const io::ReadingRights* rights_ = nullptr;
  std::size_t max_bytes_;
  io::Allowance allowance_;
  int depth_ = 0, includes_ = 0;
  std::size_t elements_ = 0;
  fs::path folder_;  // of the first file
  std::set<std::string> seen_;
};

}  // namespace

std::string abridged(const std::string& text) {
  constexpr std::size_t most = 80;
  if (text.size() <= most) return text;
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not within a letter
  return text.substr(0, end) + "...";
}

void Attributes::fail(const std::string& what) const { throw std::invalid_argument(where_ + ": " + what); }

void Attributes::fail(const std::string& name, const std::string& what) const {
  fail(name + "=\"" + abridged(text(name)) + "\" " + what);
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
  // Counted first: a text of megabytes may be one where three numbers are due.
  const std::string& given = values_.at(name);
  int count = 0;
  for_each_word(given, [&](std::string_view) { ++count; });
  if (count < least || count > most) {
    const std::string wanted =
        least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
    fail(name, "has " + std::to_string(count) + " numbers instead of " + wanted);
  }
  Eigen::VectorXd values(count);
  Eigen::Index i = 0;
  for_each_word(given, [&](std::string_view word) {
    const auto value = parse_number(word);
    if (!value) fail(name, "is not made of numbers: '" + abridged(std::string(word)) + "'");
    values[i++] = *value;
  });
  return values;
}

std::optional<Eigen::VectorXd> Attributes::finite(const std::string& name, int least, int most) const {
  const auto values = numbers(name, least, most);
  if (values && !values->allFinite()) fail(name, "is not finite");
  if (values && values->cwiseAbs().maxCoeff() > limits::kLargest) fail(name, "is out of range: 1e15 is the most");
  return values;
}

double Attributes::number(const std::string& name, double fallback) const {
  const auto values = finite(name, 1, 1);
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
  const auto values = finite(name, 3, 3);
  if (values && values->cwiseAbs().maxCoeff() > limits::kFarthest) fail(name, "is out of range: 1e9 is the most");
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
  const std::string label = name == attributes.end() ? "" : " name=\"" + abridged(name->second) + "\"";
  return file + ": <" + tag + label + "> (line " + std::to_string(line) + ")";
}

std::vector<const Element*> Element::all(const std::string& child_tag) const {
  std::vector<const Element*> found;
  for (const Element& child : children) {
    if (child.tag == child_tag) found.push_back(&child);
  }
  return found;
}

io::Allowance allowance(std::size_t max_bytes) { return {max_bytes / limits::kXmlShare, "the XML files"}; }

Element read(const std::string& path, const std::string& include_tag, const io::ReadingRights& rights,
             std::size_t max_bytes) {
  return Reader(include_tag, rights, max_bytes).read(path);
}

Element parse(const std::string& text, const std::string& name, std::size_t max_bytes) {
  return Reader(max_bytes).parse(text, name);
}

void parse(const std::string& text, const std::string& name, std::size_t max_bytes, tinyxml2::XMLDocument& document) {
  check_size(name, text, max_bytes);
  const tinyxml2::XMLError error = document.Parse(text.data(), text.size());
  if (error != tinyxml2::XML_SUCCESS) {  // the text is not quoted: it may be a file that is nobody's business
    const int line = document.ErrorLineNum();
    throw std::invalid_argument(name + ": malformed XML" + (line > 0 ? " in line " + std::to_string(line) : "") + ": " +
                                document.ErrorName());
  }
  if (!document.RootElement()) throw std::invalid_argument(name + ": malformed XML: no root element");
  for (const auto* node = document.FirstChild(); node; node = node->NextSibling()) {
    // Entities are not expanded by anyone; a file that declares some means something else than what would be read.
    if (node->ToUnknown() && std::string_view(node->Value()).find("ENTITY") != std::string_view::npos) {
      throw std::invalid_argument(name + ": malformed XML: entities (<!ENTITY …>) are not supported");
    }
  }
}

}  // namespace taut::xml
