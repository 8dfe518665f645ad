// From a case to objects of the library and back.
#include <cmath>

#include "trained.hpp"

namespace golden {

void must(dl4_error *e) {
  if (!e) return;
  Refused refused(dl4_error_code(e), dl4_error_message(e));
  dl4_release(e);
  throw refused;
}

namespace {

std::vector<Array> numbered(const Arrays &role) {
  std::vector<Array> list;
  for (size_t i = 0; i < 64; ++i)
    if (auto it = role.find(std::to_string(i)); it != role.end()) list.push_back(it->second);
  return list;
}

bool finite(const Array &a) {
  for (double v : a.values())
    if (!std::isfinite(v)) return false;
  return true;
}

Array as_kept(const dl4_model *m, const std::string &name, Array value) {
  if (value.shape == std::vector<int64_t>{1}) {
    Own<dl4_tensor> t;
    must(dl4_model_get_weight(m, name.c_str(), t.out()));
    if (dl4_tensor_rank(t) == 0) value.shape.clear();
  }
  return value;
}
}  // namespace

Json describe(const void *object) {
  Own<dl4_blob> blob;
  must(dl4_describe(object, DL4_FORMAT_JSON, blob.out()));
  return Json::parse(dl4_blob_data(blob));
}

Training training(const Case &c) {
  Training t;
  t.options = {{"optimizer", c.fields.value("optimizer", Json("SGD"))}, {"loss", c.fields.at("loss")}};
  for (const char *key : {"loss_weights", "metrics", "exclude_from_weight_decay"})
    if (c.has(key)) t.options[key] = c.fields[key];
  // A golden may be infinite: the guard is for users.
  for (const auto &[name, value] : c.role("loss"))
    if (!finite(value)) t.options["nan_guard"] = "off";
  t.y = numbered(c.role("target"));
  t.w = numbered(c.role("sample_weight"));
  return t;
}

Array as_filed(Array value) {
  if (value.shape.empty()) value.shape = {1};
  return value;
}

Array weight(const dl4_model *m, const std::string &name) {
  Own<dl4_tensor> t;
  must(dl4_model_get_weight(m, name.c_str(), t.out()));
  return as_filed(array(t));
}

Array one(float v) { return floats({1}, {v}); }
Array list(const std::vector<float> &v) { return floats({static_cast<int64_t>(v.size())}, v); }

Own<dl4_context> context(const Json &options) {
  Own<dl4_context> c;
  must(dl4_context_create(options.dump().c_str(), c.out()));
  return c;
}

Own<dl4_tensor> tensor(const Array &a) {
  Own<dl4_tensor> t;
  must(dl4_tensor_create(nullptr, a.dtype, static_cast<int32_t>(a.shape.size()), a.shape.data(), t.out()));
  must(dl4_tensor_copy_in(t, a.bytes.data(), static_cast<int64_t>(a.bytes.size())));
  return t;
}

Array array(const dl4_tensor *t) {
  const int64_t *dims = dl4_tensor_dims(t);
  Array a{dl4_tensor_dtype(t),
          {dims, dims + dl4_tensor_rank(t)},
          std::vector<char>(static_cast<size_t>(dl4_tensor_bytes(t)))};
  must(dl4_tensor_copy_out(t, a.bytes.data(), dl4_tensor_bytes(t)));
  return a;
}

std::vector<Own<dl4_tensor>> tensors(const std::vector<Array> &list) {
  std::vector<Own<dl4_tensor>> made;
  for (const Array &a : list) made.push_back(tensor(a));
  return made;
}

std::vector<dl4_tensor *> pointers(const std::vector<Own<dl4_tensor>> &list) { return {list.begin(), list.end()}; }

Own<dl4_model> begun(dl4_context *c, const Json &architecture) {
  Own<dl4_graph> graph;
  Own<dl4_model> m;
  must(dl4_graph_create(c, graph.out()));
  must(dl4_graph_add_json(graph, architecture.dump().c_str()));
  must(dl4_graph_build(graph, nullptr, 0, nullptr, 0, m.out()));
  return m;
}

Own<dl4_model> build(dl4_context *c, const Json &architecture, const Arrays &weights) {
  Own<dl4_model> m = begun(c, architecture);
  int64_t n = dl4_port_count(m, DL4_WEIGHTS);
  for (int64_t i = 0; i < n; ++i)
    if (!weights.contains(dl4_port_name(m, DL4_WEIGHTS, i)))
      throw Refused(-1, std::string("Keras has no weight ") + dl4_port_name(m, DL4_WEIGHTS, i));
  for (const auto &[name, value] : weights)
    must(dl4_model_set_weight(m, name.c_str(), tensor(as_kept(m, name, value))));
  return m;
}

std::vector<Array> inputs(const Case &c) {
  std::vector<Array> list;
  for (const Json &ref : c.fields["model"]["inputs"])
    list.push_back(c.tensors.at("input/" + ref[0].get<std::string>()));
  return list;
}

Arrays run(dl4_session *s, const std::vector<Array> &inputs, size_t n_out) {
  auto in = tensors(inputs);
  auto in_pointers = pointers(in);
  std::vector<dl4_tensor *> out(n_out);
  must(dl4_session_run(s, in_pointers.data(), static_cast<int64_t>(in.size()), out.data(), static_cast<int64_t>(n_out),
                       nullptr));
  Arrays found;
  for (size_t i = 0; i < n_out; ++i) found["output/" + std::to_string(i)] = array(Own<dl4_tensor>(out[i]));
  return found;
}

Arrays run(const dl4_model *m, const std::vector<Array> &inputs) {
  Own<dl4_session> session;
  must(dl4_session_create(m, nullptr, session.out()));
  return run(session, inputs, static_cast<size_t>(dl4_port_count(m, DL4_OUTPUTS)));
}

Rows as_rows(const Case &c) {
  Rows rows{c.fields["model"], c.role("weight"), {}};
  Json layers = Json::array();
  for (Json &ref : rows.architecture["inputs"]) {
    std::string name = ref[0];
    const Array &x = c.tensors.at("input/" + name);
    if (x.dtype != DL4_FLOAT32) {
      rows.inputs.push_back(x);
      continue;
    }
    int64_t n = x.shape[0], width = x.elements() / n;
    rows.weights[name + "_rows/embeddings"] = Array{DL4_FLOAT32, {n, width}, x.bytes};
    rows.inputs.push_back(ids(n));
    ref[0] = name + "_ids";
  }
  for (Json &layer : rows.architecture["layers"]) {
    std::string name = layer["name"];
    if (layer["class_name"] != "Input" || layer["config"]["dtype"] != "float32") {
      layers.push_back(layer);
      continue;
    }
    const Array &x = c.tensors.at("input/" + name);
    int64_t n = x.shape[0], width = x.elements() / n;
    auto calls = [](const std::string &of) { return Json::array({{{"inputs", Json::array({Json{of, 0, 0}})}}}); };
    layers.push_back({{"class_name", "Input"},
                      {"name", name + "_ids"},
                      {"config", {{"shape", Json::array({nullptr})}, {"dtype", "int32"}}}});
    layers.push_back({{"class_name", "Embedding"},
                      {"name", name + "_rows"},
                      {"calls", calls(name + "_ids")},
                      {"config", {{"input_dim", n}, {"output_dim", width}}}});
    layers.push_back({{"class_name", "Reshape"},
                      {"name", name},
                      {"calls", calls(name + "_rows")},
                      {"config", {{"target_shape", std::vector<int64_t>(x.shape.begin() + 1, x.shape.end())}}}});
  }
  rows.architecture["layers"] = std::move(layers);
  return rows;
}

}  // namespace golden
