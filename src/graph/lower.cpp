// Replays a model's calls into a Program.
#include "graph/lower.hpp"

#include <unordered_map>

#include "base/float_mode.hpp"

namespace dl4::graph {
namespace {

using kinds::Symbol;
using WeightValues = std::unordered_map<const Weight *, ops::Id>;

// The host of a call in a Program: weights are values that stand already.
class Replay final : public kinds::Host {
 public:
  Replay(const Layer &layer, int32_t call, const WeightValues &weights, ops::Id draws, std::vector<ops::Id> &penalties)
      : layer_(layer), call_(call), weights_(weights), draws_(draws), penalties_(penalties) {}

  ops::Id weight(const kinds::WeightSpec &spec) override {
    for (const auto &w : layer_.weights)
      if (w->spec.name == spec.name) return weights_.at(w.get());
    fail(Code::internal, "weight \"", spec.name, "\" was not made when the graph was built");
  }
  uint64_t random_seed(std::optional<int64_t> own) override {
    // Each call of a shared layer draws for itself.
    uint64_t seed = own ? static_cast<uint64_t>(*own) : layer_.random_seed.value_or(0);
    return seed + static_cast<uint64_t>(call_) * 0x9E3779B97F4A7C15u;
  }
  ops::Id draws() override { return draws_; }
  void add_loss(ops::Id scalar) override { penalties_.push_back(scalar); }

 private:
  const Layer &layer_;
  int32_t call_;
  const WeightValues &weights_;
  ops::Id draws_;
  std::vector<ops::Id> &penalties_;
};

}  // namespace

Lowered lower(ops::Emit &e, const Model &model, const std::vector<ops::Id> &weights, ops::Id draws, bool training) {
  FlushToZero flush;  // constants are rounded here
  const Graph &g = model.graph();
  Lowered lowered;
  WeightValues value_of;
  for (size_t i = 0; i < weights.size(); ++i) value_of[model.weights()[i].get()] = weights[i];
  std::vector<Symbol> symbols(static_cast<size_t>(g.nodes()));
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    Node n = model.inputs()[i];
    symbols[static_cast<size_t>(n)].value = e.input(model.input_name(i), g.dtype(n), g.shape(n));
  }
  auto look_up = [&](const std::vector<Node> &nodes) {
    std::vector<Symbol> list;
    for (Node n : nodes) list.push_back(n == no_node ? Symbol{} : symbols[static_cast<size_t>(n)]);
    return list;
  };
  for (int32_t number : needed_calls(g, model.inputs(), model.outputs())) {
    const Call &call = g.calls()[static_cast<size_t>(number)];
    const Layer &layer = g.layers()[static_cast<size_t>(call.layer)];
    if (layer.is_input) continue;
    if (!layer.kind) {
      symbols[static_cast<size_t>(call.out[0])].value = e.constant(layer.constant);
      continue;
    }
    kinds::Arguments arguments{call.arguments.plain, {}};
    for (const auto &[key, list] : call.arguments.nodes) arguments.symbols[key] = look_up(list);
    e.scope = layer.name;
    Replay host(layer, call.number, value_of, draws, lowered.penalties);
    kinds::Call c(e, host, look_up(call.in), arguments, training);
    std::vector<Symbol> out = layer.kind->call(c);
    for (size_t i = 0; i < out.size(); ++i) symbols[static_cast<size_t>(call.out[i])] = out[i];
    e.scope.clear();
  }
  lowered.outputs = look_up(model.outputs());
  return lowered;
}

ops::Program inference_program(const Model &model) {
  ops::Program p;
  ops::Emit e(p);
  std::vector<ops::Id> weights;
  for (const auto &w : model.weights()) weights.push_back(e.state(w->name, DType::f32, w->spec.shape));
  for (const Symbol &s : lower(e, model, weights, ops::none, false).outputs) e.output(s.value);
  return p;
}

}  // namespace dl4::graph
