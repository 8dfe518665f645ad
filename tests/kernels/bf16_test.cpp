// Products and convolutions of operands that are rounded to bfloat16.
#include "backend/cpu/kernels/gemm/bf16_gemm.hpp"

#include <bit>

#include "backend/cpu/kernels/conv/bf16_conv.hpp"
#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "conv_cases.hpp"
#include "gemm_cases.hpp"
#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using namespace testing;

void round(Guarded &x) { round_to_bfloat16(x.begin(), x.begin(), x.size()); }

// Rounded operands give what sums in double say, and operands that are not give the same bits.
void check_each(const Gemm &given, std::mt19937 &random) {
  if (given.k == 0) return;
  Gemm g = given;
  g.bfloat16 = true;
  Case c(g, random);
  for (int64_t slices : {1, 3}) {
    auto kernel = blocked_gemm(g, slices);
    EXPECT_EQ(kernel->name, "bf16_gemm");
    Guarded out(c.c_size), again(c.c_size);
    std::vector<void *> args{c.a.begin(), c.b.begin()};
    if (g.bias) args.push_back(c.bias.begin());
    args.push_back(out.begin());
    EXPECT_EQ(run_kernel(*kernel, args), Fault::none);
    round(c.a), round(c.b);
    c.reference();
    c.check(kernel.get(), text(g, slices), g.k < 200 ? 1e-5 : 1e-4);
    args.back() = again.begin();
    EXPECT_EQ(run_kernel(*kernel, args), Fault::none);
    EXPECT_EQ(std::memcmp(out.begin(), again.begin(), static_cast<size_t>(c.c_size) * sizeof(float)), 0);
  }
}

TEST(Bf16, ProductsAreThoseOfRoundedOperands) {
  on_every_target([] {
    check_odd_sizes(check_each);
    check_leading_dimensions(check_each);
    check_batches(check_each);
  });
  std::mt19937 random(11);
  for (int variant = 0; variant < 4; ++variant)
    check_each({.m = 70, .n = 150, .k = 2100, .trans_a = bool(variant & 1), .trans_b = bool(variant & 2), .bias = true},
               random);
}

TEST(Bf16, ConstantSidesGiveTheSameBits) {
  on_every_target([] {
    std::mt19937 random(13);
    for (int variant = 0; variant < 4; ++variant) {
      Gemm g{.m = 21, .n = 150, .k = variant & 1 ? 2101 : 65, .trans_b = bool(variant & 2), .bias = true};
      g.bfloat16 = true;
      Case c(g, random);
      Guarded each(c.c_size), once(c.c_size);
      const Constant weights{c.b.begin()};
      EXPECT_EQ(run_kernel(*blocked_gemm(g, 1), {c.a.begin(), c.b.begin(), c.bias.begin(), each.begin()}), Fault::none);
      auto kernel = blocked_gemm(g, 3, &weights);
      EXPECT_EQ(run_kernel(*kernel, {c.a.begin(), c.b.begin(), c.bias.begin(), once.begin()}), Fault::none);
      EXPECT_TRUE(once.whole());
      EXPECT_EQ(std::memcmp(each.begin(), once.begin(), static_cast<size_t>(c.c_size) * sizeof(float)), 0);
    }
  });
}

// Of each pair of k the second product is added first, each time with one rounding: on every processor.
TEST(Bf16, SumsHaveTheOrderOfTheInstruction) {
  on_every_target([] {
    std::mt19937 random(3);
    for (int64_t m : {1, 2, 3, 4, 29})
      for (int64_t k : {1, 2, 31, 130}) {
        const Gemm g{.m = m, .n = 230, .k = k, .bfloat16 = true};
        Case c(g, random);
        Guarded out(c.c_size);
        EXPECT_EQ(run_kernel(*blocked_gemm(g, 1), {c.a.begin(), c.b.begin(), out.begin()}), Fault::none);
        round(c.a), round(c.b);
        for (int64_t i = 0; i < g.m; ++i)
          for (int64_t j = 0; j < g.n; ++j) {
            float sum = 0;
            for (int64_t l = 0; l < k; l += 2) {
              if (l + 1 < k) sum = std::fmaf(c.a[i * k + l + 1], c.b[(l + 1) * g.n + j], sum);
              sum = std::fmaf(c.a[i * k + l], c.b[l * g.n + j], sum);
            }
            ASSERT_EQ(std::bit_cast<uint32_t>(out[i * g.n + j]), std::bit_cast<uint32_t>(sum))
                << k << ' ' << i << ' ' << j;
          }
      }
  });
}

