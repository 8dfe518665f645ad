// Attention, softmax(q k^T) v, by blocks of queries; the full score matrix is never stored.
#pragma once

#include <cstdint>

namespace dl4::kernels {

struct AttentionSizes {
  int64_t queries, keys, depth, width;  // q (queries, depth), k (keys, depth), v and y (keys or queries, width)
  bool causal;                          // query t sees keys up to t
  float scale = 1;                      // of the scores
  int64_t q_row = depth, k_row = depth, v_row = width, y_row = width;  // row strides
  int tiles = 0;  // number of part products per product by tiles (gemm/amx_gemm.hpp); 0: no tiles
};

// Block size of queries, counted from the first.
inline constexpr int64_t attention_block = 32;

// Floats of scratch, best aligned to 64 bytes.
int64_t attention_forward_scratch(const AttentionSizes &s);
int64_t attention_backward_scratch(const AttentionSizes &s);

// One sequence; row strides as in the sizes. A masked key (0) has no weight, but its value must be finite, since 0 *
// NaN is NaN.
struct AttentionForward {
  const float *q, *k, *v;
  const uint8_t *mask;  // (keys), or nullptr
  float *y;             // nullptr if not wanted, like max and sum
  float *max, *sum;     // (queries): of the scores, and of exp(score - max). A query that sees no key: y = 0, sum = 0
};
// Queries [begin, end); begin is a multiple of the block.
void attention_forward(const AttentionSizes &s, const AttentionForward &f, int64_t begin, int64_t end,
                       float *scratch) noexcept;

// One whole sequence. Adds to dq, dk and dv, which have the row strides of q, k, v and may be the same buffer; nullptr:
// not wanted.
// Scores that are masked or causally invisible have gradient 0, but 0 * NaN is NaN: a NaN in q, k or dy may spread over
// the gradients of its block.
struct AttentionBackward {
  const float *q, *k, *v;
  const uint8_t *mask;
  const float *max, *sum, *dy;
  float *dq, *dk, *dv;
};
void attention_backward(const AttentionSizes &s, const AttentionBackward &b, float *scratch) noexcept;

}  // namespace dl4::kernels
