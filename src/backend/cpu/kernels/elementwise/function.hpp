// A function of one value with its parameters.
#pragma once

#include "ops/functions.hpp"

namespace dl4::kernels {

struct Function {
  ops::Unary f = {};
  float param[3] = {};
  bool any = false;  // else there is none
};

}  // namespace dl4::kernels
