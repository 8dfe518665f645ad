// SpectralNormalization: training divides the inner layer's kernel by its largest singular value.
#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#include "kinds/inner_layer.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct SpectralNormalization : Layer {
  static constexpr const char *doc =
      "A layer whose kernel or embeddings W, seen as rows of its last axis, each call in training divides by its "
      "largest singular value, as power iterations from vector_u find it: W is left so, frozen or not, and its "
      "gradient is that of the divided one. Zeros stay. The output has the input's dtype.";
  InnerLayer layer;
  int64_t power_iterations = 1;

  void fields(Fields &f) override {
    f("layer", layer, "the layer, which has a weight \"kernel\" or \"embeddings\"")
        .required(R"({"class_name": "Dense", "config": {"units": 4}})");
    f("power_iterations", power_iterations, "iterations of each call").within(1, 1000);
  }
  Facts facts() const override {
    const char *const shape = !layer || by_sample(*layer.kind) ? "(B, ...)" : "(...)";
    return PlainFacts{.inputs = {{"x", shape}},
                      .outputs = {{"y", shape}},
                      .weights = {{"kernel", "the layer's"},
                                  {"vector_u", "(1, its last axis): moved in training"},
                                  {"weights", "the layer's others"}},
                      .inside = {{"layer", "layer"}},
                      .mask = "used by the inner layer; passed on as that does"};
  }
  void check() override {
    const Json rank = layer ? layer->config().value("lora_rank", nullptr) : Json();
    if (!rank.is_null()) unsupported_attribute("layer", "the kernel of a layer with lora_rank is not normalized");
    if (layer && layer->arity().least <= 1 && has("kernel") != has("embeddings") && !has("recurrent_kernel")) return;
    refuse_attribute("layer", "expected a layer of one input with a weight \"kernel\" or \"embeddings\", got " +
                                  (layer ? layer->entry().name.c_str() : std::string("null")));
  }

  std::vector<Symbol> call(Call &c) const override {
    const std::string kernel = layer.name + (has("kernel") ? "/kernel" : "/embeddings");
    const auto weight_of = [&](const WeightSpec &spec) {
      return spec.name == kernel ? divided(c, spec) : c.host.weight(spec);
    };
    const Symbol y = c.run(layer, c.in, {}, weight_of)[0];
    const DType dtype = c.e.dtype(c.x());
    return {{ops::cast(c.e, y.value, dtype), c.e.dtype(y.value) == dtype ? y.mask : ops::none}};
  }

 private:
  bool has(std::string_view weight) const {
    const Facts facts = layer->facts();
    return std::any_of(facts.weights.begin(), facts.weights.end(),
                       [&](const Port &p) { return std::string_view(p.name) == weight; });
  }

  Id divided(Call &c, WeightSpec spec) const {
    static const auto start =
        parse<Initializer>(Json{{"class_name", "TruncatedNormal"}, {"config", {{"stddev", 0.02}}}});
    spec.assigned = true;
    const Id kernel = c.host.weight(spec);
    WeightSpec vector{"vector_u", {1, spec.shape.last()}, start, nullptr, nullptr, false};
    vector.assigned = true;
    const Id before = c.host.weight(vector);
    if (!c.training()) return kernel;

    ops::Emit &e = c.e;
    const Id rows = ops::reshape(e, kernel, 0, {-1, spec.shape.last()});
    Id u = before, v = ops::none;
    for (int64_t i = 0; i < power_iterations; ++i) {
      v = normalised(e, ops::matmul(e, u, rows, {.transpose_b = true}), {0, 1});
      u = normalised(e, ops::matmul(e, v, rows), {0, 1});
    }
    const Id sigma = ops::matmul(e, ops::matmul(e, v, rows), u, {.transpose_b = true});
    const Id by_sigma = ops::reshape_like(e, ops::div(e, rows, sigma), kernel);
    const Id zeros = ops::reduce(e, ops::Reduce::min, ops::binary(e, ops::Binary::equal, kernel, e.scalar(0)), {});
    c.host.write("vector_u", ops::select(e, zeros, before, u));
    c.host.write(spec.name, ops::select(e, zeros, kernel, by_sigma));
    return c.host.weight(spec);
  }
};

}  // namespace
DL4_KINDS(spectral_normalization, SpectralNormalization)
}  // namespace dl4::kinds
