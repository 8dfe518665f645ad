// Models as layers: whose weights they are, in files, in training; refusals.
#include <cstring>
#include <thread>

#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

// x [B, 4] -> the model as layer "inner" -> Dense "head" [B, 2].
Own<dl4_model> around(const dl4_model *inner, dl4_context *c = nullptr) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(c, g.out()));
  dl4_node x = input(g, "x", {-1, 4}), h = -1;
  ok(dl4_graph_add(g, "Functional", "inner", nullptr, nullptr, refs("model", inner), &x, 1, &h, 1));
  dl4_node y = add(g, "Dense", "head", R"({"units": 2})", h);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  return m;
}

std::vector<float> weight(const dl4_model *m, const char *name) {
  Own<dl4_tensor> t;
  ok(dl4_model_get_weight(m, name, t.out()));
  return t ? floats(t) : std::vector<float>{};
}

std::vector<float> run(const dl4_model *m) { return dl4_test::run(m, {tensor({3, 4}, numbers(12))})[0]; }

std::vector<std::string> names(const dl4_model *m) {
  std::vector<std::string> list;
  for (int64_t i = 0; i < dl4_port_count(m, DL4_WEIGHTS); ++i)
    list.push_back(std::string(dl4_port_name(m, DL4_WEIGHTS, i)) + (trainable(m, i) ? "" : " frozen"));
  return list;
}

double step(dl4_trainer *t) {
  Own<dl4_tensor> x = tensor({3, 4}, numbers(12)), y = tensor({3, 2}, numbers(6));
  dl4_tensor *in = x, *out = y;
  double loss = 0;
  ok(dl4_trainer_step(t, &in, 1, &out, 1, nullptr, 0, &loss, 1, nullptr));
  return loss;
}

TEST(NestedModels, ShareTheWeightsOfTheModelAlsoALoadedOne) {
  const std::string bytes = saved(small_net());
  Refusal r;
  Own<dl4_model> inner = load(nullptr, bytes, r), outer = around(inner);
  EXPECT_EQ(names(outer), (std::vector<std::string>{"inner/hidden/kernel", "inner/hidden/bias", "inner/answer/kernel",
                                                    "inner/answer/bias", "head/kernel", "head/bias"}));
  EXPECT_EQ(weight(outer, "inner/hidden/kernel"), weight(inner, "hidden/kernel"));
  const auto before = run(outer);
  ok(dl4_model_set_weight(inner, "hidden/bias", tensor({8}, numbers(8))));
  EXPECT_EQ(weight(outer, "inner/hidden/bias"), numbers(8));
  EXPECT_NE(run(outer), before);
  ok(dl4_model_set_weight(outer, "inner/answer/bias", tensor({3}, numbers(3))));
  EXPECT_EQ(weight(inner, "answer/bias"), numbers(3));
  // The model may go: what it held stays.
  const auto now = run(outer);
  inner = {};
  EXPECT_EQ(run(outer), now);
}

TEST(NestedModels, ComputeWhatTheirLayersDo) {
  Own<dl4_model> inner = small_net(), outer = around(inner);
  Own<dl4_graph> g;
  Own<dl4_model> flat;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4});
  dl4_node y = add(g, "Dense", "hidden", R"({"units": 8, "activation": "tanh"})", x);
  y = add(g, "Dense", "answer", R"({"units": 3, "activation": "softmax"})", y);
  y = add(g, "Dense", "head", R"({"units": 2})", y);
  ok(dl4_graph_build(g, &x, 1, &y, 1, flat.out()));
  for (const char *name :
       {"hidden/kernel", "hidden/bias", "answer/kernel", "answer/bias", "head/kernel", "head/bias"}) {
    Own<dl4_tensor> v;
    ok(dl4_model_get_weight(outer, ((name[1] == 'e' ? "" : "inner/") + std::string(name)).c_str(), v.out()));
    ok(dl4_model_set_weight(flat, name, v));
  }
  EXPECT_EQ(run(outer), run(flat));
  Own<dl4_trainer> t = trainer(outer), plain = trainer(flat);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(step(t), step(plain));
  EXPECT_EQ(weight(outer, "inner/hidden/kernel"), weight(flat, "hidden/kernel"));
  EXPECT_EQ(weight(inner, "hidden/kernel"), weight(flat, "hidden/kernel"));  // trained in all
}

