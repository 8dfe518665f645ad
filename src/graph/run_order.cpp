// Topological orders of calls.
#include "graph/run_order.hpp"

#include <algorithm>

namespace dl4::graph {
namespace {

// The calls that a call reads from, in input order.
std::vector<CallId> sources(const Graph &g, CallId call) {
  const Call &c = g.calls()[call];
  std::vector<CallId> from;
  for (Node n : c.in) from.push_back(g.origin(n).call);
  for (const auto &[key, list] : c.arguments.nodes)
    for (Node n : list)
      if (n != no_node) from.push_back(g.origin(n).call);
  return from;
}

// Postorder of a depth-first search from the outputs.
std::vector<CallId> finished(const Graph &g, const std::vector<Node> &outputs) {
  struct Open {
    CallId call;
    std::vector<CallId> from;
    size_t next = 0;
  };
  std::vector<CallId> list;
  Table<CallId, bool> seen(g.calls());
  std::vector<Open> open;
  auto enter = [&](CallId call) {
    if (seen[call]) return;
    seen[call] = true;
    open.push_back({call, sources(g, call)});
  };
  for (Node n : outputs) {
    enter(g.origin(n).call);
    while (!open.empty()) {
      Open &o = open.back();
      if (o.next < o.from.size()) {
        enter(o.from[o.next++]);
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
    for (CallId from : sources(g, list[i])) meet(from, deepest + 1);
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

}  // namespace

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

}  // namespace dl4::graph
