// square_sum: the sum of all squares, in double: the norm of a whole block of gradients.
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

// Each slice leaves its sum in the scratch; the one that finishes last adds them in their order.
class SquareSumKernel final : public kernels::Kernel {
 public:
  SquareSumKernel(int64_t n, int64_t slices)
      : Kernel("square_sum", slices, checked_mul(slices, sizeof(double))), n_(n) {}

  std::unique_ptr<kernels::Bound> bind() const override { return std::make_unique<Done>(); }

  void run(int64_t slice, const Run &r) const noexcept override {
    auto [begin, end] = kernels::part(n_, slices, slice, line_block);
    auto *sums = static_cast<double *>(r.scratch);
    sums[slice] = kernels::sum_squares(r.in<float>(0) + begin, end - begin);
    auto *done = static_cast<Done *>(r.bound);
    if (slices > 1 && done->slices.fetch_add(1, std::memory_order_acq_rel) + 1 < slices) return;
    done->slices.store(0, std::memory_order_relaxed);
    double total = 0;
    for (int64_t i = 0; i < slices; ++i) total += sums[i];
    *r.out<float>(0) = static_cast<float>(total);
  }

 private:
  struct Done final : kernels::Bound {
    std::atomic<int64_t> slices{0};
  };
  int64_t n_;
};

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
    return std::make_unique<SquareSumKernel>(n, slices);
  }
};

}  // namespace

Id square_sum(Emit &e, Id x) { return e.value(std::make_shared<SquareSumOp>(), {x}); }

}  // namespace dl4::ops
