// ONNX's Scan: what it gives, and what of it is refused.
#include "capi/onnx_bytes.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using namespace dl4_test::onnx_bytes;

// A body that adds each step to the state, and gives that too.
std::string step(const std::string &more = "",
                 const std::string &ports = port(11, "s", 1, {2, 2}) + port(11, "t", 1, {2, 2})) {
  const std::string sum = field(1, field(1, std::string("s")) + field(1, std::string("t")) +
                                       field(2, std::string("sum")) + field(4, std::string("Add")));
  return attribute("body", field(6, sum + more + ports + port(12, "sum", 1, {2, 2}) + port(12, "sum", 1, {2, 2})), 5);
}
std::string scan(const std::string &attributes, const std::vector<std::string> &in = {"zero", "x"},
                 const std::vector<int64_t> &zero = {2, 2}, int64_t opset = 20) {
  std::vector<float> zeros(1, 0);
  for (int64_t d : zero) zeros.resize(zeros.size() * static_cast<size_t>(d), 0);
  return model_of(node("Scan", in, field(2, std::string("steps")) + attributes) + initializer("zero", 1, zero, zeros),
                  port(11, "x", 1, {3, 2, 2}) + port(12, "steps", 1, {3, 2, 2}), opset);
}
const std::string one = integer("num_scan_inputs", 1);
const std::vector<float> given{1, 2, 3, 4, 10, 20, 30, 40, 100, 200, 300, 400};

TEST(OnnxScan, RunsItsBodyOverTheFirstAxis) {
  EXPECT_EQ((run<float, float>(scan(step() + one), {3, 2, 2}, given)),
            (std::vector<float>{1, 2, 3, 4, 11, 22, 33, 44, 111, 222, 333, 444}));
}

TEST(OnnxScan, MayHaveWeightsOfItsBodysOwn) {
  const std::string product = named("MatMul", {"s", "w"}, "p") + named("Add", {"p", "t"}, "y") +
                              initializer<float>("w", 1, {2, 2}, {1, 2, 3, 4}) + port(11, "s", 1, {2, 2}) +
                              port(11, "t", 1, {2, 2}) + port(12, "y", 1, {2, 2}) + port(12, "y", 1, {2, 2});
  EXPECT_EQ((run<float, float>(scan(attribute("body", field(6, product), 5) + one), {3, 2, 2}, given)),
            (std::vector<float>{1, 2, 3, 4, 17, 30, 45, 62, 207, 354, 531, 738}));
}

TEST(OnnxScan, NeedsNoBatch) {
  const std::string row = step("", port(11, "s", 1, {2}) + port(11, "t", 1, {2}));
  const std::string bytes = model_of(node("Scan", {"zero", "x"}, field(2, std::string("steps")) + row + one) +
                                         initializer<float>("zero", 1, {2}, {5, 6}),
                                     port(11, "x", 1, {-1, 2}) + port(12, "steps", 1, {-1, 2}));
  EXPECT_EQ((run<float, float>(bytes, {3, 2}, {1, 2, 3, 4, 10, 20})), (std::vector<float>{6, 8, 9, 12, 19, 32}));
  // Nor where it stacks two values, and the state is the step before.
  const std::string two = step("", port(11, "s", 1, {2}) + port(11, "t", 1, {2}) + port(12, "t", 1, {2}));
  const std::string both = model_of(
      node("Scan", {"zero", "x"}, field(2, std::string("steps")) + field(2, std::string("again")) + two + one) +
          initializer<float>("zero", 1, {2}, {5, 6}),
      port(11, "x", 1, {-1, 2}) + port(12, "steps", 1, {-1, 2}));
  EXPECT_EQ((run<float, float>(both, {3, 2}, {1, 2, 3, 4, 10, 20})), (std::vector<float>{6, 8, 4, 6, 13, 24}));
}

