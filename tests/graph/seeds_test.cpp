// Where random numbers begin: by the names of layers and weights, or under "tensorflow" by the order of creation.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "graph/graph.hpp"
#include "graph/model.hpp"

namespace dl4::graph::DL4_FILE {
namespace {

struct Seeds {
  std::map<std::string, uint64_t> layers, weights;  // by name
  std::map<std::string, std::vector<float>> values;
};

// Two layers that draw, behind `front` others that draw too and `between` them.
Seeds seeds(Settings settings, int front, int between, const std::string &dropout = "drop") {
  auto graph = std::make_shared<Graph>(settings);
  Graph &g = *graph;
  const Node x = g.input("x", DType::f32, {free_dim, 4});
  auto add = [&](const char *kind, const std::string &name, Json attributes, Node n) {
    return g.add(kind, name, std::move(attributes), {}, {n})[0];
  };
  Node n = x;
  for (int i = 0; i < front; ++i) {
    n = add("Dense", text("front", i), {{"units", 4}}, n);
    n = add("Dropout", text("front drop", i), {{"rate", 0.5}}, n);
  }
  n = add("Dense", "dense", {{"units", 3}}, n);
  for (int i = 0; i < between; ++i) n = add("GaussianNoise", text("between", i), {{"stddev", 0.5}}, n);
  n = add("Dropout", dropout, {{"rate", 0.5}}, n);
  n = add("Dense", "second", {{"units", 3}}, n);
  const Model model(graph, std::vector{x}, std::vector{n});
  Seeds s;
  for (const Layer &l : g.layers()) {
    if (l.random_seed) s.layers[l.name] = *l.random_seed;
    for (const auto &w : l.weights) {
      s.weights[w->name] = w->seed.op;
      s.values[w->name] = {w->value().as<float>(), w->value().as<float>() + w->value().elements()};
    }
  }
  return s;
}

TEST(Seeds, BelongToTheLayer) {
  const Seeds alone = seeds({}, 0, 0);
  for (const Seeds &other : {seeds({}, 1, 0), seeds({}, 0, 1), seeds({}, 3, 2)}) {
    EXPECT_EQ(other.layers.at("drop"), alone.layers.at("drop"));
    for (const char *w : {"dense/kernel", "second/kernel"}) {
      EXPECT_EQ(other.weights.at(w), alone.weights.at(w)) << w;
      EXPECT_EQ(other.values.at(w), alone.values.at(w)) << w;
    }
  }
}

TEST(Seeds, KnowNoNamesUnderTensorflow) {
  const Settings by_creation{.scheme = SeedScheme::tensorflow};
  const Seeds a = seeds(by_creation, 0, 0, "drop"), b = seeds(by_creation, 0, 0, "other");
  EXPECT_EQ(a.layers.at("drop"), b.layers.at("other"));
  EXPECT_EQ(a.values, b.values);
  EXPECT_NE(a.values.at("dense/kernel"), seeds(by_creation, 1, 0).values.at("dense/kernel"));
}

TEST(Seeds, DifferByNameAndByTheGraphsSeed) {
  const Seeds a = seeds({}, 2, 0), b = seeds({.seed = 1}, 2, 0);
  EXPECT_NE(a.layers.at("drop"), a.layers.at("front drop0"));
  EXPECT_NE(a.layers.at("front drop0"), a.layers.at("front drop1"));
  EXPECT_NE(a.values.at("front0/kernel"), a.values.at("front1/kernel"));
  EXPECT_NE(a.layers.at("drop"), b.layers.at("drop"));
  EXPECT_NE(a.values.at("dense/kernel"), b.values.at("dense/kernel"));
  EXPECT_NE(a.layers.at("drop"), seeds({}, 0, 0, "other").layers.at("other"));
}

TEST(Seeds, FollowTheOrderUnderTensorflow) {
  Settings settings;
  settings.seed = 42, settings.scheme = SeedScheme::tensorflow;
  const Seeds alone = seeds(settings, 0, 0), behind = seeds(settings, 1, 0);
  EXPECT_EQ(alone.weights.at("dense/kernel"), 478163327u);
  EXPECT_EQ(alone.layers.at("drop"), 107420369u);
  EXPECT_EQ(alone.weights.at("second/kernel"), 1181241943u);
  EXPECT_EQ(behind.weights.at("front0/kernel"), 478163327u);
  EXPECT_EQ(behind.weights.at("dense/kernel"), 1181241943u);
}

// What was drawn for a layer goes with it to another graph, under another name and through a file's words.
TEST(Seeds, GoWithTheLayer) {
  Graph g{Settings{}};
  const Node x = g.input("x", DType::f32, {free_dim, 4});
  const LayerId dropout = g.layer("Dropout", "drop", {{"rate", 0.5}});
  const Node y = g.call(dropout, {}, {x})[0];
  const uint64_t seed = *g.layers()[dropout].random_seed;
  Graph other{Settings{.seed = 5}};
  const LayerId shared = other.share(g, dropout, "renamed");
  EXPECT_EQ(other.layers()[shared].random_seed, seed);
  Graph read{Settings{.seed = 5}};
  read.merge(g.architecture({x}, {y}));
  EXPECT_EQ(read.layers().back().random_seed, seed);
}

}  // namespace
}  // namespace dl4::graph::DL4_FILE
