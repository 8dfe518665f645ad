// Boxes that overlap no better one.
#pragma once

#include <cstdint>

#include "ops/functions.hpp"

namespace dl4::kernels {

struct Box {
  float y0, x0, y1, x1;
};
struct Boxes {
  int64_t items, classes, boxes;
};

// boxes (items, boxes, 4), scores (items, classes, boxes); order and chosen: room for `boxes`. Writes rows of item,
// class and box to `out`, and gives how many. In float32, as ONNX Runtime computes it; of equal scores the first box
// first.
int64_t suppress(const Boxes &of, const ops::Suppression &how, const float *boxes, const float *scores, int32_t *order,
                 Box *chosen, int64_t *out) noexcept;

}  // namespace dl4::kernels
