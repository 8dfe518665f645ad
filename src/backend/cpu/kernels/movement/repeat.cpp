// Repeats or reverses positions of an axis.
#include "backend/cpu/kernels/movement/repeat.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "backend/cpu/kernels/elementwise/elementwise.hpp"

namespace dl4::kernels {
namespace {

// Offset of copy j from its source position's centre, in positions; negative towards the one before.
float beside(int64_t j, int64_t times) {
  return static_cast<float>((static_cast<double>(j) + 0.5) / static_cast<double>(times) - 0.5);
}
int64_t neighbour(int64_t i, float beside, int64_t n) {
  return beside < 0 ? std::max<int64_t>(i - 1, 0) : std::min(i + 1, n - 1);
}

}  // namespace

void repeat(int64_t size, int64_t bytes, int64_t times, const void *x, void *y, int64_t begin, int64_t end) noexcept {
  constexpr int64_t in_cache = 4096;
  const auto *from = static_cast<const std::byte *>(x) + begin * bytes;
  auto *to = static_cast<std::byte *>(y) + begin * times * bytes;
  if (times == 0 || bytes == 0) return;
  for (int64_t row = begin; row < end; ++row, from += bytes) {
    if (bytes == size) {
      fill(size, from, to, times);
      to += times * bytes;
      continue;
    }
    // After the first copies by runs of them, each twice as long as the one before.
    const int64_t all = times * bytes, singly = std::min<int64_t>(times, 4) * bytes;
    const int64_t most = std::max<int64_t>(1, in_cache / bytes) * bytes;
    int64_t done = 0;
    for (; done < singly; done += bytes) std::memcpy(to + done, from, static_cast<size_t>(bytes));
    for (int64_t n; done < all; done += n) {
      n = std::min({done, all - done, most});
      std::memcpy(to + done, to, static_cast<size_t>(n));
    }
    to += all;
  }
}

void repeat_linear(const Blend &b, const float *all, float *out, int64_t begin, int64_t end) noexcept {
  for (int64_t row = begin; row < end; ++row) {
    const float *x = all + row * b.inner, *image = x - row % b.n * b.inner;
    float *y = out + row * b.times * b.inner;
    for (int64_t j = 0; j < b.times; ++j, y += b.inner) {
      const float at = beside(j, b.times), w = std::abs(at);
      const float *other = image + neighbour(row % b.n, at, b.n) * b.inner;
      for (int64_t i = 0; i < b.inner; ++i) y[i] = (1 - w) * x[i] + w * other[i];
    }
  }
}

void repeat_linear_grad(const Blend &b, const float *dy, float *all, int64_t begin, int64_t end) noexcept {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row % b.n;
    const float *image = dy + (row - at) * b.times * b.inner;
    float *dx = all + row * b.inner;
    std::fill_n(dx, b.inner, 0.0f);
    for (int64_t from = std::max<int64_t>(at - 1, 0); from <= std::min(at + 1, b.n - 1); ++from)
      for (int64_t j = 0; j < b.times; ++j) {
        const float place = beside(j, b.times), w = std::abs(place);
        const float share = (from == at ? 1 - w : 0) + (neighbour(from, place, b.n) == at ? w : 0);
        if (share != 0) axpy(share, image + (from * b.times + j) * b.inner, dx, b.inner);
      }
  }
}

void flip(int64_t bytes, int64_t n, const void *x, void *y, int64_t begin, int64_t end) noexcept {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t from = row - row % n + n - 1 - row % n;
    std::memcpy(static_cast<std::byte *>(y) + row * bytes, static_cast<const std::byte *>(x) + from * bytes,
                static_cast<size_t>(bytes));
  }
}

}  // namespace dl4::kernels
