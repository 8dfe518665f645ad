// If, Loop and Scan at run time: bodies become models inside a layer.
// Shared by readers of LSTM, GRU and RNN.
#pragma once

#include "graph/model.hpp"
#include "io/onnx/read/nodes.hpp"

namespace dl4::io::onnx {

struct LoopParts {
  const File &body;
  Values states = {};
  std::optional<Dim> trips = {};  // none: unlimited, or computed by the model
  std::optional<bool> on = {};    // the condition before the first step; none: computed by the model

  bool to_the_end = false;  // runs all `trips` steps whatever its condition

  // Whether value i is carried unchanged.
  bool still(size_t i) const;
  size_t stacked() const { return body.outputs.size() - 1 - states.size(); }
};

void branch(const Op &op, const File &then, const File &otherwise);
void run_loop(const Op &op, const LoopParts &p);

// A body that becomes a model, used as a layer of the layer that runs it.
class Inside {
 public:
  Inside(const Op &op, const File &body)
      : body(body), op_(op), reader(body, op.r.graph().settings(), op.r.outside(), &op.r) {}

  // Input i of the body: like this value, with these dims.
  void input(size_t i, const Value &like, const std::vector<Dim> &dims);
  void known(size_t i, Value v) { reader.set(body.inputs[i].name, std::move(v)); }
  // After its nodes: adds an output of the model.
  void output(Value &v);
  // The layer as an attribute, and its weights.
  Json layer(const char *name, Weights &weights);
  // A layer Scan whose body this is, called on `from`: so many states, then sequences. The indices of sequences that
  // are read and of outputs that are stacked from the end.
  std::vector<Node> scan(std::vector<Node> from, size_t states, size_t sequences, const Ints &backwards,
                         const Ints &reversed);

  const File &body;
  std::vector<Node> in, out;
  std::vector<Node> seen;  // values of the enclosing graph: the model's inputs after those of the body

 private:
  const Op &op_;

 public:
  Reader reader;
};

// Makes output i of the node a value like one in a body.
void give_like(const Op &op, size_t i, Node n, const Value &like, std::vector<Dim> dims, Perm perm = {});

// An entry of "activations" in lower case, with its parameters.
struct Function {
  std::string name;
  double alpha = 0, beta = 0;
};
// By direction: as many as the cell has by default.
std::vector<std::vector<Function>> functions_of(const Op &op);

// A recurrent network that no layer supports, as a layer Scan: with peepholes, lengths, clipping, or other activations.
// com.microsoft's DynamicQuantizeLSTM quantizes each product's input by its minimum and maximum.
void recurrent_by_steps(const Op &op);

}  // namespace dl4::io::onnx
