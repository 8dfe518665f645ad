// Training steps as graphs, against Keras on TensorFlow: golden/graph_programs.py.
#include <cmath>
#include <map>

#include "capi/step.hpp"

namespace dl4_test {
namespace {

Own<dl4_tensor> golden(const std::string &name) {
  Own<dl4_tensor> t;
  ok(dl4_tensor_load(nullptr, DL4_SOURCE_DIR "/tests/data/graph_programs.npz", name.c_str(), t.out()));
  return t;
}

struct LayerOf {
  const char *kind, *name;
  std::string json = "{}";
};

// A program: models that are layers of a graph, inputs, outputs, weights and results of Keras's.
struct Program : Step {
  explicit Program(std::string name) : name(std::move(name)) {}

  const dl4_model *sequential(const char *as, const std::vector<int64_t> &shape, const std::vector<LayerOf> &layers) {
    Step g;
    const dl4_node x = g.in("x", shape);
    dl4_node y = x;
    for (const LayerOf &l : layers) y = g.call(l.kind, l.json, {y}, l.name);
    models[as] = g.build({x}, {y});
    const dl4_model *m = models[as];
    for (int64_t i = 0; i < dl4_port_count(m, DL4_WEIGHTS); ++i) {
      const char *w = dl4_port_name(m, DL4_WEIGHTS, i);
      ok(dl4_model_set_weight(const_cast<dl4_model *>(m), w, golden(name + "/before/" + as + '/' + w)));
    }
    return m;
  }
  dl4_node given(const char *as) {
    values.push_back(golden(name + "/in/" + as));
    const dl4_tensor *t = values.back();
    inputs.push_back(in(as, {dl4_tensor_dims(t), dl4_tensor_dims(t) + dl4_tensor_rank(t)}));
    return inputs.back();
  }

  dl4_node sum(dl4_node x, const std::string &axis = "null") { return call("Sum", R"({"axis": )" + axis + "}", {x}); }
  dl4_node mean(dl4_node x, const std::string &axis = "null") { return call("Mean", R"({"axis": )" + axis + "}", {x}); }
  dl4_node plus(dl4_node a, dl4_node b) { return call("Add", "{}", {a, b}); }
  dl4_node minus(dl4_node a, dl4_node b) { return call("Subtract", "{}", {a, b}); }
  dl4_node times(dl4_node a, dl4_node b) { return call("Multiply", "{}", {a, b}); }
  dl4_node scaled(dl4_node a, double by, double offset = 0) {
    return call("Rescaling", R"({"scale": )" + std::to_string(by) + R"(, "offset": )" + std::to_string(offset) + "}",
                {a});
  }
  dl4_node square(dl4_node x) { return call("Square", "{}", {x}); }
  dl4_node softmax(dl4_node x) { return call("Softmax", "{}", {x}); }
  dl4_node loss(const std::string &json, dl4_node y_true, dl4_node y_pred) {
    return call("Loss", R"({"loss": )" + json + "}", {y_true, y_pred});
  }
  dl4_node optimize(const char *as, const std::string &optimizer, const Nodes &weights, dl4_node loss) {
    return update(as, R"({"optimizer": )" + optimizer + "}", weights, gradients({loss}, weights));
  }

  // Runs the outputs and compares; `others` are made too.
  void check(Nodes outputs, const Nodes &others, int steps = 3, float tolerance = 2e-4f) {
    outputs[0] = after(outputs[0], others);
    auto m = build(inputs, outputs);
    Runs run(m);
    std::vector<dl4_tensor *> in(values.begin(), values.end());
    for (int step = 0; step < steps; ++step) {
      const auto out = run(in);
      for (size_t i = 0; i < out.size(); ++i) {
        SCOPED_TRACE("step " + std::to_string(step) + " output " + std::to_string(i));
        expect_near(out[i], floats(golden(name + "/out/" + std::to_string(step) + '/' + std::to_string(i))), tolerance);
      }
    }
    for (const auto &[as, model] : models)
      for (int64_t i = 0; i < dl4_port_count(model, DL4_WEIGHTS); ++i) {
        const char *w = dl4_port_name(model, DL4_WEIGHTS, i);
        SCOPED_TRACE(as + '/' + w);
        expect_near(weight_of(model, w), floats(golden(name + "/after/" + as + '/' + w)), tolerance);
      }
  }

