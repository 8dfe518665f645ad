// Gradients of a convolution's input and weights.
#include "ops/attributes.hpp"
#include "ops/conv.hpp"
#include "ops/op.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

void check_diff(const char *op, const Conv &how, Operands src, const Shape &x, const Shape &weights, const Shape &dy) {
  for (const Operand &o : src) want_float(op, o);
  Shape y = conv_shape(op, how, x, weights);
  if (!compatible(y, dy)) fail(Code::shape_mismatch, op, ": expected a gradient of shape ", y, ", got ", dy);
}

// dy, weights, x (only its shape) -> dx.
struct ConvDataOp final : OpOf<ConvDataOp, "conv_data", attributes::ConvData> {
  bool reads(int src) const override { return src != 2; }

  std::vector<Operand> infer(Operands src) const override {
    check_diff(op, how, src, src[2].shape, src[1].shape, src[0].shape);
    return {{DType::f32, src[2].shape}};
  }

  // dx is linear in dy and in the weights, so its gradients are convolutions too.
  void gradient(Gradient &g) const override {
    Id ddx = g.diff_dst();
    if (g.wants(0)) g.set(0, conv(g.e, ddx, g.src(1), none, how));
    if (g.wants(1)) g.set(1, conv_weights(g.e, ddx, g.src(0), g.src(1), false, how).weights);
  }
};

// x, dy, weights (only their shape) -> dweights, and the bias gradient if wanted.
struct ConvWeightsOp final : OpOf<ConvWeightsOp, "conv_weights", attributes::ConvWeights> {
  bool reads(int src) const override { return src != 2; }

  std::vector<Operand> infer(Operands src) const override {
    const Shape &w = src[2].shape;
    check_diff(op, how, src, src[0].shape, w, src[1].shape);
    std::vector<Operand> dst{{DType::f32, w}};
    if (bias) dst.push_back({DType::f32, {w.last()}});
    return dst;
  }

  // Both are linear in x and in dy.
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    const Id given = g.diff_dst(), of_bias = bias ? g.diff_dst(1) : none;
    const Id weights = given == none ? none : reshape_like(e, given, g.src(2));  // with known dims
    if (g.wants(0) && weights != none) g.set(0, conv_data(e, g.src(1), weights, g.src(0), how));
    if (weights == none) g.stop(0);
    if (!g.wants(1)) return;
    if (weights == none)
      g.set(1, broadcast_like(e, of_bias, g.src(1)));
    else
      g.set(1, conv(e, g.src(0), weights, of_bias, how));
  }
};

}  // namespace

Id conv_data(Emit &e, Id dy, Id weights, Id x, const Conv &how) {
  return e.value(make<ConvDataOp>(how), {dy, weights, x});
}

ConvWeights conv_weights(Emit &e, Id x, Id dy, Id weights, bool bias, const Conv &how) {
  auto dst = e.step(make<ConvWeightsOp>(how, bias), {x, dy, weights});
  return {dst[0], bias ? dst[1] : none};
}

}  // namespace dl4::ops
