// Kernel and bias with what Keras lets a user say of them: shared by Dense, the convolutions and LSTM.
#pragma once

#include <tuple>

#include "kinds/initializer.hpp"
#include "kinds/layer.hpp"

namespace dl4::kinds {

struct KernelAndBias {
  bool use_bias = true;
  Of<Initializer> kernel_initializer, bias_initializer;
  Of<Regularizer> kernel_regularizer, bias_regularizer, activity_regularizer;
  Of<Constraint> kernel_constraint, bias_constraint;

  ops::Id kernel(Call &c, const Shape &shape) const {
    return c.weight("kernel", shape, kernel_initializer, kernel_regularizer, kernel_constraint);
  }
  ops::Id bias(Call &c, int64_t units) const {
    if (!use_bias) return ops::none;
    return c.weight("bias", {units}, bias_initializer, bias_regularizer, bias_constraint);
  }
};

template <class T>
auto kernel_and_bias_fields() {
  return std::tuple{field<T, bool>("use_bias", &T::use_bias).otherwise(true).doc("whether a bias is added"),
                    field<T, Of<Initializer>>("kernel_initializer", &T::kernel_initializer)
                        .otherwise("GlorotUniform")
                        .doc("fills the kernel at the start"),
                    field<T, Of<Initializer>>("bias_initializer", &T::bias_initializer)
                        .otherwise("Zeros")
                        .doc("fills the bias at the start"),
                    field<T, Of<Regularizer>>("kernel_regularizer", &T::kernel_regularizer)
                        .otherwise(nullptr)
                        .doc("penalty on the kernel, added to the loss"),
                    field<T, Of<Regularizer>>("bias_regularizer", &T::bias_regularizer)
                        .otherwise(nullptr)
                        .doc("penalty on the bias, added to the loss"),
                    field<T, Of<Regularizer>>("activity_regularizer", &T::activity_regularizer)
                        .otherwise(nullptr)
                        .doc("penalty on the output divided by the batch size, added to the loss"),
                    field<T, Of<Constraint>>("kernel_constraint", &T::kernel_constraint)
                        .otherwise(nullptr)
                        .doc("applied to the kernel after every update"),
                    field<T, Of<Constraint>>("bias_constraint", &T::bias_constraint)
                        .otherwise(nullptr)
                        .doc("applied to the bias after every update")};
}

}  // namespace dl4::kinds
