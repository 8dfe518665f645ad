// sizes and zeros_of: numbers and shapes from formulas of the sizes of axes.
#include "ops/sizes.hpp"
#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

Tensor list(const std::vector<int64_t> &v) {
  Tensor t = make_tensor(DType::i64, {static_cast<int64_t>(v.size())});
  std::copy(v.begin(), v.end(), t.as<int64_t>());
  return t;
}

TEST(Sizes, ComputeWhatFormulasSay) {
  const auto build = [](const std::vector<std::string> &words) {
    return [=](Emit &e, const auto &x) { return sizes(e, {x[0], x[1]}, formulas(words)); };
  };
  check(build({"0.0", "0.1 2 * 1 +", "1.0 0.1 -", "7"}), {random({4, 9}, 1), random({5}, 2)}, list({4, 19, -4, 7}));
  check(build({"-7 2 /", "-7 2 %", "7 -2 %", "0.0 1.0 max", "0.0 1.0 min", "0.0 4 =", "1.0 0.0 <"}),
        {random({4, 9}, 1), random({5}, 2)}, list({-3, 1, -1, 5, 4, 1, 0}));
}

TEST(Sizes, AreTheAxesOfFlags) {
  const auto build = [](Emit &e, const auto &x) { return zeros_of(e, {x[0]}, formulas({"0.1", "3", "0.0 1 -"})); };
  check(build, {random({4, 9}, 1)}, make_zeros(DType::boolean, {9, 3, 3}));
  check(build, {random({1, 9}, 1)}, make_zeros(DType::boolean, {9, 3, 0}));
}

TEST(Sizes, Refuse) {
  const auto words = [](const std::string &word) {
    return [=](Emit &e, const auto &x) { return sizes(e, {x[0]}, formulas({word})); };
  };
  for (const char *word : {"", "+", "0.0 +", "0.0 1", "x", "0.", "0.99", "-1.0", "0.0 1 ^", "9223372036854775808"})
    check_refused(words(word), {Shape{2, 3}}, Code::invalid_argument, "\"" + std::string(word) + "\": ");
  check_refused(words("1.0"), {Shape{2, 3}}, Code::invalid_argument, "a size of input 1 of 1 inputs");
  check_refused(words("0.2"), {Shape{2, 3}}, Code::shape_mismatch, "the size of axis 2 of (2, 3)");
  check_refused(words("0.0 0.1 3 - /"), {Shape{2, 3}}, Code::shape_mismatch, "a size is divided by 0");
  check_refused([](Emit &e, const auto &x) { return zeros_of(e, {x[0]}, formulas({"0.0 3 -"})); }, {Shape{2, 3}},
                Code::shape_mismatch, "an axis of -1 places");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
