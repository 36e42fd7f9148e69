#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace taut::io {

/// How much may still be read of a group of files.
class Allowance {
 public:
  /// `what` the files are called in errors.
  Allowance(std::size_t bytes, std::string what) : most_(bytes), left_(bytes), what_(std::move(what)) {}

  /// Takes it off, before it is read. Throws std::invalid_argument that begins with `file` if it is more than is left.
  void take(const std::string& file, std::size_t bytes) {
    if (bytes > left_) {
      throw std::invalid_argument(file + " has " + std::to_string(bytes) + " bytes; " + what_ +
                                  " of a model may have " + std::to_string(most_) +
                                  " together (max_bytes of load raises that)");
    }
    left_ -= bytes;
  }

 private:
  std::size_t most_, left_;
  std::string what_;
};

}  // namespace taut::io
