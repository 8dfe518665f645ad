// concat: joins values along an axis.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// Splits source 0 into parts shaped like sources 1, 2, ...
struct SplitLikeOp final : OpOf<SplitLikeOp, "split_like", attributes::SplitLike> {
  std::vector<Operand> infer(Operands src) const override {
    std::vector<Operand> dst;
    for (const Operand &part : src.subspan(1)) dst.push_back({src[0].dtype, part.shape});
    return dst;
  }
  void gradient(Gradient &g) const override {
    std::vector<Id> parts;
    for (int i = 0; i < g.destinations(); ++i)
      parts.push_back(g.diff_dst(i) != none ? g.diff_dst(i)
                                            : fill(g.e, DType::f32, 0, g.src(i + 1), g.e.rank(g.src(i + 1)), {}));
    g.set(0, concat(g.e, std::move(parts), axis));
  }
  bool reads(int src) const override { return src == 0; }
};

struct ConcatOp final : OpOf<ConcatOp, "concat", attributes::Concat> {
  bool takes_strings() const override { return true; }

  std::vector<Operand> infer(Operands src) const override {
    Shape joined = src[0].shape;
    for (const Operand &x : src.subspan(1)) {
      if (x.dtype != src[0].dtype)
        fail(Code::invalid_argument, "concat expects equal dtypes, got ", src[0].dtype, " and ", x.dtype);
      int64_t length = free_dim;
      if (x.shape.rank() == joined.rank() && joined[axis] != free_dim && x.shape[axis] != free_dim)
        length = checked_add(joined[axis], x.shape[axis]);
      if (x.shape.rank() != joined.rank() || !compatible(joined.with(axis, 0), x.shape.with(axis, 0)))
        fail(Code::shape_mismatch, "concat: ", src[0].shape, " and ", x.shape, " differ outside axis ", axis);
      joined = same_shape(op, joined.with(axis, length), x.shape.with(axis, length));
    }
    return {{src[0].dtype, joined}};
  }

  void gradient(Gradient &g) const override {
    std::vector<Id> src{g.diff_dst()};
    for (int i = 0; g.has(i); ++i) src.push_back(g.src(i));
    auto parts = g.e.step(make<SplitLikeOp>(axis), src);
    for (size_t i = 0; i < parts.size(); ++i)
      if (g.wants(static_cast<int>(i))) g.set(static_cast<int>(i), parts[i]);
  }
};

}  // namespace

Id concat(Emit &e, std::vector<Id> xs, int axis) {
  if (xs.empty()) fail(Code::invalid_argument, "concat of nothing");
  axis = e.shape(xs[0]).axis(axis);
  if (xs.size() == 1) return xs[0];
  return e.value(make<ConcatOp>(axis), std::move(xs));
}

}  // namespace dl4::ops
