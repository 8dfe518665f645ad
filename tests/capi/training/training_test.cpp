// What a program of one's own does with a trainer: gradients and weights both ways, freezing, losses made of layers,
// fits that stop, fail, start afresh and are resumed.
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "capi/training.hpp"
#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

const char *const adam = R"({"optimizer": "Adam", "loss": "MeanSquaredError"})";

Own<dl4_tensor> weight(const dl4_model *m, const char *name) {
  Own<dl4_tensor> w;
  ok(dl4_model_get_weight(m, name, w.out()));
  return w;
}

std::vector<float> weights(const dl4_model *m) { return floats(weight(m, "*")); }

void set(dl4_model *m, const std::vector<float> &all) {
  ok(dl4_model_set_weight(m, "*", tensor({static_cast<int64_t>(all.size())}, all)));
}

std::vector<float> gradient(const dl4_trainer *t, const char *name = "*") {
  Own<dl4_tensor> g;
  ok(dl4_trainer_get_gradient(t, name, g.out()));
  return floats(g);
}

Own<dl4_model> copy(const dl4_model *m) {
  Own<dl4_model> c;
  ok(dl4_model_clone(m, c.out()));
  return c;
}

// Rows [first, first + n) of 16 inputs and targets of small_net().
struct Rows {
  Own<dl4_tensor> x, y;
  Rows(int64_t first, int64_t n) {
    const auto xs = numbers(16 * 4 + 16 * 3);
    x = tensor({n, 4}, {xs.begin() + first * 4, xs.begin() + (first + n) * 4});
    y = tensor({n, 3}, {xs.begin() + 64 + first * 3, xs.begin() + 64 + (first + n) * 3});
  }
  void step(dl4_trainer *t) const {
    dl4_tensor *in = x, *to = y;
    ok(dl4_trainer_step(t, &in, 1, &to, 1, nullptr, 0, nullptr, 0, nullptr));
  }
  void accumulate(dl4_trainer *t) const {
    dl4_tensor *in = x, *to = y;
    ok(dl4_trainer_accumulate(t, &in, 1, &to, 1, nullptr, 0, nullptr, 0, nullptr));
  }
};

void near(const std::vector<float> &a, const std::vector<float> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-6) << i;
}

double number(const dl4_trainer *t, const char *key) {
  double v = -1;
  ok(dl4_trainer_get_number(t, key, &v));
  return v;
}

json facts(const dl4_trainer *t) { return json::parse(described(t, DL4_FORMAT_JSON)); }

// ---- Gradients and weights both ways --------------------------------------------------------------------------------

TEST(Training, DataParallelEqualsTheJointBatch) {
  auto whole = small_net(nullptr, "linear"), a = copy(whole), b = copy(whole);
  auto joint = trainer(whole, adam), left = trainer(a, adam), right = trainer(b, adam);
  const Rows all(0, 16), first(0, 8), second(8, 8);
  for (int i = 0; i < 10; ++i) {
    all.step(joint);
    first.accumulate(left);
    second.accumulate(right);
    auto mean = gradient(left);
    const auto other = gradient(right);
    for (size_t k = 0; k < mean.size(); ++k) mean[k] = (mean[k] + other[k]) / 2;
    auto block = tensor({static_cast<int64_t>(mean.size())}, mean);
    for (dl4_trainer *t : {left.get(), right.get()}) {
      ok(dl4_trainer_set_gradient(t, "*", block));
      ok(dl4_trainer_apply(t));
    }
  }
  near(weights(a), weights(whole));
  EXPECT_EQ(weights(a), weights(b));
}

