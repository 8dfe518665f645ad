// slice: a range of an axis. concat: joins values along an axis. transpose: permutes axes. repeat: repeats every
// position of an axis, optionally interpolated. flip: reverses an axis. pad: zero padding along an axis, or cropping.
// broadcast_like, mean_grad and sum_like: to the shape of another value and back. ring: appends steps, and windows over
// the latest.
#include <bit>

#include "ops/attributes.hpp"
#include "ops/matched.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// First index of [begin, begin + size) on an axis of `dim`.
int64_t start(int64_t begin, int64_t dim) { return begin < 0 ? begin + dim : begin; }

// Zeros in the shape of source 1, with source 0 in the range.
struct PadLikeOp final : OpOf<PadLikeOp, "pad_like", attributes::PadLike> {
  std::vector<Operand> infer(Operands src) const override { return {{src[0].dtype, src[1].shape}}; }
  void gradient(Gradient &g) const override { g.set(0, slice(g.e, g.diff_dst(), axis, begin, size)); }
  bool reads(int src) const override { return src == 0; }
};

struct SliceOp final : OpOf<SliceOp, "slice", attributes::Slice> {
  bool takes_strings() const override { return true; }

  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    int64_t dim = x[axis];
    if (size < -1) fail(Code::invalid_argument, "slice: size ", size, " (expected at least 0, or -1: to the end)");
    if (dim == free_dim) return {{src[0].dtype, x.with(axis, size >= 0 ? size : begin < 0 ? -begin : free_dim)}};
    int64_t from = start(begin, dim), taken = size >= 0 ? size : dim - from;
    if (from < 0 || from > dim || taken > dim - from)
      fail(Code::shape_mismatch, "slice: ", size >= 0 ? text(size, " from ", begin) : text("all from ", begin),
           " is outside axis ", axis, " of ", x);
    return {{src[0].dtype, x.with(axis, taken)}};
  }

  void gradient(Gradient &g) const override {
    g.set(0, g.e.value(make<PadLikeOp>(axis, begin, size), {g.diff_dst(), g.src(0)}));
  }
};

// Splits source 0 into parts shaped like sources 1, 2, ...
struct SplitLikeOp final : OpOf<SplitLikeOp, "split_like", attributes::SplitLike> {
  std::vector<Operand> infer(Operands src) const override {
    std::vector<Operand> dst;
    for (const Operand &part : src.subspan(1)) dst.push_back({src[0].dtype, part.shape});
    return dst;
  }
  void gradient(Gradient &g) const override {
    std::vector<Id> parts;
    for (int i = 0; i < g.destinations(); ++i)
      parts.push_back(g.diff_dst(i) != none ? g.diff_dst(i)
                                            : fill(g.e, DType::f32, 0, g.src(i + 1), g.e.rank(g.src(i + 1)), {}));
    g.set(0, concat(g.e, std::move(parts), axis));
  }
  bool reads(int src) const override { return src == 0; }
};

struct ConcatOp final : OpOf<ConcatOp, "concat", attributes::Concat> {
  bool takes_strings() const override { return true; }

  std::vector<Operand> infer(Operands src) const override {
    Shape joined = src[0].shape;
    for (const Operand &x : src.subspan(1)) {
      if (x.dtype != src[0].dtype)
        fail(Code::invalid_argument, "concat expects equal dtypes, got ", src[0].dtype, " and ", x.dtype);
      int64_t length = free_dim;
      if (x.shape.rank() == joined.rank() && joined[axis] != free_dim && x.shape[axis] != free_dim)
        length = checked_add(joined[axis], x.shape[axis]);
      if (x.shape.rank() != joined.rank() || !compatible(joined.with(axis, 0), x.shape.with(axis, 0)))
        fail(Code::shape_mismatch, "concat: ", src[0].shape, " and ", x.shape, " differ outside axis ", axis);
      joined = same_shape(op, joined.with(axis, length), x.shape.with(axis, length));
    }
    return {{src[0].dtype, joined}};
  }

  void gradient(Gradient &g) const override {
    std::vector<Id> src{g.diff_dst()};
    for (int i = 0; g.has(i); ++i) src.push_back(g.src(i));
    auto parts = g.e.step(make<SplitLikeOp>(axis), src);
    for (size_t i = 0; i < parts.size(); ++i)
      if (g.wants(static_cast<int>(i))) g.set(static_cast<int>(i), parts[i]);
  }
};

struct TransposeOp final : OpOf<TransposeOp, "transpose", attributes::Transpose> {
  bool takes_strings() const override { return true; }

  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    std::vector<int> axes = perm;
    std::sort(axes.begin(), axes.end());
    bool fits = static_cast<int>(axes.size()) == x.rank();
    for (int i = 0; fits && i < x.rank(); ++i) fits = axes[static_cast<size_t>(i)] == i;
    if (!fits) fail(Code::invalid_argument, "transpose: ", numbers(perm), " is not an order of the axes of ", x);
    std::vector<int64_t> dims;
    for (int p : perm) dims.push_back(x[p]);
    return {{src[0].dtype, Shape(dims)}};
  }

  void gradient(Gradient &g) const override {
    std::vector<int> back(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int>(i);
    g.set(0, transpose(g.e, g.diff_dst(), back));
  }
};

Id repeat_grad(Emit &e, Id dy, const attributes::Repeating &how);

struct RepeatOp final : OpOf<RepeatOp, "repeat", attributes::Repeat> {
  bool takes_strings() const override { return true; }
  std::vector<Operand> infer(Operands src) const override {
    if (how.linear) want_float(op, src[0]);
    const int64_t n = src[0].shape[how.axis];
    return {{src[0].dtype, n == free_dim ? src[0].shape : src[0].shape.with(how.axis, checked_mul(n, how.times))}};
  }
  void gradient(Gradient &g) const override { g.set(0, repeat_grad(g.e, g.diff_dst(), how)); }
};

