// square_sum: the sum of all squares, in double: the norm of a whole block of gradients.
#include "backend/cpu/kernels/reduce/square_sum.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct SquareSumOp final : OpOf<SquareSumOp> {
  std::string_view name() const override { return "square_sum"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("square_sum", src[0]);
    return {{DType::f32, {}}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none) g.set(0, mul(g.e, g.src(0), scale(g.e, g.diff_dst(), 2)));
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.src[0].shape.elements();
    double us = us_per_byte * static_cast<double>(checked_mul(4, n));
    // One slice at least: the sum of nothing is 0.
    int64_t slices = std::max<int64_t>(1, site.cutting.slices((n + line_block - 1) / line_block, us));
    return kernels::square_sum(n, slices, line_block);
  }
};

}  // namespace

Id square_sum(Emit &e, Id x) { return e.value(std::make_shared<SquareSumOp>(), {x}); }

}  // namespace dl4::ops
