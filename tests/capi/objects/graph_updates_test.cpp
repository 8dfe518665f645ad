// A graph assigns weights: order, sharing, optimizers, files.
#include <cmath>
#include <thread>

#include "capi/step.hpp"
#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

constexpr char mse[] = R"({"loss": "MeanSquaredError"})";
constexpr char counter[] = R"({"shape": [2], "initializer": "Zeros", "learned": false})";

TEST(GraphUpdates, AModelMakesTheAssignmentsThatItsOutputsNeed) {
  Step g;
  const dl4_node w = g.call("Weight", counter, {}, "w"), one = g.constant({2}, {1, 1});
  const dl4_node added = g.assign(w, one, R"({"operation": "assign_add"})");
  auto reads = g.build({}, {g.weight("w/value")}), counts = g.build({}, {g.after(one, {added})});
  Runs read(reads), count(counts);
  EXPECT_EQ(count({})[0], (std::vector<float>{1, 1}));
  EXPECT_EQ(count({})[0], (std::vector<float>{1, 1}));
  EXPECT_EQ(read({})[0], (std::vector<float>{0, 0})) << "a session has the weights of its making";
  EXPECT_EQ(Runs(reads)({})[0], (std::vector<float>{2, 2}));
  EXPECT_EQ(weight_of(reads, "w/value"), (std::vector<float>{2, 2}));
  // What others set is read by the next run.
  auto ten = tensor({2}, {10, 20});
  ok(dl4_model_set_weight(reads, "w/value", ten));
  count({});
  EXPECT_EQ(weight_of(counts, "w/value"), (std::vector<float>{11, 21}));
}

// x, target -> the loss and an update of all weights.
struct Fit {
  Own<dl4_model> net, step;

  explicit Fit(const std::string &optimizer, dl4_context *c = nullptr) : net(small_net(c)) {
    Step g(c);
    const dl4_node x = g.in("x", {-1, 4}), target = g.in("target", {-1, 3});
    const dl4_node loss = g.call("Loss", mse, {target, g.model(net, "net", x)});
    const Nodes weights = g.weights(net, "net");
    const dl4_node done =
        g.update("optimizer", R"({"optimizer": )" + optimizer + "}", weights, g.gradients({loss}, weights));
    step = g.build({x, target}, {g.after(loss, {done})});
  }
};

TEST(GraphUpdates, OptimizersMoveAsInATrainer) {
  for (const std::string &name : kinds_of("optimizer")) {
    SCOPED_TRACE(name);
    const std::string optimizer = R"({"class_name": ")" + name +
                                  R"(", "config": {"learning_rate": 0.05, "clipnorm": 0.3, "weight_decay": 0.01}})";
    Fit fit(optimizer);
    Own<dl4_model> same = small_net();
    auto t = trainer(same, R"({"loss": "MeanSquaredError", "optimizer": )" + optimizer + "}");
    Runs run(fit.step);
    auto x = tensor({5, 4}, numbers(20)), y = tensor({5, 3}, numbers(15));
    dl4_tensor *in = x, *to = y;
    for (int step = 0; step < 4; ++step) {
      double metrics[1];
      ok(dl4_trainer_step(t, &in, 1, &to, 1, nullptr, 0, metrics, 1, nullptr));
      EXPECT_NEAR(run({x, y})[0][0], metrics[0], 1e-5);
    }
    for (int64_t w = 0; w < dl4_port_count(same, DL4_WEIGHTS); ++w)
      expect_near(weight_of(fit.net, dl4_port_name(fit.net, DL4_WEIGHTS, w)),
                  weight_of(same, dl4_port_name(same, DL4_WEIGHTS, w)), 2e-5f);
  }
}

TEST(GraphUpdates, SlotsAreWeightsOfTheLayer) {
  Fit fit(R"("Adam")");
  Runs run(fit.step);
  auto x = tensor({5, 4}, numbers(20)), y = tensor({5, 3}, numbers(15));
  run({x, y});
  run({x, y});
  Own<dl4_tensor> t;
  ok(dl4_model_get_weight(fit.step, "optimizer/iterations", t.out()));
  ASSERT_EQ(dl4_tensor_dtype(t), DL4_INT64);
  EXPECT_EQ(*static_cast<int64_t *>(dl4_tensor_data(t)), 2);
  for (int64_t i = 0; i < dl4_port_count(fit.step, DL4_WEIGHTS); ++i) {
    const std::string name = dl4_port_name(fit.step, DL4_WEIGHTS, i);
    const bool counts = name == "optimizer/iterations" || name.ends_with("/count");
    EXPECT_EQ(dl4_port_dtype(fit.step, DL4_WEIGHTS, i), counts ? DL4_INT64 : DL4_FLOAT32) << name;
  }
  EXPECT_EQ(weight_of(fit.step, "optimizer/momentum/net/hidden/bias").size(), 8u);
  // The learning rate is set between runs.
  auto zero = tensor({}, {0});
  ok(dl4_model_set_weight(fit.step, "optimizer/learning_rate", zero));
  const auto before = weight_of(fit.net, "hidden/kernel");
  run({x, y});
  EXPECT_EQ(weight_of(fit.net, "hidden/kernel"), before);
}

