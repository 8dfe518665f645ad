// dl4.hpp: what it adds to dl4.h.
#include <gtest/gtest.h>
#include <dl4/dl4.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>

#include "harness/folder.hpp"

namespace DL4_FILE {
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

TEST(Hpp, AGraphDifferentiatesAndAssigns) {
  const dl4::Model net = small();
  dl4::Graph g;
  const dl4::Node x = g.input("x", {-1, 4}), rate = g.input("rate", {});
  const dl4_layer layer = g.layer("Functional", dl4::Attrs().model("model", net), "net");
  const dl4::Node first = g.call(layer, {x})[0], twice = g.add("Add", {first, g.call(layer, {x})[0]});
  const dl4::Nodes weights{g.weight("net/d/kernel"), g.weight("net/d/bias")};
  const dl4::Nodes found = g.gradients({twice}, weights, {{"sum", true}});
  const dl4::Node done = g.update({{"optimizer", "SGD"}}, weights, found, "sgd", rate);
  const dl4::Node bias = g.weight("net/d/bias");
  const dl4::Node ones = g.constant(dl4::Tensor::of({1, 1}, {2}));
  const dl4::Node added = g.assign(bias, ones, {{"operation", "assign_add"}});
  const dl4::Model step = g.build({x, rate}, {g.after(done, {added})});
  const dl4::Session run(step);
  const float before = net.weight("d/kernel").data()[0];
  const dl4::Tensor data = dl4::Tensor::of({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}), tenth = dl4::Tensor::of({0.125f}, {});
  EXPECT_EQ(run.run({data, tenth})[0].data<int64_t>()[0], 1);
  EXPECT_FLOAT_EQ(net.weight("d/kernel").data()[0], before - 0.125f * 2 * (1 + 5));
  EXPECT_FLOAT_EQ(net.weight("d/bias").data()[1], -0.125f * 2 * 2 + 1);
  EXPECT_EQ(step.weight("sgd/iterations").data<int64_t>()[0], 1);
  EXPECT_THROW(g.weight("net/d/kernels"), dl4::Error);
  EXPECT_THROW(g.assign(bias, weights[0]), dl4::Error);
  EXPECT_THROW(g.gradients({twice}, weights), dl4::Error);
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
  using Flow = dl4::Trainer::Flow;
  EXPECT_EQ(t.metric_names(), (std::vector<std::string>{"loss", "mae"}));
  int epochs = 0;
  const std::string history = t.fit(dl4::Dataset({x}, {y}, {{"batch_size", 5}}), {{"epochs", 9}}, nullptr,
                                    [&](int32_t event, int64_t, int64_t, std::span<const double> metrics) {
                                      EXPECT_TRUE(event != DL4_EPOCH_END || metrics.size() == 2);
                                      const bool over = event == DL4_EPOCH_END && ++epochs == 3;
                                      return over ? Flow::Stop : Flow::Continue;
                                    });
  EXPECT_EQ(epochs, 3);
  EXPECT_NE(history.find("\"mae\""), std::string::npos);
  EXPECT_LT(t.evaluate(dl4::Dataset({x}, {y}))[0], before[0]);
  EXPECT_THROW(
      t.fit(dl4::Dataset({x}, {y}), {}, nullptr,
            [](int32_t, int64_t, int64_t, std::span<const double>) -> Flow { throw std::out_of_range("of mine"); }),
      std::out_of_range);
  t.set_number("learning_rate", 0.25);
  EXPECT_EQ(t.get_number("learning_rate"), 0.25);
  const std::string path = (std::filesystem::temp_directory_path() / "dl4_hpp_test.safetensors").string();
  m.save(path);
  EXPECT_EQ(dl4::Model::load(path).weight("d/kernel").data()[3], m.weight("d/kernel").data()[3]);
  const std::string saved = dl4_test::bytes_of(path);
  std::vector<uint8_t> bytes(saved.begin(), saved.end());
  const auto file = dl4::Tensor::over(std::span(bytes), {static_cast<int64_t>(bytes.size())});
  EXPECT_EQ(dl4::Model::load(file).weight("d/kernel").data()[3], m.weight("d/kernel").data()[3]);
  std::filesystem::remove(path);
}

TEST(Hpp, WorkersTrainTogetherAndHearOfFailures) {
  std::barrier meeting(2);
  std::vector<float> sums;
  std::vector<int32_t> words;
  const dl4::Tensor x = dl4::Tensor::of({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}), y = dl4::Tensor::of({1, 0, 0, 1}, {2, 2});
  std::vector<std::vector<float>> kernels(3);
  std::atomic<bool> lost = false;
  struct Gone {};
  auto add = [&](int rank, auto &to, auto *values, int64_t n) {
    if (rank == 0) to.assign(values, values + n);
    meeting.arrive_and_wait();
    if (rank == 1) std::transform(values, values + n, to.begin(), to.begin(), std::plus<>());
    meeting.arrive_and_wait();
    std::copy(to.begin(), to.end(), values);
    meeting.arrive_and_wait();
  };
  auto work = [&](int rank) {
    const dl4::Model m = small();
    dl4::Trainer t(m, {{"optimizer", "SGD"}, {"loss", "mse"}});
    if (rank < 2)
      t.set_workers(rank, 2, [&, rank](void *values, int64_t n, int32_t dtype) {
        if (lost) throw Gone();
        if (dtype == DL4_FLOAT32)
          add(rank, sums, static_cast<float *>(values), n);
        else
          add(rank, words, static_cast<int32_t *>(values), n);
      });
    const int64_t rows = rank == 2 ? 2 : 1;
    const size_t first = rank == 1 ? 1 : 0, n = static_cast<size_t>(rows);
    t.step({dl4::Tensor::over(x.data().subspan(4 * first, 4 * n), {rows, 4})},
           {dl4::Tensor::over(y.data().subspan(2 * first, 2 * n), {rows, 2})});
    const dl4::Tensor kernel = m.weight("d/kernel");
    kernels[static_cast<size_t>(rank)].assign(kernel.data().begin(), kernel.data().end());
    if (rank == 2) return;
    meeting.arrive_and_wait();
    lost = true;
    meeting.arrive_and_wait();
    dl4::Trainer copy = t;
    EXPECT_THROW(copy.step({x}, {y}), Gone);
    EXPECT_THROW(t.step({x}, {y}), dl4::Error);  // the function is not called again
    t.set_workers(0, 1, nullptr);
    EXPECT_EQ(t.step({x}, {y}).size(), 1u);
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  work(2);  // alone, with the whole batch
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(kernels[0][i], kernels[1][i]);
    EXPECT_NEAR(kernels[0][i], kernels[2][i], 1e-5);
  }
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

TEST(Hpp, Strings) {
  const dl4::Tensor t = dl4::Tensor::of_strings({"a", "", std::string("b\0c", 3)}, {3, 1});
  EXPECT_EQ(t.dims(), (dl4::Dims{3, 1}));
  EXPECT_EQ(t.string(0), "a");
  EXPECT_EQ(t.string(2), std::string_view("b\0c", 3));
  EXPECT_TRUE(t.string(3).empty());
  EXPECT_THROW(dl4::Tensor::of_strings({"a"}, {2}), std::invalid_argument);
}

TEST(Hpp, Adapt) {
  const dl4::Tensor words = dl4::Tensor::of_strings({"red", "blue", "red"}, {3, 1});
  dl4::Dataset data({words}, {});
  const dl4::Attrs learned = data.adapt("StringLookup", {{"num_oov_indices", 2}});
  dl4::Graph g;
  const auto x = g.input("x", {-1, 1}, DL4_STRING);
  const dl4::Model m = g.build({x}, {g.add("StringLookup", x, learned)});
  const dl4::Tensor ids = dl4::Session(m).run({words})[0];
  EXPECT_EQ(std::vector<int64_t>(ids.data<int64_t>().begin(), ids.data<int64_t>().end()),
            (std::vector<int64_t>{2, 3, 2}));
  EXPECT_THROW(data.adapt("Dense", {{"units", 1}}), dl4::Error);
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
}  // namespace DL4_FILE
