// scan: its rules, and the writer of its body.
// The gradient of a scan is a scan from the last step to the first. Results of products are kept; all else is
// recomputed from the states before each step.
#include "ops/scan.hpp"

#include "ops/attributes.hpp"
#include "ops/conv.hpp"
#include "ops/differentiate.hpp"
#include "ops/matched.hpp"

namespace dl4::ops {
namespace {

bool is_product(const Step &s) { return as<MatMulOp>(s) || as<ConvOp>(s); }

}  // namespace

std::string to_string(Carry c) {
  constexpr const char *words[] = {"sequence", "reversed", "state", "constant"};
  return words[static_cast<int>(c)];
}

ScanOp::ScanOp(Program program, std::vector<Carry> carry, std::vector<int> reversed, std::vector<int> kept)
    : carry(std::move(carry)),
      reversed(std::move(reversed)),
      kept(std::move(kept)),
      body(std::make_shared<const Program>(std::move(program))) {
  some_volatile = ops::some_volatile(*body);
  PerValue<bool> seen(*body);
  for (const Step &s : body->steps)
    for (size_t i = 0; i < s.src.size(); ++i)
      if (s.src[i] != none && s.op->reads(static_cast<int>(i))) seen[s.src[i]] = true;
  for (Id v : body->outputs) seen[v] = true;
  for (size_t i = 0; i < body->inputs.size(); ++i)
    read.push_back(seen[body->inputs[i]] || this->carry[i] == Carry::state);
}

size_t ScanOp::states() const { return static_cast<size_t>(std::count(carry.begin(), carry.end(), Carry::state)); }

int64_t ScanOp::time(Operands src) const {
  int64_t time = free_dim;
  bool any = false;
  for (size_t i = 0; i < src.size(); ++i) {
    if (carry[i] != Carry::sequence && carry[i] != Carry::reversed) continue;
    any = true;
    if (src[i].shape.rank() == 0) fail(Code::shape_mismatch, "scan: expected a sequence (T, ...), got a scalar");
    int64_t steps = src[i].shape[0];
    if (steps != free_dim && time != free_dim && steps != time)
      fail(Code::shape_mismatch, "scan: expected sequences of one length, got ", time, " and ", steps);
    if (steps != free_dim) time = steps;
  }
  if (!any) fail(Code::invalid_argument, "scan: expected a sequence");
  return time;
}

std::vector<Operand> ScanOp::infer(Operands src) const {
  const Program &p = *body;
  const int64_t steps = time(src);
  std::vector<Operand> inputs, last;
  for (size_t i = 0; i < src.size(); ++i) {
    const Value &in = p[p.inputs[i]];
    const Shape s = is_stacked(carry[i]) ? src[i].shape.without(0) : src[i].shape;
    if (src[i].dtype != in.dtype || !compatible(s, in.shape))
      fail(Code::shape_mismatch, "scan: expected a ", carry[i], " of ", in.dtype, ' ', in.shape, ", got ", src[i].dtype,
           ' ', s);
    inputs.push_back({in.dtype, s});
    if (carry[i] == Carry::state) last.push_back(inputs.back());
  }
  const PerValue<Operand> of = infer_body(p, inputs);
  std::vector<Operand> dst;
  for (size_t j = 0; j < p.outputs.size(); ++j) {
    Operand o = of[p.outputs[j]];
    if (j < last.size()) {
      if (o.dtype != last[j].dtype || !compatible(o.shape, last[j].shape))
        fail(Code::shape_mismatch, "scan: state ", j, " is ", last[j].dtype, ' ', last[j].shape,
             " at first and becomes ", o.dtype, ' ', o.shape);
      for (int a = 0; a < o.shape.rank(); ++a)
        if (o.shape[a] == free_dim) o.shape = o.shape.with(a, last[j].shape[a]);
      last[j] = o;
    }
    dst.push_back({o.dtype, o.shape.inserted(0, steps)});
  }
  dst.insert(dst.end(), last.begin(), last.end());
  return dst;
}

Id Scan::input(Id outside, Carry carry) {
  Shape s = e_.shape(outside);
  if (is_stacked(carry)) {
    if (s.rank() == 0) fail(Code::shape_mismatch, "scan: expected a sequence (T, ...), got a scalar");
    s = s.without(0);
  }
  inputs_.push_back({outside, carry});
  return body.input(e_.program[outside].name, e_.dtype(outside), s);
}

Id Scan::constant(Id outside) {
  auto [at, fresh] = constants_.emplace(outside, none);
  if (fresh) at->second = input(outside, Carry::constant);
  return at->second;
}

size_t Scan::output(Id v, bool reversed) {
  outputs_.push_back(v);
  reversed_.push_back(reversed);
  return outputs_.size() - 1;
}

// How a step may be hoisted out of the scan: once, if it reads only loop constants; for all steps at once, if its op
// allows another leading axis. nullopt: it depends on a state.
std::optional<Carry> Scan::where(const Step &step, const PerValue<Outside> &out) const {
  if (step.op->is_volatile() || step.dst.empty()) return {};
  auto *product = as<MatMulOp>(step);
  std::optional<Carry> sequence;
  int rank = 0, most = 0;  // of sequences, of others
  bool any = false;
  for (size_t i = 0; i < step.src.size(); ++i) {
    const Id v = step.src[i];
    if (v == none) continue;
    const bool fixed = program_[v].role == Role::constant;
    const int of_v = program_[v].shape.rank();
    if (!fixed && out[v].value == none) return {};
    any |= !fixed;
    if (fixed || out[v].carry == Carry::constant) {
      most = std::max(most, of_v);
      continue;
    }
    if (sequence ? out[v].carry != *sequence || of_v != rank : product && (i > 0 || of_v < 2)) return {};
    sequence = out[v].carry;
    rank = of_v;
  }
  if (!any) return {};
  if (!sequence) return Carry::constant;
  const bool over_time = as<UnaryOp>(step) || as<BinaryOp>(step) || (product && !product->how.transpose_a);
  return over_time && most <= (product ? 2 : rank) ? sequence : std::nullopt;
}

bool Scan::moves_out(const Step &step, PerValue<Outside> &out) {
  const std::optional<Carry> carry = where(step, out);
  if (!carry) return false;
  std::vector<Id> src;
  for (Id v : step.src)
    src.push_back(v == none ? none : program_[v].role == Role::constant ? e_.constant(program_[v].data) : out[v].value);
  const std::string scope = std::exchange(e_.scope, step.scope);
  auto *two = as<BinaryOp>(step);
  std::vector<Id> dst = two ? std::vector<Id>{binary(e_, two->f, src[0], src[1])} : e_.step(step.op, std::move(src));
  e_.scope = scope;
  for (size_t i = 0; i < dst.size(); ++i) out[step.dst[i]] = {dst[i], *carry};
  return true;
}

void Scan::move_out() {
  PerValue<Outside> out(program_, {none, Carry::constant});
  PerValue<bool> is_input(program_);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    is_input[program_.inputs[i]] = true;
    if (inputs_[i].carry != Carry::state) out[program_.inputs[i]] = inputs_[i];
  }
  std::vector<Step> kept;
  for (Step &step : program_.steps)
    if (!moves_out(step, out)) kept.push_back(std::move(step));
  program_.steps = std::move(kept);
  auto bring_in = [&](Id v) {
    if (v == none || is_input[v] || out[v].value == none) return;
    is_input[v] = true;
    program_[v].role = Role::input;
    program_.inputs.push_back(v);
    inputs_.push_back(out[v]);
  };
  for (const Step &step : program_.steps) std::for_each(step.src.begin(), step.src.end(), bring_in);
  for (Id v : program_.outputs) bring_in(v);
}

