// Weights into a model that exists, and training that goes on in Keras's files.
#include <dl4/dl4.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "capi/net.hpp"
#include "capi/use.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

std::string data(const std::string &name) { return DL4_SOURCE_DIR "/tests/io/data/" + name; }

Own<dl4_model> model(const std::string &path) {
  dl4_model *m = nullptr;
  ok(dl4_model_load(nullptr, path.c_str(), nullptr, &m));
  return m;
}

std::vector<float> weight(const dl4_model *m, const char *name) {
  Own<dl4_tensor> t;
  ok(dl4_model_get_weight(m, name, t.out()));
  return floats(t);
}

void set_zeros(dl4_model *m) {
  for (int64_t i = 0; i < dl4_port_count(m, DL4_WEIGHTS); ++i) {
    Own<dl4_tensor> t;
    ok(dl4_model_get_weight(m, dl4_port_name(m, DL4_WEIGHTS, i), t.out()));
    std::fill_n(static_cast<float *>(dl4_tensor_data(t)), dl4_tensor_bytes(t) / 4, 0.0f);
    ok(dl4_model_set_weight(m, dl4_port_name(m, DL4_WEIGHTS, i), t));
  }
}

void expect_refusal(dl4_error *e, int32_t code, const std::string &words) {
  const Refusal r = refusal(e);
  EXPECT_EQ(r.code, code) << r.message;
  EXPECT_NE(r.message.find(words), std::string::npos) << r.message;
}

using LoadWeights = Folder;

TEST_F(LoadWeights, EveryFormatThatIsWrittenIsReadIntoAModel) {
  const auto from = model(data("sequential.keras")), to = model(data("sequential.keras"));
  for (const char *name : {"a.keras", "a.weights.h5", "a.npz", "a.safetensors"}) {
    ok(dl4_model_save(from, path(name).c_str(), nullptr));
    set_zeros(to);
    ok(dl4_model_load_weights(to, path(name).c_str(), nullptr));
    for (int64_t i = 0; i < dl4_port_count(from, DL4_WEIGHTS); ++i) {
      const char *w = dl4_port_name(from, DL4_WEIGHTS, i);
      EXPECT_EQ(weight(from, w), weight(to, w)) << name << ' ' << w;
    }
  }
}

TEST_F(LoadWeights, ASessionMadeAfterItSeesThem) {
  const auto m = model(data("sequential.keras"));
  Own<dl4_tensor> x = tensor({1, 6, 6, 2}, numbers(72)), y;
  const auto run = [&] {
    Own<dl4_session> s;
    ok(dl4_session_create(m, nullptr, s.out()));
    dl4_tensor *in = x;
    ok(dl4_session_run(s, &in, 1, y.out(), 1, nullptr));
    return floats(y);
  };
  const auto before = run();
  set_zeros(m);
  EXPECT_NE(run(), before);
  ok(dl4_model_load_weights(m, data("sequential.weights.h5").c_str(), nullptr));
  EXPECT_EQ(run(), before);
}

TEST_F(LoadWeights, WhatDoesNotFitChangesNothing) {
  const auto m = model(data("sequential.keras"));
  const auto before = weight(m, "dense/kernel");
  const auto load = [&](const std::string &from, const char *options = "{}") {
    return dl4_model_load_weights(m, from.c_str(), options);
  };
  expect_refusal(load(path("no")), DL4_NOT_FOUND, "no");
  expect_refusal(load(data("functional.keras")), DL4_NOT_FOUND, "weight \"conv2d/kernel\"");
  expect_refusal(load(data("arrays.npz")), DL4_NOT_FOUND, "the file has no tensor \"conv2d/kernel\"");
  expect_refusal(load(data("sequential.h5"), R"({"partial": true})"), DL4_UNSUPPORTED, "\"partial\"");
  expect_refusal(load(data("arrays.npz"), R"({"names": {"dense/kernal": "<f4"}})"), DL4_NOT_FOUND, "dense/kernel");
  expect_refusal(load(data("arrays.npz"), R"({"names": []})"), DL4_INVALID_ARGUMENT, "names");
  expect_refusal(load(data("arrays.npz"), R"({"name": {}})"), DL4_INVALID_ARGUMENT, "did you mean \"names\"");
  EXPECT_EQ(weight(m, "dense/kernel"), before);
}

