// Bucketize, sums per bucket, and top k.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

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

}  // namespace

Id bucketize(Emit &e, Id x, Id bounds) { return e.value(make<BucketizeOp>(), {x, bounds}); }

Id bucket_sums(Emit &e, Id buckets, Id weights, int64_t count) {
  return e.value(make<BucketSumsOp>(count), {buckets, weights});
}

Id top_k(Emit &e, Id x, int64_t k) { return e.value(make<TopKOp>(k), {x}); }

}  // namespace dl4::ops
