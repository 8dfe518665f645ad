// dl4_roofline: what one core does at most, as JSON: Gflop/s of fused multiply-adds in registers, and GB/s of reads of
// arrays as large as half of each cache, and of memory.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "base/machine.hpp"

namespace {

#ifdef __AVX512F__
constexpr int bytes = 64;
#elif defined(__AVX__)
constexpr int bytes = 32;
#else
constexpr int bytes = 16;
#endif
typedef float Vector __attribute__((vector_size(bytes)));
constexpr int lanes = bytes / 4, sums = 12;

using Clock = std::chrono::steady_clock;

// Nanoseconds, the least of many.
template <class F>
double least(const F &f) {
  double ns = 1e18;
  for (const auto end = Clock::now() + std::chrono::milliseconds(200); Clock::now() < end;) {
    const auto begin = Clock::now();
    f();
    ns = std::min(ns, std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  }
  return ns;
}

float keep(const Vector (&s)[sums]) {
  float all = 0;
  for (const Vector &v : s)
    for (int i = 0; i < lanes; ++i) all += v[i];
  return all;
}

}  // namespace

int main() {
  volatile float out = 0;
  Vector a = {}, b = {};
  for (int i = 0; i < lanes; ++i) a[i] = 0.5f, b[i] = 0.25f;
  constexpr int times = 20000;
  const double fma = least([&] {
    Vector s[sums];
    for (int i = 0; i < sums; ++i) s[i] = a + static_cast<float>(i);  // else all would be one
    const Vector x = a, y = b;
    for (int n = 0; n < times; ++n) {
#pragma GCC unroll 12
      for (Vector &v : s) v = v * x + y;
    }
    out = keep(s);
  });
  std::printf("{\"gflops\": %.4g, \"gigabytes\": [", 2.0 * times * sums * lanes / fma);
  const auto &cache = dl4::this_machine().cache;
  for (size_t level = 0; level < 4; ++level) {
    const double size = level < cache.size() ? cache[level] / 2 : 256e6;
    const auto count = static_cast<size_t>(size) / sizeof(Vector) / sums * sums;
    const int again = static_cast<int>(std::max(1.0, 4e6 / size));
    std::vector<float> numbers((count + 1) * lanes, 1.0f);
    const auto at = (reinterpret_cast<uintptr_t>(numbers.data()) + bytes - 1) / bytes * bytes;
    const auto *all = reinterpret_cast<const Vector *>(at);
    const double ns = least([&] {
      Vector s[sums] = {};
      for (int n = 0; n < again; ++n)
        for (size_t i = 0; i < count; i += sums) {
#pragma GCC unroll 12
          for (int j = 0; j < sums; ++j) s[j] += all[i + static_cast<size_t>(j)];
        }
      out = keep(s);
    });
    std::printf("%s%.4g", level ? ", " : "", static_cast<double>(count * sizeof(Vector)) * again / ns);
  }
  std::printf("]}\n");
}
