// Short words for the border's tests: what must succeed, owned handles, a small net.
#pragma once

#include <dl4/dl4.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/sanitized.hpp"

namespace dl4_test {

// What must succeed.
inline void ok(dl4_error *e) {
  EXPECT_EQ(e, nullptr) << dl4_error_message(e);
  dl4_release(e);
}

// How often to try: `full` when the environment has DL4_FULL_TESTS, as for the tests capi/full/...
inline int times(int few, int full) { return std::getenv("DL4_FULL_TESTS") ? full : few; }

// The code of a refusal, and its message.
struct Refusal {
  int32_t code = 0;
  std::string message, detail;
};
inline Refusal refusal(dl4_error *e) {
  Refusal r{dl4_error_code(e), dl4_error_message(e), dl4_error_detail(e)};
  dl4_release(e);
  return r;
}

template <class T>
class Own {
 public:
  Own() = default;
  Own(T *p) : p_(p) {}
  Own(Own &&o) noexcept : p_(o.p_) { o.p_ = nullptr; }
  Own &operator=(Own &&o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Own() { dl4_release(p_); }
  operator T *() const { return p_; }
  T *get() const { return p_; }
  T **out() {
    dl4_release(p_);
    p_ = nullptr;
    return &p_;
  }

 private:
  T *p_ = nullptr;
};

inline std::vector<std::string> metrics_of(const dl4_trainer *t) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < dl4_port_count(t, DL4_METRICS); ++i) names.emplace_back(dl4_port_name(t, DL4_METRICS, i));
  return names;
}

// Is the i-th weight trained?
inline bool trainable(const dl4_model *m, int64_t i) {
  int32_t yes = -1;
  ok(dl4_model_get_trainable(m, dl4_port_name(m, DL4_WEIGHTS, i), &yes));
  return yes == 1;
}

// A model for a config, or nodes for a call.
inline Own<dl4_refs> refs(const char *key, const dl4_model *m) {
  Own<dl4_refs> r;
  ok(dl4_refs_create(r.out()));
  ok(dl4_refs_set_model(r, key, m));
  return r;
}
inline Own<dl4_refs> refs(const char *key, const std::vector<dl4_node> &nodes) {
  Own<dl4_refs> r;
  ok(dl4_refs_create(r.out()));
  ok(dl4_refs_set_nodes(r, key, nodes.data(), static_cast<int64_t>(nodes.size())));
  return r;
}

// A model of a copy of a file's bytes.
inline dl4_error *load_copy(dl4_context *c, const void *data, int64_t bytes, const char *options, dl4_model **out) {
  Own<dl4_tensor> file;
  ok(dl4_tensor_create(nullptr, DL4_UINT8, 1, &bytes, file.out()));
  ok(dl4_tensor_copy_in(file, data, bytes));
  return dl4_model_load_bytes(c, file, options, out);
}

// The names of a category's kinds.
inline std::vector<std::string> kinds_of(const char *category) {
  Own<dl4_blob> b;
  ok(dl4_registry_json(category, nullptr, b.out()));
  const nlohmann::json all = nlohmann::json::parse(dl4_blob_data(b));
  std::vector<std::string> names;
  for (const auto &[name, kind] : all.at(category).items()) names.push_back(name);
  return names;
}

// Those of the kernels that the build has, as JSON: a build with our own kernels alone knows no others.
inline std::string of_build(std::vector<std::string> kernels) {
  Own<dl4_blob> b;
  ok(dl4_build_info(b.out()));
  const nlohmann::json has = nlohmann::json::parse(dl4_blob_data(b)).at("kernels");
  std::erase_if(kernels, [&](const std::string &k) { return std::find(has.begin(), has.end(), k) == has.end(); });
  return nlohmann::json(kernels).dump();
}

inline Own<dl4_tensor> tensor(const std::vector<int64_t> &dims, const std::vector<float> &values = {},
                              int32_t dtype = DL4_FLOAT32) {
  Own<dl4_tensor> t;
  ok(dl4_tensor_create(nullptr, dtype, static_cast<int32_t>(dims.size()), dims.data(), t.out()));
  if (!values.empty()) ok(dl4_tensor_copy_in(t, values.data(), static_cast<int64_t>(values.size() * sizeof(float))));
  return t;
}

inline std::vector<float> floats(const dl4_tensor *t) {
  std::vector<float> v(static_cast<size_t>(dl4_tensor_bytes(t)) / sizeof(float));
  ok(dl4_tensor_copy_out(t, v.data(), dl4_tensor_bytes(t)));
  return v;
}

// Numbers in [-1, 1] that are the same everywhere.
inline std::vector<float> numbers(size_t n) {
  std::vector<float> v(n);
  uint32_t state = 12345;
  for (float &x : v) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  }
  return v;
}

inline dl4_node input(dl4_graph *g, const char *name, const std::vector<int64_t> &dims, int32_t dtype = DL4_FLOAT32) {
  dl4_node n = -1;
  ok(dl4_graph_add_input(g, name, dtype, static_cast<int32_t>(dims.size()), dims.data(), &n));
  return n;
}

inline dl4_node add(dl4_graph *g, const char *kind, const char *name, const std::string &json, dl4_node in) {
  dl4_node n = -1;
  ok(dl4_graph_add(g, kind, name, json.c_str(), nullptr, nullptr, &in, 1, &n, 1));
  return n;
}

// x [B, 4] -> Dense "hidden" -> Dense "answer" [B, 3].
inline Own<dl4_model> small_net(dl4_context *c = nullptr, const std::string &last = "softmax") {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(c, g.out()));
  dl4_node x = input(g, "x", {-1, 4});
  dl4_node h = add(g, "Dense", "hidden", R"({"units": 8, "activation": "tanh"})", x);
  dl4_node y = add(g, "Dense", "answer", R"({"units": 3, "activation": ")" + last + "\"}", h);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

// The first outputs of a model on these inputs.
inline std::vector<std::vector<float>> run(const dl4_model *m, const std::vector<dl4_tensor *> &in, size_t n_out = 1,
                                           const std::string &options = "{}") {
  Own<dl4_session> s;
  ok(dl4_session_create(m, options.c_str(), s.out()));
  std::vector<dl4_tensor *> out(n_out, nullptr);
  ok(dl4_session_run(s, in.data(), static_cast<int64_t>(in.size()), out.data(), static_cast<int64_t>(n_out), nullptr));
  std::vector<std::vector<float>> values;
  for (dl4_tensor *t : out) {
    values.push_back(t ? floats(t) : std::vector<float>());
    dl4_release(t);
  }
  return values;
}

inline Own<dl4_dataset> dataset(dl4_tensor *x, dl4_tensor *y, const std::string &options = "{}") {
  Own<dl4_dataset> d;
  ok(dl4_dataset_from_tensors(nullptr, &x, 1, &y, 1, nullptr, 0, options.c_str(), d.out()));
  return d;
}

inline Own<dl4_trainer> trainer(dl4_model *m,
                                const std::string &options = R"({"optimizer": "SGD", "loss": "MeanSquaredError"})") {
  Own<dl4_trainer> t;
  ok(dl4_trainer_create(m, options.c_str(), t.out()));
  return t;
}

}  // namespace dl4_test
