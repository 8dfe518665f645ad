// bucketize, bucket_sums and top_k.
#include <cmath>

#include "harness/gradient_check.hpp"
#include "ops/ops.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

TEST(Bucketize, CountsTheBoundsBelow) {
  Build1 f = [](Emit &e, const auto &x) { return bucketize(e, x[0], x[1]); };
  check(
      f,
      {tensor<float>({2, 4}, {-1, 0, 0.1f, 0.5f, 0.6f, 2, std::nanf(""), INFINITY}), tensor<float>({3}, {0, 0.5f, 1})},
      tensor<int32_t>({2, 4}, {0, 0, 1, 1, 2, 3, 0, 3}));
  check(f, {make_tensor(DType::f32, {0, 3}), tensor<float>({1}, {0})}, make_tensor(DType::i32, {0, 3}));
  check_refused(f, {Operand{DType::i32, {2}}, Operand{DType::f32, {3}}}, Code::invalid_argument, "expects float32");
  check_refused(f, {Shape{2}, Shape{3, 1}}, Code::shape_mismatch, "bucketize expects bounds (K), got (3, 1)");
}

TEST(BucketSums, LeaveOutWhatIsInNone) {
  Build1 weighted = [](Emit &e, const auto &x) { return bucket_sums(e, x[0], x[1], 4); };
  Build1 counted = [](Emit &e, const auto &x) { return bucket_sums(e, x[0], none, 4); };
  Tensor buckets = tensor<int32_t>({2, 4}, {0, 3, -1, 3, 4, 0, 1, 3});
  check(weighted, {buckets, tensor<float>({2, 4}, {1, 2, 4, 8, 16, 32, 64, 128})},
        tensor<float>({4}, {33, 64, 0, 138}));
  check(counted, {buckets}, tensor<float>({4}, {2, 1, 0, 3}));
  check(counted, {make_tensor(DType::i32, {0})}, tensor<float>({4}, {0, 0, 0, 0}));
  check_refused(counted, {Operand{DType::f32, {2}}}, Code::invalid_argument, "expects int32, got float32");
  check_refused(weighted, {Operand{DType::i32, {2}}, Operand{DType::f32, {3}}}, Code::shape_mismatch, "equal shapes");
}

// A float32 that counts by one stands still at 2^24.
TEST(BucketSums, LoseNoCountOfALargeBatch) {
  const int64_t n = (int64_t{1} << 24) + 8;
  const std::vector<Tensor> buckets{make_zeros(DType::i32, {n})};
  const Program p = program_of(one([](Emit &e, const auto &x) { return bucket_sums(e, x[0], none, 1); }), buckets);
  EXPECT_EQ(values(evaluate(p, buckets).outputs[0])[0], static_cast<double>(n));
}

TEST(TopK, OfEqualsTheFirst) {
  auto largest = [](int64_t k) -> Build1 { return [k](Emit &e, const auto &x) { return top_k(e, x[0], k); }; };
  Tensor x = tensor<float>({2, 4}, {1, 3, 3, 2, -INFINITY, -INFINITY, 0, 0});
  check(largest(2), {x}, tensor<bool>({2, 4}, {false, true, true, false, false, false, true, true}));
  check(largest(1), {x}, tensor<bool>({2, 4}, {false, true, false, false, false, false, true, false}));
  check(largest(3), {x}, tensor<bool>({2, 4}, {false, true, true, true, true, false, true, true}));
  check_refused(largest(5), {Shape{2, 4}}, Code::shape_mismatch, "expected at least 5 elements, got (2, 4)");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
