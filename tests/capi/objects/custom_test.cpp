// Kinds of one's own: layers, losses and metrics whose numbers come from functions.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "capi/training.hpp"
#include "capi/use.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

const float *in(const dl4_tensor *t) { return static_cast<const float *>(dl4_tensor_data(t)); }
float *to(const dl4_tensor *t) { return static_cast<float *>(dl4_tensor_data(t)); }
int64_t elements(const dl4_tensor *t) { return dl4_tensor_bytes(t) / 4; }

// y = x w + b for x (B, I), units from the config, as Dense.
namespace dense {

int32_t shape(void *, const char *config, const int32_t *ranks, const int64_t *dims, int64_t n_src, int32_t *out_ranks,
              int64_t *out_dims, int64_t n_out) {
  if (n_src != 1 || ranks[0] != 2 || n_out != 3) return 7;
  const int64_t units = std::atoll(config);
  const int64_t wanted[3][2] = {{dims[0], units}, {dims[1], units}, {units, 0}};
  for (int i = 0; i < 3; ++i) {
    out_ranks[i] = i < 2 ? 2 : 1;
    out_dims[8 * i] = wanted[i][0];
    out_dims[8 * i + 1] = wanted[i][1];
  }
  return 0;
}

int32_t forward(void *, const char *, dl4_tensor *const *src, int64_t, dl4_tensor *const *dst, int64_t) {
  const int64_t rows = dl4_tensor_dims(src[0])[0], k = dl4_tensor_dims(src[0])[1], n = dl4_tensor_dims(dst[0])[1];
  const float *x = in(src[0]), *w = in(src[1]), *b = in(src[2]);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < n; ++j) {
      double sum = b[j];
      for (int64_t i = 0; i < k; ++i) sum += static_cast<double>(x[r * k + i]) * w[i * n + j];
      to(dst[0])[r * n + j] = static_cast<float>(sum);
    }
  return 0;
}

int32_t backward(void *, const char *, dl4_tensor *const *src, int64_t, dl4_tensor *const *,
                 dl4_tensor *const *diff_dst, int64_t, dl4_tensor *const *diff_src) {
  const int64_t rows = dl4_tensor_dims(src[0])[0], k = dl4_tensor_dims(src[0])[1], n = dl4_tensor_dims(diff_dst[0])[1];
  const float *x = in(src[0]), *w = in(src[1]), *d = in(diff_dst[0]);
  for (int which = 0; which < 3; ++which)
    if (diff_src[which]) std::fill_n(to(diff_src[which]), elements(diff_src[which]), 0.0f);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < k; ++i) {
        if (diff_src[0]) to(diff_src[0])[r * k + i] += d[r * n + j] * w[i * n + j];
        if (diff_src[1]) to(diff_src[1])[i * n + j] += d[r * n + j] * x[r * k + i];
      }
      if (diff_src[2]) to(diff_src[2])[j] += d[r * n + j];
    }
  return 0;
}

void add() {
  ok(dl4_registry_add("layer", "test>Dense", R"({"weights": ["kernel", "bias"], "doc": "x w + b"})", shape, forward,
                      backward, nullptr, nullptr));
}

}  // namespace dense

// (y_true - y_pred)^2, whose gradient by y_true is not asked for.
int32_t squares(void *, const char *, dl4_tensor *const *src, int64_t, dl4_tensor *const *dst, int64_t) {
  for (int64_t i = 0; i < elements(dst[0]); ++i) to(dst[0])[i] = std::pow(in(src[0])[i] - in(src[1])[i], 2.0f);
  return 0;
}
int32_t squares_back(void *, const char *, dl4_tensor *const *src, int64_t, dl4_tensor *const *,
                     dl4_tensor *const *diff_dst, int64_t, dl4_tensor *const *diff_src) {
  if (diff_src[0]) return 9;  // no one asks for it
  for (int64_t i = 0; i < elements(src[0]); ++i)
    to(diff_src[1])[i] = -2 * (in(src[0])[i] - in(src[1])[i]) * in(diff_dst[0])[i];
  return 0;
}

