// The trainer's Programs: forward, loss, backward, clipping, update.
#pragma once

#include "kinds/optimizer.hpp"
#include "train/data/dataset.hpp"
#include "train/state.hpp"
#include "train/steps/workers.hpp"

namespace dl4::train {

class Training;
class Writer;

enum class NanGuard { off, loss, gradients };

// What the optimizer does in this step besides taking the gradients.
struct Turn {
  bool updates = true;      // false: they are accumulated
  bool overwrites = false;  // the averages replace the weights
  bool operator==(const Turn &) const = default;
};

// The numbers summed over parts of a batch, in sequence: the block of gradients, the measures, the weights written by
// layers.
struct Layout {
  int64_t block = 0, results = 0, size = 0;
  std::vector<size_t> writes{};
};

// Shared by the Programs of a batch's parts.
struct Parts {
  std::shared_ptr<Exchange> exchange{};  // for layers that sum over all parts; null: parts can't wait for each other
  Layout layout{};                       // of the last written part
};

// Parameters of a Program. Its states are named like those of `state`, which creates missing ones.
struct Recipe {
  const Training &training;
  State &state;
  Turn turn{};
  const Parts *parts = nullptr;  // null: whole batches
};

struct Written {
  ops::Program program;
  std::vector<std::string> no_gradient;  // trainable weights that the loss does not depend on
  Layout layout{};                       // of a part
};

// A kind of Program that a trainer runs.
struct Routine {
  const char *name;
  void (*write)(Writer &w, const Batch &b);
  bool trains = false;   // computes gradients of batches
  bool updates = false;  // depends on the Turn
};

namespace routines {
// The first three take batches like `b`: inputs, targets, sample weights. Outputs: the loss, each output's loss if
// there are several, and the sums of the metrics.
extern const Routine step, accumulate, evaluate;
// Updates by the mean of the accumulated gradients and resets them. No inputs or outputs.
extern const Routine apply;
// For a part of a batch; without side effects. Inputs: draws, int64 [3] (number of the draw, first row of the part, its
// rows), the losses' divisors and the part's share, float32, then a batch like `b`. Outputs: the part's divisors; all
// of a Layout; its results only.
extern const Routine divide, compute, measure;
// Updates by the sums over parts, or accumulates them. Inputs, float32: the sums, and 1 / number of parts.
extern const Routine update, collect;
}  // namespace routines

Written write(const Routine &routine, const Recipe &recipe, const Batch &b);
// Creates the optimizer's slots; refuses what the optimizer can't do.
void make_slots(const Recipe &recipe);

// The Turn of the next update or accumulation.
Turn next_turn(const kinds::Optimizer &optimizer, State &state);

}  // namespace dl4::train
