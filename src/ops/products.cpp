// Matrix products with NumPy's broadcasting of leading axes, bias and activation.
// Convolutions over NHWC with a bias and an activation, the gradients of their input and weights, and conv_transpose:
// the input gradient, used forward. Max and average pooling over images, sequences or volumes, and their gradient.
#include "ops/attributes.hpp"
#include "ops/conv.hpp"
#include "ops/matched.hpp"

namespace dl4::ops {
namespace {

// The axes before the last two.
Shape batch_of(const Shape &s) { return s.first(s.rank() - 2); }

// Whether dB is a single product over all rows of all items.
bool is_flat(Emit &e, const MatMul &how, Id a, Id b) {
  if (e.rank(b) != 2 || e.rank(a) == 2 || how.transpose_a || !e.shape(b).known()) return false;
  return e.shape(b).elements() > 0;  // a free dim can't be inferred without elements
}

Id flat_weights(Emit &e, const MatMul &how, Id a, Id b, Id dc) {
  const Shape w = e.shape(b);
  int64_t k = w[how.transpose_b ? 1 : 0], n = w[how.transpose_b ? 0 : 1];
  Id rows = reshape(e, a, 0, {free_dim, k}), diff = reshape(e, dc, 0, {free_dim, n});
  const MatMul product{true, false, how.bfloat16};
  return how.transpose_b ? matmul(e, diff, rows, product) : matmul(e, rows, diff, product);
}

// The gradient of v, summed over batch axes along which v was broadcast against `other`.
Id summed(Emit &e, Id diff, Id v, Id other) {
  bool same = e.rank(other) == 2 || e.shape(diff).rank() == e.rank(v);
  for (int i = 0; e.rank(other) > 2 && same && i + 2 < e.rank(v); ++i)
    same = e.shape(v)[i] != free_dim && e.shape(v)[i] == e.shape(diff)[i];
  return same ? diff : sum_like(e, diff, v);
}

}  // namespace

std::vector<Operand> MatMulOp::infer(Operands src) const {
  const Shape &a = src[0].shape, &b = src[1].shape;
  for (const Operand &o : src) want_float("matmul", o);
  if (a.rank() < 2 || b.rank() < 2)
    fail(Code::shape_mismatch, "matmul: both inputs need at least 2 axes, got ", a, " and ", b);
  int64_t m = a[how.transpose_a ? -1 : -2], ka = a[how.transpose_a ? -2 : -1];
  int64_t n = b[how.transpose_b ? -2 : -1], kb = b[how.transpose_b ? -1 : -2];
  if (ka != kb && ka != free_dim && kb != free_dim)
    fail(Code::shape_mismatch, "matmul: inner dimensions must be equal, got ", ka, " and ", kb, " from shapes ", a,
         " and ", b);
  if (fused.bias) {
    if (!compatible(src[2].shape, Shape{n}))
      fail(Code::shape_mismatch, "matmul: expected a bias of shape ", Shape{n}, ", got ", src[2].shape);
    if (n == free_dim) n = src[2].shape[0];
  }
  return {{DType::f32, broadcast(batch_of(a), batch_of(b)).joined({m, n})}};
}

void MatMulOp::gradient(Gradient &g) const {
  if (fused.activation) fail(Code::internal, "matmul: a fused step has no gradient");
  Emit &e = g.e;
  Id a = g.src(0), b = g.src(1), dc = g.diff_dst();
  bool ta = how.transpose_a, tb = how.transpose_b;
  auto product = [&](Id left, Id right, bool transpose_left, bool transpose_right) {
    return matmul(e, left, right, {transpose_left, transpose_right, how.bfloat16});
  };
  if (g.wants(0)) g.set(0, summed(e, ta ? product(b, dc, tb, true) : product(dc, b, false, !tb), a, b));
  if (g.wants(1)) {
    if (is_flat(e, how, a, b))
      g.set(1, flat_weights(e, how, a, b, dc));
    else
      g.set(1, summed(e, tb ? product(dc, a, true, ta) : product(a, dc, !ta, false), b, a));
  }
  if (g.wants(2)) {
    std::vector<int> rows;
    for (int i = 0; i + 1 < e.rank(dc); ++i) rows.push_back(i);
    g.set(2, reduce(e, Reduce::sum, dc, rows));
  }
}

Id matmul(Emit &e, Id a, Id b, MatMul how, Id bias) {
  std::vector<Id> src{a, b};
  how.bfloat16 |= e.bfloat16;
  if (bias != none) src.push_back(bias);
  return e.value(std::make_shared<MatMulOp>(how, Fused{bias != none}), src);
}

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

struct ConvTransposeOp final : OpOf<ConvTransposeOp, "conv_transpose", attributes::ConvTranspose> {
  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &o : src) want_float(op, o);
    const Shape &x = src[0].shape, &w = src[1].shape;
    const int rank = static_cast<int>(how.strides.size()) + 2;
    if (x.rank() != rank || w.rank() != rank || !w.known())
      fail(Code::shape_mismatch, "conv_transpose: expected an input and a known kernel of ", rank, " axes, got ", x,
           " and ", w);
    Shape y = x.with(rank - 1, checked_mul(w[-2], how.groups));
    for (int i = 0; i + 2 < rank; ++i) y = y.with(i + 1, length(i, x[i + 1], w[i]));
    // The convolution of the result must have the shape of x.
    const Shape back = conv_shape("conv_transpose", how, y, w);
    if (!compatible(back, x))
      fail(Code::shape_mismatch, "conv_transpose: an output of ", y, ", as output_padding ", numbers(output_padding),
           " makes it, corresponds to an input ", back, ", got ", x);
    return {{DType::f32, y}};
  }

  void gradient(Gradient &g) const override {
    const Id dy = g.diff_dst();
    if (g.wants(0)) g.set(0, conv(g.e, dy, g.src(1), none, how));
    if (g.wants(1)) g.set(1, conv_weights(g.e, dy, g.src(0), g.src(1), false, how).weights);
  }

 private:
  // Output size along a spatial axis with input size n.
  int64_t length(int axis, int64_t n, int64_t taps) const {
    if (n == free_dim) return n;
    const auto i = static_cast<size_t>(axis);
    const int64_t stride = how.strides[i], reach = checked_add(checked_mul(taps - 1, how.dilation[i]), 1);
    const int64_t extra = output_padding[i], before_last = checked_mul(std::max<int64_t>(n - 1, 0), stride);
    if (how.padding == Padding::same)
      return extra < 0 ? checked_mul(n, stride) : checked_add(before_last, reach % 2, extra);
    return checked_add(before_last, extra < 0 ? std::max(reach, stride) : checked_add(reach, extra));
  }
};