// Two outputs: x + y, x * y of an integer x.
int32_t two_shapes(void *, const char *, const int32_t *ranks, const int64_t *dims, int64_t, int32_t *out_ranks,
                   int64_t *out_dims, int64_t n_out) {
  for (int64_t o = 0; o < n_out; ++o) {
    out_ranks[o] = ranks[0];
    std::copy_n(dims, ranks[0], out_dims + 8 * o);
  }
  return 0;
}
int32_t two(void *user, const char *, dl4_tensor *const *src, int64_t, dl4_tensor *const *dst, int64_t) {
  ++*static_cast<std::atomic<int> *>(user);
  const auto *a = static_cast<const int32_t *>(dl4_tensor_data(src[0]));
  for (int64_t i = 0; i < elements(src[1]); ++i) {
    if (dst[0]) to(dst[0])[i] = static_cast<float>(a[i]) + in(src[1])[i];
    if (dst[1]) to(dst[1])[i] = static_cast<float>(a[i]) * in(src[1])[i];
  }
  return 0;
}
int32_t two_back(void *, const char *, dl4_tensor *const *src, int64_t, dl4_tensor *const *,
                 dl4_tensor *const *diff_dst, int64_t n_dst, dl4_tensor *const *diff_src) {
  if (diff_src[0] || n_dst != 2) return 5;
  const auto *a = static_cast<const int32_t *>(dl4_tensor_data(src[0]));
  for (int64_t i = 0; i < elements(src[1]); ++i)
    to(diff_src[1])[i] = in(diff_dst[0])[i] + static_cast<float>(a[i]) * in(diff_dst[1])[i];
  return 0;
}

int32_t answer(void *user, const char *, dl4_tensor *const *, int64_t, dl4_tensor *const *, int64_t) {
  return *static_cast<int32_t *>(user);
}

std::vector<float> weight(const dl4_model *m, const char *name) {
  Own<dl4_tensor> t;
  ok(dl4_model_get_weight(m, name, t.out()));
  return t ? floats(t) : std::vector<float>();
}

std::vector<float> predicted(const dl4_model *m, dl4_tensor *x) {
  Own<dl4_session> s;
  Own<dl4_tensor> y;
  ok(dl4_session_create(m, nullptr, s.out()));
  ok(dl4_session_run(s, &x, 1, y.out(), 1, nullptr));
  return y ? floats(y) : std::vector<float>();
}

// A net of two layers of a kind, trained.
std::string trained(const char *kind, const std::string &first, const std::string &second, const char *loss,
                    Own<dl4_model> *model = nullptr) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 5});
  dl4_node y = add(g, "ReLU", nullptr, "{}", add(g, kind, "one", first, x));
  y = add(g, kind, "two", second, y);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  auto data = tensor({32, 5}, numbers(160)), target = tensor({32, 2}, numbers(64));
  auto d = dataset(data, target, R"({"batch_size": 8, "seed": 3})");
  auto t = trainer(m, json{{"optimizer", "Adam"}, {"loss", loss}, {"metrics", {"mae", loss}}}.dump());
  Own<dl4_blob> history;
  ok(dl4_trainer_fit(t, d, nullptr, R"({"epochs": 5})", nullptr, nullptr, nullptr, history.out()));
  if (model) *model = std::move(m);
  return history ? dl4_blob_data(history) : "{}";
}

