// 3x3 convolution by Winograd's minimal filtering F(2x2, 3x3) (Lavin and Gray, 2015), by instruction set: 16
// multiplications where a direct one takes 36, as 16 products of transformed tiles and weights. A NaN or an infinity in
// the source reaches all four destination pixels of a tile.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/conv_cut.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"

#ifndef DL4_KERNELS_WINOGRAD_WEIGHTS
#define DL4_KERNELS_WINOGRAD_WEIGHTS
namespace dl4::kernels {
// 3x3 weights as matrices [k, n], `tap` floats apart; strides in floats.
struct WinogradWeights {
  const float *first;
  int64_t tap, k, n, step_k, step_n;
};
}  // namespace dl4::kernels
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/conv/winograd_conv.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/gemm/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {

// Rows [begin, end) of G g G^T in the panels of packed_gemm; its 16 elements are `plane` floats apart.
void winograd_weights(const WinogradWeights &w, int64_t begin, int64_t end, float *to, int64_t plane) {
  constexpr int64_t panel = packed_panel;
  const WinogradWeights from = w;
  const V half = set(0.5f);
  for (int64_t j = 0; j < round_up(from.n, panel); j += lanes) {
    const int64_t m = HWY_MAX(from.n - j, 0);
    const VI last = hn::Set(DI(), static_cast<int32_t>(HWY_MIN(m, lanes) - 1));
    const VI column = hn::Mul(hn::Min(hn::Iota(DI(), 0), last), hn::Set(DI(), static_cast<int32_t>(from.step_n)));
    auto get = [&](const float *p) HWY_ATTR {
      if (m == 0) return hn::Zero(D());
      if (from.step_n == 1) return m >= lanes ? load(p) : load_n(p, m);
      const V v = hn::GatherIndex(D(), p, column);
      return m >= lanes ? v : hn::IfThenElseZero(hn::FirstN(D(), static_cast<size_t>(m)), v);
    };
    // Applies G to three taps in a row, giving four.
    auto four = [&](V a, V b, V c, V *out) HWY_ATTR {
      const V outer = hn::Mul(hn::Add(a, c), half), inner = hn::Mul(b, half);
      out[0] = a;
      out[1] = hn::Add(outer, inner);
      out[2] = hn::Sub(outer, inner);
      out[3] = c;
    };
    for (int64_t k = begin; k < end; ++k) {
      const float *p = from.first + k * from.step_k + j * from.step_n;
      V down[3][4], across[4];
      DL4_UNROLL
      for (int x = 0; x < 3; ++x)
        four(get(p + x * from.tap), get(p + (3 + x) * from.tap), get(p + (6 + x) * from.tap), down[x]);
      float *at = to + j / panel * panel * from.k + k * panel + j % panel;
      DL4_UNROLL
      for (int y = 0; y < 4; ++y) {
        four(down[0][y], down[1][y], down[2][y], across);
        DL4_UNROLL
        for (int x = 0; x < 4; ++x) store(across[x], at + (4 * y + x) * plane);
      }
    }
  }
}

// B^T d B of a tile of 4 x 4 pixels, `channels` floats each; its elements are `plane` floats apart.
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

// A^T m A + bias of a tile's 16 products, `plane` floats apart, as 2 x 2 pixels; nullptr: outside.
void winograd_destination(const float *from, int64_t plane, int64_t channels, const float *bias, bool relu,
                          float *const *pixels) {
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
      const V sums[2] = {hn::Add(left, add), hn::Add(right, add)};
      DL4_UNROLL
      for (int x = 0; x < 2; ++x)
        if (float *const to = pixels[2 * y + x]) io.put(relu ? relu_of(D(), sums[x]) : sums[x], to + i);
    }
  });
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
namespace {

HWY_EXPORT(winograd_weights);
HWY_EXPORT(winograd_source);
HWY_EXPORT(winograd_destination);

constexpr int64_t most_scratch = int64_t{1} << 20;  // floats per slice
constexpr int64_t good_scratch = 416 << 10;         // more is no faster, less rereads the weights
constexpr int64_t row_block = 12;                   // rows per product: fewer would read the weights as often

// For the source gradient c has source and destination exchanged. form.first is set at run time; form.tap is negative
// if the taps are in reverse order.
std::unique_ptr<Kernel> winograd(const char *name, const Conv &c, int64_t slices, const WinogradWeights &form,
                                 const Constant *constant) {
  const int64_t down = (c.oh + 1) / 2, across = (c.ow + 1) / 2;  // tiles per image
  const int64_t all = checked_mul(c.n, down, across), count = std::clamp<int64_t>(slices, 1, all);
  const int64_t share = round_up(all, count) / count, tile_floats = checked_mul(16, checked_add(c.c, c.oc));
  // Tiles per block: as even as multiples of the product's row block allow.
  const int64_t fit = std::max(good_scratch / tile_floats, row_block), pieces = round_up(share, fit) / fit;
  const int64_t most = std::min(share, round_up(round_up(share, pieces) / pieces, row_block));
  const int64_t plane_src = checked_mul(most, c.c), plane_dst = checked_mul(most, c.oc);
  const int64_t floats = checked_add(checked_mul(16, checked_add(plane_src, plane_dst)), round_up(c.c, 16));
  if (floats > most_scratch) return nullptr;

  const int64_t plane = packed_floats(c.c, c.oc);
  auto transform = [=](const float *weights, int64_t begin, int64_t end, float *to) {
    WinogradWeights w = form;
    w.first = weights + (w.tap < 0 ? -8 * w.tap : 0);
    HWY_DYNAMIC_DISPATCH(winograd_weights)(w, begin, end, to, plane);
  };
  std::shared_ptr<const Packed> packed;
  if (constant)
    packed = constant->packed(text(name, ' ', c.c, 'x', c.oc), [&] {
      auto p = std::make_shared<const PackedFloats>(checked_mul(16, plane));
      transform(constant->data, 0, c.c, p->floats());
      return p;
    });
  const int64_t weights_floats = packed ? 0 : checked_mul(16, plane);

  auto run = [=](int64_t i, const Run &r) noexcept {
    const int64_t slice = i % count;
    float *scratch = static_cast<float *>(r.scratch);
    if (!packed && i < count) {
      auto [begin, end] = part(c.c, count, slice);
      return transform(r.in<float>(1), begin, end, scratch);
    }
    const float *u = packed ? static_cast<const PackedFloats &>(*packed).floats() : scratch;
    const float *bias = c.bias ? r.in<float>(2) : nullptr;
    float *src_tiles = scratch + weights_floats + slice * floats;
    float *dst_tiles = src_tiles + 16 * plane_src, *zeros = dst_tiles + 16 * plane_dst;
    std::memset(zeros, 0, static_cast<size_t>(c.c) * sizeof(float));

    auto [first, last] = part(all, count, slice);
    for (int64_t begin = first, next; begin < last; begin = next) {
      next = std::min(last, begin + most);
      const int64_t tiles = next - begin;
      // Calls f(tile in the block, image, top and left tile) for each.
      auto each_tile = [&](auto f) {
        for (int64_t t = 0; t < tiles; ++t) {
          const int64_t row = (begin + t) / across;
          f(t, row / down, row % down, (begin + t) % across);
        }
      };
      each_tile([&](int64_t t, int64_t n, int64_t down_to, int64_t across_to) {
        const float *src = r.in<float>(0) + n * c.h * c.w * c.c;
        const int64_t top = 2 * down_to - c.pad_top, left = 2 * across_to - c.pad_left;
        std::array<const float *, 16> pixels;
        for (int64_t i = 0; i < 16; ++i) {
          const int64_t y = top + i / 4, x = left + i % 4;
          const bool inside = y >= 0 && y < c.h && x >= 0 && x < c.w;
          pixels[static_cast<size_t>(i)] = inside ? src + (y * c.w + x) * c.c : zeros;
        }
        HWY_DYNAMIC_DISPATCH(winograd_source)(pixels.data(), c.c, src_tiles + t * c.c, plane_src);
      });
      for (int64_t i = 0; i < 16; ++i)
        packed_gemm(tiles, c.oc, c.c, src_tiles + i * plane_src, c.c, u + i * plane, nullptr, 0,
                    dst_tiles + i * plane_dst, c.oc);
      each_tile([&](int64_t t, int64_t n, int64_t down_to, int64_t across_to) {
        const int64_t top = 2 * down_to, left = 2 * across_to;
        float *dst = r.out<float>(0) + ((n * c.oh + top) * c.ow + left) * c.oc;
        const int64_t height = std::min<int64_t>(2, c.oh - top), width = std::min<int64_t>(2, c.ow - left);
        std::array<float *, 4> pixels;
        for (int64_t i = 0; i < 4; ++i)
          pixels[static_cast<size_t>(i)] =
              i / 2 < height && i % 2 < width ? dst + (i / 2 * c.ow + i % 2) * c.oc : nullptr;
        HWY_DYNAMIC_DISPATCH(winograd_destination)(dst_tiles + t * c.oc, plane_dst, c.oc, bias, c.epilogue.relu,
                                                   pixels.data());
        if (c.epilogue && !c.epilogue.relu) c.epilogue(dst, height, width * c.oc, c.ow * c.oc);
      });
    }
  };
  return make_kernel(name, count, run, checked_mul(checked_add(weights_floats, checked_mul(count, floats)), 4),
                     packed ? 1 : 2);
}

}  // namespace

std::unique_ptr<Kernel> winograd_conv(const Conv &c, int64_t slices, const Constant *weights) {
  if (!is_for_winograd(c)) return nullptr;
  return winograd("winograd_conv", c, slices, {nullptr, checked_mul(c.c, c.oc), c.c, c.oc, c.oc, 1}, weights);
}

std::unique_ptr<Kernel> winograd_conv_data(const Conv &c, int64_t slices, const Constant *weights) {
  if (!is_for_winograd(c)) return nullptr;
  Conv back = c;  // with weights rotated by 180 degrees
  std::swap(back.c, back.oc), std::swap(back.h, back.oh), std::swap(back.w, back.ow);
  back.pad_top = 2 - c.pad_top, back.pad_left = 2 - c.pad_left;
  back.bias = false, back.epilogue = {};
  return winograd("winograd_conv_data", back, slices, {nullptr, -checked_mul(c.c, c.oc), c.oc, c.c, 1, c.oc}, weights);
}

}  // namespace dl4::kernels
#endif
