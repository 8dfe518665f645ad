// Builds, runs and trains what a case describes.
#include "run_case.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace golden {

void must(dl4_error *e) {
  if (!e) return;
  Refused refused(dl4_error_code(e), dl4_error_message(e));
  dl4_release(e);
  throw refused;
}

namespace {

Json describe(const void *object) {
  Own<dl4_blob> blob;
  must(dl4_describe(object, DL4_FORMAT_JSON, blob.out()));
  return Json::parse(dl4_blob_data(blob));
}

// Targets, sample weights and options of a trainer, as the case has them.
struct Training {
  Json options;
  std::vector<Array> y, w;
};

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

Training training(const Case &c) {
  Training t;
  t.options = {{"optimizer", c.fields.value("optimizer", Json("SGD"))}, {"loss", c.fields.at("loss")}};
  for (const char *key : {"loss_weights", "metrics"})
    if (c.has(key)) t.options[key] = c.fields[key];
  // A golden may be infinite: the guard is for users.
  for (const auto &[name, value] : c.role("loss"))
    if (!finite(value)) t.options["nan_guard"] = "off";
  t.y = numbered(c.role("target"));
  t.w = numbered(c.role("sample_weight"));
  return t;
}

// A trainer with one batch.
class Trained {
 public:
  Trained(dl4_model *m, const Training &t, const std::vector<Array> &x)
      : x_(tensors(x)), y_(tensors(t.y)), w_(tensors(t.w)) {
    must(dl4_trainer_create(m, attrs(t.options), trainer_.out()));
    names_ = describe(trainer_)["metric_names"].get<std::vector<std::string>>();
  }

  operator dl4_trainer *() const { return trainer_; }
  const std::vector<std::string> &names() const { return names_; }
  float step() { return batch(dl4_trainer_step); }
  float accumulate() { return batch(dl4_trainer_accumulate); }

  Own<dl4_dataset> dataset(const Json &options) {
    Own<dl4_dataset> d;
    auto x = pointers(x_), y = pointers(y_), w = pointers(w_);
    must(dl4_dataset_from_tensors(nullptr, x.data(), size(x), y.data(), size(y), w.data(), size(w), attrs(options), d.out()));
    return d;
  }

  std::map<std::string, float> evaluate(dl4_dataset *d) {
    std::vector<double> metrics(names_.size());
    int64_t n = 0;
    must(dl4_trainer_evaluate(trainer_, d, nullptr, metrics.data(), size(metrics), &n));
    if (n != size(names_)) throw Refused(-1, "the number of metrics is not that of metric_names");
    std::map<std::string, float> found;
    for (size_t i = 0; i < names_.size(); ++i) found[names_[i]] = static_cast<float>(metrics[i]);
    return found;
  }

  Array gradient(const std::string &weight) const {
    Own<dl4_tensor> g;
    must(dl4_trainer_gradient(trainer_, weight.c_str(), g.out()));
    return array(g);
  }

 private:
  template <class T>
  static int64_t size(const T &v) {
    return static_cast<int64_t>(v.size());
  }
  template <class F>
  float batch(F call) {
    double loss = 0;
    auto x = pointers(x_), y = pointers(y_), w = pointers(w_);
    must(call(trainer_, x.data(), size(x), y.data(), size(y), w.data(), size(w), &loss, 1, nullptr));
    return static_cast<float>(loss);
  }