TEST(Custom, ALayerAndALossTrainAsTheLibrarysOwn) {
  dense::add();
  ok(dl4_registry_add("loss", "test>Squares", nullptr, nullptr, squares, squares_back, nullptr, nullptr));
  Own<dl4_model> own, theirs;
  const json a = json::parse(trained("test>Dense", R"({"config": "6"})", R"({"config": "2"})", "test>Squares", &own));
  const json b =
      json::parse(trained("Dense", R"({"units": 6, "bias_initializer": "GlorotUniform"})",
                          R"({"units": 2, "bias_initializer": "GlorotUniform"})", "MeanSquaredError", &theirs));
  ASSERT_EQ(a["loss"].size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(a["loss"][i].get<double>(), b["loss"][i].get<double>(), 1e-5);
    EXPECT_NEAR(a["mae"][i].get<double>(), b["mae"][i].get<double>(), 1e-5);
    EXPECT_NEAR(a["test>Squares"][i].get<double>(), b["MeanSquaredError"][i].get<double>(), 1e-5);
  }
  EXPECT_LT(a["loss"][4], a["loss"][0]);
  for (const char *name : {"one/kernel", "one/bias", "two/kernel", "two/bias"}) {
    const auto x = weight(own, name), y = weight(theirs, name);
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-5) << name;
  }
}

json checked(const dl4_model *m, dl4_tensor *x, const std::string &options = "{}") {
  Own<dl4_blob> b;
  ok(dl4_model_check_gradients(m, &x, 1, options.c_str(), b.out()));
  return b ? json::parse(dl4_blob_data(b)) : json::object();
}

TEST(Custom, GradientsAreChecked) {
  dense::add();
  static auto wrong = [](void *user, const char *config, dl4_tensor *const *src, int64_t n_src, dl4_tensor *const *dst,
                         dl4_tensor *const *diff_dst, int64_t n_dst, dl4_tensor *const *diff_src) -> int32_t {
    const int32_t answer = dense::backward(user, config, src, n_src, dst, diff_dst, n_dst, diff_src);
    to(diff_src[1])[3] += 0.01f;
    return answer;
  };
  ok(dl4_registry_add("layer", "test>Wrong", R"({"weights": ["kernel", "bias"]})", dense::shape, dense::forward, wrong,
                      nullptr, nullptr));
  auto x = tensor({4, 5}, numbers(20));
  for (const char *kind : {"test>Dense", "test>Wrong"}) {
    Own<dl4_graph> g;
    Own<dl4_model> m;
    ok(dl4_graph_create(nullptr, g.out()));
    dl4_node in = input(g, "x", {-1, 5}), y = add(g, kind, "mine", R"({"config": "3"})", in);
    y = add(g, "Softmax", nullptr, "{}", add(g, "Dropout", nullptr, R"({"rate": 0.5})", y));
    ok(dl4_graph_build(g, &in, 1, &y, 1, m.out()));
    for (const char *options : {"{}", R"({"training": true, "samples": 100, "seed": 5})"}) {
      const json found = checked(m, x, options);
      ASSERT_EQ(found.size(), 3u);
      for (const char *name : {"x", "mine/kernel", "mine/bias"}) {
        const json &one = found[name];
        const double error = one["error"].get<double>() / one["largest_gradient"].get<double>();
        EXPECT_GT(one["largest_gradient"], 0.01);
        const bool bad = kind == std::string("test>Wrong") && name == std::string("mine/kernel");
        if (bad) {
          EXPECT_GT(error, 0.003) << one;
          EXPECT_EQ(one["worst"]["element"], 3);
        } else {
          EXPECT_LT(error, 5e-4) << kind << ' ' << name << ' ' << one;
        }
      }
      EXPECT_EQ(found["mine/bias"]["checked"], 3);
      EXPECT_EQ(found["x"]["elements"], 20);
    }
  }
}

