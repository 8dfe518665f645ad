// unary: y = f(x), element by element.
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

std::string print(Unary f, const std::array<float, 3> &param) {
  std::string s(kernels::info(f).name);
  for (int i = 0; i < kernels::info(f).params; ++i) s += ' ' + number(param[static_cast<size_t>(i)]);
  return s;
}

double cost(int64_t elements) { return us_per_function * static_cast<double>(elements); }

// dx from dy and x or y.
class UnaryGradOp final : public Op {
 public:
  UnaryGradOp(Unary f, std::array<float, 3> param) : f_(f), param_(param) {}
  std::string_view name() const override { return "unary_grad"; }
  std::string attributes() const override { return print(f_, param_); }
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::f32, same_shape("unary_grad", src[0].shape, src[1].shape)}};
  }
  int overwrites(int) const override { return 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements();
    return sliced(
        "unary_grad", site, n, cost(n),
        [f = f_, p = param_](int64_t begin, int64_t end, const Run &r) {
          kernels::unary_grad(f, p.data(), r.src<float>(0) + begin, r.src<float>(1) + begin, r.dst<float>(2) + begin,
                              end - begin);
        },
        line_block);
  }

 private:
  Unary f_;
  std::array<float, 3> param_;
};

class UnaryOp final : public Op {
 public:
  UnaryOp(Unary f, std::array<float, 3> param) : f_(f), param_(param) {}
  std::string_view name() const override { return "unary"; }
  std::string attributes() const override { return print(f_, param_); }
  std::vector<Operand> infer(Operands src) const override {
    want_float(kernels::info(f_).name.data(), src[0]);
    return {src[0]};
  }
  void gradient(Gradient &g) const override {
    if (!g.wants(0) || g.diff_dst() == none) return;
    Id of = kernels::grad_from(f_, param_.data()) == kernels::GradFrom::output ? g.dst() : g.src(0);
    g.set(0, g.e.value(std::make_shared<UnaryGradOp>(f_, param_), {g.diff_dst(), of}));
  }
  int overwrites(int) const override { return 0; }
  bool is_unary(Unary *f, std::array<float, 3> *param) const override {
    if (f) *f = f_;
    if (param) *param = param_;
    return true;
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements();
    return sliced(
        "unary", site, n, cost(n),
        [f = f_, p = param_](int64_t begin, int64_t end, const Run &r) {
          kernels::unary(f, p.data(), r.src<float>(0) + begin, r.dst<float>(1) + begin, end - begin);
        },
        line_block);
  }

 private:
  Unary f_;
  std::array<float, 3> param_;
};

}  // namespace

Id unary(Emit &e, Unary f, Id x, std::array<float, 3> param) {
  return e.value(std::make_shared<UnaryOp>(f, param), {x});
}

}  // namespace dl4::ops
