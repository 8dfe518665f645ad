// cast: the same values in another dtype.
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

}  // namespace

Id cast(Emit &e, Id x, DType to) { return e.dtype(x) == to ? x : e.value(make<CastOp>(to), {x}); }

}  // namespace dl4::ops
