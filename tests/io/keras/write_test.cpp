// Models as Keras's files: what they say is read again, and what they can't say is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "io/formats.hpp"
#include "io/keras/file.hpp"
#include "io/keras/json.hpp"
#include "io/zip/zip.hpp"

namespace dl4::io::DL4_FILE {
namespace {

using graph::LayerId, graph::Node;

struct Net {
  std::shared_ptr<graph::Graph> g = std::make_shared<graph::Graph>(graph::Settings{});
  Node x = g->input("x", DType::f32, Shape{free_dim, 4, 3});

  Node add(const char *kind, const char *name, const Json &config, const std::vector<Node> &in) {
    return g->add(kind, name, config, {}, in)[0];
  }
  graph::Model model(Node out) const { return {g, {x}, {out}}; }
};

std::shared_ptr<graph::Model> loaded(const std::string &bytes) {
  return load_model(Memory(std::as_bytes(std::span(bytes))));
}
std::shared_ptr<graph::Model> again(const graph::Model &m) { return loaded(save_model(m, format_of(".keras"))); }

// The JSON, and a file with another.
std::string config_of(const std::string &file) {
  Budget budget(INT64_MAX);
  const Memory source(std::as_bytes(std::span(file)));
  return Zip(source, budget).text("config.json");
}
std::string with_config(const std::string &file, const std::string &config) {
  Budget budget(INT64_MAX);
  const Memory source(std::as_bytes(std::span(file)));
  const Zip zip(source, budget);
  const auto member = zip.open("model.weights.h5", true);
  std::string weights(static_cast<size_t>(member->size()), '\0'), all;
  member->read(0, std::as_writable_bytes(std::span(weights)));
  std::vector<std::string> heads;
  for (std::string_view part : zip_parts({{"config.json", {config}}, {"model.weights.h5", {weights}}}, heads))
    all += part;
  return all;
}

void expect_refusal(const graph::Model &m, const std::string &words) {
  try {
    save_model(m, format_of(".keras"));
    ADD_FAILURE() << "it was saved: " << words;
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Code::unsupported) << e.message;
    EXPECT_NE(e.message.find(words), std::string::npos) << e.message;
  }
}

const Tensor &constant_of(const graph::Model &m) {
  for (const graph::Layer &l : m.graph().layers())
    if (l.constant.data) return l.constant;
  throw Error(Code::not_found, "no constant");
}

TEST(KerasWriting, ConstantsOfEveryTypeAndNumberAreReadAgain) {
  Net net;
  Tensor floats = make_tensor(DType::f32, {3});
  floats.as<float>()[0] = -HUGE_VALF, floats.as<float>()[1] = HUGE_VALF, floats.as<float>()[2] = std::nanf("");
  Tensor longs = make_tensor(DType::i64, {3});
  longs.as<int64_t>()[0] = INT64_MIN, longs.as<int64_t>()[1] = (int64_t{1} << 53) + 1, longs.as<int64_t>()[2] = 7;
  Tensor bytes = make_tensor(DType::u8, {3}), flags = make_tensor(DType::boolean, {3});
  for (int i = 0; i < 3; ++i) bytes.as<uint8_t>()[i] = static_cast<uint8_t>(200 + i);
  for (int i = 0; i < 3; ++i) flags.as<uint8_t>()[i] = i == 1;
  for (const Tensor &t : {floats, longs, bytes, flags}) {
    Net n;
    const Node c = n.g->constant("c", t);
    const graph::Model model =
        n.model(n.add("Equal", "y", Json::object(), {n.add("Cast", "cast", {{"to", to_string(t.dtype)}}, {n.x}), c}));
    const std::string file = save_model(model, format_of(".keras")), config = config_of(file);
    std::string of_keras = config;  // which has no quotes there
    for (const std::string word : {"\"Infinity\"", "\"-Infinity\"", "\"NaN\""})
      if (const size_t at = of_keras.find(word); at != std::string::npos)
        of_keras.replace(at, word.size(), word.substr(1, word.size() - 2));
    EXPECT_EQ(of_keras == config, t.dtype != DType::f32);
    for (const std::string &bytes_of : {file, with_config(file, of_keras)}) {
      const auto same = loaded(bytes_of);
      const Tensor &got = constant_of(*same);
      EXPECT_EQ(got.dtype, t.dtype);
      EXPECT_EQ(got.shape, t.shape);
      EXPECT_EQ(std::memcmp(got.data.get(), t.data.get(), static_cast<size_t>(t.bytes())), 0) << to_string(t.dtype);
    }
  }
}

TEST(KerasWriting, TheFactorsOfAProductAreTransposedBefore) {
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      Net net;
      const Node square = net.add("MatMul", "square", {{"transpose_a", a}, {"transpose_b", !a}}, {net.x, net.x});
      Tensor t = make_zeros(DType::f32, b ? Shape{5, a ? 3 : 4} : Shape{a ? 3 : 4, 5});
      const Node c = net.g->constant("c", t);
      const auto model = net.model(net.add("MatMul", "y", {{"transpose_b", b}}, {square, c}));
      const auto same = again(model);
      EXPECT_EQ(same->graph().shape(same->outputs()[0]), (Shape{free_dim, a ? 3 : 4, 5}));
      EXPECT_EQ(constant_of(*same).shape, (Shape{a ? 3 : 4, 5}));
    }
}

TEST(KerasWriting, ReductionsOfIntegersAreReadAgain) {
  for (const char *kind : {"Sum", "Prod", "Max", "Min"})
    for (const DType type : {DType::i32, DType::i64}) {
      Net net;
      const Node whole = net.add("Cast", "cast", {{"to", to_string(type)}}, {net.x});
      const auto same = again(net.model(net.add(kind, "y", {{"axis", 1}}, {whole})));
      EXPECT_EQ(same->graph().dtype(same->outputs()[0]), type) << kind;
    }
}

