// The four nets of capi/examples/four_layers.c against the same nets in Keras (fashion_keras.py): the same first
// weights, the same batches, the full Fashion-MNIST set, three seeds.
//   DL4_FASHION_MNIST    the folder of the four .gz files; without it these tests are skipped
//   DL4_FASHION_START    a folder to export first weights and orders to, for fashion_keras.py
//   DL4_FASHION_RESULT   a JSON file to put our results in: how fashion_dl4.json is made
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <thread>

#include "capi/net.hpp"
#include "models/fashion.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using Json = nlohmann::ordered_json;
constexpr int64_t batch = 128, epochs = 10, seeds = 3, train_samples = 60000;

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

// ---- Data ----------------------------------------------------------------------------------------------------------
struct Batch {
  Own<dl4_tensor> x, y;
};

Batch pick(const Samples &from, const int32_t *order, int64_t n, bool image) {
  std::vector<int64_t> dims{n, side, side};
  if (image) dims.push_back(1);
  Batch b{tensor(dims), tensor({n}, {}, DL4_INT32)};
  auto *x = static_cast<float *>(dl4_tensor_data(b.x));
  auto *y = static_cast<int32_t *>(dl4_tensor_data(b.y));
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(order[i]);
    for (size_t p = 0; p < pixels; ++p) *x++ = static_cast<float>(from.images[at * pixels + p]) / 255.0f;
    *y++ = from.labels[at];
  }
  return b;
}

// A new order of all samples per epoch, the same on every machine (std::shuffle is not).
std::vector<int32_t> order_of(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int32_t> all, epoch(train_samples);
  std::iota(epoch.begin(), epoch.end(), 0);
  for (int64_t e = 0; e < epochs; ++e) {
    for (size_t i = epoch.size() - 1; i > 0; --i) std::swap(epoch[i], epoch[random() % (i + 1)]);
    all.insert(all.end(), epoch.begin(), epoch.end());
  }
  return all;
}

// ---- Nets ----------------------------------------------------------------------------------------------------------
const char *const nets[] = {"dense", "conv", "lstm", "attention"};

bool takes_image(const std::string &net) { return net == "dense" || net == "conv"; }

Json layer(const char *kind, const char *name, Json attributes, std::vector<const char *> in) {
  Json inputs = Json::array();
  for (const char *each : in) inputs.push_back({each, 0, 0});
  return {{"class_name", kind}, {"name", name}, {"config", attributes}, {"calls", {{{"inputs", inputs}}}}};
}

Own<dl4_model> build(const std::string &net, int64_t seed) {
  Json layers = Json::array(), shape{nullptr, side, side};
  if (takes_image(net)) shape.push_back(1);
  layers.push_back({{"class_name", "Input"}, {"name", "x"}, {"config", {{"shape", shape}, {"dtype", "float32"}}}});
  const char *last = "pool";
  if (net == "dense") {
    layers.push_back(layer("Flatten", "flatten", Json::object(), {"x"}));
    layers.push_back(layer("Dense", last = "hidden", {{"units", 128}, {"activation", "relu"}}, {"flatten"}));
  } else if (net == "conv") {
    Json conv{{"filters", 16}, {"kernel_size", 3}, {"activation", "relu"}};
    layers.push_back(layer("Conv2D", "conv1", conv, {"x"}));
    layers.push_back(layer("MaxPooling2D", "pool1", {{"pool_size", 2}}, {"conv1"}));
    conv["filters"] = 32;
    layers.push_back(layer("Conv2D", "conv2", conv, {"pool1"}));
    layers.push_back(layer("MaxPooling2D", "pool2", {{"pool_size", 2}}, {"conv2"}));
    layers.push_back(layer("Flatten", last = "flatten", Json::object(), {"pool2"}));
  } else if (net == "lstm") {
    layers.push_back(layer("LSTM", last = "lstm", {{"units", 64}}, {"x"}));
  } else {
    layers.push_back(layer("Dense", "query", {{"units", 64}}, {"x"}));
    layers.push_back(layer("Dense", "key", {{"units", 64}}, {"x"}));
    layers.push_back(layer("Dense", "value", {{"units", 64}, {"activation", "relu"}}, {"x"}));
    layers.push_back(layer("Attention", "attention", Json::object(), {"query", "value", "key"}));
    layers.push_back(layer("GlobalAveragePooling1D", last, Json::object(), {"attention"}));
  }
  layers.push_back(layer("Dense", "output", {{"units", 10}, {"activation", "softmax"}}, {last}));
  const Json all{
      {"format", 1}, {"name", net}, {"layers", layers}, {"inputs", {{"x", 0, 0}}}, {"outputs", {{"output", 0, 0}}}};

  Own<dl4_context> context;
  Own<dl4_graph> graph;
  Own<dl4_model> model;
  ok(dl4_context_create(Json{{"seed", seed}}.dump().c_str(), context.out()));
  ok(dl4_graph_create(context, graph.out()));
  ok(dl4_graph_add_json(graph, all.dump().c_str()));
  ok(dl4_graph_build(graph, nullptr, 0, nullptr, 0, model.out()));
  return model;
}

