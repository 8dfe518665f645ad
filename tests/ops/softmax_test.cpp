// softmax, log_softmax and sparsemax along any axis.
#include <algorithm>
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

using Row = std::vector<double>;

Row softmax_of(Row x) {
  double largest = *std::max_element(x.begin(), x.end()), sum = 0;
  for (double &v : x) sum += v = std::exp(v - largest);
  for (double &v : x) v /= sum;
  return x;
}

Row log_softmax_of(const Row &x) {
  Row y = softmax_of(x);
  for (double &v : y) v = std::log(v);
  return y;
}

Row sparsemax_of(Row x) {
  Row sorted = x;
  std::sort(sorted.rbegin(), sorted.rend());
  double sum = 0, tau = 0;
  for (size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    if (1 + static_cast<double>(k + 1) * sorted[k] > sum) tau = (sum - 1) / static_cast<double>(k + 1);
  }
  for (double &v : x) v = std::max(v - tau, 0.0);
  return x;
}

// f along one axis.
Tensor along(const Tensor &x, int axis, Row (*f)(Row)) {
  size_t a = static_cast<size_t>(x.shape.axis(axis));
  return naive(x.shape, [&](Index i) {
    int64_t own = i[a];
    Row row;
    for (i[a] = 0; i[a] < x.shape[axis]; ++i[a]) row.push_back(at(x, i));
    return f(row)[static_cast<size_t>(own)];
  });
}

struct Case {
  const char *name;
  Id (*emit)(Emit &, Id, int);
  Row (*naive)(Row);
};
const std::vector<Case> cases{{"softmax", softmax, softmax_of},
                              {"log_softmax", log_softmax, [](Row x) { return log_softmax_of(x); }},
                              {"sparsemax", sparsemax, sparsemax_of}};

TEST(Softmax, AlongEveryAxis) {
  for (const Case &c : cases) {
    for (auto [s, axis] : std::vector<std::pair<Shape, int>>{{{4, 7}, -1},
                                                             {{4, 7}, 0},
                                                             {{3, 5, 6}, 1},
                                                             {{2, 1}, 1},
                                                             {{33, 70}, -1},
                                                             {{0, 4}, 1},
                                                             {{3, 0}, 1},
                                                             {{9}, 0},
                                                             {{2, 3, 0}, 1}}) {
      SCOPED_TRACE(text(c.name, s, axis));
      Tensor x = random(s, 1, -3, 3);
      check([&, axis = axis](Emit &e, const auto &v) { return c.emit(e, v[0], axis); }, {x}, along(x, axis, c.naive),
            2e-6, 1e-6);
    }
  }
}

TEST(Softmax, Gradients) {
  for (const Case &c : cases)
    for (auto [s, axis] : std::vector<std::pair<Shape, int>>{{{3, 4}, -1}, {{2, 3, 2}, 1}}) {
      SCOPED_TRACE(text(c.name, s, axis));
      check_gradient([&, axis = axis](Emit &e, const auto &v) { return c.emit(e, v[0], axis); }, {random(s, 4, -1, 1)});
    }
}

TEST(Softmax, LargeNumbers) {
  check([](Emit &e, const auto &v) { return softmax(e, v[0]); }, {tensor<float>({3}, {1e4f, -INFINITY, 1e4f})},
        tensor<float>({3}, {0.5f, 0, 0.5f}));
}

TEST(Softmax, OneElementIsOneUnlessItIsNoNumber) {
  check([](Emit &e, const auto &v) { return softmax(e, v[0]); },
        {tensor<float>({5, 1}, {3, -1e30f, NAN, INFINITY, -INFINITY})}, tensor<float>({5, 1}, {1, 1, NAN, NAN, NAN}));
}

TEST(Softmax, Refuses) {
  for (const Case &c : cases) {
    auto build = [&](Emit &e, const auto &v) { return c.emit(e, v[0], -1); };
    check_refused(build, {Operand{DType::i32, {2}}}, Code::invalid_argument,
                  text(c.name, " expects float32, got int32"));
    check_refused(build, {Shape{}}, Code::invalid_argument, "axis -1 is out of range");
  }
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
