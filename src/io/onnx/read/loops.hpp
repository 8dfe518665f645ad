// If, Loop and Scan that run as such: bodies that are models, inside of a layer.
#pragma once

#include "graph/model.hpp"
#include "io/onnx/read/flow.hpp"

namespace dl4::io::onnx {

struct LoopParts {
  const File &body;
  Values states = {};
  std::optional<Dim> trips = {};  // none: there is no such number, or the model computes it
  std::optional<bool> on = {};    // the condition before the first step; none: the model computes it

  bool to_the_end = false;  // it is of `trips` steps, whatever its condition is

  // Does it carry value i as it is?
  bool still(size_t i) const;
  size_t stacked() const { return body.outputs.size() - 1 - states.size(); }
};

void branch(const Op &op, const File &then, const File &otherwise);
void run_loop(const Op &op, const LoopParts &p);

// A body that becomes a model, and that as a layer of the layer that runs it.
class Inside {
 public:
  Inside(const Op &op, const File &body)
      : body(body), op_(op), reader(body, op.r.graph().settings(), op.r.outside(), &op.r) {}

  // Input i of the body: a value like that, of these dims.
  void input(size_t i, const Value &like, const std::vector<Dim> &dims);
  void known(size_t i, Value v) { reader.set(body.inputs[i].name, std::move(v)); }
  // Once its nodes are read: an output as it becomes one of the model, behind those that are there.
  void output(Value &v);
  // The layer as an attribute, and its weights.
  Json layer(const char *name, Weights &weights);

  const File &body;
  std::vector<Node> in, out;
  std::vector<Node> seen;  // of the graph around it: the inputs of the model behind those of the body

 private:
  const Op &op_;

 public:
  Reader reader;
};

// Gives output i of the node a value like that of a body.
void give_like(const Op &op, size_t i, Node n, const Value &like, std::vector<Dim> dims, Perm perm = {});

}  // namespace dl4::io::onnx
