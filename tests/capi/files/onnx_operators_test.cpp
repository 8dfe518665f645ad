// ONNX's ops that read constants, sample images or choose places: numbers by hand, and what is refused.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "capi/onnx_bytes.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using namespace dl4_test::onnx_bytes;

constexpr int floats_type = 1, int64_type = 7, flags_type = 9;
using Floats = std::vector<float>;

std::string word(const std::string &name, const std::string &v) { return attribute(name, field(4, v), 3); }
std::string of(const std::string &graph, const std::vector<int64_t> &in, const std::vector<int64_t> &out,
               int64_t opset = 22) {
  return model_of(graph, port(11, "x", floats_type, in) + port(12, "y", floats_type, out), opset);
}
std::string numbers(const std::string &name, const std::vector<int64_t> &dims, const Floats &v) {
  return initializer<float>(name, floats_type, dims, v);
}
std::string places(const std::string &name, const std::vector<int64_t> &dims, const std::vector<int64_t> &v) {
  return initializer<int64_t>(name, int64_type, dims, v);
}

// ---- places that constants say -------------------------------------------------------------------------------------

TEST(OnnxNumbers, AreCountedWhileTheFileIsRead) {
  const std::string c = numbers("c", {2, 3}, {0, 3, 0, 4, 0, 5});
  const std::string found = named("NonZero", {"c"}, "n") + named("Cast", {"n"}, "f", integer("to", floats_type)) +
                            named("Add", {"x", "f"}, "y");
  EXPECT_EQ((run<float, float>(of(found + c, {2, 3}, {2, 3}), {2, 3}, Floats(6))), (Floats{0, 1, 1, 1, 0, 2}));
  const std::string of_x = named("NonZero", {"x"}, "n") + named("Cast", {"n"}, "y", integer("to", floats_type));
  EXPECT_EQ((run<float, float>(of(of_x, {2, 3}, {2, -1}), {2, 3}, {0, 3, 0, 4, 0, 5})), (Floats{0, 1, 1, 1, 0, 2}));

  const std::string flags = initializer<uint8_t>("f", flags_type, {3}, {1, 0, 1});
  const std::string some = node("Compress", {"x", "f"}, integer("axis", 1)) + flags;
  EXPECT_EQ((run<float, float>(of(some, {-1, 3}, {-1, 2}), {2, 3}, {1, 2, 3, 4, 5, 6})), (Floats{1, 3, 4, 6}));
  expect_refusal(of(some, {-1, 2}, {-1, 2}), DL4_CORRUPT_FILE, {"(Compress)", "3 flags for 2 places"});

  EXPECT_EQ((run<float, float>(of(named("Unique", {"x"}, "y"), {6}, {-1}), {6}, {3, 1, 3, 2, 1, 3})),
            (Floats{1, 2, 3}));
  expect_refusal(of(node("Unique", {"x"}, integer("axis", 0)), {6, 300}, {-1, 300}), DL4_UNSUPPORTED,
                 {"(Unique)", "rows of 300 numbers"});
}

TEST(OnnxNumbers, BoxesThatLieUponEachOtherAreLeftOut) {
  const std::string boxes = numbers("b", {1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 5, 1, 6}),
                    scores = numbers("s", {1, 1, 3}, {0.5f, 0.9f, 0.1f});
  const auto chosen = [&](float threshold, int64_t most) {
    return of(named("NonMaxSuppression", {"b", "s", "m", "t"}, "n") +
                  named("Cast", {"n"}, "f", integer("to", floats_type)) + named("Add", {"x", "f"}, "y") + boxes +
                  scores + places("m", {1}, {most}) + numbers("t", {1}, {threshold}),
              {1, 3}, {-1, 3});
  };
  EXPECT_EQ((run<float, float>(chosen(0.5f, 9), {1, 3}, Floats(3))), (Floats{0, 0, 1, 0, 0, 2}));
  EXPECT_EQ((run<float, float>(chosen(0.99f, 2), {1, 3}, Floats(3))), (Floats{0, 0, 1, 0, 0, 0}));
  expect_refusal(chosen(2, 9), DL4_CORRUPT_FILE, {"(NonMaxSuppression)", "threshold"});
}

