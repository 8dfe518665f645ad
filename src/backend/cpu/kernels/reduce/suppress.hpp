// Non-maximum suppression.
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

// boxes (items, boxes, 4), scores (items, classes, boxes); order and chosen: room for `boxes`. Writes rows of (item,
// class, box) to `out` and returns their number. In float32, like ONNX Runtime; of equal scores the first box wins.
int64_t suppress(const Boxes &of, const ops::Suppression &how, const float *boxes, const float *scores, int32_t *order,
                 Box *chosen, int64_t *out) noexcept;

}  // namespace dl4::kernels
