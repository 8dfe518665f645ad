// Base of MultiHeadAttention and GroupQueryAttention, which differ in their size attributes.
#pragma once

#include "kinds/layers/core/lora.hpp"
#include "kinds/layers/core/weights.hpp"

namespace dl4::kinds {

struct HeadedAttention : Layer {
  double dropout = 0;
  bool use_gate = false;
  std::optional<int64_t> sliding_window, seed;
  std::optional<bool> flash_attention;
  KernelAndBias weights;
  Quantized quantization;
  LoraByName lora;

  Arity arity() const override { return {2, 3}; }
  void check() override;
  std::vector<Symbol> call(Call &c) const override;

 protected:
  struct Sizes {
    int64_t heads, groups, key, value;  // groups: heads of keys and values
  };
  virtual Sizes sizes() const = 0;
  // Axes of the inputs over which queries and keys are indexed, in the order of the scores' axes.
  virtual std::vector<int> attended(const Call &c) const = 0;
  virtual Shape output(const Call &c) const = 0;  // last axes of the output

  void headed_fields(Fields &f);
  Facts headed_facts(const char *group_kernel, const char *value_kernel) const;

 private:
  struct Operands;
  struct Attended;
  Operands operands(Call &c, const Sizes &s) const;
  ops::Id projected(Call &c, const char *name, const Shape &in, const Shape &out, ops::Id x) const;
  bool zero_if_blind(Call &c, const Operands &o, bool return_scores) const;
  Attended fused(Call &c, const Operands &o) const;
  Attended composed(Call &c, const Operands &o, bool return_scores) const;
  ops::Id keep(Call &c, const Operands &o, ops::Id score) const;
};

}  // namespace dl4::kinds
