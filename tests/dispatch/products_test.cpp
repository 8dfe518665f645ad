// Which kernel computes which product: by cost on each type of processor, and without those that are off.
#include "backend/cpu/dispatch/products.hpp"

#include <gtest/gtest.h>

#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/kernels/gemm/amx_gemm.hpp"

namespace dl4::dispatch {
namespace {

using cpu::Type;
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

// Is OpenBLAS there and of the variant that is used?
bool has_openblas() {
  for (const Library *l : libraries())
    if (l->name == std::string_view("openblas")) return l->products[0].applies(Product{Gemm(), 1, nullptr, {}, 1});
  return false;
}

std::string cheapest(const std::string &words, Type type, bool openblas = true) {
  for (const Price &p : product_prices(gemm(words), is_constant(words), type))
    if (p.name != "amx_gemm" && (openblas || p.name != "openblas_gemm")) return std::string(p.name);
  return "";
}

// A product of each region, and which kernel was the fastest when it was measured.
struct Expected {
  const char *product;
  const char *epyc, *xeon, *avx2, *neon;
};
const Expected expected[] = {
    {"256x256x256 TT", "openblas", "openblas", "openblas", "openblas"},
    {"64x10x128 TN", "openblas", "openblas", "openblas", "openblas"},
    {"64x64x64 TN", "small", "small", "small", "small"},
    {"784x256x128 TN", "small", "dnnl", "dnnl", "small"},
    {"512x2048x800 TN", "dnnl", "dnnl", "dnnl", "small"},
    {"4x2x8192 NN constant", "packed", "packed", "packed", "packed"},
    {"4x2x8192 NT constant", "packed", "packed", "packed", "packed"},
    {"32x1x1000 NN", "small", "small", "small", "small"},
    {"32x1x1000 NN constant", "small", "small", "small", "small"},
    {"32x2x1000 NN", "openblas", "openblas", "openblas", "openblas"},
    {"4096x8x3 NN constant", "small", "small", "small", "small"},
    {"1024x16x4 NN constant", "small", "small", "small", "small"},
    {"1x8x3 NN constant", "packed", "packed", "packed", "packed"},
    {"3x1024x1000 NN constant", "packed", "packed", "packed", "packed"},
    {"3x256x256 NN constant", "packed", "packed", "packed", "packed"},
    {"2x1024x1000 NN constant", "packed", "packed", "packed", "packed"},
    {"32x128x784 NN constant", "packed", "packed", "packed", "packed"},
    {"64x1024x1000 NN constant", "packed", "packed", "packed", "packed"},
    {"512x1024x1000 NN constant", "packed", "packed", "dnnl", "packed"},
    {"512x1024x1000 NT constant", "packed", "packed", "dnnl", "packed"},
    {"512x128x128 NN constant", "packed", "packed", "packed", "packed"},
    {"128x128x64 NT", "small", "small", "small", "small"},
    {"4x8192x2 NT", "small", "small", "small", "small"},
    {"1x10x84 NT", "openblas", "openblas", "openblas", "openblas"},
    {"4x256x256 NT", "openblas", "openblas", "openblas", "openblas"},
    {"8x512x512 NT", "small", "small", "small", "small"},
    {"64x256x256 NT", "dnnl", "dnnl", "dnnl", "dnnl"},
    {"64x1024x1024 NN", "small", "dnnl", "openblas", "openblas"},
    {"256x1024x1024 NN", "dnnl", "dnnl", "openblas", "openblas"},
    {"8x1024x1024 NN", "small", "small", "small", "small"},
    {"256x256x256 NN", "small", "small", "small", "small"},
};

TEST(Products, TheKernelThatWasMeasuredAsTheFastestIsTheCheapest) {
  if (!has_openblas()) GTEST_SKIP() << "OpenBLAS is not there, or not used";
  for (const Expected &e : expected) {
    EXPECT_EQ(cheapest(e.product, Type::avx512), e.epyc + std::string("_gemm")) << e.product;
    EXPECT_EQ(cheapest(e.product, Type::intel_avx512), e.xeon + std::string("_gemm")) << e.product;
    EXPECT_EQ(cheapest(e.product, Type::avx2), e.avx2 + std::string("_gemm")) << e.product;
    EXPECT_EQ(cheapest(e.product, Type::neon), e.neon + std::string("_gemm")) << e.product;
  }
}

// Zen 5 goes through B for fewer rows at a time than it takes to lay it out.
TEST(Products, VectorsOf512BitsAreWorthLayingOutMore) {
  if (libraries().empty()) GTEST_SKIP() << "oneDNN is not there";
  for (const char *large : {"64x1024x1024 NN", "24x1024x1024 NN", "64x512x512 NN", "128x256x1024 NN"}) {
    EXPECT_EQ(cheapest(large, Type::wide_avx512), "dnnl_gemm") << large;
    EXPECT_EQ(cheapest(large, Type::avx512), "small_gemm") << large;
  }
  for (const char *small : {"16x1024x1000 NN", "32x512x512 NN", "64x256x256 NN", "1x1024x1024 NN"})
    EXPECT_EQ(cheapest(small, Type::wide_avx512), "small_gemm") << small;
}

// The figures of a kernel that lays B out by each run are those of portable runs too, but for few columns, whose bits
// are published.
TEST(Products, PortableOnesOfFewColumnsStay) {
  Site site;
  site.cutting.portable = true;
  const auto unportable = unportable_kernels();
  site.off = unportable;
  EXPECT_EQ(product(site, gemm("32x2x1000 NN"), 1)->name, "small_gemm");
}

TEST(Products, WithoutOpenblasTheNextByItsFiguresIsTaken) {
  if (libraries().empty()) GTEST_SKIP() << "oneDNN is not there";
  struct Next {
    const char *product, *kernel;
  };
  for (Type type : {Type::avx512, Type::intel_avx512, Type::avx2, Type::neon})
    for (const Next &e : {Next{"3x3x16 NT", "small"}, Next{"1x10x84 NT", "small"}, Next{"32x2x1000 NN", "blocked"},
                          Next{"64x10x128 TN", "small"}, Next{"64x10x128 TT", "dnnl"}, Next{"4x256x256 NT", "small"}})
      EXPECT_EQ(cheapest(e.product, type, false), e.kernel + std::string("_gemm")) << e.product;
  for (Type type : {Type::avx2, Type::neon}) EXPECT_EQ(cheapest("256x1024x1024 NN", type, false), "dnnl_gemm");
}

TEST(Products, LargeOnesGoByTilesWhereTheProcessorHasThem) {
  const bool own = kernels::has_tiles();
  for (bool has : {false, true}) {
    kernels::pretend_tiles(has);
    const auto by_tiles = [](const char *words) {
      return product_prices(gemm(words), is_constant(words), cpu::type())[0].name == "amx_gemm";
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
    for (const Price &p : product_prices(g, is_constant(e.product), cpu::type())) {
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
  Gemm g = gemm("4x4x4 NN");
  std::vector<std::string> off;
  for (const char *name : {"openblas_by_item", "small_by_item", "reference_by_item"}) {
    if (off.empty() && !has_openblas()) {
      off.emplace_back(name);
      continue;
    }
    Site site;
    site.off = off;
    EXPECT_EQ(product_by_item(site, g, axes, 1)->name, name);
    off.emplace_back(name);
  }
}

}  // namespace
}  // namespace dl4::dispatch
