// ONNX files that ask for much: what a load may take is bounded by the context or, by default, by the file.
#include <limits>

#include "capi/onnx_bytes.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using namespace dl4_test::onnx_bytes;

constexpr int floats_type = 1, int64_type = 7;

// A name's last joined with itself, so many times.
std::string doubled(std::string graph, int times) {
  for (int i = 0; i < times; ++i) {
    const std::string from = "d" + std::to_string(i), to = "d" + std::to_string(i + 1);
    graph += named("Concat", {from, from}, to, integer("axis", 0));
  }
  return graph + node("Relu", {"x"});
}

TEST(OnnxLimits, ListsThatDoubleAreNoMemory) {
  auto c = bounded();
  const auto sizes = [](int n) { return model(doubled(named("Shape", {"x"}, "d0"), n)); };
  const auto ones = [](int n) { return model(doubled(initializer<int64_t>("d0", int64_type, {4}, {1, 1, 1, 1}), n)); };
  const auto real = [](int n) { return model(doubled(initializer<float>("d0", floats_type, {4}, {1, 1, 1, 1}), n)); };
  for (int n : {10, 20, 34})
    for (const std::string &bytes : {sizes(n), ones(n), real(n)}) {
      const Loaded l = timed(c, bytes);
      EXPECT_TRUE(l.r.code == 0 || l.r.code == DL4_UNSUPPORTED || l.r.code == DL4_OUT_OF_MEMORY) << l.r.message;
      EXPECT_LT(l.seconds, 1) << n;
    }
  EXPECT_EQ(timed(c, sizes(10)).r.code, 0);
  EXPECT_EQ(timed(c, sizes(34)).r.code, DL4_UNSUPPORTED);
}

std::string of_shape(const char *op, int64_t n, int nodes) {
  std::string graph =
      initializer<int64_t>("n", int64_type, {1}, {n}) + initializer<float>("one", floats_type, {1}, {1});
  for (int i = 0; i < nodes; ++i)
    graph +=
        named(op, op == std::string("Expand") ? std::vector<std::string>{"one", "n"} : std::vector<std::string>{"n"},
              "d" + std::to_string(i));
  return model(graph + node("Relu", {"x"}));
}

TEST(OnnxLimits, AllThatALoadMakesIsCountedTogether) {
  auto c = bounded();  // 64 MiB
  for (const char *op : {"Expand", "ConstantOfShape"}) {
    EXPECT_EQ(timed(c, of_shape(op, 1 << 20, 3)).r.code, 0) << op;  // 4 MiB each
    const Loaded many = timed(c, of_shape(op, 1 << 20, 100));
    EXPECT_EQ(many.r.code, DL4_OUT_OF_MEMORY) << op;
    EXPECT_NE(many.r.message.find("loading this file may take 67108864 in all"), std::string::npos) << many.r.message;
    // Of a context that says nothing: far below half of the memory that there is.
    const Loaded by_default = timed(nullptr, of_shape(op, 1 << 20, 300));
    EXPECT_EQ(by_default.r.code, DL4_OUT_OF_MEMORY) << op;
    EXPECT_LT(by_default.seconds, 1) << op;
  }
}

TEST(OnnxLimits, ConstantsThatNothingReadsAnyMoreAreFree) {
  auto c = bounded();  // 64 MiB; one of them takes 8
  const auto chain = [](int n) {
    std::string graph = initializer<int64_t>("n", int64_type, {1}, {1 << 20}) +
                        initializer<float>("one", floats_type, {1}, {1}) + named("Expand", {"one", "n"}, "d0");
    for (int i = 0; i < n; ++i) graph += named("Neg", {"d" + std::to_string(i)}, "d" + std::to_string(i + 1));
    return model(graph + node("Relu", {"x"}));
  };
  const Loaded some = timed(c, chain(10));
  EXPECT_EQ(some.r.code, 0) << some.r.message;
  const Loaded many = timed(c, chain(2000));  // what is given back is bounded, so the time is
  EXPECT_EQ(many.r.code, DL4_OUT_OF_MEMORY) << many.r.message;
  EXPECT_LT(many.seconds, 2);
}

TEST(OnnxLimits, FieldsThatTakeNextToNothingInTheFileAreCounted) {
  std::string empty;
  for (int i = 0; i < 400000; ++i) empty += field(1, std::string());
  auto c = bounded();
  EXPECT_EQ(timed(c, model(empty)).r.code, DL4_OUT_OF_MEMORY);
}

TEST(OnnxLimits, ManyNodesWithoutWeightsAreNoDamage) {
  std::string graph, last = "x";
  for (int i = 0; i < 20000; ++i) {
    const std::string next = "v" + std::to_string(i);
    graph += named("Relu", {last}, next);
    last = next;
  }
  const Loaded l = timed(nullptr, model(graph + node("Relu", {last})));
  EXPECT_EQ(l.r.code, 0) << l.r.message;
}

