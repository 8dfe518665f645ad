// check_finite: stops the run where a value holds a NaN or an infinity.
#include "backend/cpu/kernels/reduce/counting.hpp"
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
          const int64_t finite = kernels::finite_from(r.in<float>(0) + begin, end - begin);
          if (begin + finite < end) r.report->raise(kernels::Fault::not_finite, begin + finite);
        },
        line_block);
  }
};

}  // namespace

void check_finite(Emit &e, Id x) { e.step(std::make_shared<CheckFiniteOp>(), {x}); }

}  // namespace dl4::ops
