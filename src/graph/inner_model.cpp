// Models as attributes of kinds: Functional, a model as a layer; GraphCell, a model as an RNN cell; and Functional as a
// loss, with the metric that is its mean: a graph from targets and predictions.

#include "graph/replay.hpp"
#include "kinds/layers/recurrent/recurrent.hpp"
#include "kinds/loss.hpp"

namespace dl4::graph {
namespace {

using kinds::Symbol;

// An inner model's JSON with the parsed model. A layer that gets a copy of it need not parse again; otherwise nested
// models would be parsed once per enclosing model.
struct Made final : Json::Shared {
  Made(Json json, std::shared_ptr<const Model> model) : Shared(std::move(json)), model(std::move(model)) {}
  const std::shared_ptr<const Model> model;
};

// A model as an attribute of a layer, which owns its weights.
class InnerModel {
 public:
  kinds::Field &fields(kinds::Fields &f, const char *doc =
                                             "the architecture, as dl4_describe(model, 0) gives it, or a "
                                             "model by dl4_refs_set_model()") {
    return f("model", json_, doc);
  }
  // Parses the field; refuses what is no architecture.
  void read() try {
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

  explicit operator bool() const { return model_ != nullptr; }
  const Model *operator->() const { return model_.get(); }
  // Whether it computes each sample of the first axis independently.
  bool by_sample() const {
    const auto &layers = model_->graph().layers();
    return std::all_of(layers.begin(), layers.end(),
                       [](const Layer &layer) { return !layer.kind || kinds::by_sample(*layer.kind); });
  }
  // By input: whether a layer removes its mask.
  const std::vector<bool> &taken_off() const { return taken_off_; }
  // The model on `in`, one symbol for each of its inputs, inside the layer's call. Refuses what does not fit.
  std::vector<kinds::Symbol> run(kinds::Call &c, const std::vector<Symbol> &in) const {
    const Graph &g = model_->graph();
    for (size_t i = 0; i < in.size(); ++i) {
      const Node n = model_->inputs()[i];
      const Shape got = c.e.shape(in[i].value);
      const DType dtype = c.e.dtype(in[i].value);
      if (!compatible(got, g.shape(n)) || dtype != g.dtype(n))
        fail(Code::shape_mismatch, "input ", i, " is incompatible with the layer: expected ", g.dtype(n), ' ',
             g.shape(n), " as \"", model_->input_name(i), "\", got ", dtype, ' ', got);
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

 private:
  void set(std::shared_ptr<const Model> model) {
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

  Json json_;                           // the field; once parsed, its copies share it with the model
  std::shared_ptr<const Model> model_;  // shapes and calls; the weights are the layer's
  std::vector<bool> taken_off_;
};

constexpr const char *minimal_functional =
    R"({"format": 1, "inputs": [["x", 0, 0]], "outputs": [["y", 0, 0]], "layers": [
    {"class_name": "Input", "name": "x", "config": {"shape": [null, 3, 4], "dtype": "float32"}},
    {"class_name": "Dense", "name": "y", "config": {"units": 4}, "calls": [{"inputs": [["x", 0, 0]]}]}]})";

struct Functional final : kinds::Layer {
  static constexpr const char *aliases[] = {"Sequential", "Model"};
  static constexpr const char *doc =
      "A model as a layer: its inputs and outputs are those of the model, its weights stand under its name. Given by "
      "dl4_refs_set_model() it shares them with that model.";
  static constexpr int version = 2;
  InnerModel model;

  // Version 1 had attributes that were always null.
  static Json upgrade(Json config, int) {
    for (const char *key : {"layers", "input_layers", "output_layers", "build_input_shape"})
      if (const Json *v = config.find(key); v && v->is_null()) config.erase(key);
    return config;
  }
  void fields(kinds::Fields &f) override { model.fields(f).example(minimal_functional); }
  kinds::Facts facts() const override {
    const char *shape = !model || model.by_sample() ? "(B, ...)" : "(...)";
    kinds::Facts facts =
        kinds::PlainFacts{.inputs = {{"inputs", shape}},
                          .outputs = {{"outputs", shape}},
                          .weights = {{"weights", "those of the model, as <layer>/<weight>"}},
                          .arguments = {{"mask", "tensors", "of each input, instead of the one it carries"}},
                          .mask = "as the layers of the model do"};
    if (model) facts.taken_off = model.taken_off();
    facts.mask.built = false;
    return facts;
  }
  kinds::Arity arity() const override {
    const int n = model ? static_cast<int>(model->inputs().size()) : 1;
    return {n, n};
  }

