// The block of a trainer's weights.
#include "graph/parameters.hpp"

#include <algorithm>

namespace dl4::graph {

bool make_writable(Weight &w) {
  if (w.block() && !w.block()->pinned()) return false;
  auto block = std::make_shared<Block>(round_up(w.value().bytes(), size_of(DType::f32)) / size_of(DType::f32));
  std::byte *to = block->values.data.get();
  std::ranges::copy(w.value().memory(), to);
  w.value().data = Bytes(block, to);
  w.block() = std::move(block);
  return true;
}

Parameters::Parameters(Weights weights) : weights_(std::move(weights)), outside_(weights_.size(), nullptr) {
  constexpr int64_t line = 16;  // floats per cache line; every weight starts on one
  int64_t total = 0;
  std::vector<Tensor> alone(weights_.size());
  for (size_t i = 0; i < weights_.size(); ++i) {
    const Weight &w = *weights_[i];
    frozen_.push_back(w.frozen());
    offsets_.push_back(w.trainable() ? total : -1);
    if (w.trainable()) {
      elements_ += w.spec.shape.elements();
      total = round_up(checked_add(total, w.spec.shape.elements()), line);
    } else if (w.spec.trainable && w.block()) {
      alone[i] = clone(w.value());  // frozen since: sharing would keep all of the old block alive
    }
  }
  auto block = std::make_shared<Block>(total);
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (!alone[i].data) continue;
    weights_[i]->value() = std::move(alone[i]);
    weights_[i]->block().reset();
  }
  move_to(std::move(block));
  collect();
}

void Parameters::move_to(std::shared_ptr<Block> block) {
  block_ = std::move(block);
  ++version_;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (offsets_[i] < 0) continue;
    Weight &w = *weights_[i];
    std::ranges::copy(w.value().memory(), place(i));
    w.value().data = Bytes(block_, place(i));
    w.block() = block_;
  }
}

bool Parameters::is_current() const {
  for (size_t i = 0; i < weights_.size(); ++i)
    if (weights_[i]->frozen() != frozen_[i]) return false;
  return true;
}

void Parameters::collect() {
  bool strays = false;
  for (size_t i = 0; i < weights_.size(); ++i) {
    std::byte *at = weights_[i]->value().data.get();
    if (offsets_[i] >= 0) {
      strays |= at != place(i);
    } else if (at != outside_[i]) {
      outside_[i] = at;
      ++version_;
    }
  }
  if (!strays) return;
  make_writable();
  for (size_t i = 0; i < weights_.size(); ++i) {
    Weight &w = *weights_[i];
    if (offsets_[i] < 0 || w.value().data.get() == place(i)) continue;
    std::ranges::copy(w.value().memory(), place(i));
    w.value().data = Bytes(block_, place(i));
    w.block() = block_;
  }
}

void Parameters::make_writable() {
  if (block_->pinned()) move_to(std::make_shared<Block>(block().elements()));
}

void Parameters::make_others_writable(bool evaluation) {
  for (size_t i = 0; i < weights_.size(); ++i) {
    Weight &w = *weights_[i];
    if (!w.written() || (evaluation && !w.spec.kept)) continue;
    if (offsets_[i] >= 0) make_writable();
    if (!graph::make_writable(w)) continue;
    outside_[i] = w.value().data.get();
    ++version_;
  }
}

}  // namespace dl4::graph
