// Many streams as rows of a batch: each has the numbers that it has alone, and the bits of a run without the others.
#include "runtime/stream_block.hpp"

#include <limits>

#include "graph/nets.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

using runtime::Stream;

// Streams of one session, and the block that runs them.
struct Together {
  runtime::StreamBlock block;
  std::vector<Stream> streams;
  Together(const runtime::Ticks &ticks, int64_t n) : block(ticks) {
    for (int64_t i = 0; i < n; ++i) streams.emplace_back(ticks, 1);
  }
  Tensor run(const Tensor &x, const std::vector<int64_t> &steps = {}) {
    std::vector<Stream *> list;
    for (Stream &s : streams) list.push_back(&s);
    const runtime::Many many{list, steps};
    FlushToZero flush;
    block.check(many, views({x}));
    const ops::Operand o = block.outputs(many, views({x}), nullptr)[0];
    Tensor y = make_zeros(o.dtype, o.shape);
    block.run(many, views({x}), views({y}), nullptr);
    return y;
  }
};

// The first steps of sample i.
Tensor row(const Tensor &x, int64_t i, int64_t steps) {
  Tensor t = make_tensor(x.dtype, x.shape.with(0, 1));
  std::memcpy(t.data.get(), x.data.get() + i * t.bytes(), static_cast<size_t>(t.bytes()));
  return part(t, 0, steps);
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// In each run every stream takes as many steps as all, or its own number of them: what one gives is behind what others
// give, and 0 follows. What follows its steps is not read. Few steps write their own places of a ring alone, many turn
// it.
void expect_each_alone(const runtime::Ticks &ticks) {
  constexpr int64_t n = 37;
  Together together(ticks, n), alone(ticks, n);
  std::vector<Together> singly;
  for (int64_t i = 0; i < n; ++i) singly.emplace_back(ticks, 1);
  uint32_t seed = 0;
  for (const int64_t t : {1, 3, 2, 9, 1, 70, 4, 1}) {
    SCOPED_TRACE(t);
    const Tensor x = random_tensor({n, t, 3}, ++seed);
    std::vector<int64_t> steps;
    for (int64_t i = 0; i < n; ++i) steps.push_back(t % 3 == 0 ? i % (t + 1) : t);
    for (int64_t i = 0; i < n; ++i)
      std::fill(x.as<float>() + (i * t + steps[static_cast<size_t>(i)]) * 3, x.as<float>() + (i + 1) * t * 3,
                std::numeric_limits<float>::quiet_NaN());
    if (t == 70) x.as<float>()[7 * t * 3] = std::numeric_limits<float>::quiet_NaN();  // stays in its stream
    const std::vector<float> y = floats(together.run(x, t % 3 == 0 ? steps : std::vector<int64_t>()));
    const size_t width = y.size() / n;
    for (size_t i = 0; i < n; ++i) {
      SCOPED_TRACE(i);
      const auto at = static_cast<int64_t>(i);
      const std::span got(y.data() + i * width, width);
      std::vector<float> wanted, without;
      if (steps[i]) wanted = floats(run_of(alone.streams[i], {row(x, at, steps[i])})[0]);
      without = floats(singly[i].run(row(x, at, t), {steps[i]}));
      ASSERT_LE(wanted.size(), width);
      wanted.resize(width), without.resize(width);
      for (size_t k = 0; k < width; ++k) {
        ASSERT_EQ(std::isnan(got[k]), std::isnan(wanted[k])) << k;
        if (!std::isnan(wanted[k])) {
          ASSERT_NEAR(got[k], wanted[k], 1e-5) << k;
        }
      }
      ASSERT_TRUE(same_bits(got, without));
    }
    std::vector<Stream> forks;  // which go on as well
    for (const Stream &stream : together.streams) forks.push_back(stream.fork());
    together.streams = std::move(forks);
  }
}

const std::string lstm = R"({"units": 4, "return_sequences": true})", late = R"({"filters": 4, "kernel_size": 5})";
const std::string halves = R"({"filters": 4, "kernel_size": 3, "strides": 2})";
const std::string causal = R"({"filters": 5, "kernel_size": 3, "padding": "causal", "dilation_rate": 3})";

TEST(StreamBlock, EachGivesWhatItGivesAlone) {
  for (const std::vector<LayerOf> &layers :
       {std::vector<LayerOf>{{"LSTM", lstm}, {"GRU", lstm}},
        {{"LSTM", R"({"units": 5})"}},
        {{"Conv1D", R"({"filters": 4, "kernel_size": 3, "padding": "causal"})"}, {"Conv1D", causal}, {"GRU", lstm}},
        {{"Conv1D", late}, {"LSTM", lstm}, {"Conv1D", causal}},
        {{"Conv1D", late}, {"GlobalMaxPooling1D", "{}"}},
        {{"Conv1D", late}, {"GlobalAveragePooling1D", "{}"}},
        {{"Conv1D", halves}, {"Conv1D", causal}, {"Conv1D", halves}},
        {{"Conv1D", halves}, {"LSTM", R"({"units": 4})"}},
        {{"Conv1D", halves}, {"UpSampling1D", R"({"size": 3})"}, {"GRU", lstm}}}) {
    SCOPED_TRACE(layers.back().kind + layers[0].config);
    ASSERT_NO_FATAL_FAILURE(expect_each_alone(streamed(chain(layers, {free_dim, free_dim, 3}))));
  }
}

// Attention of the sequence to itself, causal, behind a layer.
Model attends(const LayerOf &attention, const LayerOf &layer = {"ReLU", "{}"}) {
  Net g;
  const Node x = g.input("x", {free_dim, free_dim, 3}), y = g.add(layer.kind, layer.config, {x});
  return g.model({x}, {g.add(attention.kind, attention.config, {y, y}, R"({"use_causal_mask": true})")});
}
const LayerOf heads{"MultiHeadAttention", R"({"num_heads": 2, "key_dim": 3})"};

TEST(StreamBlock, AttentionGivesWhatItGivesAlone) {
  for (const Model &m : {attends(heads, {"Conv1D", late}), attends({"Attention", "{}"}, {"Conv1D", halves}),
                         attends({"LocalAttention", R"({"window": 4, "gaussian": true})"}),
                         attends({"AdditiveAttention", "{}"}, {"LSTM", lstm})})
    ASSERT_NO_FATAL_FAILURE(expect_each_alone(streamed(m, {200})));
  ASSERT_NO_FATAL_FAILURE(expect_each_alone(streamed(attends(heads), {5, true}))) << "a window that slides";
}

// One of many would have more steps than are kept: all stay where they are.
TEST(StreamBlock, ACacheIsFullOfOneStreamAlone) {
  const runtime::Ticks ticks = streamed(attends(heads), {5});
  Together all(ticks, 37), twins(ticks, 37);
  for (Together *of : {&all, &twins}) run_of(of->streams[20], {random_tensor({1, 3, 3}, 1)});
  const Tensor x = random_tensor({37, 2, 3}, 2), more = random_tensor({37, 1, 3}, 3);
  EXPECT_EQ(floats(all.run(x)), floats(twins.run(x)));
  EXPECT_NE(refused(Code::unsupported, [&] { all.run(more); }).find("the sequence would have 6 steps"),
            std::string::npos);
  std::vector<int64_t> steps(37, 1);
  steps[20] = 0;
  EXPECT_EQ(floats(all.run(more, steps)), floats(twins.run(more, steps)));
}

TEST(StreamBlock, AFailureLeavesAllWhereTheyWere) {
  const LayerOf embedding{"Embedding", R"({"input_dim": 5, "output_dim": 3})"};
  for (const LayerOf &behind :
       {LayerOf{"LSTM", lstm}, {"Conv1D", R"({"filters": 4, "kernel_size": 6, "padding": "causal"})"}}) {
    const runtime::Ticks ticks = streamed(chain({embedding, behind}, {free_dim, free_dim}, DType::i32));
    Together all(ticks, 40), twins(ticks, 40);
    for (const int64_t t : {1, 2, 20}) {
      Tensor x = make_tensor(DType::i32, {40, t});
      for (int i = 0; i < 40 * t; ++i) x.as<int32_t>()[i] = i * 3 % 5;
      EXPECT_EQ(floats(all.run(x)), floats(twins.run(x)));
      int32_t &last = x.as<int32_t>()[40 * t - 1];
      last = 5;
      EXPECT_NE(refused(Code::invalid_argument, [&] { all.run(x); }), "");
      last = 1;
      EXPECT_EQ(floats(all.run(x)), floats(twins.run(x)));
    }
  }
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
