// cast: the same values in another dtype. reduce_precision: rounds to floats of fewer bits.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

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

Id cast(Emit &e, Id x, DType to) { return e.dtype(x) == to ? x : e.value(make<CastOp>(to), {x}); }

Id reduce_precision(Emit &e, Id x, int exponent_bits, int mantissa_bits) {
  return e.value(make<ReducePrecisionOp>(exponent_bits, mantissa_bits), {x});
}

Id rounded(Emit &e, Id x) { return e.bfloat16 && x != none ? straight_through(e, reduce_precision(e, x, 8, 7), x) : x; }

}  // namespace dl4::ops
