// custom: a function of the host, and its gradient.
#include "ops/custom.hpp"

#include "ops/attributes.hpp"

namespace dl4::ops {
namespace {

// Never merged, so its attributes need not identify it.
struct CustomGradOp final : NotDifferentiable<CustomGradOp, "custom_grad", attributes::CustomGrad> {
  bool is_volatile() const override { return true; }
  std::vector<Operand> infer(Operands src) const override {
    std::vector<Operand> diff;
    for (const Operand &x : src.first(n_src))
      if (x.dtype == DType::f32) diff.push_back({x.dtype, x.shape});
    return diff;
  }
};

struct CustomOp final : OpOf<CustomOp, "custom", attributes::Custom> {
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
    const std::vector<Id> diff_src = g.e.step(make<CustomGradOp>(f, n_src), std::move(all));
    size_t next = 0;
    for (size_t i = 0; i < n_src; ++i)
      if (g.e.dtype(src[i]) == DType::f32) g.set(static_cast<int>(i), diff_src[next++]);
  }
};

}  // namespace

std::vector<Id> custom(Emit &e, std::shared_ptr<const CustomFunction> f, std::vector<Id> src) {
  return e.step(make<CustomOp>(std::move(f)), std::move(src));
}

}  // namespace dl4::ops
