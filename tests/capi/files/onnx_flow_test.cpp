// ONNX's If, Loop and sequences: what they give, and that no file of a kilobyte takes long.

#include "capi/onnx_bytes.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using namespace dl4_test::onnx_bytes;

constexpr int floats = 1, int64 = 7, boolean = 9;

std::string body(const std::string &name, const std::string &graph) { return attribute(name, field(6, graph), 5); }
std::string scalar(const std::string &name, int64_t v) { return initializer<int64_t>(name, int64, {}, {v}); }
std::string flag(const std::string &name, uint8_t v) { return initializer<uint8_t>(name, boolean, {}, {v}); }
std::string one(const std::string &name, float v) { return initializer<float>(name, floats, {1}, {v}); }
std::string floats_port(int number, const std::string &name) { return port(number, name, floats, {-1, 4}); }
const std::vector<float> x{1, 2, 3, 4};
std::vector<float> times(float by) { return {by, 2 * by, 3 * by, 4 * by}; }

// Branches that give twice and three times x.
std::string branches() {
  const auto of = [](const char *name, float by) {
    return body(name, named("Mul", {"x", "by"}, "scaled") + one("by", by) + floats_port(12, "scaled"));
  };
  return of("then_branch", 2) + of("else_branch", 3);
}

TEST(OnnxFlow, AnIfOfAKnownConditionIsItsBranch) {
  for (uint8_t yes : {uint8_t{1}, uint8_t{0}})
    EXPECT_EQ((run<float, float>(model(node("If", {"c"}, branches()) + flag("c", yes)), {1, 4}, x)),
              times(yes ? 2.f : 3.f));
  // Of a size that is known, in a branch of a branch.
  const std::string inner = named("Shape", {"x"}, "s") + named("Gather", {"s", "last"}, "n") +
                            named("Equal", {"n", "four"}, "is") + scalar("last", 1) + scalar("four", 4) +
                            named("If", {"is"}, "inner", branches()) + floats_port(12, "inner");
  EXPECT_EQ(
      (run<float, float>(
          model(node("If", {"c"}, body("then_branch", inner) + body("else_branch", inner)) + flag("c", 1)), {1, 4}, x)),
      times(2));
}

// sum += x * (i + 1), while it goes on; stacks each sum.
std::string summing(const std::string &on = named("Identity", {"go"}, "more"), const std::string &more = "") {
  const std::string nodes = named("Cast", {"i"}, "f", integer("to", 1)) + named("Add", {"f", "one"}, "n") +
                            one("one", 1) + named("Mul", {"x", "n"}, "scaled") +
                            named("Add", {"sum", "scaled"}, "next") + on + more;
  return body("body", nodes + port(11, "i", int64, {}) + port(11, "go", boolean, {}) + floats_port(11, "sum") +
                          port(12, "more", boolean, {}) + floats_port(12, "next") + floats_port(12, "next"));
}
std::string loop(const std::string &of, const std::vector<std::string> &in, const std::string &before,
                 const std::string &out = "") {
  const std::string zero = named("Sub", {"x", "x"}, "zero");
  const std::string n =
      named("Loop", in, "y", field(3, std::string("the_Loop")) + (out.empty() ? "" : field(2, out)) + of);
  return zero + before + n;
}

TEST(OnnxFlow, ALoopOfAKnownLengthIsWrittenOut) {
  EXPECT_EQ((run<float, float>(model(loop(summing(), {"n", "", "zero"}, scalar("n", 3))), {1, 4}, x)), times(6));
  EXPECT_EQ((run<float, float>(model(loop(summing(), {"n", "c", "zero"}, scalar("n", 3) + flag("c", 0))), {1, 4}, x)),
            times(0));
  // The condition ends it: while i < 1.
  const std::string until = named("Less", {"i", "end"}, "more") + scalar("end", 1);
  EXPECT_EQ((run<float, float>(model(loop(summing(until), {"", "", "zero"}, "")), {1, 4}, x)), times(3));
  // What each step gives.
  const std::string stacked = model_of(loop(summing(), {"n", "", "zero"}, scalar("n", 3), "all"),
                                       floats_port(11, "x") + port(12, "all", floats, {3, -1, 4}));
  EXPECT_EQ((run<float, float>(stacked, {1, 4}, x)), (std::vector<float>{1, 2, 3, 4, 3, 6, 9, 12, 6, 12, 18, 24}));
}

