// Values of an image between its places: what GridSample and RoiAlign take.
#pragma once

#include <vector>

#include "kinds/layer.hpp"

namespace dl4::kinds {

enum class Between { nearest, linear, cubic };
enum class Outside { zeros, border, reflection };

// A place of an axis, as a whole number in float32 that is inside of it, and what its value counts.
struct Tap {
  ops::Id place, weight;
};
// The places around x along an axis of n. Whatever lies outside of it: zeros, the place at the border, or the axis
// mirrored at its first and last place, or where they end (`edges`).
std::vector<Tap> taps(ops::Emit &e, ops::Id x, int64_t n, Between between, Outside outside, bool edges);

// Of x (B, H, W, C), or with one axis or three for H W, the values at the taps of each of these axes: (..., C) for taps
// of (...). item: int64 of the taps' shape or one that broadcasts with it, the place along B.
ops::Id sampled(ops::Emit &e, ops::Id x, ops::Id item, const std::vector<std::vector<Tap>> &axes);

}  // namespace dl4::kinds
