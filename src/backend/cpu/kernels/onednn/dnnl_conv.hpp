// oneDNN descriptors of a part of a convolution, shared by the forward and gradient kernels.
#pragma once

#include <string>
#include <utility>

#include "backend/cpu/kernels/conv/conv_cut.hpp"
#include "backend/cpu/kernels/onednn/dnnl_kernel.hpp"

namespace dl4::kernels::onednn {

inline constexpr auto direct = dnnl::algorithm::convolution_direct;

// The convolution without outer taps that meet padding only, as occurs with dilation: the size of oneDNN's generated
// code grows with the width of the padding.
struct LiveConv : Conv {
  int64_t weights_h, weights_w;  // of all weights
  int64_t first_weight = 0;      // offset of the live ones
  bool is_whole = true;

  explicit LiveConv(const Conv &whole) : Conv(whole), weights_h(whole.kh), weights_w(whole.kw) {
    auto [front, back] = live(kd, dil_d, stride_d, pad_front, d, od);
    auto [top, bottom] = live(kh, dil_h, stride_h, pad_top, h, oh);
    auto [left, right] = live(kw, dil_w, stride_w, pad_left, w, ow);
    is_whole = back - front == kd && bottom - top == kh && right - left == kw;
    const int64_t row = checked_add(checked_mul(front, kh), top);
    first_weight = checked_mul(checked_add(checked_mul(row, kw), left), c / groups, oc);
    keep(front, back, kd, dil_d, pad_front);
    keep(top, bottom, kh, dil_h, pad_top);
    keep(left, right, kw, dil_w, pad_left);
  }

  // False if no tap is left, or if the code for the padding (some 300 bytes a column) would grow without bound.
  bool suits() const {
    constexpr int64_t most = 4096;
    int64_t pad_right = checked_add(checked_mul(ow - 1, stride_w), reach(kw, dil_w)) - w - pad_left;
    return !is_empty() && pad_left <= most && pad_right <= most && pad_front <= most && pad_behind() <= most;
  }
  // Whether oneDNN's convolution is correct.
  bool suits_forward() const {
    // 2.6.3's "brgconv:avx512_core" sums wrong pixels if windows are wider than the row and it has more pixels than the
    // 28 it processes at once: 41 pixels, 42 taps, 20 pixels of padding on the left, 41 windows.
    return suits() && !(reach(kw, dil_w) > w && ow > 28);
  }
  // Whether oneDNN's source gradient is correct.
  bool suits_by_source() const {
    // 3.7's "jit_uni_ncsp_convolution:matmul" leaves elements unwritten if one tap meets one channel: 6 images of
    // 1x5x1, kernel 1x1x3 of dilation 4, 4 pixels of padding on either side.
    return suits() && !(is_one_tap() && c == 1 && oc == 1);
  }
  // Whether oneDNN's weight gradient is correct and stays within its buffers.
  bool suits_by_weights() const {
    // With more padding in front than a depth stride, 2.6.3's "jit:avx512_core" sums planes other than those that taps
    // meet and writes past its sums: 4 planes, 4 taps, strides of 2, 3 planes of padding on either side.
    if (stride_d > 1 && pad_front > stride_d) return false;
    // It sums wrong pixels if strided windows start in padding wider than half of the 28 pixels it processes at once:
    // 60 pixels, 4 taps of dilation 7, strides of 2, 19 pixels of padding on the left, 37 windows.
    if (stride_w > 1 && pad_left > 14 && ow > 28) return false;
    // Its "jit_1x1" writes past the scratchpad for strided windows and fewer channels than vector lanes: 2 images of
    // 154x154x8, one tap, strides of 2.
    const bool steps = stride_d > 1 || stride_h > 1 || stride_w > 1;
    return suits() && !(is_one_tap() && steps && c / groups < 16);
  }
  int64_t whole_weights_bytes(const Conv &whole) const {
    return checked_mul(whole.kd, whole.kh, whole.kw, c / groups, oc, sizeof(float));
  }
  int64_t pad_behind() const { return checked_add(checked_mul(od - 1, stride_d), reach(kd, dil_d)) - d - pad_front; }

 private:
  bool is_one_tap() const { return kd == 1 && kh == 1 && kw == 1; }
  // The taps [first, last) of an axis that meet the n positions of its source.
  static std::pair<int64_t, int64_t> live(int64_t taps, int64_t dilation, int64_t stride, int64_t pad, int64_t n,
                                          int64_t out) {
    int64_t first = 0, last = taps, most = checked_mul(out - 1, stride) - pad;  // position of tap 0 of the last window
    while (first < last && most + checked_mul(first, dilation) < 0 && checked_mul(first + 1, dilation) <= pad)
      first++;  // no negative pad
    while (first < last && checked_mul(last - 1, dilation) - pad >= n) last--;
    return {first, last};
  }
  static void keep(int64_t first, int64_t last, int64_t &taps, int64_t &dilation, int64_t &pad) {
    taps = last - first;
    pad -= checked_mul(first, dilation);
    if (taps <= 1) dilation = 1;
  }
};

struct ConvDescs {
  Desc src, dst, bias, raw_weights, any_weights;  // bias: empty if there is none
  Dims strides, dilations, pad_before, pad_after;

