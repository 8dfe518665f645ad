// copy: the same values in separate memory. stop_gradient: the same values, a constant for differentiation.
// straight_through: a value whose gradient goes to another value. check_finite: a fault if a value has a NaN or an
// infinity. cast: the same values in another dtype. reduce_precision: rounds to floats of fewer bits.
// fill: a constant, in a shape taken from another value. band_mask: marks keys near a query, aligned top left if the
// lengths differ.
// range: indices below a number. random_keep: dropout masks, scaled. random_normal, random_uniform: random numbers. For
// a part of a batch, the draw's number may be followed by its first row and number of rows, which then get the same
// numbers as in the whole batch.
#include <numeric>

#include "ops/attributes.hpp"
#include "ops/flow.hpp"
#include "ops/matched.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct CopyOp final : OpOf<CopyOp, "copy", attributes::Copy> {
  std::vector<Operand> infer(Operands src) const override { return {src[0]}; }
  void gradient(Gradient &g) const override { g.set(0, g.diff_dst()); }
  bool takes_strings() const override { return true; }
};

struct StopGradientOp final : StopsGradients<StopGradientOp, "stop_gradient", attributes::StopGradient> {
  std::vector<Operand> infer(Operands src) const override { return {src[0]}; }
  bool is_view() const override { return true; }
};

struct StraightThroughOp final : OpOf<StraightThroughOp, "straight_through", attributes::StraightThrough> {
  std::vector<Operand> infer(Operands src) const override {
    return {{src[0].dtype, same_shape(op, src[0].shape, src[1].shape)}};
  }
  void gradient(Gradient &g) const override {
    g.stop(0);
    if (g.wants(1)) g.set(1, g.diff_dst());
  }
  bool is_view() const override { return true; }
};

struct CheckFiniteOp final : StopsGradients<CheckFiniteOp, "check_finite", attributes::CheckFinite> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    return {};
  }
  bool is_volatile() const override { return true; }
};

struct CastOp final : StopsGradients<CastOp, "cast", attributes::Cast> {
  std::vector<Operand> infer(Operands src) const override {
    if (src[0].dtype == DType::f64 || to == DType::f64)
      fail(Code::unsupported, "cast from ", src[0].dtype, " to ", to, ": float64 is not computed with");
    return {{to, src[0].shape}};
  }
};

struct ReducePrecisionOp final : StopsGradients<ReducePrecisionOp, "reduce_precision", attributes::ReducePrecision> {
  std::vector<Operand> infer(Operands src) const override {
    want_float(op, src[0]);
    if (exponent_bits < 2 || exponent_bits > 8 || mantissa_bits < 1 || mantissa_bits > 23)
      fail(Code::invalid_argument, "reduce_precision expects 2 to 8 bits of exponent and 1 to 23 of mantissa, got ",
           exponent_bits, " and ", mantissa_bits);
    return {src[0]};
  }
};

}  // namespace

Id copy(Emit &e, Id x) { return e.value(make<CopyOp>(), {x}); }

Id stop_gradient(Emit &e, Id x) { return e.value(make<StopGradientOp>(), {x}); }

Id straight_through(Emit &e, Id x, Id of) { return e.value(make<StraightThroughOp>(), {x, of}); }

void check_finite(Emit &e, Id x) { e.step(make<CheckFiniteOp>(), {x}); }

Id cast(Emit &e, Id x, DType to) { return e.dtype(x) == to ? x : e.value(make<CastOp>(to), {x}); }

Id reduce_precision(Emit &e, Id x, int exponent_bits, int mantissa_bits) {
  return e.value(make<ReducePrecisionOp>(exponent_bits, mantissa_bits), {x});
}

Id rounded(Emit &e, Id x) { return e.bfloat16 && x != none ? straight_through(e, reduce_precision(e, x, 8, 7), x) : x; }

namespace {

struct FillOp final : StopsGradients<FillOp, "fill", attributes::Fill> {
  std::vector<Operand> infer(Operands src) const override {
    if (keep < 0 || keep > src[0].shape.rank())
      fail(Code::invalid_argument, "fill can't keep ", keep, " axes of ", src[0].shape);
    return {{dtype, src[0].shape.first(keep).joined(tail)}};
  }
  bool reads(int) const override { return false; }
};

struct BandMaskOp final : StopsGradients<BandMaskOp, "band_mask", attributes::BandMask> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &s = src[0].shape;
    if (s.rank() < 2) fail(Code::shape_mismatch, "band_mask expects scores (..., T, S), got ", s);
    return {{DType::boolean, s.last(2)}};
  }
  bool reads(int) const override { return false; }
};

