// What products by tiles are compared with: sums in the order of amx_gemm.hpp, number by number.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "harness/tiles.hpp"

namespace dl4::kernels::testing {

// Sizes by chance.
struct AnySize {
  std::mt19937 &random;
  int64_t operator()(int64_t first, int64_t last) const {
    return std::uniform_int_distribution<int64_t>(first, last)(random);
  }
};

using Parts = std::array<float, 3>;
inline Parts parts_of(float v) {
  Parts parts;
  for (float &p : parts) {
    uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    p = dl4_test::tiles::of_bfloat16((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000);
    v -= p;
  }
  return parts;
}

// C [m, n] of numbers a(row, k) and b(k, column).
template <class A, class B>
std::vector<float> by_formula(int64_t m, int64_t n, int64_t k, int products, const A &a, const B &b) {
  constexpr std::array<std::pair<size_t, size_t>, 6> order{{{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}}};
  std::vector<Parts> rows, columns;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l) rows.push_back(parts_of(a(i, l)));
  for (int64_t j = 0; j < n; ++j)
    for (int64_t l = 0; l < k; ++l) columns.push_back(parts_of(b(l, j)));
  std::vector<float> c;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const Parts *row = rows.data() + i * k, *column = columns.data() + j * k;
      float sum = 0;
      for (int64_t l = 0; l < k; l += 32)
        for (size_t q = order.size() - static_cast<size_t>(products); q < order.size(); ++q) {
          float halves[2] = {0, 0};
          for (int64_t x = l; x < std::min(l + 32, k); ++x)
            halves[x % 2] += row[x][order[q].first] * column[x][order[q].second];
          sum += halves[0] + halves[1];
        }
      c.push_back(sum);
    }
  return c;
}

inline std::vector<uint32_t> bits_of(const std::vector<float> &v) {
  std::vector<uint32_t> bits(v.size());
  std::memcpy(bits.data(), v.data(), v.size() * sizeof(float));
  return bits;
}

inline double mean_square(const float *c, const std::vector<double> &exact) {
  double sum = 0;
  for (size_t i = 0; i < exact.size(); ++i) sum += (c[i] - exact[i]) * (c[i] - exact[i]);
  return std::sqrt(sum / static_cast<double>(exact.size()));
}

}  // namespace dl4::kernels::testing
