// Dropout as several layers use it.
#pragma once

#include <optional>

#include "kinds/layer.hpp"

namespace dl4::kinds {

// In training, ones that keep with probability 1 - rate, scaled by 1 / (1 - rate): the first `keep` axes of like, then `tail`.
// none where nothing is dropped. `seed` is the layer's attribute.
ops::Id keep_mask(const Call &c, double rate, const std::optional<int64_t> &seed, ops::Id like, int keep,
                  const Shape &tail);
// x with some of it dropped.
ops::Id dropped(const Call &c, ops::Id x, double rate, const std::optional<int64_t> &seed);

}  // namespace dl4::kinds
