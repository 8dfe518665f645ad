// square_sum: one number in double precision from any number of slices.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Build1 build = [](Emit &e, const auto &x) { return square_sum(e, x[0]); };

TEST(SquareSum, Values) {
  for (Shape s : {Shape{}, Shape{0, 3}, Shape{5}, Shape{3, 100, 41}}) {
    Tensor x = random(s, 1);
    double sum = 0;
    for (double v : values(x)) sum += v * v;
    check(build, {x}, tensor<float>({}, {static_cast<float>(sum)}), 1e-6, 1e-6);
  }
  // A float sum would have stopped at 2^24, or overflowed on the way.
  check(build, {naive({17 << 10, 1 << 10}, [](const Index &) { return 1; })}, tensor<float>({}, {17 << 20}), 0);
  check_gradient(build, {random({3, 4}, 2)});
}

TEST(SquareSum, Refuses) {
  check_refused(build, {Operand{DType::i64, {2}}}, Code::invalid_argument, "square_sum expects float32, got int64");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
