// pad: zeros around an axis, or its ends cut off.
#include <algorithm>

#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct PadOp final : OpOf<PadOp, attributes::Pad> {
  using OpOf::OpOf;
  std::string_view name() const override { return "pad"; }

  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    if (x[axis] == free_dim) return {src[0]};
    if (cut(before) + cut(after) > x[axis])
      fail(Code::shape_mismatch, "pad: ", cut(before), " and ", cut(after), " can't be cut off axis ", axis, " of ", x);
    return {{src[0].dtype, x.with(axis, checked_add(x[axis], before, after))}};
  }

  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none) g.set(0, pad(g.e, g.diff_dst(), axis, -before, -after));
  }

 private:
  static int64_t cut(int64_t v) { return std::max<int64_t>(-v, 0); }
};

}  // namespace

Id pad(Emit &e, Id x, int axis, int64_t before, int64_t after) {
  axis = e.shape(x).axis(axis);
  for (int64_t v : {before, after})
    if (v < -max_dim || v > max_dim) fail(Code::invalid_argument, "pad: ", v, " is outside +-", max_dim);
  if (before == 0 && after == 0) return x;
  return e.value(std::make_shared<PadOp>(axis, before, after), {x});
}

}  // namespace dl4::ops
