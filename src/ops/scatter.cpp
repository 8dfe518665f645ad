// gather: rows of a table by index. pick: the element of each row at its label. scatter_add and row_sums: rows summed
// by id, as a table or as the distinct rows.
// segment_sum, segment_max, segment_softmax, segment_gather: rows by segment id.
#include "ops/attributes.hpp"
#include "ops/matched.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct GatherOp final : OpOf<GatherOp, "gather", attributes::Gather> {
  bool takes_strings() const override { return true; }
  std::vector<Operand> infer(Operands src) const override {
    const Shape &table = src[0].shape;
    if (table.rank() < 1) fail(Code::shape_mismatch, "gather expects a table of rows, got ", table);
    want_index("ids", src[1]);
    return {{src[0].dtype, src[1].shape.joined(table.last(table.rank() - 1))}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, scatter_add(g.e, g.diff_dst(), g.src(1), g.src(0)));
    g.stop(1);
  }
};

struct PickGradOp final : OpOf<PickGradOp, "pick_grad", attributes::PickGrad> {
  std::vector<Operand> infer(Operands src) const override { return {{DType::f32, src[3].shape}}; }
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, pick(g.e, g.diff_dst(), g.src(1), g.src(2)));
    g.stop(1);
  }
  bool reads(int src) const override { return src < 3; }
};

struct PickOp final : OpOf<PickOp, "pick", attributes::Pick> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    want_index("class numbers", src[1]);
    const Shape &x = src[0].shape;
    if (x.rank() != 2) fail(Code::shape_mismatch, "pick expects rows (N, C), got ", x);
    if (x[1] == 0 && x[0] > 0) fail(Code::shape_mismatch, "expected at least one class, got scores of shape ", x);
    if (src[1].shape.rank() != 1 || !compatible(src[1].shape, x.first(1)))
      fail(Code::shape_mismatch, "expected a class number for each row of ", x, ", got ", src[1].shape);
    Shape y = same_shape(op, x.first(1), src[1].shape);
    if (src[2].present) {
      want_type("the flags of pick", src[2], DType::boolean);
      y = same_shape(op, y, src[2].shape);
    }
    return {{DType::f32, y}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, g.e.value(make<PickGradOp>(), {g.diff_dst(), g.src(1), g.src(2), g.src(0)}));
    g.stop(1);
  }
};

// One row of the table's shape (source 2) for each id (source 1).
void want_rows(const char *op, Operands src) {
  want_float(op, src[0]);
  want_index("ids", src[1]);
  const Shape &table = src[2].shape;
  if (table.rank() < 1) fail(Code::shape_mismatch, op, " expects a table of rows, got ", table);
  same_shape(op, src[0].shape, src[1].shape.joined(table.last(table.rank() - 1)));
}

// The sums of scatter_add for the distinct ids only, in id order.
struct RowSumsOp final : NotDifferentiable<RowSumsOp, "row_sums", attributes::RowSums> {
  std::vector<Operand> infer(Operands src) const override {
    want_rows(op, src);
    int64_t n = src[1].shape.known() ? src[1].shape.elements() : free_dim;
    const Shape &table = src[2].shape;
    return {{DType::i64, {n}}, {DType::f32, Shape{n}.joined(table.last(table.rank() - 1))}};
  }
  bool reads(int src) const override { return src < 2; }
};

}  // namespace

Id gather(Emit &e, Id table, Id ids) { return e.value(make<GatherOp>(), {table, ids}); }

Id pick(Emit &e, Id x, Id labels, Id valid) { return e.value(make<PickOp>(), {x, labels, valid}); }

std::vector<Operand> ScatterAddOp::infer(Operands src) const {
  want_rows("scatter_add", src);
  return {{DType::f32, src[2].shape}};
}

void ScatterAddOp::gradient(Gradient &g) const {
  if (g.wants(0)) g.set(0, gather(g.e, g.diff_dst(), g.src(1)));
  g.stop(1);
}

// Each slice reads all ids in order and adds what belongs to its part of the table, so the bits don't depend on the
// cut. Ids out of range were a fault of the forward step.
Id scatter_add(Emit &e, Id rows, Id ids, Id table) {
  return e.value(std::make_shared<ScatterAddOp>(), {rows, ids, table});
}

RowSums row_sums(Emit &e, Id rows, Id ids, Id table) {
  auto dst = e.step(make<RowSumsOp>(), {rows, ids, table});
  return {dst[0], dst[1]};
}

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
