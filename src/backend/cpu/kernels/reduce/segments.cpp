// Segment sums, maxima, softmax and gather.
#include "backend/cpu/kernels/reduce/segments.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backend/cpu/kernels/elementwise/elementwise.hpp"

namespace dl4::kernels {
namespace {

// Fills y with `start`, then calls f(row of x, row of y) for the rows of segments [first, last).
template <class F>
void fold(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t first, int64_t last, float start,
          F f) {
  std::fill_n(y + first * s.width, (last - first) * s.width, start);
  for (int64_t i = 0; i < s.rows; ++i)
    if (ids[i] >= first && ids[i] < last) f(x + i * s.width, y + ids[i] * s.width);
}

}  // namespace

void check_segments(const Segments &s, const int64_t *ids, Report *report) noexcept {
  for (int64_t i = 0; i < s.rows; ++i)
    if (ids[i] >= s.segments) return report->raise(Fault::index_out_of_range, ids[i], s.segments);
}

void segment_gather(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t begin, int64_t end,
                    Report *report) noexcept {
  const size_t bytes = static_cast<size_t>(s.width) * sizeof(float);
  float *to = y + begin * s.width;
  for (int64_t i = begin; i < end; ++i, to += s.width) {
    const int64_t id = ids[i];
    if (id >= s.segments) return report->raise(Fault::index_out_of_range, id, s.segments);
    if (bytes == 0) continue;
    if (id < 0)
      std::memset(to, 0, bytes);
    else
      std::memcpy(to, x + (i / s.rows * s.segments + id) * s.width, bytes);
  }
}

void segment_sum(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t first,
                 int64_t last) noexcept {
  fold(s, x, ids, y, first, last, 0, [n = s.width](const float *from, float *to) { axpy(1, from, to, n); });
}

void segment_max(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t first,
                 int64_t last) noexcept {
  fold(s, x, ids, y, first, last, std::numeric_limits<float>::lowest(), [n = s.width](const float *from, float *to) {
    for (int64_t j = 0; j < n; ++j) to[j] = from[j] > to[j] || from[j] != from[j] ? from[j] : to[j];
  });
}

void segment_softmax(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t first, int64_t last,
                     float *most, float *sum) noexcept {
  std::fill_n(most + first * s.width, (last - first) * s.width, std::numeric_limits<float>::lowest());
  std::fill_n(sum + first * s.width, (last - first) * s.width, 0.0f);
  auto each = [&](auto f) {
    for (int64_t i = 0; i < s.rows; ++i)
      if (ids[i] >= first && ids[i] < last) f(i * s.width, ids[i] * s.width);
  };
  each([&](int64_t row, int64_t at) {
    for (int64_t j = 0; j < s.width; ++j)
      if (x[row + j] > most[at + j]) most[at + j] = x[row + j];  // NaN is ignored here: the sum becomes NaN
  });
  each([&](int64_t row, int64_t at) {
    for (int64_t j = 0; j < s.width; ++j) y[row + j] = x[row + j] - most[at + j];
    unary(Unary::exp, nullptr, y + row, y + row, s.width);
    axpy(1, y + row, sum + at, s.width);
  });
  each([&](int64_t row, int64_t at) {
    for (int64_t j = 0; j < s.width; ++j) y[row + j] /= sum[at + j];
  });
  for (int64_t i = 0; first == 0 && i < s.rows; ++i)
    if (ids[i] < 0) std::fill_n(y + i * s.width, s.width, 0.0f);
}

}  // namespace dl4::kernels
