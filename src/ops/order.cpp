// sort along the last axis; cumulate: cumulative sums and products along an axis.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct SortOp final : OpOf<SortOp, "sort", attributes::Sort> {
  std::vector<Operand> infer(Operands src) const override {
    want_number(op, src[0]);
    if (src[0].shape.rank() < 1) fail(Code::shape_mismatch, "sort expects an axis, got ", src[0].shape);
    return {src[0], {DType::i32, src[0].shape}};
  }
  // Scatters each element's gradient to its source position.
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    const int64_t n = e.shape(g.src(0)).last();
    if (n == free_dim) fail(Code::unsupported, "sort: the gradient expects an axis of known size");
    const Id flat = reshape(e, g.src(0), 0, {free_dim, 1});
    Id rows = reshape(e, g.dst(1), 0, {free_dim, n});
    const Id row = expand_dims(e, cast(e, indices(e, rows, 0), DType::i32), 1);
    const Id first = mul(e, row, e.scalar(static_cast<double>(n), DType::i32));
    const Id ids = reshape(e, add(e, rows, first), 0, {free_dim});
    const Id diff = scatter_add(e, reshape(e, g.diff_dst(), 0, {free_dim, 1}), ids, flat);
    g.set(0, reshape_like(e, diff, g.src(0)));
  }
};

struct CumulateOp final : OpOf<CumulateOp, "cumulate", attributes::Cumulation> {
  std::vector<Operand> infer(Operands src) const override {
    want_number(op, src[0]);
    return {src[0]};
  }
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    Cumulate back = how;
    back.product = false, back.reverse = !how.reverse;
    if (!how.product) return g.set(0, cumulate(e, g.diff_dst(), axis, back));
    // As in TensorFlow: 0 where x is 0.
    const Id x = g.src(0), sum = cumulate(e, mul(e, g.diff_dst(), g.dst()), axis, back), zero = e.scalar(0);
    const Id none_there = binary(e, Binary::equal, x, zero);
    g.set(0, select(e, none_there, zero, div(e, sum, select(e, none_there, e.scalar(1), x))));
  }
};

}  // namespace

Sorted sort(Emit &e, Id x, bool descending) {
  const std::vector<Id> made = e.step(make<SortOp>(descending), {x});
  return {made[0], made[1]};
}
Id cumulate(Emit &e, Id x, int axis, const Cumulate &how) {
  return e.value(make<CumulateOp>(e.shape(x).axis(axis), how), {x});
}

}  // namespace dl4::ops
