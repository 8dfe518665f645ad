// What a rule knows of a value.
#pragma once

#include <span>

#include "base/dtype.hpp"
#include "base/shape.hpp"

namespace dl4::ops {

struct Operand {
  DType dtype = DType::f32;
  Shape shape;
  bool present = true;  // false: an omitted optional source, or an unread destination
};
using Operands = std::span<const Operand>;
inline const Operand absent{DType::f32, {}, false};

}  // namespace dl4::ops