TEST(Training, FederatedAveragingStartsEachRoundFromTheMean) {
  auto a = small_net(nullptr, "linear"), b = copy(a);
  auto left = trainer(a), right = trainer(b);
  const Rows first(0, 8), second(8, 8);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) {
      first.step(left);
      second.step(right);
    }
    auto mean = weights(a);
    const auto other = weights(b);
    EXPECT_NE(mean, other);
    for (size_t k = 0; k < mean.size(); ++k) mean[k] = (mean[k] + other[k]) / 2;
    set(a, mean);
    set(b, mean);
    EXPECT_EQ(weights(a), mean);
  }
  first.step(left);
  first.step(right);
  EXPECT_EQ(weights(a), weights(b));
  EXPECT_EQ(number(left, "iterations"), 13);
}

TEST(Training, AnOptimizerOfOnesOwnIsAsGoodAsTheLibrarys) {
  auto a = small_net(nullptr, "linear"), b = copy(a);
  auto own = trainer(a), theirs = trainer(b, R"({"loss": "MeanSquaredError",
           "optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.1, "momentum": 0.9}}})");
  const Rows rows(0, 16);
  std::vector<float> w = weights(a), v(w.size());
  for (int i = 0; i < 10; ++i) {
    rows.accumulate(own);
    const auto g = gradient(own);
    for (size_t k = 0; k < w.size(); ++k) w[k] += v[k] = 0.9f * v[k] - 0.1f * g[k];
    set(a, w);
    ok(dl4_trainer_zero_gradients(own));
    rows.step(theirs);
  }
  near(w, weights(b));
}

