// segment_sum, segment_max, segment_softmax, segment_gather: rows by segment id.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

enum SegmentSource { segment_x, segment_ids, segment_like };

// x starts with the axes of ids, and matches those before their last.
void check(const char *op, Operands src, int x_like) {
  want_float(op, src[segment_x]);
  want_type("ids of segments", src[segment_ids], DType::i64);
  const Shape &x = src[segment_x].shape, &ids = src[segment_ids].shape, &like = src[static_cast<size_t>(x_like)].shape;
  const int rank = ids.rank();
  if (rank < 1 || x.rank() < rank || like.rank() < rank ||
      !compatible(x.first(x_like == segment_x ? rank - 1 : rank), ids.first(x_like == segment_x ? rank - 1 : rank)) ||
      !compatible(like.first(rank - 1), ids.first(rank - 1)))
    fail(Code::shape_mismatch, op, ": ids of shape ", ids, " do not fit ", x, x_like == segment_x ? "" : " and ",
         x_like == segment_x ? "" : to_string(like));
}

struct SegmentGatherOp final : OpOf<SegmentGatherOp, "segment_gather", attributes::SegmentGather> {
  std::vector<Operand> infer(Operands src) const override {
    check(op, src, segment_x);
    const Shape &x = src[segment_x].shape, &ids = src[segment_ids].shape;
    return {{DType::f32, ids.joined(x.last(x.rank() - ids.rank()))}};
  }
  void gradient(Gradient &g) const override {
    g.set(0, segment_sum(g.e, g.diff_dst(), g.src(segment_ids), g.src(segment_x)));
  }
};

// Shared by segment_sum and segment_max.
template <class T, Literal op_name, class A>
struct SegmentOp : OpOf<T, op_name, A> {
  std::vector<Operand> infer(Operands src) const override {
    check(T::op, src, segment_like);
    const Shape &x = src[segment_x].shape, &ids = src[segment_ids].shape;
    const int rank = ids.rank();
    return {
        {DType::f32, ids.first(rank - 1).joined({src[segment_like].shape[rank - 1]}).joined(x.last(x.rank() - rank))}};
  }
  bool reads(int src) const override { return src < segment_like; }
};

struct SegmentSumOp final : SegmentOp<SegmentSumOp, "segment_sum", attributes::SegmentSum> {
  void gradient(Gradient &g) const override { g.set(0, segment_gather(g.e, g.diff_dst(), g.src(segment_ids))); }
};

struct SegmentMaxOp final : SegmentOp<SegmentMaxOp, "segment_max", attributes::SegmentMax> {
  // Ties share the gradient evenly, as in TensorFlow.
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    Id x = g.src(segment_x), ids = g.src(segment_ids);
    Id chosen = cast(e, binary(e, Binary::equal, x, segment_gather(e, g.dst(), ids)), DType::f32);
    Id count = binary(e, Binary::max, segment_sum(e, chosen, ids, g.src(segment_like)), e.scalar(1));
    g.set(0, mul(e, chosen, segment_gather(e, div(e, g.diff_dst(), count), ids)));
  }
};

struct SegmentSoftmaxOp final : OpOf<SegmentSoftmaxOp, "segment_softmax", attributes::SegmentSoftmax> {
  std::vector<Operand> infer(Operands src) const override {
    check(op, src, segment_like);
    const Shape &x = src[segment_x].shape;
    return {{DType::f32, same_shape(op, src[segment_ids].shape, x.first(src[segment_ids].shape.rank()))
                             .joined(x.last(x.rank() - src[segment_ids].shape.rank()))}};
  }
  bool reads(int src) const override { return src < segment_like; }
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    Id ids = g.src(segment_ids), weighed = mul(e, g.dst(), g.diff_dst());
    Id mean = segment_gather(e, segment_sum(e, weighed, ids, g.src(segment_like)), ids);
    g.set(0, sub(e, weighed, mul(e, g.dst(), mean)));
  }
};

struct IndicesOp final : StopsGradients<IndicesOp, "indices", attributes::Indices> {
  std::vector<Operand> infer(Operands src) const override { return {{DType::i64, {src[0].shape[axis]}}}; }
  bool reads(int) const override { return false; }
};

template <class T>
Id by_ids(Emit &e, Id x, Id ids, Id like) {
  return e.value(make<T>(), {x, cast(e, ids, DType::i64), like});
}

}  // namespace

Id segment_sum(Emit &e, Id x, Id ids, Id like) { return by_ids<SegmentSumOp>(e, x, ids, like); }
Id segment_max(Emit &e, Id x, Id ids, Id like) { return by_ids<SegmentMaxOp>(e, x, ids, like); }
Id segment_softmax(Emit &e, Id x, Id ids, Id like) { return by_ids<SegmentSoftmaxOp>(e, x, ids, like); }
Id segment_gather(Emit &e, Id x, Id ids) { return e.value(make<SegmentGatherOp>(), {x, cast(e, ids, DType::i64)}); }
Id indices(Emit &e, Id like, int axis) { return e.value(make<IndicesOp>(e.shape(like).axis(axis)), {like}); }

}  // namespace dl4::ops
