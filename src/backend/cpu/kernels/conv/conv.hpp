// Convolutions over NHWC or NDHWC with Keras's weights [kh, kw, c / groups, oc]: the candidates of the conv ops.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backend/cpu/kernels/gemm/epilogue.hpp"
#include "backend/cpu/kernels/gemm/packed.hpp"
#include "backend/cpu/kernels/kernel.hpp"
#include "base/dtype.hpp"

namespace dl4::kernels {

// Source [n, (d,) h, w, c], destination [n, (od,) oh, ow, oc]. Output channels of a group are contiguous. Dilation 1 is
// dense. Pads may be asymmetric. pad_bottom and pad_right follow from the other sizes; they may exceed what the last
// window needs, or be negative if rows are left over.
struct Conv {
  int64_t n = 0, h = 0, w = 0, c = 0;
  int64_t kh = 1, kw = 1;
  int64_t oc = 0, oh = 0, ow = 0;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dil_h = 1, dil_w = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int64_t groups = 1;
  bool bias = false;
  Epilogue epilogue = {};                                                               // forward only
  DType dtype = DType::f32;                                                             // of all arguments
  int64_t d = 1, kd = 1, od = 1, stride_d = 1, dil_d = 1, pad_front = 0, pad_back = 0;  // of volumes
  bool bfloat16 = false;  // rounds both operands to it first

  bool is_3d() const { return d != 1 || kd != 1 || od != 1; }
  // Nothing to multiply: a size is 0, or all taps along an axis meet padding only. Only the reference kernels handle
  // this. Others for images ignore the depth, and oneDNN treats such a tap as live (one plane, 2 taps of dilation 2,
  // padding "same": 2.6.3's brgconv, jit, jit_dw, jit_1x1 and gemm, forward and both gradients).
  bool is_empty() const {
    for (int64_t dim : {n, d, h, w, c, oc, od, oh, ow, kd, kh, kw})
      if (dim <= 0) return true;
    return !meets(d, kd, od, stride_d, dil_d, pad_front) || !meets(h, kh, oh, stride_h, dil_h, pad_top) ||
           !meets(w, kw, ow, stride_w, dil_w, pad_left);
  }