  std::vector<Own<dl4_tensor>> x_, y_, w_;
  Own<dl4_trainer> trainer_;
  std::vector<std::string> names_;
};

Array weight(const dl4_model *m, const std::string &name) {
  Own<dl4_tensor> t;
  must(dl4_model_get_weight(m, name.c_str(), t.out()));
  return array(t);
}

Array one(float v) { return floats({1}, {v}); }
Array list(const std::vector<float> &v) { return floats({static_cast<int64_t>(v.size())}, v); }

void fit(const Case &c, dl4_model *m, Arrays &found) {
  const Json &how = c.fields["fit"];
  Trained t(m, training(c), inputs(c));
  Json data = {{"batch_size", how["batch_size"]}, {"shuffle", how["shuffle"]}}, options = how;
  options.erase("batch_size");
  options.erase("shuffle");
  Own<dl4_blob> history;
  must(dl4_trainer_fit(t, t.dataset(data), nullptr, attrs(options), nullptr, nullptr, nullptr, history.out()));
  Json epochs = Json::parse(dl4_blob_data(history));
  for (auto &[name, values] : epochs.items())
    if (name != "epoch") found[(name.find("loss") == std::string::npos ? "metric/" : "loss/") + name] =
        list(values.get<std::vector<float>>());
  for (const auto &[name, value] : t.evaluate(t.dataset(data))) found["metric/evaluate_" + name] = one(value);
}

void train(const Case &c, dl4_model *m, dl4_context *context, Arrays &found) {
  Training how = training(c);
  std::vector<Array> x = inputs(c);
  if (c.has("metrics") || !c.role("metric").empty()) {
    Trained t(m, how, x);
    auto names = t.names();
    for (const auto &[name, value] : t.evaluate(t.dataset({{"batch_size", x[0].shape[0]}})))
      if (name != "loss") found["metric/" + name] = one(value);
  }
  std::vector<float> losses;
  if (!c.role("weight").empty()) {
    Trained t(m, how, x);
    losses.push_back(t.accumulate());
    for (const auto &[name, value] : c.role("grad")) found["grad/" + name] = t.gradient(name);
  }
  if (!c.role("input_grad").empty() || losses.empty()) {
    Rows rows = as_rows(c);
    auto model = build(context, rows.architecture, rows.weights);
    Trained t(model, how, rows.inputs);
    float loss = t.accumulate();
    if (losses.empty()) losses.push_back(loss);
    for (const auto &[name, value] : c.role("input_grad")) {
      Array g = t.gradient(name + "_rows/embeddings");
      g.shape = c.tensors.at("input/" + name).shape;
      found["input_grad/" + name] = std::move(g);
    }
  }
  if (int steps = c.fields.value("steps", 0)) {
    Trained t(m, how, x);
    losses.clear();
    for (int i = 0; i < steps; ++i) losses.push_back(t.step());
  }
  found["loss/total"] = list(losses);
}

// The mask of an output, by what it does to a loss: with targets one away and the weight 2^i on place i, the sum of
// absolute errors has the bit i where the mask is true.
void masks(const Case &c, dl4_context *context, const Arrays &outputs, Arrays &found) {
  for (const auto &[number, mask] : c.role("output_mask")) {
    Rows rows = as_rows(c);
    auto model = build(context, rows.architecture, rows.weights);
    const Array &y = outputs.at("output/" + number);
    std::vector<float> away;
    for (double v : y.values()) away.push_back(static_cast<float>(v) + 1);
    Json losses = Json::array();
    for (int64_t i = 0; i < dl4_model_io_count(model, DL4_OUTPUTS); ++i)
      losses.push_back(std::to_string(i) != number ? Json()
                                                   : Json{{"class_name", "MeanAbsoluteError"}, {"config", {{"reduction", "sum"}}}});
    Array got{DL4_BOOL, mask.shape, std::vector<char>(mask.bytes.size())};
    constexpr int64_t group = 16;
    for (int64_t first = 0; first < mask.elements(); first += group) {
      std::vector<float> w(mask.bytes.size(), 0);
      int64_t last = std::min(first + group, mask.elements());
      for (int64_t i = first; i < last; ++i) w[static_cast<size_t>(i)] = static_cast<float>(1 << (i - first));
      Training how{{{"optimizer", "SGD"}, {"loss", losses}}, {floats(y.shape, away)}, {floats(mask.shape, w)}};
      Trained t(model, how, rows.inputs);
      auto bits = std::lround(t.evaluate(t.dataset({{"batch_size", y.shape[0]}}))["loss"]);
      for (int64_t i = first; i < last; ++i) got.bytes[static_cast<size_t>(i)] = (bits >> (i - first)) & 1;
    }
    found["output_mask/" + number] = std::move(got);
  }
}

void net(const Case &c, dl4_context *context, Arrays &found) {
  auto m = build(context, c.fields["model"], c.role("weight"));
  bool fits = c.has("fit");
  if (fits) fit(c, m, found);
  if (!c.role("output").empty()) found.merge(run(m, inputs(c)));
  if (c.has("loss") && !fits) train(c, m, context, found);
  for (const auto &[name, value] : c.role("after")) found["after/" + name] = weight(m, name);
  masks(c, context, found, found);
}

void function(const Case &c, dl4_context *context, Arrays &found) {
  Case as_layer = c;
  const Array &x = c.tensors.at("input/x");
  Json shape = x.shape;
  // Only a function along the first axis needs to know the batch.
  if (c.fields["arguments"].value("axis", -1) != 0) shape[0] = nullptr;
  Json activation = {{"class_name", c.fields["function"]}, {"config", c.fields["arguments"]}};
  Json input = {"x", 0, 0}, output = {"f", 0, 0};
  Json layers = {{{"kind", "Input"}, {"name", "x"}, {"attributes", {{"shape", shape}, {"dtype", "float32"}}}},
                 {{"kind", "Activation"},
                  {"name", "f"},
                  {"attributes", {{"activation", activation}}},
                  {"calls", Json::array({{{"inputs", Json::array({input})}}})}}};
  Json architecture = {{"format", 1}, {"name", "model"}, {"layers", layers}, {"inputs", Json::array({input})},
                       {"outputs", Json::array({output})}};
  found = run(build(context, architecture, {}), {x});
}

// A net whose output is its input "prediction", as rows of an embedding.
Rows prediction(const Array &p) {
  Case c;
  Json shape = p.shape, x = {"prediction", 0, 0};
  shape[0] = nullptr;
  c.fields["model"] = {
      {"format", 1}, {"name", "model"},
      {"layers", Json::array({{{"kind", "Input"}, {"name", "prediction"}, {"attributes", {{"shape", shape}, {"dtype", "float32"}}}}})},
      {"inputs", Json::array({x})}, {"outputs", Json::array({x})}};
  c.tensors["input/prediction"] = p;
  return as_rows(c);
}

// Evaluates with `options` on rows of predictions; the named metric.
float measure(dl4_context *context, const Array &p, Training how, const std::string &name, int64_t batch) {
  Rows rows = prediction(p);
  auto m = build(context, rows.architecture, rows.weights);
  Trained t(m, how, rows.inputs);
  std::string wanted = name.empty() ? t.names().back() : name;
  return t.evaluate(t.dataset({{"batch_size", batch}}))[wanted];
}

// A trainer's metrics take no weights: a weighted value is put together of those of single places.
void metric(const Case &c, dl4_context *context, Arrays &found) {
  Array p = c.tensors.at("input/prediction"), y = c.tensors.at("target/0");
  std::vector<int64_t> batches = c.fields.value("batches", std::vector<int64_t>{p.shape[0]});
  Training how{{{"optimizer", "SGD"}, {"loss", "MeanSquaredError"}, {"metrics", Json::array({c.fields["metric"]})}}, {y}, {}};
  std::string kind = c.fields["metric"]["class_name"];
  how.options["loss"] = kind.find("Sparse") == 0 ? "SparseCategoricalCrossentropy" : "MeanSquaredError";
  std::vector<double> weights;
  int64_t steps = 1;
  if (auto it = c.tensors.find("sample_weight/0"); it != c.tensors.end()) {
    weights = it->second.values();
    steps = it->second.shape.size() == 2 ? it->second.shape[1] : 1;
  }
  auto flat = [&](Array a) {
    if (steps > 1) {
      a.shape[0] *= steps;
      a.shape.erase(a.shape.begin() + 1);
    }
    return a;
  };
  std::vector<float> values;
  double total = 0, count = 0;
  for (int64_t from = 0, i = 0; i < static_cast<int64_t>(batches.size()); ++i) {
    int64_t to = from + batches[static_cast<size_t>(i)];
    if (weights.empty()) {
      how.y = {y.rows(0, to)};
      values.push_back(measure(context, p.rows(0, to), how, "", batches[0]));
    } else {
      for (int64_t k = from * steps; k < to * steps; ++k) {
        how.y = {flat(y).rows(k, k + 1)};
        double w = weights[static_cast<size_t>(k)];
        total += w * static_cast<double>(measure(context, flat(p).rows(k, k + 1), how, "", 1));
        count += w;
      }
      values.push_back(static_cast<float>(total / count));
    }
    from = to;
  }
  found["metric/value"] = list(values);
}

// Values per sample: a sum with the weight on one place.
void loss_values(const Case &c, dl4_context *context, Arrays &found) {
  const Array &p = c.tensors.at("input/prediction"), &shape = c.tensors.at("loss/values");
  Json loss = c.fields["loss"];
  loss["config"]["reduction"] = "sum";
  auto weights = c.tensors.at("sample_weight/0").values();
  std::vector<float> values, weighted;
  for (size_t i = 0; i < weights.size(); ++i)
    for (bool with : {false, true}) {
      std::vector<float> w(weights.size(), 0);
      w[i] = with ? static_cast<float>(weights[i]) : 1;
      Training how{{{"optimizer", "SGD"}, {"loss", loss}}, {c.tensors.at("target/0")}, {floats(shape.shape, w)}};
      (with ? weighted : values).push_back(measure(context, p, how, "loss", p.shape[0]));
    }
  found["loss/values"] = floats(shape.shape, values);
  found["loss/weighted_values"] = floats(shape.shape, weighted);
}

// A weight of the initializer's shape: a vector is a bias, a matrix a Dense kernel, else the kernel of a convolution.
void initializer(const Case &c, dl4_context *context, Arrays &found) {
  std::vector<int64_t> shape = c.fields["shape"];
  const Json &how = c.fields["initializer"];
  size_t rank = shape.size();
  std::string kind = rank <= 2 ? "Dense" : rank == 3 ? "Conv1D" : "Conv2D", weight_name = "w/kernel";
  Json attributes, input = Json::array({nullptr});
  if (rank == 1) {
    attributes = {{"units", shape[0]}, {"bias_initializer", how}};
    weight_name = "w/bias";
    input.push_back(1);
  } else {
    attributes = {{rank == 2 ? "units" : "filters", shape.back()}, {"kernel_initializer", how}};
    if (rank > 2) attributes["kernel_size"] = std::vector<int64_t>(shape.begin(), shape.end() - 2);
    for (size_t i = 0; i + 2 < rank; ++i) input.push_back(16);
    input.push_back(shape[rank - 2]);
  }
  Json x = {"x", 0, 0}, y = {"w", 0, 0};
  Json layers = {{{"kind", "Input"}, {"name", "x"}, {"attributes", {{"shape", input}, {"dtype", "float32"}}}},
                 {{"kind", kind}, {"name", "w"}, {"attributes", attributes}, {"calls", Json::array({{{"inputs", Json::array({x})}}})}}};
  Own<dl4_graph> graph;
  Own<dl4_model> m;
  must(dl4_graph_create(context, graph.out()));
  must(dl4_graph_merge_json(graph, Json({{"format", 1}, {"name", "model"}, {"layers", layers}, {"inputs", Json::array({x})},
                                         {"outputs", Json::array({y})}}).dump().c_str()));
  must(dl4_graph_build(graph, nullptr, 0, nullptr, 0, m.out()));
  found["weight/value"] = weight(m, weight_name);
}

}  // namespace

