#include "runtime/stages.hpp"

#include <algorithm>
#include <cstring>

#include "ops/flow.hpp"
#include "ops/matched.hpp"

namespace dl4::runtime {
namespace {

using namespace ops;

// Partition of the Program: the part that makes each value, the first that may read it, and the steps of each part.
struct Cut {
  explicit Cut(const Program &p) : made_in(p), between(p), steps(1) {
    for (const Step &s : p.steps) {
      size_t at = 0;
      for (Id v : s.src)
        if (v != none) at = std::max(at, made_in[v]);
      const bool is_between = is_sized_by_numbers(s);
      for (Id v : s.dst) made_in[v] = at + (is_between ? 1 : 0), between[v] = is_between;
      steps.resize(std::max(steps.size(), at + (is_between ? 2 : 1)));
      if (!is_between) steps[at].push_back(&s);
    }
  }
  PerValue<size_t> made_in;
  PerValue<bool> between;  // made between parts
  std::vector<std::vector<const Step *>> steps;
};

bool has(const std::vector<Id> &list, Id v) { return std::ranges::find(list, v) != list.end(); }

bool is_held(const Value &v) { return v.role == Role::state || v.role == Role::constant; }

View view(const Tensor &t) { return {t.dtype, t.shape, t.data.get()}; }

}  // namespace

// Builds the parts of a Program.
struct Stages::Making {
  Making(Stages &to, const Program &p, std::span<const Tensor> states, const Options &options)
      : to(to), p(p), states(states), options(options), cut(p), slot(p), given(cut.steps.size()), taken(given.size()) {}

  size_t slot_of(Id v) {
    if (!slot[v]) slot[v] = to.slots_++;
    return *slot[v];
  }
  // Inputs and other values without a step belong to the first part.
  size_t give(Id v) {
    auto &list = given[cut.made_in[v]];
    if (!cut.between[v] && !has(list, v)) list.push_back(v);
    return slot_of(v);
  }
  From from(Id v) {
    const auto callers = std::ranges::find(p.inputs, v);
    if (callers != p.inputs.end()) return From{true, static_cast<size_t>(callers - p.inputs.begin())};
    return From{false, give(v)};
  }
  const Tensor &state(Id v) const {
    return states[static_cast<size_t>(std::ranges::find(p.states, v) - p.states.begin())];
  }

  Body body_of(const Step &s, const BranchOp::Part &part) {
    Program body = *part.body;
    Body made;
    std::vector<Tensor> held;
    std::vector<Id> inputs;
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      const Id outside = s.src[static_cast<size_t>(part.src[i])], inside = body.inputs[i];
      const Value &v = p[outside];
      if (!is_held(v)) {
        inputs.push_back(inside), made.in.push_back(from(outside));
        continue;
      }
      body[inside].role = v.role, body[inside].data = v.data, body[inside].shape = v.shape;
      if (v.role == Role::state) body.states.push_back(inside), held.push_back(state(outside));
    }
    body.inputs = std::move(inputs);
    made.stages = std::make_unique<const Stages>(body, held, options);
    return made;
  }
  Between between(const Step &s) {
    Between b{s, from(s.src[0]), {}, {}};
    for (Id v : s.dst) b.out.push_back(slot_of(v));
    if (const auto *branch = as<BranchOp>(s)) {
      b.bodies.push_back(body_of(s, branch->then));
      b.bodies.push_back(body_of(s, branch->otherwise));
    }
    return b;
  }

  // Finds what part k reads from others. The first takes all inputs, since it checks them.
  void find_taken(size_t k) {
    if (k == 0) taken[0] = p.inputs;
    for (const Step *s : cut.steps[k])
      for (Id v : s->src) {
        if (v == none || is_held(p[v]) || has(taken[k], v)) continue;
        if (p[v].role == Role::temp && cut.made_in[v] == k && !cut.between[v]) continue;
        if (p[v].role == Role::temp) give(v);
        taken[k].push_back(v);
      }
  }
  Part part(size_t k) {
    Part part;
    Program own;
    own.values = p.values;
    own.inputs = taken[k];
    for (Id v : taken[k]) own[v].role = Role::input, part.in.push_back(from(v));
    for (const Step *s : cut.steps[k]) own.steps.push_back(*s);
    own.outputs = given[k];
    for (Id v : own.outputs) part.out.push_back(slot_of(v));
    std::vector<Tensor> own_states;
    for (Id v : p.states) {
      const bool read =
          has(own.outputs, v) || std::ranges::any_of(own.steps, [&](const Step &s) { return has(s.src, v); });
      if (read) own.states.push_back(v), own_states.push_back(state(v));
    }
    part.executable = Executable::make(std::move(own), std::move(own_states), std::make_shared<plan::Packs>(), options);
    return part;
  }

