// The trainer's Programs: forward, loss, backward, clipping, update.
#pragma once

#include <string>
#include <vector>

#include "kinds/optimizer.hpp"
#include "train/batch.hpp"
#include "train/objective.hpp"
#include "train/state.hpp"

namespace dl4::train {

enum class NanGuard { off, loss, gradients };

// What a Program is written from. Its states have the names of `state`, which makes those it has not.
struct Recipe {
  const graph::Model &model;
  const Objective &objective;
  const kinds::Optimizer &optimizer;
  NanGuard nan_guard;
  State &state;
};

struct Written {
  ops::Program program;
  std::vector<std::string> no_gradient;  // trainable weights that the loss does not depend on
};

// The first three take batches like `b`: inputs, targets, sample weights. Outputs: the loss, that of each
// output where there are several, and the sums of the metrics.
Written step_program(const Recipe &recipe, const Batch &b);
Written accumulate_program(const Recipe &recipe, const Batch &b);
Written evaluate_program(const Recipe &recipe, const Batch &b);
// Updates by the mean of what was accumulated, and forgets it.
Written apply_program(const Recipe &recipe);
// Makes the optimizer's slots; refuses what the optimizer can't do.
void make_slots(const Recipe &recipe);

}  // namespace dl4::train
