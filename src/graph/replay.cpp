// Symbols by node, during a replay.
#include "graph/replay.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace dl4::graph {

using kinds::Symbol;

namespace {

// A node's symbol and its mask, twice: the value's current mask, which a layer may remove, and the one in the graph as
// built.
struct Symbols {
  explicit Symbols(const Graph &g) : now(g.nodes()), built(g.nodes(), ops::none) {}
  Table<Node, Symbol> now;
  Table<Node, ops::Id> built;
  std::unordered_multimap<ops::Id, Node> nodes_of{};  // by value: the identity returns its input

  std::vector<Symbol> look_up(const std::vector<Node> &nodes) const {
    std::vector<Symbol> list;
    for (Node n : nodes) list.push_back(n == no_node ? Symbol{} : now[n]);
    return list;
  }
  void set(Node n, Symbol s, ops::Id mask_built) {
    now[n] = s;
    built[n] = mask_built;
    if (mask_built != ops::none || s.mask != ops::none) nodes_of.emplace(s.value, n);
  }
  void drop_mask(Node n) {
    const auto [begin, end] = nodes_of.equal_range(now[n].value);
    for (auto i = begin; i != end; ++i) now[i->second].mask = ops::none;
  }
};

bool same_masks(const std::vector<Symbol> &a, const std::vector<Symbol> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Symbol &x, const Symbol &y) { return x.mask == y.mask; });
}

bool is_noted(const Layer &layer, const Call &call, const std::vector<Symbol> &built) {
  return call.in.size() == 1 && built[0].mask != ops::none && call.arguments.plain.empty() &&
         call.arguments.nodes.empty() && layer.kind->facts().notes_mask();
}

}  // namespace

std::vector<Symbol> replay(ops::Emit &e, const Model &model, const std::vector<CallId> &order,
                           const std::vector<Symbol> &in, const RunCall &run) {
  const Graph &g = model.graph();
  Symbols symbols(g);
  for (size_t i = 0; i < in.size(); ++i) symbols.set(model.inputs()[i], in[i], in[i].mask);
  for (CallId c : order) {
    const Call &call = g.calls()[c];
    const Layer &layer = g.layers()[call.layer];
    if (layer.input) continue;
    if (!layer.kind) {
      symbols.set(call.out[0], {e.constant(layer.constant)}, ops::none);
      continue;
    }
    kinds::Arguments arguments{call.arguments.plain, {}};
    for (const auto &[key, list] : call.arguments.nodes) arguments.symbols[key] = symbols.look_up(list);
    std::vector<Symbol> from = symbols.look_up(call.in);
    std::vector<Symbol> from_built = from;
    for (size_t i = 0; i < call.in.size(); ++i) from_built[i].mask = symbols.built[call.in[i]];
    if (!same_masks(from, from_built) && is_noted(layer, call, from_built)) from = from_built;
    const bool around = std::exchange(e.bfloat16, layer.mixed_bfloat16 && kinds::rounds(e, layer.name));
    const std::vector<Symbol> out = run(layer, call, from, arguments, false);
    const kinds::Facts facts = layer.kind->facts();
    const bool builds = facts.mask.built;
    const std::vector<Symbol> built =
        !builds || same_masks(from, from_built) ? out : run(layer, call, from_built, arguments, true);
    e.bfloat16 = around;
    for (size_t i = 0; i < call.out.size(); ++i) symbols.set(call.out[i], out[i], builds ? built[i].mask : ops::none);
    for (size_t i = 0; i < call.in.size(); ++i)
      if (facts.takes_mask_off(i)) symbols.drop_mask(call.in[i]);
  }
  return symbols.look_up(model.outputs());
}

}  // namespace dl4::graph
