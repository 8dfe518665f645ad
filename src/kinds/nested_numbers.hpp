// A number, or numbers in lists of lists, as NumPy writes an array.
#pragma once

#include <vector>

#include "base/shape.hpp"

namespace dl4::kinds {

struct NestedNumbers {
  Shape shape;
  std::vector<double> values;
};

// A number as a rule, else numbers that broadcast.
struct Filling : NestedNumbers {};

}  // namespace dl4::kinds
