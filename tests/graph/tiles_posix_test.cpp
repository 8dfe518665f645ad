// Which steps of whole nets are products by the tiles of AMX, where the processor has them, and what they compute.
#include "graph/nets.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include "harness/tiles.hpp"
#include "ops/ops.hpp"
#include "plan/plan.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

struct Case {
  const char *kind;
  Json attributes;
  Shape input;
  const char *run, *gradients;  // what is by tiles
};

struct How {
  bool training = false;
  kernels::Math math = kernels::Math::float32;
  bool portable = false, dropping = false;
};

// The net of one layer, and the gradients of its weights and input.
class NetRun {
 public:
  NetRun(const Case &c, How how = {}) {
    const Node x = net_.input("x", c.input);
    const std::vector<Node> in(c.kind == std::string("MultiHeadAttention") ? 2 : 1, x);
    const Model model = net_.model({x}, {net_.add(c.kind, c.kind, c.attributes, in)});
    InferenceOptions of;
    of.training = how.dropping;
    if (how.training) {
      of.gradients = {"x"};
      for (const auto &w : model.weights()) of.gradients.push_back(w->name);
    }
    Inference all = inference(model, of);
    std::vector<Tensor> states;
    for (const auto &w : model.weights()) states.push_back(w->value());
    runtime::Options options = graph::options();
    options.plan.math = how.math;
    options.plan.cutting.machine = std::make_shared<Machine>();  // the same choices on each machine
    if (how.portable) options.plan.kernels_off = dispatch::unportable_kernels();
    std::vector<const Tensor *> constants;
    for (const Tensor &t : states) constants.push_back(how.training ? nullptr : &t);
    plan_ = plan::specialise(all.program, std::vector{c.input}, constants, options.plan, &packs_);
    if (!all.counts)
      executable_ = std::make_unique<runtime::Executable>(std::move(all.program), states, nullptr, options);
  }

  // Kernels by tiles, or of such, sorted.
  std::string tiles() const {
    std::vector<std::string> names;
    for (const auto &step : plan_->steps) {
      const std::string &kernel = step.kernel->name;
      if (kernel.starts_with("amx")) names.push_back(kernel.substr(0, kernel.find(',')));
      if (kernel.starts_with("own_lstm") && dispatch::told(step.choices).starts_with("amx_gemm"))
        names.push_back("own_lstm by amx_gemm");
    }
    std::sort(names.begin(), names.end());
    std::string all;
    for (const auto &n : names) all += text(all.empty() ? "" : " ", n);
    return all;
  }
  std::vector<Tensor> outputs() { return run_of(*executable_, {random_tensor(plan_->inputs[0].shape, 1)}); }

 private:
  Net net_;
  plan::Packs packs_;
  std::unique_ptr<const plan::Plan> plan_;
  std::unique_ptr<runtime::Executable> executable_;
};

// Just large enough: emulation takes time. Attention without biases: those of keys have gradients of 0.
const Case cases[]{
    {"Dense", {{"units", 256}}, {256, 256}, "amx_gemm", "amx_gemm amx_gemm amx_gemm"},
    {"Conv2D",
     {{"filters", 64}, {"kernel_size", 5}, {"padding", "same"}},
     {1, 13, 13, 64},
     "amx_conv",
     "amx_conv amx_conv_data amx_conv_weights"},
    {"Conv2DTranspose",
     {{"filters", 64}, {"kernel_size", 4}, {"strides", 2}, {"padding", "same"}},
     {1, 16, 16, 64},
     "amx_conv_data",
     "amx_conv amx_conv_data amx_conv_weights"},
    {"Conv2D",
     {{"filters", 256}, {"kernel_size", 1}},
     {1, 16, 16, 256},
     "amx_gemm",
     "amx_conv amx_conv_weights amx_gemm"},
    {"Conv3D",
     {{"filters", 64}, {"kernel_size", 3}, {"padding", "same"}},
     {1, 6, 6, 6, 64},
     "amx_conv",
     "amx_conv amx_conv_data amx_conv_weights"},
    {"LSTM",
     {{"units", 64}, {"return_sequences", true}},
     {20, 30, 128},
     "own_lstm by amx_gemm",
     "amx_gemm amx_gemm own_lstm by amx_gemm"},
    {"GRU", {{"units", 64}, {"return_sequences", true}}, {20, 40, 128}, "amx_gemm", "amx_gemm amx_gemm amx_gemm"},
    {"SimpleRNN",
     {{"units", 128}, {"return_sequences", true}},
     {20, 60, 128},
     "amx_gemm",
     "amx_gemm amx_gemm amx_gemm amx_gemm"},
    {"MultiHeadAttention",
     {{"num_heads", 1}, {"key_dim", 64}, {"use_bias", false}},
     {1, 512, 512},
     "amx_attention amx_gemm amx_gemm amx_gemm amx_gemm",
     "amx_attention amx_attention_grad amx_gemm amx_gemm amx_gemm amx_gemm amx_gemm amx_gemm amx_gemm amx_gemm "
     "amx_gemm amx_gemm amx_gemm amx_gemm"},
};

