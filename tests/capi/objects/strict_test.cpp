// reproducible = "strict": the bits of a run and of twenty steps hang on no number of threads.
#include <functional>

#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

struct Family {
  const char *name;
  std::vector<int64_t> input;  // with the batch
  std::function<dl4_node(dl4_graph *, dl4_node)> layers;
  std::vector<int64_t> target;
  const char *optimizer = "Adam";
  int32_t dtype = DL4_FLOAT32;
};
void PrintTo(const Family &f, std::ostream *out) { *out << f.name; }

dl4_node two(dl4_graph *g, const char *kind, const char *json, dl4_node a, dl4_node b) {
  const dl4_node in[2] = {a, b};
  dl4_node n = -1;
  ok(dl4_graph_add(g, kind, nullptr, json, nullptr, nullptr, in, 2, &n, 1));
  return n;
}

const Family families[] = {
    {"dense",
     {4, 32, 32, 3},
     [](dl4_graph *g, dl4_node n) {
       n = add(g, "Dense", nullptr, R"({"units": 8, "activation": "relu"})", n);
       n = add(g, "Flatten", nullptr, "{}", n);
       return add(g, "Dense", nullptr, R"({"units": 2})", n);
     },
     {4, 2},
     "SGD"},
    {"convolution",
     {4, 32, 32, 3},
     [](dl4_graph *g, dl4_node n) {
       n = add(g, "Conv2D", nullptr, R"({"filters": 8, "kernel_size": 3, "activation": "relu"})", n);
       n = add(g, "Flatten", nullptr, "{}", n);
       return add(g, "Dense", nullptr, R"({"units": 2, "activation": "softmax"})", n);
     },
     {4, 2}},
    {"lstm",
     {32, 28, 32},
     [](dl4_graph *g, dl4_node n) {
       n = add(g, "LSTM", nullptr, R"({"units": 64})", n);
       return add(g, "Dense", nullptr, R"({"units": 2})", n);
     },
     {32, 2}},
    {"gru",  // and, by scan, one of many kernels a step
     {32, 28, 32},
     [](dl4_graph *g, dl4_node n) {
       n = add(g, "GRU", nullptr, R"({"units": 64, "return_sequences": true})", n);
       n = add(g, "LSTM", nullptr, R"({"units": 48, "activation": "softsign"})", n);
       return add(g, "Dense", nullptr, R"({"units": 2})", n);
     },
     {32, 2}},
    {"attention",
     {16, 16, 32},
     [](dl4_graph *g, dl4_node n) {
       dl4_node q = add(g, "Dense", nullptr, R"({"units": 4})", n), k = add(g, "Dense", nullptr, R"({"units": 4})", n);
       dl4_node v = add(g, "Dense", nullptr, R"({"units": 4})", n);
       dl4_node score = add(g, "Softmax", nullptr, "{}", two(g, "MatMul", R"({"transpose_b": true})", q, k));
       return two(g, "MatMul", "{}", score, v);
     },
     {16, 16, 4}},
    {"lenet",
     {32, 28, 28, 1},
     [](dl4_graph *g, dl4_node n) {
       n = add(g, "Conv2D", nullptr, R"({"filters": 6, "kernel_size": 5, "padding": "same", "activation": "relu"})", n);
       n = add(g, "MaxPooling2D", nullptr, "{}", n);
       n = add(g, "Conv2D", nullptr, R"({"filters": 16, "kernel_size": 5, "activation": "relu"})", n);
       n = add(g, "MaxPooling2D", nullptr, "{}", n);
       n = add(g, "Flatten", nullptr, "{}", n);
       for (const char *dense : {R"({"units": 120, "activation": "relu"})", R"({"units": 84, "activation": "relu"})",
                                 R"({"units": 10, "activation": "softmax"})"})
         n = add(g, "Dense", nullptr, dense, n);
       return n;
     },
     {32, 10}},
    {"self_attention",
     {32, 100},
     [](dl4_graph *g, dl4_node n) {
       n = add(g, "Embedding", nullptr, R"({"input_dim": 1000, "output_dim": 64})", n);
       n = two(g, "Attention", "{}", n, n);
       n = add(g, "GlobalAveragePooling1D", nullptr, "{}", n);
       return add(g, "Dense", nullptr, R"({"units": 10, "activation": "softmax"})", n);
     },
     {32, 10},
     "Adam",
     DL4_INT32},
    {"mlp_with_dropout",
     {128, 784},
     [](dl4_graph *g, dl4_node n) {
       n = add(g, "Dense", nullptr, R"({"units": 256, "activation": "relu"})", n);
       n = add(g, "Dropout", nullptr, R"({"rate": 0.3})", n);
       n = add(g, "Dense", nullptr, R"({"units": 128, "activation": "tanh"})", n);
       n = add(g, "Dropout", nullptr, R"({"rate": 0.2})", n);
       return add(g, "Dense", nullptr, R"({"units": 10, "activation": "softmax"})", n);
     },
     {128, 10}},
};

