// Keras's LoRA: a product of two small matrices added to a frozen kernel.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "kinds/layers/core/quantization.hpp"

namespace dl4::kinds {

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
