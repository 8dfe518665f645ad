// Products by tiles: odd sizes, the order of their sums, the ends of the range, and errors.
#include "backend/cpu/kernels/gemm/gemm.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include "gemm_cases.hpp"
#include "targets.hpp"
#include "tile_cases.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using namespace testing;

class AmxGemm : public ::testing::Test {
  dl4_test::WithTiles tiles_;
};

struct Sides {
  int64_t m, n, k;
  std::vector<float> a, b;
  Sides(int64_t m, int64_t n, int64_t k, uint32_t seed, float reach = 1)
      : m(m),
        n(n),
        k(k),
        a(random_floats(m * k, -reach, reach, seed)),
        b(random_floats(k * n, -reach, reach, seed + 1)) {}
  float &a_at(int64_t i, int64_t l) { return a[static_cast<size_t>(i * k + l)]; }
  float &b_at(int64_t l, int64_t j) { return b[static_cast<size_t>(l * n + j)]; }

  std::vector<float> by(const Kernel &kernel) const {
    std::vector<float> c(static_cast<size_t>(m * n)), x = a, y = b;
    EXPECT_EQ(run_kernel(kernel, {x.data(), y.data(), c.data()}), Fault::none);
    return c;
  }
  std::vector<float> by_tiles(int products = 6, bool constant = false) const {
    const Constant weights{b.data()};
    return by(*blocked_gemm({.m = m, .n = n, .k = k}, 1, constant ? &weights : nullptr, products));
  }
  std::vector<float> plainly() const { return by(*blocked_gemm({.m = m, .n = n, .k = k}, 1)); }
  std::vector<float> by_formula(int products) const {
    return testing::by_formula(
        m, n, k, products, [&](int64_t i, int64_t l) { return a[static_cast<size_t>(i * k + l)]; },
        [&](int64_t l, int64_t j) { return b[static_cast<size_t>(l * n + j)]; });
  }
  std::vector<double> exactly() const {
    std::vector<double> c(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < k; ++l)
        for (int64_t j = 0; j < n; ++j)
          c[static_cast<size_t>(i * n + j)] +=
              double{a[static_cast<size_t>(i * k + l)]} * b[static_cast<size_t>(l * n + j)];
    return c;
  }
};

void check(const Gemm &g, std::mt19937 &random) {
  Case c(g, random);
  c.check(blocked_gemm(g, 2, nullptr, 6).get(), text(g, 2));
  if (g.stride_b) return;
  const Constant weights{c.b.begin()};
  c.check(blocked_gemm(g, 1, &weights, 6).get(), "constant " + text(g, 1));
}

// Tiles that are not whole in each direction, with whatever a product may have beside.
TEST_F(AmxGemm, OddSizes) {
  std::mt19937 random(1);
  check({.m = 1, .n = 1, .k = 1}, random);
  check({.m = 17, .n = 33, .k = 33, .bias = true}, random);
  check({.m = 33, .n = 17, .k = 7, .trans_a = true}, random);
  check({.m = 2, .n = 40, .k = 65, .trans_b = true, .bias = true}, random);
  Gemm apart{.m = 20, .n = 35, .k = 20, .trans_b = true, .lda = 45, .ldb = 40, .ldc = 55, .bias = true};
  apart.epilogue.run = doubled_plus_one;
  check(apart, random);
}
TEST_F(AmxGemm, Batches) {
  std::mt19937 random(3);
  check({.batch = 3, .m = 9, .n = 20, .k = 11, .stride_a = 99, .stride_b = 220, .stride_c = 180}, random);
}
TEST_F(AmxGemm, MoreThanOneBlock) {
  std::mt19937 random(11);
  check({.m = 530, .n = 3, .k = 9}, random);
  check({.m = 3, .n = 1060, .k = 9, .trans_b = true}, random);
  check({.m = 5, .n = 6, .k = 300, .trans_a = true, .bias = true}, random);
}
TEST_F(AmxGemm, BothSidesTransposed) {
  std::mt19937 random(13);
  check({.m = 40, .n = 70, .k = 140, .trans_a = true, .trans_b = true, .bias = true}, random);
}
TEST_F(AmxGemm, NothingToMultiply) {
  EXPECT_EQ(blocked_gemm({.m = 3, .n = 3, .k = 0}, 1, nullptr, 6), nullptr);
  EXPECT_EQ(blocked_gemm({.m = 0, .n = 3, .k = 4}, 1, nullptr, 6)->slices, 0);
}

// The layout is that of the hardware, and the sums are those of the header.
TEST_F(AmxGemm, SumsAreThoseOfTheFormula) {
  const Sides s(18, 17, 70, 3);
  for (int products : {6, 3, 1}) {
    const auto want = bits_of(s.by_formula(products));
    on_every_target([&] {
      EXPECT_EQ(bits_of(s.by_tiles(products)), want);
      EXPECT_EQ(bits_of(s.by_tiles(products, true)), want);
    });
  }
}

