// Converts between a graph and its architecture.
#include "graph/architecture.hpp"

#include <set>

#include "graph/graph.hpp"

namespace dl4::graph {
namespace {

using CallRef = Architecture::CallRef;
using Ref = Architecture::Ref;

// Calls f(ref) for every value that the call reads.
template <class F>
void each_ref(const Architecture::Call &call, F f) {
  for (const Ref &ref : call.inputs) f(ref);
  for (const auto &[key, refs] : call.values)
    for (const auto &ref : refs)
      if (ref) f(*ref);
}


// The recorded sequence, with every call once.
std::vector<std::pair<size_t, size_t>> said_order(const Architecture &a) {
  std::map<std::string, size_t> layer_of;
  size_t calls = 0;
  for (size_t i = 0; i < a.layers.size(); ++i) {
    layer_of.emplace(a.layers[i].name, i);
    calls += a.layers[i].calls.size();
  }
  std::vector<std::pair<size_t, size_t>> order;
  std::vector<size_t> made(a.layers.size());
  for (const CallRef &ref : a.sequence) {
    const auto it = layer_of.find(ref.layer);
    if (it == layer_of.end() || ref.call != static_cast<int64_t>(made[it->second]) ||
        made[it->second] == a.layers[it->second].calls.size())
      fail(Code::corrupt_file, "architecture: \"order\" has call ", ref.call, " of \"", ref.layer,
           "\" in a wrong position");
    order.emplace_back(it->second, made[it->second]++);
  }
  if (order.size() != calls)
    fail(Code::corrupt_file, "architecture: \"order\" has ", order.size(), " calls, the layers have ", calls);
  return order;
}

}  // namespace

std::vector<std::pair<size_t, size_t>> order(const Architecture &a) {
  if (!a.sequence.empty()) return said_order(a);
  struct Waiting {
    size_t layer, call, missing = 0, round = 0;
  };
  std::vector<Waiting> all;
  std::set<CallRef> made;
  for (size_t i = 0; i < a.layers.size(); ++i) {
    const Architecture::Role role = a.layers[i].role;
    if (role == Architecture::Role::input || role == Architecture::Role::constant) made.insert({a.layers[i].name, 0});
    for (size_t c = 0; c < a.layers[i].calls.size(); ++c) all.push_back({i, c});
  }
  const auto ref_of = [&](const Waiting &w) { return CallRef{a.layers[w.layer].name, static_cast<int64_t>(w.call)}; };

  std::map<CallRef, std::vector<size_t>> readers;
  std::set<std::pair<size_t, size_t>> ready;  // by round, then by position in the list
  for (size_t i = 0; i < all.size(); ++i) {
    const auto reads = [&](const CallRef &ref) {
      if (made.count(ref)) return;
      readers[ref].push_back(i);
      ++all[i].missing;
    };
    each_ref(a.layers[all[i].layer].calls[all[i].call], [&](const Ref &ref) { reads(ref.of); });
    if (all[i].call > 0) reads({a.layers[all[i].layer].name, static_cast<int64_t>(all[i].call) - 1});
    if (all[i].missing == 0) ready.insert({0, i});
  }
  std::vector<std::pair<size_t, size_t>> order;
  while (!ready.empty()) {
    const auto [round, i] = *ready.begin();
    ready.erase(ready.begin());
    order.emplace_back(all[i].layer, all[i].call);
    const CallRef now = ref_of(all[i]);
    made.insert(now);
    for (size_t reader : readers[now]) {
      Waiting &w = all[reader];
      w.round = std::max(w.round, round + (reader < i ? 1 : 0));
      if (--w.missing == 0) ready.insert({w.round, reader});
    }
  }
  for (const Waiting &w : all)
    if (w.missing > 0)
      fail(Code::corrupt_file, "layer \"", a.layers[w.layer].name, "\": call ", w.call,
           " reads a value that no layer computes");
  return order;
}

Architecture Graph::architecture(const std::vector<Node> &in, const std::vector<Node> &out,
                                 const std::vector<CallId> *calls) const {
  // Calls are renumbered among those kept.
  Table<CallId, int64_t> number(calls_);
  Table<LayerId, std::vector<CallId>> calls_of(layers_);
  for (CallId c : calls ? *calls : calls_.ids()) {
    auto &of_layer = calls_of[calls_[c].layer];
    number[c] = std::ssize(of_layer);
    of_layer.push_back(c);
  }
  const auto ref = [&](Node n) {
    const Origin o = origin(n);
    return Ref{{layer_of(o.call).name, number[o.call]}, o.output};
  };
  const auto refs = [&](const std::vector<Node> &nodes) {
    std::vector<Ref> list;
    for (Node n : nodes) list.push_back(ref(n));
    return list;
  };

  Architecture a;
  for (LayerId id : layers_.ids()) {
    const Layer &l = layers_[id];
    if (calls_of[id].empty() && calls) continue;
    Architecture::Layer &to = a.layers.emplace_back();
    to.name = l.name;
    to.role = l.input ? Architecture::Role::input : l.kind ? Architecture::Role::kind : Architecture::Role::constant;
    if (l.input) to.dtype = l.input->dtype, to.shape = l.input->shape;
    to.constant = l.constant;
    if (!l.kind) continue;
    to.class_name = l.kind->entry().name;
    to.version = l.kind->entry().version;
    to.config = l.kind->config();
    // Some or all weights may have been frozen since.
    for (const auto &w : l.weights)
      if (w->frozen() && !w->spec.frozen)
        to.frozen.push_back(w->spec.name);
      else if (!w->frozen() && w->spec.frozen)
        to.thawed.push_back(w->spec.name);
    to.config["trainable"] = l.is_trainable();
    if (l.mixed_bfloat16) to.config["dtype"] = kinds::mixed_bfloat16;
    if (!l.is_trainable()) to.frozen.clear();
    to.random_seed = l.random_seed;
    for (CallId c : calls_of[id]) {
      const Call &call = calls_[c];
      auto &copy = to.calls.emplace_back(Architecture::Call{refs(call.in), call.arguments.plain, {}});
      for (const auto &[key, nodes] : call.arguments.nodes)
        for (Node n : nodes) copy.values[key].push_back(n == no_node ? std::nullopt : std::optional(ref(n)));
    }
  }
  a.inputs = refs(in);
  a.outputs = refs(out);
  bool ordered = false;
  for (CallId c : calls ? *calls : calls_.ids()) {
    const Layer &l = layer_of(c);
    if (!l.kind) continue;
    a.sequence.push_back({l.name, number[c]});
    ordered |= l.kind->assigns();
    const std::optional<WeightAt> &weight = calls_[c].weight;
    if (!weight || weight->layer == calls_[c].layer) continue;
    ordered = true;
    if (calls_of[weight->layer].empty())
      throw Error(Code::unsupported, text("layer \"", l.name, "\": a file does not hold weight \"",
                                          this->weight(*weight)->name, "\", whose layer is not called"))
          .with("layer", l.name);
  }
  if (!ordered) a.sequence.clear();
  return a;
}

void Graph::set_trainable(LayerId layer, const std::string &name, bool yes) {
  for (const auto &w : layers_[layer].weights)
    if (w->spec.name == name) {
      w->frozen() = !yes;
      return;
    }
  fail(Code::corrupt_file, "layer \"", layers_[layer].name, "\": \"", yes ? "thawed" : "frozen",
       "\" names no weight of it: \"", name, '"');
}

namespace {

// Collects refusals of layers into one error: the first one, and the names of the others.
class Refusals {
 public:
  template <class F>
  void collect(const Architecture::Layer &l, F make) try {
    make();
  } catch (const Error &e) {
    if (e.code != Code::unknown_kind && e.code != Code::unsupported) throw;
    if (!first_)
      first_ = e;
    else if (++others_ <= most)
      names_ += text(names_.empty() ? "" : ", ", '"', l.name, "\" (", l.class_name, ')');
  }
  void raise() {
    if (!first_) return;
    if (others_ > most) names_ += text(" and ", others_ - most, " more");
    if (others_) first_->with("also", names_).message += "; refused too: " + names_;
    throw *first_;
  }

