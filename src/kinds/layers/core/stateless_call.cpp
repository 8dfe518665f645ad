// Layers with layers inside. Pipeline: layers one after the other. StatelessCall: a layer with its weights passed as
// values.
#include <map>
#include <string>

#include "base/error.hpp"
#include "kinds/inner_layer.hpp"

namespace dl4::kinds {
namespace {

struct Pipeline final : LayerOf<Pipeline> {
  static constexpr const char *doc = "Layers one after the other, as one layer, which may change images in training.";
  std::vector<InnerLayer> layers;

  void fields(Fields &f) override {
    f("layers", layers, "the layers, the first one first")
        .required(R"([{"class_name": "Rescaling", "config": {"scale": 2}}])");
  }
  void check() override {
    if (layers.empty()) refuse_attribute("layers", "expected at least one layer, got []");
    number_names(layers);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}},
                                    .outputs = {{"y", "(...), that of the last layer"}},
                                    .weights = {{"weights", "those of the layers, under their names"}},
                                    .inside = {{"layers", "layers"}},
                                    .mask = "passed on"};
  std::vector<Symbol> call(Call &c) const override {
    std::vector<Symbol> x = c.in;
    x[0].mask = c.mask();
    Arguments arguments;
    if (c.arguments().plain.contains("training")) arguments.plain["training"] = c.training();
    for (const InnerLayer &layer : layers) x = c.run(layer, {x[0]}, arguments);
    return {x[0]};
  }
};

// The host of a layer whose weights are values and can't be written.
class GivenWeights final : public Host {
 public:
  explicit GivenWeights(Host &outer) : outer_(outer) {}

  ops::Id weight(const WeightSpec &spec) override { return outer_.weight(spec); }
  uint64_t random_seed(std::optional<int64_t> own) override { return outer_.random_seed(own); }
  ops::Id draws() override { return outer_.draws(); }
  std::shared_ptr<ops::Collective> collective() override { return outer_.collective(); }
  void add_loss(ops::Id scalar) override { outer_.add_loss(scalar); }
  void write(const std::string &name, ops::Id) override {
    fail(Code::unsupported, "the layer writes weight \"", name, "\" in training, which is a value here");
  }
  bool trainable(const std::string &inside) const override { return outer_.trainable(inside); }
  void refuse_training(const std::string &why) override { outer_.refuse_training(why); }

 private:
  Host &outer_;
};

struct StatelessCall : Layer {
  static constexpr const char *doc =
      "A layer called with values in place of its weights, to which gradients pass: on the layer's inputs, then on a "
      "value for each weight in the layer's order. The call's arguments are the layer's. A layer that writes weights "
      "itself, as moving statistics, is refused in training.";
  InnerLayer layer;
  int64_t inputs = 1;

  void fields(Fields &f) override {
    f("layer", layer, "the layer").required(R"({"class_name": "ReLU", "config": {}})");
    f("inputs", inputs, "how many of the inputs are the layer's").within(0, max_dim);
  }
  void check() override {
    if (!layer) refuse_attribute("layer", "expected a layer, got null");
  }
  Arity arity() const override { return {0, any_number}; }
  Facts facts() const override {
    Facts facts =
        PlainFacts{.inputs = {{"inputs...", "(...), those of the layer"}, {"weights...", "(...), each of its shape"}},
                   .outputs = {{"outputs", "(...), those of the layer"}},
                   .inside = {{"layer", "layer"}},
                   .mask = "as the layer does"};
    if (layer) facts.arguments = layer->facts().arguments;
    return facts;
  }

  std::vector<Symbol> call(Call &c) const override {
    if (std::ssize(c.in) < inputs) fail(Code::invalid_argument, "expected ", inputs, " inputs, got ", c.in.size());
    const auto first = static_cast<std::ptrdiff_t>(inputs);
    size_t next = static_cast<size_t>(inputs);
    std::map<std::string, ops::Id> given;
    const auto weight_of = [&](const WeightSpec &spec) {
      const auto [it, is_new] = given.try_emplace(spec.name, ops::none);
      if (is_new) it->second = value_of(c, next++, spec);
      return it->second;
    };
    GivenWeights host(c.host);
    Call inside(c.e, host, {}, c.arguments(), c.training());
    std::vector<Symbol> y = inside.run(layer, {c.in.begin(), c.in.begin() + first}, c.arguments(), weight_of);
    if (next != c.in.size())
      fail(Code::invalid_argument, "expected ", given.size(), " values for the weights of \"", layer.name, "\", got ",
           c.in.size() - static_cast<size_t>(inputs));
    return y;
  }

 private:
  static ops::Id value_of(Call &c, size_t i, const WeightSpec &spec) {
    if (i >= c.in.size())
      fail(Code::invalid_argument, "expected a value for weight \"", spec.name, "\" with shape ", spec.shape,
           " as input ", i, ", got ", c.in.size(), " inputs");
    const ops::Id value = c.in[i].value;
    if (c.e.dtype(value) != spec.dtype || !compatible(c.e.shape(value), spec.shape))
      fail(Code::shape_mismatch, "input ", i, ": expected ", spec.dtype, ' ', spec.shape, " for weight \"", spec.name,
           "\", got ", c.e.dtype(value), ' ', c.e.shape(value));
    return value;
  }
};

}  // namespace

DL4_KINDS(stateless_call, Pipeline, StatelessCall)

}  // namespace dl4::kinds
