// What attention is for: the same net with and without it, from the same seed and on the same batches, on tasks small
// enough to learn in seconds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include "draw.hpp"

namespace models::DL4_FILE {
namespace {

using namespace dl4;

constexpr int64_t batch = 64;

struct Task {
  Tensors x;
  Tensor y;                // numbers of classes
  std::vector<size_t> at;  // where in each sample the answer lies
};
using Drawn = std::function<Task(Draw &)>;

// Loss and accuracy on a batch not seen before, after so many steps.
struct Learned {
  double loss, accuracy;
};
Learned learn(const Model &m, double rate, int steps, const Drawn &drawn) {
  Trainer trainer(m, {{"optimizer", Attrs::kind("Adam", {{"learning_rate", rate}})},
                      {"loss", Attrs::kind("SparseCategoricalCrossentropy", {{"from_logits", true}})},
                      {"metrics", std::vector<std::string>{"accuracy"}}});
  Draw draw(7);
  for (int i = 0; i < steps; ++i) {
    const Task t = drawn(draw);
    trainer.step(t.x, {t.y});
  }
  const Task t = drawn(draw);
  const auto found = trainer.evaluate(Dataset(t.x, {t.y}, {{"batch_size", batch}}));
  return {found[0], found[1]};
}

// The share of samples whose greatest weight lies where the answer is.
double looks_there(const Model &weights, const Drawn &drawn) {
  Draw draw(11);
  const Task t = drawn(draw);
  const auto w = values(Session(weights).run(t.x)[0]);
  const size_t places = w.size() / batch;
  double right = 0;
  for (size_t b = 0; b < batch; ++b) {
    const auto *row = &w[b * places];
    right += static_cast<size_t>(std::max_element(row, row + places) - row) == t.at[b];
  }
  return right / batch;
}

Context seeded() { return Context({{"seed", 1}}); }

// ---- Sequence to sequence: a sequence told backwards ---------------------------------------------------------------
constexpr int64_t words = 8, length = 8;

Task reversed(Draw &draw) {
  Task t{{Tensor::zeros<int32_t>({batch, length}), Tensor::zeros<int32_t>({batch, length})},
         Tensor::zeros<int32_t>({batch, length}),
         {}};
  auto source = t.x[0].data<int32_t>(), told = t.x[1].data<int32_t>(), answer = t.y.data<int32_t>();
  for (size_t b = 0; b < batch; ++b)
    for (size_t i = 0; i < length; ++i) source[b * length + i] = 1 + draw.below(words - 1);
  for (size_t b = 0; b < batch; ++b)
    for (size_t i = 0; i < length; ++i) {
      answer[b * length + i] = source[b * length + length - 1 - i];
      if (i + 1 < length) told[b * length + i + 1] = answer[b * length + i];
    }
  return t;
}

// The decoder sees the encoder's last state as its context at every step, or looks for a context of its own (Bahdanau,
// Cho and Bengio 2014). The first has the wider layer, so that it has as many weights.
Model translator(bool additive) {
  constexpr int64_t units = 24;
  Graph g(seeded());
  const Node source = g.input("source", {-1, length}, DL4_INT32), told = g.input("told", {-1, length}, DL4_INT32);
  const Attrs table{{"input_dim", words}, {"output_dim", 12}};
  const Nodes read =
      g.call(g.layer("GRU", {{"units", units}, {"return_sequences", true}, {"return_state", true}}, "encoder"),
             {g.add("Embedding", source, table, "source_words")});
  Attrs state;
  state.nodes("initial_state", std::vector<Node>{read[1]});
  const Node h = g.call(g.layer("GRU", {{"units", units}, {"return_sequences", true}}, "decoder"),
                        {g.add("Embedding", told, table, "told_words")}, state)[0];
  const Node context = additive ? g.add("AdditiveAttention", {g.add("Dense", h, {{"units", units}}), read[0]})
                                : g.add("RepeatVector", read[1], {{"n", length}});
  const Node joined = g.add("Concatenate", {h, context});
  const Node wide = g.add("Dense", joined, {{"units", additive ? 24 : 34}, {"activation", "tanh"}});
  return g.build({source, told}, {g.add("Dense", wide, {{"units", words}})});
}

TEST(Comparisons, AdditiveAttentionBesideAContextVector) {
  const Learned plain = learn(translator(false), 0.01, 400, reversed),
                additive = learn(translator(true), 0.01, 400, reversed);
  EXPECT_GT(additive.accuracy, 0.99);
  EXPECT_LT(plain.accuracy, additive.accuracy);
  EXPECT_LT(additive.loss, plain.loss / 2);
}

// ---- Bidirectional LSTM: the letter beside a mark ------------------------------------------------------------------
Task marked(Draw &draw) {
  constexpr size_t time = 24, letters = 4, width = letters + 1;
  Task t{{Tensor::zeros({batch, time, width})}, Tensor::zeros<int32_t>({batch}), {}};
  auto x = t.x[0].data();
  for (size_t b = 0; b < batch; ++b) {
    t.at.push_back(static_cast<size_t>(draw.below(time)));
    for (size_t i = 0; i < time; ++i) {
      const auto letter = static_cast<size_t>(draw.below(letters));
      x[(b * time + i) * width + letter] = 1;
      if (i == t.at[b]) t.y.data<int32_t>()[b] = static_cast<int32_t>(letter);
    }
    x[(b * time + t.at[b]) * width + letters] = 1;
  }
  return t;
}

// The net, and its weights of attention.
std::pair<Model, Model> reader(bool attention) {
  Graph g(seeded());
  const Node x = g.input("x", {-1, 24, 5});
  const Attrs lstm = Attrs::kind("LSTM", {{"units", 8}, {"return_sequences", attention}});
  Node h = g.add("Bidirectional", x, {{"layer", lstm}}), weights = x;
  if (attention) {
    const Node energy = g.add("Dense", h, {{"units", 8}, {"activation", "tanh"}});
    weights = g.add("Softmax", g.add("Dense", energy, {{"units", 1}, {"use_bias", false}}), {{"axis", 1}});
    h = g.add("Flatten", g.add("MatMul", {weights, h}, {{"transpose_a", true}}));
  }
  const Node y = g.add("Dense", h, {{"units", 4}}, "answer");
  return {g.build({x}, {y}), attention ? g.build({x}, {weights}) : Model()};
}

TEST(Comparisons, BidirectionalLstmWithAndWithoutAttention) {
  const auto plain = reader(false), attentive = reader(true);
  const Learned last_states = learn(plain.first, 0.02, 80, marked), weighed = learn(attentive.first, 0.02, 80, marked);
  EXPECT_GT(weighed.accuracy, 0.99);
  EXPECT_LT(weighed.loss, last_states.loss / 3);
  EXPECT_GT(looks_there(attentive.second, marked), 0.95);
}

// ---- Patches of an image: which pattern lies where the hint says ---------------------------------------------------
constexpr size_t side = 3, patch = 4, patterns = 3;

Task hinted(Draw &draw) {
  static const Tensor drawings = Draw(5).reals({patterns, patch, patch});
  constexpr size_t pixels = side * patch;
  Task t{{Tensor::zeros({batch, pixels, pixels, 1}), Tensor::zeros({batch, side, side, 2}), Tensor::zeros({batch, 2})},
         Tensor::zeros<int32_t>({batch}),
         {}};
  auto image = t.x[0].data(), places = t.x[1].data(), hint = t.x[2].data();
  for (size_t b = 0; b < batch; ++b) {
    t.at.push_back(static_cast<size_t>(draw.below(side * side)));
    for (size_t k = 0; k < side * side; ++k) {
      const size_t row = k / side, column = k % side, drawing = static_cast<size_t>(draw.below(patterns));
      for (size_t i = 0; i < patch * patch; ++i)
        image[(b * pixels + row * patch + i / patch) * pixels + column * patch + i % patch] =
            2 * drawings.data()[drawing * patch * patch + i] + draw.real(-0.5f, 0.5f);
      for (size_t axis = 0; axis < 2; ++axis) {
        const float place = static_cast<float>(axis ? column : row) - 1;
        places[((b * side + row) * side + column) * 2 + axis] = place;
        if (k == t.at[b]) hint[b * 2 + axis] = place;
      }
      if (k == t.at[b]) t.y.data<int32_t>()[b] = static_cast<int32_t>(drawing);
    }
  }
  return t;
}

std::pair<Model, Model> looker(const char *kind, const Attrs &config) {
  Graph g(seeded());
  const Nodes in{g.input("image", {-1, side * patch, side * patch, 1}), g.input("places", {-1, side, side, 2}),
                 g.input("hint", {-1, 2})};
  auto embedded = [&](Node x) {
    return g.add("Dense", g.add("Dense", x, {{"units", 16}, {"activation", "tanh"}}), {{"units", 8}});
  };
  const Node value =
      g.add("Conv2D", in[0], {{"filters", 8}, {"kernel_size", 4}, {"strides", 4}, {"activation", "tanh"}});
  const Node key = embedded(in[1]), query = embedded(in[2]);
  const Nodes seen = g.call(g.layer(kind, config), {query, value, key}, {{"return_attention_scores", true}});
  return {g.build(in, {g.add("Dense", seen[0], {{"units", 3}})}), g.build(in, {seen[1]})};
}

TEST(Comparisons, SoftHardAndLocalAttentionOverPatches) {
  const std::tuple<const char *, const char *, Attrs> ways[] = {
      {"soft", "GlobalAttention", {}},
      {"hard", "GlobalAttention", {{"distribution", "hardmax"}}},
      {"local", "LocalAttention", {{"window", 2}, {"alignment", "predictive"}}}};
  for (const auto &[name, kind, config] : ways) {
    SCOPED_TRACE(name);
    const auto net = looker(kind, config);
    const Learned found = learn(net.first, 0.01, 500, hinted);
    Draw draw(13);
    EXPECT_GT(found.accuracy, 0.97);
    EXPECT_LT(found.loss, 0.1);
    if (std::string(name) != "local") {
      EXPECT_GT(looks_there(net.second, hinted), 0.9);
    }
    const auto w = values(Session(net.second).run(hinted(draw).x)[0]);
    ASSERT_EQ(w.size(), batch * side * side);
    if (std::string(name) == "hard") {
      EXPECT_TRUE(std::all_of(w.begin(), w.end(), [](float v) { return v == 0 || v == 1; }));
    }
  }
}

// ---- A clip: a point that moves to one of four sides ---------------------------------------------------------------
Task moving(Draw &draw) {
  constexpr size_t frames = 4, pixels = 8;
  Task t{{Tensor::zeros({batch, frames, pixels, pixels, 1})}, Tensor::zeros<int32_t>({batch}), {}};
  auto clip = t.x[0].data();
  for (float &v : clip) v = draw.real(-0.1f, 0.1f);
  for (size_t b = 0; b < batch; ++b) {
    const int32_t direction = draw.below(4);
    t.y.data<int32_t>()[b] = direction;
    int64_t place[2] = {2 + draw.below(4), 2 + draw.below(4)};
    for (size_t f = 0; f < frames; ++f) {
      auto wrapped = [&](int axis) { return static_cast<size_t>((place[axis] + 8) % 8); };
      clip[((b * frames + f) * pixels + wrapped(0)) * pixels + wrapped(1)] = 1;
      place[direction / 2] += direction % 2 ? 1 : -1;
    }
  }
  return t;
}

// Windows over time and space, or over the space of each frame alone, which can't tell the order of the frames.
Model watcher(int64_t frames) {
  Graph g(seeded());
  const Node x = g.input("clip", {-1, 4, 8, 8, 1});
  const Node h = g.add(
      "Conv3D", x, {{"filters", 12}, {"kernel_size", Dims{frames, 3, 3}}, {"activation", "relu"}, {"padding", "same"}});
  const Node pooled = g.add("GlobalMaxPooling3D", h);
  return g.build({x}, {g.add("Dense", pooled, {{"units", 4}})});
}

TEST(Comparisons, WindowsOverTimeSeeMotionInAClip) {
  const Learned still = learn(watcher(1), 0.02, 200, moving), motion = learn(watcher(2), 0.02, 200, moving);
  EXPECT_GT(motion.accuracy, 0.95);
  EXPECT_LT(still.accuracy, 0.6);
}

}  // namespace
}  // namespace models::DL4_FILE
