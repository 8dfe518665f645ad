// Short words for models as cells: graphs, calls with states and constants, what comes of a run.
#pragma once

#include <algorithm>

#include "use.hpp"

namespace dl4_test {

struct Extra {
  std::vector<dl4_node> states{}, constants{}, initial_state{};
};

// A layer's config, and the model that is its cell.
struct Config {
  Config(const char *json) : json(json) {}
  Config(std::string json, const dl4_model *cell = nullptr) : json(std::move(json)), cell(cell) {}
  std::string json;
  const dl4_model *cell = nullptr;
};

inline Own<dl4_refs> refs_of(const Extra &extra, const dl4_model *cell = nullptr) {
  Own<dl4_refs> r;
  ok(dl4_refs_create(r.out()));
  if (cell) ok(dl4_refs_set_model(r, "cell/config/model", cell));
  const std::pair<const char *, const std::vector<dl4_node> &> all[] = {
      {"states", extra.states}, {"constants", extra.constants}, {"initial_state", extra.initial_state}};
  for (const auto &[key, nodes] : all)
    if (!nodes.empty()) ok(dl4_refs_set_nodes(r, key, nodes.data(), static_cast<int64_t>(nodes.size())));
  return r;
}

inline std::vector<dl4_node> put(dl4_graph *g, const char *kind, const char *name, const Config &config,
                                 const std::vector<dl4_node> &in, size_t n_out, const Extra &extra = {}) {
  std::vector<dl4_node> out(n_out, -1);
  ok(dl4_graph_add(g, kind, name, config.json.c_str(), nullptr, refs_of(extra, config.cell), in.data(),
                   static_cast<int64_t>(in.size()), out.data(), static_cast<int64_t>(n_out)));
  return out;
}
inline dl4_node put(dl4_graph *g, const char *kind, const char *name, const Config &config,
                    const std::vector<dl4_node> &in) {
  return put(g, kind, name, config, in, 1)[0];
}

inline Own<dl4_model> build(dl4_graph *g, const std::vector<dl4_node> &in, const std::vector<dl4_node> &out) {
  Own<dl4_model> m;
  ok(dl4_graph_build(g, in.data(), static_cast<int64_t>(in.size()), out.data(), static_cast<int64_t>(out.size()),
                     m.out()));
  return m;
}

template <class T>
Own<dl4_tensor> tensor_of(int32_t dtype, const std::vector<int64_t> &dims, const std::vector<T> &values) {
  Own<dl4_tensor> t;
  ok(dl4_tensor_create(nullptr, dtype, static_cast<int32_t>(dims.size()), dims.data(), t.out()));
  std::copy(values.begin(), values.end(), static_cast<T *>(dl4_tensor_data(t)));
  return t;
}

inline Own<dl4_graph> graph() {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  return g;
}

// The attributes of an RNN whose cell is the model.
inline Config rnn(const dl4_model *m, const std::string &states, const std::string &more = "{}") {
  const std::string cell = R"({"class_name": "GraphCell", "config": {"states": )" + states + "}}";
  const std::string rest = more.substr(1, more.rfind('}') - 1);
  return {"{\"cell\": " + cell + (rest.empty() ? "" : ", ") + rest + "}", m};
}

template <class A, class B>
void expect_near(const A &got, const B &wanted, double allowed, const std::string &what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], allowed) << what << " [" << i << ']';
}

// Gradients agree with differences, for every input and weight.
inline void expect_gradients(const dl4_model *m, const std::vector<dl4_tensor *> &in, size_t places) {
  Own<dl4_blob> b;
  ok(dl4_model_check_gradients(m, in.data(), static_cast<int64_t>(in.size()), nullptr, b.out()));
  const nlohmann::json report = nlohmann::json::parse(dl4_blob_data(b));
  for (const auto &[name, of] : report.items()) {
    const double largest = of.at("largest_gradient"), error = of.at("error");
    EXPECT_GT(largest, 0) << name;
    EXPECT_LT(error, 2e-3 * std::max(largest, 0.1)) << name << ' ' << of.dump();
  }
  EXPECT_EQ(report.size(), places);
}

inline std::vector<std::string> weight_names(const dl4_model *m) {
  std::vector<std::string> list;
  for (int64_t i = 0; i < dl4_port_count(m, DL4_WEIGHTS); ++i) list.emplace_back(dl4_port_name(m, DL4_WEIGHTS, i));
  return list;
}

}  // namespace dl4_test
