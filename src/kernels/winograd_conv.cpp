// 3x3 convolution by Winograd's minimal filtering F(2x2, 3x3) (Lavin and Gray, 2015), by instruction set: 16
// multiplications where a direct one takes 36, as 16 products of transformed tiles and weights. A NaN or an infinity in
// the source reaches all four destination pixels of a tile.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernels/conv.hpp"
#include "kernels/conv_cut.hpp"
#include "kernels/small_gemm.hpp"

#include "kernels/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd_conv.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

// The 4 x 4 pixels of a tile, `channels` floats each -> B^T d B, its elements `plane` floats apart.
void winograd_source(const float *const *pixels, int64_t channels, float *to, int64_t plane) {
  each(channels, [&](int64_t i, auto io) HWY_ATTR {
    V d[4][4];
    DL4_UNROLL
    for (int x = 0; x < 4; ++x) {  // down the columns
      const V a = io.get(pixels[x] + i), b = io.get(pixels[4 + x] + i), c = io.get(pixels[8 + x] + i),
              e = io.get(pixels[12 + x] + i);
      d[0][x] = hn::Sub(a, c);
      d[1][x] = hn::Add(b, c);
      d[2][x] = hn::Sub(c, b);
      d[3][x] = hn::Sub(b, e);
    }
    DL4_UNROLL
    for (int y = 0; y < 4; ++y) {
      float *row = to + 4 * y * plane + i;
      io.put(hn::Sub(d[y][0], d[y][2]), row);
      io.put(hn::Add(d[y][1], d[y][2]), row + plane);
      io.put(hn::Sub(d[y][2], d[y][1]), row + 2 * plane);
      io.put(hn::Sub(d[y][1], d[y][3]), row + 3 * plane);
    }
  });
}

// The 16 products of a tile, `plane` floats apart -> A^T m A + bias as 2 x 2 pixels, but for those that are nullptr.
void winograd_destination(const float *from, int64_t plane, int64_t channels, const float *bias, float *const *pixels) {
  each(channels, [&](int64_t i, auto io) HWY_ATTR {
    V m[2][4];
    DL4_UNROLL
    for (int x = 0; x < 4; ++x) {
      const float *column = from + x * plane + i;
      const V a = io.get(column), b = io.get(column + 4 * plane), c = io.get(column + 8 * plane),
              e = io.get(column + 12 * plane);
      m[0][x] = hn::Add(hn::Add(a, b), c);
      m[1][x] = hn::Sub(hn::Sub(b, c), e);
    }
    const V add = bias ? io.get(bias + i) : hn::Zero(D());
    DL4_UNROLL
    for (int y = 0; y < 2; ++y) {
      const V left = hn::Add(hn::Add(m[y][0], m[y][1]), m[y][2]), right = hn::Sub(hn::Sub(m[y][1], m[y][2]), m[y][3]);
      if (pixels[2 * y]) io.put(hn::Add(left, add), pixels[2 * y] + i);
      if (pixels[2 * y + 1]) io.put(hn::Add(right, add), pixels[2 * y + 1] + i);
    }
  });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
namespace {

HWY_EXPORT(winograd_source);
HWY_EXPORT(winograd_destination);

// G g G^T in double, each of the 16 elements packed for products.
struct Transformed final : PackedFloats {
  int64_t plane;

  Transformed(const Conv &c, const float *weights)
      : PackedFloats(16 * packed_floats(c.c, c.oc)), plane(packed_floats(c.c, c.oc)) {
    std::vector<float> element(static_cast<size_t>(c.c * c.oc));
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 4; ++x) {
        for (int64_t i = 0; i < c.c * c.oc; ++i) element[static_cast<size_t>(i)] = at(weights + i, c.c * c.oc, y, x);
        pack_b(c.c, c.oc, element.data(), c.oc, false, floats() + (4 * y + x) * plane);
      }
  }

 private:
  static float at(const float *w, int64_t tap, int y, int x) {
    static constexpr double g[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
    double sum = 0;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) sum += g[y][i] * g[x][j] * static_cast<double>(w[(3 * i + j) * tap]);
    return static_cast<float>(sum);
  }
};

constexpr int64_t most_scratch = int64_t{1} << 20;  // floats of a slice
constexpr int64_t good_scratch = 192 << 10;         // stay in the second cache

}  // namespace

