// What the optimizers' updates share.
#pragma once

#include <algorithm>

#include "ops/sliced.hpp"

namespace dl4::ops {

// The present ones of these sources must be float32 and of one shape.
inline Operand want_block(const char *op, Operands src, std::initializer_list<size_t> which) {
  Operand block = src[0];
  for (size_t i : which) {
    if (!src[i].present) continue;
    want_float(op, src[i]);
    block.shape = same_shape(op, block.shape, src[i].shape);
  }
  return block;
}

inline void want_number(const char *who, const Operand &x, DType t) {
  want_type(who, x, t);
  if (x.shape.rank() != 0) fail(Code::shape_mismatch, who, " is one number, got ", x.shape);
}

// Elements [begin, end) of the destination, holding those of the source that is updated in place.
inline float *take_over(const Run &r, int src, int dst, int64_t begin, int64_t end) {
  const float *from = r.src<float>(src) + begin;
  float *to = r.dst<float>(dst) + begin;
  if (from != to) std::copy_n(from, end - begin, to);
  return to;
}

}  // namespace dl4::ops
