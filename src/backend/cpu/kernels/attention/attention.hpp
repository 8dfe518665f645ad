// Attention, softmax(q k^T) v, a block of queries at a time: no matrix of all scores is kept.
#pragma once

#include <cstdint>

namespace dl4::kernels {

struct AttentionSizes {
  int64_t queries, keys, depth, width;  // q (queries, depth), k (keys, depth), v and y (keys or queries, width)
  bool causal;                          // query t sees keys up to t
  float scale = 1;                      // of the scores
  int64_t q_row = depth, k_row = depth, v_row = width, y_row = width;  // from one row to the next
  int tiles = 0;  // its products are those of so many products of parts (gemm/amx_gemm.hpp)
};

// Queries are processed in blocks of this many, counted from the first.
inline constexpr int64_t attention_block = 32;

// Floats of scratch, best aligned to 64 bytes.
int64_t attention_forward_scratch(const AttentionSizes &s);
int64_t attention_backward_scratch(const AttentionSizes &s);

// One sequence, its rows spaced as the sizes say. A key whose mask is 0 has no weight, but 0 * NaN is NaN: its
// value must be finite.
struct AttentionForward {
  const float *q, *k, *v;
  const uint8_t *mask;  // (keys), or nullptr
  float *y;             // nullptr, as max and sum: not asked for
  float *max, *sum;     // (queries): of the scores, and of exp(score - max). A query that sees no key: y = 0, sum = 0
};
// Queries [begin, end), where begin is a multiple of the block.
void attention_forward(const AttentionSizes &s, const AttentionForward &f, int64_t begin, int64_t end,
                       float *scratch) noexcept;

// One sequence, all of it. Gradients are added to dq, dk, dv, whose rows are spaced as those of q, k, v, and which may
// be the same buffer; nullptr: not wanted.
// A score that doesn't count, masked or of a later key in a causal block, has a gradient of 0, but 0 * NaN is NaN: one
// in q, k or dy may spread over the gradients of its block.
struct AttentionBackward {
  const float *q, *k, *v;
  const uint8_t *mask;
  const float *max, *sum, *dy;
  float *dq, *dk, *dv;
};
void attention_backward(const AttentionSizes &s, const AttentionBackward &b, float *scratch) noexcept;

}  // namespace dl4::kernels
