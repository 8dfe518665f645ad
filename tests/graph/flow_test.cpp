// Cond, WhileLoop, Scan and EnsureSize: layers inside of layers that run or do not.
#include "graph/nets.hpp"
#include "runtime/stages.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

Tensor flag(bool yes) { return tensor<uint8_t>({}, {yes}, DType::boolean); }
Json functional(const Model &m) {
  return {{"class_name", "Functional"}, {"config", {{"model", to_json(m.architecture())}}}};
}

TEST(Flow, CondRunsOneOfTwoLayersWithWeightsOfTheirOwn) {
  Net net;
  const Node on = net.input("flag", {}, DType::boolean), x = net.input("x", {free_dim, 2});
  Model m = net.model({on, x}, {net.add("Cond", "cond", Json::parse(R"({
      "then": {"class_name": "Dense", "config": {"units": 3, "name": "a"}},
      "otherwise": {"class_name": "Dense", "config": {"units": 3, "name": "b"}}})"),
                                        {on, x, x})});
  m.set_weight("cond/a/kernel", tensor({2, 3}, {1, 2, 3, 4, 5, 6}));
  m.set_weight("cond/b/kernel", tensor({2, 3}, {1, 0, 0, 0, 1, 0}));
  const Tensor at = tensor({1, 2}, {10, 1});
  EXPECT_EQ(floats(run(m, {flag(true), at})[0]), (std::vector<float>{14, 25, 36}));
  EXPECT_EQ(floats(run(m, {flag(false), at})[0]), (std::vector<float>{10, 1, 0}));
  EXPECT_NE(refused(Code::unsupported, [&] { inference(m, {.gradients = {"x"}}); }).find("branch has no gradient"),
            std::string::npos);
}

// The rows of x twice, or none of them; then the number of rows.
TEST(Flow, LayersOfACondMayGiveShapesOfTheirOwn) {
  const auto net = [](bool own) {
    Net g;
    const Node on = g.input("flag", {}, DType::boolean), x = g.input("x", {free_dim, 2});
    Json config = Json::parse(R"({"then": {"class_name": "UpSampling1D", "config": {"size": 2}},
        "otherwise": {"class_name": "Cropping1D", "config": {"cropping": [0, 3]}}})");
    config["own_shapes"] = own;
    const Node rows = g.add("ExpandDims", R"({"axis": 0})", {x});
    const Node y = g.add("Cond", "cond", config, {on, rows, rows});
    return g.model({on, x}, {g.add("BroadcastAdd", "{}", {y, y})});
  };
  const Model m = net(true);
  const Pinned p = pinned(m, {}, {});
  const runtime::Stages stages(p.in.program, p.states, options());
  const auto given = [&](bool yes, const Tensor &x) {
    MadeStrings made;
    FlushToZero flush;
    return floats(stages.run(views({flag(yes), x}), Memory(), nullptr, made)[0]);
  };
  const Tensor at = tensor({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(given(true, at), (std::vector<float>{2, 4, 2, 4, 6, 8, 6, 8, 10, 12, 10, 12}));
  EXPECT_EQ(given(false, tensor({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})), (std::vector<float>{2, 4}));
  EXPECT_NE(refused(Code::unsupported, [&] { streamed(m); }).find("layer \"cond\""), std::string::npos);
  EXPECT_NE(refused(Code::shape_mismatch,
                    [&] {
                      run(net(false), {flag(true), at});
                    })
                .find("expected the same of both branches"),
            std::string::npos);
}

// The step: x * 2 + step, and whether its largest is below 100.
Json doubling(bool ends) {
  Net net;
  const Node step = net.input("step", {}, DType::i64), x = net.input("x", {2});
  const Node next = net.add("BroadcastAdd", "{}",
                            {net.add("BroadcastAdd", "{}", {x, x}), net.add("Cast", R"({"to": "float32"})", {step})});
  const Node more = net.add("Less", R"({"x2": 100})", {net.add("Max", R"({"axis": 0})", {next})});
  return functional(net.model({step, x}, ends ? std::vector{next, more} : std::vector{next}));
}

TEST(Flow, WhileLoopRunsAsOftenAsANumberOrAFlagSays) {
  for (bool ends : {false, true})
    for (bool counted : {false, true}) {
      Net net;
      std::vector<Node> in{net.input("x", {2})};
      if (counted) in.insert(in.begin(), net.input("n", {}, DType::i64));
      const Json config{{"body", doubling(ends)}, {"counted", counted}};
      if (!ends && !counted) {
        EXPECT_NE(
            refused(Code::invalid_argument, [&] { net.add("WhileLoop", "loop", config, in); }).find("it would not end"),
            std::string::npos);
        continue;
      }
      const Model m = net.model(in, {net.add("WhileLoop", "loop", config, in)});
      for (int64_t steps : {0, 2, 9}) {
        std::vector<float> wanted{1, 3};
        for (int64_t t = 0; t < (counted ? steps : 1000); ++t) {
          for (float &v : wanted) v = v * 2 + static_cast<float>(t);
          if (ends && wanted[1] >= 100) break;
        }
        std::vector<Tensor> given{tensor({2}, {1, 3})};
        if (counted) given.insert(given.begin(), tensor<int64_t>({}, {steps}, DType::i64));
        EXPECT_EQ(floats(run(m, given)[0]), wanted) << ends << counted << steps;
      }
    }
}

// The state and the element become one state by a layer with weights; also stacked, backwards.
TEST(Flow, ScanHasGradients) {
  Net step;
  const Node s = step.input("s", {free_dim, 3}), e = step.input("e", {free_dim, 2});
  const Node sum =
      step.add("Add", "{}", {step.add("Dense", R"({"units": 3})", {s}), step.add("Dense", R"({"units": 3})", {e})});
  const Node next = step.add("Activation", R"({"activation": "tanh"})", {sum});
  const Json body = functional(step.model({s, e}, {next, step.add("ReLU", "{}", {next})}));
  for (const char *more : {"", "backwards", "reversed"}) {
    SCOPED_TRACE(more);
    Net net;
    const Node h = net.input("h", {free_dim, 3}), x = net.input("x", {free_dim, free_dim, 2});
    Json config{{"body", body}};
    if (*more) config[more] = Json::array({0});
    const Model m = net.model({h, x}, net.graph->add("Scan", "scan", config, {}, {h, x}, 2));
    std::vector<std::string> by{"h", "x"};
    for (const auto &w : m.weights()) by.push_back(w->name);
    EXPECT_EQ(by.size(), 6u);
    expect_differences(m, {random_tensor({2, 3}, 1), random_tensor({4, 2, 2}, 2)}, by);
  }
}

TEST(Flow, EnsureSizeRefusesARunOfAnother) {
  Net net;
  const Node x = net.input("x", {2}), of = net.input("of", {free_dim, free_dim});
  const Model m = net.model({x, of}, {net.add("EnsureSize", "{}", {x, of})});
  EXPECT_EQ(floats(run(m, {tensor({2}, {1, 2}), tensor({3, 1}, {1, 2, 3})})[0]), (std::vector<float>{1, 2}));
  EXPECT_NE(refused(Code::shape_mismatch,
                    [&] {
                      run(m, {tensor({2}, {1, 2}), tensor({1, 3}, {1, 2, 3})});
                    })
                .find("expected a size of 1 as axis 1"),
            std::string::npos);
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
