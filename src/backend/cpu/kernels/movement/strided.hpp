// Broadcast operands as few long runs: axes along which all operands step alike are merged.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/shape.hpp"

namespace dl4::kernels {

inline constexpr int max_operands = 3;

// The elements of a dense destination in order, and each operand's offset for them.
struct Strided {
  struct Axis {
    int64_t dim;
    std::array<int64_t, max_operands> step;  // in elements; 0 repeats
  };
  // At least one; the last is the run.
  std::vector<Axis> axes;
  int64_t elements = 0;

  int64_t run() const { return axes.back().dim; }
  int64_t step(int operand) const { return axes.back().step[static_cast<size_t>(operand)]; }
};

// For dense operands of known shapes that broadcast to dst.
Strided strided(const Shape &dst, std::initializer_list<Shape> operands);

// Calls f(at, offsets, n) for the runs of destination elements [begin, end). at: the first element of the run; offsets:
// those of the operands.
template <class F>
void walk(const Strided &s, int64_t begin, int64_t end, F f) noexcept {
  std::array<int64_t, max_rank + 1> index{};
  std::array<int64_t, max_operands> offset{};
  size_t last = s.axes.size() - 1;
  int64_t rest = begin;
  for (size_t i = s.axes.size(); i-- > 0;) {
    index[i] = rest % s.axes[i].dim;
    rest /= s.axes[i].dim;
    for (size_t o = 0; o < offset.size(); ++o) offset[o] += index[i] * s.axes[i].step[o];
  }
  for (int64_t at = begin; at < end;) {
    int64_t n = s.axes[last].dim - index[last];
    if (n > end - at) n = end - at;
    f(at, offset, n);
    at += n;
    // Back to the start of the next run.
    for (size_t o = 0; o < offset.size(); ++o) offset[o] -= index[last] * s.axes[last].step[o];
    index[last] = 0;
    for (size_t i = last; i-- > 0;) {
      for (size_t o = 0; o < offset.size(); ++o) offset[o] += s.axes[i].step[o];
      if (++index[i] < s.axes[i].dim) break;
      for (size_t o = 0; o < offset.size(); ++o) offset[o] -= s.axes[i].dim * s.axes[i].step[o];
      index[i] = 0;
    }
  }
}

}  // namespace dl4::kernels
