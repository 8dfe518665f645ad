// fill: numbers of every dtype in a shape taken from elsewhere.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

TEST(Fill, TakesTheFirstAxes) {
  for (DType t : {DType::f32, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    auto build = [t](Emit &e, const auto &x) { return fill(e, t, 1, x[0], 1, {3, 5}); };
    check(build, {random({4, 9}, 1)}, naive(t, {4, 3, 5}, [](const Index &) { return 1; }));
    check(build, {random({0, 9}, 1)}, make_tensor(t, {0, 3, 5}));
  }
  check([](Emit &e, const auto &x) { return fill(e, DType::f32, -1e9, x[0], 2, {}); }, {random({41, 67}, 1)},
        naive({41, 67}, [](const Index &) { return -1e9; }));
}

// A number past a type's range gives its end, as a cast does.
TEST(Fill, NumbersOutOfRange) {
  const auto stored = [](DType t, double v) {
    Tensor one = make_tensor(t, {});
    store(v, t, one.data.get());
    return values(one)[0];
  };
  EXPECT_EQ(stored(DType::i64, 9223372036854775807.0), 9223372036854775807.0);
  EXPECT_EQ(stored(DType::i64, -1e300), -9223372036854775808.0);
  EXPECT_EQ(stored(DType::i32, INFINITY), 2147483647);
  EXPECT_EQ(stored(DType::i32, -2147483648.5), -2147483648.0);
  EXPECT_EQ(stored(DType::i32, 2147483647.5), 2147483647);
  EXPECT_EQ(stored(DType::u8, 255.9), 255);
  EXPECT_EQ(stored(DType::u8, -1), 0);
  EXPECT_EQ(stored(DType::u8, NAN), 0);
}

TEST(Fill, Refuses) {
  check_refused([](Emit &e, const auto &x) { return fill(e, DType::f32, 0, x[0], 3, {}); }, {Shape{2, 3}},
                Code::invalid_argument, "fill can't keep 3 axes of (2, 3)");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