  Stages &to;
  const Program &p;
  const std::span<const Tensor> states;
  const Options &options;
  const Cut cut;
  PerValue<std::optional<size_t>> slot;
  std::vector<std::vector<Id>> given, taken;  // by part: what it gives to others or to the caller; what it reads
};

Stages::Stages(const Program &p, std::span<const Tensor> states, const Options &options) {
  Making making(*this, p, states, options);
  const size_t parts = making.cut.steps.size();
  std::vector<std::vector<Between>> behind(parts);
  for (const Step &s : p.steps)
    if (is_sized_by_numbers(s)) behind[making.cut.made_in[s.dst[0]] - 1].push_back(making.between(s));
  for (size_t k = 0; k < parts; ++k) making.find_taken(k);
  for (Id v : p.outputs) outputs_.push_back(making.give(v));
  for (size_t k = 0; k < parts; ++k) {
    parts_.push_back(making.part(k));
    parts_.back().behind = std::move(behind[k]);
  }
}

struct Stages::Run {
  std::span<const View> in;
  const Memory &memory;
  const std::atomic<int32_t> *cancel;
  MadeStrings &made;
  std::vector<Tensor> held;
  int64_t bytes = 0;

  View at(const From &f) const { return f.is_callers ? in[f.at] : view(held[f.at]); }
  void need(const Executable &e, DType dtype, const Shape &shape) {
    bytes = checked_add(bytes, checked_mul(shape.elements(), size_of(dtype)));
    e.need_room(bytes);
  }
  void part(const Part &p) {
    std::vector<View> from, to;
    for (const From &f : p.in) from.push_back(at(f));
    const std::vector<Operand> expected = p.executable->outputs(from, cancel);
    for (size_t i = 0; i < expected.size(); ++i) {
      need(*p.executable, expected[i].dtype, expected[i].shape);
      to.push_back(view(held[p.out[i]] = memory.tensor(expected[i].dtype, expected[i].shape)));
    }
    MadeStrings strings = p.executable->run(from, to, cancel);
    bytes = checked_add(bytes, strings.bytes);
    p.executable->need_room(bytes);
    made.take(std::move(strings));
    for (const Between &b : p.behind) between(b, *p.executable);
  }
  void between(const Between &b, const Executable &e) {
    const View number = at(b.number);
    if (b.bodies.empty()) {
      const int64_t n = ops::number_of_range(number.dtype, number.data);
      if (!ops::is_size(n))
        fail(Code::invalid_argument, ops::who(b.step.scope), ": expected a number of places from 0 to ", max_dim,
             ", got ", n);
      need(e, DType::i64, {n});
      held[b.out[0]] = ops::range_of(n);
      return;
    }
    const Body &body = b.bodies[*static_cast<const uint8_t *>(number.data) ? 0 : 1];
    std::vector<View> from;
    for (const From &f : body.in) from.push_back(at(f));
    std::vector<Tensor> out = body.stages->run(from, memory, cancel, made);
    for (size_t i = 0; i < out.size(); ++i) held[b.out[i]] = std::move(out[i]);
  }
};

std::vector<Tensor> Stages::run(std::span<const View> in, const Memory &memory, const std::atomic<int32_t> *cancel,
                                MadeStrings &made) const {
  parts_[0].executable->check(in);
  Run run{in, memory, cancel, made, std::vector<Tensor>(slots_)};
  for (const Part &part : parts_) run.part(part);
  std::vector<Tensor> out;
  for (size_t slot : outputs_) {
    const Tensor &t = run.held[slot];
    // Outputs must not share memory.
    const bool again = std::ranges::any_of(out, [&](const Tensor &o) { return o.data == t.data; });
    out.push_back(again ? memory.tensor(t.dtype, t.shape) : t);
    if (again) std::memcpy(out.back().data.get(), t.data.get(), static_cast<size_t>(t.bytes()));
  }
  return out;
}

}  // namespace dl4::runtime