// With its path, which is neither an attribute nor an argument.
TEST_F(LoadWeights, AFileOfAnotherFormatIsSaidToBeOne) {
  const std::string file = path("net.nam");
  std::ofstream(file) << R"({"version": "0.5.4", "architecture": "LSTM", "weights": [1.0, 2.0]})";
  const auto m = model(data("sequential.keras"));
  Own<dl4_model> none;
  for (dl4_error *e :
       {dl4_model_load(nullptr, file.c_str(), nullptr, none.out()), dl4_model_load_weights(m, file.c_str(), nullptr)}) {
    const Refusal r = refusal(e);
    EXPECT_EQ(r.code, DL4_CORRUPT_FILE);
    EXPECT_NE(r.message.find('"' + file + "\": expected "), std::string::npos) << r.message;
    EXPECT_NE(r.message.find(", got JSON"), std::string::npos) << r.message;
    const json detail = json::parse(r.detail);
    EXPECT_EQ(detail["path"], file) << r.detail;
    EXPECT_FALSE(detail.contains("attribute")) << r.detail;
  }
}

// A trainer, and batches for it.
struct Training {
  Own<dl4_model> m;
  Own<dl4_trainer> t;
  Own<dl4_tensor> x = tensor({4, 6, 6, 2}, numbers(288)), y = tensor({4, 2}, numbers(8));

  explicit Training(const std::string &path, const char *options = nullptr) : m(model(path)) {
    ok(dl4_trainer_create(m, options, t.out()));
  }
  std::vector<double> steps(int n) {
    std::vector<double> losses;
    for (int i = 0; i < n; ++i) {
      double loss = 0;
      dl4_tensor *in = x, *out = y;
      ok(dl4_trainer_step(t, &in, 1, &out, 1, nullptr, 0, &loss, 1, nullptr));
      losses.push_back(loss);
    }
    return losses;
  }
};

using KerasTraining = Folder;

TEST_F(KerasTraining, OptionsComeFromTheFile) {
  Training here(data("sequential.keras"));
  const json options = json::parse(described(here.t, DL4_FORMAT_JSON)).at("options");
  EXPECT_EQ(options.at("optimizer").at("class_name"), "Adam");
  EXPECT_EQ(options.at("loss"), "mse");
  const auto plain = model(data("functional.keras"));  // was not compiled
  dl4_trainer *t = nullptr;
  expect_refusal(dl4_trainer_create(plain, nullptr, &t), DL4_INVALID_ARGUMENT, "not compiled in Keras");
}

TEST_F(KerasTraining, GoesOnBitForBitFromAFileOfOurs) {
  for (const char *optimizer :
       {R"({"class_name": "SGD", "config": {"learning_rate": 0.0001}})",
        R"({"class_name": "SGD", "config": {"learning_rate": 0.0001, "momentum": 0.9}})", R"("Adam")", R"("Nadam")",
        R"("Adamax")", R"({"class_name": "Adam", "config": {"amsgrad": true, "use_ema": true}})", R"("Adadelta")",
        R"("Adagrad")", R"({"class_name": "RMSprop", "config": {"momentum": 0.5, "centered": true}})", R"("Ftrl")",
        R"("Lion")", R"("Lamb")", R"("AdamW")", R"("Adafactor")", R"("Muon")",
        R"({"class_name": "SGD", "config": {"learning_rate": {"class_name": "ExponentialDecay",
            "config": {"initial_learning_rate": 0.0001, "decay_steps": 2, "decay_rate": 0.5}}}})"}) {
    SCOPED_TRACE(optimizer);
    const std::string options = std::string(R"({"loss": "mse", "metrics": ["mae"], "optimizer": )") + optimizer + "}";
    Training one(data("sequential.keras"), options.c_str());
    one.steps(3);
    ok(dl4_trainer_save(one.t, path("a.keras").c_str()));
    Training other(path("a.keras"));
    ok(dl4_trainer_load(other.t, path("a.keras").c_str()));
    EXPECT_EQ(one.steps(4), other.steps(4));
    double updates = 0;
    ok(dl4_trainer_get_number(other.t, "iterations", &updates));
    EXPECT_EQ(updates, 7);
  }
}

