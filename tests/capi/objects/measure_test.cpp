// Losses and metrics without a trainer: in a graph, and of two tensors.
#include <nlohmann/json.hpp>

#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

std::vector<float> measured(const char *category, const char *kind, dl4_tensor *y, dl4_tensor *p,
                            dl4_tensor *w = nullptr, const std::string &a = "{}") {
  Own<dl4_tensor> out;
  ok(dl4_measure(nullptr, category, kind, a.c_str(), y, p, w, out.out()));
  return out ? floats(out) : std::vector<float>();
}

// A model that gives its input, trained by nothing.
double reported(const json &options, dl4_tensor *y, dl4_tensor *p, dl4_tensor *w, size_t which) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  std::vector<int64_t> dims(dl4_tensor_dims(p), dl4_tensor_dims(p) + dl4_tensor_rank(p));
  dims[0] = -1;
  dl4_node x = input(g, "x", dims);
  ok(dl4_graph_build(g, &x, 1, &x, 1, m.out()));
  auto t = trainer(m, options.dump());
  Own<dl4_dataset> d;
  ok(dl4_dataset_from_tensors(nullptr, &p, 1, &y, 1, &w, w != nullptr, R"({"batch_size": 100})", d.out()));
  double metrics[2] = {};
  ok(dl4_trainer_evaluate(t, d, nullptr, metrics, 2, nullptr));
  return metrics[which];
}

// Of those that cannot be made without settings, or give several numbers.
json settings(const std::string &kind) {
  const std::map<std::string, json> known = {
      {"Accuracy", {{"by_shape", false}}},
      {"F1Score", {{"average", "macro"}}},
      {"FBetaScore", {{"average", "micro"}}},
      {"SensitivityAtSpecificity", {{"specificity", 0.5}}},
      {"SpecificityAtSensitivity", {{"sensitivity", 0.5}}},
      {"PrecisionAtRecall", {{"recall", 0.5}}},
      {"RecallAtPrecision", {{"precision", 0.5}}},
      {"MeanIoU", {{"num_classes", 3}}},
      {"OneHotMeanIoU", {{"num_classes", 3}}},
      {"IoU", {{"num_classes", 3}, {"target_class_ids", {0, 1}}}},
      {"OneHotIoU", {{"num_classes", 3}, {"target_class_ids", {0, 1}}}},
  };
  auto it = known.find(kind);
  return it == known.end() ? json::object() : it->second;
}

bool takes_labels(const std::string &kind) {
  return kind.rfind("Sparse", 0) == 0 || kind == "Circle" || kind == "CategoricalGeneralizedCrossEntropy";
}

TEST(Measure, IsWhatATrainerReportsOfEveryLossAndMetric) {
  auto p = tensor({4, 3}, {0.2f, 0.5f, 0.3f, 0.1f, 0.1f, 0.8f, 0.6f, 0.3f, 0.1f, 0.3f, 0.4f, 0.3f});
  auto y = tensor({4, 3}, {0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0}), w = tensor({4}, {1, 0.5f, 2, 0});
  Own<dl4_tensor> labels;
  const int64_t dims[1] = {4};
  const int32_t classes[4] = {1, 2, 0, 0};
  ok(dl4_tensor_create(nullptr, DL4_INT32, 1, dims, labels.out()));
  ok(dl4_tensor_copy_in(labels, classes, sizeof classes));
  for (const char *category : {"loss", "metric"}) {
    for (const std::string &kind : kinds_of(category)) {
      if (kind == "Functional") continue;  // of a graph: parts_test.cpp
      if (kind == "CTC") continue;         // below
      SCOPED_TRACE(std::string(category) + ' ' + kind);
      dl4_tensor *const target = takes_labels(kind) ? labels.get() : y.get();
      const bool loss = category[0] == 'l';
      const json config = settings(kind);
      json how{{"optimizer", "SGD"}, {"loss", loss ? kind : "mse"}};
      if (!loss) how["metrics"] = {{{"class_name", kind}, {"config", config}}};
      if (!loss && target == labels.get()) how["loss"] = "SparseCategoricalCrossentropy";
      const double expected = reported(how, target, p, nullptr, loss ? 0 : 1);
      EXPECT_NEAR(measured(category, kind.c_str(), target, p, nullptr, config.dump())[0], expected, 1e-6);
      if (loss) {
        EXPECT_NEAR(measured(category, kind.c_str(), target, p, w)[0], reported(how, target, p, w, 0), 1e-6);
      }
    }
  }
  auto steps = tensor({2, 2, 3}, floats(p)), rows = tensor({2, 2}, {1, 0, 2, 1}), half = tensor({2}, {1, 0.5f});
  const json ctc{{"optimizer", "SGD"}, {"loss", "CTC"}};
  for (dl4_tensor *by : {static_cast<dl4_tensor *>(nullptr), half.get()})
    EXPECT_NEAR(measured("loss", "CTC", rows, steps, by)[0], reported(ctc, rows, steps, by, 0), 1e-6);
  EXPECT_EQ(measured("metric", "F1Score", y, p).size(), 3u);
  EXPECT_EQ(measured("metric", "accuracy", labels, p)[0], 0.75f);
  EXPECT_EQ(measured("metric", "accuracy", labels, p, w)[0], 1.f);
}

