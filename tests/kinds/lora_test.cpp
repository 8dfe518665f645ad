// LoRA of layers: what it refuses, in which order its weights stand, and models without it. Its numbers are in
// tests/golden.
#include "graph/rewrite.hpp"

#include <gtest/gtest.h>

#include "kinds/layer_call.hpp"

namespace dl4::test::DL4_FILE {
namespace {

TEST(Lora, WhatKerasRefusesIsRefused) {
  const auto expect = [](const char *kind, Json config, const std::string &words, Code code = Code::unsupported) {
    if (kind == std::string("Dense")) config["units"] = 2;
    if (kind == std::string("Embedding")) config["input_dim"] = 4, config["output_dim"] = 3;
    expect_config_refusal(kind, config, code, words);
  };
  expect("Dense", {{"lora_rank", 0}}, "\"lora_rank\": expected at least 1", Code::invalid_argument);
  expect("Dense", {{"lora_rank", 2}, {"kernel_constraint", "UnitNorm"}}, "\"lora_rank\": LoRA is incompatible with");
  expect("Embedding", {{"lora_rank", 2}, {"embeddings_constraint", "UnitNorm"}}, "LoRA is incompatible with");
  expect("Dense", {{"lora_rank", 2}, {"quantization", "gptq/4/-1"}}, "not supported with a kernel of \"gptq/4/-1\"");
  expect("EinsumDense",
         {{"equation", "ab,cb->ac"}, {"output_shape", Json::array({3})}, {"lora_rank", 2}, {"quantization", "int8"}},
         "have to end in the same letter, got \"ab,cb->ac\"");
  const Json heads{{"num_heads", 2}, {"key_dim", 3}};
  const auto of_heads = [&](Json lora, const std::string &words, Code code) {
    Json config = heads;
    config["lora"] = std::move(lora);
    expect_config_refusal("MultiHeadAttention", config, code, words);
  };
  of_heads(Json{{"gate", {{"rank", 2}}}}, "there is no projection \"gate\"", Code::invalid_argument);
  of_heads(Json{{"query", {{"rank", 0}}}}, "a \"rank\" from 1", Code::invalid_argument);
  of_heads(Json{{"query", {{"alpha", 2}}}}, "expected {\"rank\", \"alpha\"}", Code::invalid_argument);
  of_heads(Json{{"query", {{"rank", 2}, {"scale", 1}}}}, "expected {\"rank\", \"alpha\"}", Code::invalid_argument);
  of_heads(3, "by projection", Code::invalid_argument);
  const Json dense{{"class_name", "Dense"}, {"config", {{"units", 2}, {"lora_rank", 2}}}};
  expect_config_refusal("SpectralNormalization", {{"layer", dense}}, Code::unsupported, "with lora_rank");
}

TEST(Lora, WeightsAreTheLastAndTheKernelIsFrozen) {
  LayerCall l("Dense", {{"units", 3}, {"lora_rank", 2}});
  l.call({l.input({2, 5})});
  std::string all;
  for (const auto &spec : l.specs) all += text(spec.name, spec.frozen ? " frozen " : " ", spec.shape, "; ");
  EXPECT_EQ(all, "kernel frozen (5, 3); bias (3,); lora_kernel_a (5, 2); lora_kernel_b (2, 3); ");
}

// A Dense inside of a layer, an Embedding, a projection; each plain or quantized.
std::shared_ptr<graph::Model> model() {
  auto g = std::make_shared<graph::Graph>(graph::Settings{});
  const graph::Node ids = g->input("ids", DType::i32, {free_dim, 4});
  const auto add = [&](const char *kind, Json config, std::vector<graph::Node> in) {
    return g->call(g->layer(kind, kind, config), {}, in)[0];
  };
  graph::Node y = add("Embedding", {{"input_dim", 7}, {"output_dim", 6}, {"lora_rank", 2}, {"lora_alpha", 3}}, {ids});
  const Json inner{{"class_name", "Dense"}, {"config", {{"name", "inner"}, {"units", 6}, {"lora_rank", 2}}}};
  y = add("TimeDistributed", {{"layer", inner}}, {y});
  y = add("MultiHeadAttention",
          {{"num_heads", 2}, {"key_dim", 3}, {"lora", {{"query", {{"rank", 2}}}, {"attention_output", {{"rank", 1}}}}}},
          {y, y});
  y = add("EinsumDense", {{"equation", "abc,cd->abd"}, {"output_shape", Json::array({nullptr, 5})}, {"lora_rank", 2}},
          {y});
  auto m = std::make_shared<graph::Model>(std::move(g), std::vector{ids}, std::vector{y});
  for (const auto &w : m->weights()) {
    Tensor value = make_tensor(DType::f32, w->spec.shape);
    for (int64_t i = 0; i < value.elements(); ++i)
      value.as<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i * 7 + value.elements())));
    m->set_weight(w->name, value);
  }
  return m;
}