TEST(Custom, OfAModelOfEverything) {
  Training all(9);  // no sum before the relu is so near 0 that a step passes it
  auto x = tensor({2, 6, 4}, numbers(48));
  const json found = checked(all.m, x);
  for (const auto &[name, one] : found.items())
    EXPECT_LT(one["error"].get<double>(), 1e-3 * one["largest_gradient"].get<double>()) << name << one;
  dl4_tensor *in = x;
  Own<dl4_blob> b;
  EXPECT_EQ(refusal(dl4_model_check_gradients(all.m, &in, 1, R"({"samples": 0})", b.out())).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(refusal(dl4_model_check_gradients(all.m, nullptr, 0, nullptr, b.out())).code, DL4_INVALID_ARGUMENT);
  auto other = tensor({2, 6, 3});
  in = other;
  EXPECT_EQ(refusal(dl4_model_check_gradients(all.m, &in, 1, nullptr, b.out())).code, DL4_SHAPE_MISMATCH);
}

TEST(Custom, IsSavedByItsName) {
  dense::add();
  Own<dl4_model> m;
  trained("test>Dense", R"({"config": "6", "initializer": "HeNormal"})", R"({"config": "2"})", "MeanSquaredError", &m);
  Refusal r;
  Own<dl4_model> again = load(nullptr, saved(m), r);
  ASSERT_EQ(r.code, DL4_OK) << r.message;
  EXPECT_EQ(weight(again, "one/kernel"), weight(m, "one/kernel"));
  const json layer = json::parse(described(again, DL4_FORMAT_JSON))["layers"][1];
  EXPECT_EQ(layer["class_name"], "test>Dense");
  EXPECT_EQ(layer["config"]["config"], "6");
  auto x = tensor({3, 5}, numbers(15));
  EXPECT_EQ(predicted(again, x), predicted(m, x));
  std::string bytes = saved(m);
  bytes.replace(bytes.find("test>Dense"), 10, "test>Sense");
  Own<dl4_model> none;
  const Refusal unknown =
      refusal(load_copy(nullptr, bytes.data(), static_cast<int64_t>(bytes.size()), R"({"verify": false})", none.out()));
  EXPECT_EQ(unknown.code, DL4_UNKNOWN_KIND);
}

// Names that weights of LoRA have too say nothing of those of a custom kind.
using CustomFiles = Folder;
TEST_F(CustomFiles, HaveWeightsOfAnyName) {
  ok(dl4_registry_add("layer", "test>Adapter", R"({"weights": ["lora_kernel_a", "lora_kernel_b"]})", dense::shape,
                      dense::forward, dense::backward, nullptr, nullptr));
  Own<dl4_graph> g;
  Own<dl4_model> m, again, merged;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 5}), y = add(g, "test>Adapter", "one", R"({"config": "3"})", x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  ok(dl4_model_set_trainable(m, "one/lora_kernel_a", 0));
  const std::string file = path("m.safetensors");
  ok(dl4_model_save(m, file.c_str(), nullptr));
  ok(dl4_model_load(nullptr, file.c_str(), nullptr, again.out()));
  ok(dl4_model_load(nullptr, file.c_str(), R"({"merge_lora": true})", merged.out()));
  for (const char *name : {"one/lora_kernel_a", "one/lora_kernel_b"}) {
    EXPECT_EQ(weight(again, name), weight(m, name));
    EXPECT_EQ(weight(merged, name), weight(m, name));
  }
  EXPECT_FALSE(trainable(merged, 0));
  EXPECT_TRUE(trainable(merged, 1));
}

TEST(Custom, SeveralOutputsIntegersAndManyThreads) {
  static std::atomic<int> calls{0};
  ok(dl4_registry_add("layer", "test>Two", R"({"outputs": 2})", two_shapes, two, two_back, &calls, nullptr));
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x[2] = {input(g, "a", {-1, 3}, DL4_INT32), input(g, "b", {-1, 3})}, y[2];
  ok(dl4_graph_add(g, "test>Two", nullptr, nullptr, nullptr, nullptr, x, 2, y, 2));
  ok(dl4_graph_build(g, x, 2, y, 2, m.out()));
  Own<dl4_session> s;
  ok(dl4_session_create(m, R"({"gradients": ["b"]})", s.out()));
  auto a = tensor({2, 3}, {}, DL4_INT32), b = tensor({2, 3}, {1, 1, 1, 2, 2, 2});
  const int32_t values[6] = {1, 2, 3, 4, 5, 6};
  ok(dl4_tensor_copy_in(a, values, sizeof values));
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        dl4_tensor *sources[2] = {a, b}, *out[3] = {};
        ok(dl4_session_run(s, sources, 2, out, 3, nullptr));
        Own<dl4_tensor> sum(out[0]), product(out[1]), gradient(out[2]);
        EXPECT_EQ(floats(sum), (std::vector<float>{2, 3, 4, 6, 7, 8}));
        EXPECT_EQ(floats(product), (std::vector<float>{1, 2, 3, 8, 10, 12}));
        EXPECT_EQ(floats(gradient), (std::vector<float>{2, 3, 4, 5, 6, 7}));
      }
    });
  for (std::thread &t : all) t.join();
  EXPECT_EQ(calls, 200);
  // One output alone: the other is not asked for.
  Own<dl4_model> half;
  ok(dl4_graph_build(g, x, 2, y + 1, 1, half.out()));
  Own<dl4_session> only;
  ok(dl4_session_create(half, nullptr, only.out()));
  dl4_tensor *sources[2] = {a, b}, *out = nullptr;
  ok(dl4_session_run(only, sources, 2, &out, 1, nullptr));
  EXPECT_EQ(floats(Own<dl4_tensor>(out)), (std::vector<float>{1, 2, 3, 8, 10, 12}));
}

