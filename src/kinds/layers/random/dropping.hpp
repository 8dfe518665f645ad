// Dropout as part of several layers.
#pragma once

#include "kinds/layer.hpp"

namespace dl4::kinds {

// In training 0 with probability rate, else 1 / (1 - rate), shaped as the first `keep` axes of like followed by `tail`;
// none if nothing is dropped. `seed`: the layer's attribute. `which` distinguishes masks within a call. by_row: the
// first axis is the samples, so that parts of a batch draw what the whole would.
ops::Id keep_mask(const Call &c, double rate, const std::optional<int64_t> &seed, ops::Id like, int keep,
                  const Shape &tail, uint64_t which = 0, bool by_row = true);
// By axis of the input, including the batch: null is its dim, 1 shares one draw along the axis.
using NoiseShape = std::vector<std::optional<int64_t>>;
// The same for the first input in that shape, or in its own.
ops::Id keep_mask(const Call &c, double rate, const std::optional<int64_t> &seed,
                  const std::optional<NoiseShape> &noise_shape);
// Fields of layers with random numbers.
void noise_shape_field(Fields &f, std::optional<NoiseShape> &place);
void seed_field(Fields &f, std::optional<int64_t> &place);
// x with dropout.
ops::Id dropped(const Call &c, ops::Id x, double rate, const std::optional<int64_t> &seed);

}  // namespace dl4::kinds
