// Ops that change shapes and positions, and the effect on the steps' axis.
#include <algorithm>

#include "ops/attributes.hpp"
#include "ops/matched.hpp"
#include "ops/ops.hpp"
#include "plan/ticks/writer.hpp"

namespace dl4::plan::ticks {
namespace {

using namespace ops;

// Product of axes [first, last); none if one is free.
std::optional<int64_t> product(const Shape &s, int first) {
  int64_t n = 1;
  for (int i = first; i < s.rank(); ++i) {
    if (s[i] == free_dim) return {};
    n = checked_mul(n, s[i]);
  }
  return n;
}

void fill(Writer &w, const attributes::Fill &how) {
  const Timed &like = w.src(0);
  if (like.axis < how.keep) return w.follows(like, like.axis);
  w.set({w.again()[0]});
}

// Reshapes that change the number of steps: `inner` source steps become `of` result steps.
void resized(Writer &w, const attributes::Reshape &how, int64_t inner, int64_t each) {
  const Timed &x = w.src(0);
  if (each < 1 || inner < 1) w.refuse("it reshapes a value without elements");
  w.need_parts(checked_mul(x.n, inner), each);
  int64_t by = 0;
  while (checked_mul(x.late + by, inner) % each != 0) ++by;
  Timed t = w.delayed(x, by);
  t.v = w.again({t.v})[0];
  t.axis = how.keep;
  t.n = t.n * inner / each;
  t.late = t.late * inner / each;
  w.set(t);
}

void reshape(Writer &w, const attributes::Reshape &how) {
  const Timed &x = w.src(0);
  const Shape s = w.shape(0);
  if (x.axis < how.keep) return w.follows(x, x.axis);
  const bool opens = how.tail.rank() > 0 && how.tail[0] == free_dim;
  const auto rest = product(s, x.axis + 1), tail = opens ? product(how.tail, 1) : std::nullopt;
  if (opens && rest && tail) {
    if (x.rows && how.keep == 0 && *rest == *tail) return w.follows(x, 0);
    if (!x.rows && how.keep == x.axis) return resized(w, how, *rest, *tail);
    if (!x.rows && how.keep == 0 && x.axis == 1 && *rest == *tail) {  // the batch's steps as samples
      Timed t = x;
      t.v = w.again()[0];
      t.axis = 0;
      t.rows = true;
      return w.set(t);
    }
  }
  w.refuse("it mixes the steps with another axis");
}

// Only source 1's shape matters.
void reshape_like(Writer &w, const attributes::ReshapeLike &) {
  const Timed &x = w.src(0), &like = w.src(1);
  if (!x.has_steps() || !like.has_steps() || x.n != like.n) w.refuse("it mixes the steps with another axis");
  const bool parts = x.rows && !like.rows && like.axis == 1;
  if (!parts && (x.rows != like.rows || x.axis != like.axis)) w.refuse("it mixes the steps with another axis");
  Timed t = x;
  t.rows = like.rows;
  t.axis = like.axis;
  t.v = w.again()[0];
  w.set(t);
}

void broadcast_like(Writer &w, const BroadcastOp &) {
  const Timed &x = w.src(0), &like = w.src(1);
  if (!like.has_steps() || x.kind == Timed::Kind::running) w.refuse_mixing();
  const int at = w.shape(1).rank() - like.axis;
  w.need_same_at_all_steps(0, at);
  if (x.has_steps() && (x.n != like.n || x.rows != like.rows || w.shape(0).rank() - x.axis != at)) w.refuse_mixing();
  w.follows(x.has_steps() ? x : like, like.axis);
}

void squeeze(Writer &w, const attributes::Squeeze &how) {
  const Timed &x = w.src(0);
  const int axis = w.shape(0).axis(how.axis);
  if (axis == x.axis) w.refuse("it removes the axis of the steps");
  w.follows(x, x.axis - (axis < x.axis));
}

void transpose(Writer &w, const attributes::Transpose &how) {
  const Timed &x = w.src(0);
  const auto at = std::find(how.perm.begin(), how.perm.end(), x.axis) - how.perm.begin();
  if (x.rows && at != 0) w.refuse("it mixes the steps with another axis");
  w.follows(x, static_cast<int>(at));
}

void concat(Writer &w, const attributes::Concat &how) {
  int axis = -1;
  for (int i = 0; i < w.sources(); ++i) {
    if (!w.src(i).has_steps()) w.refuse(text("an input of shape ", w.shape(i), " cannot be passed to each step"));
    if (axis >= 0 && w.src(i).axis != axis) w.refuse_mixing();
    axis = w.src(i).axis;
  }
  if (axis == w.result().axis(how.axis)) w.refuse("it appends values after the end of a sequence");
  w.on_met(axis);
}

// Removes the first steps; the last ones are known to be last only after as many more have arrived.
Timed cropped(Writer &w, const Timed &x, int64_t before, int64_t after) {
  Timed t = w.delayed(x, after);
  t.late += before;
  t.lead = std::max<int64_t>(0, t.lead - before);
  return t;
}

void pad(Writer &w, const PadOp &how) {
  Timed t = w.src(0);
  if (t.axis != w.shape(0).axis(how.axis)) return w.follows(t, t.axis);
  if (t.rows) w.refuse_mixing();
  if (how.before > 0) {
    if (t.lead == 0) t = w.aligned(t);
    t.late -= how.before;
    t.lead += how.before;
  } else {
    t = cropped(w, t, -how.before, 0);
  }
  // Zeros after the end are never reached.
  w.set(cropped(w, t, 0, std::max<int64_t>(-how.after, 0)));
}

void slice(Writer &w, const attributes::Slice &how) {
  const Timed &x = w.src(0);
  if (x.axis != w.shape(0).axis(how.axis)) return w.follows(x, x.axis);
  if (x.rows) w.refuse_mixing();
  if (how.begin >= 0 && how.size == -1) return w.set(cropped(w, x, how.begin, 0));
  if (how.begin >= 0) w.refuse("it takes steps at fixed positions of a sequence");
  // The most recent steps.
  const int64_t count = -how.begin, taken = how.size < 0 ? count : how.size;
  const Timed steps = w.aligned(x);
  const int64_t each = w.each(steps);
  w.need_apart(count > each);  // those of earlier ticks
  Id v = w.window(steps, count, 1, 0, false);
  if (taken != count) v = ops::slice(w.e, v, x.axis, 0, taken);
  w.set({v, Timed::Kind::running, 0, false, 0, (steps.late + count + each - 1) / each - 1});
}

void repeat(Writer &w, const attributes::Repeat &how) {
  const Timed &x = w.src(0);
  if (x.axis != w.shape(0).axis(how.how.axis)) return w.follows(x, x.axis);
  if (x.rows) w.refuse_mixing();
  if (how.how.linear) w.refuse("it interpolates each step with the next one");
  Timed t = x;
  t.v = w.again()[0];
  t.n = checked_mul(x.n, how.how.times);
  t.late = checked_mul(x.late, how.how.times);
  w.set(t);
}

void flip(Writer &w, const attributes::Flip &how) {
  const Timed &x = w.src(0);
  if (x.axis == w.shape(0).axis(how.axis)) w.refuse("it begins at the end of a sequence");
  w.follows(x, x.axis);
}

void indices(Writer &w, const attributes::Indices &how) {
  const Timed &like = w.src(0);
  if (w.shape(0).axis(how.axis) != like.axis) return w.set({w.again()[0]});
  if (like.rows) w.refuse_mixing();
  const Timed steps = w.aligned(like);
  Timed t = steps;
  t.v = add(w.e, w.again({steps.v})[0], w.position(w.each(steps), steps.late));
  t.axis = 0;
  w.set(t);
}

}  // namespace

std::span<const Row> shape_rows() {
  static const Row all[] = {
      row<attributes::Fill, fill>(),
      row<attributes::Reshape, reshape>(),
      row<attributes::ReshapeLike, reshape_like>(),
      row<BroadcastOp, broadcast_like>(),
      row<attributes::Squeeze, squeeze>(),
      row<attributes::Transpose, transpose>(),
      row<attributes::Concat, concat>(),
      row<PadOp, pad>(),
      row<attributes::Slice, slice>(),
      row<attributes::Repeat, repeat>(),
      row<attributes::Flip, flip>(),
      row<attributes::Indices, indices>(),
  };
  return all;
}

}  // namespace dl4::plan::ticks