TEST(OnnxNumbers, AFewBytesDoNotTakeLong) {
  const auto filled = [](const std::string &name, const std::vector<int64_t> &dims) {
    return named("ConstantOfShape", {name + "_shape"}, name) +
           places(name + "_shape", {static_cast<int64_t>(dims.size())}, dims);
  };
  // Of so many boxes a run computes which remain.
  Refusal why;
  load(nullptr,
       of(filled("b", {1, 500000, 4}) + filled("s", {1, 1, 500000}) + named("NonMaxSuppression", {"b", "s", "m"}, "n") +
              places("m", {1}, {INT64_MAX}) + named("Cast", {"n"}, "y", integer("to", floats_type)),
          {1, 3}, {-1, 3}),
       why);
  EXPECT_EQ(why.code, 0) << why.message;
  expect_refusal(of(node("DFT", {"x"}), {1, 100000, 1}, {1, 100000, 2}), DL4_UNSUPPORTED, {"(DFT)", "only of up to"});
  for (const char *window : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    expect_refusal(of(node(window, {"n"}) + places("n", {}, {INT64_MAX}), {1}, {-1}), DL4_UNSUPPORTED,
                   {window, "whole number"});
    expect_refusal(of(node(window, {"n"}, integer("periodic", 0)) + places("n", {}, {1}), {1}, {-1}), DL4_UNSUPPORTED,
                   {window, "divides by zero"});
  }
}

// ---- images --------------------------------------------------------------------------------------------------------

TEST(OnnxGridSample, BlendsPlaces) {
  const std::string grid = numbers("g", {1, 1, 3, 2}, {0, 0, -1, -1, 3, 0});
  const std::string blended = node("GridSample", {"x", "g"}) + grid;
  EXPECT_EQ((run<float, float>(of(blended, {1, 1, 2, 2}, {1, 1, 1, 3}), {1, 1, 2, 2}, {1, 2, 3, 4})),
            (Floats{2.5f, 0.25f, 0}));
  const std::string cubic =
      node("GridSample", {"x", "g"}, word("mode", "cubic")) + numbers("g", {1, 1, 1, 1, 3}, {0, 0, 0});
  expect_refusal(of(cubic, {1, 1, 2, 2, 2}, {1, 1, 1, 1, 1}), DL4_UNSUPPORTED, {"the_GridSample", "cubic"});
  expect_refusal(of(blended, {1, 1, -1, 2}, {1, 1, 1, 3}), DL4_UNSUPPORTED,
                 {"the_GridSample", "axis 1 should be known"});
}

TEST(OnnxRoiAlign, RefusesWhatDependsOnBoxes) {
  const std::string given = numbers("b", {1, 4}, {0, 0, 2, 2}) + places("i", {1}, {0});
  expect_refusal(of(node("RoiAlign", {"x", "b", "i"}) + given, {1, 1, 4, 4}, {1, 1, 1, 1}), DL4_UNSUPPORTED,
                 {"the_RoiAlign", "sampling_ratio"});
  expect_refusal(of(node("RoiAlign", {"x", "b", "i"}, integer("sampling_ratio", 2) + word("mode", "max")) + given,
                    {1, 1, 4, 4}, {1, 1, 1, 1}),
                 DL4_UNSUPPORTED, {"the_RoiAlign", "max"});
}

TEST(OnnxWindows, RefuseWhatDoesNotFit) {
  const std::string sizes = places("i", {2}, {4, 4}) + places("b", {2}, {2, 2});
  expect_refusal(of(node("Col2Im", {"x", "i", "b"}) + sizes, {1, 4, 8}, {1, 1, 4, 4}), DL4_CORRUPT_FILE,
                 {"the_Col2Im", "8, expected 9"});
  expect_refusal(of(node("LpPool", {"x"}, integers("kernel_shape", {2}) + integer("p", 0)), {1, 1, 4}, {1, 1, 3}),
                 DL4_UNSUPPORTED, {"the_LpPool", "\"p\" of 0"});
  const std::string unpool =
      node("MaxUnpool", {"x", "i", "s"}, integers("kernel_shape", {2}) + integers("strides", {2}));
  expect_refusal(of(unpool + places("i", {1, 1, 2}, {0, 3}) + places("s", {3}, {1, 1, 5}), {1, 1, 2}, {1, 1, 5}),
                 DL4_UNSUPPORTED, {"the_MaxUnpool", "output_shape"});
  EXPECT_EQ((run<float, float>(
                of(unpool + places("i", {1, 1, 2}, {0, 3}) + places("s", {3}, {1, 1, 4}), {1, 1, 2}, {1, 1, 4}),
                {1, 1, 2}, {5, 6})),
            (Floats{5, 0, 0, 6}));
}

// ---- places that the model computes --------------------------------------------------------------------------------

TEST(OnnxPlaces, MayBeInputs) {
  const auto with = [](const std::string &graph, const std::vector<int64_t> &out) {
    return model_of(graph, port(11, "i", int64_type, {-1, 2}) + port(12, "y", floats_type, out), 22);
  };
  const std::string table = numbers("t", {3, 2}, {1, 2, 3, 4, 5, 6}), one = numbers("u", {1}, {9});
  using Ids = std::vector<int64_t>;
  EXPECT_EQ((run<float, int64_t>(with(node("GatherND", {"t", "i"}) + table, {-1}), {2, 2}, Ids{2, -1, 0, 0})),
            (Floats{6, 1}));
  EXPECT_EQ((run<float, int64_t>(with(node("ScatterND", {"t", "i", "u"}) + table + one, {3, 2}), {1, 2}, Ids{-1, 0})),
            (Floats{1, 2, 3, 4, 9, 6}));
  expect_refusal(with(node("ScatterND", {"t", "i", "u"}, word("reduction", "mul")) + table + one, {3, 2}),
                 DL4_UNSUPPORTED, {"the_ScatterND", "mul"});
}

