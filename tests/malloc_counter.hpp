#pragma once

// Counts every heap allocation of the program: malloc itself is replaced, so shared libraries are seen too. Include it
// in one file of a test program. Where malloc cannot be replaced `TAUT_COUNTS_MALLOC` is not defined.

#include <cstdlib>  // says whether this is glibc

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TAUT_COUNTS_MALLOC 1

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace taut::testing {
inline std::atomic<long> g_allocations{0};
}  // namespace taut::testing

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  ++taut::testing::g_allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++taut::testing::g_allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) {
  ++taut::testing::g_allocations;
  return __libc_realloc(block, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++taut::testing::g_allocations;
  return __libc_memalign(alignment, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  ++taut::testing::g_allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  ++taut::testing::g_allocations;
  *block = __libc_memalign(alignment, size);
  return *block != nullptr ? 0 : ENOMEM;
}
}

#endif