std::unique_ptr<Kernel> winograd_conv(const Conv &c, int64_t slices, const Constant *weights) {
  if (!weights || c.kh != 3 || c.kw != 3 || c.groups != 1) return nullptr;
  if (c.stride_h != 1 || c.stride_w != 1 || c.dil_h != 1 || c.dil_w != 1) return nullptr;
  if (c.is_empty()) return nullptr;
  const int64_t down = (c.oh + 1) / 2, across = (c.ow + 1) / 2;  // tiles of an image
  const int64_t row_floats = 16 * across * (c.c + c.oc);
  const int64_t rows = std::clamp<int64_t>(good_scratch / row_floats, 1, down);  // of tiles, at once
  const int64_t plane_src = rows * across * c.c, plane_dst = rows * across * c.oc;
  const int64_t floats = 16 * (plane_src + plane_dst) + round_up(c.c, 16);
  if (floats > most_scratch) return nullptr;

  auto make = [&] { return std::make_shared<const Transformed>(c, weights->data); };
  auto form = weights->packed(text("winograd ", c.c, 'x', c.oc), make);
  const int64_t count = std::clamp<int64_t>(slices, 1, c.n * down);

  auto run = [=](int64_t slice, const Run &r) noexcept {
    const auto &u = static_cast<const Transformed &>(*form);
    const float *bias = c.bias ? r.src<float>(2) : nullptr;
    float *src_tiles = static_cast<float *>(r.scratch) + slice * floats;
    float *dst_tiles = src_tiles + 16 * plane_src, *zeros = dst_tiles + 16 * plane_dst;
    std::memset(zeros, 0, static_cast<size_t>(c.c) * sizeof(float));

    // Rows of tiles of all images, as many of one image at once as fit.
    auto [first, last] = part(c.n * down, count, slice);
    for (int64_t row = first, next; row < last; row = next) {
      const int64_t n = row / down, y0 = row % down;
      next = std::min({row + rows, last, (n + 1) * down});
      const int64_t tiles = (next - row) * across;
      const float *src = r.src<float>(0) + n * c.h * c.w * c.c;
      float *dst = r.dst<float>(c.bias ? 3 : 2) + n * c.oh * c.ow * c.oc;
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t top = 2 * (y0 + t / across) - c.pad_top, left = 2 * (t % across) - c.pad_left;
        std::array<const float *, 16> pixels;
        for (int64_t i = 0; i < 16; ++i) {
          const int64_t y = top + i / 4, x = left + i % 4;
          const bool inside = y >= 0 && y < c.h && x >= 0 && x < c.w;
          pixels[static_cast<size_t>(i)] = inside ? src + (y * c.w + x) * c.c : zeros;
        }
        HWY_DYNAMIC_DISPATCH(winograd_source)(pixels.data(), c.c, src_tiles + t * c.c, plane_src);
      }
      for (int64_t i = 0; i < 16; ++i)
        packed_gemm(tiles, c.oc, c.c, src_tiles + i * plane_src, c.c, u.floats() + i * u.plane, nullptr, 0,
                    dst_tiles + i * plane_dst, c.oc);
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t top = 2 * (y0 + t / across), left = 2 * (t % across);
        std::array<float *, 4> pixels;
        for (int64_t i = 0; i < 4; ++i) {
          const int64_t y = top + i / 2, x = left + i % 2;
          pixels[static_cast<size_t>(i)] = y < c.oh && x < c.ow ? dst + (y * c.ow + x) * c.oc : nullptr;
        }
        HWY_DYNAMIC_DISPATCH(winograd_destination)(dst_tiles + t * c.oc, plane_dst, c.oc, bias, pixels.data());
      }
      if (c.epilogue) {
        const int64_t begin = 2 * y0 * c.ow * c.oc, end = std::min(c.oh, 2 * (y0 + next - row)) * c.ow * c.oc;
        c.epilogue(dst + begin, end - begin);
      }
    }
  };
  return make_kernel("own conv, winograd", count, run, count * floats * 4);
}

}  // namespace dl4::kernels
#endif
