// Convolutions over NHWC with a bias and an activation.
#include "ops/conv.hpp"
#include "ops/op.hpp"

#include <algorithm>

#include "dispatch/conv.hpp"
#include "ops/sliced.hpp"
#include "ops/windows.hpp"

namespace dl4::ops {

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

std::unique_ptr<kernels::Kernel> ConvOp::kernel(const Site &site) const {
  kernels::Conv c = conv_at(how, site.src[0].shape, site.src[1].shape);
  c.bias = fused.bias;
  c.epilogue = fused.epilogue();
  if (site.dst[0].shape.elements() == 0) return dispatch::nothing();
  auto weights = site.constant_source(1);
  return dispatch::conv(site, c, weights ? &*weights : nullptr);
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

Id conv(Emit &e, Id x, Id weights, Id bias, const Conv &how) {
  check("conv", how);
  std::vector<Id> src{x, weights};
  if (bias != none) src.push_back(bias);
  return e.value(std::make_shared<ConvOp>(how, Fused{bias != none}), src);
}

}  // namespace dl4::ops
