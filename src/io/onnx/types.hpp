// ONNX's number types that are represented by another type, and conversion to them.
#pragma once

#include "io/onnx/file.hpp"

namespace dl4::io::onnx {

// Floats of fewer bits, represented by float32.
struct SmallFloat {
  Type type;
  int exponent_bits, mantissa_bits, bias;
  float largest;
  bool has_infinity, has_nan;
  bool one_zero = false;  // the code of -0 is the only NaN

  bool is_ieee() const { return has_infinity; }
};
const SmallFloat *small_float(Type type);  // null: not one of them
float decoded(const SmallFloat &f, uint64_t code);
// Rounds to nearest, ties to even. Overflow saturates, or gives infinity or NaN.
float nearest(const SmallFloat &f, float x, bool saturate);

int bits_of(Type type);  // bits per number in a file
bool is_integer(Type type);
bool is_signed(Type type);
// An integer wrapped to the type's bits.
int64_t wrapped(Type type, int64_t n);

}  // namespace dl4::io::onnx
