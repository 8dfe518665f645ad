// LoRA: attributes, weights and product.
#include "kinds/layers/core/lora.hpp"

#include "base/error.hpp"

namespace dl4::kinds {

using ops::Id;

void Lora::fields(Fields &f) {
  f("lora_rank", rank,
    "the rank of LoRA, as in Keras: the columns of lora_..._a and the rows of lora_..._b. Their product times "
    "lora_alpha / lora_rank is added to the kernel, which is not trained; null: no LoRA")
      .within(1, max_dim);
  f("lora_alpha", alpha, "the scale of LoRA, times lora_rank; null: lora_rank");
}

void Lora::check(const Of<Constraint> &kernel_constraint, const Quantized &quantization) const {
  if (!rank) return;
  if (kernel_constraint) unsupported_attribute("lora_rank", "LoRA is incompatible with a constraint of the kernel");
  if (quantization && quantization->turned())
    unsupported_attribute("lora_rank", "LoRA is not supported with a kernel of \"", quantization->name(), '"');
}

LoraKernel::Factors LoraKernel::factors(Call &c) const {
  static const auto he = parse<Initializer>("HeUniform"), zeros = parse<Initializer>("Zeros");
  const auto factor = [&](const char *end, const Shape &of, const Of<Initializer> &initializer) {
    WeightSpec spec{names + end, of, initializer, regularizer, {}};
    spec.lora = true;
    return c.host.weight(spec);
  };
  const Id a = factor("_a", shape.with(-1, *lora.rank), he);
  return {a, factor("_b", {*lora.rank, shape.last()}, zeros)};
}

Id LoraKernel::added(Call &c, Id kernel) const {
  if (!lora) return kernel;
  ops::Emit &e = c.e;
  const auto [a, b] = factors(c);
  const Id rows = shape.rank() == 2 ? a : ops::reshape(e, a, 0, {-1, *lora.rank});
  Id product = ops::matmul(e, rows, b);
  if (shape.rank() != 2) product = ops::reshape(e, product, 0, shape);
  return ops::add(e, kernel, ops::scale(e, product, static_cast<float>(lora.scale())));
}

Id LoraKernel::apart(Call &c, const std::function<Id(Id)> &by_a) const {
  const auto [a, b] = factors(c);
  return ops::scale(c.e, ops::matmul(c.e, by_a(a), b), static_cast<float>(lora.scale()));
}

template <>
const Conversion &conversion<LoraByName>() {
  static constexpr Conversion c{"attrs", nullptr,
                                [](const Json &j, void *to) {
                                  LoraByName list;
                                  if (!j.is_null() && !j.is_object())
                                    expected("null or an object of {\"rank\", \"alpha\"} by projection", j);
                                  for (const auto &[key, value] : j.items()) {
                                    const Json *rank = value.find("rank"), *alpha = value.find("alpha");
                                    const bool given = alpha && !alpha->is_null();
                                    if (!rank || value.size() != (alpha ? 2u : 1u))
                                      expected("{\"rank\", \"alpha\"}", value);
                                    Lora &l = list[std::string(key)];
                                    l.rank = from_json<int64_t>(*rank);
                                    if (*l.rank < 1 || *l.rank > max_dim)
                                      expected(text("a \"rank\" from 1 to ", max_dim), value);
                                    if (given) l.alpha = from_json<double>(*alpha);
                                  }
                                  *static_cast<LoraByName *>(to) = std::move(list);
                                },
                                [](const void *from) {
                                  Json j = Json::object();
                                  for (const auto &[name, l] : *static_cast<const LoraByName *>(from))
                                    j[name] = Json{{"rank", *l.rank}, {"alpha", l.alpha ? Json(*l.alpha) : Json()}};
                                  return j.size() ? j : Json();
                                }};
  return c;
}

}  // namespace dl4::kinds