TEST(Bf16, RoundingIsThatOfReducePrecision) {
  on_every_target([] {
    std::mt19937 random(5);
    std::vector<float> x{0.0f, -0.0f, inf, -inf, nan, -nan, 3.4e38f, -3.4e38f, 1e-40f, 1.00390625f, 1.01171875f};
    while (x.size() < 4099) x.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    std::vector<float> y(x.size()), want(x.size());
    const auto n = static_cast<int64_t>(x.size());
    round_to_bfloat16(x.data(), y.data(), n);
    reduce_precision(8, 7, x.data(), want.data(), n);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(std::isnan(y[i]), std::isnan(want[i])) << x[i];
      if (std::isnan(y[i])) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(want[i])) << x[i];
    }
  });
}

template <class Make, class Want>
void check_conv(Data &d, const char *name, Guarded &first, Guarded &second, int64_t results, const Make &make,
                const Want &want, bool bias = false) {
  for (int64_t slices : {1, 3}) {
    auto kernel = make(slices);
    ASSERT_NE(kernel, nullptr) << name;
    EXPECT_TRUE(kernel->name.starts_with("bf16_conv")) << kernel->name;
    Guarded x(first.size()), w(second.size()), of_these(results), of_rounded(results);
    std::copy_n(first.begin(), first.size(), x.begin()), std::copy_n(second.begin(), second.size(), w.begin());
    std::vector<void *> args{x.begin(), w.begin()};
    if (bias) args.push_back(d.bias.begin());
    args.push_back(of_these.begin());
    EXPECT_EQ(run_kernel(*kernel, args), Fault::none);
    round(first), round(second);
    args = {first.begin(), second.begin()};
    if (bias) args.push_back(d.bias.begin());
    args.push_back(of_rounded.begin());
    EXPECT_EQ(run_kernel(*kernel, args), Fault::none);
    EXPECT_TRUE(near(of_rounded, want(), 1e-4)) << name;
    EXPECT_EQ(std::memcmp(of_these.begin(), of_rounded.begin(), static_cast<size_t>(results) * sizeof(float)), 0);
  }
}

TEST(Bf16, PixelsAreTakenWhereTheyLie) {
  on_every_target([] {
    std::mt19937 random(17);
    int taken = 0;
    for (const Sizes &s : table)
      for (const bool bias : {false, true}) {
        Data d(conv_of(s, bias), random);
        if (d.c.is_empty()) continue;
        d.c.bfloat16 = true;
        if (bias) d.c.epilogue.run = doubled_plus_one;
        const Constant weights{d.weights.begin()};
        Guarded want(d.diff_dst.size());
        std::vector<void *> args{d.src.begin(), d.weights.begin()};
        if (bias) args.push_back(d.bias.begin());
        args.push_back(want.begin());
        run_kernel(*blocked_conv(d.c, 1), args);
        for (const int64_t slices : {1, 2, 3, 7})
          for (const Constant *constant : {static_cast<const Constant *>(nullptr), &weights}) {
            auto kernel = bf16_conv(d.c, slices, constant);
            if (!kernel) continue;
            ++taken;
            Guarded got(want.size());
            args.back() = got.begin();
            EXPECT_EQ(run_kernel(*kernel, args), Fault::none);
            EXPECT_TRUE(got.whole());
            const auto bytes = static_cast<size_t>(got.size()) * sizeof(float);
            EXPECT_EQ(std::memcmp(got.begin(), want.begin(), bytes), 0) << s.name << ", " << slices;
            expect_same_bits(*kernel, args, args.size() - 1, got);
          }
      }
    EXPECT_GE(taken, 160);
  });
}

TEST(Bf16, ConvolutionsAreThoseOfRoundedOperands) {
  on_every_target([] {
    std::mt19937 random(7);
    for (const Sizes &s : table) {
      Data d(conv_of(s, true), random);
      if (d.c.is_empty()) continue;
      d.c.bfloat16 = true;
      check_conv(
          d, s.name, d.src, d.weights, d.diff_dst.size(), [&](int64_t n) { return blocked_conv(d.c, n); },
          [&] { return d.forward(); }, true);
      const Constant weights{d.weights.begin()};
      check_conv(
          d, s.name, d.src, d.weights, d.diff_dst.size(), [&](int64_t n) { return blocked_conv(d.c, n, &weights); },
          [&] { return d.forward(); }, true);
      check_conv(
          d, s.name, d.diff_dst, d.weights, d.src.size(), [&](int64_t n) { return blocked_conv_data(d.c, n); },
          [&] { return d.data(); });
      d.c.bias = false;
      check_conv(
          d, s.name, d.src, d.diff_dst, d.weights.size(), [&](int64_t n) { return blocked_conv_weights(d.c, n); },
          [&] { return d.by_weights(); });
    }
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
