// Keras's LoRA: a product of two small matrices that is added to a kernel, which training leaves as it is.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "kinds/constraint.hpp"
#include "kinds/layers/core/quantization.hpp"
#include "kinds/regularizer.hpp"

namespace dl4::kinds {

struct Lora {
  std::optional<int64_t> rank;  // none: there is no such product
  std::optional<double> alpha;

  void fields(Fields &f);
  // Refuses what Keras does: a constraint of the kernel, and kernels that gptq or awq made.
  void check(const Of<Constraint> &kernel_constraint, const Quantized &quantization) const;
  explicit operator bool() const { return rank.has_value(); }
  double scale() const { return alpha.value_or(static_cast<double>(*rank)) / static_cast<double>(*rank); }
};

// The kernel of a layer as LoRA sees it. Its own weights are made after the layer's others.
struct LoraKernel {
  const Lora &lora;
  std::string names;  // of the two weights, before "_a" and "_b"
  Shape shape;        // unquantized
  Of<Regularizer> regularizer;

  // The kernel with the product; `kernel` itself without LoRA.
  ops::Id added(Call &c, ops::Id kernel) const;
  // What the product makes of inputs, apart from the kernel; by_a: the layer's product with the first of the two.
  ops::Id apart(Call &c, const std::function<ops::Id(ops::Id a)> &by_a) const;

 private:
  struct Factors {
    ops::Id a, b;
  };
  Factors factors(Call &c) const;
};

// Of the projections of an attention layer those that have one, by name.
using LoraByName = std::map<std::string, Lora>;
template <>
const Conversion &conversion<LoraByName>();  // null, or {name: {"rank", "alpha"}}

}  // namespace dl4::kinds