// On no shape is it further from the exact product than multiply-adds are. By the formula: that takes less time.
TEST(AmxGemmFormula, ErrorIsNotAboveThatOfMultiplyAdds) {
  std::mt19937 random(5);
  const AnySize any{random};
  double six = 0, three = 0, adds = 0, size = 0;
  for (uint32_t shape = 0; shape < 1000; ++shape) {
    const Sides s(any(16, 40), any(16, 40), any(64, 320), 1000 + shape);
    const auto exact = s.exactly();
    const double of_tiles = mean_square(s.by_formula(6).data(), exact),
                 of_adds = mean_square(s.plainly().data(), exact);
    EXPECT_LE(of_tiles, of_adds) << s.m << 'x' << s.n << 'x' << s.k;
    six += of_tiles, adds += of_adds, three += mean_square(s.by_formula(3).data(), exact);
    size += mean_square(std::vector<float>(exact.size()).data(), exact);
  }
  std::printf("of the numbers' size: %.2g by six products, %.2g by three, %.2g by multiply-adds\n", six / size,
              three / size, adds / size);
  EXPECT_LT(three, 5e-6 * size);
}

// Inputs of recurrent layers: sequences of some steps by the kernels of four gates, and their bias.
TEST_F(AmxGemm, ErrorOfRecurrentInputsIsNotAboveThatOfMultiplyAdds) {
  std::mt19937 random(9);
  const AnySize any{random};
  for (int shape = 0; shape < 100; ++shape) {
    Case c({.m = any(1, 8) * any(5, 12), .n = 4 * any(4, 12), .k = any(32, 200), .bias = true}, random);
    const auto error = [&](const std::unique_ptr<Kernel> &kernel) {
      std::vector<float> y(c.want.size());
      EXPECT_EQ(run_kernel(*kernel, {c.a.begin(), c.b.begin(), c.bias.begin(), y.data()}), Fault::none);
      return mean_square(y.data(), c.want);
    };
    const Constant weights{c.b.begin()};
    EXPECT_LE(error(blocked_gemm(c.g, 1, &weights, 6)), error(blocked_gemm(c.g, 1))) << text(c.g, 1);
  }
}

// What has no three normal parts is multiplied as elsewhere.
TEST_F(AmxGemm, EndsOfTheRange) {
  const float tiny = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max();
  for (float special : {nan, inf, -inf, tiny, 1e-38f, 1e-20f, 1e30f, most}) {
    Sides row(33, 20, 40, 7), column(33, 20, 40, 8), element(33, 20, 40, 9);
    for (int64_t l = 0; l < row.k; ++l) row.a_at(5, l) = column.b_at(l, 3) = special * (l % 2 ? 1.0f : 0.5f);
    element.a_at(31, 11) = special;
    for (Sides *s : {&row, &column, &element}) {
      const auto got = s->by_tiles(), want = s->plainly();
      for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(near(want[i], got[i], 1e-4, 1e-45)) << special << " at " << i;
    }
    if (special != inf && special != -inf) continue;
    const Constant weights{column.b.data()};
    EXPECT_EQ(blocked_gemm({.m = 33, .n = 20, .k = 40}, 1, &weights, 6), nullptr);
  }
  // Only in the first block of k: what the others add to that sum.
  for (float special : {tiny, 1e-40f, 1e-20f, nan}) {
    Sides s(20, 20, 300, 14);
    for (int64_t l = 0; l < s.k; ++l) s.a_at(5, l) = l < 30 ? special * static_cast<float>(l + 1) : 0;
    const auto want = s.plainly();
    for (bool constant : {false, true}) {
      const auto got = s.by_tiles(6, constant);
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(near(want[i], got[i], 1e-4, i / 20 == 5 ? 2e-44 : 1e-5)) << special << " at " << i;
    }
  }
  Sides zeros(20, 20, 40, 10);
  std::fill(zeros.a.begin(), zeros.a.end(), 0.0f);
  EXPECT_EQ(zeros.by_tiles(), std::vector<float>(400, 0.0f));
}

// What is added to zeros stays, although tiles take denormal numbers for zeros.
TEST_F(AmxGemm, DenormalNumbersOfABias) {
  const Sides zeros(20, 20, 300, 12, 0);
  std::vector<float> bias(20, 1e-40f), c(400), a = zeros.a, b = zeros.b;
  const auto kernel = blocked_gemm({.m = 20, .n = 20, .k = 300, .bias = true}, 1, nullptr, 6);
  EXPECT_EQ(run_kernel(*kernel, {a.data(), b.data(), bias.data(), c.data()}), Fault::none);
  EXPECT_EQ(c, std::vector<float>(400, 1e-40f));
}

// Numbers far apart in one row and column keep their digits.
TEST_F(AmxGemm, AllDigitsOfANumberCount) {
  Sides s(16, 16, 64, 21);
  std::fill(s.a.begin(), s.a.end(), 0.0f);
  std::fill(s.b.begin(), s.b.end(), 0.0f);
  std::mt19937 random(22);
  std::uniform_real_distribution<float> any(0.5f, 1);
  for (int64_t i = 0; i < 16; ++i) {
    s.a_at(i, i) = std::ldexp(any(random), static_cast<int>(i) - 8);
    s.b_at(i, i) = 1;
  }
  const auto c = s.by_tiles();
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(c[static_cast<size_t>(i * 17)], s.a_at(i, i));
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
#endif
