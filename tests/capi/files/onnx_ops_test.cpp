// Ops of ONNX that take several of our layers: what they give, and what of them is refused.
#include <cstdint>
#include <limits>

#include "capi/onnx_bytes.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using namespace dl4_test::onnx_bytes;

constexpr int floats_type = 1, int64_type = 7;

std::string word(const std::string &name, const std::string &v) { return attribute(name, field(4, v), 3); }

std::string places(const std::string &how, const std::vector<int64_t> &dims) {
  const std::string pool = node("MaxPool", {"x"}, field(2, std::string("places")) + how);
  return model_of(pool, port(11, "x", floats_type, dims) + port(12, "places", int64_type, dims));
}

TEST(OnnxMaxPool, SaysWhereTheFirstOfTheLargestLies) {
  const std::string how = integers("kernel_shape", {3}) + integers("pads", {1, 1});
  constexpr float low = -std::numeric_limits<float>::infinity();
  const auto got = run<int64_t, float>(places(how, {-1, 1, 5}), {2, 1, 5}, {3, 1, 3, 3, 0, low, low, low, low, low});
  EXPECT_EQ(got, (std::vector<int64_t>{0, 0, 2, 2, 3, 5, 5, 6, 7, 8}));
}

TEST(OnnxMaxPool, CountsPlacesByColumnsIfAskedTo) {
  const std::string how = integers("kernel_shape", {2, 2});
  const std::vector<float> given{1, 5, 2, 4, 4, 0, /**/ 9, 0, 0, 0, 0, 9};  // 2 channels of 2 x 3
  const std::vector<int64_t> dims{-1, 2, 2, 3};
  EXPECT_EQ((run<int64_t, float>(places(how, dims), {1, 2, 2, 3}, given)), (std::vector<int64_t>{1, 1, 6, 11}));
  EXPECT_EQ((run<int64_t, float>(places(how + integer("storage_order", 1), dims), {1, 2, 2, 3}, given)),
            (std::vector<int64_t>{2, 2, 6, 11}));
}

TEST(OnnxMaxPool, OfAFreeImageSaysNoPlaces) {
  expect_refusal(places(integers("kernel_shape", {3}), {-1, 1, -1}), DL4_UNSUPPORTED, {"the_MaxPool", "Indices"});
  expect_refusal(places(integers("kernel_shape", {2}) + integers("pads", {2, 0}), {-1, 1, 5}), DL4_CORRUPT_FILE,
                 {"the_MaxPool", "pads alone"});
}

// A column of integers that a node makes of constants, added to x.
std::string column(const std::string &made) {
  return model_of(made + named("Cast", {"n"}, "f", integer("to", floats_type)) + named("Add", {"x", "f"}, "y"),
                  port(11, "x", floats_type, {-1, 3}) + port(12, "y", floats_type, {-1, 3}));
}

TEST(OnnxIntegers, KeepTheirShapeAndTypeWhereverTheyAreComputed) {
  const std::string c = initializer<int64_t>("c", int64_type, {3, 1}, {1, 2, 3}),
                    two = initializer<int64_t>("two", int64_type, {2, 1}, {10, 20}),
                    row = initializer<int64_t>("row", int64_type, {3}, {7, 8, 9}),
                    yes = initializer<uint8_t>("yes", 9, {3}, {1, 0, 1});
  const std::vector<float> zeros(9, 0);
  const auto result = [&](const std::string &made) { return run<float, float>(column(made), {3, 3}, zeros); };
  EXPECT_EQ(result(named("Neg", {"c"}, "n") + c), (std::vector<float>{-1, -1, -1, -2, -2, -2, -3, -3, -3}));
  EXPECT_EQ(result(named("Where", {"yes", "c", "row"}, "n") + yes + c + row),
            (std::vector<float>{1, 8, 1, 2, 8, 2, 3, 8, 3}));
  EXPECT_EQ(result(named("Add", {"c", "row"}, "n") + c + row), (std::vector<float>{8, 9, 10, 9, 10, 11, 10, 11, 12}));
  const std::string lost = named("Neg", {"two"}, "m") + named("Reshape", {"m", "shape"}, "n") + two +
                           initializer<int64_t>("shape", int64_type, {1}, {3});
  expect_refusal(column(lost), DL4_CORRUPT_FILE, {"(Reshape)", "another number of elements"});
  // An int32 stays one.
  const std::string narrow = model_of(named("Neg", {"c"}, "y") + initializer<int32_t>("c", 6, {2}, {5, -6}),
                                      port(11, "x", floats_type, {1}) + port(12, "y", 6, {2}));
  EXPECT_EQ((run<int32_t, float>(narrow, {1}, {0})), (std::vector<int32_t>{-5, 6}));
}

