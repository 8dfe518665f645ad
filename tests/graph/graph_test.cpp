// A graph is as it was when an allocation fails: whichever it is, and whatever was being added.
#include "graph/graph.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "harness/failing_new.hpp"

namespace dl4::graph {
namespace {

std::string everything(const Graph &g) {
  std::string s = g.to_json({}, {}).dump() + g.summary();
  for (Node n = 0; n < g.nodes(); ++n) s += text(' ', g.shape(n), g.dtype(n));
  for (const Layer &l : g.layers()) {
    s += text('\n', l.name, ' ', l.calls, ' ', l.random_seed.value_or(0));
    for (const auto &w : l.weights) s += text(' ', w->name, ' ', w->seed.op);
  }
  return s;
}

TEST(Graph, AnAllocationThatFailsLeavesItAsItWas) {
  Graph base{Settings{}};
  Node x = base.input("x", DType::f32, {free_dim, 3, 4}), mask = base.input("", DType::boolean, {free_dim, 3});
  int32_t dense = base.layer("Dense", "", {{"units", 4}});
  int32_t called = base.layer("Dense", "called", {{"units", 4}});
  int32_t dropout = base.layer("Dropout", "", {{"rate", 0.5}});
  int32_t lstm = base.layer("LSTM", "", {{"units", 5}, {"return_state", true}});
  Node h = base.call(called, {}, {x})[0];
  struct Step {
    const char *name;
    std::function<void(Graph &)> take;
  };
  // None with members in its JSON: nlohmann's destructor of such an object allocates.
  const Step steps[] = {
      {"input",
       [](Graph &g) {
         g.input("more", DType::f32, {free_dim, 2});
       }},
      {"input of an automatic name",
       [](Graph &g) {
         g.input("", DType::f32, {free_dim, 2});
       }},
      {"constant", [](Graph &g) { g.constant("", make_zeros(DType::f32, {5})); }},
      {"layer", [](Graph &g) { g.layer("Flatten", "", Json::object()); }},
      {"first call", [&](Graph &g) { g.call(dense, {}, {x}); }},
      {"second call", [&](Graph &g) { g.call(called, {}, {h}); }},
      {"named layer and call",
       [&](Graph &g) {
         g.add("Add", "sum", Json::object(), {}, {h, h});
       }},
      {"a call that draws", [&](Graph &g) { g.call(dropout, {}, {h}); }},
      {"several outputs and a mask",
       [&](Graph &g) {
         g.call(lstm, {Json::object(), {{"mask", {mask}}}}, {h}, 3);
       }},
  };
  const std::string before = everything(base);
  for (const Step &step : steps) {
    Graph done = base;
    step.take(done);
    const std::string after = everything(done);
    ASSERT_NE(after, before) << step.name;
    int64_t allocations = 0;
    for (bool failed = true; failed; ++allocations) {
      Graph g = base;
      dl4_test::news_granted = allocations;
      try {
        step.take(g);
        failed = false;
      } catch (const std::bad_alloc &) {
      }
      dl4_test::news_granted = -1;
      if (!failed) break;
      ASSERT_EQ(everything(g), before) << step.name << ", allocation " << allocations;
      step.take(g);
      ASSERT_EQ(everything(g), after) << step.name << ", allocation " << allocations;
    }
    EXPECT_GT(allocations, 3) << step.name;
  }
}

}  // namespace
}  // namespace dl4::graph
