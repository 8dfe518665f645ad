// Graphs as they are described, named, merged; and large ones.
#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "capi/processes.hpp"
#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

TEST(Graphs, AMaskThatIsNoneForOneInputIsDescribed) {
  Own<dl4_graph> g, again;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node in[3] = {input(g, "q", {-1, 2, 4}), input(g, "v", {-1, 3, 4}), input(g, "m", {-1, 3}, DL4_BOOL)}, y = -1;
  ok(dl4_graph_add(g, "Attention", "attention", nullptr, nullptr, refs("mask", {-1, in[2]}), in, 2, &y, 1));
  ok(dl4_graph_build(g, in, 3, &y, 1, m.out()));
  for (const void *object : {static_cast<const void *>(g), static_cast<const void *>(m)}) {
    EXPECT_NE(described(object, DL4_FORMAT_TEXT).find("q[0][0], v[0][0], m[0][0]"), std::string::npos)
        << described(object, DL4_FORMAT_TEXT);
    EXPECT_NE(described(object, DL4_FORMAT_DOT).find("label=\"mask\""), std::string::npos)
        << described(object, DL4_FORMAT_DOT);
  }
  ok(dl4_graph_create(nullptr, again.out()));
  ok(dl4_graph_add_json(again, described(m, DL4_FORMAT_JSON).c_str()));
  EXPECT_EQ(described(again, DL4_FORMAT_TEXT), described(g, DL4_FORMAT_TEXT));
}

TEST(Graphs, WhatWasAddedAfterAMergeIsDescribed) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  Own<dl4_blob> before;
  ok(dl4_graph_create(nullptr, g.out()));
  ok(dl4_graph_add_json(g, described(small_net(), DL4_FORMAT_JSON).c_str()));
  dl4_layer uncalled = -1;
  dl4_node more = input(g, "more", {-1, 2});
  add(g, "Dense", "beside", R"({"units": 3})", more);
  ok(dl4_graph_add_layer(g, "Dense", "uncalled", R"({"units": 3})", nullptr, &uncalled));
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
  ok(dl4_graph_add(g, "Add", nullptr, nullptr, nullptr, nullptr, in, 2, &sum, 1));
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
  layers.push_back(
      {{"class_name", "Input"}, {"name", "x"}, {"config", {{"shape", {nullptr, 1}}, {"dtype", "float32"}}}});
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
  const std::clock_t start = std::clock();  // of processor time: the machine may be busy
  Own<dl4_graph> named;
  ok(dl4_graph_create(nullptr, named.out()));
  for (int i = 0; i < layers; ++i) {
    dl4_layer layer = -1;
    ok(dl4_graph_add_layer(named, "Dense", nullptr, R"({"units": 1})", nullptr, &layer));
    ASSERT_EQ(layer, i);
  }
  for (bool reversed : {false, true}) {
    Own<dl4_graph> g;
    Own<dl4_model> m, loaded;
    Own<dl4_blob> file;
    ok(dl4_graph_create(nullptr, g.out()));
    ok(dl4_graph_add_json(g, chain(layers, reversed).c_str()));
    ok(dl4_graph_build(g, nullptr, 0, nullptr, 0, m.out()));
    ok(dl4_model_save_bytes(m, nullptr, file.out()));
    ok(load_copy(nullptr, dl4_blob_data(file), dl4_blob_size(file), nullptr, loaded.out()));
    EXPECT_EQ(dl4_port_count(loaded, DL4_WEIGHTS), 2 * layers);
  }
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 60);
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
  EXPECT_STREQ(dl4_port_name(m, DL4_OUTPUTS, 0), "dense");
  EXPECT_STREQ(dl4_port_name(m, DL4_OUTPUTS, 59), "dense_59");
  EXPECT_STREQ(dl4_port_name(m, DL4_OUTPUTS, 60), "dense_60");
}

