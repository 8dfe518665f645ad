// What is made of a caller's sizes is held to memory_limit before it is made; arguments that once went wrong.
#include <climits>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "capi/training.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

Own<dl4_context> limited(int64_t bytes) {
  Own<dl4_context> c;
  ok(dl4_context_create((R"({"threads": 1, "memory_limit": )" + std::to_string(bytes) + "}").c_str(), c.out()));
  return c;
}

// A float that stands for as many as dims say.
Own<dl4_tensor> repeated(const std::vector<int64_t> &dims) {
  static float one = 1;
  const std::vector<int64_t> strides(dims.size(), 0);
  Own<dl4_tensor> t;
  ok(dl4_tensor_wrap(nullptr, DL4_FLOAT32, static_cast<int32_t>(dims.size()), dims.data(), strides.data(), &one,
                     sizeof one, nullptr, nullptr, t.out()));
  return t;
}

void past_the_limit(dl4_error *e, const char *fragment) {
  Refusal r = refusal(e);
  EXPECT_EQ(r.code, DL4_OUT_OF_MEMORY) << r.message;
  EXPECT_NE(r.message.find(fragment), std::string::npos) << r.message;
}

// x [B, n] + y [B, n, 1]: [B, n, n].
struct Square {
  Own<dl4_context> c;
  Own<dl4_model> m;
  Own<dl4_session> s;
  explicit Square(int64_t limit, int64_t n) : c(limited(limit)) {
    Own<dl4_graph> g;
    ok(dl4_graph_create(c, g.out()));
    dl4_node x = input(g, "x", {-1, 1, n}), y = input(g, "y", {-1, n, 1}), in[2] = {x, y}, out = -1;
    ok(dl4_graph_add(g, "Add", nullptr, nullptr, nullptr, nullptr, in, 2, &out, 1));
    ok(dl4_graph_build(g, in, 2, &out, 1, m.out()));
    ok(dl4_session_create(m, nullptr, s.out()));
  }
};

TEST(MemoryLimit, HoldsForTheOutputsOfARun) {
  Square net(1 << 20, 512);
  auto x = tensor({1, 1, 512}), y = tensor({1, 512, 1});
  dl4_tensor *in[2] = {x, y}, *out = nullptr;
  ok(dl4_session_run(net.s, in, 2, &out, 1, nullptr));  // 1 MiB
  dl4_release(out);
  out = nullptr;
  auto x2 = tensor({2, 1, 512}), y2 = tensor({2, 512, 1}), yours = tensor({2, 512, 512});
  dl4_tensor *two[2] = {x2, y2};
  past_the_limit(dl4_session_run(net.s, two, 2, &out, 1, nullptr), "the outputs take 2097152 bytes");
  EXPECT_EQ(out, nullptr);
  out = yours;
  ok(dl4_session_run(net.s, two, 2, &out, 1, nullptr));  // memory of the caller's own
}

TEST(MemoryLimit, HoldsForTheJoinedOutputsOfPredict) {
  Square net(3 << 20, 512);
  for (int64_t rows : {1, 2}) {
    auto x = tensor({rows, 1, 512}), y = tensor({rows, 512, 1});
    dl4_tensor *in[2] = {x, y}, *out = nullptr;
    Own<dl4_dataset> d;
    ok(dl4_dataset_from_tensors(nullptr, in, 2, nullptr, 0, nullptr, 0, R"({"batch_size": 1})", d.out()));
    dl4_error *e = dl4_session_predict(net.s, d, nullptr, &out, 1);
    if (rows == 1)
      ok(e);
    else
      past_the_limit(e, "the memory limit is 3145728");  // the batches and all of them
    dl4_release(out);
  }
}