// A kind's name is the kind, whatever word of a trainer's it resembles.
TEST(Measure, AccuracyIsTheKindAndTheWordChoosesByShape) {
  auto p = tensor({4, 3}, {0.2f, 0.5f, 0.3f, 0.1f, 0.1f, 0.8f, 0.6f, 0.3f, 0.1f, 0.3f, 0.4f, 0.3f});
  auto y = tensor({4, 3}, {0, 1, 0, 0, 0, 1, 0.6f, 0, 0, 0, 0.4f, 0});
  EXPECT_NEAR(measured("metric", "Accuracy", y, p)[0], 2. / 12, 1e-6);
  EXPECT_EQ(measured("metric", "accuracy", y, p)[0], 1.f);
  EXPECT_EQ(measured("metric", "acc", y, p)[0], 1.f);
}

TEST(Measure, OfReductionNoneIsAValueForEachItem) {
  auto y = tensor({2, 2}, {0, 0, 0, 0}), p = tensor({2, 2}, {1, 3, 2, 4}), w = tensor({2}, {1, 0.5f});
  EXPECT_EQ(measured("loss", "mse", y, p, nullptr, R"({"reduction": "none"})"), (std::vector<float>{5, 10}));
  EXPECT_EQ(measured("loss", "mse", y, p, w, R"({"reduction": "none"})"), (std::vector<float>{5, 5}));
  EXPECT_EQ(measured("loss", "mse", y, p, w, R"({"reduction": "sum"})"), (std::vector<float>{10}));
}

TEST(Measure, Refusals) {
  auto y = tensor({2, 2}), p = tensor({2, 3}), wide = tensor({2, 2}, {}, DL4_FLOAT64);
  struct {
    const char *category, *kind, *options;
    dl4_tensor *y, *p, *w;
    int32_t code;
    const char *words;
  } const cases[] = {
      {"loss", "mse", "{}", y, p, nullptr, DL4_SHAPE_MISMATCH, "targets have shape (2, 2), predictions (2, 3)"},
      {"loss", "mse", "{}", p, p, y, DL4_SHAPE_MISMATCH, "sample weights have shape (2, 2)"},
      {"loss", "msee", "{}", y, y, nullptr, DL4_UNKNOWN_KIND, "did you mean \"mse\""},
      {"metric", "Huber", R"({"reduction": "sum"})", y, y, nullptr, DL4_INVALID_ARGUMENT,
       "unknown attribute \"reduction\""},
      {"losses", "mse", "{}", y, y, nullptr, DL4_INVALID_ARGUMENT, "expected \"loss\" or \"metric\", got \"losses\""},
      {"loss", "mse", "{}", wide, y, nullptr, DL4_UNSUPPORTED, "float64"},
      {"metric", "mse", "{}", y, wide, nullptr, DL4_UNSUPPORTED, "y_pred: expected float32"},
      {"metric", "AUC", "{}", y, p, nullptr, DL4_SHAPE_MISMATCH, "targets have shape (2, 2), predictions (2, 3)"},
      {"metric", "AUC", "{}", p, p, y, DL4_SHAPE_MISMATCH, "sample weights have shape (2, 2)"},
  };
  for (const auto &one : cases) {
    Own<dl4_tensor> out;
    const Refusal r =
        refusal(dl4_measure(nullptr, one.category, one.kind, one.options, one.y, one.p, one.w, out.out()));
    EXPECT_EQ(r.code, one.code) << r.message;
    EXPECT_NE(r.message.find(one.words), std::string::npos) << r.message;
    EXPECT_EQ(out.get(), nullptr);
  }
}

