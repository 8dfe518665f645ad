// sparsemax along one axis: the nearest point of the simplex, with zeros.
#include "backend/cpu/kernels/reduce/softmax.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

double cost_of_sorting(const Around &a) {
  return 10 * us_per_function * static_cast<double>(checked_mul(a.outer, a.axis, a.inner));
}

struct SparsemaxGradOp final : OpOf<SparsemaxGradOp> {
  int axis;

  explicit SparsemaxGradOp(int axis) : axis(axis) {}
  void fields(auto &f) const { f("axis", axis); }
  std::string_view name() const override { return "sparsemax_grad"; }
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::f32, same_shape("sparsemax_grad", src[0].shape, src[1].shape)}};
  }
  // Linear in dy; y decides which places count, in steps.
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, g.e.value(std::make_shared<SparsemaxGradOp>(axis), {g.diff_dst(), g.src(1)}));
    g.stop(1);
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    Around a = around(site.dst[0].shape, axis);
    int64_t row = checked_mul(a.axis, a.inner), outer = row ? a.outer : 0;
    return sliced("sparsemax_grad", site, outer, cost_of_sorting(a), [=](int64_t begin, int64_t end, const Run &r) {
      kernels::sparsemax_grad(r.in<float>(0) + begin * row, r.in<float>(1) + begin * row, r.out<float>(0) + begin * row,
                              end - begin, a.axis, a.inner);
    });
  }
};

struct SparsemaxOp final : OpOf<SparsemaxOp> {
  int axis;

  explicit SparsemaxOp(int axis) : axis(axis) {}
  void fields(auto &f) const { f("axis", axis); }
  std::string_view name() const override { return "sparsemax"; }
  std::vector<Operand> infer(Operands src) const override {
    want_float("sparsemax", src[0]);
    return {src[0]};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none)
      g.set(0, g.e.value(std::make_shared<SparsemaxGradOp>(axis), {g.diff_dst(), g.dst()}));
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    Around a = around(site.dst[0].shape, axis);
    int64_t row = checked_mul(a.axis, a.inner), outer = row ? a.outer : 0,
            sorted = round_up(checked_mul(a.axis, 4), 64);
    int64_t slices = site.cutting.slices(outer, cost_of_sorting(a));
    return kernels::make_kernel(
        "sparsemax", slices,
        [=](int64_t slice, const Run &r) {
          auto [begin, end] = kernels::part(outer, slices, slice);
          auto *scratch = reinterpret_cast<float *>(static_cast<std::byte *>(r.scratch) + slice * sorted);
          kernels::sparsemax(r.in<float>(0) + begin * row, r.out<float>(0) + begin * row, end - begin, a.axis, a.inner,
                             scratch);
        },
        checked_mul(slices, sorted));
  }
};

}  // namespace

Id sparsemax(Emit &e, Id x, int axis) { return e.value(std::make_shared<SparsemaxOp>(e.shape(x).axis(axis)), {x}); }

}  // namespace dl4::ops
