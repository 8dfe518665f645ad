// Attention by tiles: odd sizes and masks, the same bits for any blocks, the ends of the range, and errors.
#include "backend/cpu/kernels/attention/attention.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include "attention_cases.hpp"
#include "tile_cases.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using namespace testing;

class AmxAttention : public ::testing::Test {
  dl4_test::WithTiles tiles_;
};

AttentionSizes sizes(int64_t queries, int64_t keys, int64_t depth, int64_t width, bool causal, int tiles = 6) {
  AttentionSizes s{queries, keys, depth, width, causal};
  s.tiles = tiles;
  return s;
}

TEST_F(AmxAttention, EverySize) {
  for (const bool causal : {false, true})
    for (const bool masked : {false, true})
      for (const int64_t queries : {1, 31, 70})
        for (const int64_t keys : {1, 5, 64, 100})
          for (const int64_t depth : {1, 7, 40})
            testing::check(sizes(queries, keys, depth, depth == 7 ? 49 : 8, causal), masked);
}
TEST_F(AmxAttention, EveryInstructionSet) {
  on_every_target([] { testing::check(sizes(70, 100, 40, 49, true), true); });
}

// A product of rows that several share, and of a part of them.
TEST_F(AmxAttention, SumsAreThoseOfTheFormula) {
  const int64_t m = 37, n = 29, k = 100;
  const auto a = random_floats(m * k, -1, 1, 3), b = random_floats(k * n, -1, 1, 4);
  std::vector<uint32_t> words(static_cast<size_t>(tile_words(m, k))), room(static_cast<size_t>(tile_words(n, k)));
  TileRows rows{6, words.data()};
  rows.lay(m, k, a.data(), k);
  for (const auto &[some_m, some_k] : {std::pair{m, k}, {int64_t{20}, int64_t{64}}}) {
    std::vector<float> c(static_cast<size_t>(some_m * n));
    ASSERT_TRUE(rows.multiply(some_m, n, some_k, b.data(), n, room.data(), false, c.data(), n));
    const auto want = by_formula(
        some_m, n, some_k, 6, [&](int64_t i, int64_t l) { return a[static_cast<size_t>(i * k + l)]; },
        [&](int64_t l, int64_t j) { return b[static_cast<size_t>(l * n + j)]; });
    EXPECT_EQ(bits_of(c), bits_of(want));
    std::vector<float> twice = c;
    ASSERT_TRUE(rows.multiply(some_m, n, some_k, b.data(), n, room.data(), true, twice.data(), n));
    for (size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(twice[i], 2 * c[i], 1e-5);
  }
}

// A sequence with its gradients: y, dq, dk, dv.
struct Sequence {
  AttentionSizes s;
  std::vector<float> q, k, v, dy;

  Sequence(const AttentionSizes &s, uint32_t seed, float reach = 1)
      : s(s),
        q(random_floats(s.queries * s.depth, -reach, reach, seed)),
        k(random_floats(s.keys * s.depth, -reach, reach, seed + 1)),
        v(random_floats(s.keys * s.width, -1, 1, seed + 2)),
        dy(random_floats(s.queries * s.width, -1, 1, seed + 3)) {}

  // step: queries of one call.
  std::array<std::vector<float>, 4> run(int tiles, int64_t step = 1 << 20) const {
    AttentionSizes by = s;
    by.tiles = tiles;
    std::array<std::vector<float>, 4> r{std::vector<float>(dy.size()), std::vector<float>(q.size()),
                                        std::vector<float>(k.size()), std::vector<float>(v.size())};
    std::vector<float> max(static_cast<size_t>(s.queries)), sum(max.size());
    std::vector<float> forward(static_cast<size_t>(attention_forward_scratch(by)), nan);
    std::vector<float> backward(static_cast<size_t>(attention_backward_scratch(by)), nan);
    for (int64_t t = 0; t < s.queries; t += step)
      attention_forward(by, {q.data(), k.data(), v.data(), nullptr, r[0].data(), max.data(), sum.data()}, t,
                        std::min(s.queries, t + step), forward.data());
    attention_backward(by,
                       {q.data(), k.data(), v.data(), nullptr, max.data(), sum.data(), dy.data(), r[1].data(),
                        r[2].data(), r[3].data()},
                       backward.data());
    return r;
  }
  std::array<std::vector<double>, 4> exactly() const {
    const auto w = weights_of(s, q, k, {});
    std::array<std::vector<double>, 4> r{std::vector<double>(dy.size()), std::vector<double>(q.size()),
                                         std::vector<double>(k.size()), std::vector<double>(v.size())};
    const auto at = [](const auto &x, int64_t i, int64_t n, int64_t j) {
      return double{x[static_cast<size_t>(i * n + j)]};
    };
    for (int64_t t = 0; t < s.queries; ++t) {
      std::vector<double> dw(static_cast<size_t>(s.keys));
      double mean = 0;
      for (int64_t i = 0; i < s.keys; ++i) {
        for (int64_t d = 0; d < s.width; ++d) {
          r[0][static_cast<size_t>(t * s.width + d)] += at(w, t, s.keys, i) * at(v, i, s.width, d);
          r[3][static_cast<size_t>(i * s.width + d)] += at(w, t, s.keys, i) * at(dy, t, s.width, d);
          dw[static_cast<size_t>(i)] += at(dy, t, s.width, d) * at(v, i, s.width, d);
        }
        mean += dw[static_cast<size_t>(i)] * at(w, t, s.keys, i);
      }
      for (int64_t i = 0; i < s.keys; ++i)
        for (int64_t d = 0; d < s.depth; ++d) {
          const double ds = at(w, t, s.keys, i) * (dw[static_cast<size_t>(i)] - mean);
          r[1][static_cast<size_t>(t * s.depth + d)] += ds * at(k, i, s.depth, d);
          r[2][static_cast<size_t>(i * s.depth + d)] += ds * at(q, t, s.depth, d);
        }
    }
    return r;
  }
};

TEST_F(AmxAttention, BitsDoNotDependOnWhichBlocksAreDoneAtOnce) {
  for (const bool causal : {false, true}) {
    const Sequence of(sizes(150, 140, 40, 49, causal), 31);
    const auto all = of.run(6);
    for (const int64_t step : {attention_block, 2 * attention_block})
      EXPECT_EQ(bits_of(of.run(6, step)[0]), bits_of(all[0])) << causal << ' ' << step;
  }
}

TEST_F(AmxAttention, ErrorIsNotAboveThatOfMultiplyAdds) {
  std::mt19937 random(8);
  const AnySize any{random};
  double three = 0, size = 0;
  for (uint32_t shape = 0; shape < 40; ++shape) {
    const Sequence of(sizes(any(30, 90), any(64, 160), any(30, 70), any(30, 70), shape % 4 == 3), 3000 + shape);
    const auto exact = of.exactly();
    const auto tiles = of.run(6), adds = of.run(0), fewer = of.run(3);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_LE(mean_square(tiles[i].data(), exact[i]), mean_square(adds[i].data(), exact[i]))
          << "result " << i << " of " << of.s.queries << " queries, " << of.s.keys << " keys, depth " << of.s.depth
          << ", width " << of.s.width;
      three += mean_square(fewer[i].data(), exact[i]);
      size += mean_square(std::vector<float>(exact[i].size()).data(), exact[i]);
    }
  }
  EXPECT_LT(three, 1e-5 * size);
}

