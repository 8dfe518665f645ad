// Numbers that must not go wrong: concurrent products, sizes past every limit, nothing at all, NaN.
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

std::string text_of(const void *object, int32_t format = DL4_FORMAT_TEXT) {
  Own<dl4_blob> text;
  ok(dl4_describe(object, format, text.out()));
  return dl4_blob_data(text);
}

Own<dl4_context> context(const std::string &options) {
  Own<dl4_context> c;
  ok(dl4_context_create(options.c_str(), c.out()));
  return c;
}

// A model of one layer, and a session of it.
struct One {
  Own<dl4_graph> graph;
  Own<dl4_model> model;
  Own<dl4_session> session;

  One(const std::string &kind, const std::string &json, const std::vector<int64_t> &dims, int32_t dtype = DL4_FLOAT32,
      int64_t copies = 1, dl4_context *c = nullptr) {
    ok(dl4_graph_create(c, graph.out()));
    dl4_node x = input(graph, "x", dims, dtype), y = -1;
    std::vector<dl4_node> in(static_cast<size_t>(copies), x);
    ok(dl4_graph_add(graph, kind.c_str(), nullptr, json.c_str(), nullptr, nullptr, in.data(), copies, &y, 1));
    ok(dl4_graph_build(graph, &x, 1, &y, 1, model.out()));
    ok(dl4_session_create(model, nullptr, session.out()));
  }
  Own<dl4_tensor> run(dl4_tensor *x) {
    Own<dl4_tensor> y;
    ok(dl4_session_run(session, &x, 1, y.out(), 1, nullptr));
    return y;
  }
  std::vector<float> operator()(const std::vector<int64_t> &dims, const std::vector<float> &values) {
    return floats(run(tensor(dims, values)));
  }
};

// ---- Hazard 1: products of several threads at once, on whichever OpenBLAS is installed ----------------------------

TEST(Hazard1, TwoHundredConcurrentProductsAreRight) {
  constexpr size_t n = 300, different = 8, threads = 8, each = 25;
  auto c = context(R"({"threads": 1})");
  One dense("Dense", R"({"units": 300, "use_bias": false})", {-1, 300}, DL4_FLOAT32, 1, c);
  Own<dl4_tensor> kernel;
  ok(dl4_model_get_weight(dense.model, "dense/kernel", kernel.out()));
  std::vector<float> w = floats(kernel), probe = numbers(n);
  std::vector<double> folded(n, 0);  // the kernel times the probe
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) folded[i] += static_cast<double>(w[i * n + j]) * static_cast<double>(probe[j]);
  std::vector<Own<dl4_tensor>> in;
  std::vector<std::vector<float>> expected;
  std::vector<float> all = numbers(n * n + different);
  for (size_t d = 0; d < different; ++d) {
    in.push_back(tensor({n, n}, std::vector<float>(all.begin() + static_cast<int64_t>(d),
                                                   all.begin() + static_cast<int64_t>(d + n * n))));
    expected.push_back(floats(dense.run(in[d])));
    for (size_t i = 0; i < n; ++i) {
      double here = 0, there = 0;
      for (size_t j = 0; j < n; ++j) {
        here += static_cast<double>(expected[d][i * n + j]) * static_cast<double>(probe[j]);
        there += static_cast<double>(all[d + i * n + j]) * folded[j];
      }
      ASSERT_NEAR(here, there, 1e-3) << "product " << d << " row " << i;
    }
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> crowd;
  for (size_t t = 0; t < threads; ++t) {
    crowd.emplace_back([&, t] {
      for (size_t i = 0; i < each; ++i) {
        size_t d = (t + i) % different;
        if (floats(dense.run(in[d])) != expected[d]) ++wrong;
      }
    });
  }
  for (auto &thread : crowd) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Hazard1, BuildInfoNamesTheVariantAndOthersAreNotUsed) {
  Own<dl4_blob> blob;
  ok(dl4_build_info(blob.out()));
  const auto info = nlohmann::json::parse(dl4_blob_data(blob));
  if (info.at("backends") == "own") GTEST_SKIP() << "OpenBLAS is not there";
  std::string openblas = info.at("openblas");
  bool openmp = openblas.ends_with(", openmp");
  bool unused = openblas.find("not used") != std::string::npos;
  EXPECT_TRUE(openmp != unused) << openblas;
  // The planner is left no other product: it must do without the variant that is not used.
  auto c = context(R"({"threads": 1, "kernels_off": ["dnnl_gemm", "packed_gemm", "blocked_gemm", "small_gemm"]})");
  One dense("Dense", R"({"units": 300})", {-1, 300}, DL4_FLOAT32, 1, c);
  auto x = tensor({300, 300});
  dense.run(x);
  bool used = text_of(dense.session).find("openblas") != std::string::npos;
  EXPECT_TRUE(openmp || !used) << text_of(dense.session);
}

