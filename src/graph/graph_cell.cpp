// GraphCell: a model as an RNN cell.
#include <algorithm>

#include "base/error.hpp"
#include "graph/inner_model.hpp"
#include "kinds/layers/recurrent/recurrent.hpp"

namespace dl4::graph {
namespace {

constexpr const char *minimal_model =
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
    f("states", becomes)
        .required(R"({"h": "y"})")
        .doc(
            "{\"h\": \"h_next\"}: a state's input and the output that it becomes, by name; their order is the inputs'");
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

}  // namespace
}  // namespace dl4::graph

namespace dl4::kinds {
using graph::GraphCell;
DL4_KINDS(graph_cell, GraphCell)
}  // namespace dl4::kinds