TEST(Custom, AFailureComesBackAsItself) {
  static int32_t code = 0;
  ok(dl4_registry_add("layer", "test>Fails", nullptr, nullptr, answer, nullptr, &code, nullptr));
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 2}), y = add(g, "test>Fails", "mine", "{}", x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  auto a = tensor({1, 2}, {1, 2});
  dl4_tensor *from = a, *out = nullptr;
  code = 42;
  Refusal r = refusal(dl4_session_run(s, &from, 1, &out, 1, nullptr));
  EXPECT_EQ(r.code, DL4_CALLBACK_FAILED);
  EXPECT_NE(r.message.find("layer \"mine\": its function gave 42"), std::string::npos) << r.message;
  EXPECT_EQ(out, nullptr);
  code = 0;
  ok(dl4_session_run(s, &from, 1, &out, 1, nullptr));
  dl4_release(out);
  // Without a backward function nothing can be trained through it.
  Own<dl4_session> never;
  r = refusal(dl4_session_create(m, R"({"gradients": ["x"]})", never.out()));
  EXPECT_EQ(r.code, DL4_UNSUPPORTED);
  EXPECT_NE(r.message.find("test>Fails has no backward function"), std::string::npos) << r.message;
}

TEST(Custom, ANameAddedAgainIsReplacedForWhatComes) {
  static int32_t first = 1, second = 2;
  auto run = [](dl4_model *m) {
    Own<dl4_session> s;
    ok(dl4_session_create(m, nullptr, s.out()));
    auto a = tensor({1}, {1});
    dl4_tensor *from = a, *out = nullptr;
    return refusal(dl4_session_run(s, &from, 1, &out, 1, nullptr)).message;
  };
  auto model = [] {
    Own<dl4_graph> g;
    Own<dl4_model> m;
    ok(dl4_graph_create(nullptr, g.out()));
    dl4_node x = input(g, "x", {-1}), y = add(g, "test>Again", nullptr, "{}", x);
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    return m;
  };
  ok(dl4_registry_add("layer", "test>Again", nullptr, nullptr, answer, nullptr, &first, nullptr));
  Own<dl4_model> before = model();
  ok(dl4_registry_add("layer", "test>Again", nullptr, nullptr, answer, nullptr, &second, nullptr));
  Own<dl4_model> after = model();
  EXPECT_NE(run(before).find("gave 1"), std::string::npos);
  EXPECT_NE(run(after).find("gave 2"), std::string::npos);
}

