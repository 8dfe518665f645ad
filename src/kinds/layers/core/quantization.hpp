// Kernels and biases with Keras's attributes, for Dense, convolutions and LSTM; quantized and with LoRA.
#pragma once

#include "kinds/layer.hpp"

namespace dl4::kinds {

struct KernelAndBias {
  bool use_bias = true;
  Of<Initializer> kernel_initializer = parse<Initializer>("GlorotUniform");
  Of<Initializer> bias_initializer = parse<Initializer>("Zeros");
  Of<Regularizer> kernel_regularizer, bias_regularizer, activity_regularizer;
  Of<Constraint> kernel_constraint, bias_constraint;

  void fields(Fields &f);
  // frozen: initially not trained.
  ops::Id kernel(Call &c, const Shape &shape, bool frozen = false) const;
  // The kernel's initializer with these axes as inputs and outputs, like Keras's EinsumDense: they determine the fans,
  // unless the initializer names axes itself.
  Of<Initializer> kernel_initializer_over(const std::vector<int64_t> &in, const std::vector<int64_t> &out) const;
  ops::Id bias(Call &c, int64_t units) const;  // none without use_bias
};

// Keras's quantized layers: integer kernels and their products. Byte weights have type uint8: int8 by its bits in two's
// complement, 4-bit numbers two per byte.
struct Quantization {
  enum class Mode { int8, int4, gptq, awq };
  // Quantizes inputs too, each row by its largest magnitude.
  struct Inputs {
    double least = -127, most = 127, epsilon = 1e-7;
  };
  Mode mode = Mode::int8;
  int64_t bits = 8;    // per number of the kernel
  int64_t block = -1;  // rows of the kernel per scale and zero point; -1: one scale for all rows
  std::optional<Inputs> inputs{};

  std::string name() const;  // "int8", "int4/128", "gptq/4/-1": as in Keras's policy names
  // By name only, with Keras's default inputs. Refuses other names.
  static Quantization of(const std::string &name);
  // Whether the kernel is stored as (columns, rows).
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

// Weights of gptq and awq with unsigned bytes; all others are signed.
inline constexpr const char *natural_weights[] = {"quantized_kernel", "zero_point"};

// Weights of a quantized layer, without gradient.
ops::Id bytes_weight(Call &c, const std::string &name, const Shape &shape);
ops::Id scale_weight(Call &c, const std::string &name, const Shape &shape);
ops::Id groups_weight(Call &c, const std::string &name, int64_t size);  // the group of each position

// Converts bytes to the floats they encode. For nibbles, the last axis is `size` long, with the first number in the
// lower half.
ops::Id from_int8(ops::Emit &e, ops::Id bytes);
ops::Id from_uint8(ops::Emit &e, ops::Id bytes);
ops::Id from_nibbles(ops::Emit &e, ops::Id bytes, int64_t size, bool is_signed);
// (whole - zero) * scale, with zero and scale of each position on the first axis of `whole` by its group.
ops::Id by_group(ops::Emit &e, ops::Id whole, ops::Id scale, ops::Id zero, ops::Id groups);

struct WholeInputs {
  ops::Id x, scale;  // integers as floats; size 1 on summed axes
};
WholeInputs whole_inputs(ops::Emit &e, const Quantization::Inputs &how, ops::Id x, const std::vector<int> &summed);
// A product of integers of at most 8 bits: exact, rounded once to float32.
ops::Id whole_product(ops::Emit &e, ops::Id a, ops::Id b);

// A layer's product with a quantized kernel.
struct KernelProduct {
  std::string prefix{};     // of the weights' names
  Shape kernel{};           // unquantized
  int64_t rows = 0;         // of the kernel as a matrix: the summed dimension
  bool einsum = false;      // scales are shaped as in EinsumDense: int8's in the axes of y, int4's in the kernel's
  Shape scale{};            // for int8
  std::vector<int> summed;  // axes of x
  std::function<ops::Id(ops::Id x, ops::Id kernel, bool whole)> product;
  std::function<ops::Id(ops::Id)> to_output;  // reshapes scales of x to broadcast with y
  std::function<ops::Id()> bias;              // none: no bias
  std::function<ops::Id()> more{};            // added before the bias
};
// Includes the bias. The gradient is that of the product with the dequantized kernel.
ops::Id quantized_product(Call &c, const Quantization &q, ops::Id x, const KernelProduct &p);

// Keras's LoRA: a product of two small matrices added to a frozen kernel.
struct Lora {
  std::optional<int64_t> rank;  // none: no LoRA
  std::optional<double> alpha;

  void fields(Fields &f);
  // Refuses, like Keras, a kernel constraint and gptq or awq kernels.
  void check(const Of<Constraint> &kernel_constraint, const Quantized &quantization) const;
  explicit operator bool() const { return rank.has_value(); }
  double scale() const { return alpha.value_or(static_cast<double>(*rank)) / static_cast<double>(*rank); }
};

// A kernel as LoRA sees it. Its weights are created after the layer's others.
struct LoraKernel {
  const Lora &lora;
  std::string names;  // prefix of the two weights, before "_a" and "_b"
  Shape shape;        // unquantized
  Of<Regularizer> regularizer;

  // kernel + product; `kernel` itself without LoRA.
  ops::Id added(Call &c, ops::Id kernel) const;
  // The product's contribution to the output, separate from the kernel; by_a: the layer's product with the first
  // matrix.
  ops::Id apart(Call &c, const std::function<ops::Id(ops::Id a)> &by_a) const;

 private:
  struct Factors {
    ops::Id a, b;
  };
  Factors factors(Call &c) const;
};

// An attention layer's projections with LoRA, by name.
using LoraByName = std::map<std::string, Lora>;
template <>
const Conversion &conversion<LoraByName>();  // null, or {name: {"rank", "alpha"}}

}  // namespace dl4::kinds
