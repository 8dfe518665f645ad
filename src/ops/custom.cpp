// custom: a function from outside, and its gradient.
#include "ops/custom.hpp"

#include "ops/ops.hpp"

namespace dl4::ops {
namespace {

using Function = std::shared_ptr<const CustomFunction>;
using kernels::Run;

// One slice, so that the thread that runs the step is the caller's.
class CustomKernel final : public kernels::Kernel {
 public:
  CustomKernel(Function f, bool backward, std::vector<Operand> src, std::vector<Operand> dst)
      : Kernel("custom", 1), f_(std::move(f)), backward_(backward), src_(std::move(src)), dst_(std::move(dst)) {}

  std::unique_ptr<kernels::Bound> bind() const override {
    return backward_ ? f_->bind_backward(src_, dst_) : f_->bind_forward(src_, dst_);
  }
  bool calls_host() const override { return true; }
  void run(int64_t, const Run &r) const override {
    const int32_t answer = backward_ ? f_->backward(r.args, *r.bound) : f_->forward(r.args, *r.bound);
    if (answer != 0) r.report->raise(kernels::Fault::callback, answer);
  }

 private:
  const Function f_;
  const bool backward_;
  const std::vector<Operand> src_, dst_;
};

// Steps of it are never merged, so that their attributes need not tell them apart.
struct CustomGradOp final : NotDifferentiable<CustomGradOp> {
  Function f;
  size_t n_src;

  CustomGradOp(Function f, size_t n_src) : f(std::move(f)), n_src(n_src) {}
  void fields(auto &list) const { list("", f->name()); }
  std::string_view name() const override { return "custom_grad"; }
  bool is_volatile() const override { return true; }
  std::vector<Operand> infer(Operands src) const override {
    std::vector<Operand> diff;
    for (const Operand &x : src.first(n_src))
      if (x.dtype == DType::f32) diff.push_back({x.dtype, x.shape});
    return diff;
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    const auto at = site.src.begin() + static_cast<ptrdiff_t>(n_src);
    const auto n_dst = static_cast<ptrdiff_t>(site.src.size() - n_src) / 2;
    return std::make_unique<CustomKernel>(f, true, std::vector<Operand>(site.src.begin(), at),
                                          std::vector<Operand>(at, at + n_dst));
  }
};

struct CustomOp final : OpOf<CustomOp> {
  Function f;

  explicit CustomOp(Function f) : f(std::move(f)) {}
  void fields(auto &list) const { list("", f->name()); }
  std::string_view name() const override { return "custom"; }
  bool is_volatile() const override { return true; }
  std::vector<Operand> infer(Operands src) const override {
    std::vector<Shape> shapes = f->infer(src.first(src.size() - f->weights()));
    shapes.resize(shapes.size() - f->weights());
    std::vector<Operand> dst;
    for (const Shape &shape : shapes) dst.push_back({DType::f32, shape});
    return dst;
  }
  void gradient(Gradient &g) const override {
    if (!f->has_backward()) fail(Code::unsupported, f->name(), " has no backward function");
    std::vector<Id> src, diff_dst;
    for (int i = 0; g.has(i); ++i) src.push_back(g.src(i));
    const size_t n_src = src.size();
    for (int i = 0; i < g.destinations(); ++i) {
      src.push_back(g.dst(i));
      Id d = g.diff_dst(i);
      diff_dst.push_back(d == none ? fill(g.e, DType::f32, 0, g.dst(i), g.e.rank(g.dst(i)), {}) : d);
    }
    std::vector<Id> all = src;
    all.insert(all.end(), diff_dst.begin(), diff_dst.end());
    const std::vector<Id> diff_src = g.e.step(std::make_shared<CustomGradOp>(f, n_src), std::move(all));
    size_t next = 0;
    for (size_t i = 0; i < n_src; ++i)
      if (g.e.dtype(src[i]) == DType::f32) g.set(static_cast<int>(i), diff_src[next++]);
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    return std::make_unique<CustomKernel>(f, false, std::vector<Operand>(site.src.begin(), site.src.end()),
                                          std::vector<Operand>(site.dst.begin(), site.dst.end()));
  }
};

}  // namespace

std::vector<Id> custom(Emit &e, std::shared_ptr<const CustomFunction> f, std::vector<Id> src) {
  return e.step(std::make_shared<CustomOp>(std::move(f)), std::move(src));
}

}  // namespace dl4::ops
