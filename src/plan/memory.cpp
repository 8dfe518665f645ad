// Places buffers in the arena: largest first, best fit; with very many buffers, in order of time.
#include "plan/memory.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/checked.hpp"

namespace dl4::plan {
namespace {

// Free parts of the arena at a step.
class Free {
 public:
  // Best fit for `size` bytes.
  int64_t take(int64_t size) {
    auto best = by_size_.lower_bound({size, 0});
    if (best == by_size_.end()) return std::exchange(end_, checked_add(end_, size));
    auto [room, at] = *best;
    remove(at, room);
    if (room > size) add(at + size, room - size);
    return at;
  }
  void give(int64_t at, int64_t size) {
    auto next = by_offset_.lower_bound(at);
    if (next != by_offset_.end() && next->first == at + size) {
      auto [offset, more] = *next;
      remove(offset, more);
      size += more;
    }
    auto before = by_offset_.lower_bound(at);
    if (before != by_offset_.begin() && (--before)->first + before->second == at) {
      auto [offset, more] = *before;
      remove(offset, more);
      at = offset;
      size += more;
    }
    add(at, size);
  }
  int64_t end() const { return end_; }

 private:
  void add(int64_t at, int64_t size) {
    by_offset_[at] = size;
    by_size_.insert({size, at});
  }
  void remove(int64_t at, int64_t size) {
    by_offset_.erase(at);
    by_size_.erase({size, at});
  }

  int64_t end_ = 0;
  std::map<int64_t, int64_t> by_offset_;           // offset to bytes
  std::set<std::pair<int64_t, int64_t>> by_size_;  // bytes, offset
};

int64_t place_in_time(std::vector<Life> &lives) {
  std::vector<size_t> order(lives.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lives[a].first < lives[b].first; });
  Free free;
  std::set<std::pair<int32_t, size_t>> alive;  // ordered by last step
  for (size_t i : order) {
    while (!alive.empty() && alive.begin()->first < lives[i].first) {
      const Life &ended = lives[alive.begin()->second];
      free.give(ended.offset, round_up(ended.bytes, 64));
      alive.erase(alive.begin());
    }
    lives[i].offset = free.take(round_up(lives[i].bytes, 64));
    alive.insert({lives[i].last, i});
  }
  return free.end();
}

}  // namespace

int64_t place(std::vector<Life> &lives) {
  if (lives.size() > most_lives_by_size) return place_in_time(lives);
  std::vector<size_t> order(lives.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lives[a].bytes > lives[b].bytes; });

  int64_t total = 0;
  std::vector<const Life *> placed;  // ordered by offset
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