TEST_F(KerasTraining, WhatKerasHasNoWordsForIsRefused) {
  const auto refused = [&](const char *options, int32_t code, const char *words) {
    Training here(data("sequential.keras"), options);
    expect_refusal(dl4_trainer_save(here.t, path("a.keras").c_str()), code, words);
    EXPECT_FALSE(std::filesystem::exists(path("a.keras")));
  };
  refused(R"({"optimizer": {"class_name": "AdamW", "config": {}}, "loss": "mse",
              "exclude_from_weight_decay": ["bias"]})",
          DL4_UNSUPPORTED, "exclude_from_weight_decay");
  refused(R"({"optimizer": {"class_name": "SGD", "config": {"gradient_accumulation_steps": 2}}, "loss": "mse"})",
          DL4_UNSUPPORTED, "gradient_accumulation_steps");
}

TEST_F(KerasTraining, AFileOfAnotherOptimizerOrModelIsRefused) {
  Training adam(data("sequential.keras"));
  ok(dl4_trainer_save(adam.t, path("adam.keras").c_str()));
  Training sgd(data("sequential.keras"), R"({"optimizer": "SGD", "loss": "mse"})");
  const auto before = weight(sgd.m, "dense/kernel");
  expect_refusal(dl4_trainer_load(sgd.t, path("adam.keras").c_str()), DL4_SHAPE_MISMATCH,
                 "the optimizer has 2 variables, the file");
  ok(dl4_model_save(sgd.m, path("plain.keras").c_str(), nullptr));
  expect_refusal(dl4_trainer_load(sgd.t, path("plain.keras").c_str()), DL4_NOT_FOUND,
                 "the file has no state of an optimizer");
  EXPECT_EQ(weight(sgd.m, "dense/kernel"), before);
  adam.steps(1);
  expect_refusal(dl4_trainer_load(adam.t, data("sequential.keras").c_str()), DL4_SHAPE_MISMATCH,
                 "variables, the file 2");
}

// Keras makes an optimizer's slots with its first step.
TEST_F(KerasTraining, BeginsWhereAModelWasCompiledOnly) {
  Training here(data("sequential.keras")), other(data("sequential.keras"));
  ok(dl4_trainer_load(here.t, data("sequential.keras").c_str()));
  EXPECT_EQ(here.steps(2), other.steps(2));
}

TEST_F(KerasTraining, ACheckpointOfAFitMayBeKerass) {
  Training here(data("sequential.keras"));
  Own<dl4_dataset> all;
  dl4_tensor *in = here.x, *out = here.y;
  ok(dl4_dataset_from_tensors(nullptr, &in, 1, &out, 1, nullptr, 0, nullptr, all.out()));
  const json how{{"epochs", 2},
                 {"callbacks",
                  {{{"class_name", "ModelCheckpoint"}, {"config", {{"filepath", path("{epoch}.keras")}}}},
                   {{"class_name", "ModelCheckpoint"},
                    {"config", {{"filepath", path("last.weights.h5")}, {"save_weights_only", true}}}}}}};
  ok(dl4_trainer_fit(here.t, all, nullptr, how.dump().c_str(), nullptr, nullptr, nullptr, nullptr));
  Training again(path("2.keras"));
  ok(dl4_trainer_load(again.t, path("2.keras").c_str()));
  EXPECT_EQ(here.steps(2), again.steps(2));
  EXPECT_TRUE(std::filesystem::exists(path("1.keras")));
  ok(dl4_model_load_weights(again.m, path("last.weights.h5").c_str(), nullptr));
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
