// binary: broadcasting, every function, every gradient.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Build1 of(Binary f) {
  return [f](Emit &e, const auto &x) { return binary(e, f, x[0], x[1]); };
}

// The element of an operand that is broadcast.
double cast_at(const Tensor &t, const Index &i) {
  Index own(i.end() - t.shape.rank(), i.end());
  for (int a = 0; a < t.shape.rank(); ++a)
    if (t.shape[a] == 1) own[static_cast<size_t>(a)] = 0;
  return at(t, own);
}

void expect_values(Binary f, const Tensor &a, const Tensor &b, double (*g)(double, double)) {
  SCOPED_TRACE(ops::binary_names[static_cast<size_t>(f)]);
  Shape s = broadcast(a.shape, b.shape);
  check(of(f), {a, b},
        naive(ops::result_type(f, a.dtype), s, [&](const Index &i) { return g(cast_at(a, i), cast_at(b, i)); }), 1e-5);
}

const std::vector<std::pair<Shape, Shape>> shapes{
    {{}, {}},           {{3, 5}, {3, 5}},    {{3, 5}, {5}}, {{4, 3}, {4, 1}},
    {{}, {2, 3}},       {{2, 1, 4}, {3, 1}}, {{0, 4}, {4}}, {{2, 3, 4, 5}, {3, 1, 5}},
    {{37, 129}, {129}}, {{1, 300}, {7, 1}},  {{3, 1}, {0}}, {{410, 7}, {7}},
    {{3}, {5, 411, 3}}, {{1100, 1}, {2}}};

TEST(Binary, Broadcasts) {
  for (const auto &[a, b] : shapes) {
    SCOPED_TRACE(text(a, " ", b));
    expect_values(Binary::sub, random(a, 1), random(b, 2), [](double x, double y) { return x - y; });
    expect_values(Binary::less, random(a, 1), random(b, 2), [](double x, double y) { return double(x < y); });
  }
}

TEST(Binary, EveryFunction) {
  Tensor a = random({5, 17}, 1, 0.2, 3), b = random({17}, 2, 0.2, 3);
  expect_values(Binary::add, a, b, [](double x, double y) { return x + y; });
  expect_values(Binary::mul, a, b, [](double x, double y) { return x * y; });
  expect_values(Binary::div, a, b, [](double x, double y) { return x / y; });
  expect_values(Binary::max, a, b, [](double x, double y) { return std::max(x, y); });
  expect_values(Binary::min, a, b, [](double x, double y) { return std::min(x, y); });
  expect_values(Binary::pow, a, b, [](double x, double y) { return std::pow(x, y); });
  expect_values(Binary::squared_difference, a, b, [](double x, double y) { return (x - y) * (x - y); });
  for (DType t : {DType::i32, DType::i64}) {
    Tensor i = random({6, 3}, 1, -3, 3, t), j = random({6, 1}, 2, -3, 3, t);
    expect_values(Binary::mul, i, j, [](double x, double y) { return x * y; });
    expect_values(Binary::floor_div, i, j, [](double x, double y) { return y == 0 ? 0 : std::floor(x / y); });
    expect_values(Binary::mod, i, j, [](double x, double y) { return y == 0 ? 0 : x - y * std::floor(x / y); });
    expect_values(Binary::bitwise_and, i, j, [](double x, double y) { return double(int64_t(x) & int64_t(y)); });
    expect_values(Binary::equal, i, j, [](double x, double y) { return double(x == y); });
    expect_values(Binary::greater_equal, i, j, [](double x, double y) { return double(x >= y); });
  }
  Tensor p = random({9}, 1, 0, 1, DType::boolean), q = random({4, 1}, 2, 0, 1, DType::boolean);
  expect_values(Binary::logical_and, p, q, [](double x, double y) { return double(x && y); });
  expect_values(Binary::logical_or, p, q, [](double x, double y) { return double(x || y); });
  expect_values(Binary::not_equal, p, q, [](double x, double y) { return double(x != y); });
}

TEST(Binary, Gradients) {
  for (Binary f : {Binary::add, Binary::sub, Binary::mul, Binary::div, Binary::max, Binary::min, Binary::pow,
                   Binary::squared_difference, Binary::mod, Binary::fmod}) {
    for (const auto &[a, b] : std::vector<std::pair<Shape, Shape>>{
             {{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{}, {4}}, {{2, 1, 3}, {4, 1}}, {{1, 3}, {2, 3}}}) {
      SCOPED_TRACE(text(ops::binary_names[static_cast<size_t>(f)], a, b));
      check_gradient(of(f), {random(a, 5, 0.5, 1), random(b, 6, 1.1, 2)}, {0, 1});
    }
  }
  check_gradient(of(Binary::floor_div), {random({3}, 5, 0.5, 1), random({3}, 6, 1.1, 2)}, {0, 1}, {.moved = false});
  // One value on both sides.
  check_gradient([](Emit &e, const auto &x) { return mul(e, x[0], x[0]); }, {random({3}, 1)});
}

TEST(Binary, Refuses) {
  check_refused(of(Binary::add), {Shape{2, 3}, Shape{4}}, Code::shape_mismatch,
                "shapes (2, 3) and (4,) do not broadcast");
  check_refused(of(Binary::add), {Operand{DType::f32, {2}}, Operand{DType::i32, {2}}}, Code::invalid_argument,
                "expected values of one dtype, got float32 and int32");
  check_refused(of(Binary::div), {Operand{DType::i32, {2}}, Operand{DType::i32, {2}}}, Code::invalid_argument,
                "does not compute with dtype int32");
  check_refused(of(Binary::left_shift), {Operand{DType::f32, {2}}, Operand{DType::f32, {2}}}, Code::invalid_argument,
                "does not compute with dtype float32");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
