// Files of quantized models that no such model can have written: refused by the layer's or the weight's name.
#include "io/formats.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "base/error.hpp"
#include "graph/model.hpp"
#include "graph/rewrite.hpp"
#include "io/formats.hpp"
#include "io/keras/json.hpp"

namespace dl4::io::DL4_FILE {
namespace {

std::shared_ptr<graph::Model> model(const char *name) {
  const File file(std::string(DL4_SOURCE_DIR "/tests/io/data/") + name, INT64_MAX);
  return load_model(file);
}

Error refusal(const std::function<void()> &f) {
  try {
    f();
  } catch (const Error &e) {
    return e;
  }
  return {Code::ok, "it was not refused"};
}

// The model with one number of a weight changed, in each of the formats.
void expect_refusal(const char *file, const char *weight, double number, const char *words) {
  const auto m = model(file);
  Tensor value = m->get_weight(weight);
  if (value.dtype == DType::u8)
    *value.as<uint8_t>() = static_cast<uint8_t>(static_cast<int>(number));
  else
    *value.as<float>() = static_cast<float>(number);
  m->set_weight(weight, value);
  for (const char *format : {".dl4", ".keras", ".npz"}) {
    const std::string bytes = save_model(*m, format_of(format));
    const Memory source(std::as_bytes(std::span(bytes)));
    const Error e = refusal([&] {
      if (format_of(format).load == nullptr)
        load_weights(*model(file), source, {}, true);
      else
        load_model(source);
    });
    EXPECT_EQ(e.code, Code::corrupt_file) << e.message;
    EXPECT_NE(e.message.find(text("weight \"", weight, "\": ", words)), std::string::npos) << e.message;
  }
}

TEST(QuantizedFiles, NumbersThatCannotBeAreRefusedByTheWeightsName) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const double scale : {0.0, nan, inf}) {
    expect_refusal("quantized_int8.keras", "last/kernel_scale", scale, "expected scales other than 0");
    expect_refusal("quantized_int8.keras", "masked/embeddings_scale", scale, "expected scales other than 0");
    expect_refusal("quantized_int8.keras", "table/reverse_embeddings_scale", scale, "expected scales other than 0");
    expect_refusal("quantized_awq_4.keras", "dense/awq_scales", scale, "expected scales other than 0");
    expect_refusal("quantized_map.keras", "heads/query/kernel_scale", scale, "expected scales other than 0");
  }
  expect_refusal("quantized_int4_blocks.keras", "last/kernel_zero", 8, "expected zero points of 4 bits, from -8 to 7");
  expect_refusal("quantized_int4_blocks.keras", "masked/embeddings_zero", -9, "expected zero points of 4 bits");
  for (const double zero : {8.0, -9.0, nan})
    expect_refusal("quantized_int4_blocks.keras", "table/reverse_embeddings_zero", zero,
                   "expected zero points of 4 bits");
  for (const double group : {-1.0, 2.0, nan})
    expect_refusal("quantized_int4_blocks.keras", "last/g_idx", group, "expected the numbers of 2 groups");
  expect_refusal("quantized_gptq_4.keras", "dense/g_idx", 3, "expected the numbers of 3 groups");
  expect_refusal("quantized_int4_blocks.keras", "masked/g_idx", 2, "expected the numbers of 2 groups");
}

TEST(QuantizedFiles, AreWrittenInThePresentFormsOfTheirWeights) {
  for (const char *file : {"quantized_int8.keras", "quantized_int4_blocks.keras", "quantized_gptq_8.keras"}) {
    const auto m = model(file);
    for (const char *format : {".dl4", ".keras"}) {
      const std::string bytes = save_model(*m, format_of(format));
      const auto again = load_model(Memory(std::as_bytes(std::span(bytes))));
      ASSERT_EQ(again->weights().size(), m->weights().size());
      for (const auto &w : m->weights()) {
        const Tensor &value = again->weight(w->name)->value();
        ASSERT_EQ(value.dtype, w->value().dtype) << w->name;
        EXPECT_EQ(std::memcmp(value.data.get(), w->value().data.get(), static_cast<size_t>(value.bytes())), 0)
            << w->name;
      }
    }
  }
}

// Keras made both files of one model.
TEST(QuantizedFiles, WeightsAreMadeAsKerasMakesThem) {
  const auto m = model("quantizable.keras");
  for (const auto &[file, mode] : {std::pair{"quantized_int8.keras", "int8"},
                                   {"quantized_int4.keras", "int4/128"},
                                   {"quantized_int4.keras", "int4"},
                                   {"quantized_int4_blocks.keras", "int4/3"},
                                   {"quantized_int4_columns.keras", "int4/-1"}}) {
    graph::Quantize how;
    how.mode = mode;
    const auto made = graph::quantized(*m, how), wanted = model(file);
    ASSERT_EQ(made->weights().size(), wanted->weights().size());
    for (const auto &w : wanted->weights()) {
      const Tensor &value = made->weight(w->name)->value();
      ASSERT_EQ(value.dtype, w->value().dtype) << w->name;
      ASSERT_EQ(value.shape, w->value().shape) << w->name;
      EXPECT_EQ(std::memcmp(value.data.get(), w->value().data.get(), static_cast<size_t>(value.bytes())), 0)
          << file << ' ' << w->name;
    }
  }
}