size_t product(const std::vector<int64_t> &dims) {
  size_t n = 1;
  for (int64_t d : dims) n *= static_cast<size_t>(d);
  return n;
}

Own<dl4_tensor> data(const Family &f) {
  if (f.dtype == DL4_FLOAT32) return tensor(f.input, numbers(product(f.input)));
  auto t = tensor(f.input, {}, f.dtype);
  auto *ids = static_cast<int32_t *>(dl4_tensor_data(t));
  for (size_t i = 0; i < product(f.input); ++i) ids[i] = static_cast<int32_t>(i * 7919 % 1000);
  return t;
}

struct Bits {
  std::vector<float> before, after;  // outputs
  std::string weights;               // after twenty steps
  std::vector<double> losses;
  bool operator==(const Bits &) const = default;
};

Bits bits(const Family &f, const std::string &options) {
  Own<dl4_context> c;
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_context_create(options.c_str(), c.out()));
  ok(dl4_graph_create(c, g.out()));
  std::vector<int64_t> dims = f.input;
  dims[0] = -1;
  dl4_node x = input(g, "x", dims, f.dtype), y = f.layers(g, x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  auto in = data(f), target = tensor(f.target, numbers(product(f.target)));
  auto run = [&] {
    Own<dl4_session> s;
    Own<dl4_tensor> out;
    dl4_tensor *first = in;
    ok(dl4_session_create(m, nullptr, s.out()));
    ok(dl4_session_run(s, &first, 1, out.out(), 1, nullptr));
    return floats(out);
  };
  Bits b;
  b.before = run();
  auto t = trainer(m, std::string(R"({"loss": "MeanSquaredError", "optimizer": ")") + f.optimizer + "\"}");
  dl4_tensor *xs = in, *ys = target;
  for (int i = 0; i < 20; ++i) {
    double loss = 0;
    ok(dl4_trainer_step(t, &xs, 1, &ys, 1, nullptr, 0, &loss, 1, nullptr));
    b.losses.push_back(loss);
  }
  Own<dl4_blob> file;
  ok(dl4_model_save_bytes(m, nullptr, file.out()));
  b.weights.assign(dl4_blob_data(file), static_cast<size_t>(dl4_blob_size(file)));
  b.after = run();
  return b;
}

class Strict : public testing::TestWithParam<Family> {};

TEST_P(Strict, AnyNumberOfThreadsGivesTheSameBits) {
  auto with = [&](int threads) {
    return bits(GetParam(), R"({"reproducible": "strict", "threads": )" + std::to_string(threads) + "}");
  };
  const Bits one = with(1);
  EXPECT_NE(one.before, one.after);
  EXPECT_NE(one.losses.front(), one.losses.back());
  for (int threads : {2, 3, 7}) {
    Bits many = with(threads);
    EXPECT_EQ(one.before, many.before) << threads << " threads, before training";
    EXPECT_EQ(one.losses, many.losses) << threads << " threads";
    EXPECT_TRUE(one.weights == many.weights) << threads << " threads, weights";
    EXPECT_EQ(one.after, many.after) << threads << " threads, after training";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Strict, testing::ValuesIn(families),
                         [](const auto &info) { return std::string(info.param.name); });

}  // namespace
}  // namespace dl4_test::DL4_FILE