TEST(MemoryLimit, HoldsForDenseCopies) {
  auto c = limited(1 << 20);
  auto many = repeated({4, 1 << 20}), few = repeated({4, 4});
  Own<dl4_dataset> d;
  dl4_tensor *x = many, *y = few;
  past_the_limit(dl4_dataset_from_tensors(c, &x, 1, nullptr, 0, nullptr, 0, nullptr, d.out()), "dense copies");
  past_the_limit(dl4_dataset_from_tensors(c, &y, 1, &x, 1, nullptr, 0, nullptr, d.out()), "dense copies");
  ok(dl4_dataset_from_tensors(c, &y, 1, nullptr, 0, nullptr, 0, nullptr, d.out()));

  Own<dl4_graph> g;
  ok(dl4_graph_create(c, g.out()));
  dl4_node n = -1;
  past_the_limit(dl4_graph_add_constant(g, nullptr, many, &n), "the constants of the graph");
  auto half = repeated({100'000});
  for (int i = 0; i < 2; ++i) ok(dl4_graph_add_constant(g, nullptr, half, &n));
  past_the_limit(dl4_graph_add_constant(g, nullptr, half, &n), "the constants of the graph would take 1200000 bytes");

  auto m = small_net(c);
  Own<dl4_session> s;
  Own<dl4_tensor> out;
  ok(dl4_session_create(m, nullptr, s.out()));
  dl4_tensor *in = few;
  ok(dl4_session_run(s, &in, 1, out.out(), 1, nullptr));
  auto tall = repeated({100'000, 4});
  auto answers = tensor({100'000, 3});
  dl4_tensor *slot = answers;
  in = tall;
  Refusal r = refusal(dl4_session_run(s, &in, 1, &slot, 1, nullptr));
  EXPECT_EQ(r.code, DL4_OUT_OF_MEMORY) << r.message;

  auto wide = repeated({1 << 20, 1 << 20});  // 4 TiB, were it copied before it is compared
  EXPECT_EQ(refusal(dl4_model_set_weight(m, "hidden/kernel", wide)).code, DL4_SHAPE_MISMATCH);
}

TEST(MemoryLimit, HoldsForShuffledBatches) {
  auto c = limited(1 << 20);
  auto m = small_net(c);
  auto t = trainer(m);
  auto in = tensor({40'000, 4}), target = tensor({40'000, 3});
  dl4_tensor *x = in, *y = target;
  for (const char *options : {R"({"batch_size": 32})", R"({"batch_size": 30000})", R"({"shuffle": false})"}) {
    Own<dl4_dataset> d;
    ok(dl4_dataset_from_tensors(c, &x, 1, &y, 1, nullptr, 0, options, d.out()));
    dl4_error *e = dl4_trainer_fit(t, d, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    if (std::string(options).find("30000") == std::string::npos)
      ok(e);
    else
      past_the_limit(e, "a shuffled batch");
  }
}

// ---- Batches ------------------------------------------------------------------------------------------------------

TEST(Batches, OfMoreRowsThanThereAreAreOneBatch) {
  auto m = small_net();
  auto t = trainer(m);
  auto x = tensor({4, 4}, numbers(16)), y = tensor({4, 3}, numbers(12));
  for (int64_t size : {int64_t{4}, int64_t{1'000'000}, int64_t{1} << 40, INT64_MAX}) {
    auto d = dataset(x, y, R"({"batch_size": )" + std::to_string(size) + "}");
    Own<dl4_blob> text;
    ok(dl4_describe(d, DL4_FORMAT_JSON, text.out()));
    EXPECT_EQ(json::parse(dl4_blob_data(text)).at("batches"), 1) << size;
    int64_t batches = 0;
    auto count = [](void *user, int32_t event, int64_t, int64_t total, const double *, int64_t) {
      if (event == DL4_BATCH_END) *static_cast<int64_t *>(user) += total;
      return int32_t{0};
    };
    ok(dl4_trainer_fit(t, d, nullptr, nullptr, count, &batches, nullptr, nullptr));
    EXPECT_EQ(batches, 1) << size;
    auto dropping = dataset(x, y, R"({"drop_remainder": true, "batch_size": )" + std::to_string(size) + "}");
    ok(dl4_describe(dropping, DL4_FORMAT_JSON, text.out()));
    EXPECT_EQ(json::parse(dl4_blob_data(text)).at("batches"), size == 4 ? 1 : 0) << size;
  }
}

// ---- Arguments ----------------------------------------------------------------------------------------------------

TEST(Arguments, ACountPastTheBoundIsRefusedBeforeAnythingIsWritten) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4}), y = 77;
  dl4_layer layer = -1;
  ok(dl4_graph_add_layer(g, "Dense", nullptr, R"({"units": 2})", nullptr, &layer));
  const int64_t many = int64_t{1} << 31;
  for (dl4_error *e : {dl4_graph_add(g, "Dense", nullptr, R"({"units": 2})", nullptr, nullptr, &x, 1, &y, many),
                       dl4_graph_call(g, layer, nullptr, nullptr, &x, 1, &y, many)}) {
    Refusal r = refusal(e);
    EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
    EXPECT_NE(r.message.find("a count of 2147483648"), std::string::npos) << r.message;
    EXPECT_EQ(y, 77);
  }
}

TEST(Arguments, FlagsAreNoNodesAndNodesNoFlags) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 6, 4}), in[2] = {x, x}, y = -1;
  for (int64_t n : {0, 1}) {
    for (const char *key : {"use_causal_mask", "return_attention_scores", "training"}) {
      const auto call = refs(key, std::vector<dl4_node>(static_cast<size_t>(n), x));
      Refusal r = refusal(dl4_graph_add(g, "Attention", nullptr, nullptr, nullptr, call, in, 2, &y, 1));
      EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
      EXPECT_NE(r.message.find(std::string(key) + "\": expected true or false, got symbolic values"), std::string::npos)
          << r.message;
    }
  }
  Refusal r = refusal(dl4_graph_add(g, "LSTM", nullptr, R"({"units": 2})", R"({"mask": true})", nullptr, &x, 1, &y, 1));
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("\"mask\": expected symbolic values"), std::string::npos) << r.message;
  ok(dl4_graph_add(g, "LSTM", nullptr, R"({"units": 2})", R"({"mask": null, "training": null})", nullptr, &x, 1, &y,
                   1));
}

