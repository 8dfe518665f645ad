// Counting: numbers sorted into buckets, what lies in each added up, and which are the largest.
#include "backend/cpu/kernels/reduce/counting.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct BucketizeOp final : StopsGradients<BucketizeOp> {
  std::string_view name() const override { return "bucketize"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("bucketize", src[0]);
    want_float("the bounds of bucketize", src[1]);
    if (src[1].shape.rank() != 1) fail(Code::shape_mismatch, "bucketize expects bounds (K), got ", src[1].shape);
    return {{DType::i32, src[0].shape}};
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.src[0].shape.elements(), bounds = site.src[1].shape[0];
    double us = us_per_function * static_cast<double>(n);
    return sliced("bucketize", site, n, us, [=](int64_t begin, int64_t end, const Run &r) {
      kernels::bucketize(r.in<float>(0) + begin, end - begin, r.in<float>(1), bounds, r.out<int32_t>(0) + begin);
    });
  }
};

// In one slice and in double: large batches of ones lose none, and the bits don't depend on the threads.
struct BucketSumsOp final : NotDifferentiable<BucketSumsOp> {
  int64_t count;

  explicit BucketSumsOp(int64_t count) : count(count) {}
  void fields(auto &f) const { f("count", count); }
  std::string_view name() const override { return "bucket_sums"; }
  std::vector<Operand> infer(Operands src) const override {
    want_type("the buckets of bucket_sums", src[0], DType::i32);
    if (src[1].present) {
      want_float("bucket_sums", src[1]);
      same_shape("bucket_sums", src[0].shape, src[1].shape);
    }
    return {{DType::f32, {count}}};
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.src[0].shape.elements(), size = count;
    return kernels::make_kernel(
        "bucket_sums", 1,
        [=](int64_t, const Run &r) noexcept {
          kernels::bucket_sums(r.in<int32_t>(0), r.in<float>(1), n, static_cast<double *>(r.scratch), r.out<float>(0),
                               size);
        },
        checked_mul(count, 8));
  }
};

struct TopKOp final : StopsGradients<TopKOp> {
  int64_t k;

  explicit TopKOp(int64_t k) : k(k) {}
  void fields(auto &f) const { f("k", k); }
  std::string_view name() const override { return "top_k"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("top_k", src[0]);
    const Shape &x = src[0].shape;
    if (x.rank() < 1 || (x.last() != free_dim && x.last() < k))
      fail(Code::shape_mismatch, "the ", k, " largest of a last axis: expected at least ", k, " elements, got ", x);
    return {{DType::boolean, x}};
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    const Shape &shape = site.src[0].shape;
    int64_t width = shape.last(), rows = shape.elements(0, shape.rank() - 1), taken = k;
    double us = us_per_byte * static_cast<double>(checked_mul(rows, width, 4, k));
    return sliced("top_k", site, rows, us, [=](int64_t begin, int64_t end, const Run &r) {
      kernels::top_k(r.in<float>(0) + begin * width, r.out<uint8_t>(0) + begin * width, end - begin, width, taken);
    });
  }
};

}  // namespace

Id bucketize(Emit &e, Id x, Id bounds) { return e.value(std::make_shared<BucketizeOp>(), {x, bounds}); }

Id bucket_sums(Emit &e, Id buckets, Id weights, int64_t count) {
  return e.value(std::make_shared<BucketSumsOp>(count), {buckets, weights});
}

Id top_k(Emit &e, Id x, int64_t k) { return e.value(std::make_shared<TopKOp>(k), {x}); }

}  // namespace dl4::ops
