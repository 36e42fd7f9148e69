#include "file_content.hpp"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "taut/io/errors.hpp"

namespace taut::io {

void Allowance::take(const std::string& path, std::size_t bytes) {
  if (bytes > left_) {
    throw std::invalid_argument(path + ": the file has " + std::to_string(bytes) + " bytes; " + what_ +
                                " of a model may have " + std::to_string(most_) +
                                " together (max_bytes of load raises that)");
  }
  left_ -= bytes;
}

std::string Allowance::read(const std::string& path) {
  // Asked before it is opened: opening a pipe waits for its writer.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw FileNotFound(path);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) throw std::invalid_argument(path + ": cannot be opened");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw std::invalid_argument(path + ": " + error.message());
  take(path, size);
  std::string content(size, '\0');
  content.resize(std::fread(content.data(), 1, size, file.get()));  // it may have shrunk meanwhile
  return content;
}

}  // namespace taut::io
