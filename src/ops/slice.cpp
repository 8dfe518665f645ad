// slice: a range of an axis.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// First index of [begin, begin + size) on an axis of `dim`.
int64_t start(int64_t begin, int64_t dim) { return begin < 0 ? begin + dim : begin; }

// Zeros in the shape of source 1, with source 0 in the range.
struct PadLikeOp final : OpOf<PadLikeOp, "pad_like", attributes::PadLike> {
  std::vector<Operand> infer(Operands src) const override { return {{src[0].dtype, src[1].shape}}; }
  void gradient(Gradient &g) const override {
    g.set(0, slice(g.e, g.diff_dst(), axis, begin, size));
  }
  bool reads(int src) const override { return src == 0; }
};

struct SliceOp final : OpOf<SliceOp, "slice", attributes::Slice> {
  bool takes_strings() const override { return true; }

  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    int64_t dim = x[axis];
    if (size < -1) fail(Code::invalid_argument, "slice: size ", size, " (expected at least 0, or -1: to the end)");
    if (dim == free_dim) return {{src[0].dtype, x.with(axis, size >= 0 ? size : begin < 0 ? -begin : free_dim)}};
    int64_t from = start(begin, dim), taken = size >= 0 ? size : dim - from;
    if (from < 0 || from > dim || taken > dim - from)
      fail(Code::shape_mismatch, "slice: ", size >= 0 ? text(size, " from ", begin) : text("all from ", begin),
           " is outside axis ", axis, " of ", x);
    return {{src[0].dtype, x.with(axis, taken)}};
  }

  void gradient(Gradient &g) const override {
    g.set(0, g.e.value(make<PadLikeOp>(axis, begin, size), {g.diff_dst(), g.src(0)}));
  }
};

}  // namespace

Id slice(Emit &e, Id x, int axis, int64_t begin, int64_t size) {
  return e.value(make<SliceOp>(e.shape(x).axis(axis), begin, size), {x});
}

}  // namespace dl4::ops
