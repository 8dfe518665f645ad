// Attention over a batch of sequences with heads, and masks of nearby keys.
#pragma once

#include "backend/cpu/kernels/attention/attention.hpp"

namespace dl4::kernels {

// A batch of sequences. Operands are (batch, T, D), or (batch, T, heads, D) where several of the `heads` query heads
// share one of the `groups` heads of keys and values. Masks are (batch, keys), max and sum (batch, heads, queries).
struct AttentionBatch {
  AttentionSizes one;  // of one head of one sequence
  int64_t batch, heads = 1, groups = 1;
  bool one_q = false, one_k = false, one_v = false, one_mask = false;  // the source has one sequence, for all
};

// Queries [begin, end) of head i of batch * heads; f: the whole operands.
void attention_forward(const AttentionBatch &s, const AttentionForward &f, int64_t i, int64_t begin, int64_t end,
                       float *scratch) noexcept;
// All query heads of group i of batch * groups, whose gradients are summed. Overwrites the requested gradients; dq, dk
// and dv are of the whole batch and may alias.
void attention_backward(const AttentionBatch &s, const AttentionBackward &b, int64_t i, float *scratch) noexcept;

// y (queries, keys): 1 for keys from `before` places before a query to `after` places after it, else 0; rows
// [begin, end).
void band_mask(int64_t keys, int64_t before, int64_t after, uint8_t *y, int64_t begin, int64_t end) noexcept;

}  // namespace dl4::kernels
