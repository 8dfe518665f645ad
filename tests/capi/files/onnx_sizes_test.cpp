// ONNX files whose shapes, places and numbers are computed from free sizes.
#include <ctime>

#include "capi/onnx_bytes.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using namespace dl4_test::onnx_bytes;

// x (n, 4): n is "s0", 4 is known. `graph` makes y, of any shape, of floats.
std::string model_with(const std::string &graph, int type = 1, const std::vector<int64_t> &dims = {-1}) {
  return model_of(graph, port(11, "x", 1, {-1, 4}) + port(12, "y", type, dims));
}
std::string ints(const std::string &name, const std::vector<int64_t> &v) {
  return initializer<int64_t>(name, 7, {static_cast<int64_t>(v.size())}, v);
}
std::string scalar(const std::string &name, int64_t v) { return initializer<int64_t>(name, 7, {}, {v}); }
// "n": the first size of x.
const std::string size_of_x =
    named("Shape", {"x"}, "shape") + scalar("zero", 0) + named("Gather", {"shape", "zero"}, "n");

std::vector<float> iota(int64_t n) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i);
  return v;
}
// y for x of n rows, 0 1 2 ...
std::vector<float> rows(const std::string &graph, int64_t n) {
  return run<float, float>(model_with(graph), {n, 4}, iota(4 * n));
}

TEST(OnnxSizes, AreNumbers) {
  const auto number = [](const std::string &op, int64_t other) {
    return size_of_x + scalar("k", other) + named(op, {"n", "k"}, "m") + named("Cast", {"m"}, "y", integer("to", 1));
  };
  for (int64_t n : {5, 8}) {
    EXPECT_EQ(rows(number("Add", 3), n), (std::vector<float>{static_cast<float>(n + 3)}));
    EXPECT_EQ(rows(number("Sub", 7), n), (std::vector<float>{static_cast<float>(n - 7)}));
    EXPECT_EQ(rows(number("Mul", -3), n), (std::vector<float>{static_cast<float>(-3 * n)}));
    EXPECT_EQ(rows(number("Div", 2), n), (std::vector<float>{static_cast<float>(n / 2)}));
    EXPECT_EQ(rows(number("Mod", 3), n), (std::vector<float>{static_cast<float>(n % 3)}));
    EXPECT_EQ(rows(number("Equal", 5), n), (std::vector<float>{n == 5 ? 1.0f : 0.0f}));
    EXPECT_EQ(rows(number("Less", 6), n), (std::vector<float>{n < 6 ? 1.0f : 0.0f}));
  }
}

// The first half, the rest, every second row, and backwards.
TEST(OnnxSizes, AreWhereASliceBeginsAndEnds) {
  const std::string half = size_of_x + ints("one", {1}) + scalar("two", 2) + ints("axes", {0}) +
                           named("Div", {"n", "two"}, "h") + named("Unsqueeze", {"h", "axes"}, "half") +
                           ints("start", {0}) + ints("end", {INT64_MAX}) + ints("step", {2}) + ints("back", {-2}) +
                           ints("last", {-1}) + ints("before", {INT64_MIN}) + ints("column", {1});
  const auto sliced = [&](const std::string &from, const std::string &to, const std::string &step) {
    return half + named("Slice", {"x", from, to, "axes", step}, "some") +
           named("Slice", {"some", "start", "column", "column"}, "y");
  };
  for (int64_t n : {1, 4, 7}) {
    const auto wanted = [&](int64_t from, int64_t to, int64_t by) {
      std::vector<float> v;
      for (int64_t i = from; by > 0 ? i < to : i > to; i += by) v.push_back(static_cast<float>(4 * i));
      return v;
    };
    EXPECT_EQ(rows(sliced("start", "half", "one"), n), wanted(0, n / 2, 1));
    EXPECT_EQ(rows(sliced("half", "end", "one"), n), wanted(n / 2, n, 1));
    EXPECT_EQ(rows(sliced("start", "end", "step"), n), wanted(0, n, 2));
    EXPECT_EQ(rows(sliced("last", "before", "back"), n), wanted(n - 1, -1, -2));
    EXPECT_EQ(rows(sliced("start", "last", "one"), n), wanted(0, n - 1, 1));
  }
}