// ---- decided while the model runs

// Its pads are turned and joined constants, along a free axis.
TEST(OnnxFlow, WhatANodeMakesOfConstantsIsAConstant) {
  const std::string graph = initializer<int64_t>("a", int64, {2, 2}, {0, 1, 0, 2}) +
                            named("Transpose", {"a"}, "b", integers("perm", {1, 0})) +
                            initializer<int64_t>("four", int64, {1}, {4}) + named("Reshape", {"b", "four"}, "c") +
                            initializer<int64_t>("order", int64, {4}, {0, 2, 1, 3}) +
                            named("Gather", {"c", "order"}, "pads") +
                            node("Pad", {"x", "pads"}, attribute("mode", field(4, std::string("reflect")), 3));
  EXPECT_EQ(
      (run<float, float>(model_of(graph, port(11, "x", floats, {1, -1}) + port(12, "y", floats, {1, -1})), {1, 4}, x)),
      (std::vector<float>{2, 1, 2, 3, 4, 3, 2}));
}

TEST(OnnxFlow, AnIfRunsTheBranchThatItsConditionSays) {
  const std::string above = named("ReduceSum", {"x"}, "sum", integer("keepdims", 0)) +
                            initializer<float>("none", floats, {}, {0}) + named("Greater", {"sum", "none"}, "c");
  const std::string bytes = model(above + node("If", {"c"}, branches()));
  EXPECT_EQ((run<float, float>(bytes, {1, 4}, x)), times(2));
  EXPECT_EQ((run<float, float>(bytes, {1, 4}, times(-1))), times(-3));
  // Branches that give other numbers of axes.
  const std::string flat =
      body("then_branch", named("Flatten", {"x"}, "z", integer("axis", 0)) + floats_port(12, "z")) +
      body("else_branch", named("Squeeze", {"x", "first"}, "z") + initializer<int64_t>("first", int64, {1}, {0}) +
                              port(12, "z", floats, {4}));
  expect_refusal(model(above + node("If", {"c"}, flat)), DL4_UNSUPPORTED,
                 {"the_If", "of 2 axes and float32 of 1 as output 0"});
}

// x without its first axis where that is of 1, as exporters write it.
TEST(OnnxFlow, AnIfOnASizeOfOneIsThatBranch) {
  const std::string graph =
      named("Shape", {"x"}, "s") + named("Gather", {"s", "at"}, "n") + scalar("at", 0) + scalar("one", 1) +
      named("Equal", {"n", "one"}, "c") +
      node("If", {"c"},
           body("then_branch", named("Squeeze", {"x", "first"}, "z") + initializer<int64_t>("first", int64, {1}, {0}) +
                                   port(12, "z", floats, {4})) +
               body("else_branch", named("Identity", {"x"}, "z") + floats_port(12, "z")));
  EXPECT_EQ((run<float, float>(model(graph), {1, 4}, x)), x);
  Refusal r;
  const auto m = load(nullptr, model(graph), r);
  ASSERT_EQ(r.code, 0) << r.message;
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  const int64_t dims[] = {2, 4};
  Own<dl4_tensor> in, out;
  ok(dl4_tensor_create(nullptr, DL4_FLOAT32, 2, dims, in.out()));
  dl4_tensor *given = in;
  r = refusal(dl4_session_run(s, &given, 1, out.out(), 1, nullptr));
  EXPECT_EQ(r.code, DL4_SHAPE_MISMATCH) << r.message;
}

