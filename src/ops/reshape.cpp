// reshape, reshape_like, expand_dims, squeeze: the same elements in another shape; view: a range of a flat block in
// another shape. Without copies.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// Shared by all: a view of source 0, and the gradient as a view.
template <class T, Literal op_name, class A>
struct Reshaping : OpOf<T, op_name, A> {
  void gradient(Gradient &g) const override { g.set(0, reshape_like(g.e, g.diff_dst(), g.src(0))); }
  bool is_view() const override { return true; }
  bool takes_strings() const override { return true; }
  bool reads(int src) const override { return src == 0; }
};

// The product of the known dims; `free` counts the others.
int64_t product(std::span<const int64_t> dims, int &free) {
  int64_t n = 1;
  free = 0;
  for (int64_t d : dims) {
    if (d == free_dim)
      ++free;
    else
      n = checked_mul(n, d);
  }
  return n;
}

struct ReshapeOp final : Reshaping<ReshapeOp, "reshape", attributes::Reshape> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    if (keep < 0 || keep > x.rank()) fail(Code::invalid_argument, "reshape can't keep ", keep, " axes of ", x);
    auto refuse = [&] { fail(Code::shape_mismatch, "can't reshape ", x, " to ", x.first(keep).joined(tail)); };
    int free, open;
    int64_t rest = product(x.dims().subspan(static_cast<size_t>(keep)), free), made = product(tail.dims(), open);
    if (open > 1) fail(Code::invalid_argument, "reshape: more than one -1 in ", tail);
    Shape full = tail;
    if (free == 0 && open == 0 && made != rest) refuse();
    if (free == 0 && open == 1) {
      if (made == 0 ? rest != 0 : rest % made != 0) refuse();
      for (int i = 0; i < full.rank(); ++i)
        if (full[i] == free_dim) full = full.with(i, made ? rest / made : 0);
    }
    // A single free dim must be an integer.
    if (free == 1 && open == 0 && (rest == 0 ? made != 0 : made % rest != 0)) refuse();
    return {{src[0].dtype, x.first(keep).joined(full)}};
  }
};

struct ReshapeLikeOp final : Reshaping<ReshapeLikeOp, "reshape_like", attributes::ReshapeLike> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape, &like = src[1].shape;
    if (x.known() && like.known() && x.elements() != like.elements())
      fail(Code::shape_mismatch, "can't reshape ", x, " to ", like);
    return {{src[0].dtype, like}};
  }
};

struct ExpandDimsOp final : Reshaping<ExpandDimsOp, "expand_dims", attributes::ExpandDims> {
  std::vector<Operand> infer(Operands src) const override { return {{src[0].dtype, src[0].shape.inserted(axis, 1)}}; }
};

struct SqueezeOp final : Reshaping<SqueezeOp, "squeeze", attributes::Squeeze> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    if (x[axis] != 1 && x[axis] != free_dim) fail(Code::shape_mismatch, "squeeze: axis ", axis, " of ", x, " is not 1");
    return {{src[0].dtype, x.without(axis)}};
  }
};

// Zeros in the shape of source 1, with source 0 at element `offset`.
struct PlaceLikeOp final : OpOf<PlaceLikeOp, "place_like", attributes::PlaceLike> {
  std::vector<Operand> infer(Operands src) const override { return {{src[0].dtype, src[1].shape}}; }
  void gradient(Gradient &g) const override { g.set(0, view(g.e, g.diff_dst(), offset, g.e.shape(g.src(0)))); }
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

Id reshape(Emit &e, Id x, int keep, const Shape &tail) { return e.value(make<ReshapeOp>(keep, tail), {x}); }

Id reshape_like(Emit &e, Id x, Id like) {
  if (e.shape(x) == e.shape(like) && e.shape(x).known()) return x;
  return e.value(make<ReshapeLikeOp>(), {x, like});
}

Id expand_dims(Emit &e, Id x, int axis) { return e.value(make<ExpandDimsOp>(axis), {x}); }
Id squeeze(Emit &e, Id x, int axis) { return e.value(make<SqueezeOp>(axis), {x}); }

Id view(Emit &e, Id x, int64_t offset, const Shape &shape) {
  if (!shape.known()) fail(Code::invalid_argument, "view: the shape ", shape, " must be known");
  return e.value(make<ViewOp>(offset, shape, size_of(e.dtype(x))), {x});
}

}  // namespace dl4::ops