// The shape of both: the first `keep` axes of source 1, then the tail.
std::vector<Operand> drawn(const char *op, Operands src, int keep, const Shape &tail) {
  want_type(text("the draw of ", op).c_str(), src[0], DType::i64);
  const Shape &like = src[1].shape;
  if (keep < 0 || keep > like.rank()) fail(Code::invalid_argument, op, " can't keep ", keep, " axes of ", like);
  return {{DType::f32, like.first(keep).joined(tail)}};
}

struct RandomKeepOp final : StopsGradients<RandomKeepOp, "random_keep", attributes::RandomKeep> {
  std::vector<Operand> infer(Operands src) const override {
    if (!(rate >= 0 && rate < 1))
      fail(Code::invalid_argument, "dropout: rate is ", number(rate), ", expected 0 <= rate < 1");
    return drawn(op, src, keep, tail);
  }
  bool reads(int src) const override { return src == 0; }
};

struct RandomNormalOp final : StopsGradients<RandomNormalOp, "random_normal", attributes::RandomNormal> {
  std::vector<Operand> infer(Operands src) const override { return drawn(op, src, keep, tail); }
  bool reads(int src) const override { return src == 0; }
};

struct RandomUniformOp final : StopsGradients<RandomUniformOp, "random_uniform", attributes::RandomUniform> {
  std::vector<Operand> infer(Operands src) const override { return drawn(op, src, keep, tail); }
  bool reads(int src) const override { return src == 0; }
};

}  // namespace

Id fill(Emit &e, DType dtype, double v, Id like, int keep, const Shape &tail) {
  return e.value(make<FillOp>(dtype, v, keep, tail), {like});
}

Id band_mask(Emit &e, Id scores, int64_t before, int64_t after) {
  return e.value(make<BandMaskOp>(before, after), {scores});
}

std::vector<Operand> RangeOp::infer(Operands src) const {
  if ((src[0].dtype != DType::i32 && src[0].dtype != DType::i64) || src[0].shape.rank() != 0)
    fail(Code::shape_mismatch, "range expects an integer without axes, got ", src[0].dtype, ' ', src[0].shape);
  return {{DType::i64, {free_dim}}};
}

bool is_sized_by_numbers(const Step &step) {
  if (as<RangeOp>(step)) return true;
  const auto *branch = as<BranchOp>(step);
  return branch &&
         (branch->own_shapes || sized_by_numbers(*branch->then.body) || sized_by_numbers(*branch->otherwise.body));
}
const Step *sized_by_numbers(const Program &p) {
  const auto it = std::find_if(p.steps.begin(), p.steps.end(), is_sized_by_numbers);
  return it == p.steps.end() ? nullptr : &*it;
}

int64_t number_of_range(DType dtype, const void *number) {
  return dtype == DType::i32 ? *static_cast<const int32_t *>(number) : *static_cast<const int64_t *>(number);
}

Tensor range_of(int64_t size) {
  Tensor t = make_tensor(DType::i64, {size});
  std::iota(t.as<int64_t>(), t.as<int64_t>() + size, int64_t{0});
  return t;
}

Id range(Emit &e, Id n) { return e.value(std::make_shared<RangeOp>(), {n}); }

Id random_keep(Emit &e, double rate, uint64_t seed, Id draw, Id like, int keep, const Shape &tail) {
  return e.value(make<RandomKeepOp>(rate, seed, keep, tail), {draw, like});
}
Id random_normal(Emit &e, uint64_t seed, Id draw, Id like, int keep, const Shape &tail) {
  return e.value(make<RandomNormalOp>(seed, keep, tail), {draw, like});
}
Id random_uniform(Emit &e, uint64_t seed, Id draw, Id like, int keep, const Shape &tail) {
  return e.value(make<RandomUniformOp>(seed, keep, tail), {draw, like});
}

}  // namespace dl4::ops
