// Folds normalizations into the weights before them.
#include <algorithm>

#include "backend/backend.hpp"
#include "base/float_mode.hpp"
#include "ops/conv.hpp"
#include "ops/matched.hpp"
#include "plan/fold.hpp"
#include "plan/passes.hpp"

namespace dl4::plan {
namespace {

using namespace ops;

constexpr int64_t small = 1 << 16;  // bytes: larger results are kept only if requested

class Folder {
 public:
  Folder(Program &p, std::vector<Tensor> &states) : p_(p), states_(states), used_(uses(p)) {}

  void run() {
    find_fixed();
    std::vector<Step> steps = std::move(p_.steps);
    p_.steps.clear();
    at_ = PerValue<std::optional<size_t>>(p_);
    for (Step &step : steps)
      if (!take_in(step)) keep(std::move(step));
    std::erase_if(p_.steps, [](const Step &s) { return !s.op; });  // removes merged steps
    if (!asked_.empty()) evaluate();
  }

 private:
  // Finds values that depend on states and constants only. States without a tensor, such as counters, do not count.
  void find_fixed() {
    fixed_ = PerValue<bool>(p_);
    for (Id v : p_.ids()) fixed_[v] = p_[v].role == Role::constant;
    once_ = PerValue<bool>(p_);
    for (size_t i = 0; i < states_.size(); ++i) {
      const Id v = p_.states[i];
      once_[v] = p_[v].dtype == DType::u8;
      fixed_[v] = once_[v] || p_[v].dtype == DType::f32;
    }
    for (const Step &s : p_.steps) {
      bool all = !s.op->is_volatile();
      for (size_t i = 0; i < s.src.size(); ++i)
        all = all && (s.src[i] == none || fixed_[s.src[i]] ||
                      (!s.op->reads(static_cast<int>(i)) && p_[s.src[i]].shape.known()));
      for (Id v : s.dst) all = all && p_[v].shape.known();
      const bool once = all && (as<MatMulOp>(s) ||
                                std::any_of(s.src.begin(), s.src.end(), [&](Id v) { return v != none && once_[v]; }));
      for (Id v : s.dst) fixed_[v] = all, once_[v] = once;
      if (once) asked_.insert(asked_.end(), s.dst.begin(), s.dst.end());
    }
  }

  void keep(Step step) {
    at_.grow(p_);
    for (Id v : step.dst) at_[v] = p_.steps.size();
    p_.steps.push_back(std::move(step));
  }

  // The product or convolution with constant weights whose result v has one reader; else nullptr.
  const Step *made_for_one(Id v) const {
    const Step *s = maker(p_, at_, v);
    if (!s || used_[v] != 1) return nullptr;
    const auto *product = as<MatMulOp>(*s);
    const auto *conv = as<ConvOp>(*s);
    if (!product && !conv) return nullptr;
    const bool plain = conv ? !conv->fused.activation : !product->fused.activation && !product->how.transpose_b;
    if (!plain || !fixed_[s->src[1]] || (s->src.size() > 2 && !fixed_[s->src[2]])) return nullptr;
    return product && p_[s->src[1]].shape.rank() != 2 ? nullptr : s;
  }

  bool take_in(const Step &step) {
    const auto *op = as<BinaryOp>(step);
    if (!op || (op->f != Binary::mul && op->f != Binary::add)) return false;
    for (size_t side : {0, 1}) {
      const Id from = step.src[side], by = step.src[1 - side];
      const Step *before = fixed_.has(by) && fixed_[by] ? made_for_one(from) : nullptr;
      const Shape &s = p_[by].shape;
      if (!before || s.rank() != 1 || s[0] == free_dim || s[0] != p_[from].shape.last() ||
          p_[step.dst[0]].shape != p_[from].shape)
        continue;
      rewrite(*before, step, op->f, by);
      return true;
    }
    return false;
  }

  Id made(Binary f, Id a, Id b) {
    Emit e(p_);
    const Id v = binary(e, f, a, b);
    fixed_.grow(p_);
    used_.grow(p_, 1);
    fixed_[v] = true;
    asked_.push_back(v);
    return v;
  }

  void rewrite(const Step &before, const Step &step, Binary f, Id by) {
    Step now{nullptr, before.src, step.dst, before.scope};
    const auto *product = as<MatMulOp>(before);
    const auto *conv = as<ConvOp>(before);
    const size_t place = *at_[before.dst[0]];
    bool bias = before.src.size() > 2;
    if (product)
      now.op = std::make_shared<MatMulOp>(product->how, Fused{bias || f == Binary::add});
    else
      now.op = std::make_shared<ConvOp>(conv->how, Fused{bias || f == Binary::add});
    if (f == Binary::mul) now.src[1] = made(f, now.src[1], by);
    if (bias)
      now.src[2] = made(f, now.src[2], by);
    else if (f == Binary::add)
      now.src.push_back(by);
    p_.steps[place].op = nullptr;
    keep(std::move(now));
  }

  // Evaluates what was requested or is small, and makes it a state.
  void evaluate() {
    for (size_t i = 0; i < states_.size(); ++i) {
      Value &v = p_[p_.states[i]];
      if (!fixed_[p_.states[i]]) continue;
      v.role = Role::constant;
      v.data = states_[i];
    }
    std::vector<Step> kept;
    std::vector<Id> folded;
    for (Step &step : p_.steps) {
      const bool asked = !step.dst.empty() && std::find(asked_.begin(), asked_.end(), step.dst[0]) != asked_.end();
      const bool fixed = !step.dst.empty() && fixed_[step.dst[0]];
      if (fixed && fold(p_, step, asked ? INT64_MAX : small))
        folded.insert(folded.end(), step.dst.begin(), step.dst.end());
      else
        kept.push_back(std::move(step));
    }
    p_.steps = std::move(kept);
    for (size_t i = 0; i < states_.size(); ++i) {
      Value &v = p_[p_.states[i]];
      if (v.role == Role::constant) v.data = {};
      v.role = Role::state;
    }
    const PerValue<int32_t> used = uses(p_);
    for (size_t i = 0; i < states_.size(); ++i)
      if (used[p_.states[i]] == 0) states_[i].data = nullptr;
    for (Id v : folded) {
      if (used[v] == 0) {
        p_[v].role = Role::temp;
        p_[v].data = {};
        continue;
      }
      p_[v].role = Role::state;
      p_[v].name = text("folded ", p_.states.size());
      states_.push_back(std::move(p_[v].data));
      p_[v].data = {};
      p_.states.push_back(v);
    }
  }

  Program &p_;
  std::vector<Tensor> &states_;
  PerValue<int32_t> used_;
  // once_: evaluated once, whatever its size: dequantized weights, and products of weights.
  PerValue<bool> fixed_, once_;
  PerValue<std::optional<size_t>> at_;  // index of the step that makes each value
  std::vector<Id> asked_;               // new weights and biases
};

}  // namespace

void fold_weights(Program &p, std::vector<Tensor> &states, std::span<const std::string> off) {
  if (std::find(off.begin(), off.end(), "fold_weights") != off.end()) return;
  FlushToZero flush;
  kernels::SingleThreaded single;
  drop_straight_through(p);
  Folder(p, states).run();
}

}  // namespace dl4::plan
