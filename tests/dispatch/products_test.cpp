// Which kernel computes which product: by cost on each machine, and without those that are off.
#include "backend/cpu/dispatch/products.hpp"

#include <gtest/gtest.h>

#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/kernels/gemm/amx_gemm.hpp"
#include "backend/cpu/kernels/gemm/gemm_cut.hpp"

namespace dl4::dispatch::DL4_FILE {
namespace {

using kernels::Gemm;

// "64x10x128 TN": m, n, k, how A and B are stored; constant: B is.
Gemm gemm(const std::string &words) {
  Gemm g;
  long long m = 0, n = 0, k = 0;
  char a = 'N', b = 'N';
  EXPECT_EQ(std::sscanf(words.c_str(), "%lldx%lldx%lld %c%c", &m, &n, &k, &a, &b), 5);
  g.m = m, g.n = n, g.k = k, g.trans_a = a == 'T', g.trans_b = b == 'T';
  return g;
}
bool is_constant(const std::string &words) { return words.ends_with("constant"); }

Machine with(double vector, double fused) {
  Machine m;
  m.vector = vector, m.fused = fused;
  return m;
}

std::string cheapest(const std::string &words, const Machine &machine) {
  for (const Price &p : product_prices(gemm(words), is_constant(words), machine))
    if (p.name != "amx_gemm" && p.name != "openblas_gemm") return std::string(p.name.substr(0, p.name.find('_')));
  return "";
}

// Of each kind, and which of the kernels but OpenBLAS's is the fastest on one core of a Zen 5.
struct Expected {
  const char *product, *kernel;
};
const Expected expected[] = {
    {"512x256x800 TN", "dnnl"},
    {"64x64x64 TN", "small"},
    {"4x2x8192 NN constant", "packed"},

    {"32x1x1000 NN", "small"},
    {"32x1x1000 NN constant", "small"},
    {"32x2x1000 NN", "blocked"},
    {"4096x8x3 NN constant", "small"},
    {"1024x16x4 NN constant", "small"},
    {"1x1024x1024 NN constant", "packed"},
    {"32x128x784 NN constant", "packed"},
    {"3x1024x1000 NN constant", "packed"},
    {"64x1024x1000 NN constant", "packed"},
    {"128x128x64 NT", "small"},
    {"4x8192x2 NT", "small"},
    {"1x10x84 NT", "small"},
    {"64x256x256 NT", "dnnl"},
    {"4x256x256 NT", "small"},
    {"256x1024x1024 NN", "dnnl"},
    {"1x1024x1024 NN", "small"},
    {"32x10x84 NN", "small"},
};

TEST(Products, TheKernelThatWasTheFastestIsTheCheapest) {
  if (libraries().empty()) GTEST_SKIP() << "oneDNN is not there";
  for (const Expected &e : expected) EXPECT_EQ(cheapest(e.product, Machine()), e.kernel) << e.product;
}

// What a machine says of itself decides, in every run alike.
TEST(Products, CostsFollowFromTheMachine) {
  const Gemm g = kernels::dense(gemm("512x512x512 NN"));
  const auto cycles = [&](const Machine &m) { return packed_gemm_cycles(g, m); };
  EXPECT_NEAR(cycles(with(8, 2)) / cycles(with(16, 2)), 2, 0.1);
  EXPECT_NEAR(cycles(with(16, 1)) / cycles(with(16, 2)), 2, 0.1);
  EXPECT_NEAR(cycles(with(16, 2)) / (512.0 * 512 * 512 / 32), 1, 0.1);
  Machine faster, small;
  faster.gigahertz *= 2;
  EXPECT_DOUBLE_EQ(faster.microseconds(100), Machine().microseconds(50));
  small.cache[1] = 1 << 17;
  const Gemm large = kernels::dense(gemm("64x1024x1024 NN"));
  EXPECT_GT(small_gemm_cycles(kernels::dense(gemm("64x256x256 NN")), small),
            small_gemm_cycles(kernels::dense(gemm("64x256x256 NN")), Machine()));
  EXPECT_GT(small_gemm_cycles(large, Machine()), 1.1 * packed_gemm_cycles(large, Machine()));
}

// With whole items one of two threads would have twice as many of three.
TEST(Products, ItemsAreCutEvenly) {
  const auto pieces = [](int64_t items, int64_t slices) {
    Gemm g = gemm("64x64x64 NN");
    g.batch = items;
    const kernels::GemmCut cut = kernels::cut(g, slices, 8, 4, 32);
    EXPECT_EQ(cut.slices, cut.pieces > 1 ? items * cut.pieces : std::min(items, slices));
    return cut.pieces;
  };
  EXPECT_EQ(pieces(3, 2), 2);
  EXPECT_EQ(pieces(5, 4), 3);
  EXPECT_EQ(pieces(9, 2), 1) << "an eighth more than on average is even";
  EXPECT_EQ(pieces(4, 2), 1);
  EXPECT_EQ(pieces(2, 4), 2);
  EXPECT_EQ(pieces(3, 1), 1);
}

TEST(Products, WhatWasMeasuredOfAKernelScalesItsCost) {
  auto slow = std::make_shared<Machine>();
  slow->times["small_gemm"] = 100;
  Site site;
  EXPECT_EQ(product(site, gemm("64x64x64 NN"), 1)->name, "small_gemm");
  site.cutting.machine = slow;
  EXPECT_NE(product(site, gemm("64x64x64 NN"), 1)->name, "small_gemm");
  site.cutting.portable = true;  // where nothing that was measured counts
  EXPECT_EQ(product(site, gemm("64x64x64 NN"), 1)->name, "small_gemm");
}

TEST(Products, LargeOnesGoByTilesWhereTheProcessorHasThem) {
  const bool own = kernels::has_tiles();
  for (bool has : {false, true}) {
    kernels::pretend_tiles(has);
    const auto by_tiles = [](const char *words) {
      return product_prices(gemm(words), is_constant(words), this_machine())[0].name == "amx_gemm";
    };
    for (const char *large : {"512x1024x1024 NN constant", "256x256x256 NN", "256x256x256 NT", "784x256x128 TN",
                              "256x256x256 TT", "512x512x64 NT"})
      EXPECT_EQ(by_tiles(large), kernels::has_tiles()) << large;
    for (const char *other : {"63x1024x1024 NN", "128x128x64 NN", "1x4096x4096 NN constant"})
      EXPECT_FALSE(by_tiles(other)) << other;
  }
  kernels::pretend_tiles(own);
}

TEST(Products, HowManyTheyAreByTiles) {
  const bool own = kernels::has_tiles();
  kernels::pretend_tiles(true);
  const auto products = [](const Site &site) { return tile_products(site, "amx_conv", 256, 256, 256); };
  Site site;
  EXPECT_EQ(products(site), kernels::has_tiles() ? 6 : 0);
  site.math = kernels::Math::float32x3;
  EXPECT_EQ(products(site), kernels::has_tiles() ? 3 : 0);
  const std::vector<std::string> other{"amx_gemm"}, this_one{"amx_conv"};
  site.off = other;
  EXPECT_EQ(products(site), kernels::has_tiles() ? 3 : 0);
  site.off = this_one;
  EXPECT_EQ(products(site), 0);
  Site by_row;
  by_row.cutting.by_row = true;
  EXPECT_EQ(products(by_row), 0) << "a row has the bits that it has alone";
  const auto unportable = unportable_kernels();
  Site portable;
  portable.off = unportable;
  EXPECT_EQ(products(portable), 0);
  kernels::pretend_tiles(own);
}

TEST(Products, EachCandidateThatIsOffGivesWayToTheNextCheapest) {
  std::vector<float> numbers(1 << 20);
  const kernels::Constant b{numbers.data()};
  for (const Expected &e : expected) {
    const Gemm g = gemm(e.product);
    if (g.n * g.k > std::ssize(numbers)) continue;
    std::vector<std::string> off;
    for (const Price &p : product_prices(g, is_constant(e.product), this_machine())) {
      Site site;
      site.off = off;
      const auto kernel = product(site, g, 1, is_constant(e.product) ? &b : nullptr);
      EXPECT_TRUE(kernel->name.starts_with(p.name)) << e.product << ": " << kernel->name << " for " << p.name;
      off.emplace_back(p.name);
    }
    EXPECT_EQ(off.back(), "reference_gemm");
    EXPECT_GE(off.size(), 2u);  // one fewer with an OpenBLAS that is not used
  }
}

TEST(Products, ByItemGiveWayToTheNextCheapest) {
  const std::vector<BatchAxis> axes{{3, 0, 16}};
  const auto names = [&](const char *words) {
    std::vector<std::string> off{"amx_by_item"}, found;
    while (found.empty() || found.back() != "reference_by_item") {
      Site site;
      site.off = off;
      site.cutting.machine = std::make_shared<Machine>();
      found.push_back(product_by_item(site, kernels::dense(gemm(words)), axes, 1)->name);
      off.push_back(found.back());
    }
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("4x4x4 NN"), (Names{"small_by_item", "blocked_by_item", "reference_by_item"}));
  EXPECT_EQ(names("256x512x512 NN"), (Names{"blocked_by_item", "small_by_item", "reference_by_item"}));
}

}  // namespace
}  // namespace dl4::dispatch::DL4_FILE
