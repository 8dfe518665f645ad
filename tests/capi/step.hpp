// Graphs that differentiate and assign, in short words.
#pragma once

#include <initializer_list>

#include "net.hpp"

namespace dl4_test {

using Nodes = std::vector<dl4_node>;

struct Step {
  Own<dl4_graph> g;

  explicit Step(dl4_context *c = nullptr) { ok(dl4_graph_create(c, g.out())); }

  dl4_node in(const char *name, const std::vector<int64_t> &dims, int32_t dtype = DL4_FLOAT32) {
    return input(g, name, dims, dtype);
  }
  dl4_node constant(const std::vector<int64_t> &dims, const std::vector<float> &values) {
    dl4_node n = -1;
    ok(dl4_graph_add_constant(g, nullptr, tensor(dims, values), &n));
    return n;
  }
  dl4_node call(const char *kind, const std::string &json, const Nodes &from, const char *name = nullptr,
                const std::string &arguments = "{}") {
    dl4_node n = -1;
    ok(dl4_graph_add(g, kind, name, json.c_str(), arguments.c_str(), nullptr, from.data(),
                     static_cast<int64_t>(from.size()), &n, 1));
    return n;
  }
  // The model as a layer of that name, once more.
  dl4_node model(const dl4_model *m, const char *name, dl4_node x, dl4_layer *layer = nullptr) {
    dl4_layer made = -1;
    ok(dl4_graph_add_layer(g, "Functional", name, nullptr, refs("model", m), &made));
    if (layer) *layer = made;
    return again(made, x);
  }
  dl4_node again(dl4_layer layer, dl4_node x, const std::string &arguments = "{}") {
    dl4_node n = -1;
    ok(dl4_graph_call(g, layer, arguments.c_str(), nullptr, &x, 1, &n, 1));
    return n;
  }
  dl4_node weight(const std::string &name) {
    dl4_node n = -1;
    ok(dl4_graph_add_weight(g, name.c_str(), &n));
    return n;
  }
  // Of a model that is a layer.
  Nodes weights(const dl4_model *m, const std::string &layer, bool trained = true) {
    Nodes all;
    for (int64_t i = 0; i < dl4_port_count(m, DL4_WEIGHTS); ++i)
      if (!trained || trainable(m, i)) all.push_back(weight(layer + '/' + dl4_port_name(m, DL4_WEIGHTS, i)));
    return all;
  }
  Nodes gradients(const Nodes &targets, const Nodes &by, const std::string &json = "{}") {
    Nodes found(by.size(), -1);
    const auto n = static_cast<int64_t>(by.size());
    ok(dl4_graph_add_gradients(g, json.c_str(), targets.data(), static_cast<int64_t>(targets.size()), nullptr,
                               by.data(), n, found.data(), n));
    return found;
  }
  dl4_node assign(dl4_node to, dl4_node value, const std::string &json = "{}") {
    dl4_node n = -1;
    ok(dl4_graph_add_assign(g, json.c_str(), to, value, &n));
    return n;
  }
  dl4_node update(const char *name, const std::string &json, const Nodes &weights, const Nodes &gradients) {
    dl4_node n = -1;
    ok(dl4_graph_add_update(g, name, json.c_str(), -1, weights.data(), static_cast<int64_t>(weights.size()),
                            gradients.data(), static_cast<int64_t>(gradients.size()), &n));
    return n;
  }
  dl4_node after(dl4_node node, const Nodes &others) {
    dl4_node n = -1;
    ok(dl4_graph_add_after(g, node, others.data(), static_cast<int64_t>(others.size()), &n));
    return n;
  }
  Own<dl4_model> build(const Nodes &from, const Nodes &to) {
    Own<dl4_model> m;
    ok(dl4_graph_build(g, from.data(), static_cast<int64_t>(from.size()), to.data(), static_cast<int64_t>(to.size()),
                       m.out()));
    return m;
  }
};

// A session and its runs, which give all outputs.
struct Runs {
  Own<dl4_session> s;

  explicit Runs(const dl4_model *m, const std::string &options = "{}") {
    ok(dl4_session_create(m, options.c_str(), s.out()));
  }
  std::vector<std::vector<float>> operator()(const std::vector<dl4_tensor *> &in) {
    std::vector<dl4_tensor *> out(static_cast<size_t>(dl4_port_count(s, DL4_OUTPUTS)), nullptr);
    ok(dl4_session_run(s, in.data(), static_cast<int64_t>(in.size()), out.data(), static_cast<int64_t>(out.size()),
                       nullptr));
    std::vector<std::vector<float>> values;
    for (dl4_tensor *t : out) {
      values.push_back(t && dl4_tensor_dtype(t) == DL4_FLOAT32 ? floats(t) : std::vector<float>());
      dl4_release(t);
    }
    return values;
  }
};

inline std::vector<float> weight_of(const dl4_model *m, const std::string &name) {
  Own<dl4_tensor> t;
  ok(dl4_model_get_weight(m, name.c_str(), t.out()));
  return t ? floats(t) : std::vector<float>();
}

inline void expect_near(const std::vector<float> &got, const std::vector<float> &expected, float tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
}

}  // namespace dl4_test
