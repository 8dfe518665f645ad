// A model: inputs and outputs of a graph, and the weights used between them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"

namespace dl4::graph {

class Model {
 public:
  // Initialises weights that no other model of the graph has initialised, unless told not to.
  Model(std::shared_ptr<const Graph> graph, std::vector<Node> in, std::vector<Node> out, bool initialise = true);

  const Graph &graph() const { return *graph_; }
  const std::vector<Node> &inputs() const { return in_; }
  const std::vector<Node> &outputs() const { return out_; }
  const std::vector<std::shared_ptr<Weight>> &weights() const { return weights_; }
  // The weights, followed by the states of stateful layers, which have names like weights.
  std::vector<std::shared_ptr<Weight>> held() const;
  // Whether its calls assign weights. Then calls run in the order in which they were added, and a session writes the
  // assigned values.
  bool assigns() const { return assigns_; }
  const std::string &input_name(size_t i) const;
  const std::string &output_name(size_t i) const { return output_names_[i]; }  // the layer's name
  // Refuses with NOT_FOUND and the nearest name.
  const std::shared_ptr<Weight> &weight(const std::string &name) const;
  int64_t parameters(bool trainable) const;
  // A copy of a weight; "*" concatenates the trainable ones in order.
  Tensor get_weight(const std::string &name) const;
  // Sets a weight or, with "*", all trainable ones or none. Pinned values don't change.
  void set_weight(const std::string &name, const Tensor &value);
  // Sets whether training changes a layer, a weight or, with "*", everything. Trainers notice at their next step.
  void set_trainable(const std::string &name, bool yes);
  // Refuses a type or shape unlike that weight's.
  void need_fit(const std::string &name, DType dtype, const Shape &shape) const;
  // The current values of all held weights; they stay unchanged while any of the tensors or a copy lives.
  std::vector<Tensor> pin() const;

  Architecture architecture() const;
  std::string summary() const;  // as a table
  std::string dot() const;      // in Graphviz's language
  // A model over its own graph, with copies of the weights.
  std::shared_ptr<Model> clone() const;

  // True while a trainer owns any of the weights, possibly through another model.
  bool in_training() const;
  void set_in_training(bool yes);

 private:
  std::vector<Weight *> named(const std::string &name) const;

  std::shared_ptr<const Graph> graph_;
  std::vector<Node> in_, out_;
  std::vector<std::string> output_names_;
  std::vector<std::shared_ptr<Weight>> weights_, kept_;
  bool assigns_ = false;
  std::unordered_map<std::string, std::shared_ptr<Weight>> by_name_;
};

// Builds an architecture over its own graph. Each weight gets its `value` instead of random numbers.
std::shared_ptr<Model> model_of(const Architecture &architecture, const Settings &settings,
                                const std::function<Tensor(const Weight &)> &value);
// Shapes and calls only: weights have no values.
std::shared_ptr<const Model> model_of(const Architecture &architecture);

}  // namespace dl4::graph