// Removes inputs that nothing reads, except states, and the only sequence, which determines the number of steps.
void Scan::drop_unread() {
  auto used = uses(program_);
  std::vector<Id> ids;
  std::vector<Outside> inputs;
  auto is_sequence = [](const Outside &o) { return is_stacked(o.carry); };
  size_t left = static_cast<size_t>(std::count_if(inputs_.begin(), inputs_.end(), is_sequence));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Id v = program_.inputs[i];
    const bool needed = used[v] > 0 || inputs_[i].carry == Carry::state || (is_sequence(inputs_[i]) && left == 1);
    if (needed) {
      ids.push_back(v);
      inputs.push_back(inputs_[i]);
    } else if (is_sequence(inputs_[i])) {
      --left;
    }
  }
  program_.inputs = std::move(ids);
  inputs_ = std::move(inputs);
}

// A step that is read only for its shape is kept: the shape may still be free.
void Scan::drop_dead() {
  PerValue<bool> live(program_);
  for (Id v : program_.outputs) live[v] = true;
  std::vector<Step> kept;
  for (size_t s = program_.steps.size(); s-- > 0;) {
    Step &step = program_.steps[s];
    if (!step.op->is_volatile() && std::none_of(step.dst.begin(), step.dst.end(), [&](Id v) { return live[v]; }))
      continue;
    for (Id v : step.src)
      if (v != none) live[v] = true;
    kept.push_back(std::move(step));
  }
  program_.steps.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

// Products are cheaper to keep than to recompute.
std::vector<Id> Scan::products() const {
  std::vector<Id> all;
  for (const Step &s : program_.steps)
    if (is_product(s)) all.push_back(s.dst[0]);
  return all;
}

Scan::Values Scan::emit() {
  program_.outputs.clear();
  std::vector<int> reversed;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].carry != Carry::state) continue;
    auto next = next_.find(program_.inputs[i]);
    if (next == next_.end()) fail(Code::internal, "scan: a state has no next value");
    program_.outputs.push_back(next->second);
    reversed.push_back(0);
  }
  const size_t states = program_.outputs.size();
  program_.outputs.insert(program_.outputs.end(), outputs_.begin(), outputs_.end());
  reversed.insert(reversed.end(), reversed_.begin(), reversed_.end());
  drop_dead();
  move_out();
  std::vector<int> kept;
  for (Id v : products()) {
    if (std::find(program_.outputs.begin(), program_.outputs.begin() + static_cast<std::ptrdiff_t>(states), v) !=
        program_.outputs.begin() + static_cast<std::ptrdiff_t>(states))
      continue;
    kept.push_back(static_cast<int>(program_.outputs.size()));
    program_.outputs.push_back(v);
    reversed.push_back(0);
  }
  drop_unread();
  std::vector<Carry> carry;
  std::vector<Id> src;
  for (const Outside &o : inputs_) {
    carry.push_back(o.carry);
    src.push_back(o.value);
  }
  const size_t stacks = program_.outputs.size();
  auto dst = e_.step(std::make_shared<ScanOp>(program_, std::move(carry), std::move(reversed), std::move(kept)), src);
  Values v;
  v.states.assign(dst.begin(), dst.begin() + static_cast<std::ptrdiff_t>(states));
  v.outputs.assign(dst.begin() + static_cast<std::ptrdiff_t>(states),
                   dst.begin() + static_cast<std::ptrdiff_t>(states + outputs_.size()));
  v.last.assign(dst.begin() + static_cast<std::ptrdiff_t>(stacks), dst.end());
  return v;
}

