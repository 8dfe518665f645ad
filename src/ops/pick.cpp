// pick: of each row the element that its label says.
#include "backend/cpu/kernels/movement/movement.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct PickGradOp final : OpOf<PickGradOp> {
  std::string_view name() const override { return "pick_grad"; }
  std::vector<Operand> infer(Operands src) const override { return {{DType::f32, src[3].shape}}; }
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, pick(g.e, g.diff_dst(), g.src(1), g.src(2)));
    g.stop(1);
  }
  bool reads(int src) const override { return src < 3; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape[0], width = site.dst[0].shape[1];
    DType type = site.src[1].dtype;
    double us = us_per_byte * static_cast<double>(checked_mul(n, width, 4));
    return sliced("pick_grad", site, width ? n : 0, us, [=](int64_t begin, int64_t end, const Run &r) {
      kernels::pick_grad(r.in<float>(0), begin, end, width, type, r.in<void>(1), r.in<uint8_t>(2), r.out<float>(0),
                         r.report);
    });
  }
};

struct PickOp final : OpOf<PickOp> {
  std::string_view name() const override { return "pick"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("pick", src[0]);
    want_index("class numbers", src[1]);
    const Shape &x = src[0].shape;
    if (x.rank() != 2) fail(Code::shape_mismatch, "pick expects rows (N, C), got ", x);
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
          kernels::pick(r.in<float>(0), begin, end, width, type, r.in<void>(1), r.in<uint8_t>(2), r.out<float>(0),
                        r.report);
        },
        line_block);
  }
};

}  // namespace

Id pick(Emit &e, Id x, Id labels, Id valid) { return e.value(std::make_shared<PickOp>(), {x, labels, valid}); }

}  // namespace dl4::ops
