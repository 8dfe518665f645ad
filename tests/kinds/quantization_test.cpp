// Quantized layers: their products are exact, their gradients those of the floats, their configs refused by name.
#include "kinds/layers/core/quantization.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "kinds/layer_call.hpp"
#include "ops/differentiate.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using ops::Emit;
using ops::Id;

Tensor numbers(const Shape &shape, const std::function<double(int64_t)> &f, DType dtype = DType::f32) {
  Tensor t = make_tensor(dtype, shape);
  for (int64_t i = 0; i < t.elements(); ++i)
    dtype == DType::u8 ? void(t.as<uint8_t>()[i] = static_cast<uint8_t>(static_cast<int>(f(i))))
                       : void(t.as<float>()[i] = static_cast<float>(f(i)));
  return t;
}

// Past 2^24 float32 skips whole numbers; the sums here are larger than that and still rounded once.
TEST(Quantization, ProductsOfWholeNumbersAreExactAtAnySize) {
  for (const int64_t terms : {1, 1024, 1025, 4000}) {
    ops::Program p;
    Emit e(p);
    const Id a = e.input("a", DType::f32, {2, terms}), b = e.input("b", DType::f32, {terms, 3});
    p.outputs = {kinds::whole_product(e, a, b)};
    const Tensor x = numbers({2, terms}, [](int64_t i) { return 127 - i % 3; }),
                 w = numbers({terms, 3}, [](int64_t i) { return i % 5 == 0 ? -128 : 127 - i % 2; });
    const Tensor y = evaluate(p, {x, w}).outputs[0];
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t column = 0; column < 3; ++column) {
        int64_t sum = 0;
        for (int64_t k = 0; k < terms; ++k)
          sum += static_cast<int64_t>(x.as<float>()[row * terms + k]) *
                 static_cast<int64_t>(w.as<float>()[k * 3 + column]);
        EXPECT_EQ(y.as<float>()[row * 3 + column], static_cast<float>(sum)) << terms;
      }
  }
}

TEST(Quantization, BytesStandForWhatTheyAreInTwosComplement) {
  ops::Program p;
  Emit e(p);
  const Id bytes = e.input("bytes", DType::u8, {1, 256});
  p.outputs = {kinds::from_int8(e, bytes), kinds::from_uint8(e, bytes), kinds::from_nibbles(e, bytes, 511, true),
               kinds::from_nibbles(e, bytes, 512, false)};
  const auto out = evaluate(p, {numbers(
                                   {1, 256}, [](int64_t i) { return static_cast<double>(i); }, DType::u8)})
                       .outputs;
  ASSERT_EQ(out[2].shape, (Shape{1, 511}));
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(out[0].as<float>()[i], i < 128 ? i : i - 256);
    EXPECT_EQ(out[1].as<float>()[i], i);
    const int low = i % 16, high = i / 16;
    EXPECT_EQ(out[2].as<float>()[2 * i], low < 8 ? low : low - 16);
    if (i < 255) {
      EXPECT_EQ(out[2].as<float>()[2 * i + 1], high < 8 ? high : high - 16);
    }
    EXPECT_EQ(out[3].as<float>()[2 * i], low);
    EXPECT_EQ(out[3].as<float>()[2 * i + 1], high);
  }
}

TEST(Quantization, RowsBecomeWholeNumbersByTheirLargest) {
  ops::Program p;
  Emit e(p);
  const Id x = e.input("x", DType::f32, {2, 3});
  const auto [whole, scale] = kinds::whole_inputs(e, {}, x, {-1});
  p.outputs = {whole, scale};
  const Tensor in =
      numbers({2, 3}, [](int64_t i) { return std::array{0.5, -2.0, 1.0, 0.0, 0.0, 0.0}[static_cast<size_t>(i)]; });
  const auto out = evaluate(p, {in}).outputs;
  const float of_first = 127.0f / (2.0f + 1e-7f), of_zeros = 127.0f / 1e-7f;
  EXPECT_EQ(out[1].as<float>()[0], of_first);
  EXPECT_EQ(out[1].as<float>()[1], of_zeros);
  const float wanted[] = {32, -127, 64, 0, 0, 0};  // 31.75 and 63.5, whose even neighbour is 64
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out[0].as<float>()[i], wanted[i]) << i;
}