TEST(KerasWriting, NamesHaveNoSlashes) {
  auto g = std::make_shared<graph::Graph>(graph::Settings{});
  const Node x = g->input("in/x", DType::f32, Shape{free_dim, 3});
  const Node d = g->add("Dense", "a/b", {{"units", 2}}, {}, {x})[0],
             e = g->add("Dense", "a_b", {{"units", 2}}, {}, {d})[0];
  const graph::Model model(g, {x}, {g->add("Activation", "out/y", {{"activation", "tanh"}}, {}, {e})[0]});
  const auto same = again(model);
  EXPECT_EQ(same->input_name(0), "in_x");
  EXPECT_EQ(same->output_name(0), "out_y");
  for (const auto &[before, now] : {std::pair{"a/b/kernel", "a_b_1/kernel"}, {"a_b/kernel", "a_b/kernel"}}) {
    const Tensor v = model.get_weight(before), w = same->get_weight(now);
    EXPECT_EQ(std::memcmp(v.data.get(), w.data.get(), static_cast<size_t>(v.bytes())), 0) << before;
  }
}

TEST(KerasWriting, ComparedStringsStayStrings) {
  auto g = std::make_shared<graph::Graph>(graph::Settings{});
  const Node a = g->input("a", DType::string, Shape{free_dim}), b = g->input("b", DType::string, Shape{free_dim});
  const std::string file = save_model(graph::Model(g, {a, b}, {g->add("Equal", "same", Json::object(), {}, {a, b})[0]}),
                                      format_of(".keras"));
  EXPECT_NE(loaded(file), nullptr);
  std::string config = config_of(file);
  for (size_t at; (at = config.find("\"string\"")) != config.npos;) config.replace(at, 8, "\"int64\"");
  EXPECT_NE(loaded(with_config(file, config)), nullptr);
  config = config_of(file);
  config.replace(config.find("\"string\""), 8, "\"int64\"");  // the first input alone
  try {
    loaded(with_config(file, config));
    ADD_FAILURE() << "strings were compared with numbers";
  } catch (const Error &e) {
    EXPECT_NE(e.message.find("takes numbers here, not strings"), std::string::npos) << e.message;
  }
}

// Keras's Pipeline takes its layers and a name alone.
TEST(KerasWriting, APipelineHasNoSettingsOfOtherLayers) {
  Net net;
  const Json layers = {{{"class_name", "Rescaling"}, {"config", {{"scale", 2}}}}};
  const graph::Model model = net.model(net.add("Pipeline", "pipe", {{"layers", layers}}, {net.x}));
  const Json all = Json::parse(config_of(save_model(model, format_of(".keras"))));
  for (const Json &l : all.at("config").at("layers"))
    if (l.at("class_name") == "Pipeline") {
      for (const auto &[key, v] : l.at("config").items()) EXPECT_TRUE(key == "layers" || key == "name") << key;
    }
  EXPECT_NE(again(model), nullptr);
}

// One input or output is no list, those of Add are; a number beside integers is one; what is computed in float32 here
// and in integers there is cast before.
TEST(KerasWriting, CallsHaveKerassForm) {
  Net net;
  const Node whole = net.add("Cast", "whole", {{"to", "int32"}}, {net.x});
  const Node more = net.add("BroadcastAdd", "more", {{"x2", 2}}, {whole});
  const Node power = net.add("Power", "power", {{"x2", 2}}, {more});
  const Node sum = net.add("Add", "sum", Json::object(), {power, net.x});
  const graph::Model model = net.model(sum);
  const Json config = keras::json_of(model).at("config");
  EXPECT_EQ(config.at("output_layers").dump(), R"(["sum",0,0])");
  std::map<std::string, Json> args;
  for (const Json &l : config.at("layers"))
    if (!l.at("inbound_nodes").empty()) args[l.at("name").get<std::string>()] = l.at("inbound_nodes")[0].at("args");
  EXPECT_EQ(args.at("more")[1].dump(), "2");
  EXPECT_EQ(args.at("sum").size(), 1u);
  EXPECT_EQ(args.at("sum")[0].size(), 2u);
  EXPECT_TRUE(args.count("power__input_0")) << "a cast";
  EXPECT_NE(again(model), nullptr);
}

TEST(KerasWriting, WhatKerasHasNotIsRefused) {
  Net net;
  const Node c = net.g->constant("c", make_zeros(DType::f32, {4, 3}));
  expect_refusal(
      net.model(net.add("BroadcastAdd", "y", Json::object(), {net.x, net.add("Exp", "it", Json::object(), {c})})),
      "layer \"it\": reads constants alone");
  expect_refusal(graph::Model(net.g, {net.x}, {net.x, c}), "layer \"c\": an output of a model");
  expect_refusal(net.model(net.add("Cumsum", "sums", {{"axis", 1}, {"reverse", true}}, {net.x})),
                 "layer \"sums\": \"reverse\"");
  const LayerId twice = net.g->layer("Exp", "twice", Json::object());
  net.g->call(twice, {}, {net.x});
  expect_refusal(net.model(net.g->call(twice, {}, {net.g->call(twice, {}, {net.x})[0]})[0]),
                 "layer \"twice\": as an operation in Keras's files it is called once");
  graph::Model frozen = net.model(net.add("Dense", "it_2", {{"units", 3}}, {net.x}));
  frozen.set_trainable("it_2/bias", false);
  expect_refusal(frozen, "layer \"it_2\": some of its weights are frozen");
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