// ---- Hazard 2: sizes --------------------------------------------------------------------------------------------

struct Size {
  const char *name;
  std::function<dl4_error *(dl4_graph *, dl4_context *)> call;
};

dl4_error *make(dl4_context *c, const std::vector<int64_t> &dims) {
  dl4_tensor *t = nullptr;
  dl4_error *e = dl4_tensor_create(c, DL4_FLOAT32, static_cast<int32_t>(dims.size()), dims.data(), &t);
  EXPECT_EQ(t, nullptr);
  dl4_release(t);
  return e;
}
// The refusal may come with the layer or with the model.
dl4_error *put(dl4_graph *g, const char *kind, const std::string &json, const std::vector<int64_t> &dims,
               int32_t dtype = DL4_FLOAT32) {
  dl4_node x = -1, y = -1;
  if (dl4_error *e = dl4_graph_add_input(g, nullptr, dtype, static_cast<int32_t>(dims.size()), dims.data(), &x))
    return e;
  if (dl4_error *e = dl4_graph_add(g, kind, nullptr, json.c_str(), nullptr, nullptr, &x, 1, &y, 1)) return e;
  dl4_model *m = nullptr;
  dl4_error *e = dl4_graph_build(g, &x, 1, &y, 1, &m);
  EXPECT_EQ(m, nullptr);
  dl4_release(m);
  return e;
}

constexpr int64_t two31 = int64_t{1} << 31, two32 = int64_t{1} << 32;
constexpr int64_t huge = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();

