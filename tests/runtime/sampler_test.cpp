// What is drawn from logits: in proportion, by the settings, and the same ids everywhere.
#include "runtime/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace dl4::runtime::DL4_FILE {
namespace {

constexpr float excluded = -std::numeric_limits<float>::infinity();
using Ids = std::vector<int64_t>;

std::map<int64_t, int> counts(const std::vector<float> &logits, const Sampling &how, int n = 4000) {
  Sampler s(1, 3);
  std::map<int64_t, int> all;
  for (int64_t id = 0; n > 0; --n) {
    s.draw(logits, how, {&id, 1});
    ++all[id];
  }
  return all;
}

TEST(Sampler, DrawsInProportion) {
  const std::vector<float> logits{std::log(1.f), std::log(2.f), excluded, std::log(5.f), excluded};
  const auto some = counts(logits, {});
  ASSERT_EQ(some.size(), 3u);
  EXPECT_NEAR(some.at(0), 500, 80);
  EXPECT_NEAR(some.at(1), 1000, 100);
  EXPECT_NEAR(some.at(3), 2500, 120);
  const auto sharp = counts(logits, {.temperature = 0.5, .stop = {}});  // squares
  EXPECT_NEAR(sharp.at(0), 4000. / 30, 45);
  EXPECT_NEAR(sharp.at(3), 4000. * 25 / 30, 110);
  EXPECT_EQ(counts({0.125f, 0.25f, 0, 0.625f, 0}, {.stop = {}, .from_logits = false}), some);
}

TEST(Sampler, TopKAndTopPLeaveTheLikeliest) {
  std::vector<float> logits;
  for (float p : {0.1f, 0.4f, 0.05f, 0.3f, 0.1f, 0.04f, 0.01f}) logits.push_back(std::log(p));
  const auto ids = [&](int64_t top_k, double top_p, double temperature = 1) {
    Ids all;
    for (const auto &[id, n] : counts(logits, {temperature, top_k, top_p, {}}, 1000)) all.push_back(id);
    return all;
  };
  EXPECT_EQ(ids(2, 1), (Ids{1, 3}));
  EXPECT_EQ(ids(3, 1), (Ids{0, 1, 3})) << "the lower of two alike";
  EXPECT_EQ(ids(1, 1), (Ids{1}));
  EXPECT_EQ(ids(0, 0.6), (Ids{1, 3}));
  EXPECT_EQ(ids(0, 0.75), (Ids{0, 1, 3}));
  EXPECT_EQ(ids(0, 0), (Ids{1}));
  EXPECT_EQ(ids(3, 0.45), (Ids{1})) << "of what top_k leaves: 0.4 of 0.8";
  EXPECT_EQ(ids(100, 1).size(), 7u);
  EXPECT_EQ(ids(0, 1, 0), (Ids{1}));
}

// Computed apart: Philox words (seed 42, row, step) times the sum of the weights round(2^32 exp((logit - 2) / 0.8)).
TEST(Sampler, TheSameIdsEverywhere) {
  const std::vector<float> row{0.5f, 1.25f, -0.75f, 2, 0, -3, 1};
  std::vector<float> both = row;
  both.insert(both.end(), row.begin(), row.end());
  Sampler s(2, 42);
  Ids all(16);
  for (size_t i = 0; i < 16; i += 2) s.draw(both, {.temperature = 0.8, .top_p = 0.95, .stop = {}}, {&all[i], 2});
  EXPECT_EQ(all, (Ids{1, 3, 4, 3, 6, 3, 6, 3, 3, 4, 3, 3, 3, 1, 3, 3}));
}

}  // namespace
}  // namespace dl4::runtime::DL4_FILE
