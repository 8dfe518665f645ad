// softmax and log_softmax along one axis.
#include "kernels/softmax.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

double cost(const Around &a) {
  return 2 * us_per_function * static_cast<double>(checked_mul(a.outer, a.axis, a.inner));
}

// dx from dy and y.
class SoftmaxGradOp final : public Op {
 public:
  SoftmaxGradOp(bool log, int axis) : log_(log), axis_(axis) {}
  std::string_view name() const override { return log_ ? "log_softmax_grad" : "softmax_grad"; }
  std::string attributes() const override { return text("axis=", axis_); }
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::f32, same_shape("softmax_grad", src[0].shape, src[1].shape)}};
  }
  int overwrites(int) const override { return 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    Around a = around(site.dst[0].shape, axis_);
    int64_t row = checked_mul(a.axis, a.inner), outer = row ? a.outer : 0;
    auto f = log_ ? kernels::log_softmax_grad : kernels::softmax_grad;
    return sliced(std::string(name()), site, outer, cost(a), [=](int64_t begin, int64_t end, const Run &r) {
      f(r.src<float>(0) + begin * row, r.src<float>(1) + begin * row, r.dst<float>(2) + begin * row, end - begin,
        a.axis, a.inner);
    });
  }

 private:
  bool log_;
  int axis_;
};

class SoftmaxOp final : public Op {
 public:
  SoftmaxOp(bool log, int axis) : log_(log), axis_(axis) {}
  std::string_view name() const override { return log_ ? "log_softmax" : "softmax"; }
  std::string attributes() const override { return text("axis=", axis_); }
  std::vector<Operand> infer(Operands src) const override {
    want_float(name().data(), src[0]);
    return {src[0]};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none)
      g.set(0, g.e.value(std::make_shared<SoftmaxGradOp>(log_, axis_), {g.diff_dst(), g.dst()}));
  }
  int overwrites(int) const override { return 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    Around a = around(site.dst[0].shape, axis_);
    int64_t row = checked_mul(a.axis, a.inner), outer = row ? a.outer : 0;
    auto f = log_ ? kernels::log_softmax : kernels::softmax;
    return sliced(std::string(name()), site, outer, cost(a), [=](int64_t begin, int64_t end, const Run &r) {
      f(r.src<float>(0) + begin * row, r.dst<float>(1) + begin * row, end - begin, a.axis, a.inner);
    });
  }

 private:
  bool log_;
  int axis_;
};

}  // namespace

Id softmax(Emit &e, Id x, int axis) { return e.value(std::make_shared<SoftmaxOp>(false, e.shape(x).axis(axis)), {x}); }
Id log_softmax(Emit &e, Id x, int axis) {
  return e.value(std::make_shared<SoftmaxOp>(true, e.shape(x).axis(axis)), {x});
}

}  // namespace dl4::ops
