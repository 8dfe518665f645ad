// Functions of two values, choices and conversions: every operand type, step and instruction set.
#include <algorithm>

#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

template <class T>
double reference(Binary f, T x, T y) {
  const double a = static_cast<double>(x), b = static_cast<double>(y);
  using U = std::conditional_t<std::is_same_v<T, int32_t>, uint32_t, uint64_t>;
  constexpr bool integer = std::is_integral_v<T>;
  auto wrapped = [](U v) { return static_cast<double>(static_cast<T>(v)); };
  switch (f) {
    case Binary::add:
      return integer ? wrapped(static_cast<U>(x) + static_cast<U>(y)) : a + b;
    case Binary::sub:
      return integer ? wrapped(static_cast<U>(x) - static_cast<U>(y)) : a - b;
    case Binary::mul:
      return integer ? wrapped(static_cast<U>(x) * static_cast<U>(y)) : a * b;
    case Binary::div:
      return a / b;
    case Binary::max:
      return std::isnan(a) || std::isnan(b) ? nan : std::max(a, b);
    case Binary::min:
      return std::isnan(a) || std::isnan(b) ? nan : std::min(a, b);
    case Binary::pow:
      return std::pow(a, b);
    case Binary::atan2:
      return std::atan2(a, b);
    case Binary::squared_difference:
      return (a - b) * (a - b);
    case Binary::mod: {
      const double rest = integer && b == 0 ? 0 : std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case Binary::fmod:
      return integer && b == 0 ? 0 : std::fmod(a, b);
    case Binary::floor_div:
      return integer && b == 0 ? 0 : std::floor(integer ? a / b : static_cast<double>(x / y));
    case Binary::bitwise_and:
      return static_cast<double>(static_cast<int64_t>(x) & static_cast<int64_t>(y));
    case Binary::bitwise_or:
      return static_cast<double>(static_cast<int64_t>(x) | static_cast<int64_t>(y));
    case Binary::bitwise_xor:
      return static_cast<double>(static_cast<int64_t>(x) ^ static_cast<int64_t>(y));
    case Binary::left_shift:
      return b < 0 || b >= 8 * sizeof(T)
                 ? 0
                 : static_cast<double>(static_cast<T>(static_cast<uint64_t>(x) << static_cast<int>(b)));
    case Binary::right_shift:
      return b < 0 || b >= 8 * sizeof(T) ? (a < 0 ? -1 : 0) : std::floor(a / std::pow(2.0, b));
    case Binary::equal:
      return a == b;
    case Binary::not_equal:
      return a != b;
    case Binary::less:
      return a < b;
    case Binary::less_equal:
      return a <= b;
    case Binary::greater:
      return a > b;
    case Binary::greater_equal:
      return a >= b;
    case Binary::logical_and:
      return a != 0 && b != 0;
    case Binary::logical_or:
      return a != 0 || b != 0;
    case Binary::count_:
      break;
  }
  return 0;
}

template <class T>
std::vector<T> values(int64_t n, uint32_t seed) {
  std::vector<T> v(static_cast<size_t>(n));
  std::mt19937 g(seed);
  for (T &x : v) {
    const int r = static_cast<int>(g() % 9) - 4;
    x = static_cast<T>(std::is_unsigned_v<T> ? std::max(r, 0) : r);
    if (std::is_same_v<T, int32_t> && g() % 5 == 0) x = static_cast<T>(2000000000);
    constexpr float specials[] = {nan, inf, -inf, 1e-40f, -1e-40f, -0.0f};
    if (std::is_same_v<T, float> && g() % 3 == 0) x = static_cast<T>(specials[g() % std::size(specials)]);
  }
  return v;
}

template <class T>
void check(DType t) {
  for (int i = 0; i < static_cast<int>(Binary::count_); ++i) {
    const Binary f = static_cast<Binary>(i);
    if (!supports(f, t)) continue;
    SCOPED_TRACE(std::string(binary_names[static_cast<size_t>(i)]) + " " + std::to_string(static_cast<int>(t)));
    for (int64_t n = 0; n <= 70; n += n < 20 ? 1 : 7)
      for (int steps = 0; steps < 4; ++steps) {
        const int64_t sa = steps & 1, sb = steps >> 1;
        Edge<T> a(values<T>(sa ? n : 1, 1)), b(values<T>(sb ? n : 1, 2));
        Edge<char> out(n * size_of(result_type(f, t)));
        binary_run(f, t, a, sa, b, sb, out, n);
        for (int64_t k = 0; k < n; ++k) {
          const double want = reference<T>(f, a[k * sa], b[k * sb]);
          if (result_type(f, t) == DType::boolean) {
            ASSERT_EQ(static_cast<char>(want), out[k]);
          } else {
            T got;
            std::memcpy(&got, out + k * static_cast<int64_t>(sizeof(T)), sizeof(T));
            ASSERT_TRUE(near(static_cast<double>(static_cast<T>(want)), static_cast<double>(got), 1e-6, 0));
          }
        }
      }
  }
}

TEST(Binary, EveryTypeStepAndLength) {
  on_every_target([] {
    check<float>(DType::f32);
    check<int32_t>(DType::i32);
    check<int64_t>(DType::i64);
    check<uint8_t>(DType::u8);
    check<uint8_t>(DType::boolean);
  });
}

TEST(Binary, TheLeastIntegerIsDivided) {
  on_every_target([] {
    const std::vector<int32_t> a{INT32_MIN, INT32_MIN, INT32_MIN, 7}, b{-1, 0, 3, INT32_MIN};
    const auto of = [&](Binary f) {
      std::vector<int32_t> y(4);
      binary_run(f, DType::i32, a.data(), 1, b.data(), 1, y.data(), 4);
      return y;
    };
    EXPECT_EQ(of(Binary::floor_div), (std::vector<int32_t>{INT32_MIN, 0, -715827883, -1}));
    EXPECT_EQ(of(Binary::mod), (std::vector<int32_t>{0, 0, 1, INT32_MIN + 7}));
    EXPECT_EQ(of(Binary::fmod), (std::vector<int32_t>{0, 0, -2, 7}));
  });
}

TEST(Binary, MaxKeepsNanFromEitherSide) {
  on_every_target([] {
    for (const Binary f : {Binary::max, Binary::min}) {
      const std::vector<float> x(19, 1.0f), y(19, nan);
      std::vector<float> out(19);
      binary_run(f, DType::f32, x.data(), 1, y.data(), 1, out.data(), 19);
      for (float v : out) EXPECT_TRUE(std::isnan(v));
      binary_run(f, DType::f32, y.data(), 0, x.data(), 1, out.data(), 19);
      for (float v : out) EXPECT_TRUE(std::isnan(v));
    }
  });
}

TEST(Select, EverySizeAndStep) {
  on_every_target([] {
    auto run = [](auto type) {
      using T = decltype(type);
      for (int64_t n = 1; n < 40; ++n)
        for (int steps = 0; steps < 8; ++steps) {
          const int64_t sm = steps & 1, sa = steps >> 1 & 1, sb = steps >> 2;
          Edge<uint8_t> m(sm ? n : 1);
          Edge<T> a(sa ? n : 1), b(sb ? n : 1), y(n);
          for (int64_t i = 0; i < m.size(); ++i) m[i] = static_cast<uint8_t>(i % 3);
          for (int64_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i + 1);
          for (int64_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(100 + i);
          select_run(sizeof(T), m, sm, a, sa, b, sb, y, n);
          for (int64_t i = 0; i < n; ++i) ASSERT_EQ(m[i * sm] ? a[i * sa] : b[i * sb], y[i]);
        }
    };
    run(uint8_t{});
    run(uint32_t{});
    run(uint64_t{});
  });
}

TEST(Cast, TruncatesAndSaturates) {
  on_every_target([] {
    const std::vector<float> x = {1.9f, -1.9f, 3e9f, -3e9f, 1e30f, -1e30f, inf, -inf, nan, 255.9f, -0.5f, 0, 300};
    const int64_t n = static_cast<int64_t>(x.size());
    Edge<float> in(x);
    Edge<int32_t> i(n);
    Edge<int64_t> l(n);
    Edge<uint8_t> u(n), b(n);
    cast_run(DType::f32, DType::i32, in, i, n);
    cast_run(DType::f32, DType::i64, in, l, n);
    cast_run(DType::f32, DType::u8, in, u, n);
    cast_run(DType::f32, DType::boolean, in, b, n);
    EXPECT_EQ((std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0, 255, 0,
                                    0, 300}),
              i.vector());
    EXPECT_EQ((std::vector<int64_t>{1, -1, 3000000000, -3000000000, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 0, 255,
                                    0, 0, 300}),
              l.vector());
    EXPECT_EQ((std::vector<uint8_t>{1, 0, 255, 0, 255, 0, 255, 0, 0, 255, 0, 0, 255}), u.vector());
    EXPECT_EQ((std::vector<uint8_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1}), b.vector());
    Edge<int64_t> big(std::vector<int64_t>{1, -5, 5000000000, -5000000000});
    Edge<int32_t> narrow(4);
    cast_run(DType::i64, DType::i32, big, narrow, 4);
    EXPECT_EQ((std::vector<int32_t>{1, -5, INT32_MAX, INT32_MIN}), narrow.vector());
    Edge<uint8_t> bytes(std::vector<uint8_t>{0, 1, 7});
    Edge<float> f(3);
    cast_run(DType::boolean, DType::f32, bytes, f, 3);
    EXPECT_EQ((std::vector<float>{0, 1, 1}), f.vector());
    cast_run(DType::u8, DType::f32, bytes, f, 3);
    EXPECT_EQ((std::vector<float>{0, 1, 7}), f.vector());
  });
}

TEST(Elementwise, AddAndFill) {
  on_every_target([] {
    for (int64_t n = 0; n <= 40; ++n) {
      Edge<float> x(random_floats(n, -1, 1, 1)), y(random_floats(n, -1, 1, 2));
      const float four = 4;
      fill(sizeof(float), &four, x, n);
      axpy(0.5f, x, y, n);
      Edge<float> again(random_floats(n, -1, 1, 2));
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(again[i] + 2, y[i]);
    }
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
