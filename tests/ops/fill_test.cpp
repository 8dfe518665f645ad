// fill: numbers of every dtype in a shape taken from elsewhere.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test {
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

TEST(Fill, Refuses) {
  check_refused([](Emit &e, const auto &x) { return fill(e, DType::f32, 0, x[0], 3, {}); }, {Shape{2, 3}},
                Code::invalid_argument, "fill can't keep 3 axes of (2, 3)");
}

}  // namespace
}  // namespace dl4::test
