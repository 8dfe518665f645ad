// transpose: any order of axes.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Build1 by(std::vector<int> perm) {
  return [perm](Emit &e, const auto &x) { return transpose(e, x[0], perm); };
}

Tensor moved(const Tensor &x, const std::vector<int> &perm) {
  std::vector<int64_t> dims;
  for (int p : perm) dims.push_back(x.shape[p]);
  return naive(x.dtype, Shape(dims), [&](const Index &i) {
    Index from(i.size());
    for (size_t k = 0; k < i.size(); ++k) from[static_cast<size_t>(perm[k])] = i[k];
    return at(x, from);
  });
}

TEST(Transpose, Orders) {
  for (DType t : {DType::f32, DType::i64, DType::u8}) {
    for (auto [s, perm] : std::vector<std::pair<Shape, std::vector<int>>>{{{3, 5}, {1, 0}},
                                                                          {{2, 3, 4}, {0, 2, 1}},
                                                                          {{2, 3, 4}, {2, 0, 1}},
                                                                          {{2, 3, 4, 5}, {0, 2, 3, 1}},
                                                                          {{2, 3, 4, 5}, {3, 2, 1, 0}},
                                                                          {{2, 1, 4, 5}, {1, 0, 2, 3}},
                                                                          {{2, 3, 1, 5}, {2, 0, 3, 1}},
                                                                          {{1, 9, 33}, {0, 2, 1}},
                                                                          {{4, 0, 3}, {1, 2, 0}},
                                                                          {{2, 3, 2, 2, 3}, {3, 4, 0, 1, 2}},
                                                                          {{}, {}}}) {
      SCOPED_TRACE(text(s, " rank ", s.rank()));
      Tensor x = random(s, 1, 0, 100, t);
      check(by(perm), {x}, moved(x, perm), 0);
    }
  }
  check_gradient(by({2, 0, 1}), {random({2, 3, 4}, 1)});
}

TEST(Transpose, Refuses) {
  check_refused(by({0, 0}), {Shape{2, 3}}, Code::invalid_argument,
                "transpose: (0, 0) is not an order of the axes of (2, 3)");
  check_refused(by({0}), {Shape{2, 3}}, Code::invalid_argument, "is not an order of the axes");
  check_refused(by({0, 4}), {Shape{2, 3}}, Code::invalid_argument, "axis 4 is out of range");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
