// Shared data of a trainer's steps.
#pragma once

#include <deque>

#include "runtime/executable.hpp"
#include "train/programs.hpp"

namespace dl4::train {

// Purpose of a run.
enum class Task { step, accumulate, evaluate };

// A model, its training options and state, and the Programs that change it. One thread at a time.
class Training {
 public:
  // The trainer's options.
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
  // A Program bound to the state.
  struct Compiled {
    const Routine *routine;
    Turn turn;
    std::vector<int32_t> y, w;  // reading() of each
    std::shared_ptr<runtime::Executable> executable;
    std::vector<std::string> no_gradient;
    int64_t version = -1;  // of the bound state
  };

  // The model is marked as in training for this object's life.
  Training(std::shared_ptr<graph::Model> model, const Json &options, const runtime::Options &run);
  ~Training() { model->set_in_training(false); }
  Training(const Training &) = delete;

  const std::shared_ptr<graph::Model> model;
  const Setup setup;
  const Objective objective;
  const std::vector<size_t> targets;  // outputs with a target
  const runtime::Options run;
  Results results;
  State state;
  Position position;
  bool fitting = false;  // within fit()

  // Refuses a model without trainable weights.
  void need_weights() const;
  // Refuses batches that don't fit the model. A batch run in parts may be empty.
  void check(const Batch &b, bool in_parts) const;
  // Follows changes of trainable weights; those that were trainable before keep their slots.
  void follow();
  // follow(), then collects the weights in the block and makes it writable.
  void make_writable();
  // Sets the learning rate of the next update from a schedule.
  void schedule_rate();
  // Call before a batch is run.
  void get_ready(Task task);
  // The Program for batches like `b`, created in the first call. Allocates nothing afterwards.
  const Compiled &compiled(const Routine &routine, const Batch &b, Parts *parts = nullptr);
  void forget_compiled();
  // Calls f(); adds the step's number to errors with code NUMERIC.
  template <class F>
  void in_step(F f) const {
    try {
      f();
    } catch (Error &error) {
      if (error.code == Code::numeric) {
        const int64_t done = updates();
        error.in(text("training step ", done + 1)).with("iteration", std::to_string(done));
      }
      throw;
    }
  }

  // Number of updates by the optimizer.
  int64_t updates() const { return state.count(state.find(kept::updates) ? kept::updates : kept::iterations); }
  std::vector<std::string> trainable() const;
  // Trainable weights on which the loss of the last step or accumulation does not depend.
  std::vector<std::string> no_gradient() const { return last_ ? last_->no_gradient : std::vector<std::string>(); }
  std::string describe();

 private:
  Compiled compile(const Routine &routine, const Batch &b, Turn turn, Parts *parts);

  std::deque<Compiled> compiled_;
  const Compiled *last_ = nullptr;  // the one that trained last
};

}  // namespace dl4::train