TEST(Training, AGradientGoesInAsItCameOut) {
  auto m = small_net();
  auto t = trainer(m, adam);
  Rows(0, 4).accumulate(t);
  Rows(4, 4).accumulate(t);
  Rows(8, 4).accumulate(t);
  const auto all = gradient(t);
  ok(dl4_trainer_set_gradient(t, "*", tensor({67}, all)));
  EXPECT_EQ(gradient(t), all);
  const auto bias = gradient(t, "answer/bias");
  ok(dl4_trainer_add_gradient(t, "answer/bias", tensor({3}, {1, 2, 3})));
  near(gradient(t, "answer/bias"), {bias[0] + 1, bias[1] + 2, bias[2] + 3});
  ok(dl4_trainer_set_gradient(t, "answer/bias", tensor({3}, bias)));
  EXPECT_EQ(gradient(t), all);

  ok(dl4_trainer_zero_gradients(t));
  EXPECT_EQ(refusal(dl4_trainer_apply(t)).code, DL4_INVALID_ARGUMENT);
  ok(dl4_trainer_set_gradient(t, "answer/bias", tensor({3}, {1, 2, 3})));
  auto only = gradient(t);
  EXPECT_EQ(std::vector<float>(only.end() - 3, only.end()), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(std::vector<float>(only.begin(), only.end() - 3), std::vector<float>(64));
  ok(dl4_trainer_apply(t));
}

TEST(Training, GradientsThatDoNotFitAreRefused) {
  auto m = small_net();
  auto t = trainer(m, adam);
  Rows(0, 4).accumulate(t);
  const auto before = gradient(t, "hidden/kernel");
  struct {
    const char *weight;
    Own<dl4_tensor> v;
    int32_t code;
    const char *fragment;
  } cases[] = {
      {"*", tensor({66}), DL4_SHAPE_MISMATCH,
       "gradient of all trainable weights: expected float32 (67,), got float32 (66,)"},
      {"answer/bias", tensor({4}), DL4_SHAPE_MISMATCH, "gradient of weight \"answer/bias\": expected float32 (3,)"},
      {"answer/bias", tensor({3}, {}, DL4_INT32), DL4_SHAPE_MISMATCH, "got int32 (3,)"},
      {"answer/bais", tensor({3}), DL4_NOT_FOUND, "did you mean \"answer/bias\""},
      {"hidden/bias", tensor({8}), DL4_INVALID_ARGUMENT, "\"hidden/bias\" is not trainable"},
  };
  for (auto &c : cases) {
    if (c.code == DL4_INVALID_ARGUMENT) ok(dl4_model_set_trainable(m, "hidden/bias", 0));
    Refusal r = refusal(dl4_trainer_set_gradient(t, c.weight, c.v));
    EXPECT_EQ(r.code, c.code) << c.weight;
    EXPECT_NE(r.message.find(c.fragment), std::string::npos) << r.message;
    EXPECT_EQ(gradient(t, "hidden/kernel"), before) << c.weight;
  }
}

TEST(Training, ASessionKeepsItsWeightsWhateverIsDoneToTheModel) {
  auto m = small_net();
  auto t = trainer(m, adam);
  const Rows rows(0, 4);
  rows.step(t);
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  auto run = [&](dl4_session *which) {
    dl4_tensor *in = rows.x;
    Own<dl4_tensor> out;
    ok(dl4_session_run(which, &in, 1, out.out(), 1, nullptr));
    return floats(out);
  };
  const auto before = run(s);
  auto unchanged = [&] { EXPECT_EQ(run(s), before); };
  set(m, std::vector<float>(67, 0.5f));
  unchanged();
  ok(dl4_model_set_weight(m, "answer/bias", tensor({3}, {1, 2, 3})));
  unchanged();
  auto expected = std::vector<float>(67, 0.5f);
  expected[64] = 1, expected[65] = 2, expected[66] = 3;
  EXPECT_EQ(weights(m), expected);
  rows.step(t);
  unchanged();
  rows.accumulate(t);
  ok(dl4_trainer_apply(t));
  unchanged();
  Own<dl4_session> now;
  ok(dl4_session_create(m, nullptr, now.out()));
  EXPECT_NE(run(now), before);
  s = Own<dl4_session>();
  rows.step(t);
}

// ---- Freezing -------------------------------------------------------------------------------------------------------

TEST(Training, AFrozenLayerStaysAndTheOthersKeepTheirSlots) {
  auto a = small_net(nullptr, "linear"), b = copy(a);
  auto frozen = trainer(a, adam), whole = trainer(b, adam);
  const Rows rows(0, 16);
  for (int i = 0; i < 3; ++i) {
    rows.step(frozen);
    rows.step(whole);
  }
  ok(dl4_model_set_trainable(a, "hidden", 0));
  const auto kernel = floats(weight(a, "hidden/kernel"));
  EXPECT_EQ(weights(a).size(), 27u);
  rows.step(frozen);
  rows.step(whole);
  EXPECT_EQ(floats(weight(a, "hidden/kernel")), kernel);
  EXPECT_NE(floats(weight(b, "hidden/kernel")), kernel);
  EXPECT_EQ(floats(weight(a, "answer/kernel")), floats(weight(b, "answer/kernel")));
  rows.accumulate(frozen);
  EXPECT_EQ(gradient(frozen).size(), 27u);
  ok(dl4_model_set_trainable(a, "*", 1));
  ok(dl4_trainer_apply(frozen));
  EXPECT_EQ(floats(weight(a, "hidden/kernel")), kernel) << "no gradient was accumulated for it";
  rows.step(frozen);
  EXPECT_NE(floats(weight(a, "hidden/kernel")), kernel);
}

TEST(Training, AFileKeepsWhatIsFrozen) {
  auto m = small_net();
  ok(dl4_model_set_trainable(m, "hidden/bias", 0));
  ok(dl4_model_set_trainable(m, "answer", 0));
  Refusal r;
  auto again = load(nullptr, saved(m), r);
  ASSERT_EQ(r.code, 0) << r.message;
  EXPECT_EQ(described(again, DL4_FORMAT_JSON), described(m, DL4_FORMAT_JSON));
  EXPECT_EQ(weights(again), floats(weight(m, "hidden/kernel")));
  ok(dl4_model_set_trainable(again, "answer/bias", 1));
  EXPECT_EQ(weights(again).size(), 35u);
  std::string architecture = described(m, DL4_FORMAT_JSON);
  architecture.replace(architecture.find("\"frozen\":[\"bias\"]"), 17, "\"frozen\":[\"bais\"]");
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  r = refusal(dl4_graph_add_json(g, architecture.c_str()));
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("\"frozen\" names no weight"), std::string::npos) << r.message;
}

