// hardmax: the first of the largest as a one among zeros.
#include "backend/cpu/kernels/reduce/counting.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct HardmaxOp final : OpOf<HardmaxOp> {
  int axis;

  explicit HardmaxOp(int axis) : axis(axis) {}
  void fields(auto &f) const { f("axis", axis); }
  std::string_view name() const override { return "hardmax"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("hardmax", src[0]);
    return {src[0]};
  }
  void gradient(Gradient &g) const override {
    if (!g.wants(0) || g.diff_dst() == none) return;
    Emit &e = g.e;
    Id p = softmax(e, g.src(0), axis), weighed = mul(e, p, g.diff_dst());
    g.set(0, sub(e, weighed, mul(e, p, reduce(e, Reduce::sum, weighed, {axis}, true))));
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    Around a = around(site.dst[0].shape, axis);
    const int64_t row = checked_mul(a.axis, a.inner), outer = row ? a.outer : 0;
    const double us = 2 * us_per_byte * static_cast<double>(checked_mul(outer, row, 4));
    return sliced("hardmax", site, outer, us, [=](int64_t begin, int64_t end, const Run &r) {
      kernels::hardmax(r.in<float>(0) + begin * row, r.out<float>(0) + begin * row, end - begin, a.axis, a.inner);
    });
  }
};

}  // namespace

Id hardmax(Emit &e, Id x, int axis) { return e.value(std::make_shared<HardmaxOp>(e.shape(x).axis(axis)), {x}); }

}  // namespace dl4::ops
