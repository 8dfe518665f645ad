// sort along the last axis; cumulate: cumulative sums and products along an axis; bucketize, sums per bucket, top k and
// non-maximum suppression.
#include <algorithm>

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

struct BucketizeOp final : StopsGradients<BucketizeOp, "bucketize", attributes::Bucketize> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    want_float("the bounds of bucketize", src[1]);
    if (src[1].shape.rank() != 1) fail(Code::shape_mismatch, "bucketize expects bounds (K), got ", src[1].shape);
    return {{DType::i32, src[0].shape}};
  }
};

// In one slice and in double: counts of large batches stay exact, and the bits don't depend on the threads.
struct BucketSumsOp final : NotDifferentiable<BucketSumsOp, "bucket_sums", attributes::BucketSums> {
  std::vector<Operand> infer(Operands src) const override {
    want_type("the buckets of bucket_sums", src[0], DType::i32);
    if (src[1].present) {
      want_float(op, src[1]);
      same_shape(op, src[0].shape, src[1].shape);
    }
    return {{DType::f32, {count}}};
  }
};

struct TopKOp final : StopsGradients<TopKOp, "top_k", attributes::TopK> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    const Shape &x = src[0].shape;
    if (x.rank() < 1 || (x.last() != free_dim && x.last() < k))
      fail(Code::shape_mismatch, "the ", k, " largest of a last axis: expected at least ", k, " elements, got ", x);
    return {{DType::boolean, x}};
  }
};

struct NonMaxSuppressionOp final
    : StopsGradients<NonMaxSuppressionOp, "non_max_suppression", attributes::NonMaxSuppression> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &boxes = src[0].shape, &scores = src[1].shape;
    if (src[0].dtype != DType::f32 || src[1].dtype != DType::f32 || boxes.rank() != 3 || scores.rank() != 3 ||
        (boxes[2] != 4 && boxes[2] != free_dim) || !agree(boxes[0], scores[0]) || !agree(boxes[1], scores[2]))
      fail(Code::shape_mismatch, "non_max_suppression expects float32 boxes (B, N, 4) and scores (B, C, N), got ",
           src[0].dtype, ' ', boxes, " and ", src[1].dtype, ' ', scores);
    const bool known = scores.known();
    return {{DType::i64, {known ? checked_mul(scores[0], scores[1], std::min(how.most, scores[2])) : free_dim, 3}},
            {DType::i64, {}}};
  }

 private:
  static bool agree(int64_t a, int64_t b) { return a == free_dim || b == free_dim || a == b; }
};

}  // namespace

Sorted sort(Emit &e, Id x, bool descending) {
  const std::vector<Id> made = e.step(make<SortOp>(descending), {x});
  return {made[0], made[1]};
}
Id cumulate(Emit &e, Id x, int axis, const Cumulate &how) {
  return e.value(make<CumulateOp>(e.shape(x).axis(axis), how), {x});
}

Id bucketize(Emit &e, Id x, Id bounds) { return e.value(make<BucketizeOp>(), {x, bounds}); }

Id bucket_sums(Emit &e, Id buckets, Id weights, int64_t count) {
  return e.value(make<BucketSumsOp>(count), {buckets, weights});
}

Id top_k(Emit &e, Id x, int64_t k) { return e.value(make<TopKOp>(k), {x}); }

Chosen non_max_suppression(Emit &e, Id boxes, Id scores, const Suppression &how) {
  const auto made = e.step(make<NonMaxSuppressionOp>(how), {boxes, scores});
  return {made[0], made[1]};
}

}  // namespace dl4::ops
