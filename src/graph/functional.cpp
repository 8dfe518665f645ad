// Functional: a model as a layer.
#include "base/error.hpp"
#include "graph/inner_model.hpp"

namespace dl4::graph {
namespace {

constexpr const char *minimal_model = R"({"format": 1, "inputs": [["x", 0, 0]], "outputs": [["y", 0, 0]], "layers": [
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
  void fields(kinds::Fields &f) override { model.fields(f).example(minimal_model); }
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

}  // namespace
}  // namespace dl4::graph

namespace dl4::kinds {
using graph::Functional;
DL4_KINDS(functional, Functional)
}  // namespace dl4::kinds
