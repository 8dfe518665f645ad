// Batches as they come in.
#pragma once

#include <vector>

#include "runtime/view.hpp"

namespace dl4::train {

// Is this a sample weight that was left out? No other view has neither axes nor memory.
inline bool is_absent(const runtime::View &v) { return !v.data && v.shape.rank() == 0; }

// w is empty or one per target, some of them absent.
struct Batch {
  std::vector<runtime::View> x, y, w;
  bool sample = false;  // one sample without an axis of the batch: its tensors have rows of their own, or none
  int64_t size() const { return x.empty() || x[0].shape.rank() == 0 ? 0 : x[0].shape[0]; }
};

// An axis of 1 after others: losses drop it or not, so a Program must know of it.
inline bool is_column(const Shape &s) { return s.rank() > 1 && s.last() == 1; }
// What of a target or a sample weight decides how a Program reads it, as a number.
inline int32_t reading(const runtime::View &v) {
  return (static_cast<int32_t>(v.dtype) * (max_rank + 1) + v.shape.rank()) * 2 + (is_column(v.shape) ? 1 : 0);
}

}  // namespace dl4::train
