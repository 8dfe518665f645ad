// Training of a model: steps, gradients, and the state between them.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "train/kept.hpp"
#include "train/steps/steps.hpp"
#include "train/steps/workers.hpp"
#include "train/training.hpp"

namespace dl4::train {

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
