// ring: the latest steps of a sequence that arrives in parts.
#pragma once

#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {

// Along `axis` the state (.., capacity, ..), with a capacity that is a power of 2, has step i at i % capacity. The n
// steps x (.., n, ..), from step tick * each on, are appended. The window is `count` steps, `dilation` apart, the last
// of them before the newest `skip`; none if count is 0. If `turned`, x is [batch, n, channels] and the state [batch,
// channels, capacity], as preferred by kernels that read few channels many steps apart.
struct RingOp final : NotDifferentiable<RingOp, "ring"> {
  int axis;
  int64_t each, count, dilation, skip;
  bool turned;

  RingOp(int axis, int64_t each, int64_t count, int64_t dilation, int64_t skip, bool turned = false)
      : axis(axis), each(each), count(count), dilation(dilation), skip(skip), turned(turned) {}
  void fields(auto &f) const {
    f("axis", axis), f("each", each), f("count", count), f("dilation", dilation), f("skip", skip);
    f("turned", turned);
  }
  int state_axis() const { return turned ? 2 : axis; }
  std::vector<Operand> infer(Operands src) const override;
  int overwrites(int dst) const override { return dst == 0 ? 0 : -1; }
};

// The least capacity for n steps at a time and windows of that reach.
int64_t ring_capacity(int64_t n, int64_t reach);

struct RingValues {
  Id state, window;  // window: none if count is 0
};
RingValues ring(Emit &e, Id state, Id x, Id tick, const RingOp &how);

}  // namespace dl4::ops