TEST(OnnxPlaces, OutsideAreAnErrorOfTheRunThatNamesTheNode) {
  const std::string table = numbers("t", {3, 2}, {1, 2, 3, 4, 5, 6});
  Refusal r;
  const auto m = load(nullptr,
                      model_of(node("GatherND", {"t", "i"}) + table,
                               port(11, "i", int64_type, {1, 2}) + port(12, "y", floats_type, {1}), 22),
                      r);
  ASSERT_EQ(r.code, 0) << r.message;
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  for (const std::vector<int64_t> &outside : {std::vector<int64_t>{0, 2}, {0, -3}, {3, 0}}) {
    std::vector<int64_t> ids = outside;
    const int64_t dims[] = {1, 2};
    Own<dl4_tensor> from, to;
    ok(dl4_tensor_wrap(nullptr, DL4_INT64, 2, dims, nullptr, ids.data(), 16, nullptr, nullptr, from.out()));
    dl4_tensor *in = from;
    const Refusal fault = refusal(dl4_session_run(s, &in, 1, to.out(), 1, nullptr));
    EXPECT_EQ(fault.code, DL4_INVALID_ARGUMENT) << ids[0] << ' ' << ids[1];
    EXPECT_NE(fault.message.find("the_GatherND"), std::string::npos) << fault.message;
  }
}

// ---- integers ------------------------------------------------------------------------------------------------------

TEST(OnnxIntegers, SumsOfProductsAreExact) {
  const int64_t n = 4000;  // past 2^24
  const std::vector<uint8_t> most(static_cast<size_t>(n), 255);
  const std::string w = initializer<uint8_t>("w", 2, {n, 1}, most), a = initializer<uint8_t>("a", 2, {1, n}, most);
  const std::string sum = named("MatMulInteger", {"a", "w"}, "m") +
                          named("Cast", {"m"}, "l", integer("to", int64_type)) +
                          named("Cast", {"x"}, "z", integer("to", int64_type)) + named("Add", {"l", "z"}, "y");
  const std::string bytes =
      model_of(sum + a + w, port(11, "x", floats_type, {1, 1}) + port(12, "y", int64_type, {1, 1}), 22);
  EXPECT_EQ((run<int64_t, float>(bytes, {1, 1}, {0})), (std::vector<int64_t>{n * 255 * 255}));
  expect_refusal(of(node("MatMulInteger", {"x", "x"}), {2, 2}, {2, 2}), DL4_UNSUPPORTED,
                 {"the_MatMulInteger", "8 bits"});
}

// As numpy.matmul() does, whose axis goes.
TEST(OnnxIntegers, ProductsOfVectors) {
  const std::string w = initializer<uint8_t>("w", 2, {3, 2}, std::vector<uint8_t>{1, 2, 3, 4, 5, 6});
  const std::string v = initializer<uint8_t>("v", 2, {3}, std::vector<uint8_t>{7, 8, 9});
  const std::string u = initializer<uint8_t>("u", 2, {2}, std::vector<uint8_t>{10, 20});
  const auto product = [&](const std::string &a, const std::string &b, std::vector<int64_t> dims) {
    const std::string sum = named("MatMulInteger", {a, b}, "m") + named("Cast", {"m"}, "l", integer("to", int64_type)) +
                            named("Cast", {"x"}, "z", integer("to", int64_type)) + named("Add", {"l", "z"}, "y");
    return run<int64_t, float>(
        model_of(sum + w + v + u, port(11, "x", floats_type, dims) + port(12, "y", int64_type, dims), 22), dims,
        std::vector<float>(static_cast<size_t>(dims[0]), 0));
  };
  EXPECT_EQ(product("v", "w", {2}), (std::vector<int64_t>{76, 100}));
  EXPECT_EQ(product("w", "u", {3}), (std::vector<int64_t>{50, 110, 170}));
  EXPECT_EQ(product("v", "v", {1}), (std::vector<int64_t>{194}));
}

TEST(OnnxFlexAttention, IsTheOnlyOpOfItsDomain) {
  const std::string preview = field(7, std::string("ai.onnx.preview"));
  expect_refusal(model(node("Relu", {"x"}, preview)), DL4_UNSUPPORTED, {"ai.onnx.preview"});
  expect_refusal(model(node("FlexAttention", {"x", "x", "x"}, preview)), DL4_CORRUPT_FILE,
                 {"the_FlexAttention", "4 axes"});
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
