// Writes a tick's Program: values, states, delays.
#include "plan/ticks/writer.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_map>

#include "base/error.hpp"
#include "ops/attributes.hpp"
#include "ops/conv.hpp"
#include "ops/matched.hpp"
#include "ops/ops.hpp"

namespace dl4::plan {
namespace ticks {

using namespace ops;

namespace {

constexpr int64_t most_steps = 1 << 20;

const auto &rows() {
  static const auto all = [] {
    std::unordered_map<std::type_index, Row> of;
    for (auto list : {attention_rows(), elementwise_rows(), key_rows(), shape_rows(), window_rows(), running_rows()})
      for (const Row &r : list) of.emplace(r.type, r);
    return of;
  }();
  return all;
}

}  // namespace

Writer::Writer(const Program &p, size_t states, int64_t steps, int64_t at_once, const Cache &cache, Reaches &reaches,
               const Who &who)
    : e(result_.program),
      p_(p),
      states_(states),
      at_once_(at_once),
      cache_(cache),
      reaches_(reaches),
      who_(who),
      of_(p) {
  result_.steps = checked_mul(steps, at_once);
}

void Writer::copy_values() {
  const size_t inputs = p_.inputs.size() - states_;
  for (size_t i = 0; i < p_.inputs.size(); ++i) {
    if (i == inputs) tick_ = e.input("tick", DType::i64, {});
    const Value &v = p_[p_.inputs[i]];
    Timed t;
    if (i < inputs) result_.sequences.push_back(is_sequence(v.shape));
    if (i >= inputs) {
      carried_[p_.inputs[i]] = i - inputs;
      t.v = e.input(v.name, v.dtype, v.shape);
      t.kind = Timed::Kind::running;
      made_.push_back(t.v);
      result_.states.emplace_back();
    } else if (is_sequence(v.shape)) {
      t = {e.input(v.name, v.dtype, v.shape.with(1, result_.steps)), Timed::Kind::steps, 1, false, result_.steps, 0};
    } else {
      t.v = e.input(v.name, v.dtype, v.shape);
    }
    of_[p_.inputs[i]] = t;
  }
  if (states_ == 0) tick_ = e.input("tick", DType::i64, {});
  for (Id s : p_.states) of_[s].v = e.state(p_[s].name, p_[s].dtype, p_[s].shape);
  for (Id v : p_.ids())
    if (p_[v].role == Role::constant) of_[v].v = e.constant(p_[v].data);
}

Tick Writer::write() {
  copy_values();
  for (const Step &step : p_.steps) write_step(step);
  return finish();
}

// Windows and pads handle a lead themselves.
void Writer::give_leads(const Step &step) {
  const std::type_index type = step.op->description().type;
  if (type == typeid(ConvOp) || type == typeid(attributes::Pool) || type == typeid(PadOp)) return;
  for (Id v : step.src)
    if (v != none && of_[v].lead > 0) of_[v] = without_lead(of_[v]);
}

void Writer::write_step(const Step &step) {
  step_ = &step;
  met_.clear();
  e.scope = step.scope;
  give_leads(step);
  bool any_steps = false, any_keys = false, any_carried = false;
  int64_t late = -1;
  for (int i = 0; i < sources(); ++i) {
    any_steps |= src(i).has_steps();
    any_keys |= src(i).keys.has_value();
    any_carried |= has(i) && is_carried(step.src[static_cast<size_t>(i)]);
    if (src(i).kind == Timed::Kind::running) late = std::max(late, src(i).late);
  }
  const Description d = step.op->description();
  if (d.type == typeid(attributes::Fill)) {
    const auto &how = *static_cast<const attributes::Fill *>(d.attributes);
    filled_[step.dst[0]] = how.v;
  }
  if (any_steps || any_carried) {
    const auto found = rows().find(d.type);
    if (found == rows().end()) refuse(text("its op ", step.op->name(), " does not stream"));
    if (any_keys && !found->second.takes_keys) refuse_mixing();
    found->second.write(*this, d.attributes);
    for (const auto &[before, x] : to_keep_)
      becomes(before, ops::ring(e, before, x.v, tick_, RingOp(x.axis, each(x), 0, 1, 0)).state);
    to_keep_.clear();
  } else {
    const std::vector<Id> made = again();
    for (size_t i = 0; i < made.size(); ++i)
      set({made[i], late < 0 ? Timed::Kind::fixed : Timed::Kind::running, 0, false, 0, std::max<int64_t>(late, 0)},
          static_cast<int>(i));
  }
  e.scope.clear();
}

Tick Writer::finish() {
  const size_t outputs = p_.outputs.size() - states_;
  for (size_t j = 0; j < outputs; ++j) {
    if (of_[p_.outputs[j]].lead > 0) of_[p_.outputs[j]] = without_lead(of_[p_.outputs[j]]);
    const Timed &t = of_[p_.outputs[j]];
    if (t.keys) throw Error(Code::unsupported, text("output ", j, " has a second axis of steps"));
    if (t.has_steps() && (t.rows || t.axis != 1))
      throw Error(Code::unsupported, text("output ", j, " does not have its steps in its second axis"));
    e.output(t.v);
    result_.outputs.push_back({t.has_steps(), t.n, t.late});
  }
  for (const auto &[whole, i] : carried_) {
    const auto at = static_cast<std::ptrdiff_t>(outputs + i);
    next_[made_[i]] = of_[*(p_.outputs.begin() + at)].v;
  }
  for (Id s : made_) e.output(next_.at(s));
  for (size_t i = 0; i < made_.size(); ++i) {  // one state shared by all rows
    const Shape shape = e.shape(made_[i]);
    result_.counts_on |= shape.rank() == 0 || (result_.states[i].is_ring && result_.states[i].axis == 0);
  }
  result_.counts |= result_.steps > 1;
  for (const Tick::Output &o : result_.outputs) result_.counts |= o.late > 0;
  for (const Tick::State &s : result_.states) result_.counts |= s.begin > 0 || (s.is_ring && s.axis == 0);
  return std::move(result_);
}

const Timed &Writer::src(int i) const {
  static const Timed absent;
  return has(i) ? of_[step_->src[static_cast<size_t>(i)]] : absent;
}

std::vector<Id> Writer::again(std::vector<Id> src) { return e.step(step_->op, std::move(src)); }

std::vector<Id> Writer::again() {
  std::vector<Id> src;
  for (int i = 0; i < sources(); ++i) src.push_back(now(i));
  return again(std::move(src));
}

void Writer::follows(const Timed &x, int axis) {
  Timed t = x;
  t.axis = axis;
  t.v = again()[0];
  set(t);
}

void Writer::refuse(const std::string &why) const {
  throw Error(Code::unsupported, text(who_(step_->scope), ": ", why)).with("layer", step_->scope);
}

Timed Writer::meet() {
  const Timed *latest = nullptr;
  for (int i = 0; i < sources(); ++i) {
    if (src(i).kind == Timed::Kind::running) refuse("it needs the end of the sequence at each step");
    if (!src(i).has_steps()) continue;
    if (latest && src(i).n != latest->n) refuse("its inputs have different numbers of steps");
    if (latest && src(i).rows != latest->rows) refuse_mixing();
    if (!latest || src(i).late > latest->late) latest = &src(i);
  }
  const Timed found = *latest;
  for (int i = 0; i < sources(); ++i)
    met_.push_back(src(i).has_steps() ? delayed(src(i), found.late - src(i).late).v : now(i));
  return found;
}

void Writer::on_met(int axis) {
  Timed t = meet();
  t.axis = axis;
  t.v = again(met_)[0];
  set(t);
}

void Writer::need_same_at_all_steps(int i, int from_end) const {
  if (src(i).has_steps() || !has(i)) return;
  const Shape s = shape(i);
  if (s.rank() >= from_end && s[-from_end] != 1)
    refuse(text("an input of shape ", s, " cannot be passed to each step"));
}

Timed Writer::delayed(const Timed &x, int64_t by) {
  if (by == 0) return x;
  Timed t = x;
  t.v = window(x, x.n, 1, by, x.lead > 0);
  t.late += by;
  t.lead = std::max<int64_t>(0, x.lead - by);
  return t;
}

Timed Writer::without_lead(Timed x) { return delayed(x, x.lead); }

Timed Writer::aligned(const Timed &x) { return delayed(x, (each(x) - x.late % each(x)) % each(x)); }

Id Writer::window(const Timed &x, int64_t count, int64_t dilation, int64_t skip, bool from_zeros, bool by_channel) {
  const int64_t reach = checked_add(checked_mul(count - 1, dilation), 1, skip);
  if (reach <= x.n && dilation == 1) return reach == x.n && skip == 0 ? x.v : slice(e, x.v, x.axis, x.n - reach, count);
  if (x.rows) refuse("it keeps steps that share an axis with the batch");
  // Stored by channel if it is read in place, with room for the ticks of one run.
  const Shape shape = e.shape(x.v);
  const bool turned = by_channel && shape.rank() == 3 && x.axis == 1 && e.dtype(x.v) == DType::f32 && shape[2] >= 1 &&
                      shape[2] <= turned_channels;
  const int64_t earlier = reach - x.n, room = turned ? std::max(each(x), most_together_steps) : each(x);
  const int64_t capacity = ring_capacity(each(x), earlier + room);
  const Shape kept = turned ? Shape{shape[0], shape[2], capacity} : shape.with(x.axis, capacity);
  const Id before = state("ring", e.dtype(x.v), kept, 0,
                          {.begin = from_zeros ? (x.late + x.lead) / each(x) : 0,
                           .is_ring = true,
                           .axis = turned ? 2 : x.axis,
                           .rows = each(x),
                           .free = capacity - std::max<int64_t>(0, earlier)});
  const RingValues ring = ops::ring(e, before, x.v, tick_, RingOp(x.axis, each(x), count, dilation, skip, turned));
  becomes(before, ring.state);
  return ring.window;
}

Writer::Kept Writer::kept(const Timed &x, int64_t count) {
  const int64_t capacity = ring_capacity(each(x), checked_add(count, each(x) - 1));
  const Id before =
      state("cache", e.dtype(x.v), e.shape(x.v).with(x.axis, capacity), 0,
            {.is_ring = true, .axis = x.axis, .rows = each(x), .free = capacity - std::max<int64_t>(0, count - 1)});
  if (at_once_ > 1) {
    to_keep_.emplace_back(before, x);
    return {before, x.v};
  }
  const Id after = ops::ring(e, before, x.v, tick_, RingOp(x.axis, each(x), 0, 1, 0)).state;
  becomes(before, after);
  return {after};
}

void Writer::need_parts(int64_t n, int64_t parts) const {
  if (n % parts == 0) return;
  const int64_t steps = checked_mul(result_.steps, parts / std::gcd(n, parts));
  if (steps > most_steps) refuse(text("a stream would take ", steps, " steps at a time, at most ", most_steps));
  throw TooFew{steps};
}

Id Writer::position(int64_t n, int64_t late) {
  Id at = tick();
  if (n != 1) at = mul(e, at, e.scalar(static_cast<double>(n), DType::i64));
  if (late == 0) return at;
  at = sub(e, at, e.scalar(static_cast<double>(late), DType::i64));
  return binary(e, Binary::max, at, e.scalar(0, DType::i64));
}

Id Writer::state(const char *name, DType dtype, const Shape &shape, double initial, Tick::State how) {
  if (std::count(shape.begin(), shape.end(), free_dim) > 1)
    refuse(text("it keeps values of shape ", shape, " from tick to tick, of which only the batch may be free"));
  const int number = names_[e.scope + "/" + name]++;
  const std::string full = text(e.scope, '/', name, number ? text('_', number) : "");
  const Id v = e.input(full, dtype, shape);
  made_.push_back(v);
  if (initial != 0) {
    how.initial = make_tensor(dtype, {});
    store(initial, dtype, how.initial.data.get());
  }
  result_.states.push_back(std::move(how));
  return v;
}

void Writer::becomes(Id state, Id value) {
  if (const auto given = given_.find(state); given != given_.end()) state = given->second;
  next_[state] = value;  // finish() replaces those of layers
}

Id Writer::carried(int i, int64_t begin) {
  const Id whole = step_->src[static_cast<size_t>(i)];
  if (const auto at = carried_.find(whole); at != carried_.end()) {
    auto &state = result_.states[at->second];
    state.begin = std::max(state.begin, begin);
    return made_[at->second];
  }
  const auto filled = filled_.find(whole);
  if (filled != filled_.end())
    return state("state", p_[whole].dtype, e.shape(src(i).v), filled->second, {.begin = begin});
  if (src(i).kind != Timed::Kind::fixed) refuse("its initial_state depends on the steps");
  const Id given = src(i).v, before = state("state", p_[whole].dtype, e.shape(given), 0, {});
  result_.begun = std::max(result_.begun, begin + 1);
  if (at_once_ > 1) return before;
  const Id first = binary(e, Binary::equal, tick(), e.scalar(static_cast<double>(begin), DType::i64));
  const Id found = select(e, first, given, before);
  given_[found] = before;
  return found;
}

}  // namespace ticks

namespace {

// Its kernels are joined (join_rows): the fixed cost of a run is worth sharing among more steps.
bool has_few_channels(const ops::Program &p) {
  for (const ops::Id v : p.ids()) {
    const Shape &s = p[v].shape;
    if (p[v].role != ops::Role::temp || s.rank() == 0) continue;
    if (p[v].dtype != DType::f32 || s.rank() != 3 || std::min(s[1], s[2]) > ticks::turned_channels) return false;
  }
  return true;
}

// Writes the Program of `at_once` ticks; false if there is none with the same bits.
bool write_together(Tick &tick, int64_t at_once, const ops::Program &p, size_t states, const Cache &cache,
                    ticks::Reaches &reaches, const ticks::Writer::Who &who) {
  try {
    Tick all = ticks::Writer(p, states, tick.steps, at_once, cache, reaches, who).write();
    const ops::Program &one = tick.program, &many = all.program;
    if (many.inputs.size() != one.inputs.size()) return false;
    for (size_t i = one.inputs.size() - tick.states.size(); i < one.inputs.size(); ++i)
      if (!(many[many.inputs[i]].shape == one[one.inputs[i]].shape)) return false;
    for (size_t j = 0; j < tick.outputs.size(); ++j)
      if (all.outputs[j].late != tick.outputs[j].late) return false;
    tick.together.push_back({std::move(all.program), at_once});
    return true;
  } catch (const ticks::Apart &) {
    return false;
  }
}

}  // namespace

Tick tick_of(const ops::Program &p, size_t states, const Cache &cache,
             const std::function<std::string(const std::string &)> &who) {
  if (const ops::Step *sized = ops::sized_by_numbers(p))
    throw Error(Code::unsupported, text(who(sized->scope), ": its size is computed by the run"))
        .with("layer", sized->scope);
  bool any = false;
  for (size_t i = 0; i + states < p.inputs.size(); ++i) any |= is_sequence(p[p.inputs[i]].shape);
  if (!any) throw Error(Code::unsupported, "no input is a sequence, with a free second axis");
  ticks::Reaches reaches;
  for (int64_t steps = 1;;) {
    try {
      Tick tick = ticks::Writer(p, states, steps, 1, cache, reaches, who).write();
      const auto write = [&](int64_t n) { return write_together(tick, n, p, states, cache, reaches, who); };
      for (int64_t n = ticks::together_steps / steps; n > 1 && !write(n);) n /= 2;
      if (tick.together.empty()) return tick;
      const int64_t most = ticks::most_together_steps / steps, least = ticks::least_together_steps / steps;
      if (has_few_channels(tick.together[0].program)) write(most);
      if (least > 1 && least < tick.together[0].ticks) write(least);
      std::ranges::sort(tick.together, std::greater(), &Tick::Together::ticks);
      return tick;
    } catch (const ticks::TooFew &more) {
      steps = more.steps;
    } catch (const ticks::TooFewKeys &) {
    }
  }
}

}  // namespace dl4::plan
