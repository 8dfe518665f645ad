// Calls one kind of layer without a graph: its ops go into a Program that the harness can run.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "harness/evaluate.hpp"
#include "kinds/layer.hpp"

namespace dl4::test {

using kinds::Arguments;
using kinds::Symbol;

class LayerCall final : public kinds::Host {
 public:
  LayerCall(const std::string &kind, const Json &attributes = Json::object())
      : layer(std::static_pointer_cast<const kinds::Layer>(kinds::find("layer", kind).make(attributes))), e(program) {}

  Symbol input(const Shape &shape, DType dtype = DType::f32) {
    return {e.input(text("in", program.inputs.size()), dtype, shape), ops::none};
  }
  // A value with a mask over its first axes, which is the next input.
  Symbol masked(const Shape &shape, int axes = 2) {
    Symbol s = input(shape);
    s.mask = input(shape.first(axes), DType::boolean).value;
    return s;
  }
  std::vector<Symbol> call(const std::vector<Symbol> &in, const Arguments &arguments = {}, bool training = false) {
    kinds::Call c(e, *this, in, arguments, training);
    return layer->call(c);
  }
  // Runs what has been called; weights are ones, the count of draws is 1.
  std::vector<Tensor> run(const std::vector<Symbol> &out, const std::vector<Tensor> &inputs) {
    program.outputs.clear();
    for (const Symbol &s : out) program.outputs.push_back(s.value);
    ops::verify(program);
    std::vector<Tensor> states;
    for (Id id : program.states) {
      const ops::Value &v = program[id];
      states.push_back(naive(v.dtype, v.shape, [](const auto &) { return 1; }));
    }
    return evaluate(program, inputs, states).outputs;
  }
  Shape shape(const Symbol &s) const { return e.shape(s.value); }

  Id weight(const kinds::WeightSpec &spec) override {
    EXPECT_TRUE(spec.initializer) << spec.name;
    auto it = weights.find(spec.name);
    if (it != weights.end()) {
      EXPECT_EQ(e.shape(it->second), spec.shape) << spec.name;
      return it->second;
    }
    specs.push_back(spec);
    return weights[spec.name] = e.state(spec.name, spec.dtype, spec.shape);
  }
  uint64_t random_seed(std::optional<int64_t> own) override { return own ? static_cast<uint64_t>(*own) : ++seeds; }
  Id draws() override { return count == ops::none ? count = e.state("draws", DType::i64, {}) : count; }
  void add_loss(Id scalar) override { losses.push_back(scalar); }
  void write(const std::string &name, Id value) override { weights.at(name) = value; }
  bool trainable(const std::string &) const override { return true; }

  ops::Program program;
  std::shared_ptr<const kinds::Layer> layer;
  Emit e;
  std::map<std::string, Id> weights;
  std::vector<kinds::WeightSpec> specs;
  std::vector<Id> losses;
  Id count = ops::none;
  uint64_t seeds = 0;
};

// f must be refused with `code` and a message that holds `words`.
template <class F>
void expect_refusal(Code code, const std::string &words, F f) {
  try {
    f();
    FAIL() << "not refused: " << words;
  } catch (const Error &error) {
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_NE(error.message.find(words), std::string::npos) << error.message << "\n  expected: " << words;
  }
}
inline void expect_config_refusal(const std::string &kind, const Json &config, Code code, const std::string &words) {
  expect_refusal(code, words, [&] { LayerCall(kind, config); });
}
// The same for calling it on inputs of these shapes.
inline void expect_call_refusal(const std::string &kind, const Json &config, const std::vector<Shape> &shapes,
                                const std::string &words, Code code = Code::shape_mismatch, DType dtype = DType::f32) {
  expect_refusal(code, words, [&] {
    LayerCall l(kind, config);
    std::vector<Symbol> in;
    for (const Shape &s : shapes) in.push_back(l.input(s, dtype));
    l.call(in);
  });
}

}  // namespace dl4::test
