// Training one model: steps, gradients, and what is kept between them.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "train/averages.hpp"
#include "train/gradients.hpp"
#include "train/steps/steps.hpp"
#include "train/steps/workers.hpp"
#include "train/training.hpp"
#include "train/weight_copies.hpp"

namespace dl4::train {

class Trainer {
 public:
  // options: the trainer's keys as JSON. The model is marked as in training until the trainer ends.
  Trainer(std::shared_ptr<graph::Model> model, const Json &options, const runtime::Options &run);
  // Its keys, as dl4_api_description() lists them.
  static Json describe_options();

  // Forward, backward, update; gives the batch's measures. All or nothing: after a refusal nothing has changed.
  // The sums stand until the next call; cancel is looked at while a plan is made.
  // Of a batch with workers: this one's part; no sums where another one stops.
  const Sums &step(const Batch &b, const std::atomic<int32_t> *cancel = nullptr);
  const Sums &accumulate(const Batch &b);
  void apply();
  const Sums &evaluate(const Batch &b, const std::atomic<int32_t> *cancel = nullptr);
  // Refuses a model that has no trainable weight.
  void need_weights() const { training_.need_weights(); }

  // Trains with others from now on: start() brings all to the same state, and what it throws changes nothing. Without a
  // function to reduce by: alone.
  void set_workers(int64_t rank, int64_t size, Workers::Reduce reduce, const std::function<void(Workers &)> &start);
  Workers &workers() const { return *workers_; }  // this one, where there are no others
  // Where no batch is, what Workers::meet() does.
  bool meet(Workers::Place place, int32_t flags = 0);

  double get(const std::string &key) const;
  void set(const std::string &key, double v);
  void set_fitting(bool yes) { training_.fitting = yes; }  // inside of fit(), which counts epochs and batches
  Position &position() { return training_.position; }

  const graph::Model &model() const { return *training_.model; }
  const Json &options() const { return options_; }
  const kinds::Optimizer &optimizer() const { return *training_.setup.optimizer; }
  const graph::Parameters &parameters() const { return training_.state.parameters; }
  size_t targets() const { return training_.targets.size(); }  // how many a batch has
  Results &results() { return training_.results; }
  std::vector<std::string> no_gradient() const { return training_.no_gradient(); }
  std::string describe() { return training_.describe(); }  // the optimizer, Programs and Plans

  // Everything a resumed run needs, by name; restoring checks names, dtypes and shapes before it changes anything.
  std::map<std::string, Tensor> state() const;
  Json position_json() const;
  void restore(const std::map<std::string, Tensor> &state, const Json &position);

 private:
  const Json options_;
  Training training_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Steps> steps_;

 public:
  Gradients gradients{training_};
  Averages averages{training_};
  WeightCopies copies{*training_.model};
};

}  // namespace dl4::train
