// pick: of each row the element that its label says.
#include <cstring>

#include "kernels/movement/movement.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

// Calls f(begin, end, valid) for the runs of rows that are all valid or all not.
template <class F>
void runs_of(const uint8_t *valid, int64_t begin, int64_t end, F f) {
  if (!valid) return f(begin, end, true);
  while (begin < end) {
    int64_t next = begin + 1;
    while (next < end && (valid[next] != 0) == (valid[begin] != 0)) ++next;
    f(begin, next, valid[begin] != 0);
    begin = next;
  }
}

struct PickGradOp final : NotDifferentiable<PickGradOp> {
  std::string_view name() const override { return "pick_grad"; }
  std::vector<Operand> infer(Operands src) const override { return {{DType::f32, src[3].shape}}; }
  bool reads(int src) const override { return src < 3; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape[0], width = site.dst[0].shape[1];
    DType type = site.src[1].dtype;
    double us = us_per_byte * static_cast<double>(checked_mul(n, width, 4));
    return sliced("pick_grad", site, width ? n : 0, us, [=](int64_t begin, int64_t end, const Run &r) {
      const float *dy = r.in<float>(0);
      float *dx = r.out<float>(0);
      runs_of(r.in<uint8_t>(2), begin, end, [&](int64_t from, int64_t to, bool valid) {
        const std::byte *labels = r.in<std::byte>(1) + from * size_of(type);
        if (valid) {
          kernels::pick_grad(dy + from, to - from, width, type, labels, dx + from * width, r.report);
          return;
        }
        std::memset(dx + from * width, 0, static_cast<size_t>((to - from) * width) * 4);
        for (int64_t i = from; i < to; ++i) dx[i * width] = dy[i];
      });
    });
  }
};

struct PickOp final : OpOf<PickOp> {
  std::string_view name() const override { return "pick"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("pick", src[0]);
    want_index("class numbers", src[1]);
    const Shape &x = src[0].shape;
    if (x.rank() != 2) fail(Code::shape_mismatch, "pick wants rows (N, C), got ", x);
    if (x[1] == 0 && x[0] > 0) fail(Code::shape_mismatch, "expected at least one class, got scores of shape ", x);
    if (src[1].shape.rank() != 1 || !compatible(src[1].shape, x.first(1)))
      fail(Code::shape_mismatch, "expected a class number for each row of ", x, ", got ", src[1].shape);
    Shape y = same_shape("pick", x.first(1), src[1].shape);
    if (src[2].present) {
      want_type("the flags of pick", src[2], DType::boolean);
      y = same_shape("pick", y, src[2].shape);
    }
    return {{DType::f32, y}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, g.e.value(std::make_shared<PickGradOp>(), {g.diff_dst(), g.src(1), g.src(2), g.src(0)}));
    g.stop(1);
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.src[0].shape[0], width = site.src[0].shape[1];
    DType type = site.src[1].dtype;
    double us = 0.003 * static_cast<double>(n);
    return sliced(
        "pick", site, n, us,
        [=](int64_t begin, int64_t end, const Run &r) {
          const float *x = r.in<float>(0);
          float *y = r.out<float>(0);
          runs_of(r.in<uint8_t>(2), begin, end, [&](int64_t from, int64_t to, bool valid) {
            const std::byte *labels = r.in<std::byte>(1) + from * size_of(type);
            if (valid)
              kernels::pick(x + from * width, to - from, width, type, labels, y + from, r.report);
            else
              for (int64_t i = from; i < to; ++i) y[i] = x[i * width];
          });
        },
        line_block);
  }
};

}  // namespace

Id pick(Emit &e, Id x, Id labels, Id valid) { return e.value(std::make_shared<PickOp>(), {x, labels, valid}); }

}  // namespace dl4::ops
