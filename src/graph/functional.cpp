// Functional: a model as a layer.
#include "base/error.hpp"
#include "graph/keras_json.hpp"
#include "graph/model.hpp"
#include "kinds/field.hpp"
#include "kinds/inner_layer.hpp"

namespace dl4::graph {
namespace {

using kinds::Symbol;

struct Functional final : kinds::Layer {
  static constexpr const char *name = "Functional";
  static constexpr const char *aliases[] = {"Sequential", "Model"};
  static constexpr const char *doc =
      "A model as a layer: its inputs and outputs are those of the model, its weights stand under its name. Given by "
      "dl4_attrs_set_model() it shares them with that model. Keras's JSON of a nested model is taken too.";
  Json model;
  Json layers, input_layers, output_layers, build_input_shape;  // of Keras's JSON

  void fields(kinds::Fields &f) override {
    f("model", model).doc("the architecture, as dl4_describe(model, 0) gives it, or a model by dl4_attrs_set_model()");
    f("layers", layers).doc("of Keras's JSON, in place of `model`; then null");
    f("input_layers", input_layers).doc("of Keras's JSON, in place of `model`; then null");
    f("output_layers", output_layers).doc("of Keras's JSON, in place of `model`; then null");
    f("build_input_shape", build_input_shape).doc("of Keras's JSON, in place of `model`; then null");
  }
  kinds::Facts facts() const override {
    bool alone = true;
    if (model_)
      for (const graph::Layer &layer : model_->graph().layers())
        alone = alone && (!layer.kind || kinds::by_sample(*layer.kind));
    const char *shape = alone ? "(B, ...)" : "(...)";
    return {.inputs = {{"inputs", shape}},
            .outputs = {{"outputs", shape}},
            .weights = {{"weights", "those of the model, as <layer>/<weight>"}},
            .arguments = {{"mask", "tensors", "of each input, instead of the one it carries"}},
            .mask = "as the layers of the model do"};
  }
  kinds::Arity arity() const override {
    const int n = model_ ? static_cast<int>(model_->inputs().size()) : 1;
    return {n, n};
  }

  void check() override try {
    const Architecture a =
        layers.is_null() ? native() : keras_architecture(layers, input_layers, output_layers, build_input_shape);
    auto graph = std::make_shared<Graph>(Settings{});
    std::vector<Node> in, out;
    graph->merge(a, &in, &out);
    model_ = std::make_shared<const Model>(std::move(graph), std::move(in), std::move(out), false);
    model = to_json(model_->architecture());
    layers = input_layers = output_layers = build_input_shape = nullptr;
  } catch (Error &e) {
    if (e.code == Code::corrupt_file) e.code = Code::invalid_argument;
    throw;
  }

  bool by_step(int) const override {
    return why_not_by_step(model_->graph(), model_->inputs(), model_->outputs()).empty();
  }

  std::vector<Symbol> call(kinds::Call &c) const override {
    const Graph &g = model_->graph();
    std::vector<Symbol> symbols(static_cast<size_t>(g.nodes()));
    for (size_t i = 0; i < model_->inputs().size(); ++i)
      symbols[static_cast<size_t>(model_->inputs()[i])] = input(c, static_cast<int>(i));
    // In the model's order, whichever of its calls asks first.
    for (const auto &w : model_->weights()) {
      kinds::WeightSpec spec = w->spec;
      spec.name = w->name;
      spec.frozen = w->frozen;
      c.host.weight(spec);
    }
    const auto look_up = [&](const std::vector<Node> &nodes) {
      std::vector<Symbol> list;
      for (Node n : nodes) list.push_back(n == no_node ? Symbol{} : symbols[static_cast<size_t>(n)]);
      return list;
    };
    for (int32_t number : needed_calls(g, model_->inputs(), model_->outputs())) {
      const Call &call = g.calls()[static_cast<size_t>(number)];
      const graph::Layer &layer = g.layers()[static_cast<size_t>(call.layer)];
      if (layer.is_input) continue;
      if (!layer.kind) {
        symbols[static_cast<size_t>(call.out[0])].value = c.e.constant(layer.constant);
        continue;
      }
      kinds::Arguments arguments{call.arguments.plain, {}};
      for (const auto &[key, list] : call.arguments.nodes) arguments.symbols[key] = look_up(list);
      const std::vector<Symbol> out = c.run({layer.kind, layer.name}, look_up(call.in), arguments);
      for (size_t i = 0; i < call.out.size(); ++i) symbols[static_cast<size_t>(call.out[i])] = out[i];
    }
    return look_up(model_->outputs());
  }

 private:
  Architecture native() const {
    if (!model.is_object())
      throw Error(Code::invalid_argument, text("\"model\": expected an architecture, got ", model.shown()))
          .with("attribute", "model");
    // As a layer inside a layer it has a class and a config.
    const Json *config = model.find("config"), *inside = config ? config->find("model") : nullptr;
    return read_architecture(inside ? *inside : model);
  }
  Symbol input(const kinds::Call &c, int i) const {
    const Node n = model_->inputs()[static_cast<size_t>(i)];
    const Shape &wanted = model_->graph().shape(n);
    const DType dtype = model_->graph().dtype(n);
    if (!compatible(c.shape(i), wanted) || c.e.dtype(c.x(i)) != dtype)
      fail(Code::shape_mismatch, "input ", i, " is incompatible with the layer: expected ", dtype, ' ', wanted,
           " as \"", model_->input_name(static_cast<size_t>(i)), "\", got ", c.e.dtype(c.x(i)), ' ', c.shape(i));
    return {c.x(i), c.mask(i)};
  }

  std::shared_ptr<const Model> model_;  // its shapes and calls; the weights are those of the layer
};

}  // namespace
}  // namespace dl4::graph

namespace dl4::kinds {
using graph::Functional;
DL4_KIND(Functional)
}  // namespace dl4::kinds
