// Attention by blocks against double precision: odd sizes, masks, every instruction set, nothing touched beyond.
#include "attention_cases.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

using namespace testing;

TEST(Attention, EverySize) {
  on_every_target([] {
    for (const bool causal : {false, true})
      for (const bool masked : {false, true})
        for (const int64_t queries : {1, 4, 31, 33, 70})
          for (const int64_t keys : {1, 5, 64})
            for (const int64_t depth : {1, 7, 40}) check({queries, keys, depth, depth == 7 ? 19 : 8, causal}, masked);
  });
}

// exp of what is far below the largest is 0 or nearly, never anything else.
TEST(Attention, WeightsOfEveryScale) {
  on_every_target([] {
    const int64_t n = 4000;
    std::vector<float> keys(n), values(n, 0.0f), q{1};
    for (int64_t i = 0; i < n; ++i) keys[static_cast<size_t>(i)] = i == 0 ? 0 : -static_cast<float>(i) / 20;
    for (const int64_t i : {1, 20, 200, 1000, 1740, 1760, 3999}) {
      values[static_cast<size_t>(i)] = 1;
      float y = nan;
      const AttentionSizes s{1, n, 1, 1, false};
      std::vector<float> scratch(static_cast<size_t>(attention_forward_scratch(s)));
      attention_forward(s, {q.data(), keys.data(), values.data(), nullptr, &y, nullptr, nullptr}, 0, 1, scratch.data());
      double sum = 0;
      for (float v : keys) sum += std::exp(value(v));
      EXPECT_TRUE(near(std::exp(value(keys[static_cast<size_t>(i)])) / sum, value(y), 2e-5, 1.2e-38)) << i;
      values[static_cast<size_t>(i)] = 0;
    }
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
