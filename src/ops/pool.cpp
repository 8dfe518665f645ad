// Max and average pooling over images, sequences or volumes, and their gradient.

#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"
#include "ops/windows.hpp"

namespace dl4::ops {
namespace {

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