Own<dl4_context> context(const Json &options) {
  Own<dl4_context> c;
  must(dl4_context_create(attrs(options), c.out()));
  return c;
}

Own<dl4_attrs> attrs(const Json &values) {
  Own<dl4_attrs> a;
  must(dl4_attrs_create(a.out()));
  must(dl4_attrs_merge_json(a, values.dump().c_str()));
  return a;
}

Own<dl4_tensor> tensor(const Array &a) {
  Own<dl4_tensor> t;
  must(dl4_tensor_create(nullptr, a.dtype, static_cast<int32_t>(a.shape.size()), a.shape.data(), t.out()));
  must(dl4_tensor_copy_in(t, a.bytes.data(), static_cast<int64_t>(a.bytes.size())));
  return t;
}

Array array(const dl4_tensor *t) {
  const int64_t *dims = dl4_tensor_dims(t);
  Array a{dl4_tensor_dtype(t), {dims, dims + dl4_tensor_rank(t)}, std::vector<char>(static_cast<size_t>(dl4_tensor_bytes(t)))};
  must(dl4_tensor_copy_out(t, a.bytes.data(), dl4_tensor_bytes(t)));
  return a;
}

std::vector<Own<dl4_tensor>> tensors(const std::vector<Array> &list) {
  std::vector<Own<dl4_tensor>> made;
  for (const Array &a : list) made.push_back(tensor(a));
  return made;
}

