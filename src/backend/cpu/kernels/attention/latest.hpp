// Attention of one query to keys in up to three contiguous stretches: the newest of a ring buffer, and those after
// them.
#pragma once

#include <cstdint>

namespace dl4::kernels {

struct LatestSizes {
  int64_t depth, width, k_row, v_row;  // of a key and a value; their strides
  float scale;                         // of the scores
};
struct LatestKeys {
  const float *k, *v;
  const uint8_t *mask;  // nullptr: no mask
  int64_t keys;
};

// y (width) = softmax(scale q k^T) v over all stretches; sum of exp(score - max). Without a visible key both are 0.
// scores: room for all keys plus one vector.
void attention_latest(const LatestSizes &s, const float *q, const LatestKeys (&stretches)[3], float *scores, float *y,
                      float *sum) noexcept;

}  // namespace dl4::kernels
