// Gradients: derivatives of a graph's values as values of the same graph.
#include "base/error.hpp"
#include "kinds/layer.hpp"
#include "ops/differentiate.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct Gradients : LayerOf<Gradients> {
  static constexpr const char *doc =
      "The gradients of targets by other values: called on the targets, then on what to differentiate by. Of several "
      "targets the gradients add up. Gradients may be differentiated again.";
  enum class Unconnected { zeros, refused } unconnected = Unconnected::zeros;
  int64_t targets = 1;
  bool sum = false;

  void fields(Fields &f) override {
    f("targets", targets).at_least(1).at_most(max_dim).doc("how many of the inputs are targets");
    f("sum", sum)
        .example("true")
        .doc("a target that is not a single number counts as the sum of its elements; else it is refused");
    f("unconnected", unconnected, {"zeros", "refused"}).doc("by what no target depends on: zeros, or a refusal");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"targets", "(), with output_gradients or sum (...)"}, {"by", "(...), any number"}},
      .outputs = {{"gradients", "(...), one for each value to differentiate by"}},
      .arguments = {
          {"output_gradients", "tensors", "of each target the gradient by it of what is differentiated; null is 1"}}};
  Arity arity() const override { return {2, any_number}; }

  std::vector<Symbol> call(Call &c) const override {
    const auto n = static_cast<int>(c.in.size()), first = static_cast<int>(std::min<int64_t>(targets, n));
    if (first == n) fail(Code::invalid_argument, "expected inputs behind the ", targets, " targets, got ", n);
    std::vector<ops::Cotangent> from;
    for (int i = 0; i < first; ++i) from.push_back({c.x(i), output_gradient(c, i)});
    std::vector<Id> by;
    std::vector<size_t> ends;
    for (int i = first; i < n; ++i) {
      c.need_float(i);
      std::vector<Id> values = c.host.values_of(i);
      if (values.empty()) values = {c.x(i)};
      by.insert(by.end(), values.begin(), values.end());
      ends.push_back(by.size());
    }
    const std::vector<Id> found = ops::differentiate(c.e, from, by);
    std::vector<Symbol> gradients;
    size_t at = 0;
    for (size_t end : ends) {
      Id all = ops::none;
      for (; at < end; ++at)
        if (found[at] != ops::none) all = all == ops::none ? found[at] : add(c.e, all, found[at]);
      gradients.push_back({all != ops::none ? all : nothing(c, first + static_cast<int>(gradients.size()))});
    }
    return gradients;
  }

 private:
  Id output_gradient(Call &c, int i) const {
    c.need_float(i);
    const auto given = c.symbols("output_gradients");
    if (!given.empty() && std::ssize(given) != targets)
      fail(Code::invalid_argument, "\"output_gradients\": expected ", targets, ", one for each target, got ",
           given.size());
    const Id g = given.empty() ? ops::none : given[static_cast<size_t>(i)].value;
    if (g != ops::none) {
      if (c.e.dtype(g) != DType::f32 || !compatible(c.e.shape(g), c.shape(i)))
        fail(Code::shape_mismatch, "\"output_gradients\": expected float32 ", c.shape(i), " for target ", i, ", got ",
             c.e.dtype(g), ' ', c.e.shape(g));
      return g;
    }
    if (c.shape(i).rank() == 0) return c.e.scalar(1);
    if (sum) return ops::fill(c.e, DType::f32, 1, c.x(i), c.shape(i).rank(), {});
    fail(Code::shape_mismatch, "target ", i,
         ": expected a single number, output_gradients or \"sum\": true, got shape ", c.shape(i));
  }

  Id nothing(Call &c, int i) const {
    if (unconnected == Unconnected::refused)
      fail(Code::invalid_argument, "no target depends on input ", i, ", by which it is to be differentiated");
    return ops::fill(c.e, DType::f32, 0, c.x(i), c.shape(i).rank(), {});
  }
};

}  // namespace
DL4_KINDS(gradients, Gradients)
}  // namespace dl4::kinds