TEST(Lora, AModelWithoutItHasItsProductsInItsKernels) {
  const auto m = model(), merged = graph::without_lora(*m);
  for (const auto &w : merged->weights()) {
    EXPECT_FALSE(w->spec.lora) << w->name;
    EXPECT_EQ(w->name.find("/lora_"), std::string::npos) << w->name;
    EXPECT_TRUE(w->trainable()) << w->name;
  }
  const auto sum = [&](const std::string &kernel, const std::string &part, double scale) {
    const Tensor before = m->get_weight(kernel), a = m->get_weight(part + "_a"), b = m->get_weight(part + "_b"),
                 after = merged->get_weight(kernel);
    ASSERT_EQ(after.shape, before.shape);
    const int64_t rank = b.shape[0], columns = b.shape[1];
    for (int64_t i = 0; i < before.elements(); ++i) {
      double product = 0;
      for (int64_t k = 0; k < rank; ++k)
        product +=
            a.as<float>()[i / columns * rank + k] * static_cast<double>(b.as<float>()[k * columns + i % columns]);
      EXPECT_NEAR(after.as<float>()[i], before.as<float>()[i] + scale * product, 1e-6) << kernel << ' ' << i;
    }
  };
  sum("Embedding/embeddings", "Embedding/lora_embeddings", 1.5);
  sum("TimeDistributed/inner/kernel", "TimeDistributed/inner/lora_kernel", 1);
  sum("MultiHeadAttention/query/kernel", "MultiHeadAttention/query/lora_kernel", 1);
  sum("MultiHeadAttention/attention_output/kernel", "MultiHeadAttention/attention_output/lora_kernel", 1);
  sum("EinsumDense/kernel", "EinsumDense/lora_kernel", 1);
}

// Nothing is added: numbers with one scale for all rows quantize to themselves.
TEST(Lora, QuantizedKernelsAreQuantizedAnew) {
  for (const char *mode : {"int8", "int4/-1"}) {
    graph::Quantize how;
    how.mode = mode;
    how.layers = {"Embedding", "MultiHeadAttention", "EinsumDense"};
    const auto m = graph::quantized(*model(), how);
    for (const auto &w : m->weights())
      if (w->name.ends_with("_b")) m->set_weight(w->name, make_zeros(DType::f32, w->spec.shape));
    const auto merged = graph::without_lora(*m);
    for (const auto &w : merged->weights()) {
      const Tensor before = m->get_weight(w->name), after = merged->get_weight(w->name);
      if (w->spec.dtype == DType::u8) {
        EXPECT_TRUE(std::ranges::equal(before.memory(), after.memory())) << mode << ' ' << w->name;
        continue;
      }
      for (int64_t i = 0; i < before.elements(); ++i)
        EXPECT_NEAR(after.as<float>()[i], before.as<float>()[i], 1e-5f * std::abs(before.as<float>()[i]))
            << mode << ' ' << w->name;
    }
  }
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
