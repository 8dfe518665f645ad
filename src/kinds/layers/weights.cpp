// Kernel and bias.
#include "kinds/layers/weights.hpp"

namespace dl4::kinds {

void KernelAndBias::fields(Fields &f) {
  f("use_bias", use_bias).doc("whether a bias is added");
  f("kernel_initializer", kernel_initializer).doc("fills the kernel at the start");
  f("bias_initializer", bias_initializer).doc("fills the bias at the start");
  f("kernel_regularizer", kernel_regularizer).doc("penalty on the kernel, added to the loss");
  f("bias_regularizer", bias_regularizer).doc("penalty on the bias, added to the loss");
  f("activity_regularizer", activity_regularizer)
      .doc("penalty on the output divided by the batch size, added to the loss");
  f("kernel_constraint", kernel_constraint).doc("applied to the kernel after every update");
  f("bias_constraint", bias_constraint).doc("applied to the bias after every update");
}

ops::Id KernelAndBias::kernel(Call &c, const Shape &shape) const {
  return c.weight("kernel", shape, kernel_initializer, kernel_regularizer, kernel_constraint);
}

ops::Id KernelAndBias::bias(Call &c, int64_t units) const {
  if (!use_bias) return ops::none;
  return c.weight("bias", {units}, bias_initializer, bias_regularizer, bias_constraint);
}

}  // namespace dl4::kinds
