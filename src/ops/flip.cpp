// flip: an axis from its end to its beginning.
#include "backend/cpu/kernels/movement/repeat.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct FlipOp final : OpOf<FlipOp> {
  int axis;

  explicit FlipOp(int axis) : axis(axis) {}
  void fields(auto &f) const { f("axis", axis); }
  std::string_view name() const override { return "flip"; }
  std::vector<Operand> infer(Operands src) const override { return {src[0]}; }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none) g.set(0, flip(g.e, g.diff_dst(), axis));
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    auto [outer, n, inner] = around(site.src[0].shape, axis);
    int64_t bytes = checked_mul(inner, size_of(site.src[0].dtype)), rows = bytes ? checked_mul(outer, n) : 0;
    double us = 2 * us_per_byte * static_cast<double>(checked_mul(rows, bytes));
    return sliced("flip", site, rows, us, [n = n, bytes](int64_t begin, int64_t end, const Run &r) {
      kernels::flip(bytes, n, r.in<void>(0), r.out<void>(0), begin, end);
    });
  }
};

}  // namespace

Id flip(Emit &e, Id x, int axis) { return e.value(std::make_shared<FlipOp>(e.shape(x).axis(axis)), {x}); }

}  // namespace dl4::ops
