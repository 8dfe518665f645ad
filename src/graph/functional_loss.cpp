// Functional as a loss, and the metric that is its mean: a graph from targets and predictions.
#include "base/error.hpp"
#include "graph/inner_model.hpp"
#include "kinds/metric.hpp"

namespace dl4::graph {
namespace {

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
    model.fields(f)
        .required(minimal_loss)
        .doc("the architecture, as dl4_describe(model, 0) gives it: two inputs, one output");
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
using graph::FunctionalLoss;
DL4_KINDS(functional_loss, FunctionalLoss)
}  // namespace dl4::kinds
