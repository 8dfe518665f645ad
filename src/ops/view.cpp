// view: a range of a flat block in another shape, without a copy.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// Zeros in the shape of source 1, with source 0 at element `offset`.
struct PlaceLikeOp final : OpOf<PlaceLikeOp, "place_like", attributes::PlaceLike> {
  std::vector<Operand> infer(Operands src) const override { return {{src[0].dtype, src[1].shape}}; }
  void gradient(Gradient &g) const override {
    g.set(0, view(g.e, g.diff_dst(), offset, g.e.shape(g.src(0))));
  }
  bool reads(int src) const override { return src == 0; }
};

struct ViewOp final : OpOf<ViewOp, "view", attributes::View> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    if (x.rank() != 1) fail(Code::shape_mismatch, "view expects a flat block, got ", x);
    int64_t end = checked_add(offset, shape.elements());
    if (offset < 0 || (x[0] != free_dim && end > x[0]))
      fail(Code::shape_mismatch, "view: ", shape, " from element ", offset, " is outside ", x);
    return {{src[0].dtype, shape}};
  }
  void gradient(Gradient &g) const override {
    g.set(0, g.e.value(make<PlaceLikeOp>(offset), {g.diff_dst(), g.src(0)}));
  }
  bool is_view() const override { return true; }
  int64_t view_offset() const override { return checked_mul(offset, element_bytes); }
};

}  // namespace

Id view(Emit &e, Id x, int64_t offset, const Shape &shape) {
  if (!shape.known()) fail(Code::invalid_argument, "view: the shape ", shape, " must be known");
  return e.value(make<ViewOp>(offset, shape, size_of(e.dtype(x))), {x});
}

}  // namespace dl4::ops