TEST(OnnxSizes, AreShapes) {
  const std::string axes = ints("front", {0}) + ints("minus", {-1}) + ints("row", {1, 4}) + ints("two", {2});
  // (n, 4) -> (4, n) seen anew, whose first axis is another one.
  const std::string other = size_of_x + axes + named("Unsqueeze", {"n", "front"}, "ns") +
                            named("Concat", {"two", "ns", "two"}, "to", integer("axis", 0)) +
                            named("Reshape", {"x", "to"}, "y");
  EXPECT_EQ((run<float, float>(model_with(other, 1, {-1, -1, -1}), {3, 4}, iota(12))), iota(12));
  // A row as often as x has rows, and as a matrix of n by n.
  const std::string first = ints("begin", {0}) + ints("end", {1}) + ints("axis", {1}) +
                            named("Slice", {"x", "begin", "end", "axis"}, "column") + size_of_x + axes +
                            named("Unsqueeze", {"n", "front"}, "ns");
  const std::string square =
      first + named("Concat", {"ns", "ns"}, "to", integer("axis", 0)) + named("Expand", {"column", "to"}, "y");
  EXPECT_EQ((run<float, float>(model_with(square, 1, {-1, -1}), {3, 4}, iota(12))),
            (std::vector<float>{0, 0, 0, 4, 4, 4, 8, 8, 8}));
  const std::string lower = first + named("Concat", {"ns", "ns"}, "to", integer("axis", 0)) +
                            named("Expand", {"column", "to"}, "square") +
                            named("Trilu", {"square"}, "y", integer("upper", 0));
  EXPECT_EQ((run<float, float>(model_with(lower, 1, {-1, -1}), {3, 4}, iota(12))),
            (std::vector<float>{0, 0, 0, 4, 4, 0, 8, 8, 8}));
}

