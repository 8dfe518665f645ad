// dl4.hpp: what it adds to dl4.h.
#include <gtest/gtest.h>
#include <dl4/dl4.hpp>

#include <filesystem>

namespace {

dl4::Model small() {
  dl4::Graph g;
  const dl4::Node x = g.input("x", {-1, 4});
  return g.build({x}, {g.add("Dense", x, {{"units", 2}}, "d")});
}

TEST(Hpp, AttributesOfEveryType) {
  dl4::Graph g;
  const dl4::Node x = g.input("x", {-1, 8, 8, 3});
  const dl4::Node y = g.add("Conv2D", x,
                            {{"filters", 4},
                             {"kernel_size", std::vector<int64_t>{3, 2}},
                             {"padding", "same"},
                             {"use_bias", false},
                             {"kernel_initializer", dl4::Attrs::kind("Constant", {{"value", 0.5}})}},
                            "conv");
  EXPECT_EQ(g.shape(y), (dl4::Dims{-1, 8, 8, 4}));
  const dl4::Model m = g.build({x}, {y});
  EXPECT_EQ(m.weight_names(), std::vector<std::string>{"conv/kernel"});
  EXPECT_EQ(m.weight("conv/kernel").data()[0], 0.5f);
  EXPECT_EQ(m.weight("conv/kernel").dims(), (dl4::Dims{3, 2, 3, 4}));
}

TEST(Hpp, SeveralOutputsAndSymbolicArguments) {
  dl4::Graph g;
  const dl4::Node x = g.input("x", {-1, 5, 3});
  const dl4::Nodes first = g.call(g.layer("LSTM", {{"units", 4}, {"return_state", true}}), {x});
  ASSERT_EQ(first.size(), 3u);
  const dl4::Nodes states{first[1], first[2]};
  dl4::Attrs arguments;
  arguments.nodes("initial_state", states);
  const dl4::Nodes second = g.call(g.layer("LSTM", {{"units", 4}}), {x}, arguments);
  const dl4::Model m = g.build({x}, {second[0], first[1]});
  const dl4::Tensors out = dl4::Session(m).run({dl4::Tensor::zeros({2, 5, 3})});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].dims(), (dl4::Dims{2, 4}));
}

TEST(Hpp, RefusalsAreExceptionsWithFacts) {
  dl4::Graph g;
  const dl4::Node x = g.input("x", {-1, 4});
  try {
    g.add("Dense", x, {{"units", 0}}, "mine");
    FAIL();
  } catch (const dl4::Error &e) {
    EXPECT_EQ(e.code, DL4_INVALID_ARGUMENT);
    EXPECT_NE(e.detail.find("\"mine\""), std::string::npos) << e.detail;
    EXPECT_NE(std::string(e.what()).find("expected at least 1, got 0"), std::string::npos) << e.what();
  }
  EXPECT_THROW(dl4::Tensor::zeros({2}).data<int64_t>(), std::invalid_argument);
  EXPECT_THROW(dl4::Model::load("/nowhere"), dl4::Error);
}

TEST(Hpp, TrainsAndSaves) {
  dl4::Model m = small();
  std::vector<float> values(40, 0.5f);
  const auto x = dl4::Tensor::over(std::span(values), {10, 4});
  EXPECT_EQ(x.data().data(), values.data());
  const auto y = dl4::Tensor::zeros({10, 2});
  dl4::Trainer t(m, {{"optimizer", "SGD"}, {"loss", "mse"}, {"metrics", std::vector<std::string>{"mae"}}});
  const auto before = t.evaluate(dl4::Dataset({x}, {y}));
  ASSERT_EQ(before.size(), 2u);
  EXPECT_EQ(t.step({x}, {y}).size(), 2u);
  int epochs = 0;
  const std::string history = t.fit(dl4::Dataset({x}, {y}, {{"batch_size", 5}}), {{"epochs", 9}}, nullptr,
                                    [&](int32_t event, int64_t, int64_t, std::span<const double> metrics) {
                                      EXPECT_TRUE(event != DL4_EPOCH_END || metrics.size() == 2);
                                      return event == DL4_EPOCH_END && ++epochs == 3;
                                    });
  EXPECT_EQ(epochs, 3);
  EXPECT_NE(history.find("\"mae\""), std::string::npos);
  EXPECT_LT(t.evaluate(dl4::Dataset({x}, {y}))[0], before[0]);
  EXPECT_THROW(
      t.fit(dl4::Dataset({x}, {y}), {}, nullptr,
            [](int32_t, int64_t, int64_t, std::span<const double>) -> bool { throw std::out_of_range("of mine"); }),
      std::out_of_range);
  t.set_number("learning_rate", 0.25);
  EXPECT_EQ(t.get_number("learning_rate"), 0.25);
  const std::string path = (std::filesystem::temp_directory_path() / "dl4_hpp_test.safetensors").string();
  m.save(path);
  EXPECT_EQ(dl4::Model::load(path).weight("d/kernel").data()[3], m.weight("d/kernel").data()[3]);
  std::filesystem::remove(path);
}

TEST(Hpp, AStreamGoesOnWhereItStood) {
  dl4::Graph g;
  const dl4::Node x = g.input("x", {-1, -1, 2});
  const dl4::Model m = g.build({x}, {g.add("GRU", x, {{"units", 3}, {"return_sequences", true}})});
  const dl4::Session s(m, {{"states", true}});
  const dl4::Stream a(s), b(s);
  const dl4::Tensor two = dl4::Tensor::of({1, 2, 3, 4}, {1, 2, 2}), one = dl4::Tensor::of({5, 6}, {1, 1, 2});
  a.run({two});
  b.load(a.save());
  const dl4::Tensor to = dl4::Tensor::zeros({1, 1, 3});
  b.run(std::span(&one, 1), std::span(&to, 1));
  EXPECT_EQ(to.data()[2], a.run({one})[0].data()[2]);
  a.reset();
  EXPECT_NE(to.data()[2], a.run({one})[0].data()[2]);
}

TEST(Hpp, CopiesAreReferences) {
  dl4::Model m = small(), other = m;
  other.set_weight("d/bias", dl4::Tensor::of({1, 2}, {2}));
  EXPECT_EQ(m.weight("d/bias").data()[1], 2.0f);
  const dl4::Tensor t = dl4::Tensor::of({1, 2, 3}, {3}), same = t;
  same.data()[0] = 7;
  EXPECT_EQ(t.data()[0], 7.0f);
  dl4::Session s(m);
  m = {};
  other = {};
  const dl4::Tensor out = dl4::Tensor::zeros({1, 2});
  const dl4::Tensor in = dl4::Tensor::zeros({1, 4});
  s.run(std::span(&in, 1), std::span(&out, 1));
  EXPECT_EQ(out.data()[1], 2.0f);
}

}  // namespace