TEST(GraphUpdates, ASavedModelGoesOnToTheLastBit) {
  auto x = tensor({5, 4}, numbers(20)), y = tensor({5, 3}, numbers(15));
  Fit fit(R"("Nadam")");
  Runs run(fit.step);
  run({x, y});
  run({x, y});
  const std::string bytes = saved(fit.step);
  Own<dl4_model> loaded;
  ok(load_copy(nullptr, bytes.data(), static_cast<int64_t>(bytes.size()), nullptr, loaded.out()));
  Runs again(loaded);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(again({x, y}), run({x, y}));
  EXPECT_EQ(weight_of(loaded, "net/answer/kernel"), weight_of(fit.net, "answer/kernel"));
  EXPECT_EQ(saved(loaded), saved(fit.step));
  Own<dl4_model> copy;
  ok(dl4_model_clone(fit.step, copy.out()));
  EXPECT_EQ(Runs(copy)({x, y}), run({x, y}));
  for (const char *format : {"keras", "weights.h5", "onnx"}) {
    dl4_blob *blob = nullptr;
    const Refusal r =
        refusal(dl4_model_save_bytes(fit.step, (std::string(R"({"format": ")") + format + "\"}").c_str(), &blob));
    EXPECT_EQ(r.code, DL4_UNSUPPORTED) << format << r.message;
  }
}

TEST(GraphUpdates, BitsAreThoseOfOneThread) {
  std::vector<std::vector<float>> seen;
  for (int threads : {1, 2}) {
    Own<dl4_context> c;
    ok(dl4_context_create((R"({"reproducible": "strict", "threads": )" + std::to_string(threads) + "}").c_str(),
                          c.out()));
    Fit fit(R"("Adam")", c);
    Runs run(fit.step);
    auto x = tensor({200, 4}, numbers(800)), y = tensor({200, 3}, numbers(600));
    for (int i = 0; i < 5; ++i) run({x, y});
    seen.push_back(weight_of(fit.net, "hidden/kernel"));
  }
  EXPECT_EQ(seen[0], seen[1]);
}

// Noise and dropout go on where they were, in the same session and out of a file.
TEST(GraphUpdates, DrawsAreCountedInTheModel) {
  Step g;
  const dl4_node x = g.in("x", {2, 50}), w = g.call("Weight", counter, {}, "w");
  const dl4_node normal = g.call("RandomNormal", R"({"shape": [50], "mean": 3, "stddev": 0.5})", {x});
  const dl4_node uniform = g.call("RandomUniform", R"({"shape": [100], "axes": 0, "minval": -2, "maxval": 1})", {});
  const dl4_node kept = g.call("Dropout", R"({"rate": 0.5})", {x}, nullptr, R"({"training": true})");
  const dl4_node whole = g.call("Dropout", R"({"rate": 0.5})", {x}, nullptr, R"({"training": false})");
  auto m = g.build({x}, {g.after(normal, {g.assign(w, w)}), uniform, kept, whole});
  auto ones = tensor({2, 50}, std::vector<float>(100, 1));
  Runs run(m);
  const auto first = run({ones}), second = run({ones});
  EXPECT_NE(first[0], second[0]);
  EXPECT_NE(first[1], second[1]);
  EXPECT_NE(first[2], second[2]);
  EXPECT_EQ(first[3], std::vector<float>(100, 1));
  double mean = 0;
  for (float v : first[0]) mean += static_cast<double>(v) / 100;
  EXPECT_NEAR(mean, 3, 0.2);
  const auto [least, most] = std::minmax_element(first[1].begin(), first[1].end());
  EXPECT_GE(*least, -2);
  EXPECT_LE(*most, 1);
  EXPECT_GT(*most - *least, 2);

  const std::string bytes = saved(m);
  Own<dl4_model> loaded;
  ok(load_copy(nullptr, bytes.data(), static_cast<int64_t>(bytes.size()), nullptr, loaded.out()));
  EXPECT_EQ(Runs(loaded)({ones}), run({ones}));
  EXPECT_NE(Runs(m)({ones}), second) << "another session of the model goes on too";
}