TEST(OnnxSizes, AreWhereARangeBeginsAndEnds) {
  const auto range = [](int64_t from, int64_t by, bool down) {
    const std::string end = down ? named("Neg", {"n"}, "end") : named("Identity", {"n"}, "end");
    return size_of_x + scalar("from", from) + scalar("by", by) + end + named("Range", {"from", "end", "by"}, "r") +
           named("Cast", {"r"}, "y", integer("to", 1));
  };
  EXPECT_EQ(rows(range(0, 1, false), 4), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(rows(range(1, 2, false), 6), (std::vector<float>{1, 3, 5}));
  EXPECT_EQ(rows(range(9, 1, false), 4), (std::vector<float>{}));
  EXPECT_EQ(rows(range(1, -2, true), 4), (std::vector<float>{1, -1, -3}));
}

// Constants are folded, floats too: a kernel that is computed.
// The kernel says how many channels there are.
TEST(OnnxSizes, OfChannelsMayBeFree) {
  const std::string bytes = model_of(initializer<float>("w", 1, {1, 2, 1, 1}, {1, 10}) + named("Conv", {"x", "w"}, "y"),
                                     port(11, "x", 1, {1, -1, 1, 3}) + port(12, "y", 1, {1, 1, 1, 3}));
  EXPECT_EQ((run<float, float>(bytes, {1, 2, 1, 3}, {1, 2, 3, 4, 5, 6})), (std::vector<float>{41, 52, 63}));
  Refusal r;
  const auto m = load(nullptr, bytes, r);
  ASSERT_EQ(r.code, 0) << r.message;
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  const auto x = tensor({1, 3, 1, 3}, numbers(9));
  dl4_tensor *in = x;
  Own<dl4_tensor> y;
  EXPECT_EQ(refusal(dl4_session_run(s, &in, 1, y.out(), 1, nullptr)).code, DL4_SHAPE_MISMATCH);
}

// Half of the rows, which is no whole number of times.
TEST(OnnxSizes, MayBeResizedByAFraction) {
  const auto how = [](const char *name, const char *value) { return attribute(name, field(4, std::string(value)), 3); };
  const auto resized = [&](const std::string &more) {
    return initializer<float>("scales", 1, {2}, {0.5, 1}) + named("Resize", {"x", "", "scales"}, "y", more);
  };
  const std::string near = resized(how("coordinate_transformation_mode", "asymmetric") + how("nearest_mode", "floor"));
  EXPECT_EQ(rows(near, 4), (std::vector<float>{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(rows(near, 3), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(rows(resized(how("mode", "linear")), 4), (std::vector<float>{2, 3, 4, 5, 10, 11, 12, 13}));
  expect_refusal(model_with(resized(how("mode", "cubic"))), DL4_UNSUPPORTED, {"Resize", "of a free axis", "cubic"});
}

TEST(OnnxSizes, OfConstantsAreConstants) {
  const std::string kernel = initializer<float>("v", 1, {1, 4, 1}, {1, 2, 3, 4}) +
                             initializer<float>("g", 1, {1}, {2}) + named("Mul", {"v", "g"}, "w") + ints("axes", {2}) +
                             named("Unsqueeze", {"x", "axes"}, "wide") + named("Conv", {"wide", "w"}, "z") +
                             ints("flat", {-1}) + named("Reshape", {"z", "flat"}, "y");
  EXPECT_EQ(rows(kernel, 2), (std::vector<float>{40, 120}));
  const std::string pads = ints("two", {2}) + named("ConstantOfShape", {"two"}, "none") + ints("more", {1, 0}) +
                           named("Cast", {"none"}, "zeros", integer("to", 7)) +
                           named("Concat", {"zeros", "more"}, "pads", integer("axis", 0)) +
                           named("Pad", {"x", "pads"}, "z") + ints("flat", {-1}) + named("Reshape", {"z", "flat"}, "y");
  EXPECT_EQ(rows(pads, 1), (std::vector<float>{0, 1, 2, 3, 0, 0, 0, 0}));
}

// A size that is the larger or the smaller of two of itself, over and over, is no memory, and no time.
// Nothing along one axis, and very much along another: no list of places, and no time.
TEST(OnnxSizes, OfNothingTakeNothing) {
  auto c = bounded();
  const std::string list = initializer<int64_t>("none", 7, {0, INT32_MAX, INT32_MAX}, {}) + ints("start", {0}) +
                           ints("end", {INT64_MAX}) + ints("axis", {1}) + ints("step", {1});
  for (const std::string &how :
       {named("Slice", {"none", "start", "end", "axis", "step"}, "some"), named("Transpose", {"none"}, "some")}) {
    const auto begun = std::clock();
    Refusal r;
    load(c, model_with(list + how + named("Cast", {"some"}, "y", integer("to", 1)), 1, {-1, -1, -1}), r);
    EXPECT_LT(std::clock() - begun, CLOCKS_PER_SEC);
  }
}

TEST(OnnxSizes, ThatGrowAreRefused) {
  auto c = bounded();
  for (int steps : {20, 3000}) {
    std::string graph = size_of_x + scalar("three", 3) + named("Add", {"n", "zero"}, "m0");
    for (int i = 0; i < steps; ++i) {
      const auto at = [&](const char *s) { return s + std::to_string(i); };
      graph += named("Div", {at("m"), "three"}, at("a")) + named("Mod", {at("m"), "three"}, at("b")) +
               named("Mul", {at("a"), at("b")}, "m" + std::to_string(i + 1));
    }
    graph += named("Cast", {"m" + std::to_string(steps)}, "y", integer("to", 1));
    Refusal r;
    load(c, model_with(graph), r);
    EXPECT_EQ(r.code, DL4_UNSUPPORTED) << r.message;
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