TEST(Arguments, ANameIsAString) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4}), y = -1;
  for (const char *config :
       {R"({"units": 2, "name": []})", R"({"units": 2, "name": 3})",
        R"({"units": 2, "kernel_initializer": {"class_name": "Zeros", "config": {"name": []}}})"}) {
    Refusal r = refusal(dl4_graph_add(g, "Dense", nullptr, config, nullptr, nullptr, &x, 1, &y, 1));
    EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT) << config;
    EXPECT_NE(r.message.find("\"name\": expected a string"), std::string::npos) << r.message;
  }
  add(g, "Dense", nullptr, R"({"units": 2, "name": null})", x);
  add(g, "Dense", nullptr, R"({"units": 2, "name": "mine"})", x);
}

// As Keras does; but a metric is never mistaken for the loss, nor for what is measured in validation.
TEST(Metrics, OfOneNameAreToldApart) {
  auto m = small_net();
  auto named = [](const char *name) {
    return std::string(R"({"class_name": "MeanSquaredError", "config": {"name": ")") + name + "\"}}";
  };
  auto t = trainer(m, R"({"optimizer": "SGD", "loss": "MeanSquaredError", "metrics": ["mae", "mae", )" + named("loss") +
                          ", " + named("mae") + ", " + named("val_mae") + ", " + named("epoch") + "]}");
  Own<dl4_blob> text;
  EXPECT_EQ(metrics_of(t),
            (std::vector<std::string>{"loss", "mae", "mae_1", "loss_1", "mae_2", "val_mae_3", "epoch_1"}));
  auto x = tensor({8, 4}, numbers(32)), y = tensor({8, 3}, numbers(24));
  auto d = dataset(x, y);
  ok(dl4_trainer_fit(t, d, d, R"({"epochs": 2})", nullptr, nullptr, nullptr, text.out()));
  const json history = json::parse(dl4_blob_data(text));
  EXPECT_EQ(history.size(), 1u + 2 * 7);
  for (const auto &[name, list] : history.items()) EXPECT_EQ(list.size(), 2u) << name;
}

using Epochs = Folder;

TEST_F(Epochs, AreBoundedByWhatACheckpointTells) {
  auto m = small_net();
  auto t = trainer(m);
  auto x = tensor({4, 4}, numbers(16)), y = tensor({4, 3}, numbers(12));
  auto d = dataset(x, y);
  auto fit = [&](const std::string &options) {
    return refusal(dl4_trainer_fit(t, d, nullptr, options.c_str(), nullptr, nullptr, nullptr, nullptr));
  };
  for (const char *key : {"epochs", "initial_epoch"}) {
    for (int64_t n : {int64_t{1} << 53, INT64_MAX}) {
      Refusal r = fit("{\"" + std::string(key) + "\": " + std::to_string(n) + "}");
      EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
      EXPECT_NE(r.message.find("at most 9007199254740991"), std::string::npos) << r.message;
    }
  }
  EXPECT_EQ(fit(R"({"epochs": 9007199254740991, "initial_epoch": 9007199254740990})").code, 0);
  double epoch = 0;
  ok(dl4_trainer_get_number(t, "epoch", &epoch));
  EXPECT_EQ(epoch, 9007199254740991.0);
  ok(dl4_trainer_save(t, path("checkpoint").c_str()));
  ok(dl4_trainer_load(t, path("checkpoint").c_str()));
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