 private:
  static constexpr int64_t most = 20;
  std::optional<Error> first_;
  int64_t others_ = 0;
  std::string names_;
};

}  // namespace

void Graph::merge(const Architecture &a, std::vector<Node> *in, std::vector<Node> *out) {
  Graph g = *this;                            // a copy: all or nothing
  std::map<CallRef, std::vector<Node>> made;  // outputs of calls, in g
  std::vector<LayerId> layers_made;           // in g, by layer of a
  const auto make = [&](const Architecture::Layer &l) {
    layers_made.push_back(g.layers_.next());
    if (l.role == Architecture::Role::operation) return a.translation->need_operation(l);
    if (l.role == Architecture::Role::kind) {
      const kinds::Entry &entry = kinds::find("layer", l.class_name);
      Json config = a.translation ? a.translation->config(l) : l.config;
      g.layer(l.class_name, l.name, kinds::upgraded(entry, std::move(config), l.version ? l.version : entry.version));
      g.layers_.back().random_seed = l.random_seed;
      return;
    }
    made[{l.name, 0}] = {l.role == Architecture::Role::input ? g.input(l.name, l.dtype, l.shape)
                                                             : g.constant(l.name, l.constant)};
  };
  Refusals refusals;
  for (const Architecture::Layer &l : a.layers) refusals.collect(l, [&] { as_layer(l.name, [&] { make(l); }); });
  refusals.raise();

  const auto node = [&](const Ref &ref) {
    const auto it = made.find(ref.of);
    if (it == made.end())
      fail(Code::corrupt_file, "architecture: \"", ref.of.layer, "\" has no call ", ref.of.call,
           ", but another layer reads it");
    const std::vector<Node> &outputs = it->second;
    if (ref.output < 0 || ref.output >= std::ssize(outputs))
      fail(Code::corrupt_file, "call ", ref.of.call, " of \"", ref.of.layer, "\" has no output ", ref.output);
    return outputs[static_cast<size_t>(ref.output)];
  };
  const auto nodes = [&](const std::vector<Ref> &refs) {
    std::vector<Node> list;
    for (const Ref &ref : refs) list.push_back(node(ref));
    return list;
  };
  for (const auto &[layer, call] : order(a)) {
    const Architecture::Layer &l = a.layers[layer];
    const Architecture::Call &what = l.calls[call];
    std::vector<Node> &outputs = made[{l.name, static_cast<int64_t>(call)}];
    if (l.role == Architecture::Role::operation) {
      const std::vector<Node> operands = nodes(what.inputs);
      as_layer(l.name, [&, &number = call] {
        outputs = a.translation->add_operation(g, l, static_cast<int64_t>(number), what.arguments, operands);
      });
      continue;
    }
    Arguments arguments{what.arguments, {}};
    for (const auto &[key, refs] : what.values)
      for (const auto &ref : refs) arguments.nodes[key].push_back(ref ? node(*ref) : no_node);
    outputs = g.call(layers_made[layer], std::move(arguments), nodes(what.inputs));
  }
  for (size_t i = 0; i < a.layers.size(); ++i) {
    for (const std::string &name : a.layers[i].frozen) g.set_trainable(layers_made[i], name, false);
    for (const std::string &name : a.layers[i].thawed) g.set_trainable(layers_made[i], name, true);
  }
  if (in) *in = nodes(a.inputs);
  if (out) *out = nodes(a.outputs);
  *this = std::move(g);
}

}  // namespace dl4::graph
