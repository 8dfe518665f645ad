// broadcast_like, mean_grad and sum_like.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

const std::vector<std::pair<Shape, Shape>> pairs{{{}, {2, 3}},
                                                 {{3}, {4, 3}},
                                                 {{4, 1}, {4, 3}},
                                                 {{2, 1, 3}, {2, 5, 3}},
                                                 {{1, 4, 1}, {3, 4, 5}},
                                                 {{3, 1}, {2, 3, 4}},
                                                 {{5, 7}, {5, 7}},
                                                 {{1, 1}, {6, 50}},
                                                 {{1, 3}, {0, 3}},
                                                 {{2, 0}, {2, 0}},
                                                 {{1, 7, 1, 3}, {9, 7, 20, 3}}};

double part_at(const Tensor &t, const Index &i) {
  Index own(i.end() - t.shape.rank(), i.end());
  for (int a = 0; a < t.shape.rank(); ++a)
    if (t.shape[a] == 1) own[static_cast<size_t>(a)] = 0;
  return at(t, own);
}

TEST(Broadcast, ToTheShapeOfAnother) {
  for (const auto &[small, large] : pairs) {
    SCOPED_TRACE(text(small, " to ", large));
    Tensor x = random(small, 1), like = random(large, 2);
    check([](Emit &e, const auto &v) { return broadcast_like(e, v[0], v[1]); }, {x, like},
          naive(large, [&](const Index &i) { return part_at(x, i); }));
    double by = like.elements() ? double(x.elements()) / double(like.elements()) : 0;
    check([](Emit &e, const auto &v) { return mean_grad(e, v[0], v[1]); }, {x, like},
          naive(large, [&](const Index &i) { return part_at(x, i) * by; }));
  }
  Tensor flags = random({3, 1}, 1, 0, 1, DType::boolean);
  check([](Emit &e, const auto &v) { return broadcast_like(e, v[0], v[1]); }, {flags, random({3, 4}, 1)},
        naive(DType::boolean, {3, 4}, [&](const Index &i) {
          return at(flags, {i[0], 0});
        }));
}

TEST(Broadcast, SumsBack) {
  for (const auto &pair : pairs) {
    const auto &small = pair.first, &large = pair.second;  // names that clang 14 captures
    SCOPED_TRACE(text(large, " to ", small));
    Tensor x = random(large, 1), like = random(small, 2), sum = make_zeros(DType::f64, small);
    naive(large, [&](const Index &i) {
      int64_t at_sum = 0;
      for (int a = 0; a < small.rank(); ++a)
        at_sum = at_sum * small[a] + (small[a] == 1 ? 0 : i[static_cast<size_t>(large.rank() - small.rank() + a)]);
      return sum.as<double>()[at_sum] += at(x, i);
    });
    check([](Emit &e, const auto &v) { return sum_like(e, v[0], v[1]); }, {x, like},
          naive(small, [&](const Index &i) { return at(sum, i); }), 1e-5, 1e-5);
  }
}

TEST(Broadcast, Gradients) {
  for (size_t k : {0, 1, 2, 3, 4, 5}) {
    auto [small, large] = pairs[k];
    check_gradient([](Emit &e, const auto &v) { return broadcast_like(e, v[0], v[1]); },
                   {random(small, 1), random(large, 2)});
    check_gradient([](Emit &e, const auto &v) { return sum_like(e, v[0], v[1]); },
                   {random(large, 1), random(small, 2)});
  }
}

TEST(Broadcast, Refuses) {
  check_refused([](Emit &e, const auto &v) { return broadcast_like(e, v[0], v[1]); }, {Shape{2}, Shape{3}},
                Code::shape_mismatch, "broadcast: (2,) does not broadcast to (3,)");
  check_refused([](Emit &e, const auto &v) { return sum_like(e, v[0], v[1]); }, {Shape{3}, Shape{2, 3}},
                Code::shape_mismatch, "sum_like: (2, 3) does not broadcast to (3,)");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
