// Recurrences and running reductions, whose states are carried from tick to tick.
#include <algorithm>
#include <functional>
#include <limits>

#include "ops/attributes.hpp"
#include "ops/lstm.hpp"
#include "ops/ops.hpp"
#include "ops/scan.hpp"
#include "plan/ticks/writer.hpp"

namespace dl4::plan::ticks {
namespace {

using namespace ops;

constexpr const char *from_the_end = "it reads a sequence from its end";

void set_all(Writer &w, const Timed &steps, const std::vector<Id> &made, const std::vector<int> &axes) {
  for (size_t i = 0; i < made.size(); ++i) {
    Timed t = steps;
    t.v = made[i];
    t.axis = axes[i];
    if (axes[i] < 0) t = {made[i], Timed::Kind::running, 0, false, 0, steps.late / w.each(steps)};
    w.set(t, static_cast<int>(i));
  }
}

// Sources by kind: sequences aligned to a tick, states, and constants over all steps.
struct Fed {
  Timed steps;
  std::vector<Id> src;
};

Fed fed(Writer &w, int time_axis, const std::function<bool(int)> &is_sequence,
        const std::function<bool(int)> &is_state) {
  Fed f;
  int64_t late = 0;
  const Timed *one = nullptr;
  for (int i = 0; i < w.sources(); ++i) {
    if (!w.has(i)) continue;
    const Timed &t = w.src(i);
    if (!is_sequence(i)) {
      if (!is_state(i) && t.kind != Timed::Kind::fixed) w.refuse_mixing();
      continue;
    }
    if (!t.has_steps() || t.rows || t.axis != time_axis) w.refuse_mixing();
    if (one && t.n != one->n) w.refuse("its inputs have different numbers of steps");
    one = &t;
    late = std::max(late, t.late);
  }
  if (!one) w.refuse_mixing();
  f.steps = *one;
  f.steps.late = round_up(late, w.each(*one));
  for (int i = 0; i < w.sources(); ++i) {
    if (!w.has(i))
      f.src.push_back(none);
    else if (is_sequence(i))
      f.src.push_back(w.delayed(w.src(i), f.steps.late - w.src(i).late).v);
    else
      f.src.push_back(is_state(i) ? w.carried(i, f.steps.late / w.each(f.steps)) : w.now(i));
  }
  return f;
}

void lstm(Writer &w, const attributes::Lstm &how) {
  if (how.go_backwards) w.refuse(from_the_end);
  Fed f = fed(
      w, 1, [](int i) { return i == src_x || i == src_mask; }, [](int i) { return i == src_h0 || i == src_c0; });
  const Shape units = w.shape(src_recurrent_kernel).first(1).inserted(0, w.shape(src_x)[0]);
  for (int i : {src_h0, src_c0})
    if (!w.has(i))
      f.src[static_cast<size_t>(i)] = w.state("state", DType::f32, units, 0, {.begin = f.steps.late / w.each(f.steps)});
  const std::vector<Id> dst = w.again(f.src);
  for (size_t i = 0; i < 2; ++i) w.becomes(f.src[src_h0 + i], dst[lstm_dst::h + i]);
  set_all(w, f.steps, dst, {1, -1, -1, 1, 1, 1});
}

void scan(Writer &w, const ScanOp &op) {
  if (std::any_of(op.reversed.begin(), op.reversed.end(), [](int r) { return r != 0; })) w.refuse(from_the_end);
  for (size_t i = 0; i < op.carry.size(); ++i)
    if (op.carry[i] == Carry::reversed) w.refuse(from_the_end);
  const auto is = [&](Carry c) { return [&op, c](int i) { return op.carry[static_cast<size_t>(i)] == c; }; };
  const Fed f = fed(w, 0, is(Carry::sequence), is(Carry::state));
  const std::vector<Id> dst = w.again(f.src);
  const size_t states = op.states(), stacks = dst.size() - states;
  size_t at = stacks;
  for (int i = 0; i < w.sources(); ++i)
    if (op.carry[static_cast<size_t>(i)] == Carry::state) w.becomes(f.src[static_cast<size_t>(i)], dst[at++]);
  std::vector<int> axes(dst.size(), -1);
  std::fill_n(axes.begin(), stacks, 0);
  set_all(w, f.steps, dst, axes);
}

Id same_as(Emit &e, Reduce f, Id a, Id b) {
  const bool flags = e.dtype(a) == DType::boolean;
  switch (f) {
    case Reduce::max:
      return binary(e, flags ? Binary::logical_or : Binary::max, a, b);
    case Reduce::min:
      return binary(e, flags ? Binary::logical_and : Binary::min, a, b);
    case Reduce::prod:
      return mul(e, a, b);
    default:
      return add(e, a, b);
  }
}

double first_of(Reduce f, bool flags) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (f == Reduce::max) return flags ? 0 : -infinity;
  if (f == Reduce::min) return flags ? 1 : infinity;
  return f == Reduce::prod;
}

// Reductions over each step's keys, or other axes.
void reduce_keys(Writer &w, const attributes::Reduction &how) {
  Timed t = w.src(0);
  const int keys = t.keys->axis, steps = t.axis;
  for (int a : how.axes) {
    if (a == steps) w.refuse_mixing();
    if (a == keys) {
      const bool least = how.f == Reduce::max && w.e.dtype(t.v) != DType::boolean;
      if (how.axes.size() > 1 || (how.f != Reduce::max && how.f != Reduce::sum)) w.refuse_mixing();
      w.need_keys(least ? Keys::Others::low : Keys::Others::zero);
    }
    if (!how.keepdims) t.axis -= a < steps, t.keys->axis -= a < keys;
  }
  t.keys->others = Keys::Others::any;
  if (std::find(how.axes.begin(), how.axes.end(), keys) != how.axes.end()) t.keys.reset();
  t.v = w.again()[0];
  w.set(t);
}

// Running reductions over all steps so far.
void reduce(Writer &w, const attributes::Reduction &how) {
  const Timed &x = w.src(0);
  if (x.keys) return reduce_keys(w, how);
  int before = 0;
  bool over_steps = false;
  for (int a : how.axes) {
    before += a < x.axis;
    over_steps |= a == x.axis;
  }
  if (!over_steps) return w.follows(x, how.keepdims ? x.axis : x.axis - before);
  if (x.rows) w.refuse_mixing();
  w.need_apart(how.f != Reduce::max && how.f != Reduce::min);
  const Timed steps = w.aligned(x);
  const int64_t begin = steps.late / w.each(steps);
  const Id now = w.again({steps.v})[0];
  const DType type = w.e.dtype(now);
  const Id so_far = w.state("so_far", type, w.e.shape(now), first_of(how.f, type == DType::boolean), {.begin = begin});
  Id after = none;
  if (how.f == Reduce::mean) {
    const Id ticks = cast(w.e, add(w.e, w.position(1, begin), w.e.scalar(1, DType::i64)), DType::f32);
    after = add(w.e, so_far, div(w.e, sub(w.e, now, so_far), ticks));
  } else {
    after = same_as(w.e, how.f, so_far, now);
  }
  w.becomes(so_far, after);
  w.set({after, Timed::Kind::running, 0, false, 0, begin});
}

void cumulate(Writer &w, const attributes::Cumulation &how) {
  const Timed &x = w.src(0);
  if (w.shape(0).axis(how.axis) != x.axis) return w.follows(x, x.axis);
  if (x.rows) w.refuse_mixing();
  if (how.how.reverse) w.refuse(from_the_end);
  w.need_apart();
  Timed t = w.aligned(x);
  const auto join = [&](Id a, Id b) { return how.how.product ? mul(w.e, a, b) : add(w.e, a, b); };
  const auto last = [&](Id v) { return ops::slice(w.e, v, x.axis, t.n - 1, 1); };
  const Id before = w.state("so_far", w.e.dtype(t.v), w.e.shape(t.v).with(x.axis, 1), how.how.product ? 1 : 0,
                            {.begin = t.late / t.n});
  const Id source = t.v;
  t.v = join(w.again({source})[0], before);
  w.becomes(before, how.how.exclusive ? join(last(t.v), last(source)) : last(t.v));
  w.set(t);
}

}  // namespace

std::span<const Row> running_rows() {
  static const Row all[] = {
      row<attributes::Lstm, lstm>(),
      row<ScanOp, scan>(),
      row<attributes::Reduction, reduce>(true),
      row<attributes::Cumulation, cumulate>(),
  };
  return all;
}

}  // namespace dl4::plan::ticks
