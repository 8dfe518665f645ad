// GetWeight and Assign: read and set weights of the graph's layers.
#include "base/error.hpp"
#include "kinds/layers/graph/variables.hpp"

namespace dl4::kinds {

const Optimizer &needed(const Of<Optimizer> &optimizer) {
  if (!optimizer) refuse_attribute("optimizer", "expected an optimizer, got null");
  return *optimizer;
}

void refuse_of_trainers(std::initializer_list<std::pair<const char *, bool>> settings) {
  for (const auto &[key, is_set] : settings)
    if (is_set) unsupported_attribute("optimizer", "\"", key, "\" is for trainers; a graph computes such values");
}

Variable need_variable(Call &c, int i) {
  if (auto v = c.host.variable(i)) return *std::move(v);
  fail(Code::invalid_argument, "input ", i,
       ": expected a weight, the output of a layer Weight or GetWeight, got another value");
}

void need_like(const Call &c, int i, const Variable &v) {
  const DType dtype = c.e.dtype(c.x(i));
  if (dtype != v.spec.dtype || c.shape(i) != v.spec.shape)
    fail(Code::shape_mismatch, "input ", i, ": expected ", v.spec.dtype, ' ', v.spec.shape, " for weight \"", v.name,
         "\", got ", dtype, ' ', c.shape(i));
}

namespace {

struct GetWeight : LayerOf<GetWeight> {
  static constexpr const char *doc =
      "A weight of a layer of the graph as a value: called on nothing. It is what the weight holds where the call "
      "stands among those that assign it, in the order in which they were added.";
  std::string weight;

  void fields(Fields &f) override {
    f("weight", weight)
        .required(R"("dense/kernel")")
        .doc("its name: \"<layer>/<weight>\", of a layer that has been called");
  }
  static constexpr PlainFacts plain{.inputs = {}, .outputs = {{"value", "(shape)"}}};
  Arity arity() const override { return {0, 0}; }
  std::vector<Symbol> call(Call &c) const override { return {{c.host.graph_weight(weight)}}; }
};

struct Assign : LayerOf<Assign> {
  static constexpr const char *doc =
      "Sets a weight: calls that were added later read the new value, and after the run it is that of every model "
      "that has the weight. Its output is the new value. No gradient passes.";
  enum class How { assign, add, subtract } how = How::assign;

  void fields(Fields &f) override {
    f("operation", how, {"assign", "assign_add", "assign_sub"})
        .doc("the value takes the weight's place, is added to it or subtracted from it");
  }
  static constexpr PlainFacts plain{.inputs = {{"weight", "(...), of a layer Weight or GetWeight"}, {"value", "(...)"}},
                                    .outputs = {{"value", "(...)"}}};
  Arity arity() const override { return {2, 2}; }
  bool assigns() const override { return true; }

  std::vector<Symbol> call(Call &c) const override {
    need_like(c, 1, need_variable(c, 0));
    const std::vector<ops::Id> values = c.host.values_of(0);
    ops::Id value = c.x(1);
    if (how != How::assign) value = how == How::add ? add(c.e, values.back(), value) : sub(c.e, values.back(), value);
    c.host.assign(0, value);
    return {{value}};
  }
};

struct After : LayerOf<After> {
  static constexpr const char *doc =
      "x as it is, in a model that computes the other inputs too: so a model makes assignments that none of its "
      "outputs reads.";

  static constexpr PlainFacts plain{
      .inputs = {{"x", "(...)"}, {"others", "(...), any number"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  Arity arity() const override { return {1, any_number}; }
  std::vector<Symbol> call(Call &c) const override { return {{c.x(), c.mask()}}; }
};

}  // namespace
DL4_KINDS(graph_weights, GetWeight, Assign, After)
}  // namespace dl4::kinds
