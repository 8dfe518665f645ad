// Attention over a batch of sequences with heads, and which keys are near a query.
#pragma once

#include "backend/cpu/kernels/attention/attention.hpp"

namespace dl4::kernels {

// The sequences of a batch: operands (batch, T, D), or (batch, T, heads, D) where each of `heads` heads of queries
// reads one of fewer `groups` of keys and values. Masks are (batch, keys), max and sum (batch, heads, queries).
struct AttentionBatch {
  AttentionSizes one;  // of one head of one sequence
  int64_t batch, heads = 1, groups = 1;
};

// Queries [begin, end) of head i of all batch * heads; f: the whole operands.
void attention_forward(const AttentionBatch &s, const AttentionForward &f, int64_t i, int64_t begin, int64_t end,
                       float *scratch) noexcept;
// All heads of group i of all batch * groups, whose gradients are one sum. What is asked for is overwritten; of dq, dk
// and dv any may be the same place.
void attention_backward(const AttentionBatch &s, const AttentionBackward &b, int64_t i, float *scratch) noexcept;

// y (queries, keys): 1 for the keys from `before` in front of a query to `after` behind it, else 0; rows [begin, end).
void band_mask(int64_t keys, int64_t before, int64_t after, uint8_t *y, int64_t begin, int64_t end) noexcept;

}  // namespace dl4::kernels
