#include "backend/cpu/kernels/reduce/suppress.hpp"

#include <algorithm>
#include <cmath>

namespace dl4::kernels {
namespace {

float area(const Box &b) { return (b.y1 - b.y0) * (b.x1 - b.x0); }

Box box_of(const float *p, bool centres) {
  if (centres) return {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
  return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
}

bool overlap(const Box &a, const Box &b, float most) {
  const float x0 = std::max(a.x0, b.x0), x1 = std::min(a.x1, b.x1), y0 = std::max(a.y0, b.y0),
              y1 = std::min(a.y1, b.y1);
  if (x1 <= x0 || y1 <= y0) return false;
  const float both = (x1 - x0) * (y1 - y0), area_a = area(a), area_b = area(b), all = area_a + area_b - both;
  if (both <= 0 || area_a <= 0 || area_b <= 0 || all <= 0) return false;
  return both / all > most;
}

}  // namespace

int64_t suppress(const Boxes &of, const ops::Suppression &how, const float *boxes, const float *scores, int32_t *order,
                 Box *chosen, int64_t *out) noexcept {
  int64_t found = 0;
  for (int64_t item = 0; item < of.items; ++item)
    for (int64_t c = 0; c < of.classes; ++c) {
      const float *score = scores + (item * of.classes + c) * of.boxes;
      int64_t left = 0, taken = 0;
      for (int64_t i = 0; i < of.boxes; ++i)
        if (!how.least || score[i] > *how.least) order[left++] = static_cast<int32_t>(i);
      // NaN sorts last.
      const auto key = [&](int32_t i) { return std::isnan(score[i]) ? -INFINITY : score[i]; };
      std::sort(order, order + left, [&](int32_t i, int32_t k) { return key(i) != key(k) ? key(i) > key(k) : i < k; });
      for (int64_t i = 0; i < left && taken < how.most; ++i) {
        const Box box = box_of(boxes + (item * of.boxes + order[i]) * 4, how.centres);
        if (std::any_of(chosen, chosen + taken, [&](const Box &other) { return overlap(box, other, how.overlap); }))
          continue;
        chosen[taken++] = box;
        int64_t *row = out + 3 * found++;
        row[0] = item, row[1] = c, row[2] = order[i];
      }
    }
  return found;
}

}  // namespace dl4::kernels
