// Training one model: three entries (step, accumulate, apply) over one emission, and evaluation.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "kinds/optimizer.hpp"
#include "runtime/session.hpp"
#include "train/objective.hpp"
#include "train/sums.hpp"

namespace dl4::train {

// One batch as it comes in; w is empty or one per target.
struct Batch {
  std::vector<runtime::View> x, y, w;
  int64_t size() const { return x.empty() || x[0].shape.rank() == 0 ? 0 : x[0].shape[0]; }
};

// An axis of 1 after others: losses drop it or not, so a Program must know of it.
inline bool is_column(const Shape &s) { return s.rank() > 1 && s.last() == 1; }

// Where fit stands, kept by checkpoints so that it goes on in mid-epoch.
struct Position {
  bool in_fit = false;
  int64_t epoch = 0;        // of the fit under way
  int64_t batch = 0;        // batches of it that are done
  int64_t epochs_seen = 0;  // over all fits: chooses the order of the next epoch
  Sums sums;                // of the epoch under way
  Json history = Json::object();
};

class Trainer {
 public:
  // options: the trainer's keys as JSON. The model is marked as in training until the trainer ends.
  Trainer(std::shared_ptr<graph::Model> model, const Json &options, const runtime::Options &run);
  ~Trainer();

  // Forward, backward, update; gives the batch's measures. All or nothing: after a refusal nothing has changed.
  // The sums stand until the next call; cancel is looked at while a plan is made.
  const Sums &step(const Batch &b, const std::atomic<int32_t> *cancel = nullptr);
  const Sums &accumulate(const Batch &b);
  void apply();
  const Sums &evaluate(const Batch &b, const std::atomic<int32_t> *cancel = nullptr);
  // Refuses a model that has no trainable weight.
  void need_weights() const;
  // The mean gradient of what was accumulated since the last apply; "*" joins all trainable weights.
  Tensor gradient(const std::string &weight) const;

  double get(const std::string &key) const;
  void set(const std::string &key, double v);

  const graph::Model &model() const { return *model_; }
  size_t targets() const { return targets_.size(); }  // how many a batch has
  const std::vector<std::string> &metric_names() const { return names_; }
  std::string describe();  // options, Programs and Plans
  const Json &options() const { return options_; }

  // Everything a resumed run needs, by name; restoring checks names, dtypes and shapes before it changes anything.
  std::map<std::string, Tensor> state() const;
  Json position_json() const;
  void restore(const std::map<std::string, Tensor> &state, const Json &position);
  Position position;

 private:
  enum class Entry { step, accumulate, apply, evaluate };
  runtime::Session &session(Entry entry, const Batch &b);
  ops::Program emit(Entry entry, const Batch &b, std::vector<std::string> &states);
  void emit_update(ops::Emit &e, ops::Id w, const std::vector<ops::Id> &gradients, std::vector<std::string> &states);
  const Tensor &bound(const std::string &state) const;
  void rebind();
  Tensor &slot(const std::string &name, DType dtype, const Shape &shape, double start);
  const Sums &run(Entry entry, const Batch &b, const std::atomic<int32_t> *cancel = nullptr);
  void check(const Batch &b) const;
  void own_weights();

  std::shared_ptr<graph::Model> model_;
  Json options_;
  Objective objective_;
  kinds::Of<kinds::Optimizer> optimizer_;
  std::string nan_guard_;
  runtime::Options run_;
  Tensor block_;                         // all trainable weights
  std::vector<int64_t> offsets_;         // by weight, in elements
  std::map<std::string, Tensor> slots_;  // everything else that is kept between steps
  // What of a target or a sample weight decides how the Program reads it.
  struct Column {
    DType dtype;
    int rank;
    bool is_column;
  };
  struct Compiled {
    Entry entry;
    std::vector<Column> y, w;
    std::shared_ptr<runtime::Session> session;
    std::vector<std::string> states;  // names of what it is bound to
  };
  std::vector<Compiled> compiled_;
  std::vector<std::string> names_;
  std::vector<size_t> targets_;
  // Of the run under way, kept so that a step allocates nothing.
  std::vector<runtime::View> in_, out_;
  std::vector<float> values_;
  Sums sums_;
};

}  // namespace dl4::train