// A pinned weight is copied, not written.
TEST(GraphUpdates, SessionsOfTheModelKeepTheirWeights) {
  Fit fit(R"("SGD")");
  Runs before(fit.net), run(fit.step);
  auto x = tensor({5, 4}, numbers(20)), y = tensor({5, 3}, numbers(15));
  const auto first = before({x});
  run({x, y});
  EXPECT_EQ(before({x}), first);
  Runs after(fit.net);
  EXPECT_NE(after({x}), first);
  const auto second = after({x});
  run({x, y});
  EXPECT_EQ(before({x}), first);
  EXPECT_EQ(after({x}), second);
}

TEST(GraphUpdates, TrainersSeeThemAndGoOn) {
  Fit fit(R"("SGD")");
  auto t = trainer(fit.net);
  Runs run(fit.step);
  auto x = tensor({5, 4}, numbers(20)), y = tensor({5, 3}, numbers(15));
  dl4_tensor *in = x, *to = y;
  double loss[3];
  ok(dl4_trainer_step(t, &in, 1, &to, 1, nullptr, 0, &loss[0], 1, nullptr));
  const float between = run({x, y})[0][0];
  ok(dl4_trainer_step(t, &in, 1, &to, 1, nullptr, 0, &loss[1], 1, nullptr));
  EXPECT_LT(between, loss[0]);
  EXPECT_LT(loss[1], between);
}

TEST(GraphUpdates, RefuseWhatIsNoWeightOrDoesNotFit) {
  Step g;
  const dl4_node x = g.in("x", {2}), any = g.in("any", {-1}), ids = g.in("ids", {2}, DL4_INT32);
  const dl4_node w = g.call("Weight", counter, {}, "w");
  dl4_node n = 7;
  const auto refused = [&](dl4_error *e, int32_t code, const std::string &words) {
    const Refusal r = refusal(e);
    EXPECT_EQ(r.code, code) << r.message;
    EXPECT_NE(r.message.find(words), std::string::npos) << r.message;
    EXPECT_EQ(n, -1);
    n = 7;
  };
  refused(dl4_graph_add_weight(g.g, "w/kernel", &n), DL4_NOT_FOUND, "no weight \"w/kernel\"");
  refused(dl4_graph_add_weight(g.g, nullptr, &n), DL4_INVALID_ARGUMENT, "weight");
  refused(dl4_graph_add_assign(g.g, nullptr, x, x, &n), DL4_INVALID_ARGUMENT, "input 0: expected a weight");
  refused(dl4_graph_add_assign(g.g, nullptr, w, any, &n), DL4_SHAPE_MISMATCH, "expected float32 (2,) for weight");
  refused(dl4_graph_add_assign(g.g, nullptr, w, ids, &n), DL4_SHAPE_MISMATCH, "got int32 (2,)");
  refused(dl4_graph_add_assign(g.g, nullptr, w, 99, &n), DL4_INVALID_ARGUMENT, "node 99 is not in this graph");
  refused(dl4_graph_add_assign(g.g, R"({"operation": "set"})", w, x, &n), DL4_INVALID_ARGUMENT, "operation");
  const auto update = [&](const std::string &json, const Nodes &weights, const Nodes &gradients) {
    return dl4_graph_add_update(g.g, "optimizer", json.c_str(), -1, weights.data(),
                                static_cast<int64_t>(weights.size()), gradients.data(),
                                static_cast<int64_t>(gradients.size()), &n);
  };
  refused(update(R"({"optimizer": "SGD"})", {w, w}, {x, x}), DL4_INVALID_ARGUMENT, "weight \"w/value\" stands twice");
  refused(update(R"({"optimizer": "SGD"})", {x}, {x}), DL4_INVALID_ARGUMENT, "input 0: expected a weight");
  refused(update(R"({"optimizer": "SGD"})", {w}, {}), DL4_INVALID_ARGUMENT, "expected 1, one for each weight, got 0");
  refused(update(R"({"optimizer": "SGD"})", {w}, {any}), DL4_SHAPE_MISMATCH, "for weight \"w/value\"");
  refused(update(R"({"optimizer": "SGDD"})", {w}, {x}), DL4_UNKNOWN_KIND, "SGDD");
  refused(update(R"({"optimizer": {"class_name": "SGD", "config": {"use_ema": true}}})", {w}, {x}), DL4_UNSUPPORTED,
          "use_ema");
  refused(update(R"({"optimizer": {"class_name": "SGD", "config": {"gradient_accumulation_steps": 2}}})", {w}, {x}),
          DL4_UNSUPPORTED, "gradient_accumulation_steps");
  refused(update(R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": {"class_name": "CosineDecay",
                  "config": {"initial_learning_rate": 0.1, "decay_steps": 10}}}}})",
                 {w}, {x}),
          DL4_UNSUPPORTED, "CosineDecay");
  refused(update(R"({"optimizer": "SGD", "exclude_from_weight_decay": ["bias"]})", {w}, {x}), DL4_INVALID_ARGUMENT,
          "none of the weights is meant by \"bias\"");
  refused(update(R"({"optimizer": "SGD"})", {}, {}), DL4_INVALID_ARGUMENT, "expected 2 or more inputs");
}

