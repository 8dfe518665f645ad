// random_keep: its rate, its scale, the same bits for the same draw; check_finite.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Tensor draw_of(int64_t n) { return tensor<int64_t>({}, {n}); }

Build1 keep(double rate, uint64_t seed) {
  return [=](Emit &e, const auto &x) { return random_keep(e, rate, seed, x[0], x[1], 1, {30}); };
}

TEST(RandomKeep, RateAndScale) {
  Tensor like = random({500, 2}, 1);
  auto y = values(run_all_ways(one(keep(0.25, 9)), {draw_of(3), like})[0]);
  double kept = 0;
  for (double v : y) {
    EXPECT_TRUE(v == 0 || v == static_cast<double>(1 / 0.75f));
    kept += v != 0;
  }
  EXPECT_NEAR(kept / 15000, 0.75, 0.015);
  auto differs = [&](uint64_t seed, int64_t draw) {
    return values(run_all_ways(one(keep(0.25, seed)), {draw_of(draw), like})[0]) != y;
  };
  EXPECT_FALSE(differs(9, 3));
  EXPECT_TRUE(differs(9, 4));
  EXPECT_TRUE(differs(10, 3));
  check(keep(0, 1), {draw_of(0), like}, naive({500, 30}, [](const Index &) { return 1; }), 0);
  check(keep(0.5, 1), {draw_of(0), make_tensor(DType::f32, {0, 2})}, make_tensor(DType::f32, {0, 30}));
}

TEST(RandomKeep, Refuses) {
  check_refused(keep(1, 0), {Operand{DType::i64, {}}, Operand{DType::f32, {3}}}, Code::invalid_argument,
                "dropout: rate is 1, expected 0 <= rate < 1");
  check_refused(keep(0.5, 0), {Operand{DType::f32, {}}, Operand{DType::f32, {3}}}, Code::invalid_argument,
                "the draw of random_keep expects int64");
}

TEST(CheckFinite, Faults) {
  auto build = [](Emit &e, const std::vector<Id> &x) {
    check_finite(e, x[0]);
    return std::vector<Id>{x[0]};
  };
  Tensor x = random({300}, 1);
  auto fault = [&] { return evaluate(program_of(build, {x}), {x}, {}, {.threads = 3}); };
  EXPECT_EQ(fault().fault, kernels::Fault::none);
  for (float bad : {NAN, INFINITY, -INFINITY}) {
    x.as<float>()[217] = bad;
    EXPECT_EQ(fault().fault, kernels::Fault::not_finite);
    EXPECT_EQ(fault().value, 217);
  }
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