TEST(NestedModels, AreSavedLoadedClonedDescribedWhole) {
  Own<dl4_model> inner = small_net(), outer = around(inner), copy;
  ok(dl4_model_set_trainable(outer, "inner/answer", 0));
  const std::string bytes = saved(outer);
  Refusal r;
  Own<dl4_model> again = load(nullptr, bytes, r);
  ASSERT_TRUE(again) << r.message;
  EXPECT_EQ(names(again), names(outer));
  EXPECT_EQ(run(again), run(outer));
  EXPECT_EQ(saved(again), bytes);
  ok(dl4_model_clone(outer, copy.out()));
  EXPECT_EQ(run(copy), run(outer));
  ok(dl4_model_set_weight(copy, "inner/hidden/bias", tensor({8}, numbers(8))));
  EXPECT_NE(weight(inner, "hidden/bias"), numbers(8));
  const std::string table = described(outer, DL4_FORMAT_TEXT);
  EXPECT_NE(table.find("inner (Functional)"), std::string::npos) << table;
  EXPECT_NE(table.find("Total params: 75"), std::string::npos) << table;
  EXPECT_NE(table.find("Non-trainable params: 27"), std::string::npos) << table;

  Own<dl4_graph> g;
  Own<dl4_model> merged;
  ok(dl4_graph_create(nullptr, g.out()));
  ok(dl4_graph_add_json(g, described(outer, DL4_FORMAT_JSON).c_str()));
  ok(dl4_graph_build(g, nullptr, 0, nullptr, 0, merged.out()));
  EXPECT_EQ(names(merged), names(outer));
}

TEST(NestedModels, AreFrozenAsAWholeAndInParts) {
  Own<dl4_model> inner = small_net(), outer = around(inner);
  ok(dl4_model_set_trainable(outer, "inner", 0));
  EXPECT_EQ(names(inner), (std::vector<std::string>{"hidden/kernel frozen", "hidden/bias frozen",
                                                    "answer/kernel frozen", "answer/bias frozen"}));
  const auto kernel = weight(inner, "hidden/kernel");
  {
    Own<dl4_trainer> t = trainer(outer);
    step(t);
  }
  EXPECT_EQ(weight(inner, "hidden/kernel"), kernel);
  Refusal r;
  EXPECT_EQ(names(load(nullptr, saved(outer), r)), names(outer));
  // Frozen when it became a layer, thawed since.
  Own<dl4_model> second = around(inner);
  ok(dl4_model_set_trainable(inner, "hidden", 1));
  EXPECT_EQ(names(second)[0], "inner/hidden/kernel");
  EXPECT_EQ(names(second)[2], "inner/answer/kernel frozen");
  EXPECT_EQ(names(load(nullptr, saved(second), r)), names(second));
}

TEST(NestedModels, CanBeCalledTwiceAndAtEveryStep) {
  Own<dl4_model> inner = small_net(), twice, steps;
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node in[2] = {input(g, "a", {-1, 4}), input(g, "b", {-1, 4})}, out[2] = {-1, -1};
  dl4_layer layer = -1;
  ok(dl4_graph_add_layer(g, "Functional", nullptr, nullptr, refs("model", inner), &layer));
  for (int i = 0; i < 2; ++i) ok(dl4_graph_call(g, layer, nullptr, nullptr, &in[i], 1, &out[i], 1));
  ok(dl4_graph_build(g, in, 2, out, 2, twice.out()));
  EXPECT_EQ(dl4_port_count(twice, DL4_WEIGHTS), 4);
  EXPECT_STREQ(dl4_port_name(twice, DL4_WEIGHTS, 0), "functional/hidden/kernel");

  dl4_node x = input(g, "x", {-1, 5, 4}), y = -1;
  ok(dl4_graph_add(g, "TimeDistributed", "steps", nullptr, nullptr, refs("layer", inner), &x, 1, &y, 1));
  ok(dl4_graph_build(g, &x, 1, &y, 1, steps.out()));
  ASSERT_EQ(dl4_port_count(steps, DL4_WEIGHTS), 4);
  EXPECT_STREQ(dl4_port_name(steps, DL4_WEIGHTS, 0), "steps/functional/hidden/kernel");
  ok(dl4_model_set_weight(inner, "hidden/bias", tensor({8}, numbers(8))));
  EXPECT_EQ(weight(steps, "steps/functional/hidden/bias"), numbers(8));
  // At a path: a model at every step of every step.
  Own<dl4_model> deep;
  x = input(g, "deep_x", {-1, 2, 5, 4});
  ok(dl4_graph_add(g, "TimeDistributed", "deep", R"({"layer": {"class_name": "TimeDistributed", "config": {}}})",
                   nullptr, refs("layer/config/layer", inner), &x, 1, &y, 1));
  ok(dl4_graph_build(g, &x, 1, &y, 1, deep.out()));
  EXPECT_EQ(weight(deep, "deep/time_distributed/functional/hidden/bias"), numbers(8));
}

