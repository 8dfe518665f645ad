// Kernel and bias.
#include "kinds/layers/core/weights.hpp"

namespace dl4::kinds {

void KernelAndBias::fields(Fields &f) {
  f("use_bias", use_bias, "whether a bias is added");
  f("kernel_initializer", kernel_initializer, "fills the kernel at the start");
  f("bias_initializer", bias_initializer, "fills the bias at the start");
  f("kernel_regularizer", kernel_regularizer, "penalty on the kernel, added to the loss");
  f("bias_regularizer", bias_regularizer, "penalty on the bias, added to the loss");
  f("activity_regularizer", activity_regularizer, "penalty on the output divided by the batch size, added to the loss");
  f("kernel_constraint", kernel_constraint, "applied to the kernel after every update");
  f("bias_constraint", bias_constraint, "applied to the bias after every update");
}

ops::Id KernelAndBias::kernel(Call &c, const Shape &shape, bool frozen) const {
  return c.host.weight({"kernel", shape, kernel_initializer, kernel_regularizer, kernel_constraint, true, frozen});
}

ops::Id KernelAndBias::bias(Call &c, int64_t units) const {
  if (!use_bias) return ops::none;
  return c.weight("bias", {units}, bias_initializer, bias_regularizer, bias_constraint);
}

Of<Initializer> KernelAndBias::kernel_initializer_over(const std::vector<int64_t> &in,
                                                       const std::vector<int64_t> &out) const {
  if (!kernel_initializer) return KernelAndBias().kernel_initializer;
  Json config = kernel_initializer->config();
  const Json *in_axes = config.find("input_axes"), *out_axes = config.find("output_axes");
  if (!in_axes || !out_axes || (!in_axes->is_null() && !out_axes->is_null())) return kernel_initializer;
  config["input_axes"] = in;
  config["output_axes"] = out;
  return std::static_pointer_cast<const Initializer>(kernel_initializer->entry().make(config));
}

}  // namespace dl4::kinds
