// Cond, WhileLoop, Scan and EnsureSize: layers inside of layers that run or do not.
#include "capi/graph_cells.hpp"

namespace {

using namespace dl4_test;
using nlohmann::json;

std::vector<float> out_of(const dl4_model *m, const std::vector<dl4_tensor *> &in, Refusal *refused = nullptr) {
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  Own<dl4_tensor> y;
  const Refusal r = refusal(dl4_session_run(s, in.data(), static_cast<int64_t>(in.size()), y.out(), 1, nullptr));
  if (refused) *refused = r;
  EXPECT_EQ(r.code != 0, refused != nullptr) << r.message;
  if (r.code != 0) return {};
  const auto *data = static_cast<const float *>(dl4_tensor_data(y));
  return {data, data + dl4_tensor_bytes(y) / 4};
}
Own<dl4_tensor> floats(const std::vector<int64_t> &dims, std::vector<float> values) {
  return tensor_of<float>(DL4_FLOAT32, dims, std::move(values));
}

TEST(Flow, CondRunsOneOfTwoLayersWithWeightsOfTheirOwn) {
  auto g = graph();
  const dl4_node flag = input(g, "flag", {}, DL4_BOOL), x = input(g, "x", {-1, 2});
  const dl4_node y = put(g, "Cond", "cond", R"({"then": {"class_name": "Dense", "config": {"units": 3, "name": "a"}},
      "otherwise": {"class_name": "Dense", "config": {"units": 3, "name": "b"}}})",
                         {flag, x, x});
  const auto m = build(g, {flag, x}, {y});
  EXPECT_EQ(weight_names(m),
            (std::vector<std::string>{"cond/a/kernel", "cond/a/bias", "cond/b/kernel", "cond/b/bias"}));
  const auto set = [&](const char *name, std::vector<float> values) {
    ok(dl4_model_set_weight(m, name, floats({2, 3}, std::move(values))));
  };
  set("cond/a/kernel", {1, 2, 3, 4, 5, 6}), set("cond/b/kernel", {1, 0, 0, 0, 1, 0});
  const auto at = floats({1, 2}, {10, 1});
  for (uint8_t yes : {uint8_t{1}, uint8_t{0}}) {
    const auto f = tensor_of<uint8_t>(DL4_BOOL, {}, {yes});
    EXPECT_EQ(out_of(m, {f, at}), yes ? (std::vector<float>{14, 25, 36}) : (std::vector<float>{10, 1, 0}));
  }
  // Out of a file too.
  Refusal r;
  const auto again = load(nullptr, saved(m), r);
  ASSERT_EQ(r.code, 0) << r.message;
  EXPECT_EQ(out_of(again, {tensor_of<uint8_t>(DL4_BOOL, {}, {1}), at}), (std::vector<float>{14, 25, 36}));
}

// The rows of x twice, or none of them; then the number of rows.
TEST(Flow, LayersOfACondMayGiveShapesOfTheirOwn) {
  const auto net = [](const char *own) {
    auto g = graph();
    const dl4_node flag = input(g, "flag", {}, DL4_BOOL), x = input(g, "x", {-1, 2});
    const dl4_node y =
        put(g, "Cond", "cond",
            (R"({"then": {"class_name": "UpSampling1D", "config": {"size": 2}},
        "otherwise": {"class_name": "Cropping1D", "config": {"cropping": [0, 3]}}, "own_shapes": )" +
             std::string(own) + '}')
                .c_str(),
            {flag, put(g, "ExpandDims", "a", R"({"axis": 0})", {x}), put(g, "ExpandDims", "b", R"({"axis": 0})", {x})});
    return build(g, {flag, x}, {put(g, "BroadcastAdd", "twice", "{}", {y, y})});
  };
  const auto m = net("true");
  const auto at = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto yes = tensor_of<uint8_t>(DL4_BOOL, {}, {1}), no = tensor_of<uint8_t>(DL4_BOOL, {}, {0});
  Refusal r;
  const auto again = load(nullptr, saved(m), r);
  ASSERT_EQ(r.code, 0) << r.message;
  for (const dl4_model *of : {m.get(), again.get()}) {
    EXPECT_EQ(out_of(of, {yes, at}), (std::vector<float>{2, 4, 2, 4, 6, 8, 6, 8, 10, 12, 10, 12}));
    EXPECT_EQ(out_of(of, {no, floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}), (std::vector<float>{2, 4}));
  }
  Own<dl4_session> s;
  r = refusal(dl4_session_create(m, R"({"streamable": true})", s.out()));
  EXPECT_EQ(r.code, DL4_UNSUPPORTED);
  EXPECT_NE(r.message.find("layer \"cond\""), std::string::npos) << r.message;
  out_of(net("false"), {yes, at}, &r);
  EXPECT_EQ(r.code, DL4_SHAPE_MISMATCH);
  EXPECT_NE(r.message.find("expected the same of both branches"), std::string::npos) << r.message;
}