TEST(NestedModels, Refusals) {
  Own<dl4_model> inner = small_net();
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, 4}), wide = input(g, "wide", {-1, 5});
  dl4_node y = -1;
  const auto add_to = [&](const char *kind, const dl4_refs *r, dl4_node from, const char *config = nullptr) {
    const dl4_node in[] = {from};
    return refusal(dl4_graph_add(g, kind, "m", config, nullptr, r, in, 1, &y, 1));
  };
  const auto holds = [](const Refusal &r, int32_t code, const char *words) {
    EXPECT_EQ(r.code, code) << r.message;
    EXPECT_NE(r.message.find(words), std::string::npos) << r.message;
  };
  holds(add_to("Functional", refs("model", inner), wide), DL4_SHAPE_MISMATCH,
        "layer \"m\": input 0 is incompatible with the layer: expected float32 (?, 4) as \"x\", got float32 (?, 5)");
  holds(add_to("Dense", refs("units", inner), x), DL4_INVALID_ARGUMENT, "\"units\": expected an integer");
  holds(add_to("Functional", refs("layer", inner), x), DL4_INVALID_ARGUMENT, "unknown attribute \"layer\"");
  holds(add_to("Bidirectional", refs("layer", inner), x), DL4_INVALID_ARGUMENT,
        "\"layer\": expected a recurrent layer, got Functional");
  Own<dl4_refs> r;
  ok(dl4_refs_create(r.out()));
  holds(refusal(dl4_refs_set_model(r, "model", nullptr)), DL4_INVALID_ARGUMENT, "\"model\"");
  holds(refusal(dl4_refs_set_model(r, "", inner)), DL4_INVALID_ARGUMENT, "\"key\"");
  holds(refusal(dl4_refs_set_model(r, "cell//model", inner)), DL4_INVALID_ARGUMENT, "\"key\"");
  for (const char *config : {"{}", R"({"cell": 3})", R"({"cell": null})"})
    holds(add_to("RNN", refs("cell/model", inner), x, config), DL4_INVALID_ARGUMENT,
          "\"cell/model\" of refs: expected an object in the config around it, got none");
  for (const char *config : {R"({"model": null})", R"({"model": {}})"})
    holds(add_to("Functional", refs("model", inner), x, config), DL4_INVALID_ARGUMENT,
          "\"model\" of refs: expected no value in the config, got one there too");
  Own<dl4_refs> inside = refs("layer", inner);
  ok(dl4_refs_set_model(inside, "layer/config/model", inner));
  holds(add_to("TimeDistributed", inside, x), DL4_INVALID_ARGUMENT,
        "\"layer/config/model\" of refs: expected no value");
  std::string deep = R"({"cell": {)", path = "cell/b";
  for (int i = 0; i < 58; ++i) deep += R"("a": {)", path.insert(4, "/a");
  deep += std::string(60, '}');
  holds(add_to("RNN", refs(path.c_str(), inner), x, deep.c_str()), DL4_INVALID_ARGUMENT, "deeper than 64");
  dl4_layer layer = 7;
  holds(refusal(dl4_graph_add_layer(g, "Dense", nullptr, R"({"units": 1})", refs("mask", {x}), &layer)),
        DL4_INVALID_ARGUMENT, "\"mask\" of refs: expected a model, got nodes");
  EXPECT_EQ(layer, -1);
  ok(dl4_graph_add_layer(g, "Dense", "called", R"({"units": 1})", nullptr, &layer));
  holds(refusal(dl4_graph_call(g, layer, nullptr, refs("model", inner), &x, 1, &y, 1)), DL4_INVALID_ARGUMENT,
        "\"model\" of refs: expected nodes, got a model");
  {
    Own<dl4_trainer> t = trainer(inner, R"({"optimizer": "SGD", "loss": "CategoricalCrossentropy"})");
    holds(add_to("Functional", refs("model", inner), x), DL4_BUSY, "\"model\": the model is in training");
  }
  holds(add_to("Functional", refs("model", inner), x, R"({"trainable": false})"), DL4_UNSUPPORTED,
        "\"trainable\": weights that are shared with a model");
  holds(add_to("Functional", nullptr, x, R"({"model": null})"), DL4_INVALID_ARGUMENT,
        "\"model\": expected an architecture, got null");
  // What is set later takes the place of what was there.
  Own<dl4_refs> replaced = refs("model", inner);
  ok(dl4_refs_set_model(replaced, "model", small_net()));
  EXPECT_EQ(add_to("Functional", replaced, x).code, 0);
}

