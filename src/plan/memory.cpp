// Largest first, best fit.
#include "plan/memory.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"

namespace dl4::plan {

int64_t place(std::vector<Life> &lives) {
  std::vector<size_t> order(lives.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lives[a].bytes > lives[b].bytes; });

  int64_t total = 0;
  std::vector<const Life *> placed;  // by offset
  for (size_t i : order) {
    Life &life = lives[i];
    int64_t size = round_up(life.bytes, 64);
    int64_t end = 0, best = -1, best_gap = INT64_MAX;
    for (const Life *other : placed) {
      if (other->last < life.first || life.last < other->first) continue;
      int64_t gap = other->offset - end;
      if (gap >= size && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, other->offset + round_up(other->bytes, 64));
    }
    life.offset = best >= 0 ? best : end;
    total = std::max(total, checked_add(life.offset, size));
    auto at = std::upper_bound(placed.begin(), placed.end(), life.offset,
                               [](int64_t offset, const Life *o) { return offset < o->offset; });
    placed.insert(at, &life);
  }
  return total;
}

}  // namespace dl4::plan
