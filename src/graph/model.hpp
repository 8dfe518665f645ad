// Weights that training updates in place, and pins that keep current values for readers.
// A model: inputs and outputs of a graph, and the weights used between them.
#pragma once

#include "graph/graph.hpp"

namespace dl4::graph {

// Floats that one writer updates in place while there is no pin.
class Block {
 public:
  explicit Block(int64_t elements) : values(make_zeros(DType::f32, Shape{elements})) {}
  const Tensor values;
  // A pinned block is copied before writing. Acquires the last reads of released pins.
  bool pinned() const noexcept { return pins_.load(std::memory_order_acquire) != 0; }

 private:
  friend class Pin;
  std::atomic<int64_t> pins_{0};
};

// Keeps a block unchanged while it lives.
class Pin {
 public:
  explicit Pin(std::shared_ptr<Block> block) : block(std::move(block)) {
    this->block->pins_.fetch_add(1, std::memory_order_relaxed);
  }
  ~Pin() { block->pins_.fetch_sub(1, std::memory_order_release); }
  Pin(const Pin &) = delete;
  Pin &operator=(const Pin &) = delete;
  const std::shared_ptr<Block> block;
};

// Moves the weight to its own block, unless it is in an unpinned one. True if it was moved.
bool make_writable(Weight &w);

// A model's weights, for runs that write some of them. One thread at a time.
class Live {
 public:
  // written: by weight.
  Live(std::vector<std::shared_ptr<Weight>> weights, std::vector<bool> written)
      : weights_(std::move(weights)), written_(std::move(written)), bound_(weights_.size(), nullptr) {}

  // Before a run: makes what it writes writable, and calls bind(i, value) for each that has moved since the last run.
  template <class F>
  void get_ready(F bind) {
    for (size_t i = 0; i < weights_.size(); ++i)
      if (written_[i]) make_writable(*weights_[i]);
    for (size_t i = 0; i < weights_.size(); ++i) {
      const Tensor &value = weights_[i]->value();
      if (value.data.get() == bound_[i]) continue;
      bind(i, value);
      bound_[i] = value.data.get();
    }
  }

 private:
  std::vector<std::shared_ptr<Weight>> weights_;
  std::vector<bool> written_;
  std::vector<const std::byte *> bound_;
};

// The trainable ones among some weights, joined in one block, so that an update is one pass over one buffer. Other
// weights that a step writes have their own blocks. One thread at a time.
class Parameters {
 public:
  using Weights = std::vector<std::shared_ptr<Weight>>;
  // Moves the values of currently trainable weights to a block.
  explicit Parameters(Weights weights);

  const Tensor &block() const { return block_->values; }
  // Element offsets by weight; -1: not in the block.
  const std::vector<int64_t> &offsets() const { return offsets_; }
  // Of the weights in the block, which has gaps between them.
  int64_t elements() const { return elements_; }
  const Weights &weights() const { return weights_; }
  // Changes when the block or another weight moves: users must bind again.
  int64_t version() const { return version_; }
  // Whether the frozen weights are those that were frozen when the block was made.
  bool is_current() const;
  // Copies weights that were given separate tensors back into the block, and detects moves of others.
  void collect();
  // Call before writing the block. If it is pinned, a copy becomes the block.
  void make_writable();
  // The same for weights written by calls, in the block or not; with `evaluation`, for those that evaluation writes.
  void make_others_writable(bool evaluation);

  // f(weight, offset in the block, offset without gaps) for each weight in the block.
  template <class F>
  void each(F f) const {
    int64_t flat = 0;
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (offsets_[i] < 0) continue;
      f(*weights_[i], offsets_[i], flat);
      flat += weights_[i]->spec.shape.elements();
    }
  }

 private:
  void move_to(std::shared_ptr<Block> block);
  std::byte *place(size_t i) const { return block().data.get() + offsets_[i] * size_of(DType::f32); }

  Weights weights_;
  std::shared_ptr<Block> block_;
  std::vector<int64_t> offsets_;
  std::vector<bool> frozen_;
  std::vector<std::byte *> outside_;  // addresses of weights outside the block
  int64_t elements_ = 0, version_ = 0;
};

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
