// What a trainer keeps between steps: weights in one block, slots of the optimizer, counters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/parameters.hpp"

namespace dl4::train {

// The names of what is kept, in Programs and in checkpoints.
namespace kept {
inline constexpr char weights[] = "weights";              // the block
inline constexpr char iterations[] = "iterations";        // steps; updates too, unless steps are accumulated
inline constexpr char updates[] = "updates";              // where the optimizer accumulates steps
inline constexpr char draws[] = "draws";                  // training runs, for what is random
inline constexpr char learning_rate[] = "learning_rate";  // of the next update
inline constexpr char gradients[] = "gradients";          // sums, as large as the block
inline constexpr char accumulated[] = "accumulated";      // how many are in them
inline constexpr char average[] = "optimizer/average";    // of the weights over the updates
inline std::string slot(const std::string &name) { return "optimizer/" + name; }
inline std::string slot_of(const std::string &weight, const std::string &name) { return slot(name) + '/' + weight; }
inline constexpr char weight_prefix[] = "weight:", slot_prefix[] = "slot:";  // in checkpoints
inline std::string frozen(const std::string &weight) { return "weight/" + weight; }
}  // namespace kept

class State {
 public:
  // Moves the trainable weights into a block.
  State(graph::Parameters::Weights weights, int64_t memory_limit)
      : parameters(std::move(weights)), memory_limit_(memory_limit) {}

  graph::Parameters parameters;

  // Returns what is kept under a name; the first call makes it, full of `start`. Refuses what exceeds the memory limit.
  Tensor &number(const std::string &name, DType dtype, double start);
  Tensor &per_weight(const std::string &name, double start);  // float32, as large as the block
  // float32, at first zeros; kept as long as this weight is trainable.
  Tensor &of_weight(const std::string &weight, const std::string &name, const Shape &shape);
  // Null if nothing of that name is kept.
  const Tensor *find(const std::string &name) const;
  int64_t &count(const char *name) const { return *slots_.at(name).value.as<int64_t>(); }
  float &learning_rate() const { return *slots_.at(kept::learning_rate).value.as<float>(); }  // of the next update
  // What a Program's state of that name is bound to: the block, a frozen weight or what is kept. Allocates nothing.
  const Tensor &bound(const std::string &name) const;
  // Changes when a tensor has moved: Programs must be bound again.
  int64_t version() const { return parameters.version() + version_; }

  // The state for the weights that are trainable now: those that were trainable before keep their slots.
  State followed() const;

  // By name: all weights, and what else is kept.
  std::map<std::string, Tensor> tensors() const;
  // Changes nothing if it refuses. Gradients that the checkpoint lacks are zero.
  void restore(const std::map<std::string, Tensor> &saved);

 private:
  struct Slot {
    Tensor value;
    double start = 0;
    bool is_per_weight = false;
    std::string weight{};  // whose it is, if it is of one
  };
  using Slots = std::map<std::string, Slot>;
  // Makes the slot, full of its start, unless it is there.
  Tensor &add(const std::string &name, Slot slot);
  Slots read(const std::map<std::string, Tensor> &saved) const;
  void need_room(const Slots &slots, int64_t more, const char *what) const;

  Slots slots_;
  int64_t memory_limit_, version_ = 0;
};

}  // namespace dl4::train