struct RepeatGradOp final : OpOf<RepeatGradOp, "repeat_grad", attributes::RepeatGrad> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    const Shape &dy = src[0].shape;
    const int64_t n = dy[how.axis];
    if (n == free_dim) return {src[0]};
    if (n % how.times != 0)
      fail(Code::shape_mismatch, "repeat_grad: ", how.times, " does not divide axis ", how.axis, " of ", dy);
    return {{DType::f32, dy.with(how.axis, n / how.times)}};
  }
  void gradient(Gradient &g) const override { g.set(0, repeat(g.e, g.diff_dst(), how.axis, how.times, how.linear)); }
};

Id repeat_grad(Emit &e, Id dy, const attributes::Repeating &how) { return e.value(make<RepeatGradOp>(how), {dy}); }

struct FlipOp final : OpOf<FlipOp, "flip", attributes::Flip> {
  bool takes_strings() const override { return true; }
  std::vector<Operand> infer(Operands src) const override { return {src[0]}; }
  void gradient(Gradient &g) const override { g.set(0, flip(g.e, g.diff_dst(), axis)); }
};

// Whether `small` broadcasts to exactly `large`.
void want_broadcast(const char *op, const Shape &small, const Shape &large) {
  bool fits = small.rank() <= large.rank();
  for (int i = 1; fits && i <= small.rank(); ++i)
    fits = small[-i] == 1 || small[-i] == large[-i] || small[-i] == free_dim || large[-i] == free_dim;
  if (!fits) fail(Code::shape_mismatch, op, ": ", small, " does not broadcast to ", large);
}

bool surely_same(const Shape &a, const Shape &b) { return a == b && a.known(); }

}  // namespace

Id slice(Emit &e, Id x, int axis, int64_t begin, int64_t size) {
  return e.value(make<SliceOp>(e.shape(x).axis(axis), begin, size), {x});
}

Id concat(Emit &e, std::vector<Id> xs, int axis) {
  if (xs.empty()) fail(Code::invalid_argument, "concat of nothing");
  axis = e.shape(xs[0]).axis(axis);
  if (xs.size() == 1) return xs[0];
  return e.value(make<ConcatOp>(axis), std::move(xs));
}

Id transpose(Emit &e, Id x, std::vector<int> perm) {
  for (int &p : perm) p = e.shape(x).axis(p);
  return e.value(make<TransposeOp>(std::move(perm)), {x});
}

Id repeat(Emit &e, Id x, int axis, int64_t times, bool linear) {
  if (times < 1 || times > max_dim)
    fail(Code::invalid_argument, "repeat: expected 1 to ", max_dim, " times, got ", times);
  return e.value(make<RepeatOp>(attributes::Repeating{e.shape(x).axis(axis), times, linear}), {x});
}

Id flip(Emit &e, Id x, int axis) { return e.value(make<FlipOp>(e.shape(x).axis(axis)), {x}); }

std::vector<Operand> PadOp::infer(Operands src) const {
  const auto cut = [](int64_t v) { return std::max<int64_t>(-v, 0); };
  const Shape &x = src[0].shape;
  if (x[axis] == free_dim) return {src[0]};
  if (cut(before) + cut(after) > x[axis])
    fail(Code::shape_mismatch, "pad: ", cut(before), " and ", cut(after), " can't be cut off axis ", axis, " of ", x);
  return {{src[0].dtype, x.with(axis, checked_add(x[axis], before, after))}};
}

void PadOp::gradient(Gradient &g) const { g.set(0, pad(g.e, g.diff_dst(), axis, -before, -after)); }

Id pad(Emit &e, Id x, int axis, int64_t before, int64_t after) {
  axis = e.shape(x).axis(axis);
  for (int64_t v : {before, after})
    if (v < -max_dim || v > max_dim) fail(Code::invalid_argument, "pad: ", v, " is outside +-", max_dim);
  if (before == 0 && after == 0) return x;
  return e.value(std::make_shared<PadOp>(axis, before, after), {x});
}

std::vector<Operand> BroadcastOp::infer(Operands src) const {
  if (divided) want_float("mean_grad", src[0]);
  want_broadcast("broadcast", src[0].shape, src[1].shape);
  return {{src[0].dtype, src[1].shape}};
}

void BroadcastOp::gradient(Gradient &g) const {
  Emit &e = g.e;
  Id sum = sum_like(e, g.diff_dst(), g.src(0));
  if (divided) sum = div(e, sum, sum_like(e, fill(e, DType::f32, 1, g.src(1), e.rank(g.src(1)), {}), g.src(0)));
  g.set(0, sum);
}

std::vector<Operand> SumLikeOp::infer(Operands src) const {
  want_float("sum_like", src[0]);
  want_broadcast("sum_like", src[1].shape, src[0].shape);
  return {{DType::f32, src[1].shape}};
}

void SumLikeOp::gradient(Gradient &g) const { g.set(0, broadcast_like(g.e, g.diff_dst(), g.src(0))); }

Id broadcast_like(Emit &e, Id x, Id like) {
  if (surely_same(e.shape(x), e.shape(like))) return x;
  return e.value(std::make_shared<BroadcastOp>(false), {x, like});
}

Id mean_grad(Emit &e, Id x, Id like) {
  if (surely_same(e.shape(x), e.shape(like))) return x;
  return e.value(std::make_shared<BroadcastOp>(true), {x, like});
}

Id sum_like(Emit &e, Id x, Id like) {
  if (surely_same(e.shape(x), e.shape(like))) return x;
  return e.value(std::make_shared<SumLikeOp>(), {x, like});
}

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