std::string there_and_back(const std::string &constants, const std::string &said = "", bool back = true) {
  const std::string there = named("QuantizeLinear", {"x", "s", "z"}, "q", said);
  if (!back)
    return model_of(there + named("Cast", {"q"}, "y", integer("to", 6)) + constants,
                    port(11, "x", floats_type, {-1, 4}) + port(12, "y", 6, {-1, 4}));
  return model_of(there + named("DequantizeLinear", {"q", "s", "z"}, "y", said) + constants,
                  port(11, "x", floats_type, {-1, 4}) + port(12, "y", floats_type, {-1, 4}));
}

TEST(OnnxQuantized, NumbersAreRoundedToEvenAndClipped) {
  const std::string half = initializer<float>("s", floats_type, {}, {0.5f});
  const std::vector<float> x{-5, 0.25f, 0.75f, 1000, -1000, 1.25f, -0.25f, 3};
  const auto got = [&](int type, auto zero) {
    return run<float, float>(there_and_back(half + initializer("z", type, {}, std::vector{zero})), {2, 4}, x);
  };
  EXPECT_EQ(got(2, uint8_t{0}), (std::vector<float>{0, 0, 1, 127.5f, 0, 1, 0, 3}));
  EXPECT_EQ(got(2, uint8_t{4}), (std::vector<float>{-2, 0, 1, 125.5f, -2, 1, 0, 3}));
  EXPECT_EQ(got(3, int8_t{0}), (std::vector<float>{-5, 0, 1, 63.5f, -64, 1, 0, 3}));
  EXPECT_EQ(got(4, uint16_t{1}), (std::vector<float>{-0.5f, 0, 1, 1000, -0.5f, 1, 0, 3}));
  EXPECT_EQ(got(5, int16_t{-7}), (std::vector<float>{-5, 0, 1, 1000, -1000, 1, 0, 3}));
  const std::string whole = there_and_back(half + initializer<uint8_t>("z", 2, {}, {4}), "", false);
  EXPECT_EQ((run<int32_t, float>(whole, {2, 4}, x)), (std::vector<int32_t>{0, 4, 6, 255, 0, 6, 4, 10}));
}

TEST(OnnxQuantized, ScalesOfAnAxisAreItsPlacesOwn) {
  const std::string of_axis =
      initializer<float>("s", floats_type, {4}, {1, 2, 4, 8}) + initializer<int8_t>("z", 3, {4}, {0, 1, 2, 3});
  const std::vector<float> x{2.5f, 3, 6, 4, -200, -300, 5000, 5000};
  EXPECT_EQ((run<float, float>(there_and_back(of_axis), {2, 4}, x)),
            (std::vector<float>{2, 4, 8, 0, -128, -258, 500, 992}));
  expect_refusal(there_and_back(of_axis, integer("axis", 0)), DL4_UNSUPPORTED, {"(QuantizeLinear)", "free axis"});
  const std::string floats = initializer<float>("s", floats_type, {}, {1}) + initializer<int32_t>("z", 6, {}, {0});
  expect_refusal(there_and_back(floats), DL4_UNSUPPORTED, {"(QuantizeLinear)", "int32", "integers of up to 16 bits"});
}