  void check() override { model.read(); }

  std::vector<kinds::Symbol> call(kinds::Call &c) const override {
    std::vector<kinds::Symbol> in;
    for (int i = 0; i < static_cast<int>(c.in.size()); ++i) in.push_back({c.x(i), c.mask(i)});
    return model.run(c, in);
  }
};

constexpr const char *minimal_cell =
    R"({"format": 1, "inputs": [["x", 0, 0], ["h", 0, 0]], "outputs": [["y", 0, 0]], "layers": [
    {"class_name": "Input", "name": "x", "config": {"shape": [null, 4], "dtype": "float32"}},
    {"class_name": "Input", "name": "h", "config": {"shape": [null, 4], "dtype": "float32"}},
    {"class_name": "GRUCell", "name": "y", "config": {"units": 4},
     "calls": [{"inputs": [["x", 0, 0]], "arguments": {"states": [["h", 0, 0]]}}]}]})";

struct GraphCell final : kinds::CellLayer {
  static constexpr const char *doc =
      "A model as a cell: `states` says which of its inputs are states, and which outputs are what they become. The "
      "first other input is x, those behind it are constants. The first other output is the cell's, or the first "
      "state. Given by dl4_refs_set_model() it shares its weights with that model. What it drops is the same at every "
      "step.";
  InnerModel model;
  Json becomes;

  void fields(kinds::Fields &f) override {
    model.fields(f).example(minimal_cell);
    f("states", becomes,
      "{\"h\": \"h_next\"}: a state's input and the output that it becomes, by name; their order is the inputs'")
        .required(R"({"h": "y"})");
  }
  kinds::Facts facts() const override {
    const bool alone = !model || model.by_sample();
    kinds::Facts facts = kinds::facts_of_cell(text(alone ? "(B, ...), " : "", "the outputs that `states` names"),
                                              {{"weights", "those of the model, as <layer>/<weight>"}});
    facts.arguments.push_back(kinds::constants_argument);
    return facts;
  }

  void check() override {
    if (!becomes.is_object() || becomes.size() == 0)
      kinds::refuse_attribute("states", "expected {input: output} of the model by name, got ", becomes.shown());
    model.read();
    find_states();
    std::vector<bool> next(model->outputs().size());
    for (const State &s : states_) {
      need_floats("states", s.input_name, model->inputs()[s.input]);
      const Node from = model->inputs()[s.input], to = model->outputs()[s.output];
      const Graph &g = model->graph();
      if (g.dtype(to) != g.dtype(from) || g.shape(to) != g.shape(from))
        kinds::refuse_attribute("states", "expected ", g.dtype(from), ' ', g.shape(from), " as \"",
                                model->output_name(s.output), "\", which \"", s.input_name, "\" becomes, got ",
                                g.dtype(to), ' ', g.shape(to));
      next[s.output] = true;
    }
    const auto other = static_cast<size_t>(std::find(next.begin(), next.end(), false) - next.begin());
    output_ = other < next.size() ? other : states_[0].output;
    need_floats("model", model->output_name(output_), model->outputs()[output_]);
  }

  std::vector<Shape> states() const override {
    std::vector<Shape> all;
    for (const State &s : states_) all.push_back(model->graph().shape(model->inputs()[s.input]).without(0));
    return all;
  }
  size_t constants() const override { return others_.size() - 1; }
  int rank() const override { return model->graph().shape(model->inputs()[others_[0]]).rank(); }

 protected:
  kinds::Cell begin(kinds::Call &c) const override {
    return {states(), [&c, this](const kinds::Inside &, ops::Id x, const kinds::Ids &states) {
              std::vector<kinds::Symbol> in(model->inputs().size());
              in[others_[0]].value = x;
              for (size_t i = 0; i < states.size(); ++i) in[states_[i].input].value = states[i];
              const auto constants = c.symbols("constants");
              for (size_t i = 0; i < constants.size(); ++i) in[others_[i + 1]] = constants[i];
              const std::vector<kinds::Symbol> out = model.run(c, in);
              kinds::Cell::Step step{out[output_].value, {}};
              for (const State &s : states_) step.states.push_back(out[s.output].value);
              return step;
            }};
  }

 private:
  struct State {
    std::string input_name;
    size_t input, output;
  };

