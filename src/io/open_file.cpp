#include "open_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "taut/io/errors.hpp"

namespace taut::io {

namespace fs = std::filesystem;

OpenFile::OpenFile(const fs::path& path, const std::string& asker) : path_(path), asker_(asker) {
  // Without O_NONBLOCK a pipe that nobody writes to would be waited for.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) throw FileNotFound(path.string(), asker);
    if (error == EACCES || error == EPERM) throw PermissionDenied(path.string(), asker);
    fail(std::strerror(error));
  }
  struct stat status{};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (known && S_ISREG(status.st_mode)) return;
  ::close(descriptor_);
  descriptor_ = -1;
  fail(known && S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is not a regular file");
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string OpenFile::name() const { return (asker_.empty() ? "" : asker_ + ": ") + "'" + path_.string() + "'"; }

void OpenFile::fail(const std::string& what) const { throw std::invalid_argument(name() + " " + what); }

fs::path OpenFile::real_path() const {
  std::error_code error;
  const fs::path real = fs::canonical(path_, error);
  struct stat opened{}, there{};
  if (error || ::fstat(descriptor_, &opened) != 0 || ::stat(real.c_str(), &there) != 0) return {};
  return opened.st_dev == there.st_dev && opened.st_ino == there.st_ino ? real : fs::path();
}

std::string OpenFile::read(Allowance& allowance) const {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0) fail(std::strerror(errno));
  const auto size = static_cast<std::size_t>(status.st_size);
  allowance.take(name(), size);
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(descriptor_, bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::strerror(errno));
    if (got == 0) break;  // it was cut short meanwhile
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace taut::io