TEST(NestedModels, NoneIsInsideItselfOrThereTwice) {
  Own<dl4_graph> g;
  Own<dl4_model> first, second;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4}), y = add(g, "Dense", "dense", R"({"units": 4})", x), z = -1;
  ok(dl4_graph_build(g, &x, 1, &y, 1, first.out()));
  ok(dl4_graph_add(g, "Functional", "again", nullptr, nullptr, refs("model", first), &y, 1, &z, 1));
  Refusal r = refusal(dl4_graph_build(g, &x, 1, &z, 1, second.out()));
  EXPECT_EQ(r.code, DL4_UNSUPPORTED);
  EXPECT_NE(r.message.find("weight \"dense/kernel\" is in the model as \"again/dense/kernel\" too"), std::string::npos)
      << r.message;
  dl4_node u = input(g, "u", {-1, 4});
  ok(dl4_graph_add(g, "Functional", "alone", nullptr, nullptr, refs("model", first), &u, 1, &z, 1));
  ok(dl4_graph_build(g, &u, 1, &z, 1, second.out()));
  EXPECT_EQ(dl4_port_count(second, DL4_WEIGHTS), 2);
}

// Who trains one of them has the weights of both.
TEST(NestedModels, OneTrainerAtATime) {
  Own<dl4_model> inner = small_net(), outer = around(inner);
  dl4_trainer *none = nullptr;
  {
    Own<dl4_trainer> t = trainer(outer);
    const Refusal r =
        refusal(dl4_trainer_create(inner, R"({"optimizer": "SGD", "loss": "CategoricalCrossentropy"})", &none));
    EXPECT_EQ(r.code, DL4_BUSY);
    struct Inside {
      dl4_model *inner;
      std::vector<int32_t> codes;
    } inside{inner, {}};
    const auto look = [](void *user, int32_t event, int64_t, int64_t, const double *, int64_t) -> int32_t {
      auto &i = *static_cast<Inside *>(user);
      if (event != DL4_BATCH_END) return DL4_CONTINUE;
      std::thread([&] {
        dl4_tensor *w = nullptr;
        i.codes.push_back(refusal(dl4_model_get_weight(i.inner, "hidden/kernel", &w)).code);
        dl4_release(w);
        i.codes.push_back(refusal(dl4_model_set_trainable(i.inner, "*", 1)).code);
      }).join();
      return DL4_CONTINUE;
    };
    Own<dl4_tensor> x = tensor({3, 4}, numbers(12)), y = tensor({3, 2}, numbers(6));
    ok(dl4_trainer_fit(t, dataset(x, y), nullptr, nullptr, look, &inside, nullptr, nullptr));
    // A thread that the callback waits for may read, as the callback may.
    EXPECT_EQ(inside.codes, (std::vector<int32_t>{DL4_OK, DL4_BUSY}));
  }
  Own<dl4_trainer> now = trainer(inner, R"({"optimizer": "SGD", "loss": "CategoricalCrossentropy"})");
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
