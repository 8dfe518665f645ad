// What trainers measure: metrics with any state, with and without weights, by the names of outputs; class weights.
#include <cmath>
#include <nlohmann/json.hpp>

#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

std::vector<std::string> names(dl4_trainer *t) { return metrics_of(t); }

// x [B, 4] -> outputs "left" and "right", [B, 3] each.
Own<dl4_model> two_outputs() {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4}), out[2] = {};
  out[0] = add(g, "Dense", "left", R"({"units": 3, "activation": "sigmoid"})", x);
  out[1] = add(g, "Dense", "right", R"({"units": 3, "activation": "softmax"})", x);
  ok(dl4_graph_build(g, &x, 1, out, 2, m.out()));
  return m;
}

struct Data {
  Own<dl4_tensor> x = tensor({10, 4}, numbers(40)), w = tensor({10}, {1, 2, 0, 0.5f, 3, 1, 1, 0, 2, 1}), y, z;
  Data() {
    std::vector<float> flags(30), hot(30);
    for (size_t i = 0; i < 30; ++i) flags[i] = i % 7 % 2 == 0 ? 1.0f : 0.0f;
    for (size_t i = 0; i < 10; ++i) hot[3 * i + i * i % 3] = 1;
    y = tensor({10, 3}, flags);
    z = tensor({10, 3}, hot);
  }
  Own<dl4_dataset> set(std::vector<dl4_tensor *> targets, std::vector<dl4_tensor *> weights = {},
                       const std::string &options = R"({"batch_size": 4})") const {
    Own<dl4_dataset> d;
    dl4_tensor *in = x;
    ok(dl4_dataset_from_tensors(nullptr, &in, 1, targets.data(), static_cast<int64_t>(targets.size()), weights.data(),
                                static_cast<int64_t>(weights.size()), options.c_str(), d.out()));
    return d;
  }
};

std::vector<double> evaluated(dl4_trainer *t, dl4_dataset *d) {
  std::vector<double> values(names(t).size());
  int64_t n = 0;
  ok(dl4_trainer_evaluate(t, d, nullptr, values.data(), static_cast<int64_t>(values.size()), &n));
  EXPECT_EQ(n, static_cast<int64_t>(values.size()));
  return values;
}

TEST(Metrics, OutputsMayBeNamed) {
  Data data;
  const json by_place{{"optimizer", "SGD"},
                      {"loss", {"bce", "CategoricalFocalCrossentropy"}},
                      {"loss_weights", {0.5, 2}},
                      {"metrics", {nullptr, {"accuracy", "AUC"}}},
                      {"weighted_metrics", {{"mae"}, nullptr}}};
  const json by_name{{"optimizer", "SGD"},
                     {"loss", {{"right", "CategoricalFocalCrossentropy"}, {"left", "bce"}}},
                     {"loss_weights", {{"left", 0.5}, {"right", 2}}},
                     {"metrics", {{"right", {"accuracy", "AUC"}}}},
                     {"weighted_metrics", {{"left", "mae"}}}};
  std::vector<std::vector<double>> found;
  for (const json &how : {by_place, by_name}) {
    auto m = two_outputs();
    auto t = trainer(m, how.dump());
    EXPECT_EQ(names(t),
              (std::vector<std::string>{"loss", "left_loss", "right_loss", "right_accuracy", "right_AUC", "left_mae"}));
    // Weights for one of the outputs alone.
    found.push_back(evaluated(t, data.set({data.y, data.z}, {data.w, nullptr})));
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(Metrics, NamesAreThoseOfKeras) {
  auto m = small_net();
  auto t = trainer(m, R"({"optimizer": "SGD", "loss": "mse",
                          "metrics": ["mae", "mae", {"class_name": "F1Score"}, {"class_name": "F1Score",
                                      "config": {"average": "micro", "name": "f"}}],
                          "weighted_metrics": ["mse", "mae", "mae", "mae"]})");
  EXPECT_EQ(names(t), (std::vector<std::string>{"loss", "mae", "mae_1", "f1_score[0]", "f1_score[1]", "f1_score[2]",
                                                "f", "mse", "weighted_mae", "weighted_mae_1", "weighted_mae_2"}));
}

TEST(Metrics, OnlyTheWeightedOnesSeeWeights) {
  Data data;
  auto m = small_net();
  auto t = trainer(m, R"({"optimizer": "SGD", "loss": "mse", "metrics": ["mse", "AUC", "RootMeanSquaredError"],
                          "weighted_metrics": ["mse", "AUC", "RootMeanSquaredError"]})");
  const auto plain = evaluated(t, data.set({data.z})), weighted = evaluated(t, data.set({data.z}, {data.w}));
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(plain[i], plain[i + 3]);
    EXPECT_EQ(plain[i], weighted[i]);
    EXPECT_GT(std::abs(plain[i] - weighted[i + 3]), 1e-4) << i;
  }
  EXPECT_NEAR(weighted[6] * weighted[6], weighted[4], 1e-6);
}

