// The generators against the values that TensorFlow, Python and NumPy print.
#include "base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace dl4::DL4_FILE {
namespace {

TEST(Philox, KnownAnswers) {  // of the Random123 distribution
  EXPECT_EQ((PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}), philox({0, 0}, 0));
  EXPECT_EQ((PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}),
            philox({UINT64_MAX, UINT64_MAX}, UINT64_MAX));
}

TEST(OpSeeds, AfterSetSeed42) {
  OpSeeds seeds(42);
  for (const int64_t want : {478163327, 107420369, 1181241943, 1051802512}) EXPECT_EQ(want, seeds.next());
}

TEST(Mt19937, NumPyRandAfterSeed42) {
  Mt19937 mt(42u);
  for (const double want : {0.3745401188473625, 0.9507143064099162, 0.7319939418114051, 0.5986584841970366}) {
    const uint32_t a = mt.next() >> 5, b = mt.next() >> 6;
    EXPECT_DOUBLE_EQ(want, (a * 67108864.0 + b) / 9007199254740992.0);
  }
}

TEST(Mt19937, TenThousandthOfTheDefaultSeed) {
  Mt19937 mt(5489u);
  uint32_t last = 0;
  for (int i = 0; i < 10000; ++i) last = mt.next();
  EXPECT_EQ(4123659995u, last);
}

TEST(PythonRandom, RandintStaysInside) {
  PythonRandom r(7);
  for (int i = 0; i < 1000; ++i) {
    const int64_t v = r.randint(-3, 4);
    EXPECT_GE(v, -3);
    EXPECT_LE(v, 4);
  }
  EXPECT_EQ(5, r.randint(5, 5));
}

TEST(Shuffle, IsAPermutationOfItsStream) {
  std::vector<int64_t> a(1000), b(1000), c(1000);
  shuffle({1, 2}, a);
  shuffle({1, 2}, b);
  shuffle({1, 3}, c);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  std::sort(a.begin(), a.end());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(static_cast<int64_t>(i), a[i]);
  shuffle({1, 2}, {});
}

TEST(Shuffle, PutsEveryElementEverywhere) {
  int counts[5][5] = {};
  for (uint64_t s = 0; s < 5000; ++s) {
    int64_t order[5];
    shuffle({s, 0}, order);
    for (int i = 0; i < 5; ++i) ++counts[i][order[i]];
  }
  for (const auto &row : counts)
    for (int c : row) EXPECT_NEAR(1000, c, 150);
}

}  // namespace
}  // namespace dl4::DL4_FILE
