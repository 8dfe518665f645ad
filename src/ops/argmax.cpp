// argmax: where the largest element of an axis is.
#include "backend/cpu/kernels/reduce/reduce.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct ArgmaxOp final : StopsGradients<ArgmaxOp> {
  int axis;

  explicit ArgmaxOp(int axis) : axis(axis) {}
  void fields(auto &f) const { f("axis", axis); }
  std::string_view name() const override { return "argmax"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("argmax", src[0]);
    const Shape &x = src[0].shape;
    if (x[axis] == 0) fail(Code::shape_mismatch, "argmax over the empty axis ", axis, " of ", x);
    return {{DType::i32, x.without(axis)}};
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    Around a = around(site.src[0].shape, axis);
    int64_t row = checked_mul(a.axis, a.inner), outer = a.inner ? a.outer : 0;
    double us = 4 * us_per_byte * static_cast<double>(checked_mul(outer, row, 4));
    return sliced("argmax", site, outer, us, [=](int64_t begin, int64_t end, const Run &r) {
      kernels::argmax(r.in<float>(0) + begin * row, DType::i32, r.out<int32_t>(0) + begin * a.inner, end - begin,
                      a.axis, a.inner);
    });
  }
};

}  // namespace

Id argmax(Emit &e, Id x, int axis) { return e.value(std::make_shared<ArgmaxOp>(e.shape(x).axis(axis)), {x}); }

}  // namespace dl4::ops