// Numbers that have no three normal parts, of each operand; and weights next to nothing, of scores far apart.
TEST_F(AmxAttention, EndsOfTheRange) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  for (const bool causal : {false, true})
    for (float special : {nan, inf, tiny, 1e-38f, 1e-20f, 1e25f})
      for (int side = 0; side < 4; ++side) {
        Sequence of(sizes(70, 90, 40, 33, causal), 41);
        std::vector<float> &x = side == 0 ? of.q : side == 1 ? of.k : side == 2 ? of.v : of.dy;
        for (size_t i = 0; i < 40; ++i) x[40 * 35 + i] = special;
        const auto got = of.run(6), want = of.run(0);
        const double absolute = 1e-5 * (special == 1e25f ? 1e25 : 1);
        for (size_t i = 0; i < 4; ++i)
          for (size_t j = 0; j < got[i].size(); ++j)
            EXPECT_TRUE(near(value(want[i][j]), value(got[i][j]), 1e-4, absolute))
                << special << " of operand " << side << ", result " << i << " at " << j << (causal ? ", causal" : "");
      }
  const Sequence far(sizes(70, 90, 40, 33, false), 51, 12);
  const auto got = far.run(6), want = far.run(0);
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < got[i].size(); ++j) EXPECT_TRUE(near(value(want[i][j]), value(got[i][j]), 1e-3, 1e-3)) << i;
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
#endif
