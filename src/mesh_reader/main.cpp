// Reads meshes for taut in a process of its own: the bytes of files come in, triangles go out. What Assimp may do with
// a broken file (overflow its stack, allocate without end, never return) ends this process and no other. It can open no
// file: what a mesh refers to is asked for, and who asked for the mesh decides.

#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <assimp/IOStream.hpp>
#include <assimp/IOSystem.hpp>
#include <assimp/Importer.hpp>
#include <cctype>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
    const std::size_t from = origin == aiOrigin_SET ? 0 : origin == aiOrigin_CUR ? at_ : bytes_.size();
    // The distance backwards, as Assimp's own stream of memory has it.
    const std::size_t wanted = origin == aiOrigin_END ? from - offset : from + offset;
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

struct File {
  std::string name, bytes;
};

// A name and its bytes, as `MeshProcess` sends them.
std::optional<File> receive() {
  std::array<std::uint64_t, 2> lengths{};
  if (std::fread(lengths.data(), sizeof lengths, 1, stdin) != 1) return std::nullopt;
  File file{std::string(lengths[0], '\0'), std::string(lengths[1], '\0')};
  const bool whole = std::fread(file.name.data(), 1, lengths[0], stdin) == lengths[0] &&
                     std::fread(file.bytes.data(), 1, lengths[1], stdin) == lengths[1];
  return whole ? std::optional(std::move(file)) : std::nullopt;
}

void send(std::uint64_t vertices, std::uint64_t faces, const std::string& message, bool wants_file) {
  const std::array<std::uint64_t, 4> head{vertices, faces, message.size(), wants_file};
  std::fwrite(head.data(), sizeof head, 1, stdout);
  std::fwrite(message.data(), 1, message.size(), stdout);
}

// The only files there are: the mesh, and of a glTF the buffers with its numbers. Others that a format may name are
// materials, which nobody looks at. Of what is refused there is no answer, but an end.
class Given : public Assimp::IOSystem {
 public:
  explicit Given(File mesh) : mesh_(std::move(mesh)) {
    std::string ending = mesh_.name.substr(std::min(mesh_.name.rfind('.'), mesh_.name.size()));
    std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
    has_buffers_ = ending == ".gltf";
  }
  bool Exists(const char* file) const override { return file == mesh_.name || has_buffers_; }
  char getOsSeparator() const override { return '/'; }
  Assimp::IOStream* Open(const char* file, const char* mode) override {
    if (!std::strchr(mode, 'r')) return nullptr;
    if (file == mesh_.name) return new Bytes(mesh_.bytes);
    if (!has_buffers_) return nullptr;
    send(0, 0, file, true);
    std::fflush(stdout);
    std::optional<File> other = receive();
    if (!other) std::_Exit(1);
    return new Bytes(std::move(other->bytes));
  }
  void Close(Assimp::IOStream* stream) override { delete stream; }

 private:
  File mesh_;
  bool has_buffers_ = false;
};

struct Made {
  std::vector<std::array<double, 3>> vertices;
  std::vector<std::array<std::int32_t, 3>> faces;
};

void collect(const aiScene& scene, Made& made) {
  if (!scene.mRootNode) return;
  // A list instead of recursion. As in Coal's loader the root's transformation is for its own meshes only: elsewhere it
  // would turn y up.
  std::vector<std::pair<const aiNode*, aiMatrix4x4>> nodes{{scene.mRootNode, scene.mRootNode->mTransformation}};
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const auto [node, place] = nodes[at];
    for (unsigned i = 0; i < node->mNumMeshes; ++i) {
      const aiMesh& mesh = *scene.mMeshes[node->mMeshes[i]];
      const auto first = static_cast<std::int32_t>(made.vertices.size());
      for (unsigned k = 0; k < mesh.mNumVertices; ++k) {
        const aiVector3D p = place * mesh.mVertices[k];
        made.vertices.push_back({p.x, p.y, p.z});
      }
      for (unsigned k = 0; k < mesh.mNumFaces; ++k) {
        const aiFace& face = mesh.mFaces[k];
        if (face.mNumIndices != 3) continue;
        made.faces.push_back({first + static_cast<std::int32_t>(face.mIndices[0]),
                              first + static_cast<std::int32_t>(face.mIndices[1]),
                              first + static_cast<std::int32_t>(face.mIndices[2])});
      }
    }
    for (unsigned i = 0; i < node->mNumChildren; ++i) {
      const aiMatrix4x4 here = node == scene.mRootNode ? aiMatrix4x4() : place;
      nodes.emplace_back(node->mChildren[i], here * node->mChildren[i]->mTransformation);
    }
  }
}

std::string read(File mesh, Made& made) {
  const std::string name = mesh.name;
  Assimp::Importer importer;
  importer.SetIOHandler(new Given(std::move(mesh)));  // which deletes it
  importer.SetPropertyInteger(AI_CONFIG_PP_RVC_FLAGS, aiComponent_TANGENTS_AND_BITANGENTS | aiComponent_COLORS |
                                                          aiComponent_BONEWEIGHTS | aiComponent_ANIMATIONS |
                                                          aiComponent_LIGHTS | aiComponent_CAMERAS |
                                                          aiComponent_TEXTURES | aiComponent_TEXCOORDS |
                                                          aiComponent_MATERIALS | aiComponent_NORMALS);
  importer.SetPropertyInteger(AI_CONFIG_PP_SBP_REMOVE, aiPrimitiveType_LINE | aiPrimitiveType_POINT);
  const aiScene* scene =
      importer.ReadFile(name, aiProcess_SortByPType | aiProcess_Triangulate | aiProcess_RemoveComponent |
                                  aiProcess_FindDegenerates | aiProcess_JoinIdenticalVertices);
  if (!scene) return std::string(importer.GetErrorString()) + " ";
  collect(*scene, made);
  return made.faces.empty() ? "it has no triangles" : "";
}

void limit(__rlimit_resource_t what, rlim_t most) {
  const rlimit value{most, most};
  ::setrlimit(what, &value);
}

}  // namespace

int main() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::syscall(SYS_close_range, 3u, ~0u, 0u);  // what who started us had open is not for a parser
  limit(RLIMIT_AS, rlim_t{3} << 30);
  limit(RLIMIT_CPU, 300);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE,
        3);  // what is open stays open, and nothing else can be: not even by a parser that was taken over
  while (std::optional<File> mesh = receive()) {
    Made made;
    std::string message;
    try {
      message = read(std::move(*mesh), made);
    } catch (const std::exception& error) {
      message = error.what();
    }
    if (!message.empty()) made = {};
    send(made.vertices.size(), made.faces.size(), message, false);
    std::fwrite(made.vertices.data(), sizeof made.vertices[0], made.vertices.size(), stdout);
    std::fwrite(made.faces.data(), sizeof made.faces[0], made.faces.size(), stdout);
    std::fflush(stdout);
  }
  // No tidying up: what a broken file left of the heap may not stand it.
  std::fflush(stdout);
  std::_Exit(0);
}