// The sums of a batch and of its rows are those of all: numbers of an epoch do not depend on its batches.
TEST(Metrics, SumsGoOverBatches) {
  Data data;
  auto m = small_net();
  auto t = trainer(m, R"({"optimizer": "SGD", "loss": "mse", "weighted_metrics": ["AUC", "F1Score", "R2Score",
      {"class_name": "OneHotMeanIoU", "config": {"num_classes": 3, "dtype": "float32"}}, "Precision", "Sum"]})");
  const auto whole = evaluated(t, data.set({data.z}, {data.w}, R"({"batch_size": 10})"));
  for (const char *options : {R"({"batch_size": 1})", R"({"batch_size": 3})", R"({"batch_size": 7})"}) {
    const auto parts = evaluated(t, data.set({data.z}, {data.w}, options));
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(parts[i], whole[i], 1e-6) << options << ' ' << i;
  }
}

struct Stopping {
  Own<dl4_cancel> cancel;
  int64_t at = -1;
  static int32_t progress(void *user, int32_t event, int64_t step, int64_t, const double *, int64_t) {
    auto &self = *static_cast<Stopping *>(user);
    if (event == DL4_BATCH_END && step == self.at) dl4_cancel_trigger(self.cancel);
    return DL4_CONTINUE;
  }
};

TEST(Metrics, AFitIsResumedInMidEpochToTheLastBit) {
  Data data;
  const std::string how = R"({"optimizer": "Adam", "loss": "mse", "metrics": ["AUC", "F1Score"],
                              "weighted_metrics": ["Recall"]})";
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"seed": 5})", c.out()));
  auto run = [&](int64_t stop_at) {
    auto m = small_net(c);
    ok(dl4_context_set_seed(c, 5));
    std::string bytes;
    {
      auto t = trainer(m, how);
      auto d = data.set({data.z}, {data.w}, R"({"batch_size": 2})");
      Stopping stopping;
      stopping.at = stop_at;
      ok(dl4_cancel_create(stopping.cancel.out()));
      Own<dl4_blob> history, kept;
      const auto r = refusal(dl4_trainer_fit(t, d, nullptr, R"({"epochs": 2})", Stopping::progress, &stopping,
                                             stopping.cancel, history.out()));
      if (stop_at < 0) return std::string(dl4_blob_data(history));
      EXPECT_EQ(r.code, DL4_CANCELLED);
      ok(dl4_trainer_save_bytes(t, kept.out()));
      bytes.assign(dl4_blob_data(kept), static_cast<size_t>(dl4_blob_size(kept)));
    }
    auto t = trainer(m, how);
    ok(dl4_trainer_load_bytes(t, bytes.data(), static_cast<int64_t>(bytes.size())));
    auto d = data.set({data.z}, {data.w}, R"({"batch_size": 2})");
    Own<dl4_blob> history;
    ok(dl4_trainer_fit(t, d, nullptr, R"({"epochs": 2})", nullptr, nullptr, nullptr, history.out()));
    return std::string(dl4_blob_data(history));
  };
  const std::string whole = run(-1);
  EXPECT_NE(whole.find("\"AUC\""), std::string::npos);
  EXPECT_EQ(run(3), whole);
}

TEST(Metrics, ClassWeightsAreSampleWeights) {
  Data data;
  auto labels = tensor({10, 1}, {0, 1, 2, 0, 1, 2, 0, 1, 2, 3});
  const std::vector<float> by_class{0.5f, 3, 1, 1};
  std::vector<float> each;
  for (float label : floats(labels)) each.push_back(by_class[static_cast<size_t>(label)]);
  auto weights = tensor({10}, each);
  auto hot = tensor({10, 3}), narrow = tensor({10, 1});
  auto fit = [&](dl4_tensor *target, const char *loss, dl4_tensor *w, const std::string &options) {
    Own<dl4_context> c;
    ok(dl4_context_create(R"({"seed": 5})", c.out()));
    Own<dl4_graph> g;
    Own<dl4_model> m;
    ok(dl4_graph_create(c, g.out()));
    dl4_node x = input(g, "x", {-1, 4}), y = add(g, "Dense", "d", R"({"units": 4, "activation": "softmax"})", x);
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    auto t = trainer(m, json{{"optimizer", "SGD"}, {"loss", loss}, {"weighted_metrics", {loss}}}.dump());
    auto d = w ? data.set({target}, {w}) : data.set({target});
    Own<dl4_blob> history;
    ok(dl4_trainer_fit(t, d, nullptr, options.c_str(), nullptr, nullptr, nullptr, history.out()));
    return std::string(dl4_blob_data(history));
  };
  const std::string by_weight = fit(labels, "SparseCategoricalCrossentropy", weights, R"({"epochs": 2})");
  EXPECT_EQ(fit(labels, "SparseCategoricalCrossentropy", nullptr, R"({"epochs": 2, "class_weight": [0.5, 3]})"),
            by_weight);
  std::vector<float> one_hot(40);
  for (size_t i = 0; i < 10; ++i) one_hot[4 * i + static_cast<size_t>(floats(labels)[i])] = 1;
  auto wide = tensor({10, 4}, one_hot);
  EXPECT_EQ(fit(wide, "CategoricalCrossentropy", nullptr, R"({"epochs": 2, "class_weight": [0.5, 3]})"),
            fit(wide, "CategoricalCrossentropy", weights, R"({"epochs": 2})"));
  EXPECT_NE(fit(wide, "CategoricalCrossentropy", nullptr, R"({"epochs": 2})"),
            fit(wide, "CategoricalCrossentropy", weights, R"({"epochs": 2})"));
}

