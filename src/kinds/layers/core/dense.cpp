// Dense: activation(x kernel + bias).
#include "kinds/layers/core/lora.hpp"
#include "kinds/layers/core/weights.hpp"

namespace dl4::kinds {
namespace {

struct Dense : LayerOf<Dense> {
  static constexpr const char *doc =
      "The product of the last axis with a kernel, plus a bias, through an activation: activation(x kernel + bias).";
  int64_t units = 0;
  Activation activation;
  KernelAndBias weights;
  Lora lora;
  Quantized quantization;

  void fields(Fields &f) override {
    f("units", units, "size of the output's last axis").required("4").within(1, max_dim);
    f("activation", activation, "applied to the sum");
    weights.fields(f);
    lora.fields(f);
    f("quantization", quantization, quantization_doc);
  }
  void check() override { lora.check(weights.kernel_constraint, quantization); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ..., I)"}},
                                    .outputs = {{"y", "(B, ..., units)"}},
                                    .weights = {{"kernel", "(I, units)"},
                                                {"bias", "(units)", "use_bias"},
                                                {"lora_kernel_a", "(I, lora_rank)", "lora_rank"},
                                                {"lora_kernel_b", "(lora_rank, units)", "lora_rank"}},
                                    .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    c.as_float(0);
    ops::Id y = activation(c.e, quantization ? quantized(c) : product(c));
    c.penalize(weights.activity_regularizer, y);
    return {{y, c.mask()}};
  }

 private:
  ops::Id product(Call &c) const {
    const LoraKernel more = lora_kernel(c);
    const ops::Id w = weights.kernel(c, more.shape, bool(lora)), b = weights.bias(c, units);
    return ops::matmul(c.e, c.x(), more.added(c, w), {}, b);
  }
  LoraKernel lora_kernel(Call &c) const {
    return {lora, "lora_kernel", {c.last_dim(), units}, weights.kernel_regularizer};
  }
  ops::Id quantized(Call &c) const {
    KernelProduct p;
    p.kernel = {c.last_dim(), units};
    p.rows = c.last_dim();
    p.scale = {units};
    p.summed = {-1};
    p.product = [&](ops::Id x, ops::Id w, bool whole) {
      return whole ? whole_product(c.e, x, w) : ops::matmul(c.e, x, w);
    };
    p.to_output = [](ops::Id scales) { return scales; };
    p.bias = [&] { return weights.bias(c, units); };
    if (lora) p.more = [&] { return lora_kernel(c).apart(c, [&](ops::Id a) { return ops::matmul(c.e, c.x(), a); }); };
    return quantized_product(c, *quantization, c.x(), p);
  }
};

}  // namespace
DL4_KINDS(dense, Dense)
}  // namespace dl4::kinds
