#include "mesh_process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>

extern char** environ;

namespace taut::io {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Beside the Python module, above a test program of the build, or where `cmake --install` puts it.
std::string program() {
  if (const char* given = std::getenv("TAUT_MESH_READER")) return given;
  Dl_info info{};
  ::dladdr(reinterpret_cast<void*>(&program), &info);
  const fs::path folder = fs::absolute(info.dli_fname ? info.dli_fname : "").parent_path();
  std::error_code ignored;
  for (const fs::path& place : {folder, folder / "..", folder / "../libexec/taut", fs::path(TAUT_LIBEXEC)}) {
    const fs::path file = place / "taut_mesh_reader";
    if (fs::is_regular_file(file, ignored)) return file.lexically_normal().string();
  }
  throw std::invalid_argument("taut_mesh_reader, which reads meshes other than STL and OBJ, is not beside " +
                              folder.string() + "; the variable TAUT_MESH_READER may name it");
}

class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  // False if nothing can be read (POLLIN) or written (POLLOUT) in time.
  bool wait(int file, short what) const {
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
      pollfd asked{.fd = file, .events = what, .revents = 0};
      const int ready = ::poll(&asked, 1, static_cast<int>(std::max<long long>(left, 0)));
      if (ready < 0 && errno == EINTR) continue;
      return ready > 0;
    }
  }

 private:
  Clock::time_point end_;
};

// All of it, or false.
bool receive(int file, void* into, std::size_t size, const Deadline& deadline) {
  auto* at = static_cast<char*>(into);
  while (size > 0) {
    if (!deadline.wait(file, POLLIN)) return false;
    const ssize_t got = ::read(file, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// A pipe whose reader is gone must not end us. A signal of our own sending is taken back for this thread alone.
bool send(int file, std::string_view bytes, const Deadline& deadline) {
  sigset_t pipe, before, pending;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::sigpending(&pending);
  const bool was_pending = ::sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  std::size_t sent = 0;
  int error = 0;
  while (sent < bytes.size() && deadline.wait(file, POLLOUT)) {
    const ssize_t n = ::write(file, bytes.data() + sent, bytes.size() - sent);
    error = n < 0 ? errno : 0;
    if (n < 0 && (error == EINTR || error == EAGAIN)) continue;
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  if (error == EPIPE && !was_pending) {
    const timespec now{0, 0};
    while (::sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return sent == bytes.size();
}

// Two lengths and what they are of: the name of a file and its bytes.
bool send(int file, const std::string& name, const std::string& bytes, const Deadline& deadline) {
  const std::array<std::uint64_t, 2> lengths{name.size(), bytes.size()};
  return send(file, {reinterpret_cast<const char*>(lengths.data()), sizeof lengths}, deadline) &&
         send(file, name, deadline) && send(file, bytes, deadline);
}

}  // namespace

void MeshProcess::begin() {
  const std::string file = program();
  std::array<int, 2> in{}, out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  if (::pipe2(out.data(), O_CLOEXEC) != 0) {
    const int why = errno;
    ::close(in[0]), ::close(in[1]);
    throw std::runtime_error(std::string("pipe: ") + std::strerror(why));
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // Ctrl-C is for us: we end it
  std::string name = file;
  char* arguments[] = {name.data(), nullptr};
  const int failed = ::posix_spawn(&pid_, file.c_str(), &actions, &attributes, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  ::close(in[0]), ::close(out[1]);
  to_ = in[1], from_ = out[0];
  ::fcntl(to_, F_SETFL, O_NONBLOCK);  // it may not read what it is sent
  if (failed != 0) {
    pid_ = 0;
    end();
    throw std::runtime_error(file + ": cannot be started: " + std::strerror(failed));
  }
}

void MeshProcess::end() {
  if (to_ >= 0) ::close(to_);
  if (from_ >= 0) ::close(from_);
  to_ = from_ = -1;
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

Triangles MeshProcess::read(const std::string& name, const std::string& path, const std::string& bytes,
                            const Opener& open) {
  if (pid_ == 0) begin();
  const Deadline deadline(kSeconds);
  struct Head {
    std::uint64_t vertices, faces, message, wants_file;
  } head{};
  Triangles made;
  std::string message;
  constexpr std::uint64_t most = std::uint64_t{1} << 28;
  const auto hear = [&] {
    if (!receive(from_, &head, sizeof head, deadline) || head.vertices >= most || head.faces >= most ||
        head.message >= most) {
      return false;
    }
    message.resize(head.message);
    return receive(from_, message.data(), message.size(), deadline);
  };
  bool whole = send(to_, path, bytes, deadline) && hear();
  while (whole && head.wants_file != 0) {
    try {
      whole = send(to_, message, open(message), deadline) && hear();
    } catch (...) {  // it waits for an answer that does not come
      end();
      throw;
    }
  }
  if (whole) {
    made.vertices.resize(head.vertices);
    made.faces.resize(head.faces);
    whole = receive(from_, made.vertices.data(), head.vertices * sizeof(Eigen::Vector3d), deadline) &&
            receive(from_, made.faces.data(), head.faces * sizeof(Eigen::Vector3i), deadline);
  }
  if (!whole) {
    end();
    throw std::invalid_argument(name + " cannot be read: its parser crashed, ran out of memory or took longer than " +
                                std::to_string(static_cast<int>(kSeconds)) + " s");
  }
  if (!message.empty()) throw std::invalid_argument(name + " cannot be read: " + message);
  const int count = static_cast<int>(made.vertices.size());
  for (const Eigen::Vector3i& face : made.faces) {
    if (face.minCoeff() < 0 || face.maxCoeff() >= count) {
      throw std::invalid_argument(name + " cannot be read: a face has a vertex that does not exist");
    }
  }
  return made;
}

}  // namespace taut::io
