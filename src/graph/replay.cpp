// Symbols by node, from call to call.
#include "graph/replay.hpp"

namespace dl4::graph {

using kinds::Symbol;

std::vector<Symbol> replay(ops::Emit &e, const Model &model, const std::vector<CallId> &order,
                           const std::vector<Symbol> &in, const RunCall &run) {
  const Graph &g = model.graph();
  Table<Node, Symbol> symbols(g.nodes());
  const auto look_up = [&](const std::vector<Node> &nodes) {
    std::vector<Symbol> list;
    for (Node n : nodes) list.push_back(n == no_node ? Symbol{} : symbols[n]);
    return list;
  };
  for (size_t i = 0; i < in.size(); ++i) symbols[model.inputs()[i]] = in[i];
  for (CallId c : order) {
    const Call &call = g.calls()[c];
    const Layer &layer = g.layers()[call.layer];
    if (layer.is_input) continue;
    if (!layer.kind) {
      symbols[call.out[0]].value = e.constant(layer.constant);
      continue;
    }
    kinds::Arguments arguments{call.arguments.plain, {}};
    for (const auto &[key, list] : call.arguments.nodes) arguments.symbols[key] = look_up(list);
    const std::vector<Symbol> out = run(layer, call, look_up(call.in), arguments);
    for (size_t i = 0; i < call.out.size(); ++i) symbols[call.out[i]] = out[i];
  }
  return look_up(model.outputs());
}

}  // namespace dl4::graph
