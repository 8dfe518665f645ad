// dl4 verify: nets whose outputs and trained weights have the same bits on every machine, and their sums.
#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "models.hpp"
#include "sha256.hpp"

namespace dl4::tool {
namespace {

// A sum of a net's output, and of its weights after 50 steps of training.
struct Sums {
  const char *output, *weights;
};

struct Net {
  const char *name;
  Sums published;
  // Inputs with 8 samples, labels; the model.
  std::function<Model(Graph &)> model;
  std::vector<Dims> inputs;  // with the batch
  int64_t words = 0;         // of inputs that are ids below it; 0: floats
  Dims labels{8};
  int64_t classes = 10;
};

// The same on every machine: quotients of small integers, from a sequence of them.
class Numbers {
 public:
  uint32_t below(int64_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state_ >> 33) % static_cast<uint64_t>(n));
  }
  float value() { return (static_cast<float>(below(2001)) - 1000) / 1000; }

 private:
  uint64_t state_ = 1;
};

Node classified(Graph &g, Node x, int64_t classes = 10) {
  return g.add("Dense", x, {{"units", classes}, {"activation", "softmax"}});
}

Model dense_net(Graph &g) {
  const Node x = g.input("x", {-1, 784});
  return g.build({x}, {classified(g, g.add("Dense", x, {{"units", 128}, {"activation", "relu"}}))});
}

Model conv_net(Graph &g) {
  const Node x = g.input("x", {-1, 28, 28, 1});
  const Node y = g.add("Conv2D", x, {{"filters", 8}, {"kernel_size", 3}, {"activation", "relu"}});
  return g.build({x}, {classified(g, g.add("Flatten", g.add("MaxPooling2D", y)))});
}

Model lstm_net(Graph &g) {
  const Node x = g.input("x", {-1, 28, 28});
  return g.build({x}, {classified(g, g.add("LSTM", x, {{"units", 32}}))});
}

Model attention(Graph &g) {
  const Node x = g.input("x", {-1, 28, 28});
  const Node h = g.add("Dense", x, {{"units", 32}});
  const Node y = g.add("MultiHeadAttention", {h, h}, {{"num_heads", 2}, {"key_dim", 16}});
  return g.build({x}, {classified(g, g.add("GlobalAveragePooling1D", y))});
}

Model lenet(Graph &g) {
  const Node x = g.input("x", {-1, 28, 28, 1});
  Node y = g.add("Conv2D", x, {{"filters", 6}, {"kernel_size", 5}, {"padding", "same"}, {"activation", "tanh"}});
  y = g.add("AveragePooling2D", y, {{"pool_size", 2}});
  y = g.add("Conv2D", y, {{"filters", 16}, {"kernel_size", 5}, {"activation", "tanh"}});
  y = g.add("Flatten", g.add("AveragePooling2D", y, {{"pool_size", 2}}));
  y = g.add("Dense", y, {{"units", 120}, {"activation", "tanh"}});
  return g.build({x}, {classified(g, g.add("Dense", y, {{"units", 84}, {"activation", "tanh"}}))});
}

Model dqn(Graph &g) {
  const Node x = g.input("x", {-1, 84, 84, 4});
  Node y = g.add("Conv2D", x, {{"filters", 16}, {"kernel_size", 8}, {"strides", 4}, {"activation", "relu"}});
  y = g.add("Conv2D", y, {{"filters", 32}, {"kernel_size", 4}, {"strides", 2}, {"activation", "relu"}});
  y = g.add("Dense", g.add("Flatten", y), {{"units", 256}, {"activation", "relu"}});
  return g.build({x}, {classified(g, y, 6)});
}

Model deep_lstm(Graph &g) {
  const Node x = g.input("x", {-1, 28, 28});
  const Node y = g.add("LSTM", x, {{"units", 128}, {"return_sequences", true}});
  return g.build({x}, {classified(g, g.add("LSTM", y, {{"units", 64}}))});
}

Model gru(Graph &g) {
  const Node x = g.input("x", {-1, 28, 28});
  return g.build({x}, {classified(g, g.add("GRU", x, {{"units", 48}}))});
}

Model bidirectional(Graph &g) {
  const Node x = g.input("x", {-1, 28, 28});
  const Attrs inner = Attrs::kind("LSTM", {{"units", 24}});
  return g.build({x}, {classified(g, g.add("Bidirectional", x, {{"layer", inner}}))});
}

