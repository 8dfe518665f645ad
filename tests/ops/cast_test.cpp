// cast: between all dtypes of values.
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Build1 to(DType t) {
  return [t](Emit &e, const auto &x) { return cast(e, x[0], t); };
}

TEST(Cast, BetweenAll) {
  for (DType from : {DType::f32, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    for (DType into : {DType::f32, DType::i32, DType::i64, DType::u8, DType::boolean}) {
      SCOPED_TRACE(text(from, " to ", into));
      Tensor x = random({7, 31}, 1, 0, 5, from);
      check(to(into), {x}, naive(into, x.shape, [&](const Index &i) {
              double v = at(x, i);
              return into == DType::boolean ? double(v != 0) : into == DType::f32 ? v : std::trunc(v);
            }));
    }
  }
  check(to(DType::i32), {tensor<float>({3}, {-1.9f, 2.9f, 0})}, tensor<int32_t>({3}, {-1, 2, 0}));
  check(to(DType::i32), {tensor<float>({0}, {})}, tensor<int32_t>({0}, {}));
}

// Its result has as many bytes as what is broadcast to it, which is read for each row.
TEST(Cast, BroadcastToAsManyBytesIsNotOverwritten) {
  const auto equal = [](Emit &e, const auto &x) {
    return cast(e, binary(e, Binary::equal, cast(e, x[0], DType::i32), x[1]), DType::f32);
  };
  const Tensor a = tensor<int64_t>({1, 4}, {0, 1, 2, 3}), b = tensor<int32_t>({4, 1}, {0, 1, 2, 3});
  check(equal, {a, b}, naive(DType::f32, {4, 4}, [](const Index &i) { return double(i[0] == i[1]); }));
}

TEST(Cast, SameDtypeIsTheValueItself) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {2});
  EXPECT_EQ(cast(e, x, DType::f32), x);
}

TEST(Cast, Refuses) { check_refused(to(DType::f64), {Shape{2}}, Code::unsupported, "cast from float32 to float64"); }

// Ties to even, up to the largest and below the smallest of so many bits.
TEST(ReducePrecision, RoundsToTheNearestFloatOfFewerBits) {
  const Tensor x = tensor<float>(
      {9}, {1 + 0x1p-11f, 1 + 0x1p-11f + 0x1p-20f, 1 + 0x1.8p-10f, 65519, -65520, 0x1p-25f, 0x1.8p-24f, -1, INFINITY});
  const auto bits = [](int exponent, int mantissa) -> Build1 {
    return [=](Emit &e, const auto &in) { return reduce_precision(e, in[0], exponent, mantissa); };
  };
  check(bits(5, 10), {x},
        tensor<float>({9}, {1, 1 + 0x1p-10f, 1 + 0x1p-9f, 65504, -INFINITY, 0, 0x1p-23f, -1, INFINITY}), 0);
  check(bits(8, 7), {x}, tensor<float>({9}, {1, 1, 1, 65536, -65536, 0x1p-25f, 0x1.8p-24f, -1, INFINITY}), 0);
  check(bits(8, 23), {x}, x, 0);
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