namespace {

// The state before each step: source 1, then all of source 0 (T, ...) but its last.
struct DelayOp final : NotDifferentiable<DelayOp, "delay", attributes::Delay> {
  std::vector<Operand> infer(Operands src) const override { return {src[0]}; }
};

Id zeros_like(Emit &e, Id v) { return fill(e, DType::f32, 0, v, e.rank(v), {}); }

// The backward scan under construction.
class Backward {
 public:
  Backward(const ScanOp &op, Gradient &g) : op_(op), p_(*op.body), g_(g), s_(g.e), at_(p_, none) {}

  void write() {
    bring_inputs();
    repeat_body();
    auto seeds = cotangents();
    std::vector<Id> wrt;
    std::vector<size_t> of;  // the source of each
    for (size_t i = 0; i < op_.carry.size(); ++i) {
      const bool differs = op_.carry[i] == Carry::state ? p_[p_.inputs[i]].dtype == DType::f32 : wants(i);
      if (!differs) continue;
      wrt.push_back(at_[p_.inputs[i]]);
      of.push_back(i);
    }
    std::vector<Id> diff = differentiate(s_.body, seeds, wrt);
    for (Id &v : diff) v = renamed(v);
    read_what_is_kept();
    for (size_t i = 0; i < of.size(); ++i) carry_back(of[i], diff[i]);
    const Scan::Values values = s_.emit();
    for (const auto &finish : last_) finish(values);
  }

 private:
  bool wants(size_t i) const { return g_.wants(static_cast<int>(i)); }
  Id source(size_t i) const { return g_.src(static_cast<int>(i)); }

  void bring_inputs() {
    int state = 0;
    for (size_t i = 0; i < op_.carry.size(); ++i) {
      Id &v = at_[p_.inputs[i]];
      if (op_.carry[i] == Carry::constant) {
        v = s_.constant(source(i));
      } else if (op_.carry[i] == Carry::state) {
        Id before = g_.e.value(make<DelayOp>(), {g_.dst(state++), source(i)});
        in_order_[v = s_.each(before, true)] = before;
      } else {
        v = s_.each(source(i), op_.carry[i] == Carry::sequence);
        if (op_.carry[i] == Carry::sequence) in_order_[v] = source(i);
      }
    }
  }

  void repeat_body() {
    for (Id v : p_.ids())
      if (p_[v].role == Role::constant) at_[v] = s_.body.constant(p_[v].data);
    for (const Step &step : p_.steps) {
      std::vector<Id> src;
      for (Id v : step.src) src.push_back(v == none ? none : at_[v]);
      s_.body.scope = step.scope;
      auto dst = s_.body.step(step.op, std::move(src));
      for (size_t i = 0; i < dst.size(); ++i) at_[step.dst[i]] = dst[i];
    }
    for (int k : op_.kept) {
      Id stack = g_.dst(k), v = s_.each(stack, true);
      kept_[at_[p_.outputs[static_cast<size_t>(k)]]] = v;
      in_order_[v] = stack;
    }
  }