// ---- Training ------------------------------------------------------------------------------------------------------
Json train(const std::string &net, int64_t seed, const Samples &learn, const Samples &test) {
  const Own<dl4_model> model = build(net, seed);
  const std::vector<int32_t> order = order_of(static_cast<uint64_t>(seed));
  Own<dl4_trainer> trainer;
  ok(dl4_trainer_create(model, R"({"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.001}},
                                         "loss": "SparseCategoricalCrossentropy", "metrics": ["accuracy"]})",
                        trainer.out()));
  Json losses = Json::array();
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t epoch = 0; epoch < epochs && !testing::Test::HasFailure(); ++epoch) {
    double sum = 0;
    for (int64_t done = 0, n; done < train_samples && !testing::Test::HasFailure(); done += n) {
      n = std::min(batch, train_samples - done);
      const Batch b = pick(learn, &order[static_cast<size_t>(epoch * train_samples + done)], n, takes_image(net));
      dl4_tensor *x = b.x, *y = b.y;
      double loss = 0;
      ok(dl4_trainer_step(trainer, &x, 1, &y, 1, nullptr, 0, &loss, 1, nullptr));
      sum += loss * static_cast<double>(n);
    }
    losses.push_back(sum / static_cast<double>(train_samples));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;

  std::vector<int32_t> all(test.labels.size());
  std::iota(all.begin(), all.end(), 0);
  const Batch b = pick(test, all.data(), static_cast<int64_t>(all.size()), takes_image(net));
  dl4_tensor *x = b.x, *y = b.y;
  Own<dl4_dataset> data;
  double metrics[2] = {0, 0};
  ok(dl4_dataset_from_tensors(nullptr, &x, 1, &y, 1, nullptr, 0, R"({"batch_size": 128})", data.out()));
  ok(dl4_trainer_evaluate(trainer, data, nullptr, metrics, 2, nullptr));
  return {{"accuracy", metrics[1]}, {"loss", losses}, {"seconds", std::round(took.count() * 10) / 10}};
}

Json read_json(const std::string &path) {
  std::ifstream file(path);
  return file ? Json::parse(file) : Json::object();
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

class FashionMnist : public testing::TestWithParam<const char *> {};

TEST(FashionMnistStart, Export) {
  const std::string folder = environment("DL4_FASHION_START");
  if (folder.empty()) GTEST_SKIP() << "set DL4_FASHION_START to a folder to export first weights and orders to";
  std::filesystem::create_directories(folder);
  for (int64_t seed = 1; seed <= seeds; ++seed) {
    for (const std::string net : nets) {
      ok(dl4_model_save(build(net, seed), (folder + "/" + net + "_" + std::to_string(seed) + ".safetensors").c_str(),
                        nullptr));
    }
    const std::vector<int32_t> order = order_of(static_cast<uint64_t>(seed));
    std::ofstream file(folder + "/order_" + std::to_string(seed) + ".bin", std::ios::binary);
    file.write(reinterpret_cast<const char *>(order.data()), static_cast<std::streamsize>(order.size() * 4));
    EXPECT_TRUE(file.flush());
  }
}

TEST_P(FashionMnist, IsLearntAsWellAsByKeras) {
  const std::string net = GetParam(), folder = environment("DL4_FASHION_MNIST"),
                    result = environment("DL4_FASHION_RESULT");
  if (folder.empty()) GTEST_SKIP() << "set DL4_FASHION_MNIST to the folder of the full Fashion-MNIST set";
  const Samples learn(folder, "train", train_samples), test(folder, "t10k", 10000);

  Json ours;
  std::vector<double> accuracies;
  for (int64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    const Json run = train(net, seed, learn, test);
    ours["seeds"][std::to_string(seed)] = run;
    accuracies.push_back(run["accuracy"]);
    std::cout << net << " seed " << seed << ": " << accuracies.back() << " in " << run["seconds"] << " s" << std::endl;
  }
  ASSERT_EQ(accuracies.size(), static_cast<size_t>(seeds));
  const auto [low, high] = std::minmax_element(accuracies.begin(), accuracies.end());
  const double mean = std::accumulate(accuracies.begin(), accuracies.end(), 0.0) / static_cast<double>(seeds);
  ours["mean"] = mean;
  ours["spread"] = *high - *low;
  if (!result.empty()) {
    Json all = read_json(result);
    all["dl4"] = dl4::version();
    all["processor"] = processor();
    all["cores"] = std::thread::hardware_concurrency();
    all["epochs"] = epochs;
    all["batch"] = batch;
    all["nets"][net] = ours;
    std::ofstream(result) << std::setw(1) << all << "\n";
  }

  const Json keras = read_json(DL4_SOURCE_DIR "/tests/models/fashion_keras.json").at("nets").at(net);
  EXPECT_GE(mean, keras.at("mean").get<double>() - 0.005);
  for (const auto &[seed, run] :
       ours["seeds"].items()) {  // on the same path at first, before rounding leads them apart
    const double expected = keras.at("seeds").at(seed).at("loss").at(0);
    EXPECT_NEAR(run["loss"][0].get<double>(), expected, 0.01 * expected) << "first epoch, seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Net, FashionMnist, testing::ValuesIn(nets),
                         [](const auto &net) { return std::string(net.param); });

}  // namespace
}  // namespace dl4_test::DL4_FILE