TEST(OnnxFlow, ALoopRunsUntilItsConditionSaysNo) {
  // While the sum of what it has is below 1000.
  const std::string until = named("ReduceSum", {"next"}, "all", integer("keepdims", 0)) +
                            initializer<float>("end", floats, {}, {100}) + named("Less", {"all", "end"}, "more");
  const std::string bytes = model(loop(summing(until), {"", "", "zero"}, ""));
  EXPECT_EQ((run<float, float>(bytes, {1, 4}, x)), times(10));  // 1 + 2 + 3 + 4
  EXPECT_EQ((run<float, float>(bytes, {1, 4}, times(9))), times(27));
  expect_refusal(model_of(loop(summing(until), {"", "", "zero"}, "", "all_of_them"),
                          floats_port(11, "x") + port(12, "all_of_them", floats, {-1, -1, 4})),
                 DL4_UNSUPPORTED, {"the_Loop", "a number of steps that the model computes"});
}

// As long as x is what it is.
TEST(OnnxFlow, ALoopThatGoesOnForeverEndsWithAnError) {
  const std::string always =
      named("ReduceSum", {"x"}, "all", integer("keepdims", 0)) + named("Equal", {"all", "all"}, "more");
  Refusal r;
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"step_limit": 100000})", c.out()));
  const auto m = load(c, model(loop(summing(always), {"", "", "zero"}, "")), r);
  ASSERT_EQ(r.code, 0) << r.message;
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  const int64_t dims[] = {1, 4};
  Own<dl4_tensor> in, out;
  ok(dl4_tensor_create(nullptr, DL4_FLOAT32, 2, dims, in.out()));
  std::fill_n(static_cast<float *>(dl4_tensor_data(in)), 4, 1.f);
  dl4_tensor *given = in;
  r = refusal(dl4_session_run(s, &given, 1, out.out(), 1, nullptr));
  EXPECT_EQ(r.code, DL4_UNSUPPORTED);
  EXPECT_NE(r.message.find("more than 100000 steps, which is the \"step_limit\""), std::string::npos) << r.message;
}

TEST(OnnxFlow, SequencesAreListsWhileTheFileIsRead) {
  const std::string graph = named("Neg", {"x"}, "minus") + named("SequenceConstruct", {"x", "minus"}, "s") +
                            named("SequenceInsert", {"s", "minus", "first"}, "t") + scalar("first", 0) +
                            scalar("last", -1) + named("SequenceErase", {"t", "last"}, "u") +
                            named("SequenceAt", {"u", "last"}, "is_x") + named("SequenceLength", {"u"}, "two") +
                            named("Cast", {"two"}, "f", integer("to", 1)) + named("Mul", {"is_x", "f"}, "twice") +
                            named("SplitToSequence", {"twice"}, "parts", integer("axis", 1)) +
                            named("SequenceMap", {"parts"}, "halves",
                                  body("body", named("Mul", {"p", "half"}, "q") + one("half", 0.5f) +
                                                   port(11, "p", floats, {-1, 1}) + port(12, "q", floats, {-1, 1}))) +
                            node("ConcatFromSequence", {"halves"}, integer("axis", 1));
  EXPECT_EQ((run<float, float>(model(graph), {1, 4}, x)), x);
  // A place that there is not.
  expect_refusal(model(named("SequenceConstruct", {"x"}, "s") + scalar("p", 1) + node("SequenceAt", {"s", "p"})),
                 DL4_CORRUPT_FILE, {"the_SequenceAt", "place 1 of a sequence of 1"});
  expect_refusal(model(named("SequenceConstruct", {"x"}, "s") + node("Relu", {"s"})), DL4_UNSUPPORTED,
                 {"the_Relu", "expected a tensor as input 0, got a sequence of 1"});
}

TEST(OnnxFlow, ASequenceIsAnOutputForEachOfItsValues) {
  Refusal r;
  const auto m = load(nullptr, model(named("SequenceConstruct", {"x", "x", "x"}, "y")), r);
  ASSERT_EQ(r.code, 0) << r.message;
  ASSERT_EQ(dl4_port_count(m, 1), 3);
  EXPECT_STREQ(dl4_port_name(m, 1, 2), "y_2");
}

