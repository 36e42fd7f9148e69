#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

/// Numbers from the fuzzer's bytes; zeros when there are no more.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  int below(int n) { return byte() % n; }
  /// Any double at all.
  double raw() {
    double x = 0.0;
    unsigned char bits[sizeof x];
    for (unsigned char& bit : bits) bit = byte();
    std::memcpy(&x, bits, sizeof x);
    return x;
  }
  /// In [-1, 1], in steps that hit 0 and ±1.
  double unit() { return (byte() - 127) / 127.0 + (byte() - 127) / 127.0 / 256.0; }
  /// From 10^low to 10^high.
  double decades(double low, double high) { return std::pow(10.0, low + (high - low) * byte() / 255.0); }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

/// What a target says before it ends the process: libFuzzer keeps the input.
[[noreturn]] inline void found(const char* what, double a = 0.0, double b = 0.0) {
  std::fprintf(stderr, "FOUND: %s (%.17g, %.17g)\n", what, a, b);
  std::abort();
}
