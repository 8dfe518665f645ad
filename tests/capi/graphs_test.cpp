// Graphs as they are described, named, merged; and large ones.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "processes.hpp"

namespace {

using namespace dl4_test;
using nlohmann::json;

std::string described(const void *object, int32_t format) {
  Own<dl4_blob> b;
  ok(dl4_describe(object, format, b.out()));
  return dl4_blob_data(b);
}

TEST(Graphs, AMaskThatIsNoneForOneInputIsDescribed) {
  Own<dl4_graph> g, again;
  Own<dl4_model> m;
  Own<dl4_attrs> call;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node in[3] = {input(g, "q", {-1, 2, 4}), input(g, "v", {-1, 3, 4}), input(g, "m", {-1, 3}, DL4_BOOL)}, y = -1;
  const dl4_node masks[2] = {-1, in[2]};
  ok(dl4_attrs_create(call.out()));
  ok(dl4_attrs_set_nodes(call, "mask", masks, 2));
  ok(dl4_graph_add(g, "Attention", "attention", nullptr, call, in, 2, &y, 1));
  ok(dl4_graph_build(g, in, 3, &y, 1, m.out()));
  for (const void *object : {static_cast<const void *>(g), static_cast<const void *>(m)}) {
    EXPECT_NE(described(object, DL4_FORMAT_TEXT).find("q[0][0], v[0][0], m[0][0]"), std::string::npos)
        << described(object, DL4_FORMAT_TEXT);
    EXPECT_NE(described(object, DL4_FORMAT_DOT).find("label=\"mask\""), std::string::npos)
        << described(object, DL4_FORMAT_DOT);
  }
  ok(dl4_graph_create(nullptr, again.out()));
  ok(dl4_graph_merge_json(again, described(m, DL4_FORMAT_JSON).c_str()));
  EXPECT_EQ(described(again, DL4_FORMAT_TEXT), described(g, DL4_FORMAT_TEXT));
}

TEST(Graphs, WhatWasAddedAfterAMergeIsDescribed) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  Own<dl4_blob> before;
  ok(dl4_graph_create(nullptr, g.out()));
  ok(dl4_graph_merge_json(g, described(small_net(), DL4_FORMAT_JSON).c_str()));
  dl4_layer uncalled = -1;
  dl4_node more = input(g, "more", {-1, 2});
  add(g, "Dense", "beside", R"({"units": 3})", more);
  ok(dl4_graph_layer(g, "Dense", "uncalled", attrs(R"({"units": 3})"), &uncalled));
  json j = json::parse(described(g, DL4_FORMAT_JSON));
  EXPECT_EQ(j["layers"].size(), 6u) << j;
  EXPECT_EQ(j["outputs"], json::array({json::array({"answer", 0, 0})}));
  ok(dl4_graph_build(g, nullptr, 0, nullptr, 0, m.out()));
  EXPECT_EQ(json::parse(described(m, DL4_FORMAT_JSON))["layers"].size(), 3u);
}

TEST(Graphs, AutomaticNamesAreThoseOfKeras) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node in[2] = {input(g, nullptr, {-1, 3}), input(g, nullptr, {-1, 3})}, sum = -1;
  ok(dl4_graph_add(g, "Add", nullptr, nullptr, nullptr, in, 2, &sum, 1));
  add(g, "Dense", nullptr, R"({"units": 2})", add(g, "Dense", nullptr, R"({"units": 2})", sum));
  std::string names;
  const json j = json::parse(described(g, DL4_FORMAT_JSON));
  for (const auto &layer : j["layers"]) names += layer["name"].get<std::string>() + " ";
  EXPECT_EQ(names, "input_layer input_layer_1 add dense dense_1 ");
  EXPECT_NE(described(g, DL4_FORMAT_TEXT).find("input_layer_1 (InputLayer)"), std::string::npos);
}

// A chain of n layers of one unit, the first one last in the list when it is reversed.
std::string chain(int n, bool reversed) {
  json layers = json::array(), last = {"x", 0, 0};
  layers.push_back({{"class_name", "Input"}, {"name", "x"}, {"config", {{"shape", {nullptr, 1}}, {"dtype", "float32"}}}});
  for (int i = 0; i < n; ++i) {
    std::string name = "layer" + std::to_string(i);
    layers.push_back({{"class_name", "Dense"},
                      {"name", name},
                      {"config", {{"units", 1}}},
                      {"calls", {{{"inputs", json::array({last})}, {"arguments", json::object()}}}}});
    last = {name, 0, 0};
  }
  if (reversed) std::reverse(layers.begin(), layers.end());
  return json{
      {"format", 1}, {"layers", layers}, {"inputs", json::array({{"x", 0, 0}})}, {"outputs", json::array({last})}}
      .dump();
}

TEST(Graphs, TwentyThousandLayersTakeSecondsNotHours) {
  const int layers = sanitized ? 2000 : 20000;
  auto start = std::chrono::steady_clock::now();
  Own<dl4_graph> named;
  ok(dl4_graph_create(nullptr, named.out()));
  auto units = attrs(R"({"units": 1})");
  for (int i = 0; i < layers; ++i) {
    dl4_layer layer = -1;
    ok(dl4_graph_layer(named, "Dense", nullptr, units, &layer));
    ASSERT_EQ(layer, i);
  }
  for (bool reversed : {false, true}) {
    Own<dl4_graph> g;
    Own<dl4_model> m, loaded;
    Own<dl4_blob> file;
    ok(dl4_graph_create(nullptr, g.out()));
    ok(dl4_graph_merge_json(g, chain(layers, reversed).c_str()));
    ok(dl4_graph_build(g, nullptr, 0, nullptr, 0, m.out()));
    ok(dl4_model_save_memory(m, nullptr, file.out()));
    ok(dl4_model_load_memory(nullptr, dl4_blob_data(file), dl4_blob_size(file), nullptr, loaded.out()));
    EXPECT_EQ(dl4_model_weight_count(loaded), 2 * layers);
  }
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  EXPECT_LT(spent.count(), 60);
}

TEST(Graphs, EachOfManyOutputsHasANameOfItsOwn) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4});
  std::vector<dl4_node> out;
  for (int i = 0; i < 60; ++i) out.push_back(add(g, "Dense", nullptr, R"({"units": 3})", x));
  out.push_back(out[0]);
  ok(dl4_graph_build(g, &x, 1, out.data(), static_cast<int64_t>(out.size()), m.out()));
  EXPECT_STREQ(dl4_model_io_name(m, DL4_OUTPUTS, 0), "dense");
  EXPECT_STREQ(dl4_model_io_name(m, DL4_OUTPUTS, 59), "dense_59");
  EXPECT_STREQ(dl4_model_io_name(m, DL4_OUTPUTS, 60), "dense_60");
}

}  // namespace
