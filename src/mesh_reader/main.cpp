// Reads meshes for taut in a process of its own: paths come in line by line, triangles go out. What Assimp may do with
// a broken file (overflow its stack, allocate without end, never return) ends this process and no other.

#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <array>
#include <assimp/Importer.hpp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

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

std::string read(const std::string& path, Made& made) {
  Assimp::Importer importer;
  importer.SetPropertyInteger(AI_CONFIG_PP_RVC_FLAGS, aiComponent_TANGENTS_AND_BITANGENTS | aiComponent_COLORS |
                                                          aiComponent_BONEWEIGHTS | aiComponent_ANIMATIONS |
                                                          aiComponent_LIGHTS | aiComponent_CAMERAS |
                                                          aiComponent_TEXTURES | aiComponent_TEXCOORDS |
                                                          aiComponent_MATERIALS | aiComponent_NORMALS);
  importer.SetPropertyInteger(AI_CONFIG_PP_SBP_REMOVE, aiPrimitiveType_LINE | aiPrimitiveType_POINT);
  const aiScene* scene =
      importer.ReadFile(path, aiProcess_SortByPType | aiProcess_Triangulate | aiProcess_RemoveComponent |
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
  limit(RLIMIT_AS, rlim_t{3} << 30);
  limit(RLIMIT_CPU, 300);
  limit(RLIMIT_CORE, 0);
  for (std::string path; std::getline(std::cin, path);) {
    Made made;
    std::string message;
    try {
      message = read(path, made);
    } catch (const std::exception& error) {
      message = error.what();
    }
    if (!message.empty()) made = {};
    const std::array<std::uint64_t, 3> head{made.vertices.size(), made.faces.size(), message.size()};
    std::fwrite(head.data(), sizeof head, 1, stdout);
    std::fwrite(made.vertices.data(), sizeof made.vertices[0], made.vertices.size(), stdout);
    std::fwrite(made.faces.data(), sizeof made.faces[0], made.faces.size(), stdout);
    std::fwrite(message.data(), 1, message.size(), stdout);
    std::fflush(stdout);
  }
  // No tidying up: what a broken file left of the heap may not stand it.
  std::fflush(stdout);
  std::_Exit(0);
}
