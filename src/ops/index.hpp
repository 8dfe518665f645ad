// Reading an index of any dtype that may hold one.
#pragma once

#include <cstdint>

#include "base/dtype.hpp"

namespace dl4::ops {

// Element i; floats are cut towards zero, and -1 where they hold nothing that could be an index.
inline int64_t index_at(DType t, const void *ids, int64_t i) noexcept {
  switch (t) {
    case DType::i32: return static_cast<const int32_t *>(ids)[i];
    case DType::i64: return static_cast<const int64_t *>(ids)[i];
    case DType::u8: return static_cast<const uint8_t *>(ids)[i];
    case DType::f32: {
      float v = static_cast<const float *>(ids)[i];
      return v > -1 && v < 9e18f ? static_cast<int64_t>(v) : -1;
    }
    default: return -1;
  }
}

}  // namespace dl4::ops
