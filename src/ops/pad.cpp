// pad: zero padding along an axis, or cropping.
#include "ops/pad.hpp"

#include <algorithm>

#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {

std::vector<Operand> PadOp::infer(Operands src) const {
  const auto cut = [](int64_t v) { return std::max<int64_t>(-v, 0); };
  const Shape &x = src[0].shape;
  if (x[axis] == free_dim) return {src[0]};
  if (cut(before) + cut(after) > x[axis])
    fail(Code::shape_mismatch, "pad: ", cut(before), " and ", cut(after), " can't be cut off axis ", axis, " of ", x);
  return {{src[0].dtype, x.with(axis, checked_add(x[axis], before, after))}};
}

void PadOp::gradient(Gradient &g) const { g.set(0, pad(g.e, g.diff_dst(), axis, -before, -after)); }

Id pad(Emit &e, Id x, int axis, int64_t before, int64_t after) {
  axis = e.shape(x).axis(axis);
  for (int64_t v : {before, after})
    if (v < -max_dim || v > max_dim) fail(Code::invalid_argument, "pad: ", v, " is outside +-", max_dim);
  if (before == 0 && after == 0) return x;
  return e.value(std::make_shared<PadOp>(axis, before, after), {x});
}

}  // namespace dl4::ops
