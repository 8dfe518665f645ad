// A Program over whole sequences as one that takes them a few steps at a time.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/tensor.hpp"
#include "ops/program.hpp"

namespace dl4::plan {

// Its inputs are those of the Program it is made of, then the number of the tick from 0 on, an int64, then states; its
// outputs those of that Program, then what becomes of the states.
struct Tick {
  struct State {
    Tensor initial{};      // a scalar; null: 0
    int64_t begin = 0;     // the tick that begins with `initial`, whatever the ticks before it left
    bool is_ring = false;  // a run writes only `rows` places of `axis`, those from tick * rows on, modulo its size
    int axis = 0;
    int64_t rows = 0;
    int64_t free = 0;  // of a ring: places that may be written before one is lost that the first tick reads
  };
  struct Output {
    bool is_sequence = false;
    int64_t steps = 0;  // in each tick
    int64_t late = 0;   // of a sequence the steps, of others the ticks, that come first and are none
  };
  ops::Program program;
  // The same of several ticks in one, from the tick of the number on, which begins no state and gives no late step: the
  // same bits.
  struct Together {
    ops::Program program;
    int64_t ticks;
  };
  std::vector<Together> together;  // the most ticks first
  std::vector<bool> sequences;     // by input of that Program: is it a sequence?
  int64_t steps = 1;               // that it takes of each
  std::vector<State> states;       // behind the number of the tick
  std::vector<Output> outputs;
  int64_t most = INT64_MAX;  // ticks of a sequence
  int64_t begun = 0;         // the first tick that begins no state with values that it is given
  // Does what a tick does depend on its number, other than by where in a ring it begins? Else the rows of a batch may
  // be at different ticks.
  bool counts = false;
  // Does it at all ticks? Else once all states have begun and no output is late any more the number says only where in
  // rings a tick begins.
  bool counts_on = false;

  // Steps of an output that so many steps of the inputs give.
  int64_t given(size_t output, int64_t from) const {
    return std::max<int64_t>(0, ticks(from) * outputs[output].steps - outputs[output].late);
  }
  // Whole ticks of so many steps, and the steps that are left over.
  int64_t ticks(int64_t from) const { return steps == 1 ? from : from / steps; }
  int64_t rest(int64_t from) const { return steps == 1 ? 0 : from % steps; }
};

// What a causal attention keeps of a sequence.
struct Cache {
  int64_t steps = 0;    // how many of its keys and values; 0: none is kept
  bool slides = false;  // the oldest go where there are more; else a sequence may have no more
};

// Of a Program whose last `states` inputs are what it carries from one part of a sequence to the next, and whose last
// outputs what they become. `who`: a step's scope, as messages say it. Refuses what needs steps that are yet to come.
Tick tick_of(const ops::Program &p, size_t states, const Cache &cache,
             const std::function<std::string(const std::string &)> &who);

}  // namespace dl4::plan