// Keras's own gradient: of the product with the floats that the kernel stands for.
TEST(Quantization, GradientsOfInputsAreThoseOfTheFloats) {
  LayerCall l("Dense", {{"units", 2}, {"quantization", "int8"}});
  const Symbol x = l.input({3, 4});
  const Symbol y = l.call({x})[0];
  Emit e(l.program);
  const Id sum = ops::reduce(e, ops::Reduce::sum, y.value, {}), from[] = {x.value};
  const ops::Cotangent one[] = {{sum, e.scalar(1)}};
  const std::vector<Id> diff = ops::differentiate(e, one, from);
  const auto out = l.run({{diff[0]}}, {numbers({3, 4}, [](int64_t i) { return std::sin(static_cast<double>(i)); })});
  // Kernel and scale are ones, so the floats are too.
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(out[0].as<float>()[i], 2) << i;
}

TEST(Quantization, WeightsStandInTheOrderOfKerasFiles) {
  const auto names = [](const char *mode) {
    LayerCall l("Dense", {{"units", 3}, {"quantization", mode}});
    l.call({l.input({2, 5})});
    std::string all;
    for (const auto &spec : l.specs) all += text(spec.name, ' ', spec.dtype, ' ', spec.shape, "; ");
    return all;
  };
  EXPECT_EQ(names("int8"), "kernel uint8 (5, 3); bias float32 (3,); kernel_scale float32 (3,); ");
  EXPECT_EQ(names("int4"), "kernel uint8 (5, 2); bias float32 (3,); kernel_scale float32 (3,); ");
  EXPECT_EQ(names("int4/2"),
            "kernel uint8 (5, 2); bias float32 (3,); kernel_scale float32 (3, 3); kernel_zero uint8 (3, 3); "
            "g_idx float32 (5,); ");
  EXPECT_EQ(names("gptq/4/-1"),
            "bias float32 (3,); quantized_kernel uint8 (2, 5); kernel_scale float32 (3, 1); zero_point uint8 (3, 1); "
            "g_idx float32 (5,); ");
  EXPECT_EQ(names("awq/4/2"),
            "bias float32 (3,); quantized_kernel uint8 (2, 5); kernel_scale float32 (3, 3); zero_point uint8 (3, 3); "
            "awq_scales float32 (5,); g_idx float32 (5,); ");
}

TEST(Quantization, OtherModesAndInputsAreRefused) {
  const auto expect = [](const Json &quantization, const std::string &words, const char *kind = "Dense",
                         Code code = Code::invalid_argument) {
    Json config{{"quantization", quantization}};
    if (kind == std::string("Dense"))
      config["units"] = 2;
    else
      config["input_dim"] = 4, config["output_dim"] = 3;
    expect_config_refusal(kind, config, code, "\"quantization\"");
    expect_config_refusal(kind, config, code, words);
  };
  expect("int7", "expected \"int8\", \"int4/block\"");
  expect("float8", "float8 is not supported", "Dense", Code::unsupported);
  for (const char *mode :
       {"int4/0", "int4/-2", "int4/", "int4/2x", "int4/2/2", "int8/2", "gptq/5/-1", "gptq/4", "awq/8/-1"})
    expect(mode, text("got \"", mode, '"'));
  expect(3, "got 3");
  expect({{"mode", "int8"}, {"value", 3}}, "expected \"mode\" and \"inputs\"");
  expect({{"inputs", nullptr}}, "as \"mode\"");
  expect({{"mode", "int8"}, {"inputs", {{"epsilon", 0}}}}, "an \"epsilon\" above 0");
  expect({{"mode", "int8"}, {"inputs", {{"value_range", Json::array({-200, 127})}}}}, "from -128 to 127");
  expect({{"mode", "int8"}, {"inputs", {{"value_range", Json::array({-1.5, 127})}}}}, "whole numbers");
  expect({{"mode", "gptq/4/-1"}, {"inputs", Json::object()}}, "expected null as the \"inputs\"");
  expect("gptq/4/-1", "a table is quantized by", "Embedding", Code::unsupported);
  expect("awq/4/-1", "a table is quantized by", "ReversibleEmbedding", Code::unsupported);
}

// TimeDistributed of Keras calls a method of the layer that knows nothing of scales.
TEST(Quantization, IsRefusedInsideOfTimeDistributed) {
  const Json dense{{"class_name", "Dense"}, {"config", {{"units", 2}, {"quantization", "int8"}}}};
  expect_config_refusal("TimeDistributed", {{"layer", dense}}, Code::unsupported, "a quantized layer is not supported");
}

TEST(Quantization, KernelsOfOtherAxesAreNotForGptq) {
  expect_call_refusal(
      "EinsumDense",
      {{"equation", "abcd,bcde->abe"}, {"output_shape", Json::array({2, 3})}, {"quantization", "gptq/4/-1"}},
      {{2, 2, 3, 4}}, "two or three axes", Code::unsupported);
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