TEST(OnnxFlow, AnOptionalHasAValueOrNot) {
  const std::string none =
      named("Optional", {}, "o") + named("OptionalHasElement", {"o"}, "has") + node("If", {"has"}, branches());
  EXPECT_EQ((run<float, float>(model(none), {1, 4}, x)), times(3));
  const std::string some = named("Optional", {"x"}, "o") + named("OptionalHasElement", {"o"}, "has") +
                           named("OptionalGetElement", {"o"}, "v") + named("If", {"has"}, "z", branches()) +
                           node("Add", {"v", "z"});
  EXPECT_EQ((run<float, float>(model(some), {1, 4}, x)), times(3));
  expect_refusal(model(named("Optional", {}, "o") + node("OptionalGetElement", {"o"})), DL4_CORRUPT_FILE,
                 {"the_OptionalGetElement", "without a value"});
}

// ---- files that ask for much

Loaded timed(const std::string &bytes) { return onnx_bytes::timed(bounded(), bytes); }

// An If within an If, so many deep. constant: whether the condition is known when the file is read.
std::string nested(int depth, bool constant = true) {
  std::string inside = named("Identity", {"x"}, "z") + floats_port(12, "z");
  for (int i = 0; i < depth; ++i)
    inside = named("If", {"c"}, "z", body("then_branch", inside) + body("else_branch", floats_port(12, "x"))) +
             floats_port(12, "z");
  return model_of(inside + (constant ? flag("c", 1) : ""),
                  floats_port(11, "x") + (constant ? "" : port(11, "c", boolean, {})));
}

TEST(OnnxFlow, BodiesInBodiesEndSomewhere) {
  const Loaded some = timed(nested(40));
  EXPECT_EQ(some.r.code, 0) << some.r.message;
  std::vector<std::string> prefixes;  // of 10,000 graphs, each the attribute of the one node of another
  size_t size = 0;
  for (int i = 0; i < 30000; ++i) {
    prefixes.push_back(varint((i % 3 == 0 ? 6 : i % 3 == 1 ? 5 : 1) << 3 | 2) + varint(size));
    size += prefixes.back().size();
  }
  std::string deep;
  for (size_t i = prefixes.size(); i-- > 0;) deep += prefixes[i];
  for (const std::string &bytes : {nested(70), model(deep)}) {
    const Loaded l = timed(bytes);
    EXPECT_EQ(l.r.code, DL4_UNSUPPORTED);
    EXPECT_NE(l.r.message.find("bodies lie in bodies"), std::string::npos) << l.r.message;
    EXPECT_LT(l.seconds, 1);
  }
}

// Each body is read once, whatever it lies in: time and memory grow with the depth, not with its square or cube.
TEST(OnnxFlow, IfsInIfsAreReadInTimeOfTheirBytes) {
  const auto nested = [](int depth, int nodes) {
    std::string inside;
    for (int i = 0; i < nodes; ++i)
      inside += named("Relu", {i == 0 ? std::string("x") : "r" + std::to_string(i - 1)}, "r" + std::to_string(i));
    inside += named("Identity", {"r" + std::to_string(nodes - 1)}, "z0") + floats_port(12, "z0");
    for (int i = 0; i < depth; ++i) {
      const std::string from = "z" + std::to_string(i), to = "z" + std::to_string(i + 1);
      inside =
          named("If", {"c"}, to,
                body("then_branch", inside) + body("else_branch", named("Neg", {"x"}, "w") + floats_port(12, "w"))) +
          floats_port(12, to);
    }
    return model_of(inside, floats_port(11, "x") + port(11, "c", boolean, {}));
  };
  const Loaded shallow = timed(nested(15, 500)), deep = timed(nested(60, 500));
  EXPECT_EQ(shallow.r.code, 0) << shallow.r.message;
  EXPECT_EQ(deep.r.code, 0) << deep.r.message;
  EXPECT_LT(deep.seconds, 60 * std::max(shallow.seconds, 0.05));
  EXPECT_LT(deep.seconds, 20);
}