  void find_states() {
    states_.clear(), others_.clear();
    std::vector<std::string> inputs, outputs;
    for (size_t i = 0; i < model->inputs().size(); ++i) inputs.push_back(model->input_name(i));
    for (size_t i = 0; i < model->outputs().size(); ++i) outputs.push_back(model->output_name(i));
    for (const auto &[input, output] : becomes.items()) number_of(inputs, "input", Json(std::string(input)));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (const Json *output = becomes.find(inputs[i]))
        states_.push_back({inputs[i], i, number_of(outputs, "output", *output)});
      else
        others_.push_back(i);
    }
    if (others_.empty()) kinds::refuse_attribute("states", "expected an input that is not a state: x");
  }
  static size_t number_of(const std::vector<std::string> &names, const char *what, const Json &name) {
    const std::string wanted = name.is_string() ? name.get<std::string>() : "";
    const auto at = std::find(names.begin(), names.end(), wanted);
    if (name.is_string() && at != names.end()) return static_cast<size_t>(at - names.begin());
    throw Error(Code::invalid_argument,
                text("\"states\": expected the name of an ", what, " of the model, got ", name.shown()))
        .with("attribute", "states")
        .suggest(wanted, names);
  }
  // States must have known sizes.
  void need_floats(const char *key, const std::string &name, Node n) const {
    const Shape s = model->graph().shape(n);
    const DType dtype = model->graph().dtype(n);
    if (dtype != DType::f32 || s.rank() == 0 || !s.without(0).known())
      kinds::refuse_attribute(key, "expected float32 (batch, ...) of known dims as \"", name, "\", got ", dtype, ' ',
                              s);
  }

  std::vector<State> states_;   // in the order of the model's inputs
  std::vector<size_t> others_;  // other inputs: x, then the constants
  size_t output_ = 0;
};

// A host without a graph: a loss has nowhere to keep weights.
class Nothing final : public kinds::Host {
 public:
  ops::Id weight(const kinds::WeightSpec &spec) override { refuse(text("weight \"", spec.name, '"')); }
  uint64_t random_seed(std::optional<int64_t>) override { refuse("random numbers"); }
  ops::Id draws() override { refuse("random numbers"); }
  void add_loss(ops::Id) override { refuse("a penalty"); }
  void write(const std::string &name, ops::Id) override { refuse(text("weight \"", name, '"')); }
  bool trainable(const std::string &) const override { return false; }

 private:
  [[noreturn]] static void refuse(const std::string &what) {
    kinds::unsupported_attribute("model", "expected a graph that only computes, got one with " + what);
  }
};

constexpr const char *minimal_loss =
    R"({"format": 1, "inputs": [["t", 0, 0], ["p", 0, 0]], "outputs": [["d", 0, 0]], "layers": [
    {"class_name": "Input", "name": "t", "config": {"shape": [null, 4], "dtype": "float32"}},
    {"class_name": "Input", "name": "p", "config": {"shape": [null, 4], "dtype": "float32"}},
    {"class_name": "Subtract", "name": "d", "config": {}, "calls": [{"inputs": [["t", 0, 0], ["p", 0, 0]]}]}]})";

struct FunctionalLoss final : kinds::Loss {
  static constexpr const char *name = "Functional";
  static constexpr const char *doc =
      "A graph called on targets and predictions, both float32; its output has a value for each item";
  InnerModel model;

  void fields(kinds::Fields &f) override {
    model.fields(f, "the architecture, as dl4_describe(model, 0) gives it: two inputs, one output")
        .required(minimal_loss);
    Loss::fields(f);
  }
  void check() override {
    model.read();
    if (model->inputs().size() != 2 || model->outputs().size() != 1)
      kinds::refuse_attribute("model", "expected the inputs y_true and y_pred and one output, got ",
                              model->inputs().size(), " inputs and ", model->outputs().size(), " outputs");
    Nothing host;
    for (const auto &w : model->held()) host.weight(w->spec);
  }
  Shape target_shape(const Shape &, const Shape &target) const override { return target; }
  bool joins_samples(int) const override { return !model.by_sample(); }
  kinds::Items items(ops::Emit &e, ops::Id y_true, ops::Id y_pred) const override {
    Nothing host;
    const kinds::Arguments none;
    kinds::Call c(e, host, {{cast(e, y_true, DType::f32)}, {cast(e, y_pred, DType::f32)}}, none, false);
    return {cast(e, model.run(c, c.in)[0].value, DType::f32), ops::none};
  }
};

}  // namespace
}  // namespace dl4::graph

namespace dl4::kinds {
using graph::Functional, graph::GraphCell, graph::FunctionalLoss;
DL4_KINDS(models, Functional, GraphCell, FunctionalLoss)
}  // namespace dl4::kinds
