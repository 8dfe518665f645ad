// What a rule knows about a value.
#pragma once

#include <span>

#include "base/dtype.hpp"
#include "base/shape.hpp"

namespace dl4::ops {

struct Operand {
  DType dtype = DType::f32;
  Shape shape;
  bool present = true;  // false: an optional source that was left out, or a destination that no one reads
};
using Operands = std::span<const Operand>;
inline const Operand absent{DType::f32, {}, false};

}  // namespace dl4::ops
