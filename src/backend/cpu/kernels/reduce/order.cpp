#include "backend/cpu/kernels/reduce/order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dl4::kernels {

void sort_rows(const float *x, float *y, int32_t *places, int64_t rows, int64_t width, bool descending) noexcept {
  for (int64_t row = 0; row < rows; ++row, x += width) {
    if (!places) {
      std::copy(x, x + width, y);
      std::sort(y, y + width, [descending](float p, float q) {
        if (std::isnan(p) || std::isnan(q)) return !std::isnan(p) && std::isnan(q);
        return descending ? p > q : p < q;
      });
      y += width;
      continue;
    }
    std::iota(places, places + width, 0);
    std::sort(places, places + width, [x, descending](int32_t a, int32_t b) {
      const float p = x[a], q = x[b];
      if (std::isnan(p) || std::isnan(q)) return std::isnan(p) == std::isnan(q) ? a < b : std::isnan(q);
      if (p == q) return a < b;
      return descending ? p > q : p < q;
    });
    for (int64_t i = 0; i < width && y; ++i) y[i] = x[places[i]];
    if (y) y += width;
    places += width;
  }
}

void cumulate(const Cumulate &how, const float *x, float *y, int64_t outer, int64_t axis, int64_t inner) noexcept {
  const float neutral = how.product ? 1.0f : 0.0f;
  for (int64_t o = 0; o < outer; ++o, x += axis * inner, y += axis * inner)
    for (int64_t i = 0; i < axis; ++i) {
      const int64_t at = (how.reverse ? axis - 1 - i : i) * inner, before = how.reverse ? at + inner : at - inner;
      const int64_t from = how.exclusive ? before : at;
      for (int64_t j = 0; j < inner; ++j) {
        const float sum = i == 0 ? neutral : y[before + j];
        const float v = i == 0 && how.exclusive ? neutral : x[from + j];
        y[at + j] = how.product ? sum * v : sum + v;
      }
    }
}

}  // namespace dl4::kernels
