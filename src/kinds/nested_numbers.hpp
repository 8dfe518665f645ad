// A number, or nested lists of numbers, like a NumPy array.
#pragma once

#include <vector>

#include "base/shape.hpp"

namespace dl4::kinds {

struct NestedNumbers {
  Shape shape;
  std::vector<double> values;
};

// Usually a number, else numbers that broadcast.
struct Filling : NestedNumbers {};

}  // namespace dl4::kinds