const Size sizes[] = {
    {"a dim of 2^31", [](dl4_graph *, dl4_context *c) { return make(c, {two31}); }},
    {"a dim of 2^32",
     [](dl4_graph *, dl4_context *c) {
       return make(c, {two32, 0});
     }},
    {"the greatest dim", [](dl4_graph *, dl4_context *c) { return make(c, {huge}); }},
    {"a negative dim",
     [](dl4_graph *, dl4_context *c) {
       return make(c, {-1, 4});
     }},
    {"the least dim", [](dl4_graph *, dl4_context *c) { return make(c, {least}); }},
    {"elements that wrap to 0",
     [](dl4_graph *, dl4_context *c) {
       return make(c, {1 << 30, 1 << 30, 1 << 4});
     }},
    {"elements that wrap to a few",
     [](dl4_graph *, dl4_context *c) {
       return make(c, {1 << 30, 1 << 30, 17});
     }},
    {"past 2^40 elements",
     [](dl4_graph *, dl4_context *c) {
       return make(c, {1 << 21, 1 << 20});
     }},
    {"zero among the huge",
     [](dl4_graph *, dl4_context *c) {
       return make(c, {two31, 0, two31});
     }},
    {"a symbolic dim of 2^31",
     [](dl4_graph *g, dl4_context *) {
       return put(g, "Flatten", "{}", {-1, two31});
     }},
    {"a symbolic dim below -1",
     [](dl4_graph *g, dl4_context *) {
       return put(g, "Flatten", "{}", {-1, -2});
     }},
    {"units past 2^31",
     [](dl4_graph *g, dl4_context *) {
       return put(g, "Dense", R"({"units": 4294967296})", {-1, 4});
     }},
    {"a kernel of 2^60 elements",
     [](dl4_graph *g, dl4_context *) {
       return put(g, "Dense", R"({"units": 1073741824})", {-1, 1 << 30});
     }},
    {"a kernel past memory_limit",
     [](dl4_graph *g, dl4_context *) {
       return put(g, "Dense", R"({"units": 100000})", {-1, 10000});
     }},
    {"an LSTM past 2^31",
     [](dl4_graph *g, dl4_context *) {
       return put(g, "LSTM", R"({"units": 1000000000})", {-1, 3, 4});
     }},
    {"a table of words past 2^40",
     [](dl4_graph *g, dl4_context *) {
       return put(g, "Embedding", R"({"input_dim": 2000000000, "output_dim": 1000000})", {-1, 4}, DL4_INT32);
     }},
    {"filters past 2^31",
     [](dl4_graph *g, dl4_context *) {
       return put(g, "Conv2D", R"({"filters": 9000000000, "kernel_size": 1})", {-1, 4, 4, 1});
     }},
    {"a window past 2^31",
     [](dl4_graph *g, dl4_context *) {
       return put(g, "Conv2D", R"({"filters": 1, "kernel_size": [3000000000, 3000000000]})", {-1, 4, 4, 1});
     }},
    {"a dilation past 2^62",
     [](dl4_graph *g, dl4_context *) {
       return put(g, "Conv1D", R"({"filters": 1, "kernel_size": 3, "dilation_rate": 4611686018427387904})", {-1, 4, 1});
     }},
    {"flattened past 2^31",
     [](dl4_graph *g, dl4_context *) {
       return put(g, "Flatten", "{}", {-1, 1 << 20, 1 << 20});
     }},
    {"reshaped past 2^63",
     [](dl4_graph *g, dl4_context *) {
       return put(g, "Reshape", R"({"target_shape": [2147483647, 2147483647, 2147483647]})", {-1, 4});
     }},
    {"strides past the memory",
     [](dl4_graph *, dl4_context *c) {
       float data[4] = {};
       const int64_t dims[2] = {2, 2}, strides[2] = {huge, 1};
       dl4_tensor *t = nullptr;
       return dl4_tensor_wrap(c, DL4_FLOAT32, 2, dims, strides, data, sizeof data, nullptr, nullptr, &t);
     }},
    {"strides before the memory",
     [](dl4_graph *, dl4_context *c) {
       float data[4] = {};
       const int64_t dims[2] = {2, 2}, strides[2] = {-2, 1};
       dl4_tensor *t = nullptr;
       return dl4_tensor_wrap(c, DL4_FLOAT32, 2, dims, strides, data, sizeof data, nullptr, nullptr, &t);
     }},
};

TEST(Hazard2, SizesThatCannotBeAreRefused) {
  auto c = context(R"({"memory_limit": 100000000})");
  for (const Size &s : sizes) {
    Own<dl4_graph> g;
    ok(dl4_graph_create(c, g.out()));
    Refusal r = refusal(s.call(g, c));
    EXPECT_TRUE(r.code == DL4_INVALID_ARGUMENT || r.code == DL4_SHAPE_MISMATCH || r.code == DL4_OUT_OF_MEMORY)
        << s.name << ": " << r.code << ' ' << r.message;
  }
}