// Removed, its name is unknown; what has it works on, and its functions are released with the last of that.
TEST(Custom, ARemovedKindIsReleasedWithTheLastThatHasIt) {
  static int released = 0;
  static int32_t one = 1;
  const auto release = [](void *user) { released += *static_cast<int32_t *>(user); };
  const auto add_kind = [&](const char *category, const char *name) {
    ok(dl4_registry_add(category, name, nullptr, nullptr, squares, nullptr, &one, release));
  };
  const auto code = [](const char *category, const char *name) {
    return refusal(dl4_registry_check(category, name, nullptr)).code;
  };
  add_kind("layer", "test>Gone");
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1}), y = -1;
  const dl4_node both[] = {x, x};
  ok(dl4_graph_add(g, "test>Gone", "gone", nullptr, nullptr, nullptr, both, 2, &y, 1));
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  ok(dl4_registry_remove("layer", "test>Gone"));
  EXPECT_EQ(code("layer", "test>Gone"), DL4_UNKNOWN_KIND);
  EXPECT_EQ(refusal(dl4_graph_add(g, "test>Gone", nullptr, nullptr, nullptr, nullptr, both, 2, &y, 1)).code,
            DL4_UNKNOWN_KIND);
  EXPECT_EQ(run(m, {tensor({2}, {3, 4})})[0].size(), 2u);
  EXPECT_EQ(released, 0);
  g = {};
  m = {};
  EXPECT_EQ(released, 1);

  add_kind("layer", "test>Gone");  // replaced before anything is made of it
  add_kind("layer", "test>Gone");
  EXPECT_EQ(released, 2);
  ok(dl4_registry_remove("layer", "test>Gone"));
  EXPECT_EQ(released, 3);

  add_kind("loss", "test>GoneToo");  // with its metric, unless another one has the name
  EXPECT_EQ(code("metric", "test>GoneToo"), DL4_OK);
  ok(dl4_registry_remove("loss", "test>GoneToo"));
  EXPECT_EQ(released, 4);
  EXPECT_EQ(code("loss", "test>GoneToo"), DL4_UNKNOWN_KIND);
  EXPECT_EQ(code("metric", "test>GoneToo"), DL4_UNKNOWN_KIND);
  add_kind("loss", "test>GoneToo");
  add_kind("metric", "test>GoneToo");
  EXPECT_EQ(released, 4);
  ok(dl4_registry_remove("loss", "test>GoneToo"));
  EXPECT_EQ(released, 5);
  EXPECT_EQ(code("metric", "test>GoneToo"), DL4_OK);
  ok(dl4_registry_remove("metric", "test>GoneToo"));
  EXPECT_EQ(released, 6);
  for (const auto &[category, name, wanted] : {std::tuple{"layer", "test>Gone", DL4_UNKNOWN_KIND},
                                               {"layer", "Dense", DL4_UNKNOWN_KIND},
                                               {"layers", "Dense", DL4_NOT_FOUND}})
    EXPECT_EQ(refusal(dl4_registry_remove(category, name)).code, wanted) << name;
  const Refusal r = refusal(dl4_registry_add("layer", "Dense", nullptr, nullptr, squares, nullptr, &one, release));
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(released, 6);
}

// A metric is watched as its kind says, whatever its name ends in.
TEST(Custom, AMetricSaysItsDirection) {
  for (const char *direction : {"", "up", "down"}) {
    const json options = *direction ? json{{"direction", direction}} : json::object();
    ok(dl4_registry_add("metric", "test>MeanBiasAccuracy", options.dump().c_str(), nullptr, squares, nullptr, nullptr,
                        nullptr));
    auto m = small_net(nullptr, "linear");
    auto t = trainer(m, R"({"optimizer": "SGD", "loss": "mse", "metrics": ["test>MeanBiasAccuracy"]})");
    auto x = tensor({8, 4}, numbers(32)), y = tensor({8, 3}, numbers(24));
    auto d = dataset(x, y);
    Own<dl4_blob> history;
    // It falls from epoch to epoch: of "up" the second one is worse.
    const char *fit = R"({"epochs": 5, "callbacks": [{"class_name": "EarlyStopping", "config":
        {"monitor": "test>MeanBiasAccuracy", "patience": 1}}]})";
    const Refusal r = refusal(dl4_trainer_fit(t, d, nullptr, fit, nullptr, nullptr, nullptr, history.out()));
    if (!*direction) {
      EXPECT_NE(r.message.find("whether less or more of \"test>MeanBiasAccuracy\" is better is unknown"),
                std::string::npos)
          << r.message;
      continue;
    }
    EXPECT_EQ(r.message, "");
    EXPECT_EQ(json::parse(dl4_blob_data(history))["epoch"].size(), std::string(direction) == "up" ? 2u : 5u);
  }
}