Model encoder(Graph &g) {
  const Node x = g.input("x", {-1, 16, 32});
  Node y = g.add("MultiHeadAttention", {x, x}, {{"num_heads", 4}, {"key_dim", 8}});
  y = g.add("LayerNormalization", g.add("Add", {x, y}));
  Node z = g.add("Dense", y, {{"units", 64}, {"activation", "gelu"}});
  z = g.add("LayerNormalization", g.add("Add", {y, g.add("Dense", z, {{"units", 32}})}));
  return g.build({x}, {classified(g, g.add("GlobalAveragePooling1D", z))});
}

// Two layers of attention along the edges of a ring of nodes, each with two neighbours on either side.
Model graph_attention(Graph &g) {
  constexpr int64_t nodes = 40;
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < nodes; ++i)
    for (int64_t by : {int64_t{1}, int64_t{2}, nodes - 1, nodes - 2}) edges.insert(edges.end(), {i, (i + by) % nodes});
  const Node x = g.input("x", {-1, 24});
  const Node e = g.constant(Tensor::of(std::span<const int64_t>(edges), {nodes * 4, 2}), "edges");
  const Node y = g.add("GraphAttention", {x, e}, {{"units", 8}, {"heads", 2}, {"activation", "elu"}});
  return g.build({x}, {g.add("Softmax", g.add("GraphAttention", {y, e}, {{"units", 10}}))});
}

Model seq2seq(Graph &g) {
  const Node source = g.input("source", {-1, 9}, DL4_INT32), target = g.input("target", {-1, 7}, DL4_INT32);
  const Attrs words{{"input_dim", 30}, {"output_dim", 16}};
  const Attrs cell{{"units", 24}, {"return_sequences", true}, {"return_state", true}};
  const Nodes read = g.call(g.layer("GRU", cell), {g.add("Embedding", source, words)});
  const Nodes written = g.call(g.layer("GRU", cell), {g.add("Embedding", target, words)},
                               Attrs().nodes("initial_state", std::span(&read[1], 1)));
  const Node context = g.add("AdditiveAttention", {written[0], read[0]});
  return g.build({source, target}, {classified(g, g.add("Concatenate", {written[0], context}), 30)});
}

const std::vector<Net> &nets() {
  static const std::vector<Net> all = {
      {"dense",
       {"73cf70723d069ee004b19b9830395bebf95a0ce47f35b824952636b85e483b07",
        "036a6573b73afa706c1d29ea84482bd3d5d966c332a71fc69768a74362d25606"},
       dense_net,
       {{8, 784}}},
      {"conv",
       {"a895e6060a27c864216852a196efc42f93de728813bdf3b38fe38068b388d35b",
        "783b566bd14fe0176418cf97f658b742810e13058e089bbee64194c627ef5edb"},
       conv_net,
       {{8, 28, 28, 1}}},
      {"lstm",
       {"a139920b8f64a512398875ecba958b4b90748719b51cbc89363351960a98d0b1",
        "eaea04baab1b609998be4642372cc5b86d824fa738c073c60cc70f8f1cd85fa1"},
       lstm_net,
       {{8, 28, 28}}},
      {"attention",
       {"4d62fb996b229522b2b69c8061cee9cb74d4cf3c8525a13f70d0b5b4502fcba9",
        "6dd71adab0dfef7b505b9de0faec475068e398685bdec37be0d90c5638763902"},
       attention,
       {{8, 28, 28}}},
      {"lenet5",
       {"170b04ff23c8c8611eb92732b564d8c0959afaf986ba98fcaa46e5f560dbc258",
        "076808347dbc9032c768325876194e7dc024e688c72e5dd0a9dc44870fa67edc"},
       lenet,
       {{8, 28, 28, 1}}},
      {"dqn",
       {"0d079e52401576ed40c6d312ec48ab41047297b4cd74fba249b5d948f0856af7",
        "ad13923aba3a8533d3542176bcf80aaae1d4fef27bb073448c0d3f1ec394e4d5"},
       dqn,
       {{8, 84, 84, 4}},
       0,
       {8},
       6},
      {"deep_lstm",
       {"f354b8d415db083c529f5e2b944203f374f7884970ec46d44bae0b6b6fd30eef",
        "2883d9e452ca39a946eccd10c4493c6172817ce203ec75e0b10af8d75b262b25"},
       deep_lstm,
       {{8, 28, 28}}},
      {"gru",
       {"37b5f4259d0394e8b8d7727d20e4fe3df50907cb560db48db769b903bd226ef5",
        "7de85c2b8a19d7d35c24d8b84e800e3a1a4f416e3c72bcf2c577d90c92892a97"},
       gru,
       {{8, 28, 28}}},
      {"bidirectional",
       {"5a966dcb7b3b991f7a5f519197bb4003b81c95b6319fe0e7afdc433d575fcdad",
        "bf1e47b703c70eff13dd6a4127cebd713bf807b0ffc933308ffe98d9bd0198a9"},
       bidirectional,
       {{8, 28, 28}}},
      {"encoder",
       {"4a7c22b1287703def577376d82765d4ebb17d9bef4e83a5457dbad26b7499258",
        "6a2e63d69cce8d5b7d97ec9e2ecc9e17a57abfaf6262f100f11ff5a661441225"},
       encoder,
       {{8, 16, 32}}},
      {"graph_attention",
       {"a9c021c7268ea56423e92d5d0d1348b38fd9a3756760e0a124f4245ca7c3d7fe",
        "a22fffbb9e5cabb922d4fab2bd05531a3443f53b3dc7a85e217958eeeb14e554"},
       graph_attention,
       {{40, 24}},
       0,
       {40}},
      {"seq2seq",
       {"6a97574e8b5306712f02079c04a9501f9dd1ab41017024a6b171061f4a12c749",
        "fd5df48525d3d863fcb041f63c2198652b26907c5c5b3daadb5290f030e05db4"},
       seq2seq,
       {{8, 9}, {8, 7}},
       30,
       {8, 7},
       30},
  };
  return all;
}

