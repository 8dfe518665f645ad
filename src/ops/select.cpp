// select: a where the mask is true, else b; the other side never affects the result.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct SelectOp final : OpOf<SelectOp, "select", attributes::Select> {
  bool takes_strings() const override { return true; }

  std::vector<Operand> infer(Operands src) const override {
    want_type("the mask of select", src[0], DType::boolean);
    if (src[1].dtype != src[2].dtype)
      fail(Code::invalid_argument, "expected values of one dtype, got ", src[1].dtype, " and ", src[2].dtype);
    return {{src[1].dtype, broadcast(src[0].shape, broadcast(src[1].shape, src[2].shape))}};
  }

  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    Id mask = g.src(0), d = g.diff_dst();
    Id zero = e.scalar(0);
    if (g.wants(1)) g.set(1, sum_like(e, select(e, mask, d, zero), g.src(1)));
    if (g.wants(2)) g.set(2, sum_like(e, select(e, mask, zero, d), g.src(2)));
  }
};

}  // namespace

Id select(Emit &e, Id mask, Id a, Id b) { return e.value(make<SelectOp>(), {mask, a, b}); }

}  // namespace dl4::ops