int spatial(const Pool &how) { return static_cast<int>(how.size.size()); }

Shape pool_shape(const Pool &how, const Shape &x) {
  constexpr const char *axes[] = {"time", "height, width", "depth, height, width"};
  if (x.rank() != spatial(how) + 2)
    fail(Code::shape_mismatch, "pool: expected an input of ", spatial(how) + 2, " axes (batch, ",
         axes[spatial(how) - 1], ", channels), got ", x);
  Shape y = x;
  for (int i = 0; i < spatial(how); ++i) y = y.with(i + 1, pool_windows(how, i, x[i + 1]).out);
  return y;
}

// dy, x [, y of a max pooling] -> dx.
struct PoolGradOp final : OpOf<PoolGradOp, "pool_grad", attributes::PoolGrad> {
  bool reads(int src) const override { return src == 0 || !how.average; }

  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &o : src) want_float(op, o);
    same_shape(op, pool_shape(how, src[1].shape), src[0].shape);
    return {{DType::f32, src[1].shape}};
  }

  // For averages it is linear in dy; for maxima it is refused.
  void gradient(Gradient &g) const override {
    if (how.average && g.wants(0)) g.set(0, pool(g.e, g.diff_dst(), how));
  }
};

struct PoolOp final : OpOf<PoolOp, "pool", attributes::Pool> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    return {{DType::f32, pool_shape(how, src[0].shape)}};
  }

  void gradient(Gradient &g) const override {
    Id dy = g.diff_dst();
    std::vector<Id> src{dy, g.src(0)};
    if (!how.average) src.push_back(g.dst());
    g.set(0, g.e.value(make<PoolGradOp>(how), src));
  }
};

}  // namespace

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

Id conv_data(Emit &e, Id dy, Id weights, Id x, const Conv &how) {
  return e.value(make<ConvDataOp>(how), {dy, weights, x});
}

ConvWeights conv_weights(Emit &e, Id x, Id dy, Id weights, bool bias, const Conv &how) {
  auto dst = e.step(make<ConvWeightsOp>(how, bias), {x, dy, weights});
  return {dst[0], bias ? dst[1] : none};
}

Id conv_transpose(Emit &e, Id x, Id weights, Conv how, const std::vector<int64_t> &output_padding) {
  check("conv_transpose", how);
  if (how.padding == Padding::causal || output_padding.size() != how.strides.size())
    fail(Code::invalid_argument, "conv_transpose: expected padding valid or same and output_padding of ",
         how.strides.size(), " axes, got ", how.padding, " and ", numbers(output_padding));
  for (size_t i = 0; i < output_padding.size(); ++i)
    if (output_padding[i] < -1 || output_padding[i] >= how.strides[i])
      fail(Code::invalid_argument, "conv_transpose: output_padding must be less than strides, got ",
           numbers(output_padding), " and ", numbers(how.strides));
  how.bfloat16 |= e.bfloat16;
  return e.value(make<ConvTransposeOp>(how, output_padding), {x, weights});
}

Windows pool_windows(const Pool &how, int axis, int64_t n) {
  const auto i = static_cast<size_t>(axis);
  if (!how.adaptive) return windows("pool", "pool_size", n, how.size[i], how.strides[i], 1, how.padding);
  if (n == 0) fail(Code::shape_mismatch, "pool: an axis without places can't be shared out to ", how.size[i]);
  return {how.size[i], 0};
}

Id pool(Emit &e, Id x, const Pool &how) {
  if (how.padding == Padding::causal) fail(Code::invalid_argument, "pool: padding must be valid or same, got causal");
  if (how.size.empty() || how.size.size() > 3 || how.strides.size() != (how.adaptive ? 0 : how.size.size()))
    fail(Code::invalid_argument, "pool: expected sizes and strides of one to three axes, got ", numbers(how.size),
         " and ", numbers(how.strides));
  for (int64_t s : how.strides)
    if (s < 1) fail(Code::invalid_argument, "pool: strides must be at least 1, got ", s);
  for (int64_t s : how.size)
    if (how.adaptive && s < 1) fail(Code::invalid_argument, "pool: the output's size must be at least 1, got ", s);
  return e.value(make<PoolOp>(how), {x});
}

}  // namespace dl4::ops
