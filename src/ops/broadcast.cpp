// broadcast_like, mean_grad and sum_like: to the shape of another value and back.
#include "ops/broadcast.hpp"

#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// Whether `small` broadcasts to exactly `large`.
void want_broadcast(const char *op, const Shape &small, const Shape &large) {
  bool fits = small.rank() <= large.rank();
  for (int i = 1; fits && i <= small.rank(); ++i)
    fits = small[-i] == 1 || small[-i] == large[-i] || small[-i] == free_dim || large[-i] == free_dim;
  if (!fits) fail(Code::shape_mismatch, op, ": ", small, " does not broadcast to ", large);
}

bool surely_same(const Shape &a, const Shape &b) { return a == b && a.known(); }

}  // namespace

std::vector<Operand> BroadcastOp::infer(Operands src) const {
  if (divided) want_float("mean_grad", src[0]);
  want_broadcast("broadcast", src[0].shape, src[1].shape);
  return {{src[0].dtype, src[1].shape}};
}

void BroadcastOp::gradient(Gradient &g) const {
  Emit &e = g.e;
  Id sum = sum_like(e, g.diff_dst(), g.src(0));
  if (divided) sum = div(e, sum, sum_like(e, fill(e, DType::f32, 1, g.src(1), e.rank(g.src(1)), {}), g.src(0)));
  g.set(0, sum);
}

std::vector<Operand> SumLikeOp::infer(Operands src) const {
  want_float("sum_like", src[0]);
  want_broadcast("sum_like", src[1].shape, src[0].shape);
  return {{DType::f32, src[1].shape}};
}

void SumLikeOp::gradient(Gradient &g) const { g.set(0, broadcast_like(g.e, g.diff_dst(), g.src(0))); }

Id broadcast_like(Emit &e, Id x, Id like) {
  if (surely_same(e.shape(x), e.shape(like))) return x;
  return e.value(std::make_shared<BroadcastOp>(false), {x, like});
}

Id mean_grad(Emit &e, Id x, Id like) {
  if (surely_same(e.shape(x), e.shape(like))) return x;
  return e.value(std::make_shared<BroadcastOp>(true), {x, like});
}

Id sum_like(Emit &e, Id x, Id like) {
  if (surely_same(e.shape(x), e.shape(like))) return x;
  return e.value(std::make_shared<SumLikeOp>(), {x, like});
}

}  // namespace dl4::ops
