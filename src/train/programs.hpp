// The trainer's Programs: forward, loss, backward, clipping, update.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kinds/optimizer.hpp"
#include "train/data/batch.hpp"
#include "train/objective.hpp"
#include "train/state.hpp"
#include "train/steps/exchange.hpp"

namespace dl4::train {

class Training;
class Writer;

enum class NanGuard { off, loss, gradients };

// What the optimizer does in this step, beside taking the gradients.
struct Turn {
  bool updates = true;      // false: they are accumulated
  bool overwrites = false;  // the weights become their averages
  bool operator==(const Turn &) const = default;
};

// The numbers that parts of a batch add up to, one behind the other: the block of gradients, what is measured, what
// layers wrote into these weights.
struct Layout {
  int64_t block = 0, results = 0, size = 0;
  std::vector<size_t> writes{};
};

// What the Programs of the parts of a batch share.
struct Parts {
  std::shared_ptr<Exchange> exchange{};  // for layers that sum over all parts; null: they can't wait for each other
  Layout layout{};                       // of the part that was written last
};

// What a Program is written for. Its states have the names of `state`, which makes those it has not.
struct Recipe {
  const Training &training;
  State &state;
  Turn turn{};
  const Parts *parts = nullptr;  // null: batches are whole
};

struct Written {
  ops::Program program;
  std::vector<std::string> no_gradient;  // trainable weights that the loss does not depend on
  Layout layout{};                       // of a part
};

// A Program that a trainer runs.
struct Routine {
  const char *name;
  void (*write)(Writer &w, const Batch &b);
  bool trains = false;   // takes gradients of batches
  bool updates = false;  // which Turn it is decides what it does
};

namespace routines {
// The first three take batches like `b`: inputs, targets, sample weights. Outputs: the loss, that of each output where
// there are several, and the sums of the metrics.
extern const Routine step, accumulate, evaluate;
// Updates by the mean of what was accumulated, and forgets it. Neither input nor output.
extern const Routine apply;
// Of a part of a batch; they change nothing. Inputs: draws, int64 [3] (their number, the first row of the part in the
// batch, its rows), the divisors of the losses and the part's share, float32, then a batch like `b`. Outputs: what
// of its losses are divided by; all of a Layout; its results alone.
extern const Routine divide, compute, measure;
// Updates by what the parts added up to, or accumulates it. Inputs: that, float32, and 1 / the number of parts.
extern const Routine update, collect;
}  // namespace routines

Written write(const Routine &routine, const Recipe &recipe, const Batch &b);
// Makes the optimizer's slots; refuses what the optimizer can't do.
void make_slots(const Recipe &recipe);

// Which turn the next update or accumulation of gradients is.
Turn next_turn(const kinds::Optimizer &optimizer, State &state);

}  // namespace dl4::train
