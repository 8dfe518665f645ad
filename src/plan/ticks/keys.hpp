// Values of each step by each other step, its keys: what attention is made of when it is composed of other ops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/program.hpp"

namespace dl4::plan::ticks {

// How many keys before a step and behind it.
struct Reach {
  int64_t before = 0, after = 0;

  bool operator==(const Reach &) const = default;
  Reach joined(const Reach &o) const { return {std::max(before, o.before), std::max(after, o.after)}; }
  Reach met(const Reach &o) const { return {std::min(before, o.before), std::min(after, o.after)}; }
};

// A tick has for its n steps the keys from `reach.before` before the first one to `reach.after` behind the last one.
// The others, which the whole Program has, are known by what a mask made of them.
struct Keys {
  enum class Others {
    any,
    zero,
    low,              // no weight in a softmax
    far,              // 1 or more below the largest: no weight in a sparsemax
    zero_if_any_seen  // weights: 0, but for a step whose mask lets see nothing, of which all keys have one weight
  };
  int axis = 0;
  Reach reach;
  std::vector<ops::Id> from{};  // the values of the whole Program that have them first
  Others others = Others::any;
  Reach sees{};              // beyond this all are `others`
  bool sees_itself = false;  // each step
  ops::Id mask = ops::none;  // of the whole Program: what made them low
  bool below_0 = false;      // of all that a step sees the largest is 0
};

}  // namespace dl4::plan::ticks
