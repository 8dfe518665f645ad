// copy: the same values in separate memory. stop_gradient: the same values, a constant for differentiation.
// straight_through: a value whose gradient goes to another value. check_finite: a fault if a value has a NaN or an
// infinity. cast: the same values in another dtype. reduce_precision: rounds to floats of fewer bits.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
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

}  // namespace dl4::ops
