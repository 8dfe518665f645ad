// Dropout as several layers use it.
#pragma once

#include <optional>
#include <vector>

#include "kinds/layer.hpp"

namespace dl4::kinds {

// In training, 0 with probability rate, else 1 / (1 - rate), in the shape of the first `keep` axes of like, then of
// `tail`; none where nothing is dropped. `seed` is the layer's attribute; `which` tells masks of one call apart;
// by_row: the first axis is that of the samples, so that parts of a batch draw what the whole does.
ops::Id keep_mask(const Call &c, double rate, const std::optional<int64_t> &seed, ops::Id like, int keep,
                  const Shape &tail, uint64_t which = 0, bool by_row = true);
// By axis of the input, batch included: null is its dim, 1 one draw for the whole axis.
using NoiseShape = std::vector<std::optional<int64_t>>;
// The same for the first input in that shape, all of it without one.
ops::Id keep_mask(const Call &c, double rate, const std::optional<int64_t> &seed,
                  const std::optional<NoiseShape> &noise_shape);
// Fields of layers that draw.
void noise_shape_field(Fields &f, std::optional<NoiseShape> &place);
void seed_field(Fields &f, std::optional<int64_t> &place);
// x with some of it dropped.
ops::Id dropped(const Call &c, ops::Id x, double rate, const std::optional<int64_t> &seed);

}  // namespace dl4::kinds