TEST(Training, OnlyWhatIsThereIsFrozen) {
  auto m = small_net();
  Refusal r = refusal(dl4_model_set_trainable(m, "hiden", 0));
  EXPECT_EQ(r.code, DL4_NOT_FOUND);
  EXPECT_NE(r.message.find("did you mean \"hidden\""), std::string::npos) << r.message;
  ok(dl4_model_set_trainable(m, "x", 0));
  auto t = trainer(m, adam);
  ok(dl4_model_set_trainable(m, "*", 0));
  const Rows rows(0, 4);
  dl4_tensor *x = rows.x, *y = rows.y;
  r = refusal(dl4_trainer_step(t, &x, 1, &y, 1, nullptr, 0, nullptr, 0, nullptr));
  EXPECT_NE(r.message.find("no trainable weight"), std::string::npos) << r.message;
  ok(dl4_model_set_trainable(m, "*", 1));
  rows.step(t);
}

TEST(Training, WeightsAreSetBetweenTheStepsOfAFit) {
  auto m = small_net();
  auto t = trainer(m, R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0}}, "loss": "mse"})");
  struct Seen {
    dl4_model *model;
    int32_t codes[2] = {-1, -1};
  } seen{m};
  const auto progress = [](void *user, int32_t event, int64_t step, int64_t, const double *, int64_t) -> int32_t {
    auto *s = static_cast<Seen *>(user);
    if (event != DL4_BATCH_END) return DL4_CONTINUE;
    const auto set = [s, step] {
      const auto v = static_cast<float>(step);
      s->codes[step - 1] = refusal(dl4_model_set_weight(s->model, "answer/bias", tensor({3}, {v, v, v}))).code;
    };
    if (step == 1)
      set();
    else
      std::thread(set).join();
    return DL4_CONTINUE;
  };
  auto data = dataset(tensor({4, 4}, numbers(16)), tensor({4, 3}, numbers(12)), R"({"batch_size": 2})");
  ok(dl4_trainer_fit(t, data, nullptr, nullptr, progress, &seen, nullptr, nullptr));
  EXPECT_EQ(seen.codes[0], 0);
  EXPECT_EQ(seen.codes[1], 0);
  EXPECT_EQ(floats(weight(m, "answer/bias")), (std::vector<float>{2, 2, 2}));
}

TEST(Training, AFitThatGoesOnLeavesTheAverages) {
  const char *how = R"({"optimizer": {"class_name": "SGD", "config": {"use_ema": true, "ema_momentum": 0.5}},
                       "loss": "mse"})";
  auto whole = small_net(), parts = copy(whole);
  auto a = trainer(whole, how), b = trainer(parts, how);
  auto data = dataset(tensor({4, 4}, numbers(16)), tensor({4, 3}, numbers(12)), R"({"batch_size": 2})");
  ok(dl4_trainer_fit(a, data, nullptr, R"({"epochs": 2})", nullptr, nullptr, nullptr, nullptr));
  ok(dl4_trainer_fit(b, data, nullptr, R"({"epochs": 1, "average": false})", nullptr, nullptr, nullptr, nullptr));
  ok(dl4_trainer_fit(b, data, nullptr, R"({"epochs": 2, "initial_epoch": 1, "average": false})", nullptr, nullptr,
                     nullptr, nullptr));
  EXPECT_NE(weights(whole), weights(parts));
  ok(dl4_trainer_fit(b, data, nullptr, R"({"epochs": 2, "initial_epoch": 2})", nullptr, nullptr, nullptr, nullptr));
  EXPECT_EQ(weights(whole), weights(parts));
}

