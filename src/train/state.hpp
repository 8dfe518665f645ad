// A trainer's state between steps: weights in one block, optimizer slots, counters.
// The position of a fit, stored in checkpoints so that it can be resumed within an epoch.
#pragma once

#include "train/objective.hpp"

namespace dl4::train {

// Names of the state, in Programs and in checkpoints.
namespace kept {
inline constexpr char weights[] = "weights";              // the block
inline constexpr char iterations[] = "iterations";        // steps; also updates, unless gradients are accumulated
inline constexpr char updates[] = "updates";              // if the optimizer accumulates gradients
inline constexpr char draws[] = "draws";                  // training runs, for random numbers
inline constexpr char learning_rate[] = "learning_rate";  // for the next update
inline constexpr char gradients[] = "gradients";          // sums, shaped as the block
inline constexpr char accumulated[] = "accumulated";      // number of accumulated batches
inline constexpr char average[] = "optimizer/average";    // of the weights over updates
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

  // Returns the state of that name, creating it filled with `start` in the first call. Refuses what exceeds the memory
  // limit.
  Tensor &number(const std::string &name, DType dtype, double start);
  Tensor &per_weight(const std::string &name, double start);  // float32, shaped as the block
  // float32, initially zeros; kept while this weight is trainable.
  Tensor &of_weight(const std::string &weight, const std::string &name, const Shape &shape);
  // Null if there is no such state.
  const Tensor *find(const std::string &name) const;
  int64_t &count(const char *name) const { return *slots_.at(name).value.as<int64_t>(); }
  float &learning_rate() const { return *slots_.at(kept::learning_rate).value.as<float>(); }  // for the next update
  // The tensor for a Program's state of that name: the block, a frozen weight, or a slot. Allocates nothing.
  const Tensor &bound(const std::string &name) const;
  // Changes when a tensor has moved: Programs must be bound again.
  int64_t version() const { return parameters.version() + version_; }

  // The state for the currently trainable weights; those that were trainable before keep their slots.
  State followed() const;

  // All weights and slots, by name.
  std::map<std::string, Tensor> tensors() const;
  // Changes nothing if it refuses. Gradients missing in the checkpoint are zero.
  void restore(const std::map<std::string, Tensor> &saved);

 private:
  struct Slot {
    Tensor value;
    double start = 0;
    bool is_per_weight = false;
    std::string weight{};  // the weight it belongs to, if any
  };
  using Slots = std::map<std::string, Slot>;
  // Creates the slot, filled with its start value, if it does not exist.
  Tensor &add(const std::string &name, Slot slot);
  Slots read(const std::map<std::string, Tensor> &saved) const;
  void need_room(const Slots &slots, int64_t more, const char *what) const;

  Slots slots_;
  int64_t memory_limit_, version_ = 0;
};

inline constexpr int64_t most_epochs = (int64_t{1} << 53) - 1;  // exact in dl4_trainer_get_number()'s double

struct Position {
  bool in_fit = false;      // a fit has begun and not ended
  bool resumes = false;     // the next fit continues from here by default
  int64_t epoch = 0;        // of the current fit
  int64_t batch = 0;        // batches of it that are done
  int64_t epochs_seen = 0;  // over all fits; determines the order of the next epoch
  Sums sums{};              // of the current epoch
  Json history = Json::object();
  Json callbacks = Json::array();  // of the fit, each with its state
  Json data{};                     // the dataset's facts; null: none

  // The next fit continues from there.
  void move_to(int64_t to_epoch, int64_t to_batch);
  Json to_json() const;
  // Fails with CORRUPT_FILE on JSON that no trainer with so many sums can have written.
  static Position from_json(const Json &j, size_t sums);
};

}  // namespace dl4::train