Tensor filled(const Dims &dims, int64_t below, Numbers &numbers) {
  if (below == 0) {
    Tensor t = Tensor::zeros(dims);
    for (float &v : t.data()) v = numbers.value();
    return t;
  }
  std::vector<int32_t> ids(static_cast<size_t>(elements(dims)));
  for (int32_t &v : ids) v = static_cast<int32_t>(numbers.below(below));
  return Tensor::of(std::span<const int32_t>(ids), dims);
}

void add(Sha256 &sum, const Tensor &t) {
  for (const float v : t.data()) {
    // Little-endian on every machine, and one NaN.
    const uint32_t bits = v != v ? 0x7fc00000 : std::bit_cast<uint32_t>(v);
    const uint8_t bytes[] = {static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8),
                             static_cast<uint8_t>(bits >> 16), static_cast<uint8_t>(bits >> 24)};
    sum.add(bytes, sizeof bytes);
  }
}

struct Found {
  std::string output, weights;
};

Found sums_of(const Net &net, const Context &context) {
  Graph g(context);
  Model model = net.model(g);
  Numbers numbers;
  Tensors in;
  for (const Dims &dims : net.inputs) in.push_back(filled(dims, net.words, numbers));
  const Tensor labels = filled(net.labels, net.classes, numbers);
  Sha256 output, trained;
  for (const Tensor &t : Session(model).run(in)) add(output, t);
  const Attrs optimizer = Attrs::kind("Adam", {{"learning_rate", 0.003}});
  Trainer trainer(model, Attrs{{"loss", "SparseCategoricalCrossentropy"}, {"optimizer", optimizer}});
  for (int step = 0; step < 50; ++step) trainer.step(in, {labels});
  std::vector<std::string> names = model.weight_names();
  std::sort(names.begin(), names.end());
  for (const std::string &name : names) add(trained, model.weight(name));
  return {output.hex(), trained.hex()};
}

struct VerifyOptions {
  bool print = false;
};

Exit verify(const Common &common, const VerifyOptions &o) {
  if (common.seed != 0) throw Refusal(usage, "verify: expected no --seed: the published sums are those of seed 0");
  const Context context = common.context("portable");
  Json all = Json::array();
  bool same = true;
  for (const Net &net : nets()) {
    const Found found = sums_of(net, context);
    const bool output = found.output == net.published.output, weights = found.weights == net.published.weights;
    same = same && output && weights;
    all.push_back({{"net", net.name},
                   {"output", found.output},
                   {"weights", found.weights},
                   {"same_output", output},
                   {"same_weights", weights}});
    if (common.json) continue;
    if (o.print)
      print(std::string(net.name) + ' ' + found.output + ' ' + found.weights + '\n');
    else
      print(std::string(net.name) + (output ? ": the same output" : ": ANOTHER OUTPUT") +
            (weights ? ", the same weights after 50 steps\n" : ", OTHER WEIGHTS after 50 steps\n"));
  }
  if (common.json) print(Json{{"same", same}, {"nets", all}});
  return same ? done : no;
}

}  // namespace

Command verify_command(const Common &common) {
  auto o = std::make_shared<VerifyOptions>();
  return {"verify",
          "computes 12 nets with portable bits and compares their sums with the published ones",
          {{"--sums", "", "prints the sums", &o->print}},
          [=, &common] { return verify(common, *o); }};
}

}  // namespace dl4::tool
