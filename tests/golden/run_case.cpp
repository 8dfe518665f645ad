// Runs and trains the model of a case.
#include <cmath>

#include "trained.hpp"

namespace golden {
namespace {

// Stops a fit in an epoch, after a batch of it.
struct Stop {
  int64_t epoch = -1, batch = -1, at = -1;
  static int32_t look(void *user, int32_t event, int64_t step, int64_t, const double *, int64_t) {
    auto &self = *static_cast<Stop *>(user);
    if (event == DL4_EPOCH_BEGIN) self.at = step;
    return event == DL4_BATCH_END && self.at == self.epoch && step == self.batch;
  }
};

void fit(const Case &c, dl4_model *m, Arrays &found) {
  const Json &how = c.fields["fit"];
  Trained t(m, training(c), inputs(c));
  Json data = {{"batch_size", how["batch_size"]}, {"shuffle", how["shuffle"]}}, options = how;
  options.erase("batch_size");
  options.erase("shuffle");
  Own<dl4_blob> history;
  Stop stop;
  if (c.has("stop")) stop = {c.fields["stop"][0], c.fields["stop"][1]};
  must(dl4_trainer_fit(t, t.dataset(data), nullptr, options.dump().c_str(), Stop::look, &stop, nullptr, history.out()));
  Json epochs = Json::parse(dl4_blob_data(history));
  for (auto &[name, values] : epochs.items())
    if (name != "epoch")
      found[(name.find("loss") == std::string::npos ? "metric/" : "loss/") + name] =
          list(values.get<std::vector<float>>());
  for (const auto &[name, value] : t.evaluate(t.dataset(data, false))) found["metric/evaluate_" + name] = one(value);
}

// MatMul is no layer in Keras but an op, which takes its name from a count of its own.
std::string name_in_keras(const Case &c, const std::string &layer) {
  int64_t number = 0;
  for (const Json &other : c.fields["model"]["layers"]) {
    bool op = other["class_name"] == "MatMul";
    if (other["name"] == layer) return !op ? layer : number ? "matmul_" + std::to_string(number) : "matmul";
    number += op;
  }
  return layer;
}

void train(const Case &c, dl4_model *m, dl4_context *context, Arrays &found) {
  Training how = training(c);
  std::vector<Array> x = inputs(c);
  if (c.has("metrics") || !c.role("metric").empty()) {
    Trained t(m, how, x);
    auto values = t.evaluate(t.dataset({{"batch_size", x[0].shape[0]}}));
    for (const auto &[name, value] : values)
      if (name != "loss") found["metric/" + name] = one(value);
    // Keras calls the losses of two outputs of one layer by one name, and logs the last; ours have names of their own.
    const Json &outputs = c.fields["model"]["outputs"];
    for (size_t i = 0; outputs.size() > 1 && i < how.y.size(); ++i)
      found["metric/" + name_in_keras(c, outputs[i][0]) + "_loss"] = one(values.at(t.names()[i + 1]));
  }
  std::vector<float> losses;
  if (!c.role("weight").empty()) {
    auto model = build(context, c.fields["model"], c.role("weight"));  // layers may write weights here already
    Trained t(model, how, x);
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
    std::vector<float> rates;
    for (int i = 0; i < steps; ++i) {
      rates.push_back(t.rate());
      losses.push_back(t.step());
    }
    if (!c.role("rate").empty()) found["rate/steps"] = list(rates);
  }
  found["loss/total"] = list(losses);
}

// The masks of outputs, as further outputs.
void masks(const Case &c, dl4_context *context, Arrays &found) {
  const Json &model = c.fields["model"];
  for (const auto &[number, mask] : c.role("output_mask")) {
    Json with = model;
    with["layers"].push_back({{"class_name", "GetMask"},
                              {"name", "mask of an output"},
                              {"config", Json::object()},
                              {"calls", {{{"inputs", {model["outputs"][std::stoul(number)]}}}}}});
    with["outputs"].push_back({"mask of an output", 0, 0});
    Arrays all = run(build(context, with, c.role("weight")), inputs(c));
    found["output_mask/" + number] = std::move(all.at("output/" + std::to_string(model["outputs"].size())));
  }
}

Array deviation(const Array &a) {
  const std::vector<double> values = a.values();
  double mean = 0, squares = 0;
  for (double v : values) mean += v / static_cast<double>(values.size());
  for (double v : values) squares += (v - mean) * (v - mean) / static_cast<double>(values.size());
  return one(static_cast<float>(std::sqrt(squares)));
}

void net(const Case &c, dl4_context *context, Arrays &found) {
  const Arrays starts = c.role("start");
  if (!starts.empty()) {
    auto m = begun(context, c.fields["model"]);
    for (const auto &[name, value] : starts) found["start/" + name] = deviation(weight(m, name));
    return;
  }
  auto m = build(context, c.fields["model"], c.role("weight"));
  bool fits = c.has("fit");
  if (fits) fit(c, m, found);
  if (!c.role("output").empty()) found.merge(run(m, inputs(c)));
  if (c.has("loss") && !fits) train(c, m, context, found);
  for (const auto &[name, value] : c.role("after")) found["after/" + name] = weight(m, name);
  masks(c, context, found);
}

}  // namespace

Arrays run_case(const Case &c, dl4_context *context) {
  Arrays found;
  if (c.has("model"))
    net(c, context, found);
  else if (c.has("function"))
    function(c, context, found);
  else if (c.has("initializer"))
    initializer(c, context, found);
  else if (c.has("metric"))
    metric(c, context, found);
  else if (c.has("loss"))
    loss_values(c, context, found);
  else
    throw Refused(-1, "a case of no known sort");
  return found;
}

}  // namespace golden
