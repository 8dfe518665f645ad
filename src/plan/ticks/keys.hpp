// Values with one element per pair of steps, query and key, of which composed attention consists.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/program.hpp"

namespace dl4::plan::ticks {

// Number of keys before and after a step.
struct Reach {
  int64_t before = 0, after = 0;

  bool operator==(const Reach &) const = default;
  Reach joined(const Reach &o) const { return {std::max(before, o.before), std::max(after, o.after)}; }
  Reach met(const Reach &o) const { return {std::min(before, o.before), std::min(after, o.after)}; }
};

// For its n steps a tick has the keys from `reach.before` before the first step to `reach.after` after the last. The
// remaining keys of the whole Program are characterised by what a mask made of them.
struct Keys {
  enum class Others {
    any,
    zero,
    low,              // zero weight in a softmax
    far,              // at least 1 below the maximum: zero weight in a sparsemax
    zero_if_any_seen  // weights: 0, except for a step whose mask hides everything, where all keys have equal weight
  };
  int axis = 0;
  Reach reach;
  std::vector<ops::Id> from{};  // the values of the whole Program that introduced the keys
  Others others = Others::any;
  Reach sees{};              // beyond this, all keys are `others`
  bool sees_itself = false;  // each step sees its own key
  ops::Id mask = ops::none;  // of the whole Program: the mask that made them low
  bool below_0 = false;      // the largest score a step sees is 0
};

}  // namespace dl4::plan::ticks