TEST(OnnxScan, RunsBackwardsAndStacksBackwards) {
  const std::string back = integers("scan_input_directions", {1});
  EXPECT_EQ((run<float, float>(scan(step() + one + back), {3, 2, 2}, given)),
            (std::vector<float>{100, 200, 300, 400, 110, 220, 330, 440, 111, 222, 333, 444}));
  EXPECT_EQ((run<float, float>(scan(step() + one + back + integers("scan_output_directions", {1})), {3, 2, 2}, given)),
            (std::vector<float>{111, 222, 333, 444, 110, 220, 330, 440, 100, 200, 300, 400}));
}

TEST(OnnxScan, ReadsTheGraphAroundIt) {
  const std::string shifted = field(1, field(1, std::string("sum")) + field(1, std::string("ones")) +
                                           field(2, std::string("more")) + field(4, std::string("Add")));
  const std::string body = field(6, field(1, field(1, std::string("s")) + field(1, std::string("t")) +
                                                 field(2, std::string("sum")) + field(4, std::string("Add"))) +
                                        shifted + port(11, "s", 1, {2, 2}) + port(11, "t", 1, {2, 2}) +
                                        port(12, "more", 1, {2, 2}) + port(12, "sum", 1, {2, 2}));
  const std::string bytes =
      model_of(node("Scan", {"zero", "x"}, field(2, std::string("steps")) + attribute("body", body, 5) + one) +
                   initializer<float>("zero", 1, {2, 2}, {0, 0, 0, 0}) + initializer<float>("ones", 1, {2}, {1, 2}),
               port(11, "x", 1, {3, 2, 2}) + port(12, "steps", 1, {3, 2, 2}));
  EXPECT_EQ((run<float, float>(bytes, {3, 2, 2}, given)),
            (std::vector<float>{1, 2, 3, 4, 12, 24, 34, 46, 113, 226, 335, 448}));
}

TEST(OnnxScan, RunsOverSequencesOfBothDirections) {
  const std::string body = field(6, named("Add", {"s", "t"}, "sum") + named("Add", {"sum", "u"}, "both") +
                                        port(11, "s", 1, {2, 2}) + port(11, "t", 1, {2, 2}) + port(11, "u", 1, {2, 2}) +
                                        port(12, "sum", 1, {2, 2}) + port(12, "both", 1, {2, 2}));
  const auto both = [&](const std::vector<int64_t> &directions) {
    return run<float, float>(
        scan(attribute("body", body, 5) + integer("num_scan_inputs", 2) + integers("scan_input_directions", directions),
             {"zero", "x", "x"}),
        {3, 2, 2}, given);
  };
  EXPECT_EQ(both({0, 1}), (std::vector<float>{101, 202, 303, 404, 21, 42, 63, 84, 112, 224, 336, 448}));
  EXPECT_EQ(both({1, 0}), (std::vector<float>{101, 202, 303, 404, 120, 240, 360, 480, 211, 422, 633, 844}));
}

// Of each sample the sum of the state, the state above 20, and the step: of rank 1, of booleans, of rank 2.
std::string stacks(const std::string &wanted) {
  const std::string nodes = named("Add", {"s", "t"}, "sum") +
                            named("ReduceSum", {"sum", "one"}, "rows", integer("keepdims", 0)) +
                            named("Greater", {"sum", "twenty"}, "large") + initializer<int64_t>("one", 7, {1}, {1}) +
                            initializer<float>("twenty", 1, {}, {20});
  const std::string ports = port(11, "s", 1, {2, 2}) + port(11, "t", 1, {2, 2}) + port(12, "sum", 1, {2, 2}) +
                            port(12, "rows", 1, {2}) + port(12, "large", 9, {2, 2}) + port(12, "t", 1, {2, 2});
  const std::string outputs =
      field(2, std::string("rows")) + field(2, std::string("large")) + field(2, std::string("step"));
  return model_of(node("Scan", {"zero", "x"},
                       outputs + attribute("body", field(6, nodes + ports), 5) + one +
                           integers("scan_output_directions", {0, 0, 1})) +
                      initializer<float>("zero", 1, {2, 2}, {0, 0, 0, 0}),
                  port(11, "x", 1, {3, 2, 2}) + port(12, wanted, wanted == "large" ? 9 : 1, {3, 2, 2}));
}

