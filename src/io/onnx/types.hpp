// ONNX's types of numbers that another one stands for here, and how numbers become theirs.
#pragma once

#include <cstdint>

#include "io/onnx/file.hpp"

namespace dl4::io::onnx {

// Floats of fewer bits, which are float32 here.
struct SmallFloat {
  Type type;
  int exponent_bits, mantissa_bits, bias;
  float largest;
  bool has_infinity, has_nan;
  bool one_zero = false;  // the code of -0 is the only NaN

  bool is_ieee() const { return has_infinity; }
};
const SmallFloat *small_float(Type type);  // null: none of them
float decoded(const SmallFloat &f, uint64_t code);
// The nearest of them, of two the even one. Past the largest: that one, infinity or NaN.
float nearest(const SmallFloat &f, float x, bool saturate);

int bits_of(Type type);  // in a file, that many for each number
bool is_integer(Type type);
bool is_signed(Type type);
// What is left of a whole number in so few bits.
int64_t wrapped(Type type, int64_t n);

}  // namespace dl4::io::onnx
