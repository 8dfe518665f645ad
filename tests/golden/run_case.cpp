// Runs and trains the model of a case.
#include <algorithm>
#include <cmath>

#include "trained.hpp"

namespace golden {
namespace {

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
// absolute errors of a row has the bit i where the mask is true.
void masks(const Case &c, dl4_context *context, const Arrays &outputs, Arrays &found) {
  for (const auto &[number, mask] : c.role("output_mask")) {
    Rows net = as_rows(c);
    auto model = build(context, net.architecture, net.weights);
    const Array &y = outputs.at("output/" + number);
    std::vector<float> away;
    for (double v : y.values()) away.push_back(static_cast<float>(v) + 1);
    Json losses = Json::array();
    for (int64_t i = 0; i < dl4_model_io_count(model, DL4_OUTPUTS); ++i)
      losses.push_back(std::to_string(i) != number
                           ? Json()
                           : Json{{"class_name", "MeanAbsoluteError"}, {"config", {{"reduction", "sum"}}}});
    Array got{DL4_BOOL, mask.shape, std::vector<char>(mask.bytes.size())};
    int64_t rows = mask.shape[0], steps = mask.elements() / rows;
    std::vector<float> powers;
    for (int64_t i = 0; i < steps; ++i) powers.push_back(static_cast<float>(1 << i));
    std::vector<int64_t> one_row = mask.shape;
    one_row[0] = 1;
    for (int64_t row = 0; row < rows; ++row) {
      Training how{{{"optimizer", "SGD"}, {"loss", losses}},
                   {floats(y.shape, away).rows(row, row + 1)},
                   {floats(one_row, powers)}};
      std::vector<Array> x;
      for (const Array &input : net.inputs) x.push_back(input.rows(row, row + 1));
      Trained t(model, how, x);
      float sum = t.evaluate(t.dataset({{"batch_size", 1}}))["loss"];
      for (int64_t i = 0; i < steps; ++i) {
        auto at = static_cast<size_t>(row * steps + i);
        // A NaN that is not masked hides the rest of its row.
        got.bytes[at] = std::isnan(sum) ? mask.bytes[at] : (std::lround(sum) >> i) & 1;
      }
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
