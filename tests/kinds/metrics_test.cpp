// Metrics: matches, means over samples with weights and masks, names, and metrics made from losses.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "harness/evaluate.hpp"
#include "kinds/loss.hpp"

namespace dl4::kinds::DL4_FILE {
namespace {

using namespace test;
using ops::none;

Of<Metric> metric(const char *name, const Json &config = Json::object()) {
  return parse<Metric>({{"class_name", name}, {"config", config}});
}

struct Numbers {
  double total, count;
};

Numbers mean(const Of<Metric> &m, const Tensor &y, const Tensor &p, const Tensor *weight = nullptr,
             const Tensor *mask = nullptr) {
  std::vector<Tensor> in{y, p};
  size_t w = in.size();
  if (weight) in.push_back(*weight);
  size_t k = in.size();
  if (mask) in.push_back(*mask);
  Build f = [=](Emit &e, const std::vector<Id> &x) {
    return m->sums(e, x[0], x[1], weight ? x[w] : none, mask ? x[k] : none);
  };
  auto out = run_all_ways(f, in, 1e-6);
  return {values(out[0])[0], values(out[1])[0]};
}

void expect(const Of<Metric> &m, const Tensor &y, const Tensor &p, double total, double count,
            const Tensor *weight = nullptr, const Tensor *mask = nullptr) {
  Numbers n = mean(m, y, p, weight, mask);
  EXPECT_NEAR(n.total, total, 1e-5) << m->entry().name.view();
  EXPECT_NEAR(n.count, count, 1e-5) << m->entry().name.view();
}

const Tensor probabilities() { return tensor<float>({3, 3}, {.7f, .2f, .1f, .1f, .3f, .6f, .4f, .4f, .2f}); }

TEST(Metrics, Accuracies) {
  Tensor p = probabilities(), hot = tensor<float>({3, 3}, {1, 0, 0, 0, 1, 0, 0, 1, 0});
  Tensor classes = tensor<int32_t>({3}, {0, 1, 1});
  expect(metric("CategoricalAccuracy"), hot, p, 1, 3);  // of equal predictions the first one counts
  expect(metric("SparseCategoricalAccuracy"), classes, p, 1, 3);
  expect(metric("SparseCategoricalAccuracy"), tensor<float>({3, 1}, {0, 2, 0}), p, 3, 3);
  expect(metric("SparseCategoricalAccuracy"), tensor<uint8_t>({3}, {0, 2, 1}), p, 2, 3);
  expect(metric("TopKCategoricalAccuracy", {{"k", 2}}), hot, p, 3, 3);
  expect(metric("SparseTopKCategoricalAccuracy", {{"k", 1}}), classes, p, 2, 3);  // equals are all among the first
  Tensor flags = tensor<float>({4, 1}, {1, 0, 1, 0}), q = tensor<float>({4, 1}, {.5f, .5f, .51f, .6f});
  expect(metric("BinaryAccuracy"), flags, q, 2, 4);
  expect(metric("BinaryAccuracy", {{"threshold", 0.4}}), flags, q, 2, 4);
  expect(metric("Accuracy"), tensor<float>({3, 1}, {0, 2, 1}), tensor<float>({3, 1}, {0, 2, 2}), 2, 3);
}

TEST(Metrics, TheWordAccuracyChoosesByShape) {
  Tensor p = probabilities();
  for (const char *word : {"accuracy", "acc", "Accuracy"}) {
    auto m = metric_for(word);
    EXPECT_EQ(m->log_name(), word);
    expect(m, tensor<int64_t>({3}, {0, 2, 1}), p, 2, 3);
    expect(m, tensor<int64_t>({3, 1}, {0, 2, 1}), p, 2, 3);
    expect(m, tensor<float>({3, 3}, {1, 0, 0, 0, 0, 1, 0, 1, 0}), p, 2, 3);
    expect(m, tensor<float>({3}, {1, 0, 0}), tensor<float>({3, 1}, {.6f, .2f, .6f}), 2, 3);
    // It comes back from what is saved of it.
    expect(metric_for(to_json(m.get())), tensor<int32_t>({3}, {0, 2, 1}), p, 2, 3);
  }
}

// As Keras has it in EarlyStopping's mode "auto"; of no metric can it be told by its name.
TEST(Metrics, EachSaysWhetherMoreIsBetter) {
  const std::set<std::string> up{"AUC",
                                 "Accuracy",
                                 "BinaryAccuracy",
                                 "BinaryIoU",
                                 "CategoricalAccuracy",
                                 "ConcordanceCorrelation",
                                 "CosineSimilarity",
                                 "F1Score",
                                 "FBetaScore",
                                 "IoU",
                                 "MeanIoU",
                                 "OneHotIoU",
                                 "OneHotMeanIoU",
                                 "PearsonCorrelation",
                                 "Precision",
                                 "PrecisionAtRecall",
                                 "R2Score",
                                 "Recall",
                                 "RecallAtPrecision",
                                 "SensitivityAtSpecificity",
                                 "SparseCategoricalAccuracy",
                                 "SparseTopKCategoricalAccuracy",
                                 "SpecificityAtSensitivity",
                                 "TopKCategoricalAccuracy"};
  const std::set<std::string> unsaid{"FalseNegatives", "FalsePositives", "Mean", "Sum",
                                     "TrueNegatives",  "TruePositives"};
  for (const Entry *e : entries("metric")) {
    const auto kind = e->fresh(*e);
    const std::optional<bool> rises = static_cast<const Metric &>(*kind).rises();
    EXPECT_EQ(rises, unsaid.count(std::string(e->name)) ? std::nullopt
                                                        : std::optional<bool>(up.count(std::string(e->name)) > 0))
        << std::string(e->name);
    const Json told = e->describe();
    EXPECT_EQ(told.contains("direction"), rises.has_value()) << std::string(e->name);
    EXPECT_EQ(told.contains("direction") && told["direction"] == "up", rises.value_or(false)) << std::string(e->name);
  }
}

TEST(Metrics, WeightsAndMasks) {
  // Absolute errors 1 2 3 / 4 5 6.
  Tensor y = tensor<float>({2, 3, 1}, std::vector<float>(6, 0)), p = tensor<float>({2, 3, 1}, {1, 2, 3, 4, 5, 6});
  Tensor rows = tensor<float>({2}, {2, 1}), steps = tensor<float>({2, 3}, {1, 0, 2, 3, 0, 0});
  Tensor mask = tensor<bool>({2, 3}, {true, true, false, true, false, false});
  auto m = metric("MeanAbsoluteError");
  expect(m, y, p, 2 + 5, 2);
  expect(m, y, p, 2 * 2 + 5, 3, &rows);
  expect(m, y, p, (7.0 + 12) / 3, (3.0 + 3) / 3, &steps);
  expect(m, y, p, (3.0 + 4) / 3, (2.0 + 1) / 3, nullptr, &mask);
  expect(m, y, p, (6.0 + 4) / 3, (4.0 + 1) / 3, &rows, &mask);
}

// In Keras a class to be ignored is left out where something weighs the samples, and counts as 0 where nothing does.
TEST(Metrics, AnIgnoredClass) {
  const auto m = metric("SparseCategoricalCrossentropy", {{"from_logits", true}, {"ignore_class", 0}});
  Tensor y = tensor<int32_t>({3}, {0, 1, 1}), p = tensor<float>({3, 2}, {5, 5, 1, 1, 1, 1});
  Tensor weights = tensor<float>({3}, {2, 3, 1}), mask = tensor<bool>({3}, {true, true, false});
  expect(m, y, p, 2 * std::log(2.0), 3);
  expect(m, y, p, 4 * std::log(2.0), 4, &weights);
  expect(m, y, p, std::log(2.0), 1, nullptr, &mask);
}

TEST(Metrics, FromLosses) {
  Tensor y = random({4, 3}, 1), p = random({4, 3}, 2);
  double squares = 0, errors = 0;
  auto a = values(y), b = values(p);
  for (size_t i = 0; i < a.size(); ++i) {
    squares += (a[i] - b[i]) * (a[i] - b[i]) / 3;
    errors += std::abs(a[i] - b[i]) / 3;
  }
  expect(metric_for("mse"), y, p, squares, 4);
  expect(metric_for("MAE"), y, p, errors, 4);
  EXPECT_EQ(metric_for("mse")->log_name(), "mse");
  EXPECT_EQ(metric_for(Json{{"class_name", "MeanSquaredError"}})->log_name(), "mean_squared_error");
  EXPECT_EQ(metric("Huber", {{"delta", 2}, {"name", "h"}})->log_name(), "h");
  EXPECT_EQ(metric("Huber", {{"delta", 2}})->config(), (Json{{"name", nullptr}, {"delta", 2.0}}));
  EXPECT_NEAR(mean(metric("CosineSimilarity"), y, y).total, 4, 1e-5);  // the loss has the other sign
  try {
    metric("Huber", {{"dleta", 2}});
    ADD_FAILURE();
  } catch (const Error &e) {
    EXPECT_NE(e.message.find("did you mean \"delta\""), std::string::npos) << e.message;
  }
  EXPECT_THROW(metric("Huber", {{"reduction", "sum"}}), Error);
  EXPECT_THROW(metric("TopKCategoricalAccuracy", {{"k", 0}}), Error);
}

}  // namespace
}  // namespace dl4::kinds::DL4_FILE