  ConvDescs(const LiveConv &c, const ConvPart &p) {
    auto lying = [&](int64_t n, int64_t planes, int64_t rows, int64_t cols, int64_t channels) {
      const int64_t row = checked_mul(cols, channels), plane = checked_mul(rows, row);
      Dims dims{n, channels, rows, cols}, lies{checked_mul(planes, plane), 1, row, channels};
      if (c.is_3d()) dims.insert(dims.begin() + 2, planes), lies.insert(lies.begin() + 2, plane);
      return strided(dims, lies);
    };
    src = lying(p.images(), c.d, p.src_rows(), c.w, c.c);
    dst = lying(p.images(), c.od, p.dst_rows(), c.ow, c.oc);
    if (c.bias) bias = plain({c.oc});
    int64_t in = c.c / c.groups, out = c.oc / c.groups, tap = checked_mul(in, c.oc),
            row = checked_mul(c.weights_w, tap);
    Dims dims{out, in, c.kh, c.kw}, lies{1, c.oc, row, tap};
    if (c.is_3d()) dims.insert(dims.begin() + 2, c.kd), lies.insert(lies.begin() + 2, checked_mul(c.weights_h, row));
    if (c.groups > 1) {
      dims.insert(dims.begin(), c.groups);
      lies.insert(lies.begin(), out);
    }
    raw_weights = onednn::strided(dims, lies);
    any_weights = any(dims);
    this->strides = {c.stride_h, c.stride_w};
    dilations = {c.dil_h - 1, c.dil_w - 1};
    pad_before = {p.pad_top, c.pad_left};
    pad_after = {p.pad_bottom, checked_add(checked_mul(c.ow - 1, c.stride_w), reach(c.kw, c.dil_w)) - c.w - c.pad_left};
    if (!c.is_3d()) return;
    this->strides.insert(this->strides.begin(), c.stride_d);
    dilations.insert(dilations.begin(), c.dil_d - 1);
    pad_before.insert(pad_before.begin(), c.pad_front);
    pad_after.insert(pad_after.begin(), c.pad_behind());
  }
};

// Key of all that the primitives for a part depend on.
inline std::string key_of(const LiveConv &c, const ConvPart &p) {
  std::string key = c.bias ? "bias" : "";
  for (int64_t v : {p.images(), p.src_rows(), p.dst_rows(), p.pad_top, c.w, c.c, c.ow, c.oc, c.kh, c.kw, c.stride_h,
                    c.stride_w, c.dil_h, c.dil_w, c.pad_left, c.groups, c.weights_w})
    key += ' ' + std::to_string(v);
  if (c.is_3d())
    for (int64_t v : {c.d, c.od, c.kd, c.stride_d, c.dil_d, c.pad_front, c.weights_h}) key += ' ' + std::to_string(v);
  return key;
}

// Byte offset of a part's first image row.
inline int64_t src_offset(const Conv &c, const ConvPart &p) {
  return checked_mul(checked_add(checked_mul(p.n0, c.d, c.h), p.src0), c.w, c.c, sizeof(float));
}
inline int64_t dst_offset(const Conv &c, const ConvPart &p) {
  return checked_mul(checked_add(checked_mul(p.n0, c.od, c.oh), p.dst0), c.ow, c.oc, sizeof(float));
}

// Also the hint that the gradients need, of training.
inline auto forward(const ConvDescs &d, dnnl::prop_kind kind = dnnl::prop_kind::forward_training) {
  return make<dnnl::convolution_forward>(engine(), attributes(), kind, direct, d.src, d.any_weights, d.bias, d.dst,
                                         d.strides, d.dilations, d.pad_before, d.pad_after);
}

// The weights operand of a call that expects them as `wanted`: packed if constant, else reordered in each run into the
// slice's own scratch. The reorder costs a slice less than 1 % at training batch sizes; slices must not wait for each
// other.
inline Operand weights_operand(const LiveConv &c, const ConvPart &p, const Desc &wanted, const Constant *constant,
                               PackedForms &own, Calls &calls, Scratch &scratch) {
  const Desc raw = ConvDescs(c, p).raw_weights;
  const int64_t first = checked_mul(c.first_weight, sizeof(float));
  if (raw == wanted) return {DNNL_ARG_WEIGHTS, raw, 1, first};
  if (constant) {
    auto packed = pack({constant->data, constant->forms ? constant->forms : &own}, c.first_weight, raw, wanted, "conv");
    return {DNNL_ARG_WEIGHTS, wanted, Operand::fixed, 0, -1, packed->memory, packed};
  }
  int64_t at = scratch.take(static_cast<int64_t>(wanted.get_size()));
  calls.push_back(reorder({DNNL_ARG_FROM, raw, 1, first}, {DNNL_ARG_TO, wanted, Operand::in_scratch, at}, scratch));
  return {DNNL_ARG_WEIGHTS, wanted, Operand::in_scratch, at};
}

}  // namespace dl4::kernels::onednn
