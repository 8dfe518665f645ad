// A model inside a layer: its JSON, and its calls.
#include "graph/inner_model.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/replay.hpp"
#include "kinds/inner_layer.hpp"

namespace dl4::graph {

using kinds::Symbol;

namespace {

// An inner model's JSON with the parsed model. A layer that gets a copy of it need not parse again; otherwise nested
// models would be parsed once per enclosing model.
struct Made final : Json::Shared {
  Made(Json json, std::shared_ptr<const Model> model) : Shared(std::move(json)), model(std::move(model)) {}
  const std::shared_ptr<const Model> model;
};

}  // namespace

kinds::Field &InnerModel::fields(kinds::Fields &f) {
  return f("model", json_)
      .doc("the architecture, as dl4_describe(model, 0) gives it, or a model by dl4_refs_set_model()");
}

void InnerModel::read() try {
  if (!json_.is_object()) kinds::refuse_attribute("model", "expected an architecture, got ", json_.shown());
  // An inner layer is stored as class and config.
  const Json *config = json_.find("config"), *inside = config ? config->find("model") : nullptr;
  if (inside) json_ = Json(*inside);
  if (const auto *made = dynamic_cast<const Made *>(json_.shared()))
    set(made->model);
  else
    set(model_of(read_architecture(json_)));
} catch (Error &e) {
  if (e.code == Code::corrupt_file) e.code = Code::invalid_argument;
  throw;
}

void InnerModel::set(std::shared_ptr<const Model> model) {
  model_ = std::move(model);
  if (model_->assigns()) kinds::unsupported_attribute("model", "a model that assigns weights can't be a layer");
  if (!json_.shared()) json_ = Json::share(std::make_unique<const Made>(to_json(model_->architecture()), model_));
  const Graph &g = model_->graph();
  taken_off_.assign(model_->inputs().size(), false);
  for (CallId c : needed_calls(g, model_->inputs(), model_->outputs())) {
    const Call &call = g.calls()[c];
    const auto &kind = g.layers()[call.layer].kind;
    if (!kind) continue;
    const kinds::Facts facts = kind->facts();
    for (size_t i = 0; i < call.in.size(); ++i) {
      const auto input = std::find(model_->inputs().begin(), model_->inputs().end(), call.in[i]);
      if (input != model_->inputs().end() && facts.takes_mask_off(i))
        taken_off_[static_cast<size_t>(input - model_->inputs().begin())] = true;
    }
  }
}

bool InnerModel::by_sample() const {
  const auto &layers = model_->graph().layers();
  return std::all_of(layers.begin(), layers.end(),
                     [](const Layer &layer) { return !layer.kind || kinds::by_sample(*layer.kind); });
}

std::vector<Symbol> InnerModel::run(kinds::Call &c, const std::vector<Symbol> &in) const {
  const Graph &g = model_->graph();
  for (size_t i = 0; i < in.size(); ++i) {
    const Node n = model_->inputs()[i];
    const Shape got = c.e.shape(in[i].value);
    const DType dtype = c.e.dtype(in[i].value);
    if (!compatible(got, g.shape(n)) || dtype != g.dtype(n))
      fail(Code::shape_mismatch, "input ", i, " is incompatible with the layer: expected ", g.dtype(n), ' ', g.shape(n),
           " as \"", model_->input_name(i), "\", got ", dtype, ' ', got);
  }
  // In the model's order, whichever call comes first.
  for (const auto &w : model_->weights()) {
    kinds::WeightSpec spec = w->spec;
    spec.name = w->name;
    spec.frozen = w->frozen();
    c.host.weight(spec);
  }
  const kinds::Arguments nothing;
  return replay(
      c.e, *model_, in,
      [&](const Layer &layer, const Call &, std::vector<Symbol> from, const kinds::Arguments &arguments, bool again) {
        if (!again) return c.run({layer.kind, layer.name}, std::move(from), arguments);
        Traceless host(c.host);
        kinds::Call trace(c.e, host, c.in, nothing, c.training());
        return trace.run({layer.kind, layer.name}, std::move(from), arguments);
      });
}

}  // namespace dl4::graph
