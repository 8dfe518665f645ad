// check_finite: stops the run where a value holds a NaN or an infinity.
#include <cmath>

#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct CheckFiniteOp final : StopsGradients<CheckFiniteOp> {
  std::string_view name() const override { return "check_finite"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("check_finite", src[0]);
    return {};
  }
  bool is_volatile() const override { return true; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.src[0].shape.elements();
    double us = us_per_byte * static_cast<double>(checked_mul(4, n));
    return sliced(
        "check_finite", site, n, us,
        [](int64_t begin, int64_t end, const Run &r) {
          const float *x = r.in<float>(0);
          if (kernels::all_finite(x + begin, end - begin)) return;
          while (std::isfinite(x[begin])) ++begin;
          r.report->raise(kernels::Fault::not_finite, begin);
        },
        line_block);
  }
};

}  // namespace

void check_finite(Emit &e, Id x) { e.step(std::make_shared<CheckFiniteOp>(), {x}); }

}  // namespace dl4::ops
