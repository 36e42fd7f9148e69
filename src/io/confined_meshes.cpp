#include "confined_meshes.hpp"

#include <coal/mesh_loader/assimp.h>
#include <assimp/IOStream.hpp>
#include <assimp/IOSystem.hpp>
#include <assimp/Importer.hpp>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <exception>
#include <stdexcept>

namespace taut::io {

namespace fs = std::filesystem;

namespace {

// A file in memory, as Assimp reads it.
class Bytes : public Assimp::IOStream {
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}
  std::size_t Read(void* into, std::size_t size, std::size_t count) override {
    const std::size_t items = size == 0 ? 0 : std::min(count, (bytes_.size() - at_) / size);
    std::memcpy(into, bytes_.data() + at_, items * size);
    at_ += items * size;
    return items;
  }
  std::size_t Write(const void*, std::size_t, std::size_t) override { return 0; }
  aiReturn Seek(std::size_t offset, aiOrigin origin) override {
    if (origin == aiOrigin_END && offset > bytes_.size()) return aiReturn_FAILURE;
    const std::size_t wanted = origin == aiOrigin_SET   ? offset
                               : origin == aiOrigin_CUR ? at_ + offset
                                                        : bytes_.size() - offset;
    if (wanted > bytes_.size()) return aiReturn_FAILURE;
    at_ = wanted;
    return aiReturn_SUCCESS;
  }
  std::size_t Tell() const override { return at_; }
  std::size_t FileSize() const override { return bytes_.size(); }
  void Flush() override {}

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

// The only files Assimp sees: the mesh, and of a glTF the buffers with its numbers. Others that a format may name are
// materials, which nobody looks at. Assimp takes a file that cannot be opened for one that may be missing: what was
// refused is kept, to be thrown when it is done.
class Confined : public Assimp::IOSystem {
 public:
  Confined(const ReadingRights& rights, std::string asker, const std::string& mesh, std::exception_ptr& refused)
      : rights_(rights), asker_(std::move(asker)), mesh_(mesh), bytes_(rights.read(mesh, asker_)), refused_(refused) {
    std::string ending = fs::path(mesh).extension().string();
    std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
    has_buffers_ = ending == ".gltf";
  }
  bool Exists(const char* file) const override {
    std::error_code error;
    return file == mesh_ || (has_buffers_ && rights_.admits(file) && fs::is_regular_file(file, error));
  }
  char getOsSeparator() const override { return '/'; }
  Assimp::IOStream* Open(const char* file, const char* mode) override {
    if (!std::strchr(mode, 'r')) return nullptr;
    if (file == mesh_) return new Bytes(bytes_);
    if (!has_buffers_) return nullptr;
    try {
      return new Bytes(rights_.read(file, asker_));
    } catch (const std::exception&) {
      if (!refused_) refused_ = std::current_exception();
      return nullptr;
    }
  }
  void Close(Assimp::IOStream* stream) override { delete stream; }

 private:
  const ReadingRights& rights_;
  std::string asker_, mesh_, bytes_;
  std::exception_ptr& refused_;
  bool has_buffers_ = false;
};

}  // namespace

coal::BVHModelPtr_t ConfinedMeshes::load(const std::string& file, const coal::Vec3s& scale) {
  auto [found, is_new] = read_.try_emplace({file, scale[0], scale[1], scale[2]});
  if (!is_new) return found->second;
  try {
    std::exception_ptr refused;
    coal::internal::Loader assimp;
    assimp.importer->SetIOHandler(new Confined(rights_, asker_, file, refused));  // which deletes it
    try {
      assimp.load(file);
    } catch (const std::exception& error) {
      if (refused) std::rethrow_exception(refused);
      throw std::invalid_argument(asker_ + ": '" + file + "' cannot be read: " + error.what());
    }
    if (refused) std::rethrow_exception(refused);
    auto mesh = std::make_shared<coal::BVHModel<coal::OBBRSS>>();
    coal::internal::meshFromAssimpScene(scale, assimp.scene, mesh);
    found->second = mesh;
  } catch (...) {
    read_.erase(found);
    throw;
  }
  return found->second;
}

}  // namespace taut::io