TEST(Metrics, ClassWeightsAreRefused) {
  Data data;
  auto refused = [&](dl4_model *m, const std::string &how, dl4_dataset *d) {
    auto t = trainer(m, how);
    return refusal(dl4_trainer_fit(t, d, nullptr, R"({"class_weight": [1, 2]})", nullptr, nullptr, nullptr, nullptr));
  };
  auto m = small_net();
  const std::string mse = R"({"optimizer": "SGD", "loss": "mse"})";
  EXPECT_EQ(refused(m, mse, data.set({data.z}, {data.w})).message,
            "dl4_trainer_fit: \"class_weight\": expected data without sample weights, got both");
  auto two = two_outputs();
  EXPECT_EQ(refused(two, R"({"optimizer": "SGD", "loss": ["mse", "mse"]})", data.set({data.y, data.z})).message,
            "dl4_trainer_fit: \"class_weight\": expected a model with one target, got 2");
  Own<dl4_graph> g;
  Own<dl4_model> steps;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4}), y = add(g, "Dense", "d", R"({"units": 6})", x);
  y = add(g, "Reshape", "r", R"({"target_shape": [2, 3]})", y);
  ok(dl4_graph_build(g, &x, 1, &y, 1, steps.out()));
  EXPECT_EQ(refused(steps, mse, data.set({tensor({10, 2, 3})})).message,
            "dl4_trainer_fit: \"class_weight\": expected targets (B), (B, 1) or (B, classes), got (4, 2, 3)");
}

TEST(Metrics, WhatDoesNotFitIsRefused) {
  auto two = two_outputs(), one = small_net();
  struct {
    dl4_model *model;
    const char *options, *words;
  } const cases[] = {
      {two, R"({"loss": {"left": "mse", "wrong": "mse"}})", "\"loss\": the model has no output \"wrong\""},
      {two, R"({"loss": {"left": "mse"}})", "\"loss\": expected an entry for output \"right\", got none"},
      {two, R"({"loss": {"left": "mse", "right": null}, "loss_weights": {"left": 1}})",
       "\"loss_weights\": expected an entry for output \"right\", got none"},
      {two, R"({"loss": {"left": "mse", "right": null}, "metrics": {"rihgt": "mae"}})", "no output \"rihgt\""},
      {two, R"({"loss": {"left": "mse", "right": null}, "weighted_metrics": {"right": "mae"}})",
       "\"weighted_metrics\": output 1 has no loss and so no target"},
      {one, R"({"loss": "mse", "weighted_metrics": ["maee"]})", "\"weighted_metrics\": unknown metric \"maee\""},
      {one, R"({"loss": "mse", "metrics": [{"class_name": "AUC", "config": {"multi_label": true, "num_labels": 4}}]})",
       "metric AUC of output \"answer\": \"num_labels\": expected 4 labels, got predictions (?, 3)"},
  };
  for (const auto &c : cases) {
    json options = json::parse(c.options);
    options["optimizer"] = "SGD";
    dl4_trainer *t = nullptr;
    const Refusal r = refusal(dl4_trainer_create(c.model, options.dump().c_str(), &t));
    EXPECT_EQ(t, nullptr);
    EXPECT_NE(r.code, DL4_OK);
    EXPECT_NE(r.message.find(c.words), std::string::npos) << r.message;
  }
}

// More would make a history whose names no reader takes.
TEST(Metrics, AreAtMost4096Numbers) {
  auto with = [](size_t thresholds) {
    const json metric{{"class_name", "TruePositives"},
                      {"config", {{"thresholds", std::vector<double>(thresholds, 0.5)}}}};
    return json{{"optimizer", "SGD"}, {"loss", "mse"}, {"metrics", {metric}}}.dump();
  };
  auto net = small_net();
  Own<dl4_trainer> most = trainer(net, with(4095));
  Own<dl4_tensor> x = tensor({2, 4}, numbers(8)), y = tensor({2, 3}, numbers(6));
  Own<dl4_dataset> d = dataset(x, y);
  Own<dl4_blob> saved;
  ok(dl4_trainer_fit(most, d, d, R"({"epochs": 2})", nullptr, nullptr, nullptr, nullptr));
  ok(dl4_trainer_save_bytes(most, saved.out()));
  ok(dl4_trainer_load_bytes(most, dl4_blob_data(saved), dl4_blob_size(saved)));
  dl4_trainer *t = nullptr;
  const Refusal r = refusal(dl4_trainer_create(net, with(4096).c_str(), &t));
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("\"metrics\": with \"true_positives\" they are more than 4096 numbers"), std::string::npos)
      << r.message;
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
