// Keras's quantization of a layer: as which whole numbers its kernel is kept, and the products with them.
//
// Whole numbers of a byte are weights of uint8: those of int8 by their bits, in two's complement, those of 4 bits two
// in a byte.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kinds/field.hpp"
#include "kinds/layer.hpp"

namespace dl4::kinds {

struct Quantization {
  enum class Mode { int8, int4, gptq, awq };
  // Inputs become whole numbers too: each row by its largest magnitude.
  struct Inputs {
    double least = -127, most = 127, epsilon = 1e-7;
  };
  Mode mode = Mode::int8;
  int64_t bits = 8;    // of a number of the kernel
  int64_t block = -1;  // so many rows of the kernel have a scale and a zero point of their own; -1: all rows one scale
  std::optional<Inputs> inputs{};

  std::string name() const;  // "int8", "int4/128", "gptq/4/-1": as in the names of Keras's policies
  // By the name alone; inputs as Keras has them by default. Refuses another name.
  static Quantization of(const std::string &name);
  // Does the kernel stand as (columns, rows)?
  bool turned() const { return mode == Mode::gptq || mode == Mode::awq; }
  bool grouped() const { return turned() || (mode == Mode::int4 && block > 0); }
  int64_t stored(int64_t n) const { return bits == 4 ? (n + 1) / 2 : n; }  // bytes of n numbers
  int64_t groups(int64_t rows) const { return block > 0 ? (rows + block - 1) / block : 1; }
};

using Quantized = std::optional<Quantization>;
template <>
const Conversion &conversion<Quantized>();  // null, a name, or {"mode": name, "inputs": null or its numbers}
inline constexpr char quantization_doc[] =
    "Keras's quantization of the weights: null, or {\"mode\": \"int8\", \"int4/block\", \"gptq/bits/block\" or "
    "\"awq/4/block\", \"inputs\": null or {\"value_range\", \"epsilon\"}}: then inputs are quantized by row. The whole "
    "numbers are weights of uint8: an int8 by its bits, those of 4 bits two in a byte";

// The weights of gptq and awq whose bytes have no sign; those of all others have one.
inline constexpr const char *natural_weights[] = {"quantized_kernel", "zero_point"};

// The weights of a quantized layer: no gradient changes them.
ops::Id bytes_weight(Call &c, const std::string &name, const Shape &shape);
ops::Id scale_weight(Call &c, const std::string &name, const Shape &shape);
ops::Id groups_weight(Call &c, const std::string &name, int64_t size);  // the group of each place

// Bytes as the floats that they stand for. Of nibbles the last axis is `size` long, the first in the lower half.
ops::Id from_int8(ops::Emit &e, ops::Id bytes);
ops::Id from_uint8(ops::Emit &e, ops::Id bytes);
ops::Id from_nibbles(ops::Emit &e, ops::Id bytes, int64_t size, bool is_signed);
// (whole - zero) * scale with the zero and the scale of each place of the first axis of `whole` by its group.
ops::Id by_group(ops::Emit &e, ops::Id whole, ops::Id scale, ops::Id zero, ops::Id groups);

struct WholeInputs {
  ops::Id x, scale;  // whole numbers as floats; 1 in the axes that are summed over
};
WholeInputs whole_inputs(ops::Emit &e, const Quantization::Inputs &how, ops::Id x, const std::vector<int> &summed);
// A product of whole numbers of at most 8 bits: exact, rounded once to float32.
ops::Id whole_product(ops::Emit &e, ops::Id a, ops::Id b);

// What a layer multiplies by a kernel, and how.
struct KernelProduct {
  std::string prefix{};     // of the weights' names
  Shape kernel{};           // unquantized
  int64_t rows = 0;         // of the kernel as a matrix: what is summed over
  bool einsum = false;      // scales stand as EinsumDense's: int8's in the axes of y, int4's in the kernel
  Shape scale{};            // of int8
  std::vector<int> summed;  // axes of x
  std::function<ops::Id(ops::Id x, ops::Id kernel, bool whole)> product;
  std::function<ops::Id(ops::Id)> to_output;  // scales of x so that they broadcast with y
  std::function<ops::Id()> bias;              // none: there is none
  std::function<ops::Id()> more{};            // is added before the bias
};
// With the bias. Its gradients are those of the product of x and the floats that the kernel stands for.
ops::Id quantized_product(Call &c, const Quantization &q, ops::Id x, const KernelProduct &p);

}  // namespace dl4::kinds
