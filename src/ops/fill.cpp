// fill: a constant, in a shape taken from another value. band_mask: marks keys near a query, aligned top left if the
// lengths differ.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
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

}  // namespace

Id fill(Emit &e, DType dtype, double v, Id like, int keep, const Shape &tail) {
  return e.value(make<FillOp>(dtype, v, keep, tail), {like});
}

Id band_mask(Emit &e, Id scores, int64_t before, int64_t after) {
  return e.value(make<BandMaskOp>(before, after), {scores});
}

}  // namespace dl4::ops