TEST(Custom, Refusals) {
  const std::string long_name(257, 'n');
  struct {
    const char *category, *name, *options;
    dl4_shape_fn shape;
    dl4_forward_fn forward;
    const char *words;
  } const cases[] = {
      {"optimizer", "test>X", "{}", nullptr, squares, "expected \"layer\", \"loss\" or \"metric\", got \"optimizer\""},
      {"layer", "", "{}", nullptr, squares, "\"name\": expected 1 to 256 bytes, got 0"},
      {"metric", long_name.c_str(), "{}", nullptr, squares, "\"name\": expected 1 to 256 bytes, got 257"},
      {"layer", "Input", "{}", nullptr, squares, "expected a name that means nothing else in files, got \"Input\""},
      {"layer", "Constant", "{}", nullptr, squares, "expected a name that means nothing else in files"},
      {"layer", "test>X", "{}", nullptr, nullptr, "expected a function"},
      {"layer", "Dense", "{}", nullptr, squares, "layer \"Dense\" is a built-in kind"},
      {"loss", "mse", "{}", nullptr, squares, "loss \"mse\" is a built-in kind"},
      {"loss", "Accuracy", "{}", nullptr, squares, "metric \"Accuracy\" is a built-in kind"},
      {"metric", "test>X", "{\"outputs\": 0}", nullptr, squares, "\"outputs\""},
      {"loss", "test>X", R"({"outputs": 2})", nullptr, squares, "\"outputs\": expected 1 for a loss"},
      {"metric", "test>X", R"({"weights": ["w"]})", two_shapes, squares, "\"weights\": expected none for a metric"},
      {"layer", "test>X", R"({"weights": ["w"]})", nullptr, squares, "without a shape function"},
      {"layer", "test>X", R"({"weights": ["w", "w"]})", two_shapes, squares, "names that differ, got \"w\""},
      {"layer", "test>X", R"({"wheels": 4})", nullptr, squares, "wheels"},
      {"layer", "test>X", R"({"direction": "up"})", nullptr, squares, "\"direction\": expected null for a layer"},
      {"metric", "test>X", R"({"direction": "left"})", nullptr, squares, "\"direction\": expected one of"},
  };
  for (const auto &c : cases) {
    const Refusal r =
        refusal(dl4_registry_add(c.category, c.name, c.options, c.shape, c.forward, nullptr, nullptr, nullptr));
    EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT) << c.words;
    EXPECT_NE(r.message.find(c.words), std::string::npos) << r.message;
  }
  // What the functions say is not believed.
  static auto odd = [](void *, const char *config, const int32_t *, const int64_t *, int64_t, int32_t *ranks,
                       int64_t *dims, int64_t) -> int32_t {
    ranks[0] = std::atoi(config);
    dims[0] = -5;
    return 0;
  };
  ok(dl4_registry_add("layer", "test>Odd", nullptr, odd, squares, nullptr, nullptr, nullptr));
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 2}), y = -1;
  for (const char *config : {"-1", "9", "1"}) {
    const Refusal r = refusal(
        dl4_graph_add(g, "test>Odd", "odd", json{{"config", config}}.dump().c_str(), nullptr, nullptr, &x, 1, &y, 1));
    EXPECT_NE(r.code, DL4_OK);
    EXPECT_NE(r.message.find("layer \"odd\""), std::string::npos) << r.message;
  }
  dense::add();
  const dl4_node both[2] = {x, x};
  const Refusal r = refusal(dl4_graph_add(g, "test>Dense", "mine", nullptr, nullptr, nullptr, both, 2, &y, 1));
  EXPECT_EQ(r.code, DL4_CALLBACK_FAILED);
  EXPECT_NE(r.message.find("gave 7"), std::string::npos) << r.message;
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