TEST(OnnxScan, StacksSeveralValues) {
  EXPECT_EQ((run<float, float>(stacks("rows"), {3, 2, 2}, given)), (std::vector<float>{3, 7, 33, 77, 333, 777}));
  EXPECT_EQ((run<uint8_t, float>(stacks("large"), {3, 2, 2}, given)),
            (std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ((run<float, float>(stacks("step"), {3, 2, 2}, given)),
            (std::vector<float>{100, 200, 300, 400, 10, 20, 30, 40, 1, 2, 3, 4}));
}

// The second axis is that of the steps, and where they are stacked.
TEST(OnnxScan, TakesOtherAxes) {
  EXPECT_EQ((run<float, float>(scan(step("", port(11, "s", 1, {3, 2}) + port(11, "t", 1, {3, 2})) + one +
                                        integers("scan_input_axes", {1}) + integers("scan_output_axes", {1}),
                                    {"zero", "x"}, {3, 2}),
                               {3, 2, 2}, given)),
            (std::vector<float>{1, 2, 4, 6, 10, 20, 40, 60, 100, 200, 400, 600}));
}

// Each of two samples is a Scan of its own.
TEST(OnnxScan, HasABatchBeforeOpset9) {
  const std::string rows = step("", port(11, "s", 1, {2}) + port(11, "t", 1, {2}));
  EXPECT_EQ((run<float, float>(scan(rows + one, {"", "zero", "x"}, {3, 2}, 8), {3, 2, 2}, given)),
            (std::vector<float>{1, 2, 4, 6, 10, 20, 40, 60, 100, 200, 400, 600}));
}

TEST(OnnxScan, IsRefusedByWhatItSays) {
  const auto refused = [](const std::string &bytes, const std::string &word) {
    expect_refusal(bytes, DL4_UNSUPPORTED, {"the_Scan", word});
  };
  expect_refusal(scan(one), DL4_CORRUPT_FILE, {"the_Scan", "no \"body\""});
  expect_refusal(scan(step() + integer("num_scan_inputs", 3)), DL4_CORRUPT_FILE, {"the_Scan", "has 2 inputs"});
  expect_refusal(scan(step("", port(11, "s", 1, {2, 2})) + one), DL4_CORRUPT_FILE, {"the_Scan", "a body of 1"});
  expect_refusal(scan(step() + one + integers("scan_input_axes", {0, 0})), DL4_CORRUPT_FILE, {"scan_input_axes"});
  expect_refusal(scan(step() + one + integers("scan_output_directions", {0, 1})), DL4_CORRUPT_FILE,
                 {"the_Scan", "has 2 \"scan_output_directions\" for 1"});
  for (const char *axes : {"scan_input_axes", "scan_output_axes"})
    expect_refusal(scan(step() + one + integers(axes, {3})), DL4_CORRUPT_FILE, {"the_Scan", "the axis 3"});
  refused(scan(step() + one, {"zero", "x"}, {1, 2}), "state 0 is float32 (1, 2) at first and becomes float32 (2, 2)");
  refused(scan(step() + one, {"x", "zero", "x"}, {2, 2}, 8), "lengths of the sequences");
  expect_refusal(
      model_of(node("Scan", {"zero", "x", "other"},
                    field(2, std::string("steps")) +
                        step("", port(11, "s", 1, {2, 2}) + port(11, "t", 1, {2, 2}) + port(11, "u", 1, {2, 2})) +
                        integer("num_scan_inputs", 2)) +
                   initializer<float>("zero", 1, {2, 2}, {0, 0, 0, 0}) +
                   initializer<float>("other", 1, {1, 2, 2}, {0, 0, 0, 0}),
               port(11, "x", 1, {3, 2, 2}) + port(12, "steps", 1, {3, 2, 2})),
      DL4_CORRUPT_FILE, {"the_Scan", "sequences of 3 and 1 steps"});
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