// A file's JSON takes no more.
TEST(OnnxFlow, WhatIsNestedTooDeepForAFileIsNotSaved) {
  for (int depth : {1, 8, 9, 10, 30}) {
    SCOPED_TRACE(depth);
    const Loaded l = timed(nested(depth, false));
    ASSERT_EQ(l.r.code, 0) << l.r.message;
    Own<dl4_blob> file;
    const Refusal r = refusal(dl4_model_save_bytes(l.m, R"({"format": "native"})", file.out()));
    EXPECT_EQ(r.code, depth < 9 ? DL4_OK : depth > 9 ? DL4_UNSUPPORTED : r.code);
    if (r.code != DL4_OK) {
      EXPECT_NE(r.message.find("\"architecture\" can't be read from a file: nested deeper than 64"), std::string::npos)
          << r.message;
      continue;
    }
    const int64_t size = dl4_blob_size(file);
    Own<dl4_tensor> bytes;
    Own<dl4_model> again;
    ok(dl4_tensor_create(nullptr, DL4_UINT8, 1, &size, bytes.out()));
    ok(dl4_tensor_copy_in(bytes, dl4_blob_data(file), size));
    ok(dl4_model_load_bytes(nullptr, bytes, nullptr, again.out()));
  }
}

TEST(OnnxFlow, LoopsWithoutEndAreRefused) {
  const std::string always = named("Identity", {"go_on"}, "more") + flag("go_on", 1);
  for (const std::vector<std::string> &in : {std::vector<std::string>{"", "", "zero"}, {"", "c", "zero"}}) {
    const Loaded l = timed(model(loop(summing(always), in, flag("c", 1))));
    EXPECT_EQ(l.r.code, DL4_OUT_OF_MEMORY) << l.r.message;
    EXPECT_LT(l.seconds, 1) << l.r.message;
  }
  // Loops in loops, of ten thousand steps each.
  std::string inside = summing();
  for (int i = 0; i < 6; ++i)
    inside = summing(named("Identity", {"go"}, "more"),
                     scalar("many", 10000) + named("Loop", {"many", "", "sum"}, "z", inside));
  const Loaded l = timed(model(loop(inside, {"n", "", "zero"}, scalar("n", 10000))));
  EXPECT_LT(l.seconds, 1) << l.r.message;
}

TEST(OnnxFlow, SequencesThatGrowAreCounted) {
  // A thousand million times a value more.
  const std::string grows =
      body("body", named("SequenceInsert", {"s", "x"}, "t") + named("Identity", {"go"}, "more") +
                       port(11, "i", int64, {}) + port(11, "go", boolean, {}) + field(11, field(1, std::string("s"))) +
                       port(12, "more", boolean, {}) + field(12, field(1, std::string("t"))));
  const Loaded l = timed(model(named("SequenceEmpty", {}, "none") + scalar("n", 1000000000) +
                               named("Loop", {"n", "", "none"}, "all", grows) + node("SequenceLength", {"all"})));
  EXPECT_EQ(l.r.code, DL4_OUT_OF_MEMORY) << l.r.message;
  EXPECT_LT(l.seconds, 1);
  // Of an axis of a thousand million.
  const Loaded split = timed(model_of(named("SplitToSequence", {"x"}, "s") + node("SequenceLength", {"s"}),
                                      port(11, "x", floats, {1000000000}) + port(12, "y", int64, {})));
  EXPECT_EQ(split.r.code, DL4_OUT_OF_MEMORY) << split.r.message;
  EXPECT_LT(split.seconds, 1);
}

// Each step joins what it carries with itself.
TEST(OnnxFlow, SizesThatDoubleAreCounted) {
  const std::string doubles =
      body("body", named("Concat", {"s", "s"}, "t", integer("axis", 0)) + named("Identity", {"go"}, "more") +
                       port(11, "i", int64, {}) + port(11, "go", boolean, {}) + port(11, "s", floats, {-1, 4}) +
                       port(12, "more", boolean, {}) + port(12, "t", floats, {-1, 4}));
  for (int64_t n : {int64_t{40}, int64_t{100000}, INT64_MAX}) {
    const Loaded l = timed(model(scalar("n", n) + node("Loop", {"n", "", "x"}, doubles)));
    EXPECT_LT(l.seconds, 1) << l.r.message;
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
