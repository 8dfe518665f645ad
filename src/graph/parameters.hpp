// Weights that training changes in place, and how others keep the values of today.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "graph/graph.hpp"

namespace dl4::graph {

// Floats that one writer changes in place while no one has pinned them.
class Block {
 public:
  explicit Block(int64_t elements) : values(make_zeros(DType::f32, Shape{elements})) {}
  const Tensor values;
  // Whoever would write then writes to a copy. Ordered after the last reads of those whose pins are gone.
  bool pinned() const noexcept { return pins_.load(std::memory_order_acquire) != 0; }

 private:
  friend class Pin;
  std::atomic<int64_t> pins_{0};
};

// As long as it lives its block is not written.
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

// Moves the weight to a block of its own, unless it lies in one that no one has pinned. True if it was moved.
bool make_writable(Weight &w);

// The weights of a model as runs find them that write some of them. One thread at a time.
class Live {
 public:
  // written: by weight.
  Live(std::vector<std::shared_ptr<Weight>> weights, std::vector<bool> written)
      : weights_(std::move(weights)), written_(std::move(written)), bound_(weights_.size(), nullptr) {}

  // Before a run: what it writes is made writable; bind(i, value) of each that lies elsewhere than at the run before.
  template <class F>
  void get_ready(F bind) {
    for (size_t i = 0; i < weights_.size(); ++i)
      if (written_[i]) make_writable(*weights_[i]);
    for (size_t i = 0; i < weights_.size(); ++i) {
      const Tensor &value = weights_[i]->value;
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

// The trainable ones of some weights, joined in one block: an update is one pass over one buffer. Those that a step
// writes otherwise have a block each. One thread at a time.
class Parameters {
 public:
  using Weights = std::vector<std::shared_ptr<Weight>>;
  // Copies the values of those that are trainable now into a block, where they are from now on.
  explicit Parameters(Weights weights);

  const Tensor &block() const { return block_->values; }
  // In elements by weight, -1 for those that are not in the block.
  const std::vector<int64_t> &offsets() const { return offsets_; }
  // Of the weights in the block, which has gaps between them.
  int64_t elements() const { return elements_; }
  const Weights &weights() const { return weights_; }
  // Another number when the block or a weight outside of it lies elsewhere: who bound them binds them again.
  int64_t version() const { return version_; }
  // Are those frozen that were when the block was made, and no others?
  bool is_current() const;
  // Takes back into the block what was given a tensor of its own, and sees which others were.
  void collect();
  // To be called before the block is written: if it is pinned it stays, and a copy is the block.
  void make_writable();
  // The same for those that calls write, in the block or not, or for those of them that evaluation writes too.
  void make_others_writable(bool evaluation);

  // f(weight, offset in the block, offset without the gaps) for each weight in the block.
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
  std::vector<std::byte *> outside_;  // where those lie that are not in the block
  int64_t elements_ = 0, version_ = 0;
};

}  // namespace dl4::graph
