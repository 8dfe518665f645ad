// The order of a model's calls, and symbols by node, during a replay.
#include "graph/replay.hpp"

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

// Postorder of a depth-first search from the outputs.
std::vector<CallId> finished(const Graph &g, const std::vector<Node> &outputs) {
  struct Open {
    CallId call;
    std::vector<Node> from;
    size_t next = 0;
  };
  std::vector<CallId> list;
  Table<CallId, bool> seen(g.calls());
  std::vector<Open> open;
  auto enter = [&](CallId call) {
    if (seen[call]) return;
    seen[call] = true;
    open.push_back({call, g.calls()[call].sources()});
  };
  for (Node n : outputs) {
    enter(g.origin(n).call);
    while (!open.empty()) {
      Open &o = open.back();
      if (o.next < o.from.size()) {
        enter(g.origin(o.from[o.next++]).call);
      } else {
        list.push_back(o.call);
        open.pop_back();
      }
    }
  }
  return list;
}

// By depth: the distance to the outputs, the largest for a shared layer; ties by order of discovery.
std::vector<CallId> by_depth(const Graph &g, const std::vector<Node> &outputs) {
  std::vector<CallId> met;
  Table<CallId, int32_t> depth(g.calls(), -1);
  Table<LayerId, int32_t> of_layer(g.layers());
  auto meet = [&](CallId call, int32_t at_least) {
    int32_t &d = depth[call];
    if (d < 0) met.push_back(call);
    d = std::max(d, at_least);
  };
  const std::vector<CallId> list = finished(g, outputs);
  for (size_t i = list.size(); i-- > 0;) {
    int32_t &deepest = of_layer[g.calls()[list[i]].layer];
    meet(list[i], deepest);
    deepest = depth[list[i]];
    for (Node n : g.calls()[list[i]].sources()) meet(g.origin(n).call, deepest + 1);
  }
  std::stable_sort(met.begin(), met.end(), [&](CallId a, CallId b) { return depth[a] > depth[b]; });
  return met;
}

bool drops_masks(const Graph &g, CallId call) {
  const Call &c = g.calls()[call];
  const auto &kind = g.layers()[c.layer].kind;
  if (!kind) return false;
  const kinds::Facts facts = kind->facts();
  for (size_t i = 0; i < c.in.size(); ++i)
    if (facts.takes_mask_off(i)) return true;
  return false;
}

// The calls that a model needs, topologically sorted: in order of creation, or by depth if the difference is
// observable, because a layer with several calls writes weights or a call removes masks from its inputs.
std::vector<CallId> run_order(const Model &model) {
  const Graph &g = model.graph();
  std::vector<CallId> calls = needed_calls(g, model.inputs(), model.outputs());
  if (model.assigns()) return calls;
  Table<LayerId, int32_t> count(g.layers());
  for (CallId c : calls) {
    const LayerId layer = g.calls()[c].layer;
    const auto &weights = g.layers()[layer].weights;
    const bool writes = std::any_of(weights.begin(), weights.end(), [](const auto &w) { return w->written(); });
    if ((writes && ++count[layer] > 1) || drops_masks(g, c)) return by_depth(g, model.outputs());
  }
  return calls;
}

}  // namespace

std::vector<Symbol> replay(ops::Emit &e, const Model &model, const std::vector<Symbol> &in, const RunCall &run) {
  const Graph &g = model.graph();
  Symbols symbols(g);
  for (size_t i = 0; i < in.size(); ++i) symbols.set(model.inputs()[i], in[i], in[i].mask);
  for (CallId c : run_order(model)) {
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
