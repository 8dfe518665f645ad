// random_normal: its moments, its tails, the same bits for the same draw.
#include <cmath>

#include "harness/gradient_check.hpp"
#include "ops/ops.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

Tensor draw_of(int64_t n) { return tensor<int64_t>({}, {n}); }

Build1 normals(uint64_t seed) {
  return [=](Emit &e, const auto &x) { return random_normal(e, seed, x[0], x[1], 1, {30}); };
}

TEST(RandomNormal, MomentsAndTails) {
  Tensor like = random({500, 2}, 1);
  const auto y = values(run_all_ways(one(normals(9)), {draw_of(3), like})[0]);
  double mean = 0, variance = 0, within = 0, beside = 0;
  for (double v : y) mean += v / 15000;
  for (double v : y) variance += (v - mean) * (v - mean) / 15000;
  for (double v : y) within += std::fabs(v) < 1 ? 1 / 15000.0 : 0;
  for (size_t i = 1; i < y.size(); ++i) beside += y[i] * y[i - 1] / 15000;
  EXPECT_NEAR(mean, 0, 0.03);
  EXPECT_NEAR(variance, 1, 0.04);
  EXPECT_NEAR(within, 0.6827, 0.015);
  EXPECT_NEAR(beside, 0, 0.03) << "neighbours are independent";
  auto differs = [&](uint64_t seed, int64_t draw) {
    return values(run_all_ways(one(normals(seed)), {draw_of(draw), like})[0]) != y;
  };
  EXPECT_FALSE(differs(9, 3));
  EXPECT_TRUE(differs(9, 4));
  EXPECT_TRUE(differs(10, 3));
  check(normals(1), {draw_of(0), make_tensor(DType::f32, {0, 2})}, make_tensor(DType::f32, {0, 30}));
}

TEST(RandomNormal, Refuses) {
  check_refused(normals(0), {Operand{DType::f32, {}}, Operand{DType::f32, {3}}}, Code::invalid_argument,
                "the draw of random_normal expects int64");
  check_refused(normals(0), {Operand{DType::i64, {}}, Operand{DType::f32, {}}}, Code::invalid_argument,
                "random_normal can't keep 1 axes");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