TEST(Hazard2, APlanPastTheMemoryLimitIsRefusedAndSmallerOnesStillRun) {
  auto c = context(R"({"memory_limit": 1000000})");
  Own<dl4_graph> g;
  ok(dl4_graph_create(c, g.out()));
  dl4_node x = input(g, "x", {-1, 64});
  dl4_node y = add(g, "Dense", nullptr, R"({"units": 64, "activation": "tanh"})", x);
  y = add(g, "Dense", nullptr, R"({"units": 4})", y);
  Own<dl4_model> m;
  Own<dl4_session> s;
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  ok(dl4_session_create(m, nullptr, s.out()));
  auto small = tensor({8, 64}), large = tensor({100000, 64});
  dl4_tensor *in = large, *out = nullptr;
  Refusal r = refusal(dl4_session_run(s, &in, 1, &out, 1, nullptr));
  EXPECT_EQ(r.code, DL4_OUT_OF_MEMORY) << r.message;
  EXPECT_NE(r.message.find("1000000"), std::string::npos) << r.message;
  EXPECT_EQ(out, nullptr);
  in = small;
  ok(dl4_session_run(s, &in, 1, &out, 1, nullptr));
  dl4_release(out);
}

// ---- Hazard 3: nothing ------------------------------------------------------------------------------------------

struct Nothing {
  const char *kind, *json;
  std::vector<int64_t> symbolic, dims;
  int32_t dtype = DL4_FLOAT32;
  int64_t copies = 1;
};

const Nothing nothings[] = {
    {"Dense", R"({"units": 3})", {-1, 4}, {0, 4}},
    {"Dense", R"({"units": 3, "activation": "softmax"})", {-1, -1, 4}, {2, 0, 4}},
    {"Conv2D", R"({"filters": 3, "kernel_size": 3})", {-1, 8, 8, 2}, {0, 8, 8, 2}},
    {"Conv1D", R"({"filters": 3, "kernel_size": 3, "padding": "causal"})", {-1, 8, 2}, {0, 8, 2}},
    {"Conv1D", R"({"filters": 3, "kernel_size": 3, "padding": "same"})", {-1, -1, 2}, {2, 0, 2}},
    {"MaxPooling2D", "{}", {-1, 8, 8, 2}, {0, 8, 8, 2}},
    {"AveragePooling2D", R"({"pool_size": 2, "padding": "same"})", {-1, -1, 8, 2}, {2, 0, 8, 2}},
    {"GlobalAveragePooling2D", "{}", {-1, 4, 4, 2}, {0, 4, 4, 2}},
    {"GlobalMaxPooling1D", "{}", {-1, 4, 2}, {0, 4, 2}},
    {"LSTM", R"({"units": 5})", {-1, 3, 4}, {0, 3, 4}},
    {"LSTM", R"({"units": 5, "return_sequences": true})", {-1, -1, 4}, {0, 3, 4}},
    {"LSTM", R"({"units": 5})", {-1, -1, 4}, {2, 0, 4}},
    {"LSTM", R"({"units": 5, "return_sequences": true})", {-1, -1, 4}, {2, 0, 4}},
    {"Embedding", R"({"input_dim": 7, "output_dim": 3})", {-1, -1}, {0, 5}, DL4_INT32},
    {"Embedding", R"({"input_dim": 7, "output_dim": 3})", {-1, -1}, {2, 0}, DL4_INT32},
    {"Attention", "{}", {-1, -1, 4}, {0, 3, 4}, DL4_FLOAT32, 2},
    {"Attention", "{}", {-1, -1, 4}, {2, 0, 4}, DL4_FLOAT32, 2},
    {"AdditiveAttention", "{}", {-1, -1, 4}, {2, 0, 4}, DL4_FLOAT32, 2},
    {"Softmax", "{}", {-1, -1}, {2, 0}},
    {"Flatten", "{}", {-1, 3, 4}, {0, 3, 4}},
    {"Concatenate", R"({"axis": 1})", {-1, -1}, {2, 0}, DL4_FLOAT32, 2},
    {"MatMul", R"({"transpose_b": true})", {-1, -1, 4}, {0, 3, 4}, DL4_FLOAT32, 2},
    {"MatMul", R"({"transpose_b": true})", {-1, 3, -1}, {2, 3, 0}, DL4_FLOAT32, 2},
    {"Masking", "{}", {-1, -1, 4}, {2, 0, 4}},
    {"Activation", R"({"activation": "gelu"})", {-1, -1}, {0, 0}},
};