TEST(Training, ACheckpointIsForTheSameWeights) {
  auto a = small_net(), b = copy(a);
  auto from = trainer(a, adam), to = trainer(b, adam);
  const Rows rows(0, 8);
  rows.step(from);
  Own<dl4_blob> bytes;
  ok(dl4_trainer_save_bytes(from, bytes.out()));
  auto load = [&] { return refusal(dl4_trainer_load_bytes(to, dl4_blob_data(bytes), dl4_blob_size(bytes))); };
  EXPECT_EQ(load().message, "");
  rows.step(from);
  rows.step(to);
  EXPECT_EQ(weights(a), weights(b));
  ok(dl4_model_set_trainable(b, "hidden", 0));
  const std::string before = saved(b);
  Refusal r = load();
  EXPECT_EQ(r.code, DL4_SHAPE_MISMATCH);
  EXPECT_NE(r.message.find("while other weights were trainable"), std::string::npos) << r.message;
  EXPECT_EQ(saved(b), before);
  EXPECT_EQ(refusal(dl4_trainer_load_bytes(to, "no", 2)).code, DL4_CORRUPT_FILE);
  EXPECT_EQ(refusal(dl4_trainer_load_bytes(to, "no", -1)).code, DL4_INVALID_ARGUMENT);
}

// ---- Losses ---------------------------------------------------------------------------------------------------------

// (Dense(x) - y)^2, and Dense(x) as well.
struct Composed {
  Own<dl4_graph> g;
  dl4_node in[2], prediction, square;
  Composed() {
    ok(dl4_graph_create(nullptr, g.out()));
    in[0] = input(g, "x", {-1, 4});
    in[1] = input(g, "y", {-1, 3});
    prediction = add(g, "Dense", "answer", R"({"units": 3})", in[0]);
    dl4_node pair[2] = {prediction, in[1]}, difference;
    ok(dl4_graph_add(g, "Subtract", "difference", nullptr, nullptr, nullptr, pair, 2, &difference, 1));
    dl4_node twice[2] = {difference, difference};
    ok(dl4_graph_add(g, "Multiply", "square", nullptr, nullptr, nullptr, twice, 2, &square, 1));
  }
  Own<dl4_model> model(int64_t n_in, const std::vector<dl4_node> &out) {
    Own<dl4_model> m;
    ok(dl4_graph_build(g, in, n_in, out.data(), static_cast<int64_t>(out.size()), m.out()));
    return m;
  }
};

TEST(Training, AnOutputIsMinimisedItself) {
  Composed net, other;
  auto itself = net.model(2, {net.square}), plain = other.model(1, {other.prediction});
  ok(dl4_model_set_weight(plain, "*", weight(itself, "*")));
  auto own = trainer(itself, R"({"optimizer": "Adam", "loss": "output"})"), theirs = trainer(plain, adam);
  const Rows rows(0, 8);
  dl4_tensor *in[2] = {rows.x, rows.y};
  for (int i = 0; i < 5; ++i) {
    double a = 0, b = 0;
    int64_t n = 0;
    ok(dl4_trainer_step(own, in, 2, nullptr, 0, nullptr, 0, &a, 1, &n));
    EXPECT_EQ(n, 1);
    ok(dl4_trainer_step(theirs, in, 1, in + 1, 1, nullptr, 0, &b, 1, nullptr));
    EXPECT_NEAR(a, b, 1e-6);
  }
  near(weights(itself), weights(plain));
  Own<dl4_dataset> d;
  ok(dl4_dataset_from_tensors(nullptr, in, 2, nullptr, 0, nullptr, 0, nullptr, d.out()));
  ok(dl4_trainer_fit(own, d, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
}

TEST(Training, OutputsMinimisedAndOutputsWithTargetsGoTogether) {
  Composed net;
  auto m = net.model(2, {net.square, net.prediction});
  auto t = trainer(
      m, R"({"optimizer": "SGD", "loss": ["output", "mse"], "loss_weights": [2, 1], "metrics": [null, "mae"]})");
  EXPECT_EQ(metrics_of(t), (std::vector<std::string>{"loss", "square_loss", "answer_loss", "answer_mae"}));
  const Rows rows(0, 8);
  dl4_tensor *in[2] = {rows.x, rows.y};
  double metrics[4] = {};
  ok(dl4_trainer_step(t, in, 2, in + 1, 1, nullptr, 0, metrics, 4, nullptr));
  EXPECT_NEAR(metrics[1], metrics[2], 1e-6);
  EXPECT_NEAR(metrics[0], 2 * metrics[1] + metrics[2], 1e-6);
}

TEST(Training, OnlyNumbersThatHaveAGradientAreMinimised) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node in = input(g, "ids", {-1}, DL4_INT32),
           y = add(g, "Embedding", "e", R"({"input_dim": 5, "output_dim": 2})", in);
  dl4_node out[2] = {y, in};
  ok(dl4_graph_build(g, &in, 1, out, 2, m.out()));
  dl4_trainer *t = nullptr;
  Refusal r = refusal(dl4_trainer_create(m, R"({"optimizer": "SGD", "loss": ["output", "output"]})", &t));
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("output \"ids\" cannot be minimised: expected float32, got int32"), std::string::npos)
      << r.message;
}

