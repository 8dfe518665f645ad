// scan: its rules, and the writer of its body.
#include "ops/scan.hpp"

#include <algorithm>

#include "ops/conv.hpp"
#include "ops/elementwise.hpp"
#include "ops/matmul.hpp"

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

}  // namespace dl4::ops
