// unary: y = f(x), element by element.
#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "ops/elementwise.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

double cost(int64_t elements) { return us_per_function * static_cast<double>(elements); }

// dx from dy and x or y.
struct UnaryGradOp final : OpOf<UnaryGradOp> {
  Function function;

  explicit UnaryGradOp(Function function) : function(function) {}
  void fields(auto &f) const { f("", function); }
  std::string_view name() const override { return "unary_grad"; }
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::f32, same_shape("unary_grad", src[0].shape, src[1].shape)}};
  }
  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    if (g.wants(0)) g.set(0, e.value(std::make_shared<UnaryGradOp>(function), {g.diff_dst(), g.src(1)}));
    if (!g.wants(1)) return;
    if (Id by = curvature(e, function, g.src(1)); by != none)
      g.set(1, mul(e, mul(e, g.diff_dst(), g.src(0)), by));
    else
      g.stop(1);
  }
  int overwrites(int) const override { return 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements();
    return sliced(
        "unary_grad", site, n, cost(n),
        [f = function](int64_t begin, int64_t end, const Run &r) {
          kernels::unary_grad(f.f, f.param.data(), r.in<float>(0) + begin, r.in<float>(1) + begin,
                              r.out<float>(0) + begin, end - begin);
        },
        line_block);
  }
};

}  // namespace

std::string to_string(const Function &f) {
  std::string s(info(f.f).name);
  return f.params().empty() ? s : s + numbers(f.params());
}

kernels::Epilogue epilogue_of(const std::optional<Function> &activation) {
  if (!activation) return {};
  auto run = [f = *activation](float *v, int64_t rows, int64_t cols, int64_t ld) {
    kernels::unary_rows(f.f, f.param.data(), v, rows, cols, ld);
  };
  return {run, activation->f == Unary::relu};
}

std::vector<Operand> UnaryOp::infer(Operands src) const {
  want_float(info(function.f).name.data(), src[0]);
  return {src[0]};
}

void UnaryOp::gradient(Gradient &g) const {
  if (!g.wants(0) || g.diff_dst() == none) return;
  Id of = grad_from(function.f, function.param.data()) == GradFrom::output ? g.dst() : g.src(0);
  g.set(0, g.e.value(std::make_shared<UnaryGradOp>(function), {g.diff_dst(), of}));
}

std::unique_ptr<kernels::Kernel> UnaryOp::kernel(const Site &site) const {
  int64_t n = site.dst[0].shape.elements();
  return sliced(
      "unary", site, n, cost(n),
      [f = function](int64_t begin, int64_t end, const Run &r) {
        kernels::unary(f.f, f.param.data(), r.in<float>(0) + begin, r.out<float>(0) + begin, end - begin);
      },
      line_block);
}

Id unary(Emit &e, Unary f, Id x, std::array<float, 3> param) {
  return e.value(std::make_shared<UnaryOp>(Function{f, param}), {x});
}

}  // namespace dl4::ops
