// Patches (im2col): windows of a convolution as rows of numbers, zeros outside the image.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "base/checked.hpp"

namespace dl4::kernels {

// Numbers in a window of one group.
inline int64_t window_floats(const Conv &c) { return checked_mul(c.kd, c.kh, c.kw, c.c / c.groups); }

// Along an axis: the destination position whose tap k meets source position s; -1 if there is none.
inline int64_t meeting(int64_t s, int64_t k, int64_t stride, int64_t dilation, int64_t pad, int64_t out) {
  const int64_t at = s + pad - k * dilation;
  return at >= 0 && at % stride == 0 && at / stride < out ? at / stride : -1;
}

// Coordinates of a pixel of [n, planes, rows, columns].
struct Pixel {
  int64_t n, z, y, x;

  Pixel(int64_t i, int64_t planes, int64_t rows, int64_t cols)
      : n(i / cols / rows / planes), z(i / cols / rows % planes), y(i / cols % rows), x(i % cols) {}
  void next(int64_t planes, int64_t rows, int64_t cols) {
    if (++x < cols) return;
    x = 0;
    if (++y < rows) return;
    y = 0;
    if (++z < planes) return;
    z = 0, ++n;
  }
};

// Copies a few numbers, for which a call of memcpy would cost more.
inline float *put(const float *from, int64_t n, float *to) {
  auto move = [&](int64_t at, auto size) { std::memcpy(to + at, from + at, size * sizeof(float)); };
  constexpr std::integral_constant<size_t, 8> eight;
  constexpr std::integral_constant<size_t, 4> four;
  constexpr std::integral_constant<size_t, 1> one;
  if (n > 64) return std::copy_n(from, n, to);
  if (n >= 8) {
    for (int64_t i = 0; i + 8 <= n; i += 8) move(i, eight);
    move(n - 8, eight);  // overlaps the first eight
  } else if (n >= 4) {
    move(0, four), move(n - 4, four);
  } else {
    for (int64_t i = 0; i < n; ++i) move(i, one);
  }
  return to + n;
}

inline float *put_zeros(float *to, int64_t n) {
  if (n > 16) return std::fill_n(to, n, 0.0f);
  for (int64_t i = 0; i < n; ++i) to[i] = 0;
  return to + n;
}

// Writes numbers [first, last) of the windows of `count` destination pixels from `pixel` on, group `group`, to rows ld
// apart. Calls after(i) once row i is complete.
template <class After>
void put_patches(const Conv &c, const float *src, int64_t group, int64_t pixel, int64_t count, int64_t first,
                 int64_t last, float *to, int64_t ld, const After &after) noexcept {
  const int64_t in = c.c / c.groups, line = c.kw * in;
  const bool joined = c.groups == 1 && (c.dil_w == 1 || c.kw == 1);  // the taps of a line are contiguous
  const int64_t kz0 = first / line / c.kh, ky0 = first / line % c.kh, first_line = first / line * line;
  Pixel p(pixel, c.od, c.oh, c.ow);
  src += group * in;
  const int64_t row = c.w * c.c, row_step = c.dil_h * row, plane_step = c.dil_d * c.h * row - (c.kh - 1) * row_step;
  for (int64_t i = 0; i < count; ++i, p.next(c.od, c.oh, c.ow)) {
    float *at = to + i * ld;
    const int64_t z0 = p.z * c.stride_d - c.pad_front, y0 = p.y * c.stride_h - c.pad_top,
                  x0 = p.x * c.stride_w - c.pad_left;
    // The part of a line that is inside.
    const int64_t inside0 = std::clamp<int64_t>(-x0, 0, c.kw) * in,
                  inside1 = std::clamp<int64_t>(c.w - x0, 0, c.kw) * in;
    int64_t kz = kz0, ky = ky0, sy = y0 + ky0 * c.dil_h;
    int64_t from = ((p.n * c.d + z0 + kz0 * c.dil_d) * c.h + sy) * row + x0 * c.c;  // in src; may be outside
    bool plane_inside = z0 + kz * c.dil_d >= 0 && z0 + kz * c.dil_d < c.d;
    for (int64_t l = first_line; l < last; l += line) {
      const int64_t begin = std::max<int64_t>(0, first - l), end = std::min(line, last - l);
      if (!plane_inside || sy < 0 || sy >= c.h) {
        at = put_zeros(at, end - begin);
      } else if (joined && inside1 - inside0 == line) {
        at = put(src + from + begin, end - begin, at);
      } else if (joined) {
        const int64_t b = std::clamp(inside0, begin, end), e = std::clamp(inside1, b, end);
        at = put_zeros(put(src + (from + b), e - b, put_zeros(at, b - begin)), end - e);
      } else {
        for (int64_t k = begin / in; k * in < end; ++k) {
          const int64_t b = std::max<int64_t>(0, begin - k * in), e = std::min(in, end - k * in);
          const int64_t sx = x0 + k * c.dil_w;
          at = sx < 0 || sx >= c.w ? put_zeros(at, e - b) : put(src + (from + k * c.dil_w * c.c + b), e - b, at);
        }
      }
      if (++ky < c.kh) {
        sy += c.dil_h, from += row_step;
      } else {
        ky = 0, ++kz, sy = y0, from += plane_step;
        plane_inside = z0 + kz * c.dil_d >= 0 && z0 + kz * c.dil_d < c.d;
      }
    }
    after(i);
  }
}

}  // namespace dl4::kernels
