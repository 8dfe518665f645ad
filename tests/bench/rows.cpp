// The table. A new row is an entry here: the model and its floor both follow from it.
#include "row.hpp"

namespace bench {
namespace {

std::string activation(const std::string &name) { return R"("activation": ")" + name + '"'; }
const std::string softmax = activation("softmax"), relu = activation("relu");

std::string units(int64_t n, const std::string &more = "") {
  return "{\"units\": " + std::to_string(n) + (more.empty() ? "" : ", " + more) + "}";
}
std::string conv(int64_t filters, int64_t kernel, int64_t stride = 1, const std::string &more = "") {
  return "{\"filters\": " + std::to_string(filters) + ", \"kernel_size\": " + std::to_string(kernel) +
         ", \"strides\": " + std::to_string(stride) + (more.empty() ? "" : ", " + more) + "}";
}
std::string batch(const std::string &name, int64_t b) { return name + " B" + std::to_string(b); }

Row article_dense(int64_t b, bool train) {
  return {batch("article dense", b),
          {{"x", {b, 32, 32, 3}}},
          {{"Dense", "hidden", {"x"}, units(8, relu)},
           {"Flatten", "flat", {"hidden"}},
           {"Dense", "out", {"flat"}, units(2)}},
          {"out"},
          true,
          train ? Training{"SGD", "mean_squared_error"} : Training{}};
}
Row article_conv(int64_t b) {
  return {batch("article conv", b),
          {{"x", {b, 32, 32, 3}}},
          {{"Conv2D", "conv", {"x"}, conv(8, 3, 1, relu)},
           {"Flatten", "flat", {"conv"}},
           {"Dense", "out", {"flat"}, units(2, softmax)}},
          {"out"}};
}
Row article_lstm(int64_t b) {
  return {batch("article lstm", b),
          {{"x", {b, 3, 32}}},
          {{"LSTM", "lstm", {"x"}, units(8)}, {"Dense", "out", {"lstm"}, units(2)}},
          {"out"}};
}
Row article_attention(int64_t b) {
  return {batch("article attention", b),
          {{"query", {b, 16, 32}}, {"key", {b, 1, 32}}, {"value", {b, 1, 32}}},
          {{"Dense", "q", {"query"}, units(4)},
           {"Dense", "k", {"key"}, units(4)},
           {"Dense", "v", {"value"}, units(4)},
           {"MatMul", "score", {"q", "k"}, R"({"transpose_b": true})"},
           {"Softmax", "attention", {"score"}},
           {"MatMul", "attended", {"attention", "v"}}},
          {"score", "attention", "attended"}};
}
Row lenet(int64_t b, bool train) {
  return {batch("LeNet-5", b),
          {{"x", {b, 28, 28, 1}}},
          {{"Conv2D", "conv1", {"x"}, conv(6, 5, 1, relu + R"(, "padding": "same")")},
           {"MaxPooling2D", "pool1", {"conv1"}},
           {"Conv2D", "conv2", {"pool1"}, conv(16, 5, 1, relu)},
           {"MaxPooling2D", "pool2", {"conv2"}},
           {"Flatten", "flat", {"pool2"}},
           {"Dense", "dense1", {"flat"}, units(120, relu)},
           {"Dense", "dense2", {"dense1"}, units(84, relu)},
           {"Dense", "out", {"dense2"}, units(10, softmax)}},
          {"out"},
          true,
          train ? Training{"Adam", "sparse_categorical_crossentropy"} : Training{}};
}
Row dqn(int64_t b, bool train) {
  return {batch("DQN Atari", b),
          {{"x", {b, 84, 84, 4}}},
          {{"Conv2D", "conv1", {"x"}, conv(32, 8, 4, relu)},
           {"Conv2D", "conv2", {"conv1"}, conv(64, 4, 2, relu)},
           {"Conv2D", "conv3", {"conv2"}, conv(64, 3, 1, relu)},
           {"Flatten", "flat", {"conv3"}},
           {"Dense", "dense", {"flat"}, units(512, relu)},
           {"Dense", "out", {"dense"}, units(6)}},
          {"out"},
          true,
          train ? Training{"Adam", "mean_squared_error"} : Training{}};
}
Row conv_block() {
  const std::string same = relu + R"(, "padding": "same")";
  return {"conv 32x32 3->64->64 3x3 B8",
          {{"x", {8, 32, 32, 3}}},
          {{"Conv2D", "conv1", {"x"}, conv(64, 3, 1, same)},
           {"Conv2D", "conv2", {"conv1"}, conv(64, 3, 1, same)},
           {"MaxPooling2D", "pool", {"conv2"}},
           {"Flatten", "flat", {"pool"}},
           {"Dense", "out", {"flat"}, units(10, softmax)}},
          {"out"},
          false,
          Training{"Adam", "sparse_categorical_crossentropy"}};
}
Row lstm(int64_t t, int64_t b, int64_t inputs, int64_t hidden) {
  return {"LSTM T" + std::to_string(t) + " B" + std::to_string(b) + " H" + std::to_string(hidden),
          {{"x", {b, t, inputs}}},
          {{"LSTM", "lstm", {"x"}, units(hidden)}},
          {"lstm"}};
}
// A recurrent layer under some wrapper, if any: what no library call does.
Row recurrent(const std::string &kind, int64_t t, int64_t b, int64_t inputs, int64_t hidden, bool both = false) {
  const std::string one = units(hidden);
  Row r{(both ? "Bidirectional " : "") + kind + " T" + std::to_string(t) + " B" + std::to_string(b) + " H" +
            std::to_string(hidden),
        {{"x", {b, t, inputs}}},
        {{both ? "Bidirectional" : kind,
          "layer",
          {"x"},
          both ? R"({"layer": {"class_name": ")" + kind + R"(", "config": )" + one + "}}" : one}},
        {"layer"}};
  r.floor = false;
  return r;
}
// The same sequences with and without a mask: half of the ids are 0.
Row masked_lstm(bool masked) {
  Row r{std::string("LSTM T28 B32 H128 of ids") + (masked ? ", masked" : ""),
        {{"ids", {32, 28}, 2}},
        {{"Embedding",
          "embedding",
          {"ids"},
          std::string(R"({"input_dim": 2, "output_dim": 28, "mask_zero": )") + (masked ? "true}" : "false}")},
         {"LSTM", "lstm", {"embedding"}, units(128)}},
        {"lstm"}};
  r.floor = false;
  return r;
}
std::string heads(int64_t n, int64_t dim) {
  return "{\"num_heads\": " + std::to_string(n) + ", \"key_dim\": " + std::to_string(dim) + "}";
}
Row self_attention(int64_t t) {
  Row r{"MHSA 8x64 T" + std::to_string(t),
        {{"x", {1, t, 512}}},
        {{"MultiHeadAttention", "attention", {"x", "x"}, heads(8, 64)}},
        {"attention"}};
  r.floor = false;
  return r;
}
Row encoder_block() {
  Row r{"encoder block B8 T64 D128",
        {{"x", {8, 64, 128}}},
        {{"MultiHeadAttention", "attention", {"x", "x"}, heads(4, 32)},
         {"Add", "sum1", {"x", "attention"}},
         {"LayerNormalization", "norm1", {"sum1"}},
         {"Dense", "wide", {"norm1"}, units(512, relu)},
         {"Dense", "narrow", {"wide"}, units(128)},
         {"Add", "sum2", {"norm1", "narrow"}},
         {"LayerNormalization", "norm2", {"sum2"}},
         {"GlobalAveragePooling1D", "pool", {"norm2"}},
         {"Dense", "out", {"pool"}, units(10, softmax)}},
        {"out"},
        true,
        {"Adam", "sparse_categorical_crossentropy"}};
  r.floor = false;
  return r;
}
// A GRU that looks at the source before each step (Bahdanau et al. 2015): a model as its cell.
Row additive_decoder() {
  std::string layers;
  auto layer = [&](const std::string &kind, const std::string &name, const std::string &attributes,
                   const std::string &inputs = "", const std::string &arguments = "") {
    layers += (layers.empty() ? "" : ", ") + (R"({"class_name": ")" + kind) + R"(", "name": ")" + name +
              R"(", "config": )" + attributes;
    if (!inputs.empty()) layers += R"(, "calls": [{"inputs": [)" + inputs + R"(], "arguments": {)" + arguments + "}}]";
    layers += '}';
  };
  const std::string floats = R"(, "dtype": "float32"})", h = R"(["h", 0, 0])";
  for (const char *name : {"x", "h"}) layer("Input", name, R"({"shape": [null, 128])" + floats);
  for (const char *name : {"seen", "keys"}) layer("Input", name, R"({"shape": [null, 20, 128])" + floats);
  layer("Dense", "query", units(128, R"("use_bias": false)"), h);
  layer("Reshape", "row", R"({"target_shape": [1, 128]})", R"(["query", 0, 0])");
  layer("AdditiveAttention", "attention", "{}", R"(["row", 0, 0], ["seen", 0, 0], ["keys", 0, 0])");
  layer("Reshape", "context", R"({"target_shape": [128]})", R"(["attention", 0, 0])");
  layer("Concatenate", "both", "{}", R"(["x", 0, 0], ["context", 0, 0])");
  layer("GRUCell", "gru", units(128), R"(["both", 0, 0])", R"("states": [)" + h + ']');
  const std::string model = R"({"format": 1, "layers": [)" + layers +
                            R"(], "inputs": [["x", 0, 0], ["h", 0, 0], ["seen", 0, 0], ["keys", 0, 0]], )" +
                            R"("outputs": [["gru", 0, 0]]})";
  Row r{"additive decoder T20 B32",
        {{"x", {32, 20, 128}}, {"seen", {32, 20, 128}}},
        {{"Dense", "projected", {"seen"}, units(128)},
         {"RNN",
          "decoder",
          {"x", "seen", "projected"},
          R"({"return_sequences": true, "cell": {"class_name": "GraphCell", "config": {"states": {"h": "gru"}, )"
          R"("model": )" +
              model + "}}}"},
         {"GlobalAveragePooling1D", "pool", {"decoder"}},
         {"Dense", "out", {"pool"}, units(10, softmax)}},
        {"out"},
        false,
        {"Adam", "sparse_categorical_crossentropy"}};
  r.floor = false;
  return r;
}
Row depthwise(int64_t size, int64_t channels) {
  Row r{"depthwise " + std::to_string(size) + "x" + std::to_string(size) + " " + std::to_string(channels) + " 3x3",
        {{"x", {1, size, size, channels}}},
        {{"DepthwiseConv2D", "conv", {"x"}, R"({"kernel_size": 3, "padding": "same"})"}},
        {"conv"}};
  r.floor = false;
  return r;
}
// As keras.applications has it, with the strides in the 1x1 convolutions and without biases.
Row resnet50() {
  Row r{"ResNet-50 B1", {{"x", {1, 224, 224, 3}}}, {}, {"out"}};
  auto layer = [&](const std::string &kind, const std::string &name, const std::vector<std::string> &from,
                   const std::string &attributes = "{}") {
    r.layers.push_back({kind, name, from, attributes});
    return name;
  };
  auto normed = [&](const std::string &name, const std::string &from, int64_t filters, int64_t kernel, int64_t stride) {
    const char *padding = kernel == 3 ? "same" : "valid";
    layer("Conv2D", name, {from},
          conv(filters, kernel, stride, std::string(R"("use_bias": false, "padding": ")") + padding + '"'));
    return layer("BatchNormalization", name + "_norm", {name});
  };
  auto active = [&](const std::string &from) { return layer("Activation", from + "_relu", {from}, '{' + relu + '}'); };
  std::string x = layer("ZeroPadding2D", "pad1", {"x"}, R"({"padding": 3})");
  x = layer("ZeroPadding2D", "pad2", {active(normed("conv1", x, 64, 7, 2))}, R"({"padding": 1})");
  x = layer("MaxPooling2D", "pool1", {x}, R"({"pool_size": 3, "strides": 2})");
  const int64_t blocks[] = {3, 4, 6, 3};
  for (int64_t s = 0; s < 4; ++s)
    for (int64_t i = 0; i < blocks[s]; ++i) {
      const std::string name = "stage" + std::to_string(s + 2) + "_" + std::to_string(i + 1);
      const int64_t filters = int64_t{64} << s, stride = i == 0 && s > 0 ? 2 : 1;
      const std::string shortcut = i == 0 ? normed(name + "_0", x, 4 * filters, 1, stride) : x;
      std::string y = active(normed(name + "_a", x, filters, 1, stride));
      y = active(normed(name + "_b", y, filters, 3, 1));
      y = normed(name + "_c", y, 4 * filters, 1, 1);
      x = active(layer("Add", name + "_sum", {shortcut, y}));
    }
  layer("GlobalAveragePooling2D", "pool", {x});
  layer("Dense", "out", {"pool"}, units(1000, softmax));
  r.floor = false;
  return r;
}
// Thirteen numbers of a table's row, and what a sensor's values are squeezed through: the smallest nets in use.
Row tabular_mlp(int64_t b) {
  return {batch("tabular MLP 13-64-32-1", b),
          {{"x", {b, 13}}},
          {{"Dense", "dense1", {"x"}, units(64, relu)},
           {"Dense", "dense2", {"dense1"}, units(32, relu)},
           {"Dense", "out", {"dense2"}, units(1)}},
          {"out"},
          true,
          {"Adam", "mean_squared_error"}};
}
Row autoencoder(int64_t b) {
  return {batch("autoencoder 140-32-16-8-16-32-140", b),
          {{"x", {b, 140}}},
          {{"Dense", "down1", {"x"}, units(32, relu)},
           {"Dense", "down2", {"down1"}, units(16, relu)},
           {"Dense", "code", {"down2"}, units(8, relu)},
           {"Dense", "up1", {"code"}, units(16, relu)},
           {"Dense", "up2", {"up1"}, units(32, relu)},
           {"Dense", "out", {"up2"}, units(140)}},
          {"out"},
          true,
          {"Adam", "mean_squared_error"}};
}
Row one_step(int64_t hidden) {
  std::string h = std::to_string(hidden);
  return {"LSTM one step B1 H" + h + " with state",
          {{"x", {1, 1, hidden}}, {"h", {1, hidden}}, {"c", {1, hidden}}},
          {{"LSTM", "lstm", {"x", "h", "c"}, units(hidden, R"("return_state": true)")}},
          {"lstm", "lstm/h", "lstm/c"},
          true,
          {},
          {1, 2},
          false};
}
Row train_lstm(int64_t t, int64_t b, int64_t inputs, int64_t hidden) {
  Row r = lstm(t, b, inputs, hidden);
  r.name += " + Dense(10)";
  r.layers.push_back({"Dense", "out", {"lstm"}, units(10, softmax)});
  r.outputs = {"out"};
  r.runs = false, r.training = {"Adam", "sparse_categorical_crossentropy"};
  return r;
}
// One layer, linear or with the activation named.
Row dense(int64_t m, int64_t n = 1024, const std::string &act = "") {
  std::string size = std::to_string(n);
  return {"Dense " + std::to_string(m) + "x" + size + "x" + size + (act.empty() ? "" : " " + act),
          {{"x", {m, n}}},
          {{"Dense", "dense", {"x"}, units(n, act.empty() ? "" : activation(act))}},
          {"dense"}};
}
Row one_conv(int64_t size, int64_t in, int64_t out, int64_t kernel, const std::string &act = "") {
  return {"conv " + std::to_string(size) + "x" + std::to_string(size) + " " + std::to_string(in) + "->" +
              std::to_string(out) + " " + std::to_string(kernel) + "x" + std::to_string(kernel) +
              (act.empty() ? "" : " " + act),
          {{"x", {1, size, size, in}}},
          {{"Conv2D",
            "conv",
            {"x"},
            conv(out, kernel, 1, R"("padding": "same")" + (act.empty() ? "" : ", " + activation(act)))}},
          {"conv"}};
}

}  // namespace

const std::vector<Row> &table() {
  static const std::vector<Row> rows{
      {"smallest: x + y, 4 floats",
       {{"x", {1, 4}}, {"y", {1, 4}}},
       {{"Add", "sum", {"x", "y"}}},
       {"sum"},
       true,
       {},
       {1}},
      article_dense(1, false),
      article_dense(4, true),
      article_conv(1),
      article_conv(4),
      article_lstm(1),
      article_lstm(4),
      article_attention(1),
      article_attention(4),
      lenet(1, false),
      lenet(32, true),
      dqn(1, false),
      dqn(32, true),
      lstm(100, 1, 128, 128),
      lstm(28, 32, 28, 128),
      lstm(100, 32, 512, 512),
      lstm(1000, 1, 16, 16),
      tabular_mlp(32),
      autoencoder(1),
      autoencoder(32),
      one_step(32),
      dense(1),
      dense(1, 1024, "relu"),
      dense(16),
      dense(16, 1024, "relu"),
      dense(64),
      dense(64, 1024, "relu"),
      dense(64, 1024, "gelu"),
      dense(64, 1024, "sigmoid"),
      dense(512),
      dense(512, 1024, "relu"),
      dense(512, 1024, "gelu"),
      dense(16, 512),
      dense(16, 512, "relu"),
      dense(16, 512, "sigmoid"),
      one_conv(56, 64, 64, 3),
      one_conv(56, 64, 64, 3, "relu"),
      one_conv(56, 64, 64, 3, "gelu"),
      one_conv(14, 256, 256, 3),
      one_conv(14, 256, 256, 3, "relu"),
      one_conv(56, 256, 64, 1),
      one_conv(56, 256, 64, 1, "relu"),
      one_conv(56, 256, 64, 1, "sigmoid"),
      conv_block(),
      {"attention T128 D64",
       {{"q", {1, 128, 64}}, {"v", {1, 128, 64}}, {"k", {1, 128, 64}}},
       {{"Attention", "attention", {"q", "v", "k"}}},
       {"attention"}},
      {"MLP 784-256-128-10 B128",
       {{"x", {128, 784}}},
       {{"Dense", "dense1", {"x"}, units(256, relu)},
        {"Dense", "dense2", {"dense1"}, units(128, relu)},
        {"Dense", "out", {"dense2"}, units(10, softmax)}},
       {"out"},
       false,
       {"Adam", "sparse_categorical_crossentropy"}},
      train_lstm(28, 128, 28, 128),
      train_lstm(100, 32, 256, 256),
      {"Embedding self-attention B32 T100",
       {{"tokens", {32, 100}, 1000}},
       {{"Embedding", "embedding", {"tokens"}, R"({"input_dim": 1000, "output_dim": 64})"},
        {"Attention", "attention", {"embedding", "embedding"}},
        {"GlobalAveragePooling1D", "pool", {"attention"}},
        {"Dense", "out", {"pool"}, units(10, softmax)}},
       {"out"},
       false,
       {"Adam", "sparse_categorical_crossentropy"}},
      recurrent("GRU", 28, 32, 28, 128),
      recurrent("GRU", 100, 1, 128, 128),
      recurrent("GRU", 1, 1, 32, 32),
      recurrent("LSTM", 28, 32, 28, 128, true),
      masked_lstm(false),
      masked_lstm(true),
      self_attention(128),
      self_attention(512),
      encoder_block(),
      additive_decoder(),
      depthwise(56, 64),
      depthwise(14, 256),
      resnet50(),
  };
  return rows;
}

}  // namespace bench