 private:
  // Whether a tap of an axis meets one of its n cells in some window.
  static bool meets(int64_t n, int64_t taps, int64_t out, int64_t stride, int64_t dilation, int64_t before) {
    for (int64_t k = 0, at = -before; k < taps && at < n; ++k, at += dilation) {
      const int64_t window = at < 0 ? (stride - 1 - at) / stride : 0;  // the first in which it is not before them
      if (window < out && at + window * stride < n) return true;
    }
    return false;
  }
};

// Geometries of the depthwise and Winograd kernels.
inline bool is_for_depthwise(const Conv &c) {
  return !c.is_3d() && c.groups == c.c && c.oc == c.c && !c.is_empty() && c.kw >= 2 && c.kw <= 7 && c.stride_w <= 2 &&
         c.dil_w == 1;
}
inline bool is_by_channels(const Conv &c) { return c.groups == c.c && c.oc == c.c && !c.is_empty(); }
// One tap without strides and padding: pixels stay where they are.
inline bool is_one_tap(const Conv &c) {
  for (int64_t size : {c.kd, c.kh, c.kw, c.stride_d, c.stride_h, c.stride_w})
    if (size != 1) return false;
  for (int64_t pad : {c.pad_front, c.pad_top, c.pad_left, c.pad_back, c.pad_bottom, c.pad_right})
    if (pad != 0) return false;
  return true;
}
inline bool scales_pixels(const Conv &c) { return is_by_channels(c) && is_one_tap(c); }
inline bool is_for_winograd(const Conv &c) {
  return c.kh == 3 && c.kw == 3 && c.groups == 1 && c.stride_h == 1 && c.stride_w == 1 && c.dil_h == 1 &&
         c.dil_w == 1 && !c.is_empty();
}

// Each factory cuts into at most `slices` and returns nullptr where it does not apply. Reference kernels always apply.

// Arguments: src, weights, bias [oc] (if `bias`), dst. weights: a constant to pack once, or nullptr if it is an
// argument.
[[gnu::cold]] std::unique_ptr<Kernel> dnnl_conv(const Conv &conv, int64_t slices, const Constant *weights = nullptr);
// Images without groups and at most as many output channels as a vector has lanes; weights are read unpacked.
[[gnu::cold]] std::unique_ptr<Kernel> direct_conv(const Conv &conv, int64_t slices);
// Depthwise convolution of images with multiplier 1, windows 3, 5 or 7 wide, strides of at most 2 and no dilation along
// rows; weights are read unpacked.
[[gnu::cold]] std::unique_ptr<Kernel> depthwise_conv(const Conv &conv, int64_t slices);
// Images with 3x3 weights, no strides, dilation or groups.
[[gnu::cold]] std::unique_ptr<Kernel> winograd_conv(const Conv &conv, int64_t slices,
                                                    const Constant *weights = nullptr);
// Images without groups and without dilation along rows, constant weights: packed panels times the pixels in place.
[[gnu::cold]] std::unique_ptr<Kernel> packed_conv(const Conv &conv, int64_t slices, const Constant *weights);
// Depthwise convolution of any geometry; gradients below.
[[gnu::cold]] std::unique_ptr<Kernel> channels_conv(const Conv &conv, int64_t slices);
// Any geometry but cropping before the image and planes that are mostly padding; few output channels of a group, with
// the lanes along the pixels. Also the source gradient, below.
[[gnu::cold]] std::unique_ptr<Kernel> planar_conv(const Conv &conv, int64_t slices);
// Any geometry. tiles, here and below: number of part products per product (gemm/amx_gemm.hpp); then nullptr for
// constant weights outside their range.
[[gnu::cold]] std::unique_ptr<Kernel> blocked_conv(const Conv &conv, int64_t slices, const Constant *weights = nullptr,
                                                   int tiles = 0);
// Images whose window rows are whole quads of numbers, without groups and dilation along rows, with constant int8
// weights. The source is quantized per image: round(x * 127 / max |x|), as NarrowWeights does per row.
bool is_for_narrow(const Conv &c);
[[gnu::cold]] std::unique_ptr<Kernel> narrow_conv(const Conv &conv, int64_t slices, const Constant &weights);
[[gnu::cold]] std::unique_ptr<Kernel> reference_conv(const Conv &conv, int64_t slices);

// The source gradient (also the transposed convolution). Arguments: diff_dst, weights, diff_src. Ignores bias and
// epilogue.
[[gnu::cold]] std::unique_ptr<Kernel> dnnl_conv_data(const Conv &conv, int64_t slices,
                                                     const Constant *weights = nullptr);
[[gnu::cold]] std::unique_ptr<Kernel> winograd_conv_data(const Conv &conv, int64_t slices,
                                                         const Constant *weights = nullptr);
// Without strides, the source gradient is a convolution by flipped weights: its geometry, and the kernel where the
// direct or depthwise one applies.
std::optional<Conv> turned(const Conv &conv);
[[gnu::cold]] std::unique_ptr<Kernel> turned_conv_data(const Conv &conv, int64_t slices);
[[gnu::cold]] std::unique_ptr<Kernel> planar_conv_data(const Conv &conv, int64_t slices);
// From products [n, (od,) oh, ow, (kd,) kh, kw, c] of each destination pixel and all weights, without groups and
// dilation along rows. Arguments: products, diff_src.
[[gnu::cold]] std::unique_ptr<Kernel> added_rows(const Conv &conv, int64_t slices);
[[gnu::cold]] std::unique_ptr<Kernel> channels_conv_data(const Conv &conv, int64_t slices);
[[gnu::cold]] std::unique_ptr<Kernel> blocked_conv_data(const Conv &conv, int64_t slices,
                                                        const Constant *weights = nullptr, int tiles = 0);
// How many pairs of a source pixel and a tap it gathers channels for, whether they meet or not.
double gathered_rows(const Conv &conv);
[[gnu::cold]] std::unique_ptr<Kernel> reference_conv_data(const Conv &conv, int64_t slices);

// The weight gradient. Arguments: src, diff_dst, diff_weights, diff_bias (if `bias`); one of the two may be null.
// oneDNN's slices make partial sums, which the last slice to finish adds in slice order; ours make none.
[[gnu::cold]] std::unique_ptr<Kernel> dnnl_conv_weights(const Conv &conv, int64_t slices);
// Images without groups and without dilation along rows.
[[gnu::cold]] std::unique_ptr<Kernel> direct_conv_weights(const Conv &conv, int64_t slices);
[[gnu::cold]] std::unique_ptr<Kernel> channels_conv_weights(const Conv &conv, int64_t slices);
[[gnu::cold]] std::unique_ptr<Kernel> blocked_conv_weights(const Conv &conv, int64_t slices, int tiles = 0);
[[gnu::cold]] std::unique_ptr<Kernel> reference_conv_weights(const Conv &conv, int64_t slices);

}  // namespace dl4::kernels