TEST(Graphs, MasksAreNodesAndCanBeSet) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, -1, 2}), given = input(g, "given", {-1, -1}, DL4_INT32), mask = 0;
  ok(dl4_graph_add_mask(g, x, &mask));
  EXPECT_EQ(mask, -1);
  EXPECT_EQ(described(g, DL4_FORMAT_JSON).find("GetMask"), std::string::npos);
  dl4_node pair[2] = {x, given}, with = -1, y = -1;
  ok(dl4_graph_add(g, "SetMask", nullptr, nullptr, nullptr, nullptr, pair, 2, &with, 1));
  ok(dl4_graph_add_mask(g, with, &mask));
  int32_t dtype = 0, rank = 0;
  int64_t dims[3];
  ok(dl4_node_dtype(g, mask, &dtype));
  ok(dl4_node_shape(g, mask, dims, 3, &rank));
  EXPECT_EQ(dtype, DL4_BOOL);
  EXPECT_EQ(rank, 2);
  ok(dl4_node_dtype(g, given, &dtype));
  EXPECT_EQ(dtype, DL4_INT32);
  // It is the one that a layer behind goes by.
  y = add(g, "GlobalAveragePooling1D", nullptr, "{}", with);
  Own<dl4_model> m;
  Own<dl4_session> s;
  dl4_node out[2] = {y, with};
  ok(dl4_graph_build(g, pair, 2, out, 2, m.out()));
  ok(dl4_session_create(m, nullptr, s.out()));
  auto values = tensor({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  Own<dl4_tensor> steps, to;
  const int64_t two[2] = {1, 3};
  const int32_t flags[3] = {1, 0, 7};
  ok(dl4_tensor_create(nullptr, DL4_INT32, 2, two, steps.out()));
  ok(dl4_tensor_copy_in(steps, flags, sizeof flags));
  dl4_tensor *from[2] = {values, steps}, *got[2] = {};
  ok(dl4_session_run(s, from, 2, got, 2, nullptr));
  EXPECT_EQ(floats(Own<dl4_tensor>(got[0])), (std::vector<float>{3, 4}));
  dl4_release(got[1]);
  const json session = json::parse(described(s, DL4_FORMAT_JSON));
  EXPECT_FALSE(session["outputs"][0]["masked"]);
  EXPECT_TRUE(session["outputs"][1]["masked"]);

  dl4_node wrong[2] = {x, x}, none = 0;
  wrong[1] = input(g, "long", {-1, -1, 3});
  EXPECT_NE(refusal(dl4_graph_add(g, "SetMask", nullptr, nullptr, nullptr, nullptr, wrong, 2, &none, 1))
                .message.find("mask: expected the first axes of x"),
            std::string::npos);
  EXPECT_NE(refusal(dl4_graph_add(g, "GetMask", nullptr, nullptr, nullptr, nullptr, &x, 1, &none, 1))
                .message.find("expected an input with a mask, got one without"),
            std::string::npos);
  EXPECT_EQ(refusal(dl4_graph_add_mask(g, 99, &none)).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(none, -1);
  EXPECT_EQ(refusal(dl4_node_dtype(g, 99, &dtype)).code, DL4_INVALID_ARGUMENT);
}

TEST(Graphs, ModelsAndSessionsTellTypesAndShapes) {
  auto m = small_net();
  Own<dl4_session> s;
  ok(dl4_session_create(m, R"({"gradients": ["answer/kernel", "x"], "cotangents": true})", s.out()));
  int64_t dims[2];
  int32_t rank = 0;
  EXPECT_EQ(dl4_port_dtype(m, DL4_INPUTS, 0), DL4_FLOAT32);
  EXPECT_EQ(dl4_port_dtype(m, DL4_INPUTS, 1), 0);
  EXPECT_EQ(dl4_port_dtype(m, 3, 0), 0);
  EXPECT_EQ(dl4_port_dtype(m, DL4_WEIGHTS, 0), DL4_FLOAT32);
  EXPECT_EQ(dl4_port_dtype(m, DL4_WEIGHTS, 4), 0);
  EXPECT_EQ(trainable(m, 0), 1);
  ok(dl4_port_shape(m, DL4_WEIGHTS, 2, dims, 2, &rank));
  EXPECT_EQ(rank, 2);
  EXPECT_EQ(dims[0], 8);
  EXPECT_EQ(dims[1], 3);
  Refusal r = refusal(dl4_port_shape(m, DL4_WEIGHTS, 4, dims, 2, &rank));
  EXPECT_NE(r.message.find("\"i\": expected less than 4, got 4"), std::string::npos) << r.message;
  EXPECT_EQ(dl4_port_count(s, DL4_INPUTS), 2);
  EXPECT_EQ(dl4_port_count(s, 7), 0);
  EXPECT_EQ(dl4_port_count(s, DL4_WEIGHTS), 0);
  EXPECT_EQ(dl4_port_dtype(s, DL4_OUTPUTS, 2), DL4_FLOAT32);
  EXPECT_EQ(dl4_port_dtype(s, DL4_OUTPUTS, 3), 0);
  EXPECT_EQ(dl4_port_name(s, DL4_OUTPUTS, 3), nullptr);
  ok(dl4_port_shape(s, DL4_INPUTS, 1, dims, 2, &rank));
  EXPECT_EQ(dims[0], -1);
  EXPECT_EQ(dims[1], 3);
  EXPECT_EQ(refusal(dl4_port_shape(s, DL4_WEIGHTS, 0, dims, 2, &rank)).code, DL4_INVALID_ARGUMENT);
  r = refusal(dl4_port_shape(s, 4, 0, dims, 2, &rank));
  EXPECT_NE(r.message.find("\"which\": expected 0 to 3, got 4"), std::string::npos) << r.message;
  Own<dl4_tensor> no_ports = tensor({1}, {1});
  EXPECT_EQ(dl4_port_count(no_ports, DL4_INPUTS), 0);
  EXPECT_EQ(dl4_port_name(no_ports, DL4_INPUTS, 0), nullptr);
  r = refusal(dl4_port_shape(no_ports, DL4_INPUTS, 0, dims, 2, &rank));
  EXPECT_NE(r.message.find("expected a dl4_model, dl4_session, dl4_stream or dl4_trainer, got a dl4_tensor"),
            std::string::npos)
      << r.message;
  EXPECT_EQ(refusal(dl4_port_shape(s, DL4_OUTPUTS, 3, dims, 2, &rank)).code, DL4_INVALID_ARGUMENT);

  const int32_t ranks[2] = {2, 2}, too_many[2] = {2, 9};
  const int64_t in[4] = {5, 4, 5, 3}, other[4] = {5, 4, 1, 3}, wrong[4] = {5, 7, 5, 3};
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t rows[3] = {5, 8, 5}, columns[3] = {3, 3, 4};
    ok(dl4_session_output_shape(s, ranks, in, 2, i, dims, 2, &rank));
    EXPECT_EQ(dims[0], rows[i]);
    EXPECT_EQ(dims[1], columns[i]);
  }
  auto refused = [&](const int32_t *of, const int64_t *shape, int64_t n, int64_t i) {
    const Refusal refusal_ = refusal(dl4_session_output_shape(s, of, shape, n, i, dims, 2, &rank));
    EXPECT_EQ(rank, 0);
    return refusal_;
  };
  EXPECT_EQ(refused(ranks, in, 2, 3).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(refused(ranks, in, 1, 0).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(refused(too_many, in, 2, 0).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(refused(ranks, nullptr, 2, 0).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(refused(ranks, other, 2, 0).code, DL4_SHAPE_MISMATCH);
  r = refused(ranks, wrong, 2, 0);
  EXPECT_EQ(r.code, DL4_SHAPE_MISMATCH);
  EXPECT_NE(r.message.find("input \"x\": expected shape (?, 4), got (5, 7)"), std::string::npos) << r.message;
}

TEST(Graphs, AllOutputsOfACall) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 5, 3});
  dl4_node y = add(g, "LSTM", nullptr, R"({"units": 4, "return_state": true})", x), out[4] = {-7, -7, -7, -7};
  int64_t count = -1;
  ok(dl4_node_outputs(g, y, out, 4, &count));
  EXPECT_EQ(count, 3);
  EXPECT_EQ(out[0], y);
  EXPECT_EQ(out[3], -1);  // there is no fourth
  dl4_node again[2] = {};
  ok(dl4_node_outputs(g, out[2], again, 2, &count));  // from any of them
  EXPECT_EQ(count, 3);
  EXPECT_EQ(again[1], out[1]);
  ok(dl4_node_outputs(g, x, nullptr, 0, &count));
  EXPECT_EQ(count, 1);
  EXPECT_EQ(refusal(dl4_node_outputs(g, 99, out, 4, &count)).code, DL4_INVALID_ARGUMENT);
  EXPECT_EQ(count, 0);
}

TEST(Graphs, ASeedThatIsSetBeginsItsNumbersAnew) {
  Own<dl4_context> c, other;
  ok(dl4_context_create(nullptr, c.out()));
  ok(dl4_context_create(R"({"seed": 5})", other.out()));
  auto weights = [](dl4_context *context) {
    Own<dl4_tensor> w;
    ok(dl4_model_get_weight(small_net(context), "hidden/kernel", w.out()));
    return floats(w);
  };
  const auto first = weights(c);
  ok(dl4_context_set_seed(c, 5));
  EXPECT_EQ(json::parse(described(c, DL4_FORMAT_JSON))["seed"], 5);
  EXPECT_EQ(weights(c), weights(other));
  EXPECT_NE(weights(c), first);
  ok(dl4_context_set_seed(c, 0));
  EXPECT_EQ(weights(c), first);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
