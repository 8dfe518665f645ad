// A model: inputs and outputs of a graph, with the weights between them.
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
  // Initialises the weights that no other model of the graph has initialised, unless told not to.
  Model(std::shared_ptr<const Graph> graph, std::vector<Node> in, std::vector<Node> out, bool initialise = true);

  const Graph &graph() const { return *graph_; }
  const std::vector<Node> &inputs() const { return in_; }
  const std::vector<Node> &outputs() const { return out_; }
  const std::vector<std::shared_ptr<Weight>> &weights() const { return weights_; }
  // The weights, and behind them what stateful layers keep, which is read and set by name as they are.
  std::vector<std::shared_ptr<Weight>> held() const;
  // Do its calls assign weights? Then they are made in the order in which they were added, and a session writes what
  // they assign.
  bool assigns() const { return assigns_; }
  const std::string &input_name(size_t i) const;
  const std::string &output_name(size_t i) const { return output_names_[i]; }  // the layer's
  // Refuses with NOT_FOUND and the nearest name.
  const std::shared_ptr<Weight> &weight(const std::string &name) const;
  int64_t parameters(bool trainable) const;
  // A copy of a weight; "*" joins the trainable ones, in their order.
  Tensor get_weight(const std::string &name) const;
  // Sets a weight, or with "*" the trainable ones: all of them or none. What is pinned stays as it was.
  void set_weight(const std::string &name, const Tensor &value);
  // Of a layer, of a weight, or with "*" of all: are they changed by training? Trainers see it at their next step.
  void set_trainable(const std::string &name, bool yes);
  // Refuses what is not as that weight is.
  void need_fit(const std::string &name, DType dtype, const Shape &shape) const;
  // The values of today, by what is held: they stay as they are as long as one of these tensors or a copy of it lives.
  std::vector<Tensor> pin() const;

  Architecture architecture() const;
  std::string summary() const;  // a table
  std::string dot() const;      // a drawing for Graphviz
  // A model of its own graph, with copies of the weights.
  std::shared_ptr<Model> clone() const;

  // True while a trainer owns any of the weights, be it through another model.
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

// The model that an architecture describes, over a graph of its own: each weight has its `value`, and none is drawn.
std::shared_ptr<Model> model_of(const Architecture &architecture, const Settings &settings,
                                const std::function<Tensor(const Weight &)> &value);
// Its shapes and calls alone: no weight has a value.
std::shared_ptr<const Model> model_of(const Architecture &architecture);

}  // namespace dl4::graph