// x [B, T, 2] masked, a loss for each step, and accuracy's parts.
TEST(Measure, InAGraphCountsTheMaskOfThePredictions) {
  Own<dl4_graph> g, again;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node in[2] = {input(g, "y", {-1, -1, 2}), input(g, "x", {-1, -1, 2})}, pair[2] = {in[0], -1}, out[6];
  pair[1] = add(g, "Masking", nullptr, "{}", in[1]);
  ok(dl4_graph_add(g, "Loss", "mean", R"({"loss": "mae"})", nullptr, nullptr, pair, 2, &out[0], 1));
  ok(dl4_graph_add(g, "Loss", "each", R"({"loss": {"class_name": "mae", "config": {"reduction": null}}})", nullptr,
                   nullptr, pair, 2, &out[1], 1));
  ok(dl4_graph_add(g, "Metric", "metric", R"({"metric": "mae"})", nullptr, nullptr, pair, 2, &out[2], 3));
  ok(dl4_graph_add_mask(g, pair[1], &out[5]));
  ok(dl4_graph_build(g, in, 2, out, 6, m.out()));
  // As files hold it.
  Own<dl4_model> loaded;
  const std::string bytes = saved(m);
  ok(load_copy(nullptr, bytes.data(), static_cast<int64_t>(bytes.size()), nullptr, loaded.out()));
  for (const dl4_model *model : {m.get(), loaded.get()}) {
    Own<dl4_session> s;
    ok(dl4_session_create(model, nullptr, s.out()));
    auto y = tensor({1, 3, 2}, {1, 1, 1, 1, 1, 1}), x = tensor({1, 3, 2}, {2, 2, 0, 0, 4, 1});
    dl4_tensor *from[2] = {y, x}, *to[6] = {};
    ok(dl4_session_run(s, from, 2, to, 6, nullptr));
    Own<dl4_tensor> made[6];
    for (int i = 0; i < 6; ++i) made[i] = Own<dl4_tensor>(to[i]);
    EXPECT_EQ(floats(made[0]), std::vector<float>{1.25f});
    EXPECT_EQ(floats(made[1]), (std::vector<float>{1, 0, 1.5f}));
    EXPECT_FLOAT_EQ(floats(made[2])[0], 1.25f);
    EXPECT_FLOAT_EQ(floats(made[3])[0] / floats(made[4])[0], 1.25f);
    const auto *mask = static_cast<const uint8_t *>(dl4_tensor_data(made[5]));
    EXPECT_EQ(std::vector<int>(mask, mask + 3), (std::vector<int>{1, 0, 1}));
    EXPECT_EQ(dl4_tensor_dtype(made[5]), DL4_BOOL);
  }
}

TEST(Measure, LayersRefuseWhatIsNoLossOrMetric) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x[2] = {input(g, "x", {-1, 2}), input(g, "y", {-1, 2})}, out = 0;
  auto refused = [&](const char *kind, const char *a, int64_t n) {
    return refusal(dl4_graph_add(g, kind, "l", a, nullptr, nullptr, x, n, &out, 1)).message;
  };
  EXPECT_NE(refused("Loss", "{}", 2).find("attribute \"loss\" is missing"), std::string::npos);
  EXPECT_NE(refused("Loss", R"({"loss": null})", 2).find("\"loss\": expected a loss, got null"), std::string::npos);
  EXPECT_NE(refused("Metric", R"({"metric": null})", 2).find("\"metric\": expected a metric, got null"),
            std::string::npos);
  EXPECT_NE(refused("Metric", R"({"metric": "AUC"})", 2)
                .find("\"metric\": expected a mean over samples, which has a total and a count, got AUC"),
            std::string::npos);
  EXPECT_NE(refused("Loss", R"({"loss": "mse"})", 1).find("expected 2 to 3 inputs, got 1"), std::string::npos);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
