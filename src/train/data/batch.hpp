// Batches as passed by the user.
#pragma once

#include <vector>

#include "runtime/view.hpp"

namespace dl4::train {

// Whether this is an omitted sample weight. No other view has neither axes nor memory.
inline bool is_absent(const runtime::View &v) { return !v.data && v.shape.rank() == 0; }

// w is empty or has one element per target, some of them absent.
struct Batch {
  std::vector<runtime::View> x, y, w;
  bool sample = false;  // a single sample: its tensors have their own rows, or none, instead of a batch axis
  int64_t size() const { return x.empty() || x[0].shape.rank() == 0 ? 0 : x[0].shape[0]; }
};

// A trailing axis of size 1: losses may drop it, so it is part of a Program's key.
inline bool is_column(const Shape &s) { return s.rank() > 1 && s.last() == 1; }
// The properties of a target or sample weight on which a Program depends, as a number.
inline int32_t reading(const runtime::View &v) {
  return (static_cast<int32_t>(v.dtype) * (max_rank + 1) + v.shape.rank()) * 2 + (is_column(v.shape) ? 1 : 0);
}

}  // namespace dl4::train