TEST(Tiles, LargeProductsOfEachLayerAndItsGradients) {
  dl4_test::WithTiles with;
  for (const Case &c : cases) {
    EXPECT_EQ(NetRun(c).tiles(), c.run) << c.kind;
    EXPECT_EQ(NetRun(c, {.training = true}).tiles(), c.gradients) << c.kind;
  }
}

// In inference the products of an LSTM are of some steps at once: of so many that tiles do them.
TEST(Tiles, StepsOfAnLstmAtOnce) {
  dl4_test::WithTiles with;
  const Case few{"LSTM", {{"units", 16}}, {32, 128, 64}, "", ""},
      wide{"LSTM", {{"units", 512}}, {48, 100, 512}, "", ""};
  for (const Case &c : {few, wide}) EXPECT_EQ(NetRun(c).tiles(), "own_lstm by amx_gemm");
}

// Of attention whose weights are dropped, which are therefore kept: the scores and the sum of values.
TEST(Tiles, AttentionThatKeepsItsWeights) {
  dl4_test::WithTiles with;
  const Case c{"MultiHeadAttention", {{"num_heads", 1}, {"key_dim", 64}, {"dropout", 0.1}}, {1, 512, 512}, "", ""};
  EXPECT_EQ(NetRun(c, {.dropping = true}).tiles(), "amx_gemm amx_gemm amx_gemm amx_gemm amx_gemm amx_gemm");
}

TEST(Tiles, NoneWhereBitsArePortable) {
  dl4_test::WithTiles with;
  for (const Case &c : cases) EXPECT_EQ(NetRun(c, {.training = true, .portable = true}).tiles(), "") << c.kind;
}

double distance(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double sum = 0, size = 0;
    for (int64_t j = 0; j < a[i].elements(); ++j) {
      const double x = a[i].as<float>()[j], y = b[i].as<float>()[j];
      sum += (x - y) * (x - y), size += x * x;
    }
    worst = std::max(worst, std::sqrt(sum / size));
  }
  return worst;
}

TEST(Tiles, NumbersOfEachLayerAndItsGradients) {
  for (const Case &c : cases) {
    const auto plainly = NetRun(c, {.training = true}).outputs();
    dl4_test::WithTiles with;
    EXPECT_LT(distance(plainly, NetRun(c, {.training = true}).outputs()), 2e-6) << c.kind;
    const double three = distance(plainly, NetRun(c, {.training = true, .math = kernels::Math::float32x3}).outputs());
    EXPECT_LT(three, 2e-5) << c.kind;
    EXPECT_GT(three, 2e-6) << c.kind << ": of three products";
  }
}

// Scores of heads that share their keys: a batch along two axes.
TEST(Tiles, ProductsOfABatchItemByItem) {
  const std::vector<Shape> shapes{{2, 2, 256, 256}, {2, 1, 256, 256}};
  const auto run = [&](const char *kernel) {
    ops::Program p;
    ops::Emit e(p);
    const ops::Id a = e.input("a", DType::f32, shapes[0]), b = e.input("b", DType::f32, shapes[1]);
    e.output(ops::matmul(e, a, b, {.transpose_b = true}));
    runtime::Options options = graph::options();
    options.plan.cutting.machine = std::make_shared<Machine>();
    plan::Packs packs;
    EXPECT_TRUE(plan::specialise(p, shapes, {}, options.plan, &packs)->steps[0].kernel->name.starts_with(kernel));
    runtime::Executable executable(std::move(p), {}, nullptr, options);
    return run_of(executable, {random_tensor(shapes[0], 1), random_tensor(shapes[1], 2)});
  };
  const auto plainly = run("blocked_by_item");
  dl4_test::WithTiles with;
  EXPECT_LT(distance(plainly, run("amx_by_item")), 1e-6);
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
#endif
