// Matrix products by OpenBLAS and oneDNN against sums in double.
#include "kernels/gemm_cases.hpp"

#include "backend/cpu/kernels/openblas/blas.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using namespace testing;

void check_all(const Gemm &g, std::mt19937 &random, bool nan = false) {
  Case c(g, random, nan);
  for (int64_t slices : {1, 2, 3, 7}) {
    if (blas::usable()) c.check(openblas_gemm(g, slices).get(), text(g, slices));
    c.check(dnnl_gemm(g, slices).get(), text(g, slices));
    Constant b{c.b.begin()};
    if (g.batch == 1) c.check(dnnl_gemm(g, slices, &b).get(), "constant " + text(g, slices));
  }
}

void check_each(const Gemm &g, std::mt19937 &random) { check_all(g, random); }

TEST(Gemm, OddSizes) { check_odd_sizes(check_each); }
TEST(Gemm, LeadingDimensions) { check_leading_dimensions(check_each); }
TEST(Gemm, Batches) { check_batches(check_each); }
TEST(Gemm, NothingToMultiplyGivesTheBias) { check_nothing_to_multiply(check_each); }

TEST(Gemm, NothingToWriteIsNoSlice) {
  Gemm no_item{.batch = 0, .m = 3, .n = 3, .k = 4};
  for (const Gemm &g : {Gemm{.m = 0, .n = 3, .k = 4}, Gemm{.m = 3, .n = 0, .k = 4}, no_item}) {
    EXPECT_EQ(dnnl_gemm(g, 3)->slices, 0);
    if (auto kernel = openblas_gemm(g, 3)) {
      EXPECT_EQ(kernel->slices, 0);
    }
  }
}

TEST(Gemm, NanPassesThrough) {
  std::mt19937 random(6);
  check_all({.m = 40, .n = 130, .k = 33, .bias = true}, random, true);
}

TEST(Gemm, PackedWeightsAreShared) {
  std::mt19937 random(7);
  Guarded b(256 * 256, random);
  PackedForms forms;
  Constant constant{b.begin(), &forms};
  Gemm g{.m = 8, .n = 256, .k = 256};
  auto one = dnnl_gemm(g, 1, &constant);
  int64_t bytes = forms.bytes();
  auto two = dnnl_gemm(g, 2, &constant);
  g.m = 100;
  auto rows = dnnl_gemm(g, 3, &constant);
  EXPECT_EQ(two->slices, 2);
  EXPECT_EQ(rows->slices, 3);
  EXPECT_LE(bytes, 256 * 256 * 4);
  EXPECT_EQ(forms.bytes(), bytes) << one->name;
  one.reset();
  two.reset();
  rows.reset();
  EXPECT_EQ(forms.bytes(), 0);
}

TEST(Gemm, NoThreadAppears) {
  std::mt19937 random(8);
  int64_t before = os_threads();
  {
    Gemm g{.m = 300, .n = 300, .k = 300};
    Guarded a(90000, random), b(90000, random), c(90000);
    Constant constant{b.begin()};
    for (auto *with : {static_cast<Constant *>(nullptr), &constant}) {
      auto kernel = dnnl_gemm(g, 1, with);
      run_kernel(*kernel, {a.begin(), b.begin(), c.begin()});
    }
    if (blas::usable()) run_kernel(*openblas_gemm(g, 1), {a.begin(), b.begin(), c.begin()});
  }
  EXPECT_EQ(os_threads(), before);
}

TEST(Blas, BetaAndZeroSizes) {
  if (!blas::usable()) GTEST_SKIP() << blas::description();
  float a[]{1, 2, 3, 4}, b[]{5, 6, 7, 8};
  float c[]{NAN, NAN, NAN, NAN};
  blas::sgemm(false, false, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
  EXPECT_EQ(c[0], 19);
  EXPECT_EQ(c[3], 50);
  blas::sgemm(false, false, 2, 2, 0, 1, a, 2, b, 2, 2, c, 2);
  EXPECT_EQ(c[0], 38);
  blas::sgemm(false, false, 0, 2, 2, 1, a, 2, b, 2, 0, c, 2);
  EXPECT_EQ(c[0], 38);
  c[0] = NAN;
  blas::sgemm(false, false, 1, 2, 0, 1, a, 2, b, 2, 0, c, 2);
  EXPECT_EQ(c[0], 0);
}

TEST(Blas, ManyCallersGetRightProducts) {
  if (!blas::usable()) GTEST_SKIP() << blas::description();
  std::mt19937 random(9);
  Guarded a(100 * 100, random), b(100 * 100, random);
  std::vector<float> want(100 * 100);
  SingleThreaded one;
  blas::sgemm(false, true, 100, 100, 100, 1, a.begin(), 100, b.begin(), 100, 0, want.data(), 100);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 200; t++)
    threads.emplace_back([&] {
      stay_single_threaded();
      std::vector<float> c(100 * 100, NAN);
      for (int i = 0; i < 5; i++) {
        blas::sgemm(false, true, 100, 100, 100, 1, a.begin(), 100, b.begin(), 100, 0, c.data(), 100);
        wrong += c != want;
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Blas, CoresAreOlderThanVectorsByTheirNames) {
  using enum cpu::Vectors;
  for (const char *core : {"Prescott", "Nehalem", "Sandybridge", "BULLDOZER", "Opteron_SSE3"})
    for (const cpu::Vectors vectors : {avx2, avx512}) EXPECT_TRUE(blas::is_older(core, vectors)) << core;
  for (const char *core : {"Haswell", "Zen", "Excavator"}) {
    EXPECT_TRUE(blas::is_older(core, avx512)) << core;
    EXPECT_FALSE(blas::is_older(core, avx2)) << core;
  }
  for (const char *core : {"SkylakeX", "Cooperlake", "SapphireRapids", "a newer one"})
    EXPECT_FALSE(blas::is_older(core, avx512)) << core;
  for (const char *core : {"Prescott", "armv8", "Haswell"}) EXPECT_FALSE(blas::is_older(core, none)) << core;
}

TEST(Blas, SaysWhatItIs) { EXPECT_NE(blas::description().find("OpenBLAS"), std::string::npos) << blas::description(); }

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
