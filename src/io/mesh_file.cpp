#include "mesh_file.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "mesh_process.hpp"

namespace taut::io {

namespace {

using Eigen::Vector3d;
using Eigen::Vector3i;

// Equal by value: a zero's sign does not count, and what is no number equals nothing.
struct PlaceHash {
  std::size_t operator()(const Vector3d& p) const {
    std::uint64_t hash = 1469598103934665603u;
    for (const double x : p) {
      std::uint64_t bits;
      const double plain = x == 0.0 ? 0.0 : x;
      std::memcpy(&bits, &plain, sizeof bits);
      hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

// Puts vertices of the same place together and leaves out triangles that have one twice.
class Builder {
 public:
  explicit Builder(std::size_t triangles) {
    made_.faces.reserve(triangles);
    places_.reserve(triangles / 2 + 3);
  }

  void add(const Vector3d& a, const Vector3d& b, const Vector3d& c) {
    if (a == b || b == c || c == a) return;
    made_.faces.emplace_back(vertex(a), vertex(b), vertex(c));
  }

  Triangles take() {
    if (made_.faces.empty()) throw std::invalid_argument("has no triangles");
    return std::move(made_);
  }

 private:
  int vertex(const Vector3d& p) {
    const auto [found, is_new] = places_.try_emplace(p, static_cast<int>(made_.vertices.size()));
    if (is_new) made_.vertices.push_back(p);
    return found->second;
  }

  Triangles made_;
  std::unordered_map<Vector3d, int, PlaceHash> places_;
};

class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  bool next() {
    if (text_.empty()) return false;
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    line_ = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++number_;
    return true;
  }

  /// The next word of the line, empty at its end.
  std::string_view word() {
    const std::size_t begin = std::min(line_.find_first_not_of(" \t\r"), line_.size());
    line_.remove_prefix(begin);
    const std::size_t end = std::min(line_.find_first_of(" \t\r"), line_.size());
    const std::string_view found = line_.substr(0, end);
    line_.remove_prefix(end);
    return found;
  }

  Vector3d point() {
    Vector3d p;
    for (double& x : p) {
      std::string_view given = word();
      if (given.starts_with('+')) given.remove_prefix(1);
      const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), x);
      if (error != std::errc() || end != given.data() + given.size()) fail("is not a point");
    }
    return p;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("line " + std::to_string(number_) + " " + what);
  }

 private:
  std::string_view text_, line_;
  std::size_t number_ = 0;
};

Triangles read_text_stl(const std::string& content) {
  Builder builder(0);
  Lines lines(content);
  std::vector<Vector3d> corners;
  while (lines.next()) {
    const std::string_view key = lines.word();
    if (key == "vertex") corners.push_back(lines.point());
    if (key == "facet") corners.clear();
    if (key != "endfacet") continue;
    if (corners.size() != 3) lines.fail("ends a facet of " + std::to_string(corners.size()) + " vertices");
    builder.add(corners[0], corners[1], corners[2]);
    corners.clear();
  }
  return builder.take();
}

// The index that stands before the first slash of `3/1/2`: from one, or negative from the end.
int index_of(std::string_view corner, std::size_t vertices, const Lines& lines) {
  long long index = 0;
  corner = corner.substr(0, corner.find('/'));
  const auto [end, error] = std::from_chars(corner.data(), corner.data() + corner.size(), index);
  if (error != std::errc() || end != corner.data() + corner.size()) lines.fail("has a face of no numbers");
  const auto count = static_cast<long long>(vertices);
  if (index < 0) index += count + 1;
  if (index < 1 || index > count) lines.fail("has a face with a vertex that does not exist");
  return static_cast<int>(index - 1);
}

std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

}  // namespace

Triangles read_stl(const std::string& content) {
  constexpr std::size_t head = 80, each = 50;
  std::uint32_t count = 0;
  const bool has_count = content.size() >= head + 4;
  if (has_count) std::memcpy(&count, content.data() + head, sizeof count);  // little endian, as all we build for
  // Some binary files begin with "solid", too: the size decides.
  const bool fits = has_count && (content.size() - head - 4) / each >= count;
  if (content.starts_with("solid") && !(fits && count > 0 && content.size() == head + 4 + each * count)) {
    return read_text_stl(content);
  }
  if (!fits) {
    throw std::invalid_argument("is no STL file: " +
                                (has_count ? "it names " + std::to_string(count) + " triangles and has " +
                                                 std::to_string(content.size()) + " bytes"
                                           : "it ends within its head"));
  }
  Builder builder(count);
  for (std::size_t i = 0; i < count; ++i) {
    float numbers[12];  // a normal, which the corners know better, and the corners
    std::memcpy(numbers, content.data() + head + 4 + each * i, sizeof numbers);
    const auto corner = [&](int k) { return Vector3d(numbers[3 * k], numbers[3 * k + 1], numbers[3 * k + 2]); };
    builder.add(corner(1), corner(2), corner(3));
  }
  return builder.take();
}

Triangles read_obj(const std::string& content) {
  std::vector<Vector3d> vertices;
  Builder builder(0);
  Lines lines(content);
  std::vector<int> polygon;
  while (lines.next()) {
    const std::string_view key = lines.word();
    if (key == "v") vertices.push_back(lines.point());
    if (key != "f") continue;
    polygon.clear();
    for (std::string_view corner = lines.word(); !corner.empty(); corner = lines.word()) {
      polygon.push_back(index_of(corner, vertices.size(), lines));
    }
    const auto at = [&](std::size_t k) -> const Vector3d& { return vertices[static_cast<std::size_t>(polygon[k])]; };
    for (std::size_t k = 2; k < polygon.size(); ++k) builder.add(at(0), at(k - 1), at(k));
  }
  return builder.take();
}

MeshReader::MeshReader(const ReadingRights& rights, std::size_t max_bytes)
    : rights_(rights), allowance_(max_bytes, "the meshes") {}
MeshReader::~MeshReader() = default;

Triangles MeshReader::read(const std::string& path, const std::string& asker) {
  const std::string bytes = rights_.read(path, asker, allowance_), extension = extension_of(path);
  const std::string name = asker + ": '" + path + "'";
  try {
    if (extension == ".stl") return read_stl(bytes);
    if (extension == ".obj") return read_obj(bytes);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(name + " cannot be read: " + error.what());
  }
  if (!process_) process_ = std::make_unique<MeshProcess>();
  return process_->read(name, path, bytes,
                        [&](const std::string& other) { return rights_.read(other, name, allowance_); });
}

}  // namespace taut::io
