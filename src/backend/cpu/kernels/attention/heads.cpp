// Memory layout of attention heads.
#include "backend/cpu/kernels/attention/heads.hpp"

#include <algorithm>
#include <cstring>

namespace dl4::kernels {
namespace {

// Strides between sequences of the batch. bounded: an operand's elements
int64_t q_item(const AttentionSizes &s) { return s.queries * s.q_row; }
int64_t k_item(const AttentionSizes &s) { return s.keys * s.k_row; }
int64_t v_item(const AttentionSizes &s) { return s.keys * s.v_row; }
int64_t y_item(const AttentionSizes &s) { return s.queries * s.y_row; }

// The sequence of a source to read for sequence b.
int64_t at(bool one, int64_t b) { return one ? 0 : b; }

// Start of an item of an operand that may be absent.
template <class T>
T *item(T *all, int64_t offset) noexcept {
  return all ? all + offset : nullptr;
}

void clear(float *d, int64_t rows, int64_t row, int64_t width) {
  for (int64_t t = 0; t < rows; ++t) std::fill_n(d + t * row, width, 0.0f);
}

}  // namespace

void attention_forward(const AttentionBatch &s, const AttentionForward &f, int64_t i, int64_t begin, int64_t end,
                       float *scratch) noexcept {
  const AttentionSizes &one = s.one;
  const int64_t b = i / s.heads, h = i % s.heads, g = h / (s.heads / s.groups);
  attention_forward(
      one,
      {f.q + at(s.one_q, b) * q_item(one) + h * one.depth, f.k + at(s.one_k, b) * k_item(one) + g * one.depth,
       f.v + at(s.one_v, b) * v_item(one) + g * one.width, item(f.mask, at(s.one_mask, b) * one.keys),
       item(f.y, b * y_item(one) + h * one.width), item(f.max, i * one.queries), item(f.sum, i * one.queries)},
      begin, end, scratch);
}

void attention_backward(const AttentionBatch &s, const AttentionBackward &all, int64_t i, float *scratch) noexcept {
  const AttentionSizes &one = s.one;
  const int64_t b = i / s.groups, g = i % s.groups, heads = s.heads / s.groups;
  const float *q = all.q + at(s.one_q, b) * q_item(one);
  const float *k = all.k + at(s.one_k, b) * k_item(one) + g * one.depth;
  const float *v = all.v + at(s.one_v, b) * v_item(one) + g * one.width;
  float *dq = item(all.dq, b * q_item(one) + g * heads * one.depth);
  float *dk = item(all.dk, b * k_item(one) + g * one.depth), *dv = item(all.dv, b * v_item(one) + g * one.width);
  if (dq) clear(dq, one.queries, one.q_row, heads * one.depth);
  if (dk && dk != dq) clear(dk, one.keys, one.k_row, one.depth);
  if (dv && dv != dq && dv != dk) clear(dv, one.keys, one.v_row, one.width);
  for (int64_t h = g * heads; h < (g + 1) * heads; ++h) {
    const int64_t stat = (b * s.heads + h) * one.queries;
    attention_backward(
        one,
        {q + h * one.depth, k, v, item(all.mask, at(s.one_mask, b) * one.keys), all.max + stat, all.sum + stat,
         all.dy + b * y_item(one) + h * one.width, item(dq, (h - g * heads) * one.depth), dk, dv},
        scratch);
  }
}

void band_mask(int64_t keys, int64_t before, int64_t after, uint8_t *y, int64_t begin, int64_t end) noexcept {
  for (int64_t t = begin; t < end; ++t) {
    uint8_t *row = y + t * keys;
    const int64_t last = std::min(t + after + 1, keys), first = std::clamp<int64_t>(t - before, 0, last);
    std::memset(row, 0, static_cast<size_t>(keys));
    std::memset(row + first, 1, static_cast<size_t>(last - first));
  }
}

}  // namespace dl4::kernels
