// Updates a flat block of weights by its rule; parts of the gradient may come as rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "backend/cpu/kernels/elementwise/optimizer.hpp"
#include "backend/cpu/kernels/kernel.hpp"

namespace dl4::kernels {

using ops::RowPart;

// The gradient of a block: source 1, and parts that come as rows, with ids and sums from source `first` on.
class GradientRows {
 public:
  // counts: rows in each part.
  GradientRows(std::vector<RowPart> parts, std::vector<int64_t> counts, size_t first)
      : parts_(std::move(parts)), counts_(std::move(counts)), first_(first) {}

  // f(begin, end, g) over ranges that cover [begin, end); g is their gradient, or nullptr if zero.
  template <class F>
  void each(const Run &r, int64_t begin, int64_t end, F f) const {
    const float *g = r.in<float>(1);
    int64_t missing = 0;
    for (size_t i = 0; i < parts_.size() && begin < end; ++i) {
      const RowPart &p = parts_[i];
      if (int64_t to = std::min(p.begin, end); begin < to) {
        f(begin, to, g + (begin - missing));
        begin = to;
      }
      begin = part(r, i, begin, std::min(p.end, end), f);
      missing += p.end - p.begin;
    }
    if (begin < end) f(begin, end, g + (begin - missing));
  }

 private:
  template <class F>
  int64_t part(const Run &r, size_t i, int64_t begin, int64_t end, F f) const {
    if (begin >= end) return begin;
    const RowPart &p = parts_[i];
    const auto *ids = r.in<int64_t>(static_cast<int>(first_ + 2 * i)), *last = ids + counts_[i];
    const float *sums = r.in<float>(static_cast<int>(first_ + 2 * i + 1));
    for (const int64_t *id = std::lower_bound(ids, last, (begin - p.begin) / p.width); begin < end; ++id) {
      const bool named = id != last && *id < p.rows;
      const int64_t row = named ? p.begin + *id * p.width : end;
      if (int64_t to = std::min(row, end); begin < to) {
        f(begin, to, nullptr);
        begin = to;
      }
      if (int64_t to = std::min(row + p.width, end); begin < to) {
        f(begin, to, sums + (id - ids) * p.width + (begin - row));
        begin = to;
      }
    }
    return end;
  }

  std::vector<RowPart> parts_;
  std::vector<int64_t> counts_;
  size_t first_;
};

// Elements [begin, end) of the destination, initialised from the source that is updated in place.
inline float *take_over(const Run &r, int src, int dst, int64_t begin, int64_t end) {
  const float *from = r.in<float>(src) + begin;
  float *to = r.out<float>(dst) + begin;
  if (from != to) std::copy_n(from, end - begin, to);
  return to;
}

// f(begin, end, except) over ranges that cover [begin, end); except: the exception that applies, or nullptr.
template <class Except, class F>
void each_range(const std::vector<Except> &all, int64_t begin, int64_t end, F f) {
  for (const Except &x : all) {
    if (x.end <= begin) continue;
    if (x.begin >= end) break;
    if (x.begin > begin) f(begin, x.begin, nullptr);
    begin = std::max(begin, x.begin);
    f(begin, std::min(end, x.end), &x);
    begin = std::min(end, x.end);
  }
  if (begin < end) f(begin, end, nullptr);
}

inline constexpr float zeros[1024] = {};  // a gradient of zeros

// Sources of a run: w, the gradient, ..., slots from `first_slot` on. Destinations: w, slots.
template <class How, class Except>
struct BlockUpdate {
  How how, undecayed;
  bool rests;  // skips elements without gradient
  std::vector<Except> except;
  GradientRows rows;
  int first_slot, slots;

  void run(const Run &r, const Now &now, int64_t begin, int64_t end) const noexcept {
    float *w = take_over(r, 0, 0, begin, end) - begin;
    std::array<float *, 3> kept{};
    for (int i = 0; i < slots; ++i)
      kept[static_cast<size_t>(i)] = take_over(r, first_slot + i, 1 + i, begin, end) - begin;
    auto go = [&](const How &rule, int64_t from, int64_t to, const float *g) {
      std::array<float *, 3> at{};
      for (size_t i = 0; i < static_cast<size_t>(slots); ++i) at[i] = kept[i] + from;
      update(rule, now, w + from, g, at.data(), to - from);
    };
    constexpr auto most = static_cast<int64_t>(std::size(zeros));
    rows.each(r, begin, end, [&](int64_t first, int64_t last, const float *g) {
      if (!g && rests) return;
      each_range(except, first, last, [&](int64_t from, int64_t to, const Except *x) {
        if (x && !x->moves) return;
        const How &rule = x ? undecayed : how;
        if (g) return go(rule, from, to, g + (from - first));
        for (int64_t at = from; at < to; at += most) go(rule, at, std::min(to, at + most), zeros);
      });
    });
  }
};

}  // namespace dl4::kernels
