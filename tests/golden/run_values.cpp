// Cases without a model of their own: functions, metrics, losses and initializers, each put into the smallest net.
#include "trained.hpp"

namespace golden {
namespace {

// A net whose output is its input "prediction", as rows of an embedding.
Rows prediction(const Array &p) {
  Case c;
  Json shape = p.shape, x = {"prediction", 0, 0};
  shape[0] = nullptr;
  c.fields["model"] = {
      {"format", 1},
      {"name", "model"},
      {"layers",
       Json::array(
           {{{"class_name", "Input"}, {"name", "prediction"}, {"config", {{"shape", shape}, {"dtype", "float32"}}}}})},
      {"inputs", Json::array({x})},
      {"outputs", Json::array({x})}};
  c.tensors["input/prediction"] = p;
  return as_rows(c);
}

// Evaluates with `options` on rows of predictions: all metrics by name, and the order of the names.
struct Measured {
  std::vector<std::string> names;
  std::map<std::string, float> values;
};
Measured measure(dl4_context *context, const Array &p, const Training &how, int64_t batch) {
  Rows rows = prediction(p);
  auto m = build(context, rows.architecture, rows.weights);
  Trained t(m, how, rows.inputs);
  return {t.names(), t.evaluate(t.dataset({{"batch_size", batch}}))};
}

}  // namespace

void function(const Case &c, dl4_context *context, Arrays &found) {
  Case as_layer = c;
  const Array &x = c.tensors.at("input/x");
  Json shape = x.shape;
  // Only a function along the first axis needs to know the batch.
  if (c.fields["arguments"].value("axis", -1) != 0) shape[0] = nullptr;
  Json activation = {{"class_name", c.fields["function"]}, {"config", c.fields["arguments"]}};
  Json input = {"x", 0, 0}, output = {"f", 0, 0};
  Json layers = {{{"class_name", "Input"}, {"name", "x"}, {"config", {{"shape", shape}, {"dtype", "float32"}}}},
                 {{"class_name", "Activation"},
                  {"name", "f"},
                  {"config", {{"activation", activation}}},
                  {"calls", Json::array({{{"inputs", Json::array({input})}}})}}};
  Json architecture = {{"format", 1},
                       {"name", "model"},
                       {"layers", layers},
                       {"inputs", Json::array({input})},
                       {"outputs", Json::array({output})}};
  found = run(build(context, architecture, {}), {x});
}

// All numbers of the metric over the first batch, the first two, ...: with weights it is one of the weighted metrics.
void metric(const Case &c, dl4_context *context, Arrays &found) {
  const Array &p = c.tensors.at("input/prediction"), &y = c.tensors.at("target/0");
  auto w = c.tensors.find("sample_weight/0");
  const bool weighted = w != c.tensors.end();
  const bool labels = p.shape.back() != 1 && (y.shape.size() < p.shape.size() || y.shape.back() == 1);
  Training how{{{"optimizer", "SGD"},
                {"loss", labels ? "SparseCategoricalCrossentropy" : "MeanSquaredError"},
                {weighted ? "weighted_metrics" : "metrics", Json::array({c.fields["metric"]})}},
               {},
               {}};
  std::vector<float> values;
  const auto batches = c.fields.value("batches", std::vector<int64_t>{p.shape[0]});
  int64_t to = 0;
  for (int64_t size : batches) {
    to += size;
    how.y = {y.rows(0, to)};
    if (weighted) how.w = {w->second.rows(0, to)};
    const Measured m = measure(context, p.rows(0, to), how, batches[0]);
    for (size_t i = 1; i < m.names.size(); ++i) values.push_back(m.values.at(m.names[i]));
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
      (with ? weighted : values).push_back(measure(context, p, how, p.shape[0]).values.at("loss"));
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
  Json layers = {{{"class_name", "Input"}, {"name", "x"}, {"config", {{"shape", input}, {"dtype", "float32"}}}},
                 {{"class_name", kind},
                  {"name", "w"},
                  {"config", attributes},
                  {"calls", Json::array({{{"inputs", Json::array({x})}}})}}};
  Own<dl4_graph> graph;
  Own<dl4_model> m;
  must(dl4_graph_create(context, graph.out()));
  must(dl4_graph_add_json(graph, Json({{"format", 1},
                                       {"name", "model"},
                                       {"layers", layers},
                                       {"inputs", Json::array({x})},
                                       {"outputs", Json::array({y})}})
                                     .dump()
                                     .c_str()));
  must(dl4_graph_build(graph, nullptr, 0, nullptr, 0, m.out()));
  found["weight/value"] = weight(m, weight_name);
}

}  // namespace golden
