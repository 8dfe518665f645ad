// Training of a model: steps, gradients, the state between them, and what is kept beside the weights.
#pragma once

#include "train/steps/joint.hpp"

namespace dl4::train {

// Gradients accumulated since the last update.
class Gradients {
 public:
  explicit Gradients(Training &t) : t_(t) {}
  bool empty() const;
  // The mean gradient of a weight; "*" concatenates all trainable ones.
  Tensor mean(const std::string &weight) const;
  // Replaces the gradient or adds to it; without accumulated gradients it is zero. Setting all with "*" counts as one
  // batch. `v` is dense.
  void set(const std::string &weight, const Tensor &v, bool add);
  // Discards accumulated gradients.
  void zero();

 private:
  Training &t_;
};

// Averages of the weights over updates, kept for optimizers with use_ema.
class Averages {
 public:
  explicit Averages(Training &t) : t_(t) {}
  bool kept() const { return t_.setup.optimizer->use_ema; }
  // Copies the averages to the weights, as Keras's finalize_variable_values does; nothing without averages.
  void take();
  // Swaps averages and weights; refused without averages.
  void swap();
  // Copies the weights to the averages.
  void settle();

 private:
  Training &t_;
};

// Copies of all weights, kept and restored by callbacks. Each set has a number.
class WeightCopies {
 public:
  using Tensors = std::map<std::string, Tensor>;
  explicit WeightCopies(Training &t) : t_(t) {}

  void keep(size_t number);
  void restore(size_t number);  // does nothing without a copy
  void forget() { tensors.clear(); }

  // Extracts the copies from a checkpoint's tensors; refuses those of unknown weights.
  Tensors taken_from(Tensors &saved) const;
  Tensors tensors;  // "kept:<number>:<weight>"

 private:
  Training &t_;
};

class Trainer {
 public:
  // options: the trainer's keys as JSON. The model is marked as in training for the trainer's life.
  Trainer(std::shared_ptr<graph::Model> model, const Json &options, const runtime::Options &run);
  // Its keys, as in dl4_api_description().
  static Json describe_options();

  // Forward, backward, update. Returns the batch's measures, valid until the next call. After an error nothing has
  // changed. Fails with CANCELLED when *cancel becomes non-zero before a weight is written. With workers `b` is this
  // worker's part of the batch, the measures are of all parts, and there are none if another worker stops the fit.
  const Sums &step(const Batch &b, const std::atomic<int32_t> *cancel = nullptr);
  const Sums &accumulate(const Batch &b);
  void apply();
  const Sums &evaluate(const Batch &b, const std::atomic<int32_t> *cancel = nullptr);
  Gradients gradients{training_};
  Averages averages{training_};
  WeightCopies copies{training_};
  // Refuses a model without trainable weights.
  void need_weights() const { training_.need_weights(); }

  // Trains together with other workers from now on. start() gives all the same state; if it throws, nothing changes.
  // Without a reduce function: trains alone.
  void set_workers(int64_t rank, int64_t size, Workers::Reduce reduce, const std::function<void(Workers &)> &start);
  Workers &workers() const { return *workers_; }  // alone: size 1
  // Workers::meet() between batches.
  bool meet(Workers::Place place, int32_t flags = 0);

  double get(const std::string &key) const;
  void set(const std::string &key, double v);
  void set_fitting(bool yes) { training_.fitting = yes; }  // by fit(), which counts epochs and batches itself
  Position &position() { return training_.position; }

  const graph::Model &model() const { return *training_.model; }
  const Json &options() const { return options_; }
  const kinds::Optimizer &optimizer() const { return *training_.setup.optimizer; }
  const graph::Parameters &parameters() const { return training_.state.parameters; }
  size_t targets() const { return training_.targets.size(); }  // number of a batch's targets
  Results &results() { return training_.results; }
  const Results &results() const { return training_.results; }
  std::vector<std::string> no_gradient() const { return training_.no_gradient(); }
  std::string describe() { return training_.describe(); }  // optimizer, Programs and Plans

  // The complete state for resuming, by name. restore() checks names, dtypes and shapes before changing anything.
  std::map<std::string, Tensor> state() const;
  Json position_json() const;
  void restore(const std::map<std::string, Tensor> &state, const Json &position);

 private:
  const Json options_;
  Training training_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Steps> steps_;
};

}  // namespace dl4::train
