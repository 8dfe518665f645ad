// Sessions that keep weights in fewer bytes: what they compute, and what they refuse.
#include <algorithm>
#include <cmath>
#include <functional>

#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

struct Family {
  const char *name;
  std::vector<int64_t> input;  // with the batch
  std::function<dl4_node(dl4_graph *, dl4_node)> layers;
  int layers_narrow;  // kernels that one row has in fewer bytes
  bool wide = false;  // enough weights for four bits
};
void PrintTo(const Family &f, std::ostream *out) { *out << f.name; }

dl4_node two(dl4_graph *g, const char *kind, const char *json, dl4_node a, dl4_node b) {
  const dl4_node in[2] = {a, b};
  dl4_node n = -1;
  ok(dl4_graph_add(g, kind, nullptr, json, nullptr, nullptr, in, 2, &n, 1));
  return n;
}

// Of 512 rows on it has enough weights for four bits.
Family wide_dense(int64_t rows) {
  return {"wide_dense",
          {1, rows},
          [](dl4_graph *g, dl4_node n) { return add(g, "Dense", "dense", R"({"units": 256})", n); },
          1,
          true};
}

const Family families[] = {
    {"dense",
     {1, 200},
     [](dl4_graph *g, dl4_node n) {
       n = add(g, "Dense", nullptr, R"({"units": 150, "activation": "relu"})", n);
       return add(g, "Dense", nullptr, R"({"units": 70, "activation": "gelu"})", n);
     },
     2},
    {"einsum_dense",
     {1, 1, 200},
     [](dl4_graph *g, dl4_node n) {
       return add(g, "EinsumDense", nullptr, R"({"equation": "abc,cde->abde", "output_shape": [null, 4, 30]})", n);
     },
     1},
    {"attention",
     {1, 1, 128},
     [](dl4_graph *g, dl4_node n) { return two(g, "MultiHeadAttention", R"({"num_heads": 4, "key_dim": 32})", n, n); },
     4},
    {"lstm", {1, 9, 64}, [](dl4_graph *g, dl4_node n) { return add(g, "LSTM", nullptr, R"({"units": 96})", n); }, 1},
    {"bidirectional_lstm",
     {1, 9, 64},
     [](dl4_graph *g, dl4_node n) {
       const char *json = R"({"layer": {"class_name": "LSTM", "config": {"units": 70, "return_sequences": true}}})";
       return add(g, "Bidirectional", nullptr, json, n);
     },
     2},
    {"gru", {1, 9, 64}, [](dl4_graph *g, dl4_node n) { return add(g, "GRU", nullptr, R"({"units": 96})", n); }, 1},
    {"simple_rnn",
     {1, 9, 128},
     [](dl4_graph *g, dl4_node n) { return add(g, "SimpleRNN", nullptr, R"({"units": 96})", n); },
     1},
    wide_dense(512),
    {"wide_lstm",
     {1, 9, 256},
     [](dl4_graph *g, dl4_node n) { return add(g, "LSTM", nullptr, R"({"units": 192})", n); },
     1,
     true},
    {"wide_gru",
     {1, 9, 256},
     [](dl4_graph *g, dl4_node n) { return add(g, "GRU", nullptr, R"({"units": 224})", n); },
     1,
     true},
};

Own<dl4_model> model_of(const Family &f, dl4_context *c = nullptr) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(c, g.out()));
  std::vector<int64_t> dims = f.input;
  dims[0] = -1;
  dl4_node x = input(g, "x", dims), y = f.layers(g, x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

Own<dl4_tensor> data(std::vector<int64_t> dims, int64_t batch) {
  dims[0] = batch;
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return tensor(dims, numbers(static_cast<size_t>(n)));
}

std::string option(const char *weights) { return std::string(R"({"weights": ")") + weights + "\"}"; }

int count(const std::string &text, const std::string &word) {
  int n = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++n;
  return n;
}

double distance(const std::vector<float> &a, const std::vector<float> &b) {
  double most = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    largest = std::max(largest, std::fabs(static_cast<double>(a[i])));
  }
  return most / largest;
}

class Weights : public testing::TestWithParam<Family> {};

TEST_P(Weights, AreCloseToFloat32AndTaken) {
  const Family &f = GetParam();
  const auto m = model_of(f);
  const std::string before = saved(m);
  for (int64_t batch : {1, 33}) {
    const auto x = data(f.input, batch);
    const auto want = run(m, {x})[0];
    EXPECT_EQ(want, run(m, {x}, 1, option("float32"))[0]);
    for (auto [type, most] : {std::pair{"bfloat16", 0.02}, {"int8", 0.06}, {"int4", f.wide ? 0.6 : 0.06}}) {
      Own<dl4_session> s;
      Own<dl4_tensor> out;
      dl4_tensor *in = x;
      ok(dl4_session_create(m, option(type).c_str(), s.out()));
      ok(dl4_session_run(s, &in, 1, out.out(), 1, nullptr));
      const auto got = floats(out);
      EXPECT_LT(distance(want, got), most) << type << ", " << batch;
      if (batch > 1) continue;
      EXPECT_NE(want, got) << type;
      const std::string kept = type == std::string("int4") && !f.wide ? "int8" : type;
      const std::string plan = described(s, DL4_FORMAT_TEXT), by = "by " + kept + "_gemm", step = ", " + kept;
      EXPECT_GE(count(plan, by) + count(plan, step), f.layers_narrow) << plan;
    }
  }
  EXPECT_EQ(before, saved(m));
}