  // Cotangents of the body's outputs.
  std::vector<Cotangent> cotangents() {
    std::vector<Cotangent> seeds;
    const size_t outputs = p_.outputs.size();
    size_t state = 0;
    for (size_t i = 0; i < op_.carry.size(); ++i) {
      if (op_.carry[i] != Carry::state) continue;
      const size_t j = state++;
      if (p_[p_.outputs[j]].dtype != DType::f32) continue;
      Id last = g_.diff_dst(static_cast<int>(outputs + j));
      Id d = s_.state(last == none ? zeros_like(g_.e, source(i)) : last);
      diff_state_[i] = {d, states_++};
      seeds.push_back({at_[p_.outputs[j]], d});
    }
    for (size_t j = 0; j < outputs; ++j) {
      Id d = g_.diff_dst(static_cast<int>(j));
      if (d != none) seeds.push_back({at_[p_.outputs[j]], s_.each(d, !op_.reversed[j])});
    }
    return seeds;
  }

  Id renamed(Id v) const {
    auto kept = kept_.find(v);
    return kept == kept_.end() ? v : kept->second;
  }
  void read_what_is_kept() {
    for (Step &step : s_.body.program.steps)
      for (Id &v : step.src) v = renamed(v);
  }

  // Adds the gradient of source i at each step.
  void carry_back(size_t i, Id diff) {
    Emit &b = s_.body;
    const int at = static_cast<int>(i);
    if (op_.carry[i] == Carry::state) {
      auto [state, number] = diff_state_.at(i);
      s_.become(state, diff == none ? zeros_like(b, state) : diff);
      if (wants(i)) last_.push_back([=, this, n = number](const Scan::Values &v) { g_.set(at, v.last[n]); });
    } else if (diff == none) {
      g_.stop(at);
    } else if (op_.carry[i] != Carry::constant) {
      const size_t number = s_.output(diff, op_.carry[i] == Carry::sequence);
      last_.push_back([=, this](const Scan::Values &v) { g_.set(at, v.outputs[number]); });
    } else if (!product_of_steps(at, diff)) {
      sum_over_steps(at, diff);
    }
  }

  // A sum of products a^T d over steps is one product over all steps.
  bool product_of_steps(int at, Id diff) {
    const Program &b = s_.body.program;
    const Step *made = nullptr;
    for (const Step &step : b.steps)
      if (step.dst[0] == diff) made = &step;
    auto *product = made ? as<MatMulOp>(*made) : nullptr;
    if (!product || !product->how.transpose_a || product->how.transpose_b || made->src.size() != 2) return false;
    const Id left = made->src[0], right = made->src[1];
    const Shape a = b[left].shape, d = b[right].shape;
    if (a.rank() != 2 || d.rank() != 2 || a[1] == free_dim || d[1] == free_dim) return false;
    auto stacked = [&](Id v) -> std::function<Id(const Scan::Values &)> {
      auto outside = in_order_.find(v);
      if (outside != in_order_.end()) return [stack = outside->second](const Scan::Values &) { return stack; };
      return [number = s_.output(v, true)](const Scan::Values &values) { return values.outputs[number]; };
    };
    const MatMul how{true, false, product->how.bfloat16};
    last_.push_back([=, this, rows = stacked(left), diffs = stacked(right)](const Scan::Values &v) {
      Emit &e = g_.e;
      Id x = reshape(e, rows(v), 0, {free_dim, a[1]}), y = reshape(e, diffs(v), 0, {free_dim, d[1]});
      g_.set(at, matmul(e, x, y, how));
    });
    return true;
  }

  void sum_over_steps(int at, Id diff) {
    Id sum = s_.state(zeros_like(g_.e, g_.src(at)));
    const size_t number = states_++;
    s_.become(sum, add(s_.body, sum, diff));
    last_.push_back([=, this](const Scan::Values &v) { g_.set(at, v.last[number]); });
  }

  const ScanOp &op_;
  const Program &p_;
  Gradient &g_;
  Scan s_;
  PerValue<Id> at_;            // the body's recomputed values
  std::map<Id, Id> in_order_;  // values of the backward body: the sequences of which they are elements, in step order
  std::map<Id, Id> kept_;      // by the recomputation they replace
  std::map<size_t, std::pair<Id, size_t>> diff_state_;  // by source of a state: its gradient, and the state's index
  size_t states_ = 0;                                   // of the backward scan
  std::vector<std::function<void(const Scan::Values &)>> last_;
};

}  // namespace

void ScanOp::gradient(Gradient &g) const { Backward(*this, g).write(); }

}  // namespace dl4::ops
