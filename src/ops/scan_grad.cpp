// The gradient of a scan is a scan from the last step to the first. Results of products are kept; all else is
// recomputed from the states before each step.
#include <functional>

#include "ops/attributes.hpp"
#include "ops/differentiate.hpp"
#include "ops/matmul.hpp"
#include "ops/scan.hpp"

namespace dl4::ops {
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
