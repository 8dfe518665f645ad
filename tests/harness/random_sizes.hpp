// Random sizes of sites for kernels, for tests and benchmarks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

namespace dl4_test {

class RandomSizes {
 public:
  explicit RandomSizes(uint32_t seed) : bits(seed) {}
  int64_t in(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(bits() % static_cast<uint64_t>(most - least + 1));
  }
  bool one_of(int64_t n) { return in(1, n) == 1; }
  // Small ones as often as large ones.
  int64_t log(int64_t least, int64_t most) {
    std::uniform_real_distribution<double> d(std::log(static_cast<double>(least)),
                                             std::log(static_cast<double>(most) + 0.99));
    return std::clamp(static_cast<int64_t>(std::exp(d(bits))), least, most);
  }

  std::mt19937 bits;
};

}  // namespace dl4_test