// A block of one has a scale for each element, not one for each place of the axis.
TEST(OnnxQuantized, BlocksMayHaveOneElement) {
  const std::string w = initializer<int8_t>("w", 3, {2, 3}, {1, 2, 3, 4, 5, 6}) +
                        initializer<float>("s", floats_type, {2, 3}, {1, 2, 4, 8, 16, 32}) +
                        initializer<int8_t>("z", 3, {2, 3}, {0, 0, 1, 0, 0, 1});
  const std::string file =
      model_of(named("DequantizeLinear", {"w", "s", "z"}, "d", integer("axis", 1) + integer("block_size", 1)) +
                   named("Add", {"x", "d"}, "y") + w,
               port(11, "x", floats_type, {2, 3}) + port(12, "y", floats_type, {2, 3}), 21);
  EXPECT_EQ((run<float, float>(file, {2, 3}, std::vector<float>(6, 0))), (std::vector<float>{1, 4, 8, 32, 80, 160}));
}

TEST(OnnxQuantized, ScalesAreNumbersOtherThanZero) {
  for (const float scale : {0.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::string of_all = initializer<float>("s", floats_type, {}, {scale}) + initializer<int8_t>("z", 3, {}, {0});
    expect_refusal(there_and_back(of_all), DL4_CORRUPT_FILE, {"(QuantizeLinear)", "has a scale of"});
    const std::string of_places =
        initializer<float>("s", floats_type, {4}, {1, scale, 1, 1}) + initializer<int8_t>("z", 3, {4}, {0, 0, 0, 0});
    expect_refusal(there_and_back(of_places), DL4_CORRUPT_FILE, {"(QuantizeLinear)", "has a scale of"});
  }
}

std::string power(const std::string &initializers, const char *exponent) {
  return model_of(node("Pow", {"x", exponent}) + initializers,
                  port(11, "x", int64_type, {-1, 4}) + port(12, "y", int64_type, {-1, 4}));
}

TEST(OnnxPow, OfIntegersIsExact) {
  const std::vector<int64_t> x{-7, 3, -5, 11, 0, -1, 1, 9};
  const std::vector<int64_t> wanted{1, 3, 25, 285311670611, 1, -1, 1, 31381059609};
  EXPECT_EQ((run<int64_t, int64_t>(power(initializer<int64_t>("e", int64_type, {4}, {0, 1, 2, 11}), "e"), {2, 4}, x)),
            wanted);
  EXPECT_EQ((run<int64_t, int64_t>(power(initializer<float>("e", floats_type, {4}, {0, 1, 2, 11}), "e"), {2, 4}, x)),
            wanted);
}

TEST(OnnxPow, OfIntegersIsRefusedByItsExponent) {
  expect_refusal(power("", "x"), DL4_UNSUPPORTED, {"the_Pow", "must be constants"});
  for (float e : {-1.0f, 0.5f, 64.0f, std::numeric_limits<float>::quiet_NaN()})
    expect_refusal(power(initializer<float>("e", floats_type, {1}, {e}), "e"), DL4_UNSUPPORTED,
                   {"the_Pow", "integers to the power"});
}

TEST(OnnxResize, TakesAPartAndNumbersPastTheEnd) {
  const auto cropped = [](const std::vector<float> &part) {
    const std::string how = word("mode", "linear") + word("coordinate_transformation_mode", "tf_crop_and_resize") +
                            real("extrapolation_value", 7);
    return model_of(node("Resize", {"x", "part", "", "sizes"}, how) +
                        initializer("part", floats_type, {static_cast<int64_t>(part.size())}, part) +
                        initializer<int64_t>("sizes", int64_type, {3}, {1, 1, 5}),
                    port(11, "x", floats_type, {1, 1, 4}) + port(12, "y", floats_type, {1, 1, 5}));
  };
  const std::vector<float> x{2, 4, 8, 16};
  EXPECT_EQ((run<float, float>(cropped({0, 0, 0, 1, 1, 4.0f / 3}), {1, 1, 4}, x)),
            (std::vector<float>{2, 4, 8, 16, 7}));
  EXPECT_EQ((run<float, float>(cropped({0, 0, 1, 1, 1, -1}), {1, 1, 4}, x)), (std::vector<float>{16, 6, 2, 7, 7}));
  expect_refusal(cropped({0, 0, 1, 1}), DL4_CORRUPT_FILE, {"the_Resize", "\"roi\" of 4 numbers"});
}

// As TensorFlow's exporter writes the two states of a bidirectional layer.
TEST(OnnxConcat, OfZerosAlongAFreeAxisIsZeros) {
  const auto joined = [&](const char *second) {
    return model_of(named("Shape", {"x"}, "rows", integer("end", 1)) +
                        named("Concat", {"rows", "two"}, "sizes", integer("axis", 0)) +
                        named("ConstantOfShape", {"sizes"}, "zeros") +
                        named("Concat", {"zeros", second}, "both", integer("axis", 1) + field(3, std::string("both"))) +
                        named("Add", {"x", "both"}, "y") + initializer<int64_t>("two", int64_type, {1}, {2}),
                    port(11, "x", floats_type, {-1, 4}) + port(12, "y", floats_type, {-1, 4}));
  };
  EXPECT_EQ((run<float, float>(joined("zeros"), {1, 4}, {1, 2, 3, 4})), (std::vector<float>{1, 2, 3, 4}));
  const std::string wide = model_of(
      named("Shape", {"x"}, "rows", integer("end", 1)) + named("Concat", {"rows", "two"}, "sizes", integer("axis", 0)) +
          named("ConstantOfShape", {"sizes"}, "zeros") + named("Concat", {"zeros", "x"}, "y", integer("axis", 1)) +
          initializer<int64_t>("two", int64_type, {1}, {2}),
      port(11, "x", floats_type, {-1, 2}) + port(12, "y", floats_type, {-1, 4}));
  EXPECT_EQ((run<float, float>(wide, {2, 2}, {1, 2, 3, 4})), (std::vector<float>{0, 0, 1, 2, 0, 0, 3, 4}));
}

TEST(OnnxBatchNormalization, InTrainingIsByTheBatch) {
  const std::string named = integer("training_mode", 1) + real("epsilon", 0) + real("momentum", 0.5f);
  const std::string of = node("BatchNormalization", {"x", "one", "two", "two", "one"},
                              field(2, std::string("mean")) + field(2, std::string("variance")) + named) +
                         initializer<float>("one", floats_type, {2}, {1, 1}) +
                         initializer<float>("two", floats_type, {2}, {2, 2});
  const auto output = [&](const char *name, const std::vector<int64_t> &dims) {
    const std::string bytes = model_of(of, port(11, "x", floats_type, {-1, 2}) + port(12, name, floats_type, dims));
    return run<float, float>(bytes, {2, 2}, {1, 10, 3, 30});
  };
  EXPECT_EQ(output("y", {-1, 2}), (std::vector<float>{1, 1, 3, 3}));
  EXPECT_EQ(output("mean", {2}), (std::vector<float>{2, 11}));
  EXPECT_EQ(output("variance", {2}), (std::vector<float>{1, 50.5}));
}

TEST(OnnxAttention, OfAShortMaskIsRefusedBeforeItsOpset) {
  const std::string of =
      node("Attention", {"x", "x", "x", "mask"}) + initializer<float>("mask", floats_type, {2, 2}, {0, 0, 0, 0});
  const std::string ports = port(11, "x", floats_type, {1, 1, 3, 2}) + port(12, "y", floats_type, {1, 1, 3, 2});
  expect_refusal(model_of(of, ports, 23), DL4_UNSUPPORTED, {"the_Attention", "another number of keys"});
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