TEST(Training, WeightsWithoutAGradientAreNamed) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4}),
           out[2] = {add(g, "Dense", "a", R"({"units": 3})", x), add(g, "Dense", "b", R"({"units": 3})", x)};
  ok(dl4_graph_build(g, &x, 1, out, 2, m.out()));
  auto t = trainer(m, R"({"optimizer": "SGD", "loss": ["mse", null]})");
  EXPECT_EQ(facts(t).at("no_gradient"), json::array());
  Rows(0, 4).step(t);
  EXPECT_EQ(facts(t).at("no_gradient"), json::array({"b/kernel", "b/bias"}));
}

TEST(Training, SomeTargetsHaveSampleWeights) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4}),
           out[2] = {add(g, "Dense", "a", R"({"units": 3})", x), add(g, "Dense", "b", R"({"units": 3})", x)};
  ok(dl4_graph_build(g, &x, 1, out, 2, m.out()));
  auto t = trainer(m, R"({"optimizer": "SGD", "loss": ["mse", "mse"]})");
  ok(dl4_trainer_set_number(t, "learning_rate", 0));
  const Rows rows(0, 8);
  auto half = tensor({8}, std::vector<float>(8, 0.5f)), one = tensor({8}, std::vector<float>(8, 1));
  dl4_tensor *in = rows.x, *y[2] = {rows.y, rows.y};
  auto measure = [&](dl4_tensor *a, dl4_tensor *b, int64_t n) {
    std::vector<double> v(3);
    dl4_tensor *w[2] = {a, b};
    ok(dl4_trainer_step(t, &in, 1, y, 2, w, n, v.data(), 3, nullptr));
    Own<dl4_dataset> d;
    ok(dl4_dataset_from_tensors(nullptr, &in, 1, y, 2, w, n, R"({"batch_size": 4})", d.out()));
    std::vector<double> whole(3);
    ok(dl4_trainer_fit(t, d, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
    ok(dl4_trainer_evaluate(t, d, nullptr, whole.data(), 3, nullptr));
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(v[i], whole[i], 1e-6);
    return v;
  };
  const auto none = measure(nullptr, nullptr, 0), first = measure(half, nullptr, 2), second = measure(nullptr, half, 2);
  EXPECT_EQ(measure(half, one, 2), first);
  EXPECT_NEAR(first[1], none[1] / 2, 1e-6);
  EXPECT_EQ(first[2], none[2]);
  EXPECT_EQ(second[1], none[1]);
  EXPECT_NEAR(second[2], none[2] / 2, 1e-6);
  EXPECT_EQ(measure(nullptr, nullptr, 2), none);
}

// ---- Fits -----------------------------------------------------------------------------------------------------------

struct Fit {
  Own<dl4_model> model = small_net();
  Own<dl4_trainer> t = trainer(model, adam);
  const Rows rows{0, 16};
  Own<dl4_dataset> data = dataset(rows.x, rows.y, R"({"batch_size": 4})");
  Own<dl4_cancel> cancel;
  json history;
  std::vector<int32_t> events;
  std::function<int32_t(int32_t event, int64_t step)> inside;

  static int32_t progress(void *user, int32_t event, int64_t step, int64_t, const double *, int64_t) {
    auto &f = *static_cast<Fit *>(user);
    f.events.push_back(event);
    return f.inside ? f.inside(event, step) : DL4_CONTINUE;
  }
  Refusal run(const std::string &options, dl4_dataset *on = nullptr) {
    Own<dl4_blob> told;
    ok(dl4_cancel_create(cancel.out()));
    events.clear();
    Refusal r =
        refusal(dl4_trainer_fit(t, on ? on : data.get(), nullptr, options.c_str(), progress, this, cancel, told.out()));
    if (told) history = json::parse(dl4_blob_data(told));
    return r;
  }
  // Ends in CANCELLED after two batches.
  void cancelled(const std::string &options) {
    inside = [&](int32_t event, int64_t step) {
      if (event == DL4_BATCH_END && step == 2) dl4_cancel_trigger(cancel);
      return DL4_CONTINUE;
    };
    EXPECT_EQ(run(options).code, DL4_CANCELLED);
    inside = nullptr;
  }
};

TEST(Fits, StopInMidEpochAndSucceed) {
  Fit f;
  f.inside = [](int32_t event, int64_t step) { return event == DL4_BATCH_END && step == 3 ? DL4_STOP : DL4_CONTINUE; };
  EXPECT_EQ(f.run(R"({"epochs": 5, "validation_split": 0.25})").message, "");
  EXPECT_EQ(f.history.at("epoch"), json::array({0}));
  EXPECT_EQ(f.history.at("val_loss").size(), 1u);
  EXPECT_EQ(f.events, (std::vector<int32_t>{DL4_TRAIN_BEGIN, DL4_EPOCH_BEGIN, DL4_BATCH_END, DL4_BATCH_END,
                                            DL4_BATCH_END, DL4_EPOCH_END, DL4_TRAIN_END}));
  f.inside = [](int32_t event, int64_t step) { return event == DL4_EPOCH_END && step == 2 ? DL4_STOP : DL4_CONTINUE; };
  EXPECT_EQ(f.run(R"({"epochs": 5})").message, "");
  EXPECT_EQ(f.history.at("epoch"), json::array({0, 1}));
  f.inside = [](int32_t event, int64_t) { return event == DL4_TRAIN_BEGIN ? DL4_STOP : DL4_CONTINUE; };
  EXPECT_EQ(f.run("{}").message, "");
  EXPECT_EQ(f.history, json::object());
}

TEST(Fits, FailWithTheNumberOfTheCallback) {
  Fit f;
  f.inside = [](int32_t event, int64_t step) { return event == DL4_BATCH_END && step == 2 ? 77 : DL4_CONTINUE; };
  Refusal r = f.run(R"({"epochs": 5})");
  EXPECT_EQ(r.code, DL4_CALLBACK_FAILED);
  EXPECT_EQ(json::parse(r.detail).at("answer"), "77") << r.detail;
  EXPECT_NE(r.message.find("the progress callback gave 77 in epoch 0"), std::string::npos) << r.message;
  EXPECT_EQ(number(f.t, "iterations"), 2) << "complete steps are kept";
  EXPECT_EQ(number(f.t, "batch"), 0) << "the place is as before";
}

TEST(Fits, StartAfreshUnlessTheyAreResumed) {
  Fit whole, f;
  EXPECT_EQ(whole.run(R"({"epochs": 2})").message, "");
  f.cancelled(R"({"epochs": 2})");
  Own<dl4_blob> checkpoint;
  ok(dl4_trainer_save_bytes(f.t, checkpoint.out()));
  EXPECT_EQ(f.run(R"({"epochs": 1})").message, "");
  EXPECT_EQ(number(f.t, "iterations"), 2 + 4);

  Fit on;
  on.cancelled(R"({"epochs": 2})");
  EXPECT_EQ(on.run(R"({"epochs": 2, "resume": true})").message, "");
  EXPECT_EQ(weights(on.model), weights(whole.model));
  EXPECT_EQ(on.history, whole.history);
  Refusal r = on.run(R"({"resume": true})");
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("\"resume\": expected a fit that was cancelled"), std::string::npos) << r.message;

  Fit loaded;
  ok(dl4_trainer_load_bytes(loaded.t, dl4_blob_data(checkpoint), dl4_blob_size(checkpoint)));
  EXPECT_EQ(loaded.run(R"({"epochs": 2})").message, "");
  EXPECT_EQ(weights(loaded.model), weights(whole.model));
  ok(dl4_trainer_load_bytes(loaded.t, dl4_blob_data(checkpoint), dl4_blob_size(checkpoint)));
  EXPECT_EQ(loaded.run(R"({"resume": false})").message, "");
  EXPECT_EQ(number(loaded.t, "iterations"), 2 + 4);
}

