// Attention scores and weights composed of other ops: a ring keeps the keys that a step may see, masks say which it
// sees.
#include "plan/ticks/keys.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "ops/attributes.hpp"
#include "ops/elementwise.hpp"
#include "ops/matched.hpp"
#include "ops/ops.hpp"
#include "plan/ticks/writer.hpp"

namespace dl4::plan::ticks {

using namespace ops;

namespace {

using Along = Writer::Along;
using Others = Keys::Others;

constexpr const char *sees_later = "its attention sees later steps; with \"use_causal_mask\" it streams";

int from_end(const Writer &w, int i, int axis) { return w.shape(i).rank() - axis; }

// Axes of the steps and the keys in a broadcast result, from the end, and which of them each source has.
struct Places {
  int steps = 0, keys = 0;
  std::vector<Along> along{};
};

std::optional<Places> places(Writer &w) {
  Places p;
  std::set<int> found;
  for (int i = 0; i < w.sources(); ++i) {
    const Timed &x = w.src(i);
    if (!x.has_steps()) continue;
    found.insert(from_end(w, i, x.axis));
    if (!x.keys) continue;
    const int steps = from_end(w, i, x.axis), keys = from_end(w, i, x.keys->axis);
    if (p.keys && (p.steps != steps || p.keys != keys)) w.refuse_mixing();
    p.steps = steps, p.keys = keys;
  }
  if (p.keys == 0) {
    if (found.size() < 2) return {};
    if (found.size() > 2) w.refuse_mixing();
    p.steps = *found.rbegin(), p.keys = *found.begin();
  }
  for (int i = 0; i < w.sources(); ++i) {
    const Timed &x = w.src(i);
    const int at = x.has_steps() ? from_end(w, i, x.axis) : 0;
    if (x.has_steps() && at != p.steps && at != p.keys) w.refuse_mixing();
    p.along.push_back(x.keys ? Along::both : !at ? Along::none : at == p.steps ? Along::steps : Along::keys);
    // An axis of a source without steps or keys would cover all of them.
    const Shape s = w.shape(i);
    for (int of : {p.steps, p.keys})
      if (w.has(i) && !x.keys && at != of && s.rank() >= of && s[-of] != 1) w.refuse_mixing();
  }
  return p;
}

// Updates what is known of keys outside the tick.
void mark(Writer &, const auto &, Keys &) {}

template <class A>
void same(Writer &w, const A &, Keys &k) {
  const Keys x = *w.src(0).keys;
  k.others = x.others, k.sees = x.sees, k.sees_itself = x.sees_itself, k.mask = x.mask;
}
void mark(Writer &w, const attributes::Cast &how, Keys &k) { same(w, how, k); }
void mark(Writer &w, const attributes::Copy &how, Keys &k) { same(w, how, k); }
void mark(Writer &w, const attributes::StopGradient &how, Keys &k) { same(w, how, k); }

// Low scores stay low under subtraction of a number common to all keys of a step, and under division by a moderate
// number. The maximum with a constant of at most -1 makes them `far` if the largest score is 0.
bool mark_low(Writer &w, const BinaryOp &op, Keys &k) {
  const auto &x = w.src(0).keys;
  if (!x || x->others != Others::low || w.src(1).keys || op.activation) return false;
  constexpr double most = 1e5;
  const double v = w.number(1);
  const bool less = op.f == Binary::sub, over = op.f == Binary::div && v > 0 && v <= most;
  const bool at_least = op.f == Binary::max && x->below_0 && v <= -1;
  if (!less && !over && !at_least) return false;
  same(w, op, k);
  if (at_least) k.others = Others::far;
  k.below_0 = less ? w.is_largest_of(w.whole(1), w.whole(0)) : x->below_0;
  return true;
}

// 0 times any number, and false AND any flag, stay.
void mark(Writer &w, const BinaryOp &op, Keys &k) {
  if (mark_low(w, op, k)) return;
  if ((op.f != Binary::mul && op.f != Binary::logical_and) || op.activation) return;
  bool itself = op.f == Binary::logical_and, any = false;
  for (int i = 0; i < w.sources(); ++i) {
    const auto &x = w.src(i).keys;
    if (!x || x->others != Others::zero) {
      itself = false;
      continue;
    }
    k.sees = any ? k.sees.met(x->sees) : x->sees;
    itself &= x->sees_itself;
    any = true;
  }
  if (!any) return;
  k.others = Others::zero;
  k.sees_itself = itself;
}

// Replacement of masked numbers.
void mark(Writer &w, const attributes::Select &, Keys &k) {
  const auto &mask = w.src(0).keys, &x = w.src(1).keys;
  if (!mask || mask->others != Others::zero) return;
  const double v = w.number(2);
  constexpr double least = -1e9;
  if (v == 0 && x && x->others == Others::zero_if_any_seen && x->mask != w.whole(0)) return;
  if (v != 0 && !(v <= least)) return;
  k.others = v == 0 ? Others::zero : Others::low;
  k.sees = mask->sees;
  k.sees_itself = mask->sees_itself;
  k.mask = w.whole(0);
}

}  // namespace

template <class T>
bool by_keys(Writer &w, const T &op) {
  const auto p = places(w);
  if (!p) return false;
  auto [t, src] = w.meet_keys(p->along, p->steps, p->keys);
  mark(w, op, *t.keys);
  t.v = w.again(std::move(src))[0];
  w.set(t);
  return true;
}
template bool by_keys(Writer &, const UnaryOp &);
template bool by_keys(Writer &, const BinaryOp &);
template bool by_keys(Writer &, const attributes::UnaryGrad &);
template bool by_keys(Writer &, const attributes::Select &);
template bool by_keys(Writer &, const attributes::Cast &);
template bool by_keys(Writer &, const attributes::ReducePrecision &);
template bool by_keys(Writer &, const attributes::Copy &);
template bool by_keys(Writer &, const attributes::StopGradient &);
template bool by_keys(Writer &, const attributes::GruCell &);

// Scores, or the weighted sum of values.
template <>
bool by_keys(Writer &w, const MatMulOp &op) {
  const Timed &a = w.src(0), &b = w.src(1);
  if (!a.has_steps() || !b.has_steps()) return false;
  if (b.keys || op.how.transpose_a || from_end(w, 0, a.axis) != 2) {
    if (a.keys || b.keys) w.refuse_mixing();
    return false;
  }
  const int of_b = from_end(w, 1, b.axis);
  if (a.keys) {
    if (from_end(w, 0, a.keys->axis) != 1 || of_b != (op.how.transpose_b ? 1 : 2)) w.refuse_mixing();
    w.need_keys(Others::zero);
  } else if (op.fused.bias || of_b != (op.how.transpose_b ? 2 : 1)) {
    return false;
  }
  std::vector<Along> along(static_cast<size_t>(w.sources()), Along::none);
  along[0] = a.keys ? Along::both : Along::steps;
  along[1] = Along::keys;
  auto [t, src] = w.meet_keys(along, 2, 1);
  if (a.keys) t.keys.reset();
  t.v = w.again(std::move(src))[0];
  w.set(t);
  return true;
}

bool Writer::is_largest_of(Id v, Id of) const {
  return std::any_of(p_.steps.begin(), p_.steps.end(), [&](const Step &s) {
    if (s.dst[0] != v || s.src.empty() || s.src[0] != of) return false;
    const Description d = s.op->description();
    return d.type == typeid(attributes::Reduction) &&
           static_cast<const attributes::Reduction *>(d.attributes)->f == Reduce::max;
  });
}

double Writer::number(int i) const {
  const Value &v = p_[whole(i)];
  if (v.role != Role::constant || v.shape.elements() != 1 || v.dtype != DType::f32)
    return std::numeric_limits<double>::quiet_NaN();
  return *v.data.as<float>();
}

Writer::Met Writer::meet_keys(const std::vector<Along> &along, int steps_from_end, int keys_from_end) {
  need_apart();
  Met met;
  Timed &t = met.t;
  t.kind = Timed::Kind::steps;
  Keys keys;
  for (size_t i = 0; i < along.size(); ++i) {
    const Timed &x = src(static_cast<int>(i));
    if (x.kind == Timed::Kind::running) refuse("it needs the end of the sequence at each step");
    if (along[i] == Along::none) continue;
    if (x.rows) refuse_mixing();
    if (t.n && t.n != x.n) refuse("its inputs have different numbers of steps");
    t.n = x.n;
    if (along[i] != Along::both) continue;
    keys.reach = keys.reach.joined(x.keys->reach);
    keys.from.insert(keys.from.end(), x.keys->from.begin(), x.keys->from.end());
  }
  if (keys.from.empty()) {
    keys.from.push_back(step_->dst[0]);
    keys.reach = reaches_[step_->dst[0]];
  }
  const Reach reach = keys.reach;
  std::vector<Timed> of_keys(along.size());
  for (size_t i = 0; i < along.size(); ++i) {
    const Timed &x = src(static_cast<int>(i));
    if (along[i] == Along::both && x.keys->reach != reach) {
      for (Id v : keys.from) reaches_[v] = reaches_[v].joined(reach);
      throw TooFewKeys{};
    }
    if (along[i] == Along::keys) of_keys[i] = aligned(x);
    if (along[i] != Along::none)
      t.late = std::max(t.late, along[i] == Along::keys ? checked_add(of_keys[i].late, reach.after) : x.late);
  }
  t.late = round_up(t.late, t.n);
  for (size_t i = 0; i < along.size(); ++i) {
    const int source = static_cast<int>(i);
    if (along[i] == Along::none)
      met.src.push_back(now(source));
    else if (along[i] != Along::keys)
      met.src.push_back(delayed(src(source), t.late - src(source).late).v);
    else
      met.src.push_back(window(of_keys[i], checked_add(reach.before, t.n, reach.after), 1,
                               t.late - reach.after - of_keys[i].late, true));
  }
  const int rank = result().rank();
  t.axis = rank - steps_from_end;
  keys.axis = rank - keys_from_end;
  t.keys = std::move(keys);
  return met;
}

void Writer::need_keys(Keys::Others others) {
  const Timed &x = src(0);
  const Keys &k = *x.keys;
  if (others == Others::zero && k.others == Others::zero_if_any_seen)
    refuse("a step whose mask hides all steps would attend to all of them equally");
  if (k.others != others || k.sees.after == max_dim) refuse(sees_later);
  Reach needed = k.sees;
  if (needed.before == max_dim) {
    if (cache().steps == 0)
      refuse("it keeps keys and values: the session's option \"cache\" must say of how many steps");
    needed.before = cache().steps - 1;
    if (!cache().slides) need_ticks_below(checked_add(cache().steps, x.late) / x.n);
  }
  if (k.reach.joined(needed) == k.reach) return;
  for (Id v : k.from) reaches_[v] = reaches_[v].joined(needed);
  throw TooFewKeys{};
}

namespace {

// The band of keys around each step, as far as they exist.
void band_mask(Writer &w, const attributes::BandMask &how) {
  const Timed &x = w.src(0);
  if (!x.keys) {
    if (x.has_steps() && from_end(w, 0, x.axis) <= 2) w.refuse_mixing();
    return w.set({w.again()[0]});
  }
  if (from_end(w, 0, x.axis) != 2 || from_end(w, 0, x.keys->axis) != 1) w.refuse_mixing();
  const int64_t earlier = x.keys->reach.before;
  const int64_t before = std::min(how.before, earlier);  // limits "all before" to the kept ones
  const Id band = ops::band_mask(w.e, x.v, before - earlier, checked_add(how.after, earlier));
  Timed t = x;
  t.axis = 0;
  t.keys->axis = 1;
  t.keys->others = Others::zero;
  t.keys->sees = {how.before, how.after};
  t.keys->sees_itself = true;
  t.v = band;
  if (earlier > 0) {  // keys before the first step are none
    const Id first = sub(w.e, w.position(x.n, x.late), w.e.scalar(static_cast<double>(earlier), DType::i64));
    const Id place = add(w.e, ops::indices(w.e, x.v, x.keys->axis), first);
    t.v = binary(w.e, Binary::logical_and, band, binary(w.e, Binary::greater_equal, place, w.e.scalar(0, DType::i64)));
  }
  w.set(t);
}

// Weights along an axis, the keys' or another one than the steps'. far: keys marked `far` have weight 0 too.
void weights(Writer &w, int64_t along, bool by_keys, bool far = false) {
  Timed t = w.src(0);
  const int axis = w.shape(0).axis(along);
  if (axis == t.axis) w.refuse_mixing();
  if (t.keys) {
    if (axis != t.keys->axis || !by_keys) w.refuse_mixing();
    w.need_keys(far && t.keys->others == Others::far ? Others::far : Others::low);
    t.keys->below_0 = false;
    t.keys->others = t.keys->sees_itself ? Others::zero : Others::zero_if_any_seen;
  }
  t.v = w.again()[0];
  w.set(t);
}

void softmax(Writer &w, const SoftmaxOp &op) { weights(w, op.axis, !op.log); }
void hardmax(Writer &w, const attributes::Hardmax &how) { weights(w, how.axis, true); }
void sparsemax(Writer &w, const attributes::Sparsemax &how) { weights(w, how.axis, true, true); }

void expand_dims(Writer &w, const attributes::ExpandDims &how) {
  Timed t = w.src(0);
  const int rank = w.result().rank(), axis = how.axis < 0 ? how.axis + rank : how.axis;
  if (t.rows && axis == 0) w.refuse("it mixes the steps with another axis");
  if (t.keys) t.keys->axis += axis <= t.keys->axis;
  t.axis += axis <= t.axis;
  t.v = w.again()[0];
  w.set(t);
}

}  // namespace

std::span<const Row> key_rows() {
  static const Row all[] = {
      row<attributes::BandMask, band_mask>(true),     row<SoftmaxOp, softmax>(true),
      row<attributes::Hardmax, hardmax>(true),        row<attributes::Sparsemax, sparsemax>(true),
      row<attributes::ExpandDims, expand_dims>(true),
  };
  return all;
}

}  // namespace dl4::plan::ticks
