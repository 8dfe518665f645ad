// Metrics whose state is more than a total and a count, and the losses beside them: worked numbers and refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/evaluate.hpp"
#include "kinds/loss.hpp"

namespace dl4::kinds::DL4_FILE {
namespace {

using namespace test;
using ops::none;

Of<Metric> metric(const char *name, const Json &config = Json::object()) {
  return parse<Metric>({{"class_name", name}, {"config", config}});
}

std::vector<double> sums(const Of<Metric> &m, const Tensor &y, const Tensor &p, const Tensor *weight = nullptr) {
  std::vector<Tensor> in{y, p};
  if (weight) in.push_back(*weight);
  Build f = [=](Emit &e, const std::vector<Id> &x) { return m->sums(e, x[0], x[1], weight ? x[2] : none, none); };
  std::vector<double> all;
  for (const Tensor &part : run_all_ways(f, in, 1e-6))
    for (double v : values(part)) all.push_back(v);
  EXPECT_EQ(static_cast<int64_t>(all.size()), m->size(p.shape).sums) << m->entry().name.view();
  return all;
}

std::vector<double> result(const Of<Metric> &m, const std::vector<double> &sums, const Shape &prediction) {
  std::vector<double> to(static_cast<size_t>(m->size(prediction).results));
  m->result(sums, to);
  return to;
}

std::vector<double> measured(const Of<Metric> &m, const Tensor &y, const Tensor &p, const Tensor *weight = nullptr) {
  return result(m, sums(m, y, p, weight), p.shape);
}

using Numbers = std::vector<double>;

TEST(StateMetrics, WorkedNumbers) {
  Tensor y = tensor<float>({4, 1}, {0, 0, 1, 1}), p = tensor<float>({4, 1}, {0, 0.5f, 0.3f, 0.9f});
  Tensor w = tensor<float>({4}, {1, 0, 0, 1});
  // Keras's own examples.
  EXPECT_NEAR(measured(metric("AUC", {{"num_thresholds", 3}}), y, p)[0], 0.75, 1e-7);
  EXPECT_NEAR(measured(metric("AUC", {{"num_thresholds", 3}}), y, p, &w)[0], 1, 1e-7);
  Tensor said = tensor<float>({4}, {0, 1, 1, 1}), is = tensor<float>({4}, {1, 0, 1, 1});
  EXPECT_NEAR(measured(metric("Precision"), said, is)[0], 2.0 / 3, 1e-7);
  EXPECT_EQ(measured(metric("Recall", {{"thresholds", {0.2, 0.95}}}), y, p), (Numbers{1, 0}));
  EXPECT_NEAR(measured(metric("MeanIoU", {{"num_classes", 2}}), tensor<float>({4}, {0, 0, 1, 1}),
                       tensor<float>({4}, {0, 1, 0, 1}))[0],
              1.0 / 3, 1e-6);
  EXPECT_NEAR(measured(metric("RootMeanSquaredError"), tensor<float>({2, 2}, {0, 1, 0, 0}),
                       tensor<float>({2, 2}, {1, 1, 0, 0}))[0],
              0.5, 1e-7);
  EXPECT_EQ(measured(metric("TrueNegatives"), y, p), Numbers{2});
  EXPECT_EQ(measured(metric("FalsePositives", {{"thresholds", 0.4}}), y, p), Numbers{1});
}

TEST(StateMetrics, AllRankedRightHaveAnAreaOfOne) {
  Tensor y = tensor<float>({6, 1}, {0, 0, 0, 1, 1, 1}), p = tensor<float>({6, 1}, {0.1f, 0.2f, 0.3f, 0.7f, 0.8f, 0.9f});
  for (const char *curve : {"ROC", "PR", "PRGAIN", "roc", "pr", "prgain"})
    EXPECT_NEAR(measured(metric("AUC", {{"curve", curve}}), y, p)[0], 1, 1e-6) << curve;
  EXPECT_NEAR(measured(metric("F1Score", {{"threshold", 0.5}}), y, p)[0], 1, 1e-6);
  EXPECT_EQ(measured(metric("PrecisionAtRecall", {{"recall", 1.0}}), y, p)[0], 1);
}

// In float32 a sum of ones stands still at 2^24.
TEST(StateMetrics, LargeEpochsLoseNoCount) {
  auto m = metric("TruePositives");
  Numbers total(4, 16777216.0), one = sums(m, tensor<float>({1, 1}, {1}), tensor<float>({1, 1}, {1}));
  for (size_t i = 0; i < 4; ++i) total[i] += one[i];
  EXPECT_EQ(result(m, total, {1, 1})[0], 16777217.0);
}

TEST(StateMetrics, NothingMeasuredIsZero) {
  const Shape shape{4, 2};
  for (const char *name : {"AUC", "Precision", "Recall", "TruePositives", "RootMeanSquaredError", "Sum", "Mean"}) {
    auto m = metric(name);
    EXPECT_EQ(result(m, Numbers(static_cast<size_t>(m->size(shape).sums)), shape)[0], 0) << name;
  }
}

TEST(StateMetrics, ComeBackFromWhatIsSavedOfThem) {
  for (const auto &[name, config] : std::vector<std::pair<const char *, Json>>{
           {"AUC", {{"thresholds", {0.2, 0.7}}, {"label_weights", {1, 2}}, {"curve", "PR"}}},
           {"Precision", {{"thresholds", 0.3}, {"top_k", 2}}},
           {"F1Score", {{"average", "macro"}, {"threshold", 0.4}}},
           {"F1Score", {{"average", nullptr}}},
           {"R2Score", {{"class_aggregation", nullptr}}},
           {"OneHotIoU", {{"num_classes", 3}, {"target_class_ids", {0, 2}}, {"dtype", "float32"}}}}) {
    auto m = metric(name, config);
    EXPECT_EQ(parse<Metric>(to_json(m.get()))->config(), m->config()) << name;
  }
  EXPECT_EQ(metric("LogCosh")->entry().name, "LogCoshError");
  EXPECT_EQ(metric("LogCoshError")->log_name(), "logcosh");
  EXPECT_EQ(parse<Loss>("LogCosh")->entry().name, "LogCosh");
}

void expect_refused(const std::function<void()> &f, const std::string &words) {
  try {
    f();
    ADD_FAILURE() << "accepted: " << words;
  } catch (const Error &e) {
    EXPECT_NE(e.message.find(words), std::string::npos) << e.message;
  }
}

TEST(StateMetrics, RefuseSettings) {
  struct {
    const char *name;
    Json config;
    const char *words;
  } const cases[] = {
      {"Precision", {{"thresholds", Json::array()}}, "\"thresholds\": expected at least one, got []"},
      {"Recall", {{"thresholds", {0.5, 1.5}}}, "expected at most 1.0"},
      {"Precision", {{"top_k", 0}}, "\"top_k\": expected at least 1"},
      {"SensitivityAtSpecificity", Json::object(), "attribute \"specificity\" is missing"},
      {"RecallAtPrecision", {{"precision", 2}}, "\"precision\": expected at most 1.0, got 2"},
      {"AUC", {{"num_thresholds", 1}}, "\"num_thresholds\": expected at least 2, got 1"},
      {"AUC", {{"curve", "LIFT"}}, "\"curve\": expected one of \"ROC\""},
      {"AUC", {{"num_labels", 3}}, "\"num_labels\": expected null unless \"multi_label\" is true"},
      {"AUC", {{"label_weights", Json::array()}}, "\"label_weights\": expected at least one number, got []"},
      {"MeanIoU", Json::object(), "attribute \"num_classes\" is missing"},
      {"MeanIoU", {{"num_classes", 3}, {"dtype", "float16"}}, "\"dtype\": expected one of"},
      {"IoU", {{"num_classes", 3}, {"target_class_ids", {3}}}, "expected classes below 3, got 3"},
      {"IoU", {{"num_classes", 3}, {"target_class_ids", Json::array()}}, "expected at least one class, got []"},
      {"BinaryIoU", {{"target_class_ids", {2}}}, "expected at most 1"},
      {"F1Score", {{"average", "mean"}}, "\"average\": expected one of \"micro\", \"macro\", \"weighted\""},
      {"F1Score", {{"threshold", 0}}, "\"threshold\": expected more than 0, got 0"},
      {"F1Score", {{"beta", 2}}, "unknown attribute \"beta\""},
      {"FBetaScore", {{"beta", 0}}, "\"beta\": expected more than 0, got 0"},
      {"R2Score", {{"num_regressors", -1}}, "expected at least 0"},
  };
  for (const auto &c : cases) expect_refused([&] { metric(c.name, c.config); }, c.words);
}

TEST(StateMetrics, RefuseShapes) {
  struct {
    const char *name;
    Json config;
    Shape y, p;
    const char *words;
  } const cases[] = {
      {"AUC", {{"multi_label", true}}, {4, 2, 3}, {4, 2, 3}, "expected predictions (B, labels), got (4, 2, 3)"},
      {"AUC",
       {{"multi_label", true}, {"label_weights", {1, 2}}},
       {4, 3},
       {4, 3},
       "\"label_weights\": expected 3 numbers for predictions (4, 3), got 2"},
      {"AUC", {{"label_weights", {1, 2}}}, {4, 3}, {4, 3}, "(4, 3)"},
      {"AUC", Json::object(), {4, 2}, {4, 3}, "targets have shape (4, 2), predictions (4, 3)"},
      {"Precision", {{"class_id", 3}}, {4, 3}, {4, 3}, "\"class_id\": expected one of the numbers of the last axis"},
      {"Recall", {{"class_id", 0}}, {4}, {4}, "\"class_id\""},
      {"Precision", {{"top_k", 4}}, {4, 3}, {4, 3}, "expected at least 4 elements, got (4, 3)"},
      {"F1Score", Json::object(), {4, 2, 3}, {4, 2, 3}, "expected predictions (B, classes), got (4, 2, 3)"},
      {"R2Score", Json::object(), {4}, {4}, "expected predictions (B, outputs), got (4,)"},
      {"MeanIoU", {{"num_classes", 3}}, {4}, {3}, "targets have classes of shape (4,), predictions (3,)"},
      {"PearsonCorrelation", {{"axis", 2}}, {4, 2}, {4, 2}, "axis"},
  };
  for (const auto &c : cases)
    expect_refused(
        [&] {
          auto m = metric(c.name, c.config);
          sums(m, random(c.y, 1), random(c.p, 2));
        },
        c.words);
}

TEST(MoreLosses, RefuseSettingsAndShapes) {
  auto loss = [](const char *name, const Json &config) {
    return parse<Loss>({{"class_name", name}, {"config", config}});
  };
  expect_refused(
      [&] {
        loss("CategoricalGeneralizedCrossEntropy", {{"q", 1}});
      },
      "\"q\": expected a number between 0 and 1, got 1");
  expect_refused([&] { loss("CategoricalGeneralizedCrossEntropy", {{"q", 0}}); }, "between 0 and 1, got 0");
  expect_refused([&] { loss("Dice", {{"axis", Json::array()}}); }, "\"axis\": expected null or at least one axis");
  expect_refused(
      [&] {
        loss("CategoricalFocalCrossentropy", {{"alpha", Json::array()}});
      },
      "\"alpha\": expected at least one number, got []");
  expect_refused([&] { loss("BinaryFocalCrossentropy", {{"gamma", -1}}); }, "\"gamma\": expected at least 0");
  auto emitted = [&](const Of<Loss> &l, const Shape &y, const Shape &p) {
    Program program;
    Emit e(program);
    l->scalar(e, e.input("y", DType::f32, y), e.input("p", DType::f32, p), none, none);
  };
  expect_refused(
      [&] {
        emitted(loss("CategoricalFocalCrossentropy", {{"alpha", {1, 2}}}), {4, 3}, {4, 3});
      },
      "\"alpha\": expected one number or one for each of 3 classes, got 2");
  expect_refused(
      [&] {
        emitted(loss("Circle", Json::object()), {4}, {4, 2, 3});
      },
      "predictions have shape (4, 2, 3), expected embeddings (B, E)");
  expect_refused([&] { emitted(loss("Dice", {{"axis", 2}}), {4, 3}, {4, 3}); }, "axis");
  expect_refused(
      [&] {
        emitted(loss("CategoricalGeneralizedCrossEntropy", Json::object()), {4, 3}, {4, 3});
      },
      "expected class numbers (4,) for predictions (4, 3)");
}

}  // namespace
}  // namespace dl4::kinds::DL4_FILE