  const std::string name;
  std::map<std::string, Own<dl4_model>> models;
  std::vector<Own<dl4_tensor>> values;
  Nodes inputs;
};

TEST(GraphPrograms, Gan) {
  Program p("gan");
  const dl4_model *g = p.sequential("g", {-1, 3},
                                    {{"Dense", "g1", R"({"units": 8, "activation": "relu"})"},
                                     {"Dense", "g2", R"({"units": 6, "activation": "tanh"})"}});
  const dl4_model *d = p.sequential(
      "d", {-1, 6},
      {{"Dense", "d1", R"({"units": 8, "activation": "leaky_relu"})"}, {"Dense", "d2", R"({"units": 1})"}});
  const std::string bce = R"({"class_name": "BinaryCrossentropy", "config": {"from_logits": true}})";
  const dl4_node real = p.given("real"), z = p.given("z");
  const dl4_node ones = p.constant({5, 1}, std::vector<float>(5, 1)),
                 zeros = p.constant({5, 1}, std::vector<float>(5, 0));
  dl4_layer judge = -1;
  const dl4_node of_real = p.model(d, "d", real, &judge), fake = p.model(g, "g", z);
  const dl4_node d_loss = p.plus(p.loss(bce, ones, of_real), p.loss(bce, zeros, p.again(judge, fake)));
  const dl4_node d_done = p.optimize("d_optimizer", R"({"class_name": "Adam", "config": {"learning_rate": 0.05}})",
                                     p.weights(d, "d"), d_loss);
  // Added behind the update: it is judged by the new weights.
  const dl4_node g_loss = p.loss(bce, ones, p.again(judge, fake));
  const dl4_node g_done = p.optimize("g_optimizer", R"({"class_name": "Adam", "config": {"learning_rate": 0.02}})",
                                     p.weights(g, "g"), g_loss);
  p.check({d_loss, g_loss}, {d_done, g_done});
}

TEST(GraphPrograms, Vae) {
  Program p("vae");
  const dl4_model *e = p.sequential(
      "e", {-1, 6}, {{"Dense", "e1", R"({"units": 8, "activation": "relu"})"}, {"Dense", "e2", R"({"units": 4})"}});
  const dl4_model *d = p.sequential(
      "d", {-1, 2}, {{"Dense", "d1", R"({"units": 8, "activation": "relu"})"}, {"Dense", "d2", R"({"units": 6})"}});
  const dl4_node x = p.given("x"), noise = p.given("noise"), code = p.model(e, "e", x);
  const dl4_node mean = p.call("Slice", R"({"start_indices": [0, 0], "shape": [-1, 2]})", {code});
  const dl4_node log_var = p.call("Slice", R"({"start_indices": [0, 2], "shape": [-1, 2]})", {code});
  const dl4_node deviation = p.call("Exp", "{}", {p.scaled(log_var, 0.5)});
  const dl4_node y = p.model(d, "d", p.plus(mean, p.times(deviation, noise)));
  const dl4_node rebuilt = p.mean(p.sum(p.square(p.minus(x, y)), "1"));
  const dl4_node spread = p.minus(p.minus(p.scaled(log_var, 1, 1), p.square(mean)), p.call("Exp", "{}", {log_var}));
  const dl4_node kl = p.mean(p.sum(p.scaled(spread, -0.5), "1")), total = p.plus(rebuilt, kl);
  Nodes weights = p.weights(e, "e");
  for (dl4_node w : p.weights(d, "d")) weights.push_back(w);
  p.check({total, kl},
          {p.optimize("optimizer", R"({"class_name": "Adam", "config": {"learning_rate": 0.02}})", weights, total)});
}

TEST(GraphPrograms, DqnWithATargetNet) {
  Program p("dqn");
  const auto net = [&](const char *as) {
    const std::string one = as + std::string("1"), two = as + std::string("2");
    return p.sequential(
        as, {-1, 4},
        {{"Dense", one.c_str(), R"({"units": 8, "activation": "relu"})"}, {"Dense", two.c_str(), R"({"units": 3})"}});
  };
  const dl4_model *q = net("q"), *t = net("t");
  const dl4_node state = p.given("state"), action = p.given("action"), reward = p.given("reward");
  const dl4_node best = p.call("Max", R"({"axis": 1})", {p.model(t, "t", p.given("following"))});
  const dl4_node target = p.plus(reward, p.scaled(best, 0.9));
  const dl4_node chosen = p.sum(p.times(p.model(q, "q", state), action), "1");
  const dl4_node loss = p.loss(R"("Huber")", target, chosen);
  Nodes done{p.optimize("optimizer", R"({"class_name": "RMSprop", "config": {"learning_rate": 0.01}})",
                        p.weights(q, "q"), loss)};
  const Nodes now = p.weights(q, "q"), late = p.weights(t, "t");
  for (size_t i = 0; i < now.size(); ++i)
    done.push_back(p.assign(late[i], p.plus(p.scaled(late[i], 0.9), p.scaled(now[i], 0.1))));
  p.check({loss}, done);
}

TEST(GraphPrograms, Distillation) {
  Program p("distillation");
  const dl4_model *teacher =
      p.sequential("teacher", {-1, 4},
                   {{"Dense", "t1", R"({"units": 8, "activation": "relu"})"}, {"Dense", "t2", R"({"units": 3})"}});
  const dl4_model *student = p.sequential("student", {-1, 4}, {{"Dense", "s1", R"({"units": 3})"}});
  const dl4_node x = p.given("x"), y = p.given("y");
  const dl4_node soft = p.softmax(p.scaled(p.model(teacher, "teacher", x), 1.0 / 3));
  const dl4_node own = p.model(student, "student", x);
  const dl4_node hard = p.loss(R"({"class_name": "CategoricalCrossentropy", "config": {"from_logits": true}})", y, own);
  const dl4_node near = p.loss(R"("KLDivergence")", soft, p.softmax(p.scaled(own, 1.0 / 3)));
  const dl4_node loss = p.plus(p.scaled(hard, 0.1), p.scaled(near, 0.9));
  p.check({loss},
          {p.optimize("optimizer", R"({"class_name": "SGD", "config": {"learning_rate": 0.1, "momentum": 0.9}})",
                      p.weights(student, "student"), loss)});
}

TEST(GraphPrograms, AccumulatedGradients) {
  Program p("accumulation");
  const dl4_model *m = p.sequential(
      "m", {-1, 3}, {{"Dense", "m1", R"({"units": 4, "activation": "tanh"})"}, {"Dense", "m2", R"({"units": 2})"}});
  const Nodes batches{p.given("x1"), p.given("y1"), p.given("x2"), p.given("y2")};
  dl4_layer layer = -1;
  Nodes weights, sums, done;
  dl4_node loss = -1;
  for (size_t at : {0u, 2u}) {
    const dl4_node y = at ? p.again(layer, batches[at]) : p.model(m, "m", batches[at], &layer);
    loss = p.mean(p.square(p.minus(y, batches[at + 1])));
    if (!at) weights = p.weights(m, "m");
    const Nodes found = p.gradients({loss}, weights);
    for (size_t i = 0; i < found.size(); ++i) {
      const dl4_node half = p.scaled(found[i], 0.5);
      if (!at) {
        const std::string shape = i == 0 ? "[3, 4]" : i == 1 ? "[4]" : i == 2 ? "[4, 2]" : "[2]";
        sums.push_back(p.call("Weight", R"({"learned": false, "initializer": "Ones", "shape": )" + shape + "}", {}));
      }
      done.push_back(p.assign(sums[i], half, at ? R"({"operation": "assign_add"})" : "{}"));
    }
  }
  const Nodes means(done.begin() + static_cast<std::ptrdiff_t>(sums.size()), done.end());
  done.push_back(p.update("optimizer", R"({"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.05}}})",
                          weights, means));
  p.check({loss}, done);
}

}  // namespace
}  // namespace dl4_test