std::vector<dl4_tensor *> pointers(const std::vector<Own<dl4_tensor>> &list) { return {list.begin(), list.end()}; }

Own<dl4_model> build(dl4_context *c, const Json &architecture, const Arrays &weights) {
  Own<dl4_graph> graph;
  Own<dl4_model> m;
  must(dl4_graph_create(c, graph.out()));
  must(dl4_graph_merge_json(graph, architecture.dump().c_str()));
  must(dl4_graph_build(graph, nullptr, 0, nullptr, 0, m.out()));
  int64_t n = dl4_model_weight_count(m);
  for (int64_t i = 0; i < n; ++i)
    if (!weights.contains(dl4_model_weight_name(m, i)))
      throw Refused(-1, std::string("Keras has no weight ") + dl4_model_weight_name(m, i));
  for (const auto &[name, value] : weights) must(dl4_model_set_weight(m, name.c_str(), tensor(value)));
  return m;
}

std::vector<Array> inputs(const Case &c) {
  std::vector<Array> list;
  for (const Json &ref : c.fields["model"]["inputs"]) list.push_back(c.tensors.at("input/" + ref[0].get<std::string>()));
  return list;
}

Arrays run(const dl4_model *m, const std::vector<Array> &inputs) {
  Own<dl4_session> session;
  must(dl4_session_create(m, nullptr, session.out()));
  auto in = tensors(inputs);
  auto in_pointers = pointers(in);
  std::vector<dl4_tensor *> out(static_cast<size_t>(dl4_model_io_count(m, DL4_OUTPUTS)));
  must(dl4_session_run(session, in_pointers.data(), static_cast<int64_t>(in.size()), out.data(),
                       static_cast<int64_t>(out.size()), nullptr));
  Arrays found;
  for (size_t i = 0; i < out.size(); ++i) found["output/" + std::to_string(i)] = array(Own<dl4_tensor>(out[i]));
  return found;
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
    if (layer["kind"] != "Input" || layer["attributes"]["dtype"] != "float32") {
      layers.push_back(layer);
      continue;
    }
    const Array &x = c.tensors.at("input/" + name);
    int64_t n = x.shape[0], width = x.elements() / n;
    auto calls = [](const std::string &of) {
      return Json::array({{{"inputs", Json::array({Json{of, 0, 0}})}}});
    };
    layers.push_back({{"kind", "Input"}, {"name", name + "_ids"}, {"attributes", {{"shape", Json::array({nullptr})}, {"dtype", "int32"}}}});
    layers.push_back({{"kind", "Embedding"}, {"name", name + "_rows"}, {"calls", calls(name + "_ids")},
                      {"attributes", {{"input_dim", n}, {"output_dim", width}}}});
    layers.push_back({{"kind", "Reshape"}, {"name", name}, {"calls", calls(name + "_rows")},
                      {"attributes", {{"target_shape", std::vector<int64_t>(x.shape.begin() + 1, x.shape.end())}}}});
  }
  rows.architecture["layers"] = std::move(layers);
  return rows;
}

Arrays run_case(const Case &c, dl4_context *context) {
  Arrays found;
  if (c.has("model")) net(c, context, found);
  else if (c.has("function")) function(c, context, found);
  else if (c.has("initializer")) initializer(c, context, found);
  else if (c.has("metric")) metric(c, context, found);
  else if (c.has("loss")) loss_values(c, context, found);
  else throw Refused(-1, "a case of no known sort");
  return found;
}

}  // namespace golden
