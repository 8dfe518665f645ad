// ring: the latest steps of a sequence that comes a part at a time.
#pragma once

#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {

// Along `axis` the state (.., capacity, ..), whose capacity is a power of two, has step i at place i % capacity. It
// takes in the n steps x (.., n, ..), which are those from tick * each on. The window is `count` steps, `dilation`
// steps apart, of which the last is the one before the newest `skip`; none where count is 0. Of a `turned` one x is
// [batch, n, channels] and the state [batch, channels, capacity], as kernels like that read few channels many steps
// apart.
struct RingOp final : NotDifferentiable<RingOp> {
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
  std::string_view name() const override { return "ring"; }
  std::vector<Operand> infer(Operands src) const override;
  int overwrites(int dst) const override { return dst == 0 ? 0 : -1; }
};

// The least capacity for n steps at a time and windows that reach so far back.
int64_t ring_capacity(int64_t n, int64_t reach);

struct RingValues {
  Id state, window;  // window: none where count is 0
};
RingValues ring(Emit &e, Id state, Id x, Id tick, const RingOp &how);

}  // namespace dl4::ops
