// Normalizations folded into the weights before them: what is left to compute, and that it is the same.
#include <set>

#include "graph/nets.hpp"
#include "ops/op.hpp"
#include "plan/fold.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

struct Folded : Net {
  Node x, y;
  explicit Folded(const Shape &shape) : x(input("x", shape)), y(x) {}
  Folded &add(const char *kind, Json attributes = Json::object()) {
    y = Net::add(kind, "", std::move(attributes), {y});
    return *this;
  }
  // With weights of no special value.
  Model build() const {
    Model m = model({x}, {y});
    uint32_t seed = 5;
    for (const auto &w : m.weights()) {
      w->value() = random_tensor(w->value().shape, seed++);
      for (float &v : std::span(w->value().as<float>(), static_cast<size_t>(w->value().elements()))) v = 1 + v / 2;
    }
    return m;
  }
};

std::vector<float> run(const ops::Program &p, const std::vector<Tensor> &states, const Shape &in) {
  runtime::Options o = options();
  o.fill_nan = true;
  o.constant_states = true;
  runtime::Executable s(p, states, std::make_shared<plan::Packs>(), o);
  return floats(run_of(s, {random_tensor(in, 1)})[0]);
}

std::multiset<std::string> names(const ops::Program &p) {
  std::multiset<std::string> all;
  for (const ops::Step &s : p.steps)
    if (!s.op->is_view()) all.emplace(s.op->name());
  return all;
}

// Folds, compares, and gives what is left.
std::multiset<std::string> folded(const Folded &net, const Shape &in) {
  const Model m = net.build();
  ops::Program before = inference(m).program, after = before;
  std::vector<Tensor> states = m.pin(), now = states;
  plan::fold_weights(after, now, {});
  EXPECT_EQ(after.states.size(), now.size());
  const auto a = run(before, states, in), b = run(after, now, in);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-5 * (1 + std::abs(a[i]))) << i;
  ops::Program off = before;
  std::vector<Tensor> same = states;
  const std::vector<std::string> names_off{"fold_weights"};
  plan::fold_weights(off, same, names_off);
  EXPECT_EQ(ops::to_string(off), ops::to_string(before));
  return names(after);
}

using Names = std::multiset<std::string>;

TEST(FoldWeights, BehindConvolutionsAndProducts) {
  const Shape image{free_dim, 6, 6, 2}, two{2, 6, 6, 2};
  for (bool bias : {false, true}) {
    const Json conv{{"filters", 3}, {"kernel_size", 3}, {"use_bias", bias}};
    EXPECT_EQ(
        folded(Folded(image).add("Conv2D", conv).add("BatchNormalization").add("Activation", {{"activation", "relu"}}),
               two),
        (Names{"conv", "unary"}));
    EXPECT_EQ(folded(Folded(image).add("Conv2D", conv).add("BatchNormalization").add("BatchNormalization"), two),
              (Names{"conv"}));
    EXPECT_EQ(folded(Folded({free_dim, 5}).add("Dense", {{"units", 4}, {"use_bias", bias}}).add("BatchNormalization"),
                     {3, 5}),
              (Names{"matmul"}));
    EXPECT_EQ(folded(Folded({free_dim, free_dim, 5})
                         .add("Dense", {{"units", 4}, {"use_bias", bias}})
                         .add("BatchNormalization", {{"scale", false}, {"center", false}}),
                     {3, 2, 5}),
              (Names{"matmul"}));
  }
}

// However large they are: here the kernel and what LoRA adds to it.
TEST(FoldWeights, ProductsOfWeights) {
  const Json attributes{{"units", 200}, {"lora_rank", 2}};
  EXPECT_EQ(folded(Folded({free_dim, 200}).add("Dense", attributes), {3, 200}), (Names{"matmul"}));
}

TEST(FoldWeights, NotWhatStandsApart) {
  const Shape image{free_dim, 6, 6, 2}, two{2, 6, 6, 2};
  const Json conv{{"filters", 3}, {"kernel_size", 3}}, relu{{"filters", 3}, {"kernel_size", 3}, {"activation", "relu"}};
  EXPECT_EQ(folded(Folded(image).add("Conv2D", relu).add("BatchNormalization"), two).count("binary"), 2u + 4u)
      << "an activation between: two for each value, four for each channel";
  EXPECT_GE(folded(Folded(image).add("Conv2D", conv).add("BatchNormalization", {{"axis", 1}}), two).count("binary"), 2u)
      << "another axis";
  EXPECT_GE(folded(Folded(image).add("BatchNormalization").add("Conv2D", conv), two).count("binary"), 2u)
      << "before it";
  Folded both(image);
  both.add("Conv2D", conv);
  const Node between = both.y;
  both.add("BatchNormalization");
  both.y = both.graph->add("Add", "", {}, {}, {between, both.y})[0];
  EXPECT_GE(folded(both, two).count("binary"), 3u) << "read by another";
}

// A number made of the size of a free axis: of it nothing is read but its shape, which no session knows.
TEST(FoldWeights, NotWhatAFreeSizeSays) {
  const Shape image{free_dim, 6, 6, 2}, two{2, 6, 6, 2};
  for (const bool behind : {false, true}) {
    Folded net(image);
    net.add("Conv2D", {{"filters", 3}, {"kernel_size", 3}}).add("BatchNormalization");  // what is folded
    const Node table = net.graph->add("Weight", "", {{"shape", {2}}}, {}, {})[0];
    const Node free = behind ? net.y : net.x;
    const Node n = net.graph->add("Sizes", "", {{"sizes", {"0.0"}}}, {}, {free})[0];
    const Node size = net.graph->add("Cast", "", {{"to", "float32"}}, {}, {n})[0];
    const Node sum = net.graph->add("Sum", "", {{"axis", 0}, {"keepdims", true}}, {}, {table})[0];
    const Node scaled = net.graph->add("BroadcastMultiply", "", Json::object(), {}, {sum, size})[0];
    net.y = net.graph->add("BroadcastAdd", "", Json::object(), {}, {net.y, scaled})[0];
    EXPECT_GE(folded(net, two).count("sizes"), 1u);
  }
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