// Numbers at the ends of their range, wherever a node has integers.
TEST(OnnxLimits, NumbersAtTheEndsOfTheirRangeAreNoOverflow) {
  const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
  const auto ports = port(11, "x", floats_type, {1, 1, 4, 4}) + port(12, "y", floats_type, {1, 1, 4, 4});
  const std::string kernel = initializer<float>("w", floats_type, {1, 1, 2, 2}, {1, 1, 1, 1});
  const auto list = [](const char *name, std::vector<int64_t> v) {
    const auto n = static_cast<int64_t>(v.size());
    return initializer<int64_t>(name, int64_type, {n}, std::move(v));
  };
  int refused = 0, all = 0;
  const auto tried = [&](const std::string &graph) {
    const Loaded l = timed(nullptr, model_of(graph, ports));
    EXPECT_TRUE(l.r.code == 0 || l.r.code == DL4_CORRUPT_FILE || l.r.code == DL4_UNSUPPORTED ||
                l.r.code == DL4_OUT_OF_MEMORY)
        << l.r.code << ' ' << l.r.message;
    EXPECT_LT(l.seconds, 1);
    ++all, refused += l.r.code != 0;
  };
  for (int64_t e : ends)
    for (int64_t f : ends) {
      for (const char *op : {"Conv", "ConvTranspose"})
        for (const char *what : {"pads", "strides", "dilations", "output_padding", "output_shape"})
          tried(node(op, {"x", "w"}, integers(what, what[0] == 'p' ? std::vector{e, f, f, e} : std::vector{e, f})) +
                kernel);
      for (const char *op : {"MaxPool", "AveragePool"})
        for (const char *what : {"pads", "strides", "dilations", "kernel_shape"}) {
          std::string said = integers(what, what[0] == 'p' ? std::vector{e, f, f, e} : std::vector{e, f});
          if (what[0] != 'k') said += integers("kernel_shape", {2, 2});
          tried(node(op, {"x"}, said + integer("ceil_mode", 1)));
          tried(node(op, {"x"}, said + integer("count_include_pad", 1)));
        }
      tried(node("Pad", {"x", "p"}) + list("p", {0, 0, e, f, 0, 0, f, e}));
      tried(node("Slice", {"x", "b", "e", "a", "s"}) + list("b", {e}) + list("e", {f}) + list("a", {2}) +
            list("s", {f}));
      tried(node("Slice", {"x", "b", "e", "a"}) + list("b", {e}) + list("e", {f}) + list("a", {e}));
      for (const char *op : {"Add", "Sub", "Mul", "Div", "Equal", "Less", "Pow"})
        tried(named(op, {"a", "b"}, "c") + list("a", {e}) + list("b", {f}) + node("Relu", {"x"}));
      for (const char *op : {"Reshape", "Expand", "Tile"}) tried(node(op, {"x", "s"}) + list("s", {1, e, f, -1}));
      for (const char *op : {"Squeeze", "Unsqueeze", "ReduceSum"}) tried(node(op, {"x", "s"}) + list("s", {e, f}));
      tried(named("Range", {"a", "b", "c"}, "r") + node("Relu", {"x"}) + list("a", {e}) + list("b", {f}) +
            list("c", {e}));
      tried(named("ConstantOfShape", {"a"}, "r") + node("Relu", {"x"}) + list("a", {e, f}));
      tried(node("Split", {"x", "s"}, integer("axis", 3)) + list("s", {e, f}));
      tried(node("Gather", {"x", "s"}, integer("axis", 2)) + list("s", {e, f}));
      tried(node("GatherND", {"x", "s"}, integer("batch_dims", e)) + list("s", {e, f}));
      tried(node("Resize", {"x", "", "", "s"}) + list("s", {1, 1, e, f}));
      tried(node("DepthToSpace", {"x"}, integer("blocksize", e)));
      tried(node("Flatten", {"x"}, integer("axis", e)));
      tried(named("Shape", {"x"}, "s", integer("start", e) + integer("end", f)) + node("Relu", {"x"}));
      tried(node("LRN", {"x"}, integer("size", e)));
      tried(node("Trilu", {"x", "k"}) + list("k", {e}));
      tried(node("Attention", {"x", "x", "x"}, integer("left_window_size", e) + integer("right_window_size", f)));
    }
  const auto zeros = [](const char *name, const std::vector<int64_t> &dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return initializer<float>(name, floats_type, dims, std::vector<float>(static_cast<size_t>(n)));
  };
  for (int64_t e : ends) {
    for (const char *op : {"LSTM", "GRU", "RNN"}) {
      const int64_t rows = op[0] == 'L' ? 4 : op[0] == 'G' ? 3 : 1;
      const std::string weights = named("Squeeze", {"x", "axes"}, "s") + list("axes", {0}) + zeros("w", {1, rows, 4}) +
                                  zeros("r", {1, rows, 1});
      for (const char *clip : {"clip", "gain"})
        tried(weights + node(op, {"s", "w", "r"}, integer("hidden_size", e) + real(clip, 0.5f)));
    }
    tried(named("Neg", {"a"}, "n") + node("Relu", {"x"}) + list("a", {e}));
    tried(named("Abs", {"a"}, "n") + node("Relu", {"x"}) + list("a", {e}));
    tried(node("OneHot", {"i", "d", "v"}, integer("axis", e)) + list("i", {e}) + list("d", {3}) + list("v", {0, 1}));
  }
  EXPECT_GT(refused, all / 2);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
