// A graph is as it was when an allocation fails: whichever it is, and whatever was being added.
#include "graph/graph.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "harness/failing_new.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

std::string everything(const Graph &g) {
  std::string s = to_json(g.architecture({}, {})).dump() + g.summary();
  for (Node n : g.nodes().ids()) s += text(' ', g.shape(n), g.dtype(n));
  for (const Layer &l : g.layers()) {
    s += text('\n', l.name, ' ', l.calls, ' ', l.random_seed.value_or(0));
    for (const auto &w : l.weights) s += text(' ', w->name, ' ', w->seed.op);
  }
  return s;
}

TEST(Graph, AnAllocationThatFailsLeavesItAsItWas) {
  Graph base{Settings{}};
  Node x = base.input("x", DType::f32, {free_dim, 3, 4}), mask = base.input("", DType::boolean, {free_dim, 3});
  LayerId dense = base.layer("Dense", "", {{"units", 4}});
  LayerId called = base.layer("Dense", "called", {{"units", 4}});
  LayerId dropout = base.layer("Dropout", "", {{"rate", 0.5}});
  LayerId lstm = base.layer("LSTM", "", {{"units", 5}, {"return_state", true}});
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

TEST(Graph, CallArgumentsAreFlagsOrSymbols) {
  Graph g{Settings{}};
  Node x = g.input("x", DType::f32, {free_dim, 3, 4});
  LayerId attention = g.layer("Attention", "", Json::object()), softmax = g.layer("Softmax", "", Json::object());
  auto refusal = [&](LayerId layer, const std::vector<Node> &in, const Arguments &arguments) -> std::string {
    try {
      g.call(layer, arguments, in);
      return "";
    } catch (const Error &error) {
      return error.message;
    }
  };
  auto plain = [](const char *key, Json value) {
    Arguments a;
    a.plain[key] = std::move(value);
    return a;
  };
  EXPECT_NE(refusal(softmax, {x}, plain("training", {{"a", 1}})).find("\"training\": expected true or false, got {"),
            std::string::npos);
  EXPECT_NE(refusal(softmax, {x}, plain("mask", 3)).find("\"mask\": expected symbolic values, got 3"),
            std::string::npos);
  for (const std::vector<Node> &nodes : {std::vector<Node>{}, {x}})
    EXPECT_NE(refusal(attention, {x, x}, {Json::object(), {{"use_causal_mask", nodes}}})
                  .find("\"use_causal_mask\": expected true or false"),
              std::string::npos);
  EXPECT_EQ(refusal(attention, {x, x}, plain("use_causal_mask", nullptr)), "");
  EXPECT_EQ(refusal(softmax, {x}, plain("mask", nullptr)), "");
}

// Else a call that says that there is no mask would use the one that its input carries.
TEST(Graph, AListOfNoMasksIsTheSameInAFile) {
  Graph g{Settings{}};
  Node x = g.input("x", DType::f32, {free_dim, 3, 4});
  Node masked = g.call(g.layer("Masking", "", Json::object()), {}, {x})[0];
  Node y = g.call(g.layer("Attention", "", Json::object()), {Json::object(), {{"mask", {no_node, no_node}}}},
                  {masked, masked})[0];
  Graph again{Settings{}};
  std::vector<Node> in, out;
  again.merge(read_architecture(to_json(g.architecture({x}, {y}))), &in, &out);
  EXPECT_EQ(again.calls().back().arguments.nodes.at("mask"), (std::vector<Node>{no_node, no_node}));
  EXPECT_EQ(to_json(again.architecture(in, out)).dump(), to_json(g.architecture({x}, {y})).dump());
}

// Of a layer with the initializer `key` as given, its name in the config and the first values of its weights.
std::string first_weights(const char *kind, Json attributes, const Shape &in, const char *key, const Json &value) {
  attributes[key] = value;
  Graph g{Settings{7}};
  Node x = g.input("x", std::string(kind) == "Embedding" ? DType::i32 : DType::f32, in);
  LayerId l = g.layer(kind, "", std::move(attributes));
  g.call(l, {}, {x});
  const Layer &layer = g.layers()[l];
  EXPECT_EQ(layer.kind->config()[key].is_null(), value.is_null()) << kind << ' ' << key;
  std::string bytes;
  for (const auto &w : layer.weights) {
    w->initialise();
    bytes.append(reinterpret_cast<const char *>(w->value().data.get()), static_cast<size_t>(w->value().bytes()));
  }
  return bytes;
}

TEST(Graph, AnInitializerThatIsNullIsGlorotUniform) {
  struct Case {
    const char *kind;
    Json attributes;
    Shape in;
    std::vector<const char *> keys;
  };
  const std::vector<const char *> both{"kernel_initializer", "bias_initializer"};
  for (const Case &c : {
           Case{"Dense", {{"units", 5}}, {free_dim, 4}, both},
           Case{"Conv1D", {{"filters", 5}, {"kernel_size", 3}}, {free_dim, 9, 4}, both},
           Case{"Conv2D", {{"filters", 5}, {"kernel_size", 3}}, {free_dim, 9, 9, 4}, both},
           Case{"LSTM", {{"units", 5}}, {free_dim, 9, 4}, {"kernel_initializer", "recurrent_initializer"}},
           Case{"LSTM", {{"units", 5}, {"unit_forget_bias", false}}, {free_dim, 9, 4}, {"bias_initializer"}},
           Case{"PReLU", Json::object(), {free_dim, 4}, {"alpha_initializer"}},
           Case{"Embedding", {{"input_dim", 6}, {"output_dim", 5}}, {free_dim, 4}, {"embeddings_initializer"}},
       })
    for (const char *key : c.keys) {
      const std::string got = first_weights(c.kind, c.attributes, c.in, key, nullptr);
      EXPECT_EQ(got, first_weights(c.kind, c.attributes, c.in, key, "GlorotUniform")) << c.kind << ' ' << key;
      EXPECT_NE(got, first_weights(c.kind, c.attributes, c.in, key, "HeNormal")) << c.kind << ' ' << key;
    }
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
