// ring: appends steps, and windows over the latest.
#include "ops/ring.hpp"

#include <algorithm>
#include <bit>

#include "ops/wants.hpp"

namespace dl4::ops {

std::vector<Operand> RingOp::infer(Operands src) const {
  const Shape &state = src[0].shape, &x = src[1].shape;
  want_type("ring", src[2], DType::i64);
  const bool fits = state.rank() == x.rank() && (!turned || (x.rank() == 3 && axis == 1));
  const Shape like_x = fits && turned ? Shape{state[0], state[2], state[1]} : state;
  if (src[0].dtype != src[1].dtype || !fits || src[2].shape.rank() != 0 ||
      !compatible(like_x.with(axis, 1), x.with(axis, 1)))
    fail(Code::shape_mismatch, "ring: a state of ", state, " can't take in ", x);
  const int64_t capacity = like_x[axis], n = x[axis];
  if (capacity == free_dim || n == free_dim || !std::has_single_bit(static_cast<uint64_t>(capacity)))
    fail(Code::shape_mismatch, "ring: expected a capacity that is a power of two and known steps, got ", state, " and ",
         x);
  const int64_t reach = count ? checked_add(checked_mul(count - 1, dilation), 1, skip) : 0;
  if (reach > checked_add(capacity, n) || each < 0 || count < 0 || skip < 0 || dilation < 1)
    fail(Code::invalid_argument, "ring: a window of ", count, " steps that are ", dilation, " apart, ", skip,
         " from the end, does not fit in ", capacity, " and ", n, " more");
  Shape whole = like_x;
  for (int i = 0; i < state.rank(); ++i)
    if (whole[i] == free_dim) whole = whole.with(i, x[i]);
  std::vector<Operand> dst{{src[0].dtype, turned ? Shape{whole[0], whole[2], whole[1]} : whole}};
  if (count) dst.push_back({src[0].dtype, whole.with(axis, count)});
  return dst;
}

int64_t ring_capacity(int64_t n, int64_t reach) {
  const int64_t least = std::max(n, reach);
  if (least > max_dim / 2)
    fail(Code::invalid_argument, "a ring of ", least, " steps passes the limit of ", max_dim / 2);
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(least)));
}

RingValues ring(Emit &e, Id state, Id x, Id tick, const RingOp &how) {
  const auto dst = e.step(std::make_shared<RingOp>(how), {state, x, tick});
  return {dst[0], how.count ? dst[1] : none};
}

}  // namespace dl4::ops
