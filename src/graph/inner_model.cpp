// A model inside a layer: read, and run.
#include "graph/inner_model.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kinds/field.hpp"
#include "kinds/inner_layer.hpp"

namespace dl4::graph {

using kinds::Symbol;

void InnerModel::fields(kinds::Fields &f) {
  f("model", json_).doc("the architecture, as dl4_describe(model, 0) gives it, or a model by dl4_attrs_set_model()");
}

void InnerModel::read() {
  if (!json_.is_object())
    throw Error(Code::invalid_argument, text("\"model\": expected an architecture, got ", json_.shown()))
        .with("attribute", "model");
  // As a layer inside a layer it has a class and a config.
  const Json *config = json_.find("config"), *inside = config ? config->find("model") : nullptr;
  set(read_architecture(inside ? *inside : json_));
}

void InnerModel::set(const Architecture &a) {
  model_ = model_of(a);
  json_ = to_json(model_->architecture());
}

bool InnerModel::by_sample() const {
  const auto &layers = model_->graph().layers();
  return std::all_of(layers.begin(), layers.end(),
                     [](const Layer &layer) { return !layer.kind || kinds::by_sample(*layer.kind); });
}

std::vector<Symbol> InnerModel::run(kinds::Call &c, const std::vector<Symbol> &in) const {
  const Graph &g = model_->graph();
  std::vector<Symbol> symbols(static_cast<size_t>(g.nodes()));
  for (size_t i = 0; i < in.size(); ++i) {
    const Node n = model_->inputs()[i];
    const Shape got = c.e.shape(in[i].value);
    const DType dtype = c.e.dtype(in[i].value);
    if (!compatible(got, g.shape(n)) || dtype != g.dtype(n))
      fail(Code::shape_mismatch, "input ", i, " is incompatible with the layer: expected ", g.dtype(n), ' ', g.shape(n),
           " as \"", model_->input_name(i), "\", got ", dtype, ' ', got);
    symbols[static_cast<size_t>(n)] = in[i];
  }
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
    const Layer &layer = g.layers()[static_cast<size_t>(call.layer)];
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

}  // namespace dl4::graph
