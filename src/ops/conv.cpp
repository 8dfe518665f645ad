// Convolutions over NHWC with a bias and an activation.
#include "ops/conv.hpp"
#include "ops/op.hpp"

#include "ops/wants.hpp"
#include "ops/windows.hpp"

namespace dl4::ops {

std::vector<Operand> ConvOp::infer(Operands src) const {
  for (const Operand &o : src) want_float("conv", o);
  Shape x = src[0].shape;
  for (int i = 0; i < static_cast<int>(zeros.before.size()); ++i)
    if (x[i + 1] != free_dim) x = x.with(i + 1, checked_add(x[i + 1], before(i), after(i)));
  Shape y = conv_shape("conv", how, x, src[1].shape);
  if (fused.bias && !compatible(src[2].shape, Shape{y.last()}))
    fail(Code::shape_mismatch, "conv: expected a bias of shape ", Shape{y.last()}, ", got ", src[2].shape);
  return {{DType::f32, y}};
}

void ConvOp::gradient(Gradient &g) const {
  if (fused.activation || !zeros.before.empty()) fail(Code::internal, "conv: a fused step has no gradient");
  Emit &e = g.e;
  Id dy = g.diff_dst();
  if (g.wants(0)) g.set(0, conv_data(e, dy, g.src(1), g.src(0), how));
  if (g.wants(1)) {
    auto [weights, bias] = conv_weights(e, g.src(0), dy, g.src(1), g.wants(2), how);
    g.set(1, weights);
    if (g.wants(2)) g.set(2, bias);
  } else if (g.wants(2)) {
    std::vector<int> places;
    for (int i = 0; i + 1 < e.rank(dy); ++i) places.push_back(i);
    g.set(2, reduce(e, Reduce::sum, dy, places));
  }
}

void check(const char *op, const Conv &how) {
  if (how.strides.empty() || how.strides.size() > 3 || how.dilation.size() != how.strides.size())
    fail(Code::invalid_argument, op, ": expected strides and dilation_rate of one to three axes, got ",
         numbers(how.strides), " and ", numbers(how.dilation));
  for (int64_t s : how.strides)
    if (s < 1) fail(Code::invalid_argument, op, ": strides must be at least 1, got ", s);
  for (int64_t d : how.dilation)
    if (d < 1) fail(Code::invalid_argument, op, ": dilation_rate must be at least 1, got ", d);
  if (how.groups < 1) fail(Code::invalid_argument, op, ": groups must be at least 1, got ", how.groups);
}

Windows conv_windows(const char *op, const Conv &how, int axis, int64_t n, int64_t taps) {
  const auto i = static_cast<size_t>(axis);
  const bool unpadded = how.padding == Padding::causal && i + 1 < how.strides.size();
  return windows(op, "kernel_size", n, taps, how.strides[i], how.dilation[i], unpadded ? Padding::valid : how.padding);
}

Shape conv_shape(const char *op, const Conv &how, const Shape &x, const Shape &w) {
  constexpr const char *axes[] = {"time", "height, width", "depth, height, width"};
  const int spatial = static_cast<int>(how.strides.size()), rank = spatial + 2;
  if (x.rank() != rank)
    fail(Code::shape_mismatch, op, ": expected an input of ", rank, " axes (batch, ", axes[spatial - 1],
         ", channels), got ", x);
  if (w.rank() != rank || !w.known())
    fail(Code::shape_mismatch, op, ": expected a kernel of ", rank, " known axes, got ", w);
  if (w.last() % how.groups != 0)
    fail(Code::invalid_argument, op,
         ": the number of filters must be divisible by the number of groups, got groups=", how.groups,
         ", filters=", w.last());
  if (x.last() != free_dim && x.last() % how.groups != 0)
    fail(Code::shape_mismatch, op, ": the number of input channels must be divisible by the number of groups, got ",
         "groups=", how.groups, ", input channels=", x.last());
  if (x.last() != free_dim && x.last() / how.groups != w[-2])
    fail(Code::shape_mismatch, op, ": expected ", checked_mul(w[-2], how.groups), " input channels, got ", x.last(),
         " in shape ", x);
  Shape y = x.with(rank - 1, w.last());
  for (int i = 0; i < spatial; ++i) y = y.with(i + 1, conv_windows(op, how, i, x[i + 1], w[i]).out);
  return y;
}

Id conv(Emit &e, Id x, Id weights, Id bias, Conv how) {
  check("conv", how);
  how.bfloat16 |= e.bfloat16;
  std::vector<Id> src{x, weights};
  if (bias != none) src.push_back(bias);
  return e.value(std::make_shared<ConvOp>(how, Fused{bias != none}), src);
}

}  // namespace dl4::ops