TEST(GraphUpdates, AStepIsNoTrainersModelAndNoLayer) {
  Fit fit(R"("SGD")");
  dl4_trainer *t = nullptr;
  Refusal r = refusal(dl4_trainer_create(fit.step, R"({"optimizer": "SGD", "loss": "output"})", &t));
  EXPECT_EQ(r.code, DL4_UNSUPPORTED);
  EXPECT_NE(r.message.find("assigns weights"), std::string::npos) << r.message;
  for (const char *option : {R"({"states": true})", R"({"gradients": ["x"]})"}) {
    dl4_session *s = nullptr;
    r = refusal(dl4_session_create(fit.step, option, &s));
    EXPECT_EQ(r.code, DL4_UNSUPPORTED) << r.message;
  }
  Step outer;
  const dl4_node x = outer.in("x", {-1, 4}), y = outer.in("target", {-1, 3});
  const dl4_node in[] = {x, y};
  dl4_node n = 7;
  r = refusal(dl4_graph_add(outer.g, "Functional", "step", nullptr, nullptr, refs("model", fit.step), in, 2, &n, 1));
  EXPECT_EQ(r.code, DL4_UNSUPPORTED) << r.message;
}

// Values of one update of a weight {2, 3}: the weight and the slots.
struct UpdateOfValues {
  std::string optimizer;
  std::vector<std::vector<int64_t>> shapes{};  // of the slots
  float start = 0;                             // of the first
};

std::vector<UpdateOfValues> updates_of_values() {
  const std::vector<int64_t> own{2, 3};
  return {
      {R"("SGD")"},
      {R"({"class_name": "SGD", "config": {"momentum": 0.9, "nesterov": true, "weight_decay": 0.1}})", {own}},
      {R"("Adam")", {own, own}},
      {R"({"class_name": "Adam", "config": {"amsgrad": true}})", {own, own, own}},
      {R"("AdamW")", {own, own}},
      {R"({"class_name": "RMSprop", "config": {"momentum": 0.9, "centered": true}})", {own, own, own}},
      {R"("Adagrad")", {own}, 0.1f},
      {R"("Adadelta")", {own, own}},
      {R"("Adamax")", {own, own}},
      {R"({"class_name": "Nadam", "config": {"beta_1": 0.8}})", {own, own, {}}},
      {R"("Lion")", {own}},
      {R"("Ftrl")", {own, own}, 0.1f},
      {R"("Lamb")", {own, own}},
      {R"("Adafactor")", {{2}, {3}}},
      {R"("Muon")", {own}},
  };
}

