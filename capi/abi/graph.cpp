// Graphs: layers called on symbolic values.
#include <algorithm>

#include "io/keras/file.hpp"
#include "io/native/safetensors.hpp"
#include "options.hpp"

namespace dl4::capi {
namespace {

// make(attributes, models) makes a layer from a config. From here on the graph's weight lock covers the given models'
// weights too.
template <class F>
auto with_config(dl4_graph &g, const char *config, const dl4_refs *refs, const F &make) {
  Config given = config_of(config, refs);
  std::vector<graph::Given> models;
  for (const GivenModel &one : given.models) models.push_back(one.model);
  auto made = make(std::move(given.attributes), models);
  for (const GivenModel &one : given.models) g.weights->join(one.weights);
  return made;
}

// Writes as many nodes as there is room for.
void give(const std::vector<graph::Node> &nodes, std::span<dl4_node> to) {
  for (size_t i = 0; i < std::min(nodes.size(), to.size()); ++i) to[i] = static_cast<dl4_node>(nodes[i]);
}

void clear_ids(dl4_node *out, int64_t n) noexcept {
  if (out && n <= INT32_MAX)  // not written if its length is refused
    for (int64_t i = 0; i < n; ++i) out[i] = -1;
}

// f(graph, inputs, number of outputs wanted) -> nodes, into `out`; -1 on failure. Written after the call, since `out`
// may be `in`, as in y = layer(y).
template <class F>
dl4_error *call(const char *who, dl4_graph *graph, const dl4_node *in, int64_t n_in, dl4_node *out, int64_t n_out,
                const F &f) {
  dl4_error *failed = guard(who, [&](Entry &entry) {
    dl4_graph &g = object(graph, "graph");
    entry.log_to(g.context->log);
    auto from = nodes_of(array(in, n_in, "in"));
    auto to = array(out, n_out, "out");
    Gate::Alone alone(g.gate, "graph");
    give(f(g, from, to.size()), to);
  });
  if (failed) clear_ids(out, n_out);
  return failed;
}

// make(graph) adds a node or a layer and returns its id; -1 on failure.
template <class F>
dl4_error *add_one(const char *who, dl4_graph *graph, int32_t *out, const F &make) {
  const auto body = [&](Entry &entry) {
    dl4_graph &g = object(graph, "graph");
    entry.log_to(g.context->log);
    Gate::Alone alone(g.gate, "graph");
    return static_cast<int32_t>(make(g));
  };
  return produce(who, out, body, -1);
}

}  // namespace

std::string describe(dl4_graph &g, int32_t format) {
  Gate::Reading reading(g.gate, "graph");
  if (format == DL4_FORMAT_JSON) return dump(graph::to_json(g.core.architecture(g.merged_in, g.merged_out)));
  if (format == DL4_FORMAT_TEXT) return g.core.summary();
  if (format == DL4_FORMAT_DOT) return g.core.dot();
  refuse_format(Tag::graph, format);
}

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_graph_create(dl4_context *context, dl4_graph **out) {
  return produce(__func__, out, [&] { return new dl4_graph(capi::context(context).core); });
}

dl4_error *dl4_graph_add_input(dl4_graph *graph, const char *name, int32_t dtype, int32_t rank, const int64_t *dims,
                               dl4_node *out) {
  return add_one(__func__, graph, out, [&](dl4_graph &g) {
    return g.core.input(string_or_empty(name, "name"), dtype_of(dtype), shape_of(rank, dims, "dims"));
  });
}

dl4_error *dl4_graph_add_constant(dl4_graph *graph, const char *name, dl4_tensor *value, dl4_node *out) {
  return add_one(__func__, graph, out, [&](dl4_graph &g) {
    dl4_tensor &v = object(value, "value");
    g.core.need_room(v.bytes());
    return g.core.constant(string_or_empty(name, "name"), v.as_dense());
  });
}

dl4_error *dl4_graph_add_layer(dl4_graph *graph, const char *kind, const char *name, const char *config,
                               const dl4_refs *refs, dl4_layer *out) {
  return add_one(__func__, graph, out, [&](dl4_graph &g) {
    refuse_nodes(refs);
    return with_config(g, config, refs, [&](Json attributes, const auto &models) {
      return g.core.layer(string(kind, "kind"), string_or_empty(name, "name"), std::move(attributes), models);
    });
  });
}

dl4_error *dl4_graph_add_shared(dl4_graph *graph, dl4_graph *from, dl4_layer layer, const char *name, dl4_layer *out) {
  return add_one(__func__, graph, out, [&](dl4_graph &g) {
    dl4_graph &other = object(from, "from");
    if (&g == &other) refuse_argument("from", "expected another graph, got the same one");
    Gate::Reading reading(other.gate, "from");
    const graph::LayerId shared = g.core.share(other.core, graph::LayerId{layer}, string_or_empty(name, "name"));
    g.weights->join(other.weights);
    return shared;
  });
}

dl4_error *dl4_graph_call(dl4_graph *graph, dl4_layer layer, const char *call, const dl4_refs *refs, const dl4_node *in,
                          int64_t n_in, dl4_node *out, int64_t n_out) {
  return capi::call(__func__, graph, in, n_in, out, n_out, [&](auto &g, const auto &from, size_t asked) {
    refuse_models(refs);
    return g.core.call(graph::LayerId{layer}, call_arguments(call, refs), from, asked);
  });
}

dl4_error *dl4_graph_add(dl4_graph *graph, const char *kind, const char *name, const char *config, const char *call,
                         const dl4_refs *refs, const dl4_node *in, int64_t n_in, dl4_node *out, int64_t n_out) {
  return capi::call(__func__, graph, in, n_in, out, n_out, [&](auto &g, const auto &from, size_t asked) {
    return with_config(g, config, refs, [&](Json attributes, const auto &models) {
      return g.core.add(string(kind, "kind"), string_or_empty(name, "name"), std::move(attributes),
                        call_arguments(call, refs), from, asked, models);
    });
  });
}

dl4_error *dl4_graph_add_json(dl4_graph *graph, const char *json) {
  return guard(__func__, [&](Entry &entry) {
    dl4_graph &g = object(graph, "graph");
    entry.log_to(g.context->log);
    Gate::Alone alone(g.gate, "graph");
    const std::string given = string(json, "json");
    io::Budget budget = io::budget_for(g.core.settings(), static_cast<int64_t>(given.size()));
    Json j = io::parse_object(given, Code::invalid_argument, "json", budget);
    std::vector<graph::Node> in, out;
    try {
      const graph::Architecture architecture = io::read_architecture(j);
      io::take_layers(budget, architecture);
      g.core.merge(architecture, &in, &out);
    } catch (Error &e) {
      if (e.code == Code::corrupt_file) e.code = Code::invalid_argument;  // there is no file
      throw;
    }
    g.merged_in = std::move(in);
    g.merged_out = std::move(out);
  });
}

dl4_error *dl4_node_shape(const dl4_graph *graph, dl4_node node, int64_t *dims, int64_t cap, int32_t *rank) {
  clear(rank);
  return guard(__func__, [&] {
    const dl4_graph &g = object(graph, "graph");
    needed(rank, "rank");
    Gate::Reading reading(g.gate, "graph");
    give_shape(g.core.shape(graph::Node{node}), dims, cap, rank);
  });
}

dl4_error *dl4_node_outputs(const dl4_graph *graph, dl4_node node, dl4_node *out, int64_t cap, int64_t *count) {
  clear_ids(out, cap);
  clear(count);
  return guard(__func__, [&] {
    const dl4_graph &g = object(graph, "graph");
    auto to = array(out, cap, "out");
    int64_t &all = needed(count, "count");
    Gate::Reading reading(g.gate, "graph");
    const auto &outputs = g.core.calls()[g.core.origin(graph::Node{node}).call].out;
    give(outputs, to);
    all = std::ssize(outputs);
  });
}

dl4_error *dl4_node_dtype(const dl4_graph *graph, dl4_node node, int32_t *out) {
  return produce(__func__, out, [&] {
    const dl4_graph &g = object(graph, "graph");
    Gate::Reading reading(g.gate, "graph");
    return static_cast<int32_t>(g.core.dtype(graph::Node{node}));
  });
}

dl4_error *dl4_graph_add_mask(dl4_graph *graph, dl4_node node, dl4_node *out) {
  return add_one(__func__, graph, out, [&](dl4_graph &g) {
    const graph::Node of{node};
    return g.core.masked(of) ? g.core.add("GetMask", "", {}, {}, {of}, 1)[0] : graph::no_node;
  });
}

dl4_error *dl4_graph_add_weight(dl4_graph *graph, const char *weight, dl4_node *out) {
  return capi::call(__func__, graph, nullptr, 0, out, 1, [&](auto &g, const auto &from, size_t asked) {
    return g.core.add("GetWeight", "", {{"weight", string(weight, "weight")}}, {}, from, asked);
  });
}

dl4_error *dl4_graph_add_gradients(dl4_graph *graph, const char *config, const dl4_node *targets, int64_t n_targets,
                                   const dl4_node *output_gradients, const dl4_node *by, int64_t n_by, dl4_node *out,
                                   int64_t n_out) {
  return capi::call(__func__, graph, targets, n_targets, out, n_out, [&](auto &g, auto from, size_t asked) {
    for (graph::Node n : nodes_of(array(by, n_by, "by"))) from.push_back(n);
    Json attributes = json_object(config, "config");
    if (attributes.find("targets")) refuse_argument("config", "\"targets\" is n_targets");
    attributes["targets"] = n_targets;
    graph::Arguments arguments;
    if (output_gradients)
      arguments.nodes["output_gradients"] = nodes_of(array(output_gradients, n_targets, "output_gradients"));
    return g.core.add("Gradients", "", std::move(attributes), arguments, from, asked);
  });
}

dl4_error *dl4_graph_add_assign(dl4_graph *graph, const char *config, dl4_node weight, dl4_node value, dl4_node *out) {
  const dl4_node in[] = {weight, value};
  return capi::call(__func__, graph, in, 2, out, 1, [&](auto &g, const auto &from, size_t asked) {
    return g.core.add("Assign", "", json_object(config, "config"), {}, from, asked);
  });
}

dl4_error *dl4_graph_add_update(dl4_graph *graph, const char *name, const char *config, dl4_node learning_rate,
                                const dl4_node *weights, int64_t n_weights, const dl4_node *gradients,
                                int64_t n_gradients, dl4_node *out) {
  return capi::call(__func__, graph, weights, n_weights, out, 1, [&](auto &g, auto from, size_t asked) {
    if (n_weights != n_gradients)
      refuse_argument("gradients", text("expected ", n_weights, ", one for each weight, got ", n_gradients));
    for (graph::Node node : nodes_of(array(gradients, n_gradients, "gradients"))) from.push_back(node);
    graph::Arguments arguments;
    if (learning_rate != -1) arguments.nodes["learning_rate"] = {graph::Node{learning_rate}};
    return g.core.add("ApplyGradients", string_or_empty(name, "name"), json_object(config, "config"), arguments, from,
                      asked);
  });
}

dl4_error *dl4_graph_add_after(dl4_graph *graph, dl4_node node, const dl4_node *others, int64_t n_others,
                               dl4_node *out) {
  return capi::call(__func__, graph, others, n_others, out, 1, [&](auto &g, auto from, size_t asked) {
    from.insert(from.begin(), graph::Node{node});
    return g.core.add("After", "", {}, {}, from, asked);
  });
}

dl4_error *dl4_graph_build(dl4_graph *graph, const dl4_node *in, int64_t n_in, const dl4_node *out, int64_t n_out,
                           dl4_model **model) {
  clear(model);
  return guard(__func__, [&](Entry &entry) {
    dl4_graph &g = object(graph, "graph");
    entry.log_to(g.context->log);
    dl4_model *&to = needed(model, "model");
    auto from = nodes_of(array(in, n_in, "in")), last = nodes_of(array(out, n_out, "out"));
    Gate::Alone alone(g.gate, "graph");
    if (from.empty() && last.empty()) {
      from = g.merged_in;
      last = g.merged_out;
    }
    Gate::Alone weights(*g.weights, "model");
    // The model keeps a copy of the graph: the user's may be extended on another thread.
    auto now = std::make_shared<const graph::Graph>(g.core);
    auto core = std::make_shared<graph::Model>(std::move(now), std::move(from), std::move(last));
    to = new dl4_model(g.context, std::move(core), g.weights);
  });
}
