// Kernel and bias with Keras's attributes, for Dense, convolutions and LSTM.
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

}  // namespace dl4::kinds
