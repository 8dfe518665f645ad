// Attention of one query to keys that lie in up to three stretches: the latest of a ring, and those behind them.
#pragma once

#include <cstdint>

namespace dl4::kernels {

struct LatestSizes {
  int64_t depth, width, k_row, v_row;  // of a key and a value; from one to the next
  float scale;                         // of the scores
};
struct LatestKeys {
  const float *k, *v;
  const uint8_t *mask;  // nullptr: all count
  int64_t keys;
};

// y (width): softmax(scale q k^T) v over all stretches; sum: of exp(score - the largest). Without a key that counts
// both are 0. scores: room for all keys and a vector more.
void attention_latest(const LatestSizes &s, const float *q, const LatestKeys (&stretches)[3], float *scores, float *y,
                      float *sum) noexcept;

}  // namespace dl4::kernels
