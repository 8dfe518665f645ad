// How oneDNN is told about a part of a convolution: what its forward and gradient kernels share.
#pragma once

#include "kernels/conv_cut.hpp"
#include "kernels/dnnl_kernel.hpp"

namespace dl4::kernels::onednn {

struct ConvDescs {
  Desc src, dst, bias, raw_weights, any_weights;
  Dims strides, dilations, pad_before, pad_after;

  ConvDescs(const Conv &c, const ConvPart &p) {
    auto nhwc = [](int64_t n, int64_t rows, int64_t cols, int64_t channels) {
      return strided({n, channels, rows, cols},
                     {checked_mul(rows, cols, channels), 1, checked_mul(cols, channels), channels});
    };
    src = nhwc(p.images(), p.src_rows(), c.w, c.c);
    dst = nhwc(p.images(), p.dst_rows(), c.ow, c.oc);
    bias = plain({c.oc});
    int64_t in = c.c / c.groups, out = c.oc / c.groups, tap = checked_mul(in, c.oc);
    Dims dims{out, in, c.kh, c.kw}, lies{1, c.oc, checked_mul(c.kw, tap), tap};
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
  }
};

// Byte offsets of a part's first image row.
inline int64_t src_offset(const Conv &c, const ConvPart &p) {
  return checked_mul(checked_add(checked_mul(p.n0, c.h), p.src0), c.w, c.c, sizeof(float));
}
inline int64_t dst_offset(const Conv &c, const ConvPart &p) {
  return checked_mul(checked_add(checked_mul(p.n0, c.oh), p.dst0), c.ow, c.oc, sizeof(float));
}

// The forward descriptor that the gradients want as a hint.
inline auto forward_hint(const ConvDescs &d, bool bias) {
  constexpr auto training = dnnl::prop_kind::forward_training;
  constexpr auto direct = dnnl::algorithm::convolution_direct;
  if (bias)
    return make<dnnl::convolution_forward>(engine(), attributes(), training, direct, d.src, d.any_weights, d.bias,
                                           d.dst, d.strides, d.dilations, d.pad_before, d.pad_after);
  return make<dnnl::convolution_forward>(engine(), attributes(), training, direct, d.src, d.any_weights, d.dst,
                                         d.strides, d.dilations, d.pad_before, d.pad_after);
}

// The weights operand of a call that wants them as `wanted`: packed when constant, else put in order by each run, into
// the slice's own scratch. That costs a slice under 1 % at batch sizes of training; waiting for another slice is not
// allowed.
inline Operand weights_operand(const Desc &raw, const Desc &wanted, const Constant *constant, PackedForms &own,
                               Calls &calls, Scratch &scratch) {
  if (raw == wanted) return {DNNL_ARG_WEIGHTS, raw, 1};
  if (constant) {
    auto packed = pack({constant->data, constant->forms ? constant->forms : &own}, 0, raw, wanted, "conv");
    return {DNNL_ARG_WEIGHTS, wanted, Operand::fixed, 0, -1, packed->memory, packed};
  }
  int64_t at = scratch.take(static_cast<int64_t>(wanted.get_size()));
  calls.push_back(reorder({DNNL_ARG_FROM, raw, 1}, {DNNL_ARG_TO, wanted, Operand::in_scratch, at}, scratch));
  return {DNNL_ARG_WEIGHTS, wanted, Operand::in_scratch, at};
}

}  // namespace dl4::kernels::onednn
