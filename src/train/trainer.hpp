// Training one model: steps, gradients, and what is kept between them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "kinds/optimizer.hpp"
#include "runtime/executable.hpp"
#include "train/batch.hpp"
#include "train/objective.hpp"
#include "train/position.hpp"
#include "train/programs.hpp"
#include "train/state.hpp"
#include "train/workers.hpp"

namespace dl4::train {

struct Joint;

class Trainer {
 public:
  // options: the trainer's keys as JSON. The model is marked as in training until the trainer ends.
  Trainer(std::shared_ptr<graph::Model> model, const Json &options, const runtime::Options &run);
  ~Trainer();

  // Forward, backward, update; gives the batch's measures. All or nothing: after a refusal nothing has changed.
  // The sums stand until the next call; cancel is looked at while a plan is made.
  // Of a batch with workers: this one's part; no sums where another one stops.
  const Sums &step(const Batch &b, const std::atomic<int32_t> *cancel = nullptr);
  const Sums &accumulate(const Batch &b);
  void apply();
  const Sums &evaluate(const Batch &b, const std::atomic<int32_t> *cancel = nullptr);
  // Refuses a model that has no trainable weight.
  void need_weights() const;
  // The mean gradient of what was accumulated since the last apply; "*" joins all trainable weights.
  Tensor gradient(const std::string &weight) const;
  // Puts another in its place, or adds to it; where nothing was accumulated it is zero. All of it, put in place with
  // "*", counts as one batch. `v` is dense.
  void set_gradient(const std::string &weight, const Tensor &v, bool add);
  // Forgets what was accumulated.
  void zero_gradients();

  // Trains with others from now on: start() brings all to the same state, and what it throws changes nothing. Without a
  // function to reduce by: alone.
  void set_workers(int64_t rank, int64_t size, Workers::Reduce reduce, const std::function<void(Workers &)> &start);
  Workers *workers() const;  // null: batches are not cut
  int64_t rank() const { return workers() ? workers()->rank() : 0; }
  int64_t size() const { return workers() ? workers()->size() : 1; }
  // f(), as Workers::jointly(); alone just so.
  template <class F>
  decltype(auto) jointly(F f) {
    return workers() ? workers()->jointly(f) : f();
  }
  // Where no batch is, what Workers::meet() does; alone by these flags.
  bool meet(Workers::Place place, int32_t flags = 0);

  // Keras's finalize_variable_values: the averages become the weights, if the optimizer keeps them.
  void take_averages();
  // Weights and their averages change places; refused if the optimizer keeps none.
  void swap_averages();
  // The averages become what the weights are.
  void settle_averages();

  // Copies of all weights, kept under a number, in checkpoints too.
  void keep_weights(size_t number);
  void restore_weights(size_t number);  // nothing, if none are kept
  void forget_weights() { copies_.clear(); }

  double get(const std::string &key) const;
  void set(const std::string &key, double v);

  const graph::Model &model() const { return *model_; }
  size_t targets() const { return targets_.size(); }  // how many a batch has
  const std::vector<std::string> &metric_names() const { return results_.names(); }
  // Is more of the number of that name better? None: that can't be told.
  std::optional<bool> rises(size_t name) const { return results_.rises(name); }
  // What the sums say, in the order of the names; stands until the next call. Allocates nothing.
  const std::vector<double> &results(const Sums &sums);
  std::string describe();  // the optimizer, Programs and Plans
  const Json &options() const { return options_; }
  const graph::Parameters &parameters() const { return state_.parameters; }
  const kinds::Optimizer &optimizer() const { return *setup_.optimizer; }
  // Trainable weights on which the loss of the last step or accumulation does not depend.
  std::vector<std::string> no_gradient() const;
  // Its keys, as dl4_api_description() lists them.
  static Json describe_options();

  // Everything a resumed run needs, by name; restoring checks names, dtypes and shapes before it changes anything.
  std::map<std::string, Tensor> state() const;
  Json position_json() const;
  void restore(const std::map<std::string, Tensor> &state, const Json &position);
  Position position;
  bool fitting = false;  // inside fit()

 private:
  // The last five are of what is done on parts of batches.
  enum class Entry { step, accumulate, apply, evaluate, divisors, part, measure, update, collect };
  // What of a target or a sample weight decides how the Program reads it.
  struct Column {
    DType dtype;
    int rank;
    bool is_column;
    explicit Column(const runtime::View &v)
        : dtype(v.dtype), rank(v.shape.rank()), is_column(train::is_column(v.shape)) {}
    bool operator==(const Column &) const = default;
  };
  struct Compiled {
    Entry entry;
    std::vector<Column> y, w;
    std::shared_ptr<runtime::Executable> session;
    int64_t version;  // of the state it is bound to
    std::vector<std::string> no_gradient;
    Turn turn;  // of one that updates
  };

  struct Setup {
    Objective::Options objective;
    kinds::Of<kinds::Optimizer> optimizer;
    NanGuard nan_guard = NanGuard::loss;
    bool profile = false;
    std::optional<int64_t> shards;
    std::vector<std::string> undecayed;
    void fields(kinds::Fields &f);
    static Setup parse(const Json &options);
  };

  Recipe recipe(State &state, Turn turn = {}) const;
  // Sets the learning rate of the next update, where a schedule tells it.
  void schedule_rate();
  Turn turn(Entry entry);
  // The weights that are trainable now are trained: those that stay keep their slots.
  void follow();
  std::vector<std::string> trainable() const;
  Compiled compile(Entry entry, const Batch &b);
  Compiled &compiled(Entry entry, const Batch &b);
  Written written(Entry entry, const Recipe &how, const Batch &b) const;
  void get_ready(Entry entry);
  const Sums &run(Entry entry, const Batch &b, const std::atomic<int32_t> *cancel = nullptr);
  Error &in_step(Error &error) const;
  const Sums &told(const float *values, double rows);

  int64_t shards(bool with_workers) const;
  Workers::Word here(Workers::Place place, const Batch *b) const;
  void run_parts(runtime::Executable &s, const Batch &b, int64_t n, const std::atomic<int32_t> *cancel);
  template <class F>
  void sum_parts(runtime::Executable &s, const Batch &b, int64_t n, const std::atomic<int32_t> *cancel, F prepare);
  const Sums &run_jointly(Entry entry, const Batch &b, const std::atomic<int32_t> *cancel);
  void check(const Batch &b) const;

  std::shared_ptr<graph::Model> model_;
  Json options_;
  Setup setup_;
  Objective objective_;
  Results results_;
  std::vector<size_t> targets_;
  runtime::Options run_;
  State state_;
  std::map<std::string, Tensor> copies_;  // "kept:<number>:<weight>"
  std::vector<Compiled> compiled_;
  size_t last_ = SIZE_MAX;  // of them, which trained last
  // Of the run under way, kept so that a step allocates nothing.
  std::vector<runtime::View> in_, out_;
  std::vector<float> values_;
  Sums sums_;
  std::vector<double> numbers_;
  std::unique_ptr<Joint> joint_;  // null: batches are not cut
  Layout layout_;                 // of the parts' Program
};

}  // namespace dl4::train
