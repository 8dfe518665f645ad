// view: a part of a flat block.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

TEST(View, PartOfABlock) {
  Tensor x = random({20}, 1);
  auto build = [](Emit &e, const auto &v) { return view(e, v[0], 7, {2, 3}); };
  check(build, {x}, naive({2, 3}, [&](const Index &i) { return at(x, {7 + i[0] * 3 + i[1]}); }), 0);
  check([](Emit &e, const auto &v) { return view(e, v[0], 20, {0, 3}); }, {x}, make_tensor(DType::f32, {0, 3}));
  check_gradient(build, {x});
  // Two views of one block: their gradients add up.
  check_gradient([](Emit &e, const auto &v) { return mul(e, view(e, v[0], 0, {5}), view(e, v[0], 3, {5})); },
                 {random({9}, 2)});
}

TEST(View, Refuses) {
  check_refused([](Emit &e, const auto &v) { return view(e, v[0], 4, {3}); }, {Shape{6}}, Code::shape_mismatch,
                "view: (3,) from element 4 is outside (6,)");
  check_refused([](Emit &e, const auto &v) { return view(e, v[0], 0, {3}); }, {Shape{2, 3}}, Code::shape_mismatch,
                "view expects a flat block, got (2, 3)");
  check_refused([](Emit &e, const auto &v) { return view(e, v[0], 0, {-1}); }, {Shape{6}}, Code::invalid_argument,
                "must be known");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
