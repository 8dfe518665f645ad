// What the steps of a trainer work on.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "kinds/optimizer.hpp"
#include "runtime/executable.hpp"
#include "train/data/batch.hpp"
#include "train/objective.hpp"
#include "train/position.hpp"
#include "train/programs.hpp"
#include "train/state.hpp"
#include "train/sums.hpp"

namespace dl4::train {

// What a batch is run for.
enum class Task { step, accumulate, evaluate };

// A model, how it is trained, what is kept between steps, and the Programs that change it. One thread at a time.
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
  // A Program, bound to the state.
  struct Compiled {
    const Routine *routine;
    Turn turn;
    std::vector<int32_t> y, w;  // reading() of each
    std::shared_ptr<runtime::Executable> executable;
    std::vector<std::string> no_gradient;
    int64_t version = -1;  // of the state it is bound to
  };

  // The model is marked as in training as long as this lives.
  Training(std::shared_ptr<graph::Model> model, const Json &options, const runtime::Options &run);
  ~Training() { model->set_in_training(false); }
  Training(const Training &) = delete;

  const std::shared_ptr<graph::Model> model;
  const Setup setup;
  const Objective objective;
  const std::vector<size_t> targets;  // outputs that have one
  const runtime::Options run;
  Results results;
  State state;
  Position position;
  bool fitting = false;  // inside of fit()

  // Refuses a model that has no trainable weight.
  void need_weights() const;
  // Refuses a batch that does not fit the model; one that is run in parts may be empty.
  void check(const Batch &b, bool in_parts) const;
  // Trains the weights that are trainable now: those that were trainable before keep their slots.
  void follow();
  // follow(), then collects the weights in the block and makes that writable.
  void make_writable();
  // Sets the learning rate of the next update, where it has a schedule.
  void schedule_rate();
  // To be called before a batch is run.
  void get_ready(Task task);
  // The Program for batches like `b`, made at the first call. Allocates nothing after it.
  const Compiled &compiled(const Routine &routine, const Batch &b, Parts *parts = nullptr);
  void forget_compiled();
  // Calls f(); adds the number of the step to an error of code NUMERIC.
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

  // Updates made by the optimizer.
  int64_t updates() const { return state.count(state.find(kept::updates) ? kept::updates : kept::iterations); }
  std::vector<std::string> trainable() const;
  // Trainable weights on which the loss of the last step or accumulation does not depend.
  std::vector<std::string> no_gradient() const { return last_ ? last_->no_gradient : std::vector<std::string>(); }
  std::string describe();

 private:
  Compiled compile(const Routine &routine, const Batch &b, Turn turn, Parts *parts);

  std::deque<Compiled> compiled_;
  const Compiled *last_ = nullptr;  // of them, which trained last
};

}  // namespace dl4::train
