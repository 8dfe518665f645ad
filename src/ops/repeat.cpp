// repeat: every place of an axis several times, as it is or blended with its neighbours; and the gradient of that.
#include "backend/cpu/kernels/movement/repeat.hpp"
#include "backend/cpu/kernels/reduce/reduce.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct Repeating {
  int axis;
  int64_t times;
  bool linear;

  void fields(auto &f) const { f("axis", axis), f("times", times), f("linear", linear); }
};

double cost(const Shape &large, int64_t size) {
  return 2 * us_per_byte * static_cast<double>(checked_mul(large.elements(), size));
}

Id repeat_grad(Emit &e, Id dy, const Repeating &how);

struct RepeatOp final : OpOf<RepeatOp> {
  Repeating how;

  explicit RepeatOp(const Repeating &how) : how(how) {}
  void fields(auto &f) const { how.fields(f); }
  std::string_view name() const override { return "repeat"; }
  std::vector<Operand> infer(Operands src) const override {
    if (how.linear) want_float("repeat", src[0]);
    const int64_t n = src[0].shape[how.axis];
    return {{src[0].dtype, n == free_dim ? src[0].shape : src[0].shape.with(how.axis, checked_mul(n, how.times))}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none) g.set(0, repeat_grad(g.e, g.diff_dst(), how));
  }

  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    auto [outer, n, inner] = around(site.src[0].shape, how.axis);
    const int64_t size = size_of(site.src[0].dtype), bytes = checked_mul(inner, size), times = how.times;
    const int64_t rows = site.dst[0].shape.elements() ? checked_mul(outer, n) : 0;
    const double us = cost(site.dst[0].shape, size);
    if (how.linear) {
      const kernels::Blend blend{n, inner, times};
      return sliced("repeat_linear", site, rows, us, [blend](int64_t begin, int64_t end, const Run &r) {
        kernels::repeat_linear(blend, r.in<float>(0), r.out<float>(0), begin, end);
      });
    }
    return sliced("repeat", site, rows, us, [=](int64_t begin, int64_t end, const Run &r) {
      kernels::repeat(size, bytes, times, r.in<void>(0), r.out<void>(0), begin, end);
    });
  }
};

struct RepeatGradOp final : OpOf<RepeatGradOp> {
  Repeating how;

  explicit RepeatGradOp(const Repeating &how) : how(how) {}
  void fields(auto &f) const { how.fields(f); }
  std::string_view name() const override { return "repeat_grad"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("repeat_grad", src[0]);
    const Shape &dy = src[0].shape;
    const int64_t n = dy[how.axis];
    if (n == free_dim) return {src[0]};
    if (n % how.times != 0)
      fail(Code::shape_mismatch, "repeat_grad: ", how.times, " does not divide axis ", how.axis, " of ", dy);
    return {{DType::f32, dy.with(how.axis, n / how.times)}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none) g.set(0, repeat(g.e, g.diff_dst(), how.axis, how.times, how.linear));
  }

  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    auto [outer, n, inner] = around(site.dst[0].shape, how.axis);
    const int64_t times = how.times, rows = inner ? checked_mul(outer, n) : 0;
    const double us = cost(site.src[0].shape, 4);
    if (!how.linear) {
      return sliced("repeat_grad", site, rows, us, [=, inner = inner](int64_t begin, int64_t end, const Run &r) {
        kernels::reduce(Reduce::sum, r.in<float>(0) + begin * times * inner, r.out<float>(0) + begin * inner,
                        end - begin, times, inner);
      });
    }
    const kernels::Blend blend{n, inner, times};
    return sliced("repeat_linear_grad", site, rows, us, [blend](int64_t begin, int64_t end, const Run &r) {
      kernels::repeat_linear_grad(blend, r.in<float>(0), r.out<float>(0), begin, end);
    });
  }
};

Id repeat_grad(Emit &e, Id dy, const Repeating &how) { return e.value(std::make_shared<RepeatGradOp>(how), {dy}); }

}  // namespace

Id repeat(Emit &e, Id x, int axis, int64_t times, bool linear) {
  if (times < 1 || times > max_dim)
    fail(Code::invalid_argument, "repeat: expected 1 to ", max_dim, " times, got ", times);
  return e.value(std::make_shared<RepeatOp>(Repeating{e.shape(x).axis(axis), times, linear}), {x});
}

}  // namespace dl4::ops
