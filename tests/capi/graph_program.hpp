// Training steps and explanations as graphs, beside what Keras on TensorFlow computes: golden/graph_programs.py.
#pragma once

#include <map>

#include "step.hpp"

namespace dl4_test {

inline Own<dl4_tensor> golden(const std::string &name) {
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
  dl4_node matmul(dl4_node a, dl4_node b) { return call("MatMul", "{}", {a, b}); }
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

}  // namespace dl4_test