TEST(Flow, CondHasNoGradient) {
  auto g = graph();
  const dl4_node flag = input(g, "flag", {}, DL4_BOOL), x = input(g, "x", {-1, 2});
  const char *both =
      R"({"then": {"class_name": "ReLU", "config": {}}, "otherwise": {"class_name": "ELU", "config": {}}})";
  const auto m = build(g, {flag, x}, {put(g, "Cond", "cond", both, {flag, x, x})});
  const auto f = tensor_of<uint8_t>(DL4_BOOL, {}, {1}), at = floats({1, 2}, {1, 2});
  const dl4_tensor *in[] = {f, at};
  Own<dl4_blob> b;
  const Refusal r = refusal(dl4_model_check_gradients(m, const_cast<dl4_tensor *const *>(in), 2, nullptr, b.out()));
  EXPECT_EQ(r.code, DL4_UNSUPPORTED);
  EXPECT_NE(r.message.find("branch has no gradient"), std::string::npos) << r.message;
}

// The step: x * 2 + step, and whether its largest is below 100.
std::string doubling(bool flag) {
  auto g = graph();
  const dl4_node step = input(g, "step", {}, DL4_INT64), x = input(g, "x", {2});
  const dl4_node twice = put(g, "BroadcastAdd", "twice", "{}", {x, x});
  const dl4_node next =
      put(g, "BroadcastAdd", "next", "{}", {twice, put(g, "Cast", "f", R"({"to": "float32"})", {step})});
  const dl4_node end = put(g, "Less", "more", R"({"x2": 100})", {put(g, "Max", "max", R"({"axis": 0})", {next})});
  const auto m = flag ? build(g, {step, x}, {next, end}) : build(g, {step, x}, {next});
  return json::parse(described(m, DL4_FORMAT_JSON)).dump();
}

TEST(Flow, WhileLoopRunsAsOftenAsANumberOrAFlagSays) {
  for (bool flag : {false, true})
    for (bool counted : {false, true}) {
      auto g = graph();
      const dl4_node n = input(g, "n", {}, DL4_INT64), x = input(g, "x", {2});
      const std::string a = R"({"body": {"class_name": "Functional", "config": {"model": )" + doubling(flag) +
                            "}}, \"counted\": " + (counted ? "true" : "false") + "}";
      std::vector<dl4_node> in{x};
      if (counted) in.insert(in.begin(), n);
      if (!flag && !counted) {
        dl4_node y = -1;
        const Refusal r =
            refusal(dl4_graph_add(g, "WhileLoop", "loop", a.c_str(), nullptr, nullptr, in.data(), 1, &y, 1));
        EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
        EXPECT_NE(r.message.find("it would not end"), std::string::npos) << r.message;
        continue;
      }
      const dl4_node y = put(g, "WhileLoop", "loop", a, in);
      const auto m = counted ? build(g, {n, x}, {y}) : build(g, {x}, {y});
      for (int64_t steps : {0, 2, 9}) {
        std::vector<float> wanted{1, 3};
        for (int64_t t = 0; t < (counted ? steps : 1000); ++t) {
          for (float &v : wanted) v = v * 2 + static_cast<float>(t);
          if (flag && wanted[1] >= 100) break;
        }
        const auto count = tensor_of<int64_t>(DL4_INT64, {}, {steps}), at = floats({2}, {1, 3});
        EXPECT_EQ(counted ? out_of(m, {count, at}) : out_of(m, {at}), wanted) << flag << counted << steps;
      }
    }
}

// The state and the element become one state by a layer with weights; also stacked, backwards.
Own<dl4_model> scan(const std::string &more) {
  auto step = graph();
  const dl4_node s = input(step, "s", {-1, 3}), e = input(step, "e", {-1, 2});
  const dl4_node sum =
      put(step, "Add", "sum", "{}",
          {put(step, "Dense", "of_s", R"({"units": 3})", {s}), put(step, "Dense", "of_e", R"({"units": 3})", {e})});
  const dl4_node next = put(step, "Activation", "next", R"({"activation": "tanh"})", {sum});
  const auto body = build(step, {s, e}, {next, put(step, "ReLU", "y", "{}", {next})});
  auto g = graph();
  const dl4_node h = input(g, "h", {-1, 3}), x = input(g, "x", {-1, -1, 2});
  const std::string a = R"({"body": {"class_name": "Functional", "config": {"model": )" +
                        described(body, DL4_FORMAT_JSON) + "}}" + more + "}";
  return build(g, {h, x}, put(g, "Scan", "scan", Config(a), {h, x}, 2));
}

TEST(Flow, ScanHasGradients) {
  for (const char *more : {"", R"(, "backwards": [0])", R"(, "reversed": [0])"}) {
    const auto m = scan(more);
    const auto h = floats({2, 3}, numbers(6)), x = floats({4, 2, 2}, numbers(16));
    expect_gradients(m, {h, x}, 6);
  }
}

TEST(Flow, EnsureSizeRefusesARunOfAnother) {
  auto g = graph();
  const dl4_node x = input(g, "x", {2}), of = input(g, "of", {-1, -1});
  const auto m = build(g, {x, of}, {put(g, "EnsureSize", "one", "{}", {x, of})});
  EXPECT_EQ(out_of(m, {floats({2}, {1, 2}), floats({3, 1}, {1, 2, 3})}), (std::vector<float>{1, 2}));
  Refusal r;
  out_of(m, {floats({2}, {1, 2}), floats({1, 3}, {1, 2, 3})}, &r);
  EXPECT_EQ(r.code, DL4_SHAPE_MISMATCH);
  EXPECT_NE(r.message.find("expected a size of 1 as axis 1"), std::string::npos) << r.message;
}

}  // namespace
