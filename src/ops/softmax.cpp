// softmax and log_softmax along one axis.
#include "ops/softmax.hpp"
#include "ops/op.hpp"

#include "backend/cpu/kernels/reduce/softmax.hpp"
#include "ops/differentiate.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

double cost(const Around &a) {
  return 2 * us_per_function * static_cast<double>(checked_mul(a.outer, a.axis, a.inner));
}

// dx from dy and y.
struct SoftmaxGradOp final : OpOf<SoftmaxGradOp> {
  bool log;
  int axis;

  SoftmaxGradOp(bool log, int axis) : log(log), axis(axis) {}
  void fields(auto &f) const { f("log", log), f("axis", axis); }
  std::string_view name() const override { return "softmax_grad"; }
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::f32, same_shape("softmax_grad", src[0].shape, src[1].shape)}};
  }
  void gradient(Gradient &g) const override {
    differentiate_as(g, [this](Emit &e, const std::vector<Id> &src) {
      const auto sum = [&](Id x) { return reduce(e, Reduce::sum, x, {axis}, true); };
      const Id dy = src[0], y = src[1];
      return log ? sub(e, dy, mul(e, unary(e, Unary::exp, y), sum(dy))) : mul(e, y, sub(e, dy, sum(mul(e, dy, y))));
    });
  }
  int overwrites(int) const override { return 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    Around a = around(site.dst[0].shape, axis);
    int64_t row = checked_mul(a.axis, a.inner), outer = row ? a.outer : 0;
    auto f = log ? kernels::log_softmax_grad : kernels::softmax_grad;
    return sliced(log ? "log_softmax_grad" : "softmax_grad", site, outer, cost(a),
                  [=](int64_t begin, int64_t end, const Run &r) {
                    f(r.in<float>(0) + begin * row, r.in<float>(1) + begin * row, r.out<float>(0) + begin * row,
                      end - begin, a.axis, a.inner);
                  });
  }
};

}  // namespace

std::vector<Operand> SoftmaxOp::infer(Operands src) const {
  want_float(log ? "log_softmax" : "softmax", src[0]);
  return {src[0]};
}

void SoftmaxOp::gradient(Gradient &g) const {
  if (g.wants(0) && g.diff_dst() != none)
    g.set(0, g.e.value(std::make_shared<SoftmaxGradOp>(log, axis), {g.diff_dst(), g.dst()}));
}

std::unique_ptr<kernels::Kernel> SoftmaxOp::kernel(const Site &site) const {
  Around a = around(site.dst[0].shape, axis);
  int64_t row = checked_mul(a.axis, a.inner), outer = row ? a.outer : 0;
  auto f = log ? kernels::log_softmax : kernels::softmax;
  return sliced(log ? "log_softmax" : "softmax", site, outer, cost(a), [=](int64_t begin, int64_t end, const Run &r) {
    f(r.in<float>(0) + begin * row, r.out<float>(0) + begin * row, end - begin, a.axis, a.inner);
  });
}

Id softmax(Emit &e, Id x, int axis) { return e.value(std::make_shared<SoftmaxOp>(false, e.shape(x).axis(axis)), {x}); }
Id log_softmax(Emit &e, Id x, int axis) {
  return e.value(std::make_shared<SoftmaxOp>(true, e.shape(x).axis(axis)), {x});
}

}  // namespace dl4::ops