TEST(Hazard3, NothingGivesNothingOrAClearRefusal) {
  for (const Nothing &n : nothings) {
    SCOPED_TRACE(std::string(n.kind) + ' ' + n.json);
    One one(n.kind, n.json, n.symbolic, n.dtype, n.copies);
    auto x = tensor(n.dims, {}, n.dtype);
    dl4_tensor *in = x, *out = nullptr;
    if (dl4_error *e = dl4_session_run(one.session, &in, 1, &out, 1, nullptr)) {
      Refusal r = refusal(e);
      EXPECT_TRUE(r.code == DL4_INVALID_ARGUMENT || r.code == DL4_SHAPE_MISMATCH) << r.code << ' ' << r.message;
      EXPECT_EQ(out, nullptr);
      continue;
    }
    for (float v : floats(out)) EXPECT_TRUE(std::isfinite(v));
    EXPECT_EQ(dl4_tensor_dims(out)[0], n.dims[0]);
    dl4_release(out);
  }
}

TEST(Hazard3, WidthsOfNothingAreAnsweredOrRefusedWhenBuilt) {
  const std::pair<const char *, const char *> layers[] = {{"Dense", R"({"units": 0})"},
                                                          {"LSTM", R"({"units": 0})"},
                                                          {"Conv2D", R"({"filters": 0, "kernel_size": 1})"},
                                                          {"Conv2D", R"({"filters": 1, "kernel_size": 0})"},
                                                          {"MaxPooling2D", R"({"pool_size": 0})"},
                                                          {"Embedding", R"({"input_dim": 0, "output_dim": 1})"}};
  for (const auto &[kind, json] : layers) {
    Own<dl4_graph> g;
    dl4_layer layer = 5;
    ok(dl4_graph_create(nullptr, g.out()));
    EXPECT_EQ(refusal(dl4_graph_add_layer(g, kind, nullptr, json, nullptr, &layer)).code, DL4_INVALID_ARGUMENT)
        << kind << json;
    EXPECT_EQ(layer, -1);
  }
  const std::tuple<const char *, const char *, std::vector<int64_t>> inputs[] = {
      {"Dense", R"({"units": 3})", {-1, 0}},
      {"LSTM", R"({"units": 3})", {-1, 4, 0}},
      {"Conv2D", R"({"filters": 2, "kernel_size": 2})", {-1, 4, 4, 0}},
      {"LSTM", R"({"units": 3})", {-1, 0, 4}}};
  for (const auto &[kind, json, dims] : inputs) {
    SCOPED_TRACE(kind);
    Own<dl4_graph> g;
    Own<dl4_model> m;
    ok(dl4_graph_create(nullptr, g.out()));
    dl4_node x = -1, y = -1;
    dl4_error *e = dl4_graph_add_input(g, "x", DL4_FLOAT32, static_cast<int32_t>(dims.size()), dims.data(), &x);
    if (!e) e = dl4_graph_add(g, kind, nullptr, json, nullptr, nullptr, &x, 1, &y, 1);
    if (!e) e = dl4_graph_build(g, &x, 1, &y, 1, m.out());
    if (e) {
      Refusal r = refusal(e);
      EXPECT_TRUE(r.code == DL4_INVALID_ARGUMENT || r.code == DL4_SHAPE_MISMATCH) << r.code << ' ' << r.message;
      continue;
    }
    Own<dl4_session> s;
    ok(dl4_session_create(m, nullptr, s.out()));
    std::vector<int64_t> two = dims;
    two[0] = 2;
    auto in = tensor(two);
    dl4_tensor *first = in, *out = nullptr;
    ok(dl4_session_run(s, &first, 1, &out, 1, nullptr));
    for (float v : floats(out)) EXPECT_EQ(v, 0) << "the bias alone";
    dl4_release(out);
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
