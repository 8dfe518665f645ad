// The demonstration's four nets on an extract of Fashion-MNIST: how accurate they stay with weights in fewer bytes.
#include <cmath>

#include "capi/net.hpp"
#include "models/fashion.hpp"

namespace dl4_test::DL4_FILE {
namespace {

constexpr int64_t all = 10000, learnt = 5000, batch = 50;

struct Net {
  const char *name;
  bool image;
  dl4_node (*layers)(dl4_graph *, dl4_node);
};
void PrintTo(const Net &n, std::ostream *out) { *out << n.name; }

// As in fashion_slow_test.cpp, but that the convolution and the attention have so many units that they are worth it.
const Net nets[] = {
    {"dense", true,
     [](dl4_graph *g, dl4_node n) {
       return add(g, "Dense", nullptr, R"({"units": 128, "activation": "relu"})", add(g, "Flatten", nullptr, "{}", n));
     }},
    {"conv", true,
     [](dl4_graph *g, dl4_node n) {
       n = add(g, "Conv2D", nullptr, R"({"filters": 16, "kernel_size": 3, "activation": "relu"})", n);
       n = add(g, "MaxPooling2D", nullptr, R"({"pool_size": 2})", n);
       n = add(g, "Conv2D", nullptr, R"({"filters": 64, "kernel_size": 3, "activation": "relu"})", n);
       n = add(g, "MaxPooling2D", nullptr, R"({"pool_size": 2})", n);
       return add(g, "Flatten", nullptr, "{}", n);
     }},
    {"lstm", false, [](dl4_graph *g, dl4_node n) { return add(g, "LSTM", nullptr, R"({"units": 64})", n); }},
    {"attention", false,
     [](dl4_graph *g, dl4_node n) {
       n = add(g, "Dense", nullptr, R"({"units": 128})", n);
       const dl4_node q = add(g, "Dense", nullptr, R"({"units": 64})", n);
       const dl4_node v = add(g, "Dense", nullptr, R"({"units": 64, "activation": "relu"})", n);
       const dl4_node in[2] = {q, v};
       ok(dl4_graph_add(g, "Attention", nullptr, nullptr, nullptr, nullptr, in, 2, &n, 1));
       return add(g, "GlobalAveragePooling1D", nullptr, "{}", n);
     }},
};

class FashionWeights : public testing::TestWithParam<Net> {};

TEST_P(FashionWeights, AreAsAccurate) {
  const Net &net = GetParam();
  Own<dl4_context> c;
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_context_create(R"({"seed": 3, "reproducible": "strict"})", c.out()));
  ok(dl4_graph_create(c, g.out()));
  std::vector<int64_t> dims{-1, side, side};
  if (net.image) dims.push_back(1);
  dl4_node x = input(g, "x", dims);
  dl4_node y = add(g, "Dense", nullptr, R"({"units": 10, "activation": "softmax"})", net.layers(g, x));
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));

  const Samples samples(DL4_SOURCE_DIR "/tests/data/fashion-mnist", "t10k", all);
  const auto &labels = samples.labels;
  std::vector<float> values(samples.images.begin(), samples.images.end());
  for (float &v : values) v /= 255;
  auto part = [&](int64_t first, int64_t n) {
    dims[0] = n;
    return tensor(dims, {values.begin() + first * pixels, values.begin() + (first + n) * pixels});
  };
  const auto t = trainer(m, R"({"optimizer": "Adam", "loss": "SparseCategoricalCrossentropy"})");
  for (int epoch = 0; epoch < 3; ++epoch)
    for (int64_t first = 0; first < learnt; first += batch) {
      const auto in = part(first, batch), target = tensor({batch}, {}, DL4_INT32);
      for (int64_t i = 0; i < batch; ++i)
        static_cast<int32_t *>(dl4_tensor_data(target))[i] = labels[static_cast<size_t>(first + i)];
      dl4_tensor *xs = in, *ys = target;
      double loss = 0;
      ok(dl4_trainer_step(t, &xs, 1, &ys, 1, nullptr, 0, &loss, 1, nullptr));
    }

  auto right = [&](const std::vector<float> &answers) {
    int64_t n = 0;
    for (int64_t i = learnt; i < all; ++i) {
      const auto *one = answers.data() + (i - learnt) * 10;
      n += std::max_element(one, one + 10) - one == labels[static_cast<size_t>(i)];
    }
    return 100.0 * static_cast<double>(n) / static_cast<double>(all - learnt);
  };
  // So many at a time: of many rows bfloat16 stays float32.
  auto answers = [&](const char *type, int64_t rows = learnt) {
    Own<dl4_session> s;
    std::vector<float> got;
    ok(dl4_session_create(m, (std::string(R"({"weights": ")") + type + "\"}").c_str(), s.out()));
    for (int64_t first = learnt; first < all; first += rows) {
      const auto in = part(first, rows);
      dl4_tensor *xs = in;
      Own<dl4_tensor> out;
      ok(dl4_session_run(s, &xs, 1, out.out(), 1, nullptr));
      const auto some = floats(out);
      got.insert(got.end(), some.begin(), some.end());
    }
    return got;
  };
  const auto exact = answers("float32");
  EXPECT_GT(right(exact), 60);
  for (auto [type, points] : {std::pair{"bfloat16", 0.2}, {"int8", 0.2}, {"int4", 0.2}}) {
    const auto got = answers(type, std::string(type) == "bfloat16" ? 1 : learnt);
    EXPECT_NEAR(right(exact), right(got), points) << type;
  }
  EXPECT_NE(exact, answers("int8"));
}

INSTANTIATE_TEST_SUITE_P(Nets, FashionWeights, testing::ValuesIn(nets),
                         [](const auto &info) { return std::string(info.param.name); });

}  // namespace
}  // namespace dl4_test::DL4_FILE