// A session with that type of weights, after a run of one row.
std::string after_a_run(const Family &f, const char *type, int32_t format) {
  const auto m = model_of(f);
  Own<dl4_session> s;
  Own<dl4_tensor> out;
  const auto x = data(f.input, 1);
  dl4_tensor *in = x;
  ok(dl4_session_create(m, option(type).c_str(), s.out()));
  ok(dl4_session_run(s, &in, 1, out.out(), 1, nullptr));
  return described(s, format);
}

// What a session keeps of its weights.
TEST(WeightsOption, TakesFewerBytes) {
  const auto bytes = [&](const char *type, const Family &f = families[0]) {
    return nlohmann::json::parse(after_a_run(f, type, DL4_FORMAT_JSON)).at("packed_bytes").get<double>();
  };
  const double exact = bytes("float32");
  EXPECT_GE(exact, 4 * (200 * 150 + 150 * 70));
  EXPECT_LT(bytes("bfloat16"), 0.51 * exact);
  EXPECT_LT(bytes("int8"), exact / 3);
  EXPECT_EQ(bytes("int4"), bytes("int8"));
  const Family wide = wide_dense(512);
  EXPECT_LT(bytes("int4", wide), bytes("float32", wide) / 6);
}

// A row less and the weights are too few for four bits.
TEST(WeightsOption, FourBitsAreForManyWeights) {
  for (auto [rows, kept] : {std::pair{512, "by int4_gemm"}, {511, "by int8_gemm"}}) {
    const std::string plan = after_a_run(wide_dense(rows), "int4", DL4_FORMAT_TEXT);
    EXPECT_EQ(count(plan, kept), 1) << plan;
  }
}

TEST_P(Weights, IntegersHaveTheSameBitsForAnyNumberOfThreads) {
  const Family &f = GetParam();
  for (const char *type : {"int8", "int4"})
    for (int64_t batch : {1, 40}) {
      std::vector<float> one;
      for (const char *threads : {"1", "2", "3", "7"}) {
        Own<dl4_context> c;
        // What stays float32 has to have the same bits too.
        const std::string options = std::string(R"({"reproducible": "strict", "threads": )") + threads + "}";
        ok(dl4_context_create(options.c_str(), c.out()));
        const auto m = model_of(f, c);
        const auto got = run(m, {data(f.input, batch)}, 1, option(type))[0];
        if (one.empty()) one = got;
        EXPECT_EQ(one, got) << type << ", " << threads << " threads, " << batch;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Of, Weights, testing::ValuesIn(families),
                         [](const auto &info) { return std::string(info.param.name); });

// The matrix of a normalization's neighbours is a constant, but no weight.
TEST(WeightsOption, LeavesConstantsAsTheyAre) {
  const Family f{"lrn",
                 {1, 128},
                 [](dl4_graph *g, dl4_node n) { return add(g, "LocalResponseNormalization", nullptr, "{}", n); },
                 0};
  const auto m = model_of(f);
  const auto x = data(f.input, 1);
  const auto want = run(m, {x})[0];
  for (const char *type : {"bfloat16", "int8", "int4"}) EXPECT_EQ(want, run(m, {x}, 1, option(type))[0]) << type;
}

Refusal refused(const dl4_model *m, const std::string &options) {
  Own<dl4_session> s;
  return refusal(dl4_session_create(m, options.c_str(), s.out()));
}

TEST(WeightsOption, RefusesAnUnknownType) {
  const Refusal r = refused(small_net(), R"({"weights": "float8"})");
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("\"weights\""), std::string::npos) << r.message;
  EXPECT_NE(r.message.find("float8"), std::string::npos) << r.message;
}

TEST(WeightsOption, RefusesTrainingAndGradients) {
  const auto m = small_net();
  for (const char *more : {R"("training": true)", R"("gradients": ["x"])"}) {
    const Refusal r = refused(m, std::string(R"({"weights": "int8", )") + more + "}");
    EXPECT_EQ(r.code, DL4_UNSUPPORTED);
    EXPECT_NE(r.message.find("int8"), std::string::npos) << r.message;
    EXPECT_EQ(refused(m, std::string(R"({"weights": "float32", )") + more + "}").code, 0);
  }
}

TEST(WeightsOption, RefusesAModelThatAssignsWeights) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4}), y = add(g, "Dense", "d", R"({"units": 4})", x), w = -1, out = -1;
  ok(dl4_graph_add_weight(g, "d/bias", &w));
  ok(dl4_graph_add_assign(g, nullptr, w, w, &out));
  const dl4_node ys[2] = {y, out};
  ok(dl4_graph_build(g, &x, 1, ys, 2, m.out()));
  const Refusal r = refused(m, option("int8"));
  EXPECT_EQ(r.code, DL4_UNSUPPORTED);
  EXPECT_NE(r.message.find("assigns weights"), std::string::npos) << r.message;
}

// The first run says whose weights have no scale.
TEST(WeightsOption, RefusesWeightsWithoutAScale) {
  const Family f = wide_dense(512);
  const auto m = model_of(f);
  auto kernel = numbers(512 * 256);
  kernel[256 * 7 + 11] = NAN;
  ok(dl4_model_set_weight(m, "dense/kernel", tensor({512, 256}, kernel)));
  const auto x = data(f.input, 1);
  dl4_tensor *in = x, *out = nullptr;
  for (const char *type : {"int8", "int4"}) {
    Own<dl4_session> s;
    ok(dl4_session_create(m, option(type).c_str(), s.out()));
    const Refusal r = refusal(dl4_session_run(s, &in, 1, &out, 1, nullptr));
    EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
    EXPECT_EQ(out, nullptr);
    for (const char *word : {"\"dense\"", type, "nan", "column 11"})
      EXPECT_NE(r.message.find(word), std::string::npos) << r.message;
  }
  EXPECT_TRUE(std::isnan(run(m, {x}, 1, option("bfloat16"))[0][11]));
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