TEST(QuantizedFiles, WhatCannotBeQuantizedIsRefusedByName) {
  const auto m = model("quantizable.keras");
  const auto expect = [&](const Json &mode, std::optional<std::vector<std::string>> layers, Code code,
                          const std::string &words, std::optional<std::vector<double>> range = {}) {
    graph::Quantize how;
    how.mode = mode, how.layers = std::move(layers), how.value_range = std::move(range);
    const Error e = refusal([&] { graph::quantized(*m, how); });
    EXPECT_EQ(e.code, code) << e.message;
    EXPECT_NE(e.message.find(words), std::string::npos) << e.message;
  };
  using Names = std::vector<std::string>;
  expect("int8", Names{"lstm"}, Code::unsupported, "layer \"lstm\": a LSTM cannot be quantized");
  expect("int8", Names{"lost"}, Code::not_found, "the model has no layer \"lost\"");
  expect("int7", {}, Code::invalid_argument, "expected \"int8\"");
  expect("float8", {}, Code::unsupported, "float8 is not supported");
  expect("gptq/4/128", {}, Code::unsupported, "needs data to calibrate by");
  expect(nullptr, {}, Code::invalid_argument, "expected a mode");
  expect("int8", {}, Code::invalid_argument, "\"value_range\"", std::vector<double>{-300, 300});
  graph::Quantize how;
  how.mode = "int8", how.layers = Names{"last"};
  const auto once = graph::quantized(*m, how);
  EXPECT_EQ(once->weight("last/kernel")->value().dtype, DType::u8);
  EXPECT_EQ(once->weight("joined/kernel")->value().dtype, DType::f32);
  const Error e = refusal([&] { graph::quantized(*once, how); });
  EXPECT_NE(e.message.find("layer \"last\": it is quantized already, by \"int8\""), std::string::npos) << e.message;
}

TEST(QuantizedFiles, ThoseThatKerasLeavesZeroPointsOutOfAreRefused) {
  const Error e = refusal([] { model("lost_zero_points.keras"); });
  EXPECT_EQ(e.code, Code::corrupt_file);
  EXPECT_NE(e.message.find("weight \"dense/zero_point\""), std::string::npos) << e.message;
  EXPECT_NE(e.message.find("Keras 3.15.1 leaves zero points of gptq and awq out"), std::string::npos) << e.message;
}

Json policy(const char *class_name, const char *mode) {
  return {{"class_name", class_name}, {"config", {{"mode", mode}, {"source_name", "float32"}}}};
}
Json policies(const Json &map) {
  return {{"class_name", "DTypePolicyMap"}, {"config", {{"default_policy", "float32"}, {"policy_map", map}}}};
}

TEST(QuantizedFiles, PoliciesOfOtherLayersAndModesAreRefusedByTheLayersName) {
  const auto expect = [](const char *class_name, const Json &dtype, const char *words,
                         const Json &more = Json::object()) {
    Json config = more;
    config["name"] = "it";
    config["dtype"] = dtype;
    const Error e = refusal([&] { keras::with_quantization(class_name, config); });
    EXPECT_EQ(e.code, Code::unsupported) << e.message;
    EXPECT_NE(e.message.find("layer \"it\": "), std::string::npos) << e.message;
    EXPECT_NE(e.message.find(words), std::string::npos) << e.message;
  };
  const Json int8 = policy("QuantizedDTypePolicy", "int8");
  expect("Conv2D", int8, "a Conv2D cannot be quantized");
  expect("Dense", policy("QuantizedFloat8DTypePolicy", "float8"), "float8 is not supported");
  expect("Dense", "float8_from_float32", "float8 is not supported");
  expect("Dense", policies({{"i.", int8}}), "the key \"i.\" of its DTypePolicyMap");
  expect("Dense", policies({{"i.*", int8}, {".*t", int8}}), "fits several keys");
  expect("MultiHeadAttention", policies({{"it/query", int8}}), "quantized in different ways");
  const auto quantizer = [](const char *class_name, const char *type) {
    return Json{
        {"quantization_config",
         {{"config", {{"activation_quantizer", {{"class_name", class_name}, {"config", {{"output_dtype", type}}}}}}}}}};
  };
  expect("Dense", int8, "expected an AbsMaxQuantizer", quantizer("Mine", "int8"));
  expect("Dense", int8, "quantizes to uint8", quantizer("AbsMaxQuantizer", "uint8"));
}

TEST(QuantizedFiles, APolicyMapDecidesByThePath) {
  const Json int8 = policy("QuantizedDTypePolicy", "int8");
  const auto mode = [](const Json &map, const char *name) {
    const Json to = keras::with_quantization("Dense", {{"name", name}, {"dtype", policies(map)}});
    return to.contains("quantization") ? to["quantization"]["mode"].get<std::string>() : "";
  };
  EXPECT_EQ(mode({{"it", int8}, {".*", "float32"}}, "it"), "int8");
  EXPECT_EQ(mode({{"it", int8}}, "its"), "");
  EXPECT_EQ(mode({{"i.*t", int8}}, "it"), "int8");
  EXPECT_EQ(mode({{"i.*t", int8}}, "inputs"), "");
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