TEST(Fits, AreNotResumedOnOtherData) {
  Fit f;
  f.cancelled("{}");
  const Rows fewer(0, 12);
  for (const auto &[d, fragment] : std::initializer_list<std::pair<Own<dl4_dataset>, const char *>>{
           {dataset(fewer.x, fewer.y, R"({"batch_size": 4})"), "expected \"rows\" 16, got 12"},
           {dataset(f.rows.x, f.rows.y, R"({"batch_size": 2})"), "expected \"batches\" 4, got 8"},
           {dataset(f.rows.x, f.rows.y, R"({"batch_size": 4, "seed": 1})"), "expected \"seed\" 0, got 1"},
           {dataset(f.rows.x, f.rows.y, R"({"batch_size": 4, "shuffle": false})"),
            "expected \"shuffle\" true, got false"}}) {
    Refusal r = f.run(R"({"resume": true})", d);
    EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
    EXPECT_NE(r.message.find(fragment), std::string::npos) << r.message;
    EXPECT_EQ(number(f.t, "batch"), 2);
  }
  EXPECT_EQ(f.run(R"({"resume": true})").message, "");
}

TEST(Fits, GoOnFromAPlaceThatIsSet) {
  Fit whole, f;
  whole.cancelled(R"({"epochs": 3, "initial_epoch": 0})");
  ok(dl4_trainer_set_number(f.t, "epoch", 1));
  ok(dl4_trainer_set_number(f.t, "batch", 3));
  EXPECT_EQ(number(f.t, "epoch"), 1);
  f.inside = [&](int32_t event, int64_t) {
    EXPECT_EQ(refusal(dl4_trainer_set_number(f.t, "epoch", 0)).code, DL4_BUSY);
    if (event == DL4_BATCH_END) ok(dl4_trainer_set_number(f.t, "learning_rate", 0.01));
    return DL4_CONTINUE;
  };
  EXPECT_EQ(f.run(R"({"epochs": 3})").message, "");
  EXPECT_EQ(f.history.at("epoch"), json::array({1, 2}));
  EXPECT_EQ(number(f.t, "iterations"), 1 + 4);
  for (double bad : {-1.0, 0.5, std::nan(""), 1e300}) {
    Refusal r = refusal(dl4_trainer_set_number(f.t, "epoch", bad));
    EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
    EXPECT_NE(r.message.find("\"epoch\": expected an integer"), std::string::npos) << r.message;
  }
  EXPECT_EQ(refusal(dl4_trainer_set_number(f.t, "iterations", 0)).code, DL4_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
