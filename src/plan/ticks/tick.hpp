// Converts a Program over whole sequences into one that takes a few steps at a time, a tick.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/tensor.hpp"
#include "ops/program.hpp"

namespace dl4::plan {

// Inputs: those of the whole Program, the tick's number (int64, from 0), then states. Outputs: those of the whole
// Program, then the new states.
struct Tick {
  struct State {
    Tensor initial{};      // a scalar; null: 0
    int64_t begin = 0;     // the tick that starts from `initial`, whatever earlier ticks left
    bool is_ring = false;  // a run writes only `rows` positions of `axis`, from tick * rows on, modulo its size
    int axis = 0;
    int64_t rows = 0;
    int64_t free = 0;  // for a ring: positions that may be written before one the first tick reads is lost
  };
  struct Output {
    bool is_sequence = false;
    int64_t steps = 0;  // per tick
    int64_t late = 0;   // initial steps of a sequence, or initial ticks of others, that are not part of the result
  };
  ops::Program program;
  // Several ticks in one Program, with the same bits. Usable from the given tick on, after which no state starts and no
  // step is late.
  struct Together {
    ops::Program program;
    int64_t ticks;
  };
  std::vector<Together> together;  // most ticks first
  std::vector<bool> sequences;     // by input of the whole Program: whether it is a sequence
  int64_t steps = 1;               // taken from each sequence
  std::vector<State> states;       // after the tick's number
  std::vector<Output> outputs;
  int64_t most = INT64_MAX;  // maximum ticks of a sequence
  int64_t begun = 0;         // first tick that starts no state from given values
  // Whether a tick's work depends on its number, other than the start position in rings. If not, rows of a batch may be
  // at different ticks.
  bool counts = false;
  // The same for all later ticks. If not, then once all states have started and no output is late, the number only
  // determines positions in rings.
  bool counts_on = false;

  // Output steps produced by `from` input steps.
  int64_t given(size_t output, int64_t from) const {
    return std::max<int64_t>(0, ticks(from) * outputs[output].steps - outputs[output].late);
  }
  // Whole ticks in so many steps, and the remaining steps.
  int64_t ticks(int64_t from) const { return steps == 1 ? from : from / steps; }
  int64_t rest(int64_t from) const { return steps == 1 ? 0 : from % steps; }
};

// How much of a sequence causal attention caches.
struct Cache {
  int64_t steps = 0;    // keys and values kept; 0: no cache
  bool slides = false;  // drops the oldest beyond that; otherwise the sequence must not be longer
};

// p's last `states` inputs are carried from one part of a sequence to the next, and its last outputs are their new
// values. `who`: formats a step's scope for messages. Refuses ops that need future steps.
Tick tick_of(const ops::Program &p, size_t states, const Cache &cache,
             const std::function<std::string(const std::string &)> &who);

}  // namespace dl4::plan