TEST(GraphUpdates, AnUpdateOfValuesIsThatOfWeights) {
  const std::vector<int64_t> own{2, 3};
  for (const UpdateOfValues &u : updates_of_values()) {
    SCOPED_TRACE(u.optimizer);
    const std::string config = R"({"optimizer": )" + u.optimizer + "}";
    Step assigned;
    const dl4_node w = assigned.call("Weight", R"({"shape": [2, 3], "initializer": "Ones"})", {}, "w");
    const dl4_node by = assigned.in("g", own);
    auto expected = assigned.build({by}, {assigned.update("optimizer", config, {w}, {by})});
    Step values;
    Nodes in{values.in("w", own), values.in("g", own), values.in("rate", {}), values.in("t", {}, DL4_INT64)};
    std::vector<std::vector<float>> now{{1, 1, 1, 1, 1, 1}};
    for (const std::vector<int64_t> &shape : u.shapes) {
      in.push_back(values.in(("slot" + std::to_string(in.size())).c_str(), shape));
      const size_t n = shape.empty() ? 1 : shape.size() == 1 ? static_cast<size_t>(shape[0]) : 6;
      now.emplace_back(n, shape.empty() ? 1 : now.size() == 1 ? u.start : 0);
    }
    dl4_layer layer = -1;
    Nodes out(now.size(), -1);
    ok(dl4_graph_add_layer(values.g, "UpdateStep", nullptr, config.c_str(), nullptr, &layer));
    ok(dl4_graph_call(values.g, layer, nullptr, nullptr, in.data(), static_cast<int64_t>(in.size()), out.data(),
                      static_cast<int64_t>(out.size())));
    auto m = values.build(in, out);
    Runs assign(expected), run(m);
    const float rate = weight_of(expected, "optimizer/learning_rate")[0];
    for (int64_t t = 0; t < 3; ++t) {
      auto g = tensor(own, {0.5f, -1, 2, -0.25f, 0.125f, static_cast<float>(t)});
      assign({g});
      Own<dl4_tensor> count;
      ok(dl4_tensor_create(nullptr, DL4_INT64, 0, nullptr, count.out()));
      *static_cast<int64_t *>(dl4_tensor_data(count)) = t;
      std::vector<Own<dl4_tensor>> held;
      held.push_back(tensor(own, now[0]));
      held.push_back(tensor({}, {rate}));
      std::vector<dl4_tensor *> given{held[0], g, held[1], count};
      for (size_t i = 0; i < u.shapes.size(); ++i) {
        held.push_back(tensor(u.shapes[i], now[i + 1]));
        given.push_back(held.back());
      }
      now = run(given);
      EXPECT_EQ(now[0], weight_of(expected, "w/value"));
    }
  }
}

TEST(GraphUpdates, AnUpdateOfValuesRefusesWhatDoesNotFit) {
  Step g;
  const dl4_node w = g.in("w", {2}), other = g.in("other", {3}), any = g.in("any", {-1});
  const dl4_node rate = g.in("rate", {}), t = g.in("t", {}, DL4_INT64), ids = g.in("ids", {2}, DL4_INT32);
  const auto refused = [&](const std::string &optimizer, const Nodes &in, int32_t code, const std::string &words) {
    dl4_node n = -1;
    const std::string config = R"({"optimizer": )" + optimizer + "}";
    const Refusal r = refusal(dl4_graph_add(g.g, "UpdateStep", nullptr, config.c_str(), "{}", nullptr, in.data(),
                                            static_cast<int64_t>(in.size()), &n, 1));
    EXPECT_EQ(r.code, code) << r.message;
    EXPECT_NE(r.message.find(words), std::string::npos) << r.message;
  };
  const std::string adam = R"("Adam")", sgd = R"("SGD")";
  refused(sgd, {w, w, rate}, DL4_INVALID_ARGUMENT, "expected 4 or more inputs");
  refused(adam, {w, w, rate, t, w}, DL4_INVALID_ARGUMENT, "Adam has 2 slots for a weight, got 1");
  refused(adam, {w, w, rate, t, w, other}, DL4_SHAPE_MISMATCH, "slot \"velocity\": expected float32 (2,), got");
  refused(sgd, {w, other, rate, t}, DL4_SHAPE_MISMATCH, "gradient: expected float32 (2,), got float32 (3,)");
  refused(sgd, {ids, w, rate, t}, DL4_SHAPE_MISMATCH, "weight: expected float32");
  refused(sgd, {w, w, w, t}, DL4_SHAPE_MISMATCH, "learning rate: expected float32 ()");
  refused(sgd, {w, w, rate, rate}, DL4_SHAPE_MISMATCH, "number of updates: expected int64 ()");
  refused(sgd, {any, any, rate, t}, DL4_SHAPE_MISMATCH, "expected a weight of known shape");
  refused("null", {w, w, rate, t}, DL4_INVALID_ARGUMENT, "expected an optimizer, got null");
  for (const char *key : {"use_ema\": true", "gradient_accumulation_steps\": 2", "clipnorm\": 1", "clipvalue\": 1",
                          "global_clipnorm\": 1", "loss_scale_factor\": 2"})
    refused(std::string(R"({"class_name": "SGD", "config": {")") + key + "}}", {w, w, rate, t}, DL4_UNSUPPORTED,
            std::string(key).substr(0, std::string(key).find('"')));
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
