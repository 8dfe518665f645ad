// Convolutions over NHWC with a bias and an activation.
#include "ops/conv.hpp"

#include <algorithm>

#include "base/cpu.hpp"
#include "ops/products.hpp"
#include "ops/sliced.hpp"
#include "ops/windows.hpp"

namespace dl4::ops {
namespace {

using kernels::Kernel;

// Measured on one core of an AVX-512 EPYC, best of many runs, microseconds of ours / oneDNN 2.6.3 for n h x w c,
// window, oc:
//   direct    4 32x32 3, 3x3, 8         21 /   37     32 14x14 6, 5x5, 16    133 /  160
//             32 28x28 1, 5x5, 6       151 /  266      8 32x32 16, 3x3, 16   336 /  332
//             8 32x32 3, 1x1, 16      16.4 / 12.4
// and on one of a Xeon of Sapphire Rapids:
//             32 84x84 4, 8x8 by 4, 32  1763 / 2203      1 84x84 4, 8x8 by 4, 32    50.5 / 52.5
//             8 32x32 3, 3x3, 32        121 /  143     8 32x32 8, 3x3, 32          319 /  398
//             8 28x28 1, 5x5, 32         91 /  120     8 32x32 12, 3x3, 24         557 /  545
bool few_channels(const kernels::Conv &c) {
  const int64_t most = cpu::type() == cpu::Type::intel_avx512 ? 32 : 16;
  return (c.oc <= 16 ? c.c < 16 : c.oc <= most && c.c <= 8) && checked_mul(c.kh, c.kw, c.c) >= 9;
}

// More padding than input: a kernel that leaves out the taps which meet padding alone is better than one that lays it
// out in memory.
bool padding_dwarfs(const kernels::Conv &c) {
  return c.pad_top > c.h || c.pad_bottom > c.h || c.pad_left > c.w || c.pad_right > c.w;
}

}  // namespace

std::vector<Operand> ConvOp::infer(Operands src) const {
  for (const Operand &o : src) want_float("conv", o);
  Shape y = conv_shape("conv", how, src[0].shape, src[1].shape);
  if (fused.bias && !compatible(src[2].shape, Shape{y[3]}))
    fail(Code::shape_mismatch, "conv: expected a bias of shape ", Shape{y[3]}, ", got ", src[2].shape);
  return {{DType::f32, y}};
}

void ConvOp::gradient(Gradient &g) const {
  if (fused.activation) fail(Code::internal, "conv: a fused step has no gradient");
  Emit &e = g.e;
  Id dy = g.diff_dst();
  if (dy == none) return;
  if (g.wants(0)) g.set(0, conv_data(e, dy, g.src(1), g.src(0), how));
  if (g.wants(1)) {
    auto [weights, bias] = conv_weights(e, g.src(0), dy, g.src(1), g.wants(2), how);
    g.set(1, weights);
    if (g.wants(2)) g.set(2, bias);
  } else if (g.wants(2)) {
    g.set(2, reduce(e, Reduce::sum, dy, {0, 1, 2}));
  }
}

std::unique_ptr<Kernel> ConvOp::kernel(const Site &site) const {
  kernels::Conv c = conv_at(how, site.src[0].shape, site.src[1].shape);
  c.bias = fused.bias;
  c.epilogue = fused.epilogue();
  if (site.dst[0].shape.elements() == 0) return nothing();
  int64_t slices = conv_slices(site, c);
  auto weights = constant_source(site, 1);
  bool empty = c.h == 0 || c.w == 0 || c.c == 0;  // the bias alone
  auto direct = [&] { return few_channels(c) && !padding_dwarfs(c) ? kernels::direct_conv(c, slices) : nullptr; };
  auto winograd = [&] {
    return winograd_pays(c, false, weights.has_value())
               ? kernels::winograd_conv(c, slices, weights ? &*weights : nullptr)
               : nullptr;
  };
  auto dnnl = [&] { return empty ? nullptr : kernels::dnnl_conv(c, slices, weights ? &*weights : nullptr); };
  return choose(site, {{"direct_conv", direct},
                       {"winograd_conv", winograd},
                       {"dnnl_conv", dnnl},
                       {"reference_conv", [&] { return kernels::reference_conv(c, slices); }}});
}

void check(const char *op, const Conv &how) {
  for (size_t i = 0; i < 2; ++i) {
    if (how.strides[i] < 1) fail(Code::invalid_argument, op, ": strides must be at least 1, got ", how.strides[i]);
    if (how.dilation[i] < 1)
      fail(Code::invalid_argument, op, ": dilation_rate must be at least 1, got ", how.dilation[i]);
  }
  if (how.groups < 1) fail(Code::invalid_argument, op, ": groups must be at least 1, got ", how.groups);
}

Shape conv_shape(const char *op, const Conv &how, const Shape &x, const Shape &w) {
  if (x.rank() != 4)
    fail(Code::shape_mismatch, op, ": expected an input of 4 axes (batch, height, width, channels), got ", x);
  if (w.rank() != 4 || !w.known()) fail(Code::shape_mismatch, op, ": expected a kernel of 4 known axes, got ", w);
  if (w[3] % how.groups != 0)
    fail(Code::invalid_argument, op,
         ": the number of filters must be divisible by the number of groups, got groups=", how.groups,
         ", filters=", w[3]);
  if (x[3] != free_dim && x[3] % how.groups != 0)
    fail(Code::shape_mismatch, op, ": the number of input channels must be divisible by the number of groups, got ",
         "groups=", how.groups, ", input channels=", x[3]);
  if (x[3] != free_dim && x[3] / how.groups != w[2])
    fail(Code::shape_mismatch, op, ": expected ", checked_mul(w[2], how.groups), " input channels, got ", x[3],
         " in shape ", x);
  Padding rows = how.padding == Padding::causal ? Padding::valid : how.padding;
  auto h = windows(op, "kernel_size", x[1], w[0], how.strides[0], how.dilation[0], rows);
  auto v = windows(op, "kernel_size", x[2], w[1], how.strides[1], how.dilation[1], how.padding);
  return {x[0], h.out, v.out, w[3]};
}

kernels::Conv conv_at(const Conv &how, const Shape &x, const Shape &w) {
  Padding rows = how.padding == Padding::causal ? Padding::valid : how.padding;
  auto h = windows("conv", "kernel_size", x[1], w[0], how.strides[0], how.dilation[0], rows);
  auto v = windows("conv", "kernel_size", x[2], w[1], how.strides[1], how.dilation[1], how.padding);
  kernels::Conv c;
  c.n = x[0], c.h = x[1], c.w = x[2], c.c = x[3];
  c.kh = w[0], c.kw = w[1], c.oc = w[3], c.oh = h.out, c.ow = v.out;
  // Steps that are never taken may be of any size, and libraries count in 32 bits.
  c.stride_h = c.oh > 1 ? how.strides[0] : 1, c.stride_w = c.ow > 1 ? how.strides[1] : 1;
  c.dil_h = c.kh > 1 ? how.dilation[0] : 1, c.dil_w = c.kw > 1 ? how.dilation[1] : 1;
  // What the last window leaves over is a negative pad.
  auto end = [](int64_t out, int64_t stride, int64_t kernel, int64_t dilation) {
    return checked_add(checked_mul(out - 1, stride), checked_mul(kernel - 1, dilation), 1);
  };
  c.pad_top = h.pad_before, c.pad_left = v.pad_before;
  c.pad_bottom = end(c.oh, c.stride_h, c.kh, c.dil_h) - c.h - c.pad_top;
  c.pad_right = end(c.ow, c.stride_w, c.kw, c.dil_w) - c.w - c.pad_left;
  c.groups = how.groups;
  return c;
}

int64_t conv_slices(const Site &site, const kernels::Conv &c) {
  double positions = static_cast<double>(c.n) * static_cast<double>(c.oh) * static_cast<double>(c.ow);
  double each = 2 * static_cast<double>(checked_mul(c.kh, c.kw)) * static_cast<double>(c.c / c.groups) *
                static_cast<double>(c.oc);
  return std::max<int64_t>(1, site.cutting.slices(checked_mul(c.n, c.oh), positions * each / 60e3));
}

// Counted in multiplications for a pair of channels: those of a direct convolution, and those of the tiles with what it
// costs to transform pixels and weights. Fits what was measured on one core of an AVX-512 EPYC (ours / oneDNN 2.6.3,
// microseconds; n, size, channels; weights that are no constant, transformed anew):
//   forward          1 56x56 64>64    1055 / 1966     32 9x9 64>64, valid    740 / 1016     1 4x4 64>64     16 / 10
//                    1 14x14 256>256  1129 / 1938     8 16x16 16>64          228 /  316     1 7x7 512>512 2888 / 3285
//                    32 7x7 512>512  50059 / 57180    32 32x32 16>16        1238 / 1329     8 16x16 3>32    64 / 41
//   by the source    1 56x56 64>64    1075 / 1966     32 9x9 64>64, valid   1191 / 1035     1 4x4 64>64     24 / 14
//                    1 14x14 256>256  1595 / 2003     4 7x7 512>512        11285 / 9185     8 16x16 32>8    88 / 76
bool winograd_pays(const kernels::Conv &c, bool by_source, bool constant_weights) {
  const int64_t h = by_source ? c.h : c.oh, w = by_source ? c.w : c.ow, channels = by_source ? c.c : c.oc;
  if (checked_mul(h, w) < 16) return false;
  auto real = [](int64_t v) { return static_cast<double>(v); };
  const double tiles = real(c.n) * real((h + 1) / 2) * real((w + 1) / 2);
  const double padding = real(round_up(channels, 16)) / real(channels), pixels = 9 / real(c.c) + 9 / real(c.oc);
  const double weights = constant_weights ? 0 : by_source ? 800 : 400;
  return 16 * tiles * (padding + pixels) + weights < 0.95 * 9 * real(c.n) * real(c.oh) * real(c.ow);
}

Id conv(Emit &e, Id x, Id weights, Id bias, const Conv &how) {
  check("conv", how);
  std::vector<Id> src{x, weights};
  if (bias != none) src.push_back(bias);
  return e.value(std::make_shared<ConvOp>(how, Fused{bias != none}), src);
}

}  // namespace dl4::ops
