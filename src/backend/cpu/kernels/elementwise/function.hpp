// A unary function with its parameters.
#pragma once

#include "ops/functions.hpp"

namespace dl4::kernels {

struct Function {
  ops::Unary f = {};
  float param[3] = {};
  bool any = false;  // false: no function
};

}  // namespace dl4::kernels
